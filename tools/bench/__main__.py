"""``python -m tools.bench``: speed, as ratios."""

import argparse
import json
import sys
from pathlib import Path

from rita_demo.cli.options import add_backbone
from rita_demo.cli.terminal import Parser, check_writable, print_progress, print_warning, run_command
from rita_demo.process import environment
from rita_demo.process.output_file import write_output
from rita_demo.vlm.registry import load
from tools.bench import gpu
from tools.bench.run import PARTS, as_text, run


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
