"""The command ``bench``. Imports stay light: torch comes with the work."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rita_demo.errors import DataError
from rita_demo.terminal import check_folder, say


def add_bench(commands: Any, add_backbone: Callable[[argparse.ArgumentParser], None]) -> None:
    """The command ``bench``."""
    parser = commands.add_parser(
        "bench",
        help="speed, as ratios",
        description="Measure every stage against the floor (what cannot be avoided) and against a plain "
        "reading of the paper, in one run; minutes on two cores.",
    )
    add_backbone(parser)
    parser.add_argument("--json", metavar="F", type=Path, help="write the numbers as JSON")
    parser.set_defaults(run=_bench)


def _bench(args: argparse.Namespace) -> int:
    path: Path | None = args.json
    check_folder(path)
    from rita_demo import vlm
    from rita_demo.bench.report import as_json, as_text
    from rita_demo.bench.run import run

    report = run(vlm.load(args.backbone), args.backbone, say=say)
    if path is not None:
        try:
            path.write_text(json.dumps(as_json(report), indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise DataError(f"The result could not be written: {error.strerror}.") from error
    say("")
    print(as_text(report))
    return 0
