"""What a terminal shows: guesses, examples, progress, the name of the program, and settings from a file."""

import argparse
import json
import os
import re
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
from rita_demo.data.pictures import png_bytes
from rita_demo.evaluation.request import Request
from rita_demo.records.errors import DataError
from rita_demo.settings import PAPER, RECOMMENDED, Settings
from tests.live_server import ROOT
from tests.textures import texture

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


@pytest.mark.parametrize(("argv", "name"), [("/x/rita_demo/__main__.py", "python -m rita_demo"), ("/bin/rita", "rita")])
def test_usage_names_the_program_as_it_was_called(argv, name, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys, "argv", [argv])
    assert cli.main(["tables", "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: {name} tables")


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("explian", "explain"),
        (f"{EXPLAIN} --attack PDG", "pgd"),
        (f"{EXPLAIN} --methods rtpr", "rtpt"),
        (f"{EXPLAIN} --set vews=3", "views"),
        (f"{EXPLAIN} --set protocol=streem", "stream"),
        (f"{EXPLAIN} --preset papr", "paper"),
        (EVALUATE.replace("textures", "texture"), "textures"),
        (f"{EVALUATE} --executor locl", "local"),
        (f"{EXPLAIN} --atack pgd", "--attack"),
    ],
)
def test_a_misspelt_name_gets_a_guess(line: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(shlex.split(line)) == (1 if meant == "textures" else 2)
    assert f"Did you mean {meant}" in capsys.readouterr().err


def test_outside_a_terminal_progress_is_the_first_sentence_and_one_a_minute(monkeypatch, capsys) -> None:
    now, log = [1000.0], terminal.ProgressLog()
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    for second in range(0, 130, 10):
        now[0] = 1000.0 + second
        log(f"after {second} s")
    assert capsys.readouterr().err == "after 0 s\nafter 60 s\nafter 120 s\n"


def test_in_a_terminal_progress_is_one_line_that_fits(monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "20")
    terminal.ProgressLog()("one sentence that is longer than the line")
    written = capsys.readouterr().err
    assert "\n" not in written
    assert written.removeprefix("\r\033[K") == "one sentence that i"


def test_in_a_terminal_the_line_of_progress_is_gone_before_what_ends_a_command(monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    for error, sentence in (
        (KeyboardInterrupt(), "Interrupted."),
        (DataError("The connection broke."), "The connection broke."),
        (ValueError("no"), "Something went wrong that should not have: ValueError: no. "),
    ):

        def work(_: object, error: BaseException = error) -> int:
            terminal.print_progress("3 of 300 MB")
            raise error

        parser = terminal.Parser()
        parser.set_defaults(run=work)
        terminal.run_command(lambda parser=parser: parser, [])
        assert f"3 of 300 MB\r\033[K{sentence}" in capsys.readouterr().err


def test_a_folder_is_a_dataset_and_the_last_line_names_the_next_command(tmp_path, monkeypatch, capsys, class_folders):
    monkeypatch.chdir(class_folders.parent)
    out = tmp_path / "my runs"
    words = f"--methods clip --attack none,fgsm --protocols off --budget 2 --set views=2 --out {shlex.quote(str(out))}"
    for dataset in (class_folders.name, str(class_folders)):  # the second has nothing left to do
        assert cli.main(shlex.split(f"evaluate --dataset {dataset} --split all {words}")) == 0
    said, err = capsys.readouterr()
    assert "2 cells, 8 rows, 8 of them new" in said
    assert "2 cells, 8 rows, 0 of them new" in said
    assert re.fullmatch(
        rf"1 of 8 in all, \S+ pictures per second, \S+ left; {class_folders.name}, .*: picture 1 of 4\n", err
    )
    last = said.splitlines()[-1]
    assert str(out) in last
    assert cli.main(shlex.split(last.partition(f"Next: {terminal.program()} ")[2])) == 0
    assert "CLIP" in capsys.readouterr().out


@pytest.fixture
def class_folders(tmp_path: Path) -> Path:
    """Two classes with two pictures each."""
    for name in ("banded", "dotted"):
        (tmp_path / "mine" / name).mkdir(parents=True)
        for number in range(2):
            (tmp_path / "mine" / name / f"{number}.png").write_bytes(png_bytes(texture(name, number, 64)))
    return tmp_path / "mine"


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


def test_serve_opens_with_the_settings_of_the_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[dict] = []
    monkeypatch.setattr("rita_demo.cli.serve.serve_page", lambda **given: calls.append(given) or 0)
    assert cli.main(["serve", "--settings", str(saved)]) == 0
    assert cli.main(["serve"]) == 0
    assert [one["settings"] for one in calls] == [PAPER.replace(attack="fgsm", budget=7), None]
    assert calls[0]["settings"] != RECOMMENDED


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"settings": {"vews": 3}}', "one.json: There is no setting 'vews'. Did you mean views"),
        ('{"views": 4000}', "one.json: views is a whole number from 1 to 256; got 4000."),
        ("[1, 2]", "should hold an object of settings"),
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


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("lines", [1, 100_000])
@pytest.mark.parametrize(("fault", "reason"), [("full", "No space left on device"), ("closed", "Broken pipe")])
def test_an_output_that_cannot_be_written_is_one_sentence(fault: str, reason: str, lines: int, unbuffered: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    if fault == "full":
        os.close(writer)
        writer = os.open("/dev/full", os.O_WRONLY)
    commands = [PRINTS % lines], *([[PRINTS % 0, "--help"]] if fault == "full" and not unbuffered else [])
    for words in commands:
        command, variables = [sys.executable, "-c", *words], os.environ | {"PYTHONUNBUFFERED": unbuffered}
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=variables)
        assert (done.returncode, done.stderr) == (1, f"The output could not be written: {reason}.\n")
    os.close(writer)
