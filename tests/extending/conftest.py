"""An empty folder to work in, and the commands of the page in this process: a new one would only load torch again."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from rita_demo.attacks import ATTACKS
from rita_demo.cli import main as cli
from rita_demo.defences.registry import DEFENCES
from rita_demo.settings import SETTINGS
from tests.conftest import forget_plugins


class CommandResult(NamedTuple):
    """What a command printed, and its exit status."""

    status: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_plugins_afterwards: None) -> Path:
    """Who has followed the page has its defence and its attack in the package; here they are new again."""
    for name in ("attack", "adaptive.against"):
        monkeypatch.setitem(SETTINGS, name, SETTINGS[name])
    for known, name in ((DEFENCES, "median"), (ATTACKS, "normalised")):
        for own in known[name].param_names.values() if name in known else ():
            monkeypatch.delitem(SETTINGS, own)
        monkeypatch.delitem(known, name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def rita(capsys: pytest.CaptureFixture[str]) -> Callable[..., CommandResult]:
    """``python -m rita_demo WORDS``, which leaves as little behind as a process."""

    def run(*words: str) -> CommandResult:
        capsys.readouterr()
        try:
            return CommandResult(cli.main(words), *capsys.readouterr())
        finally:
            forget_plugins()

    return run


@pytest.fixture
def output_of(capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    """What a block of code prints."""

    def run(code: str) -> str:
        capsys.readouterr()
        exec(code, {})
        return capsys.readouterr().out

    return run
