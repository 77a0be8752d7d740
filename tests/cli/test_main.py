"""The command line: exit status, messages, files. The run is a synthetic one."""

from pathlib import Path

import numpy as np
import pytest

from rita_demo.cli import main as cli
from rita_demo.data.pictures import png_bytes
from rita_demo.records.errors import BackboneError
from rita_demo.scripting import explain as explain_module
from rita_demo.settings import PAPER, RECOMMENDED
from tests.figures.synthetic import make_run


@pytest.fixture
def photo(tmp_path: Path) -> str:
    pixels = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    path = tmp_path / "photo.png"
    path.write_bytes(png_bytes(pixels))
    return str(path)


@pytest.fixture
def recorded_call(monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """Replaces the work by a synthetic run and records the arguments."""
    calls: list[dict] = []

    def explain(request, backbone, report, memory):
        calls.append(vars(request) | {"backbone": backbone, "memory": memory})
        settings = request.settings.replace(descriptions="none")  # a file of descriptions need not be there
        return None, make_run(settings=settings, attack=settings.attack != "none")

    monkeypatch.setattr(explain_module, "explain", explain)
    return calls


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = cli.main(words)
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    return status, out, err


ONE = "explain PHOTO --classes a,b"
MEASURE = "evaluate --dataset textures --attack pgd --budget 2 --out runs"
BAD_USAGE: list[tuple[str, str]] = [
    ("", "COMMAND"),
    (f"{ONE} --budget abc", "budget is a whole number"),
    (f"{ONE} --budget 0.0157", "in 1/255: did you mean 4?"),
    (f"{ONE} --budget 1.5", "whole levels, so 1.5 would be 2."),
    ("budget PHOTO --classes a,b --most 0", "a strength is a whole number from 1 to 64; got '0'"),
    (f"{ONE} --set views", "written name=value"),
    (f"{ONE} --set colour=red", "no setting 'colour'"),
    (f"{ONE} --set descriptions=", "or the path of a file"),
    (f"{MEASURE} --methods clip,rit", "no method 'rit'. Did you mean rita?"),
    (f"{MEASURE} --methods rita_memory --protocols off", "rita_memory needs a memory"),
    (f"{MEASURE} --methods clip --seeds 0,x", "A seed is a whole number"),
    (f"{MEASURE} --methods clip --limit 0", "argument --limit: a whole number from 1; got '0'"),
    (f"{MEASURE} --methods clip --sweep slots", "A sweep is written name=v1,v2"),
    (f"{MEASURE} --methods clip --sweep slots=1 --sweep slots=2", "given twice"),
    (f"{MEASURE.replace('pgd', 'none')} --methods clip --target next", "--target needs an attack"),
    ("evaluate --dataset dtd --methods clip --attack pgd --out runs", "required: --budget"),
    ("serve --port 99999", "a whole number from 1 to 65535; got '99999'"),
    ("bench --only page", "in a checkout of the project, run python -m tools.bench with the same options"),
    ("train --data x --out y --minutes 60", "in a checkout of the project, run python -m tools.train"),
]
UNUSABLE: list[tuple[str, str]] = [
    ("explain gone.png --classes a,b", "There is no file 'gone.png'"),
    ("explain PHOTO --classes a", "At least 2 different class names are needed"),
    (f"{ONE} --label c", "no class 'c' among the 2"),
    (f"{ONE} --json no/such/f.json", "cannot be written"),
    ("datasets --data-root no/such/folder", "does not exist"),
]


@pytest.mark.parametrize(("words", "sentence"), BAD_USAGE)
def test_a_wrong_command_line_exits_with_2_and_a_reason(words, sentence, photo, recorded_call, capsys) -> None:
    status, out, err = run(capsys, *words.replace("PHOTO", photo).split())
    assert (status, out) == (2, "")
    assert sentence in err
    assert recorded_call == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (f"{ONE} --attack pgd --attack fgsm", "--attack is given twice, and the last counts: it takes one value."),
        ("compare gone gone --method clip --method rita", "--method is given twice, and the last counts: several have"),
        (f"{ONE} --attack pgd --attack pgd --set views=4 --set steps=2", ""),
    ],
)
def test_no_value_of_an_option_is_left_out_silently(words, sentence, photo, recorded_call, capsys) -> None:
    _, _, err = run(capsys, *words.replace("PHOTO", photo).split())
    assert err.splitlines()[0].startswith(sentence) if sentence else err == ""


@pytest.mark.parametrize(("words", "sentence"), UNUSABLE)
def test_unusable_input_exits_with_1_and_one_line(words, sentence, photo, capsys) -> None:
    status, out, err = run(capsys, *words.replace("PHOTO", photo).split())
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert sentence in err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], RECOMMENDED),
        (["--preset", "paper", "--budget", "4"], PAPER.replace(budget=4)),
        (["--seed", "5"], RECOMMENDED.replace(attack_seed=5, view_seed=5)),
        (["--seed", "5", "--set", "view_seed=6"], RECOMMENDED.replace(attack_seed=5, view_seed=6)),
        (["--set", "views=8", "--set", "views=9"], RECOMMENDED.replace(views=9)),
        (["--set", "views_augmix=on"], RECOMMENDED.replace(views_augmix=True)),
    ],
)
def test_options_become_settings_and_later_ones_override(words, expected, photo, recorded_call, capsys) -> None:
    status, _, _ = run(capsys, "explain", photo, "--classes", "a,b", *words)
    assert status == 0
    assert recorded_call[0]["settings"] == expected


def test_classes_label_and_target_are_found_by_name(photo, recorded_call, capsys) -> None:
    words = ["--classes", 'cup,<b>crab</b>,sea horse,CUP,"fox, red"', "--label", "Cup", "--target", "sea_horse"]
    status, _, err = run(capsys, "explain", photo, *words, "--backbone", "A:b")
    assert status == 0
    assert "used once: CUP" in err
    assert recorded_call[0]["names"] == ("cup", "<b>crab</b>", "sea horse", "fox, red")
    assert (recorded_call[0]["label"], recorded_call[0]["target"], recorded_call[0]["backbone"]) == (0, 2, "A:b")


def test_an_error_is_one_line_and_an_unexpected_one_is_shown_in_full_on_request(photo, monkeypatch, capsys) -> None:
    def fail(*_: object, **__: object) -> None:
        raise errors[-1]

    errors: list[Exception] = [BackboneError("The weights are not here.", "Take the embedded model.")]
    monkeypatch.setattr(explain_module, "explain", fail)
    words = ("explain", photo, "--classes", "a,b")
    assert run(capsys, *words) == (1, "", "The weights are not here. Take the embedded model.\n")
    errors.append(ZeroDivisionError("oops"))
    status, _, err = run(capsys, *words)
    assert (status, err.count("\n"), "ZeroDivisionError: oops" in err) == (1, 1, True)
    monkeypatch.setenv("RITA_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        cli.main(words)
