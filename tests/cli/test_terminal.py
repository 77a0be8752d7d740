"""What a terminal shows: guesses, examples, progress, the name of the program, and settings from a file."""

import argparse
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rita_demo.cli import main as cli
from rita_demo.cli import terminal
from rita_demo.cli.evaluate import request_of
from rita_demo.cli.explain import run_request_of
from rita_demo.evaluation.request import Request
from rita_demo.records.errors import DataError
from rita_demo.settings import PAPER, Settings
from tests.live_server import ROOT

EVALUATE = "evaluate --dataset textures --methods clip --attack pgd --budget 2 --out runs"
EXPLAIN = "explain photo.png --classes a,b"


def parsed(line: str) -> argparse.Namespace:
    return cli.build_parser().parse_args(shlex.split(line))


def commands() -> dict[str, argparse.ArgumentParser]:
    (found,) = (a for a in cli.build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    return found.choices


def example_lines() -> Iterator[tuple[str, str]]:
    for name, parser in commands().items():
        for line in parser.format_help().split("examples:\n")[1].strip().splitlines():
            yield name, line.strip().removeprefix(terminal.program()).strip()


def test_every_command_has_examples_and_each_is_a_command_line_that_is_understood(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "won.csv").write_text("file\nbanded/1000001\n")  # of an example
    lines = list(example_lines())
    assert {name for name, _ in lines} == set(commands())
    for name, line in lines:
        args = parsed(line)
        assert line.split()[0] == name
        args.settings = None  # the file of the example is not here
        assert name != "evaluate" or request_of(args).points
        assert name != "explain" or run_request_of(args).names


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        (f"{EXPLAIN} --set vews=3", "views"),
        (EVALUATE.replace("textures", "texture"), "textures"),
        (f"{EXPLAIN} --atack pgd", "--attack"),
    ],
)
def test_a_misspelt_name_gets_a_guess(line: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(shlex.split(line)) == (1 if meant == "textures" else 2)
    assert f"Did you mean {meant}" in capsys.readouterr().err


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "one.json"
    path.write_text(json.dumps({"classes": ["a"], "settings": PAPER.replace(attack="fgsm", budget=7).as_dict()}))
    return path


def test_explain_starts_from_the_settings_of_a_file(saved: Path) -> None:
    def settings(more: str = "") -> Settings:
        return run_request_of(parsed(f"{EXPLAIN} --settings {saved} {more}")).settings

    assert settings() == PAPER.replace(attack="fgsm", budget=7)
    assert settings("--budget 3 --set views=9") == PAPER.replace(attack="fgsm", budget=3, views=9)
    saved.write_text('{"views": 8}')
    assert settings("--preset paper") == PAPER.replace(views=8)


def test_evaluate_takes_what_it_has_no_option_for_from_the_file(saved: Path) -> None:
    def request(more: str) -> Request:
        return request_of(parsed(f"{EVALUATE} --settings {saved} {more}"))

    assert request("--preset recommended").points == (PAPER.replace(attack="pgd", budget=2),)
    points = request("--protocols off,reset --square model").points
    assert {(p.protocol, p.square, p.views) for p in points} == {
        (name, "model", PAPER.views) for name in ("off", "reset")
    }
    assert request("--preset paper").dataset_settings == frozenset()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"settings": {"vews": 3}}', "one.json: There is no setting 'vews'. Did you mean views"),
        ('{"views": 4000}', "one.json: views is a whole number from 1 to 256; got 4000."),
        ('{"settings": ', "is no readable JSON file"),
    ],
)
def test_a_bad_file_of_settings_is_one_sentence(text, sentence, saved, capsys) -> None:
    saved.write_text(text)
    for line in (EXPLAIN, EVALUATE, "serve"):
        assert cli.main([*shlex.split(line), "--settings", str(saved)]) == 1
        err = capsys.readouterr().err
        assert sentence in err
        assert err.count("\n") == 1
    with pytest.raises(DataError):
        run_request_of(parsed(f"{EXPLAIN} --settings {saved}"))


PRINTS = """
import sys
from rita_demo.cli import terminal
parser = terminal.Parser()
parser.set_defaults(run=lambda _: [print('a line') for _ in range(%d)] and 0)
sys.exit(terminal.run_command(lambda: parser, sys.argv[1:]))
"""


@pytest.mark.parametrize("lines", [1, 100_000])
@pytest.mark.parametrize(("fault", "reason"), [("full", "No space left on device"), ("closed", "Broken pipe")])
def test_an_output_that_cannot_be_written_is_one_sentence(fault: str, reason: str, lines: int) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    if fault == "full":
        os.close(writer)
        writer = os.open("/dev/full", os.O_WRONLY)
    commands = [PRINTS % lines], *([[PRINTS % 0, "--help"]] if fault == "full" else [])
    for words in commands:
        command, variables = [sys.executable, "-c", *words], os.environ | {"PYTHONUNBUFFERED": ""}
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=variables)
        assert (done.returncode, done.stderr) == (1, f"The output could not be written: {reason}.\n")
    os.close(writer)
