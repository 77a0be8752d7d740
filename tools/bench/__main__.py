"""``python -m tools.bench``: speed, as ratios measured in one run; stages, floor and reference implementation; the page."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rita_demo.cli.options import add_backbone
from rita_demo.cli.terminal import Parser, check_writable, print_progress, print_warning, run_command
from rita_demo.engine.engine import Engine
from rita_demo.process import environment
from rita_demo.process.output_file import write_output
from rita_demo.records.spreadsheet import align_columns
from rita_demo.settings import RECOMMENDED
from rita_demo.vlm.backbone import Backbone
from rita_demo.vlm.registry import load
from tools.bench import gpu, page, stages
from tools.bench.stages import PICTURE, BenchFixture, machine_of, medians

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
    """Measure the parts ``only`` of ``PARTS``: the content of ``bench --json`` (``stages`` in seconds), and sentences for the
    terminal. ``spec``: the name of the model, for the server of the page."""
    machine = machine_of(backbone.device)
    seconds, ratios, notes = dict[str, float](), dict[str, float](), list[str]()
    if "stages" in only:
        scene = BenchFixture(backbone, Engine(backbone), SETTINGS, CLASSES, SIDE)
        seconds, ratios = stages_and_ratios(scene, on_progress)
    if "page" in only:
        on_progress("The page")
        timed, notes = page.measure(spec)
        seconds |= timed
    info, sizes = backbone.info, {"N": SETTINGS.views, "K": CLASSES, "M": SETTINGS.prompts, "J": SETTINGS.slots}
    config = {"backbone": info.name, "precision": info.precision, "picture": PICTURE, "side": SIDE, **sizes}
    config |= {"rounds": ROUNDS, "slow_rounds": SLOW_ROUNDS, "settings": SETTINGS.as_dict()}
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
    # on a line of its own: some processors have long names
    lines.append(f"On {where}, {machine['threads']} threads, load {machine['load']}.")
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


def build_parser() -> Parser:
    about = "Measure every stage against the floor (what cannot be avoided) and against a plain reading of the paper, "
    about += "in one run, and the page: up to six minutes on two cores."
    examples = "examples:\n  python -m tools.bench\n  python -m tools.bench --only page"
    parser = Parser(prog="python -m tools.bench", description=about, epilog=f"{examples}\n  python -m tools.bench gpu")
    help = f"instead: the rows of a GPU; without --backbone with {gpu.ARCHITECTURE}, as an architecture alone with random weights"
    parser.add_argument("what", nargs="?", choices=("gpu",), help=help)
    add_backbone(parser)
    parser.set_defaults(run=measure, backbone=None)
    help = "stages or page (without this option: both)"
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, metavar="PART", help=help)
    parser.add_argument("--json", metavar="F", type=Path, help="write the numbers as JSON")
    return parser


def measure(args: argparse.Namespace) -> int:
    check_writable(args.json)
    if args.what == "gpu":
        report = gpu.run(args.backbone or gpu.ARCHITECTURE, None, print_warning)  # lines that stay, also in a file
        text = gpu.as_text(report)
    else:
        spec = args.backbone or environment.value("RITA_BACKBONE")
        report, notes = run(load(spec), spec, print_progress, args.only)
        text = as_text(report, notes)
    if args.json is not None:
        write_output(args.json, (json.dumps(report, indent=2) + "\n").encode())
    print_progress("")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(run_command(build_parser))
