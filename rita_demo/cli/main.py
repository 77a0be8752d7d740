"""The command line, ``python -m rita_demo COMMAND``: one to three commands per file of this folder.

Exit status: 0 on success; 2 when the command line itself is wrong (an unknown option, a value outside its range);
1, with one sentence on stderr, when a picture, a class name, a model or a file is wrong. Libraries that take seconds
to import are imported by the command that needs them.
"""

import sys
from collections.abc import Sequence

import rita_demo
from rita_demo.cli import available, evaluate, explain, paper, serve, stored
from rita_demo.cli.terminal import Parser, program, run_command

#: Commands that a checkout has in ``tools/``, and an installed package no longer.
MOVED = ("bench", "train")
#: What adds each command, in the order of the help.
COMMANDS = (
    *(explain.add_explain, explain.add_budget, evaluate.add_evaluate, stored.add_rows, evaluate.add_judge),
    *(stored.add_tables, stored.add_compare, paper.add_figures, paper.add_reproduce),
    *(available.add_models, available.add_datasets, serve.add_serve, serve.add_open),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. An error a person can put right is one sentence."""
    words = sys.argv[1:] if argv is None else argv
    if words and words[0] in MOVED:
        where = f"in a checkout of the project, run python -m tools.{words[0]} with the same options"
        print(f"The command {words[0]} is no longer part of the package: {where}.", file=sys.stderr)
        return 2
    return run_command(build_parser, words)


def build_parser() -> Parser:
    """All commands and options. The parser of each command stores its function in ``run``."""
    parser = Parser(prog=program(), description="See an attack on a vision-language model, and see RITA undo it.")
    parser.add_argument("--version", action="version", version=f"rita-demo {rita_demo.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in COMMANDS:
        add(commands)
    return parser
