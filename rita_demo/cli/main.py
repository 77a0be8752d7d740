"""The command line, ``python -m rita_demo COMMAND``: a command or two per file of this folder.

Exit status: 0 on success; 2 when the command line itself is wrong (an unknown option, a value outside its range);
1, with one sentence on stderr, when a picture, a class name, a model or a file is wrong. Libraries that take seconds
to import are imported by the command that needs them.
"""

import argparse
import os
import sys
from collections.abc import Sequence

import rita_demo
from rita_demo.cli.available import add_datasets, add_models
from rita_demo.cli.bench import add_bench
from rita_demo.cli.evaluate import add_evaluate
from rita_demo.cli.explain import add_explain
from rita_demo.cli.figures import add_figures
from rita_demo.cli.serve import add_open, add_serve
from rita_demo.cli.tables import add_tables
from rita_demo.cli.terminal import Parser, program
from rita_demo.cli.train import add_train
from rita_demo.process import environment
from rita_demo.process.guest_file import GuestError
from rita_demo.records.errors import DemoError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. An error a person can put right is one sentence."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters still gets the rest
    debug = False
    try:
        debug = environment.value("RITA_DEBUG")
        args = build_parser().parse_args(argv)
        return args.run(args)
    except SystemExit as end:  # argparse has printed its sentence (2) or its help (0)
        return int(end.code or 0)
    except GuestError as error:
        print(error.for_owner, file=sys.stderr)
    except DemoError as error:
        print(error, file=sys.stderr)
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of the output has closed it; Python would complain once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except Exception as error:
        if debug:
            raise
        print(
            f"Something went wrong that should not have: {type(error).__name__}: {error}. "
            "Set RITA_DEBUG=1 to see where, and please report it.",
            file=sys.stderr,
        )
    return 1


def build_parser() -> argparse.ArgumentParser:
    """All commands and options. The parser of each command stores its function in ``run``."""
    parser = Parser(prog=program(), description="See an attack on a vision-language model, and see RITA undo it.")
    parser.add_argument("--version", action="version", version=f"rita-demo {rita_demo.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in (add_explain, add_evaluate, add_tables, add_figures, add_bench):
        add(commands)
    for add in (add_models, add_datasets, add_serve, add_open, add_train):
        add(commands)
    return parser
