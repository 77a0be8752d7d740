"""What the process finds around it: its environment variables, the proxies that they name, a browser, a graphics card.

Each variable is read and checked here, and nowhere else.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rita_demo.records.errors import SettingError

Accounts = tuple[tuple[str, str], ...]
MAX_DIGITS = 20  # int() raises an error of its own beyond some thousands
TRUE_WORDS, FALSE_WORDS = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
PROXIES = frozenset({"http_proxy", "https_proxy", "all_proxy"})  # in small or capital letters
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
_FLAGS = """--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync"""
BROWSER_FLAGS = _FLAGS.split()  # no network, no graphics card, no sandbox, no first run
GRAPHICS_CARDS = Path("/proc/driver/nvidia/gpus")  # of NVIDIA's driver: a folder for every card


@dataclass(frozen=True)
class Variable:
    """``default``: its value where it is not set, or empty. ``parse``: text -> value; raises ValueError with the end of a
    sentence. ``gradio``: Gradio's own variable, which counts where this one is not set."""

    default: Any = None
    parse: Callable[[str], Any] = str
    gradio: str = ""


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
    accounts: dict[str, str] = {}
    for number, part in enumerate(text.split(","), 1):
        user, colon, password = part.partition(":")
        user = user.strip()
        if not (colon and user and password):
            form = "user:password, several of them with commas between"
            raise ValueError(f"is {form}; part {number} is not (a password cannot hold a comma)")
        if user in accounts:
            raise ValueError(f"names a user twice; look at part {number}")
        accounts[user] = password
    return tuple(accounts.items())


#: docs/deployment.md says what they mean.
VARIABLES: dict[str, Variable] = {
    "RITA_BACKBONE": Variable("embedded"),
    "RITA_DEVICE": Variable(),
    "RITA_HOST": Variable("127.0.0.1", gradio="GRADIO_SERVER_NAME"),
    "RITA_PORT": Variable(7860, _integer(1, 65535), "GRADIO_SERVER_PORT"),
    "RITA_DATA": Variable(Path("data"), Path),
    "RITA_RUNS": Variable(Path("runs"), Path),
    "RITA_AUTH": Variable((), _accounts),
    "RITA_GRACE": Variable(5, _integer(0, 600)),
    "RITA_DEBUG": Variable(False, _boolean),
    "RITA_BROWSER": Variable(),
    "RITA_URL": Variable(),  # a running page that the browser tests use instead of starting one
}


def value(name: str, environ: Mapping[str, str] = os.environ) -> Any:
    """The value of a variable, or its default. Raises SettingError: the value is not allowed."""
    variable = VARIABLES[name]
    for source in filter(None, (name, variable.gradio)):
        if text := environ.get(source, "").strip():
            try:
                return variable.parse(text)
            except ValueError as error:
                raise SettingError(f"{source} {error}.") from None
    return variable.default


def check(environ: Mapping[str, str] = os.environ) -> None:
    """Read all variables before the model is loaded. Raises SettingError: the first value that is not allowed."""
    for name in VARIABLES:
        value(name, environ)


def data_folder() -> Path | None:
    """The folder that holds the datasets: ``RITA_DATA``, else ./data where it exists."""
    folder: Path = value("RITA_DATA")
    return None if folder == VARIABLES["RITA_DATA"].default and not folder.is_dir() else folder


def find_chromium() -> str | None:
    """Path of the Chromium that prints figures, and that ``bench`` and the tests drive: ``RITA_BROWSER`` if that file exists,
    else the first installed one; None if there is none."""
    asked: str | None = value("RITA_BROWSER")
    if asked:
        return asked if Path(asked).exists() else None
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def graphics_card_warning(device: str) -> str:
    """A sentence where a model is on the CPU although this machine has a graphics card, and nobody asked for that; else "". A
    run that comes from another machine says nothing of this one's card: torch is asked too, once it is loaded."""
    if device != "cpu" or value("RITA_DEVICE") or not GRAPHICS_CARDS.is_dir() or not any(GRAPHICS_CARDS.iterdir()):
        return ""
    torch = sys.modules.get("torch")
    if torch is None or torch.cuda.is_available():
        return ""
    reasons = "its driver may be older than torch, torch may be built without CUDA, or a container may lack the card"
    return f"The model runs on the CPU, because torch cannot use this machine's graphics card: {reasons}."


@contextmanager
def without_proxies() -> Iterator[None]:
    """The block asks this machine alone: it sees no proxy, so that none is asked for this machine, and none is refused that
    httpx cannot use (SOCKS, a malformed address). Downloads after the block have them again. Only while no other thread
    downloads."""
    hidden = {name: os.environ.pop(name) for name in tuple(os.environ) if name.lower() in PROXIES}
    try:
        yield
    finally:
        os.environ.update(hidden)
