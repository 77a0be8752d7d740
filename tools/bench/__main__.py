"""``python -m tools.bench``: speed, as ratios."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rita_demo.cli.options import add_backbone, whole_number
from rita_demo.cli.terminal import Parser, check_writable, print_progress, print_warning, run_command
from rita_demo.process import environment
from rita_demo.process.output_file import write_output
from rita_demo.vlm.registry import load
from tools.bench import gpu
from tools.bench.run import PARTS, USUAL, as_text, run


def build_parser() -> Parser:
    about = "Measure every stage against the floor (what cannot be avoided) and against a plain reading of the paper, "
    about += "in one run, and the page: up to six minutes on two cores."
    examples = (
        "examples:\n  python -m tools.bench\n  python -m tools.bench --only growth engine\n  python -m tools.bench gpu"
    )
    parser = Parser(prog="python -m tools.bench", description=about, epilog=examples)
    help = f"instead: the rows of a GPU; without --backbone with {gpu.ARCHITECTURE}, as an architecture alone with random weights"
    parser.add_argument("what", nargs="?", choices=("gpu",), help=help)
    add_backbone(parser)
    parser.set_defaults(run=measure, backbone=None)
    long = ", ".join(name for name in PARTS if name not in USUAL)
    help = f"of {', '.join(USUAL)} (without this option: both), {long} (long)"
    parser.add_argument("--only", nargs="+", choices=tuple(PARTS), default=USUAL, metavar="PART", help=help)
    help = "visits before the server's memory is read (200)"
    parser.add_argument("--visits", type=whole_number(1), default=200, metavar="N", help=help)
    parser.add_argument("--json", metavar="F", type=Path, help="write the numbers as JSON")
    return parser


def measure(args: argparse.Namespace) -> int:
    check_writable(args.json)
    report, text = _gpu(args.backbone) if args.what == "gpu" else _cpu(args)
    if args.json is not None:
        write_output(args.json, (json.dumps(report, indent=2) + "\n").encode())
    print_progress("")
    print(text)
    return 0


def _cpu(args: argparse.Namespace) -> tuple[dict[str, Any], str]:
    spec = args.backbone or environment.value("RITA_BACKBONE")
    report, notes = run(load(spec), spec, print_progress, args.only, args.visits)
    return report, as_text(report, notes)


def _gpu(backbone: str | None) -> tuple[dict[str, Any], str]:
    found = gpu.run(backbone or gpu.ARCHITECTURE, None, print_warning)  # lines that stay, also in a file
    return found, gpu.as_text(found)


if __name__ == "__main__":
    sys.exit(run_command(build_parser))
