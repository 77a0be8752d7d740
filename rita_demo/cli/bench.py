"""The command ``bench``."""

import argparse
import json
from pathlib import Path
from typing import Any

from rita_demo.cli.options import add_backbone, whole_number
from rita_demo.cli.terminal import add_command, check_writable, print_progress, write_errors

USUAL = ("stages", "page")
LONG = ("growth", "engine", "vit", "cores", "server")  # minutes each


def add_bench(commands: Any) -> None:
    about = "Measure every stage against the floor (what cannot be avoided) and against a plain reading of the paper, "
    about += "in one run, and the page: up to six minutes on two cores."
    examples = ("bench", "bench --only growth engine", "bench --backbone ViT-B-16-quickgelu:openai --json bench.json")
    parser = add_command(commands, "bench", _bench, "speed, as ratios", *examples, description=about)
    help = "instead: the rows of a GPU, with ViT-B/16 and random weights"
    parser.add_argument("what", nargs="?", choices=("gpu",), help=help)
    add_backbone(parser)
    help = f"of {', '.join(USUAL)} (without this option: both), {', '.join(LONG)} (long)"
    parser.add_argument("--only", nargs="+", choices=USUAL + LONG, default=USUAL, metavar="PART", help=help)
    help = "visits before the server's memory is read (200)"
    parser.add_argument("--visits", type=whole_number(1), default=200, metavar="N", help=help)
    parser.add_argument("--json", metavar="F", type=Path, help="write the numbers as JSON")


def _bench(args: argparse.Namespace) -> int:
    check_writable(args.json)
    report, text = _gpu() if args.what == "gpu" else _cpu(args)
    if args.json is not None:
        with write_errors():
            args.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print_progress("")
    print(text)
    return 0


def _cpu(args: argparse.Namespace) -> tuple[dict[str, Any], str]:
    from rita_demo.bench.run import as_text, run
    from rita_demo.vlm.registry import load

    report, notes = run(load(args.backbone), args.backbone, print_progress, args.only, args.visits)
    return report, as_text(report, notes)


def _gpu() -> tuple[dict[str, Any], str]:
    from rita_demo.bench import gpu

    found = gpu.run(gpu.ARCHITECTURE, None, print_progress)
    return found, gpu.as_text(found)
