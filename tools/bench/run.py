"""The whole benchmark: stages, floor and reference implementation; the page."""

from collections.abc import Callable, Sequence
from typing import Any

from rita_demo.engine.engine import Engine
from rita_demo.records.spreadsheet import align_columns
from rita_demo.settings import RECOMMENDED
from rita_demo.vlm.backbone import Backbone
from tools.bench import page, stages
from tools.bench.stages import PICTURE, BenchFixture
from tools.bench.timing import machine_of, medians

#: The configuration of all goals.
CLASSES, SIDE = 101, 448
#: Without descriptions, which the reference implementation does not support: M = 4.
SETTINGS = RECOMMENDED.replace(views=64, prompts=4, tuning_steps=1, descriptions="none")
#: Stage (seconds) or ratio -> its goal on two CPU cores with the embedded model, and whether the goal is an upper limit.
GOALS: dict[str, tuple[float, bool]] = {
    "decision_over_floor": (0.15, True),
    "image_over_floor": (1.3, True),
    "plain_over_image": (12.0, False),
    "rescore_over_150ms": (1.0, True),
    "page: server start": (5.0, True),
    "page: worked example": (1.5, True),
    "page: selection": (0.1, True),
    "page: what-if": (0.15, True),
    "page: what-if to plan": (0.15, True),
    "page: selection to plan": (0.1, True),
    "page: room changed until drawn": (0.3, True),
    "page: a frame of the Story (processor)": (1 / 30, True),
}
ROUNDS, SLOW_ROUNDS = 9, 3  # of stages that take less than a second, and of the others
PARTS = ("stages", "page")


def run(
    backbone: Backbone, spec: str, on_progress: Callable[[str], None], only: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """Measure some parts.

    Args:
        backbone: the loaded model. spec: its name, for the server of the page.
        on_progress: receives the name of the current part.
        only: some of ``PARTS``.

    Returns:
        The content of ``bench --json`` (``stages`` in seconds), and sentences for the terminal.
    """
    machine = machine_of(backbone.device)
    seconds: dict[str, float] = {}
    ratios: dict[str, float] = {}
    notes: list[str] = []
    if "stages" in only:
        scene = BenchFixture(backbone, Engine(backbone), SETTINGS, CLASSES, SIDE)
        seconds, ratios = stages_and_ratios(scene, on_progress)
    if "page" in only:
        on_progress("The page")
        timed, notes = page.measure(spec)
        seconds |= timed
    config = {
        "backbone": backbone.info.name,
        "precision": backbone.info.precision,
        "picture": PICTURE,
        "side": SIDE,
        "N": SETTINGS.views,
        "K": CLASSES,
        "M": SETTINGS.prompts,
        "J": SETTINGS.slots,
        "rounds": ROUNDS,
        "slow_rounds": SLOW_ROUNDS,
        "settings": SETTINGS.as_dict(),
    }
    return {"machine": machine, "config": config, "stages": seconds, "ratios": ratios}, notes


def stages_and_ratios(
    scene: BenchFixture, on_progress: Callable[[str], None]
) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds of the stages, and their ratios to the floor and to the reference implementation."""
    device = scene.backbone.device
    on_progress("Stages, floor and image")
    quick = {
        **stages.model_stages(scene),
        **stages.method_stages(scene),
        "attack step": stages.attack_step(scene),
        "re-score": stages.rescoring(scene),
        "floor": scene.floor,
        "image": scene.image,
    }
    seconds = medians(quick, ROUNDS, warm_up=2, device=device)
    on_progress("The reference implementation")
    # each after two untimed calls of its own: after the other one, memory pages are returned and requested again
    turns: dict[str, Callable[[], Any]] = {}
    for name, work in (("plain", stages.algorithm1_reading(scene)), ("image", scene.image)):
        turns |= {f"{name}, {time} before": work for time in ("second", "first")} | {name: work}
    slow = medians(turns, SLOW_ROUNDS, warm_up=0, device=device)
    ratios = {
        "decision_over_floor": seconds["decision"] / seconds["floor"],
        "image_over_floor": seconds["image"] / seconds["floor"],
        "plain_over_image": slow["plain"] / slow["image"],
        "rescore_over_150ms": seconds["re-score"] / 0.150,
    }
    return seconds | {"plain": slow["plain"]}, ratios


def as_text(report: dict[str, Any], notes: list[str]) -> str:
    """Tables: milliseconds, their ratio to the floor and their goals; ratios with their goals."""
    config, machine, floor = report["config"], report["machine"], report["stages"].get("floor")
    head = ", ".join(f"{axis} = {config[axis]}" for axis in ("N", "K", "M", "J"))
    where = machine["gpu"] or machine["processor"] or machine["system"]
    rows = [["stage", "ms (median)", "of the floor", "goal", ""]]
    for name, seconds in report["stages"].items():
        share = f"{seconds / floor:.2f}" if floor else ""
        rows.append([name, f"{1000 * seconds:.1f}", share, *_goal(name, seconds, 1000)])
    ratios = [["ratio", "value", "goal", ""]]
    ratios += [[name, f"{value:.3g}", *_goal(name, value)] for name, value in report["ratios"].items()]
    lines = [f"{config['backbone']} ({config['precision']}); {head}, square of {config['side']} px."]
    lines.append(
        f"On {where}, {machine['threads']} threads, load {machine['load']}."
    )  # some processors have long names
    for table in (rows, ratios):
        lines += ["", *align_columns(table)] if table[1:] else []
    return "\n".join([*lines, *(["", *notes] if notes else [])])


def _goal(name: str, value: float, factor: float = 1) -> list[str]:
    """The goal of a number in the unit of the table, and whether it is met."""
    if name not in GOALS:
        return ["", ""]
    limit, small = GOALS[name]
    met = "met" if (value <= limit) == small else "not met"
    return [f"{'at most' if small else 'at least'} {factor * limit:g}", met]
