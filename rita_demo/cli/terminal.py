"""What the commands share of a terminal: the program's name, guesses at misspelt words, progress, files to write."""

import argparse
import errno
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from rita_demo.process import environment
from rita_demo.process.output_file import check_output
from rita_demo.process.plugin_file import PluginError
from rita_demo.records.errors import DemoError, SettingError, did_you_mean, refuse_gone

SECONDS_BETWEEN_LINES = 60.0
#: Of an output that cannot take more: a full disk, a pipe that its reader has closed, a terminal that is gone.
OUTPUT_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EPIPE, errno.EIO)
#: What a command is added to: argparse has no public name for it.
Commands: TypeAlias = "argparse._SubParsersAction[Parser]"


def program() -> str:
    """The program as it was called, for usage lines and the next command to type."""
    return "python -m rita_demo" if Path(sys.argv[0]).name == "__main__.py" else "rita"


class _LastOne(argparse.Action):
    """An option with one value, of which the last counts, so that a script's own can be overridden; stderr says so."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option: str | None = None) -> None:
        if option is not None and parser.given.setdefault(self.dest, values) != values:
            several = "," in (name := str(self.metavar)) and not name.startswith("{")
            takes = "several have commas between them" if several else "it takes one value"
            print(f"{option} is given twice, and the last counts: {takes}.", file=sys.stderr)
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """A parser that keeps the lines of ``epilog``, guesses which choice or option was meant, and says which value counts."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **options)
        self.given: dict[str, Any] = {}
        for name in (None, "store"):
            self.register("action", name, _LastOne)

    def _check_value(self, action: argparse.Action, value: str) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message = f"{error.message} {did_you_mean(value, action.choices or ())}".strip()
            raise

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        self.given = {}
        try:
            for word in sys.argv[1:] if args is None else args:
                refuse_gone(word if word.startswith("--") else "")
        except DemoError as error:
            self.error(str(error))
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            guess = did_you_mean(unknown[0], self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(unknown)}. {guess}".strip())
        return known, unknown


def add_command(
    commands: Commands, run: Callable[[argparse.Namespace], int], help: str, *examples: str, about: str | None = None
) -> argparse.ArgumentParser:
    """Add the command of a function, which gets its arguments and returns the exit status: ``_explain`` is ``explain``. Its help
    begins with what it is ``about`` and ends with ``examples``."""
    epilog = "\n".join(["examples:", *(f"  {program()} {example}" for example in examples)])
    parser = commands.add_parser(run.__name__.strip("_"), help=help, epilog=epilog, description=about)
    parser.set_defaults(run=run, usage_error=parser.error)
    return parser


@contextmanager
def usage_errors(args: argparse.Namespace) -> Iterator[None]:
    """A :class:`SettingError` is one of the command line: it is printed, and the program exits with 2."""
    try:
        yield
    except SettingError as error:
        args.usage_error(str(error))


def run_command(build_parser: Callable[[], Parser], argv: Sequence[str] | None = None) -> int:
    """Parse a command line and run it; returns the exit status. An error a person can put right is one sentence.

    ``build_parser``: makes the parser, whose ``run`` gets the arguments; ``argv``: None: of this process.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters still gets the rest
    debug, status, failed = False, 1, None
    try:
        debug = environment.value("RITA_DEBUG")
        args = build_parser().parse_args(argv)
        status = args.run(args)
    except SystemExit as end:  # argparse has printed its sentence (2) or its help (0)
        status = int(end.code or 0)
    except PluginError as error:
        print_warning(error.for_owner)
    except DemoError as error:
        print_warning(str(error))
    except KeyboardInterrupt:
        print_warning("Interrupted.")
        status = 130
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None and error.errno in OUTPUT_ERRORS:
            failed = error
        elif debug:
            raise
        else:
            print_warning(
                f"Something went wrong that should not have: {type(error).__name__}: {error}. "
                "Set RITA_DEBUG=1 to see where, and please report it."
            )
    if failed := _flush_output() or failed:
        print_warning(f"The output could not be written: {failed.strerror}.")
        return 1
    return status


def _flush_output() -> OSError | None:
    """Write what was printed; returns why it cannot be written. It is dropped then: Python would complain once more at its
    end."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return error
    return None


def print_progress(sentence: str) -> None:
    """One line of progress that overwrites itself; nothing where stderr is not a terminal."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - 1  # a line that wraps could not be overwritten
        print(f"\r\033[K{sentence[:width]}", end="", file=sys.stderr, flush=True)


def print_warning(sentence: str) -> None:
    """A sentence that stays, on stderr; nothing for ""."""
    if sentence:
        print_progress("")
        print(sentence, file=sys.stderr, flush=True)


class ProgressLog:
    """The progress of a long command: as :func:`print_progress` in a terminal, elsewhere the first sentence and then
    one line a minute on stderr."""

    def __init__(self) -> None:
        self._due = 0.0

    def __call__(self, sentence: str) -> None:
        print_progress(sentence)
        if not sys.stderr.isatty() and time.monotonic() >= self._due:
            self._due = time.monotonic() + SECONDS_BETWEEN_LINES
            print(sentence, file=sys.stderr, flush=True)


def check_writable(*paths: Path | None) -> None:
    """Before the work: a :class:`DataError` about the first file that could not be written."""
    for path in filter(None, paths):
        check_output(path)
