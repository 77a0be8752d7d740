"""The whole benchmark: stages, floor, reference implementation, growth, memory, page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rita_demo.engine.engine import Engine
from rita_demo.process.text_columns import align_columns
from rita_demo.settings import RECOMMENDED
from rita_demo.vlm.backbone import Backbone
from rita_demo.vlm.registry import load, untrained
from tools.bench import engine as jobs
from tools.bench import page, server, stages
from tools.bench.stages import PICTURE, BenchFixture
from tools.bench.timing import machine_of, medians, peak_bytes

#: The configuration of all goals.
CLASSES, SIDE = 101, 448
#: Without descriptions, which the reference implementation does not support: M = 4.
SETTINGS = RECOMMENDED.replace(views=64, prompts=4, tuning_steps=1, descriptions="none")
MANY_CLASSES = 1000
#: Values of each axis; the other axes stay as above.
GROWTH_VALUES: dict[str, tuple[int, ...]] = {
    "N": (16, 64, 256),
    "M": (1, 4, 16),
    "K": (10, 101, 1000),
    "J": (1, 3, 32),
    "side": (112, 224, 448),
}
#: Stage (seconds) or ratio -> its goal on two CPU cores with the embedded model, and whether the goal is an upper limit.
GOALS: dict[str, tuple[float, bool]] = {
    "decision_over_floor": (0.15, True),
    "image_over_floor": (1.3, True),
    "plain_over_image": (12.0, False),
    "rescore_over_150ms": (1.0, True),
    "decision_k1000_over_1s": (1.0, True),
    "decision_k1000_memory_over_1gib": (1.0, True),
    "page: server start": (5.0, True),
    "page: worked example": (1.5, True),
    "page: selection": (0.1, True),
    "page: what-if": (0.15, True),
    "page: what-if to plan": (0.15, True),
    "page: selection to plan": (0.1, True),
    "page: room changed until drawn": (0.3, True),
    "page: a frame of the Story (processor)": (1 / 30, True),
    "server: upload, the clean picture": (0.4, True),
    "server: upload, whole story": (1.2, True),
    "server: 20 visitors at once, the last answer": (30.0, True),
    "server_gb_after_200_visits": (1.1, True),
    "adaptive attack on RITA, embedded (processor)": (15.0, True),
    "adaptive attack on RITA, embedded-robust (processor)": (15.0, True),
    "stream_per_second_no_attack_no_prompt_update": (4.0, False),
    "stream_per_second_pgd_no_prompt_update": (2.0, False),
    **{f"vit_{kind}_k47_image_over_encoding": (1.25, True) for kind in ("float32", "bfloat16")},
    **{f"vit_{kind}_k101_image_over_encoding": (1.4, True) for kind in ("float32", "bfloat16")},
}
ROUNDS, SLOW_ROUNDS = 9, 3  # of stages that take less than a second, and of the others


ROBUST, LARGER, LARGER_CLASSES = "embedded-robust", "ViT-B-32", (47, 101)


@dataclass
class Measured:
    """Median seconds by stage, ratios, the estimates for more cores by step, and sentences for the terminal."""

    stages: dict[str, float] = field(default_factory=dict)
    ratios: dict[str, float] = field(default_factory=dict)
    cores: dict[str, dict[str, float]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


Report = Callable[[str], None]


def run(
    backbone: Backbone, spec: str, on_progress: Report, only: Sequence[str], visits: int = server.VISITS
) -> tuple[dict[str, Any], list[str]]:
    """Measure some parts.

    Args:
        backbone: the loaded model. spec: its name, for the server of the page.
        on_progress: receives the name of the current part.
        only: some of ``PARTS``. visits: before the server's memory is read.

    Returns:
        The content of ``bench --json`` (``stages`` in seconds), and sentences for the terminal.
    """
    scene, found = BenchFixture(backbone, Engine(backbone), SETTINGS, CLASSES, SIDE), Measured()
    machine = machine_of(backbone.device)
    for name in only:
        PARTS[name](scene, spec, found, on_progress, visits)
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
    report = {"machine": machine, "config": config, "stages": found.stages, "ratios": found.ratios}
    return report | ({"cores": found.cores} if found.cores else {}), found.notes


def _stages(scene: BenchFixture, _: str, found: Measured, on_progress: Report, __: int) -> None:
    """Stages against the floor and against the reference implementation; growth with every axis; memory."""
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
    plain = stages.algorithm1_reading(scene)
    # each after two untimed calls of its own: after the other one, memory pages are returned and requested again
    turns: dict[str, Callable[[], Any]] = {}
    for name, work in (("plain", plain), ("image", scene.image)):
        turns |= {f"{name}, {time} before": work for time in ("second", "first")} | {name: work}
    slow = medians(turns, SLOW_ROUNDS, warm_up=0, device=device)
    seconds["plain"] = slow["plain"]
    found.stages |= seconds
    found.ratios |= {
        "decision_over_floor": seconds["decision"] / seconds["floor"],
        "image_over_floor": seconds["image"] / seconds["floor"],
        "plain_over_image": slow["plain"] / slow["image"],
        "rescore_over_150ms": seconds["re-score"] / 0.150,
    }
    on_progress("UMAP")
    found.stages |= medians({"UMAP": stages.umap_layout(scene)}, SLOW_ROUNDS)


def _all_growth(scene: BenchFixture, _: str, found: Measured, on_progress: Report, __: int) -> None:
    """Growth with every axis, and the memory of many classes."""
    for axis, values in GROWTH_VALUES.items():
        on_progress(f"Growth with {axis}")
        grown = _growth(scene, axis)
        found.stages |= grown
        for what in ("decision", "image"):  # seconds at the largest over seconds at the smallest value
            first, last = (grown[f"{what}, {axis} = {v}"] for v in (values[0], values[-1]))
            found.ratios[f"{what}_growth_{axis}_{values[0]}_to_{values[-1]}"] = last / first
    on_progress(f"{MANY_CLASSES} classes")
    many = replace(scene, classes=MANY_CLASSES)
    found.ratios["decision_k1000_over_1s"] = found.stages[f"decision, K = {MANY_CLASSES}"]
    for name, work in (("decision", many.decision), ("image", many.image)):
        if (peak := peak_bytes(work)) is not None:
            found.ratios[f"{name}_k1000_memory_over_1gib"] = peak / (1 << 30)


def _page(_: BenchFixture, spec: str, found: Measured, on_progress: Report, __: int) -> None:
    on_progress("The page")
    shown, found.notes = page.measure(spec)
    found.stages |= shown


def _server(_: BenchFixture, spec: str, found: Measured, on_progress: Report, visits: int) -> None:
    on_progress("The server")
    seconds, memory = server.measure(spec, visits)
    found.stages |= seconds
    found.ratios |= memory


def _engine(scene: BenchFixture, spec: str, found: Measured, on_progress: Report, _: int) -> None:
    """The attacker who knows RITA, on the embedded towers both; streams of pictures."""
    for name in dict.fromkeys((spec, ROBUST) if spec == "embedded" else (spec,)):
        on_progress(f"The attacker who knows RITA, {name}")
        engine = scene.engine if name == spec else Engine(load(name))
        found.stages[f"adaptive attack on RITA, {name} (processor)"] = jobs.adaptive_seconds(engine)
    for attack, word in (("none", "no_attack"), ("pgd", "pgd")):
        on_progress(f"A stream, attack: {attack}")
        engine = Engine(scene.backbone)  # a new one keeps no views of the stream before
        found.ratios[f"stream_per_second_{word}_no_prompt_update"] = jobs.stream_rate(engine, attack, tuning_steps=0)


def _larger(scene: BenchFixture, _: str, found: Measured, on_progress: Report, __: int) -> None:
    on_progress(f"{LARGER} with random weights")
    models = [untrained(LARGER, scene.backbone.device.type, kind) for kind in ("float32", "bfloat16")]
    seconds, ratios = jobs.larger_model(models[0], models[1], LARGER_CLASSES, SETTINGS, SIDE, SLOW_ROUNDS)
    found.stages |= seconds
    found.ratios |= ratios


def _cores(scene: BenchFixture, _: str, found: Measured, on_progress: Report, __: int) -> None:
    on_progress("One and two threads")
    found.cores = jobs.cores(scene, ROUNDS)


PARTS = {
    "stages": _stages,
    "growth": _all_growth,
    "engine": _engine,
    "vit": _larger,
    "cores": _cores,
    "page": _page,
    "server": _server,
}
USUAL = ("stages", "page")  # the others take minutes each


def _growth(scene: BenchFixture, axis: str) -> dict[str, float]:
    """Median seconds of the decision and of the whole image for every value of an axis."""
    work: dict[str, Callable[[], Any]] = {}
    for value in GROWTH_VALUES[axis]:
        changes: dict[str, Any] = {"K": {"classes": value}, "side": {"side": value}}.get(axis, {})
        setting = {"N": "views", "M": "prompts", "J": "slots"}.get(axis)
        if setting is not None:
            changes = {"settings": scene.settings.replace(**{setting: value})}
        other = replace(scene, **changes)
        work |= {f"decision, {axis} = {value}": other.decision, f"image, {axis} = {value}": other.image}
    return medians(work, SLOW_ROUNDS, device=scene.backbone.device)


def as_text(report: dict[str, Any], notes: list[str]) -> str:
    """Tables: milliseconds, their ratio to the floor and their goals; ratios with their goals; more cores."""
    config, machine, floor = report["config"], report["machine"], report["stages"].get("floor")
    head = ", ".join(f"{axis} = {config[axis]}" for axis in ("N", "K", "M", "J"))
    where = machine["gpu"] or machine["processor"] or machine["system"]
    rows = [["stage", "ms (median)", "of the floor", "goal", ""]]
    for name, seconds in report["stages"].items():
        share = f"{seconds / floor:.2f}" if floor else ""
        rows.append([name, f"{1000 * seconds:.1f}", share, *_goal(name, seconds, 1000)])
    ratios = [["ratio", "value", "goal", ""]]
    ratios += [[name, f"{value:.3g}", *_goal(name, value)] for name, value in report["ratios"].items()]
    title = [
        f"{config['backbone']} ({config['precision']}); {head}, square of {config['side']} px.",
        f"On {where}, {machine['threads']} threads, load {machine['load']}.",  # some processors have long names
    ]
    tables = [table for table in (rows, ratios, _cores_table(report.get("cores", {}))) if table[1:]]
    lines = [line for table in tables for line in ("", *align_columns(table))]
    return "\n".join([*title, *lines, *(["", *notes] if notes else [])])


def _goal(name: str, value: float, factor: float = 1) -> list[str]:
    """The goal of a number in the unit of the table, and whether it is met."""
    if name not in GOALS:
        return ["", ""]
    limit, small = GOALS[name]
    return [
        f"{'at most' if small else 'at least'} {factor * limit:g}",
        "met" if (value <= limit) == small else "not met",
    ]


def _cores_table(cores: dict[str, dict[str, float]]) -> list[list[str]]:
    """Milliseconds with one and two threads, and by Amdahl's law with more; the serial share."""
    rows = [["step (ms)", *next(iter(cores.values()), {})]]
    for name, one in cores.items():
        rows.append([name, *(f"{v:.2f}" if "share" in what else f"{1000 * v:.1f}" for what, v in one.items())])
    return rows
