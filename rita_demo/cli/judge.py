"""The command ``judge``: one's own defence on one page."""

import argparse
import warnings
from pathlib import Path

from rita_demo.cli import options
from rita_demo.cli.terminal import Commands, ProgressLog, add_command, print_progress, print_warning
from rita_demo.settings import parse_assignment


def add_judge(commands: Commands) -> None:
    about = "Measures a defence beside others under every attack, and writes one page and one JSON with a verdict. Killed at any "
    about += "moment and started again with the same command, it goes on."
    examples = "judge mine.py:Mine --quick", "judge mine.py:Mine --data-root DIR --dataset dtd:present --limit 100"
    parser = add_command(commands, "judge", _judge, "one page and a verdict on your own", *examples, description=about)
    add = parser.add_argument
    add("defence", metavar="FILE.py:NAME", help="a Defence, or a plain function")
    add("--dataset", metavar="D", default="textures", help="as in evaluate (default: the textures that ship)")
    add("--data-root", metavar="DIR", type=Path, help="the folder that holds the datasets")
    add("--split", default="test", help="test (default), val, train, or all")
    add("--backbone", type=options.backbone, help="one model (default: both embedded towers)")
    add("--seeds", metavar="S[,S]", default="0", help="views and attacks (default 0)")
    add("--limit", metavar="N", type=options.whole_number(1), help="pictures (default 50; with --quick 4)")
    add(
        "--set", metavar="NAME=VALUE", action="append", default=[], dest="settings", help="any setting; may be repeated"
    )
    add("--quick", action="store_true", help="few pictures and steps, to see that all runs: no judgement")
    add("--out", metavar="DIR", type=Path, help="the folder of page, JSON and rows (default: the defence's name)")


def _judge(args: argparse.Namespace) -> int:
    from rita_demo.scripting.judge import judge

    own = ("run", "usage_error", "defence")
    given = {name: value for name, value in vars(args).items() if name not in own and value is not None}
    given["settings"] = dict(map(parse_assignment, args.settings))
    # which pictures have no answer, and why
    warnings.showwarning = lambda message, *_, **__: print_warning(str(message))
    result = judge(args.defence, **given, report=ProgressLog())
    print_progress("")
    print(f"{result['verdict']}\nThe page is {args.out or result['defence']}/judge.html.")
    return 0
