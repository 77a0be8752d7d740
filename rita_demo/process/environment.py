"""The environment variables of this project: each is read and checked here, and nowhere else.

``docs/deployment.md`` shows :func:`markdown_table`; a test compares the two.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rita_demo.records.errors import SettingError

Accounts = tuple[tuple[str, str], ...]
MAX_DIGITS = 20  # int() raises an error of its own beyond some thousands
TRUE_WORDS, FALSE_WORDS = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


@dataclass(frozen=True)
class Variable:
    """``kind`` and ``meaning``: columns of the table. ``default``: its value where it is not set, or empty, and
    ``shown``: how the table names it. ``parse``: text -> value; raises ValueError with the end of a sentence. ``gradio``:
    Gradio's own variable, which counts where this one is not set."""

    kind: str
    default: Any
    meaning: str
    parse: Callable[[str], Any] = str
    gradio: str = ""
    shown: str = ""


def data_folder() -> Path | None:
    """The folder that holds the datasets: ``RITA_DATA``, else ./data where it exists."""
    named: Path = value("RITA_DATA")
    return None if named == VARIABLES["RITA_DATA"].default and not named.is_dir() else named


def _boolean(text: str) -> bool:
    word = text.lower()
    if word not in TRUE_WORDS + FALSE_WORDS:
        raise ValueError(f"is 1 (yes) or 0 (no); got {text[:20]!r}")
    return word in TRUE_WORDS


def _integer(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        digits = text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS
        if not digits or not low <= int(text) <= high:
            raise ValueError(f"is a number from {low} to {high}; got {text[:20]!r}")
        return int(text)

    return parse


def _accounts(text: str) -> Accounts:
    """``user:password[,user2:password2]``. No message repeats any of it."""
    found: dict[str, str] = {}
    for number, one in enumerate(text.split(","), 1):
        user, colon, password = one.partition(":")
        user = user.strip()
        if not (colon and user and password):
            form = "user:password, several of them with commas between"
            raise ValueError(f"is {form}; part {number} is not (a password cannot hold a comma)")
        if user in found:
            raise ValueError(f"names a user twice; look at part {number}")
        found[user] = password
    return tuple(found.items())


VARIABLES: dict[str, Variable] = {
    "RITA_BACKBONE": Variable("model", "embedded", "at the start: `embedded`, `ARCH:TAG` or `ARCH:checkpoint`"),
    "RITA_DEVICE": Variable("device", None, "`cpu`, `cuda`, `cuda:1` or `mps`", shown="the fastest"),
    "RITA_HOST": Variable(
        "address", "127.0.0.1", "where to listen; `0.0.0.0` lets others in", gradio="GRADIO_SERVER_NAME"
    ),
    "RITA_PORT": Variable("1 to 65535", 7860, "the port", _integer(1, 65535), gradio="GRADIO_SERVER_PORT"),
    "RITA_DATA": Variable("folder", Path("data"), "the datasets; downloaded ones are stored here", Path),
    "RITA_RUNS": Variable("folder", Path("runs"), "the runs that the page writes and opens", Path),
    "RITA_AUTH": Variable(
        "accounts", (), "`user:password[,user2:password2]`; without them everybody sees the page", _accounts
    ),
    "RITA_GRACE": Variable("0 to 600", 5, "seconds for running events after SIGTERM or SIGINT", _integer(0, 600)),
    "RITA_DEBUG": Variable(
        "0 or 1",
        False,
        "errors in full, messages included: they may contain what a visitor typed",
        _boolean,
        shown="`0`",
    ),
    "RITA_BROWSER": Variable("file", None, "the Chromium of printed figures, tests and `bench`", shown="searched"),
    "RITA_URL": Variable("address", None, "a running page that the browser tests use instead of starting one"),
}


def value(name: str, environ: Mapping[str, str] | None = None) -> Any:
    """The value of a variable, or its default. Raises SettingError: the value is not allowed."""
    one, environ = VARIABLES[name], os.environ if environ is None else environ
    for source in filter(None, (name, one.gradio)):
        if text := environ.get(source, "").strip():
            try:
                return one.parse(text)
            except ValueError as error:
                raise SettingError(f"{source} {error}.") from None
    return one.default


def check(environ: Mapping[str, str] | None = None) -> None:
    """Read all variables before the model is loaded. Raises SettingError: the first value that is not allowed."""
    for name in VARIABLES:
        value(name, environ)


def markdown_table() -> str:
    rows = ["| variable | type | default | meaning |", "|---|---|---|---|"]
    for name, one in VARIABLES.items():
        default = one.shown or (f"`{one.default}`" if one.default else "none")
        also = f". Where it is not set `{one.gradio}` counts" if one.gradio else ""
        rows.append(f"| `{name}` | {one.kind} | {default} | {one.meaning}{also} |")
    return "\n".join(rows)
