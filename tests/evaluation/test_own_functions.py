"""A plain function of a file is a defence or an attack on the command line, as it is in Python."""

import importlib.util
from pathlib import Path

import pytest

from rita_demo import evaluate, load_runs
from rita_demo.cli import main as cli
from tests.conftest import forget_plugins

pytestmark = pytest.mark.usefixtures("no_plugins_afterwards")
FUNCTIONS = '''\
def trimmed(inputs):
    """The mean of the middle crops."""
    logits = (inputs.views @ inputs.template_features.T / inputs.temperature).sort(0).values
    return logits[1:-1].mean(0).softmax(-1)


def halved(pixels, gradient, step_size):
    """Signed steps of half the size."""
    return pixels + step_size / 2 * gradient.sign()


unnamed = lambda inputs: trimmed(inputs)
three = 3
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "med.py").write_text(FUNCTIONS)
    return tmp_path / "med.py"


def test_functions_of_a_file_measure_what_they_measure_in_python(file, run_evaluate, data_root, engine) -> None:
    words = ["--methods", f"clip,{file}:trimmed", "--attack", f"none,{file}:halved"]
    stored = run_evaluate(file.parent / "runs", *words, "--limit", "3", "--protocols", "off", "--set", "view_seed=1")
    forget_plugins()
    spec = importlib.util.spec_from_file_location("med", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    settings = {"views": 6, "prompts": 2, "max_entropy": 9, "view_seed": 1}
    asked = {"split": "val", "budget": 4, "steps": 1, "protocols": "off", "limit": 3}
    own = {"methods": ["clip", module.trimmed], "attack": ["none", module.halved]}
    rows = evaluate("caltech101", data_root=data_root, engine=engine, settings=settings, **asked, **own)
    by = ["method", "attack", "picture"]
    command, python = (frame.sort_values(by, ignore_index=True) for frame in (load_runs(stored), rows))
    assert len(command) == 3 * 2 * 2
    assert set(command.method) == {"clip", "trimmed"}
    assert set(command.attack) == {"none", "halved"}
    assert command[[*by, "answer", "margin"]].equals(python[[*by, "answer", "margin"]])


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("three", "med.py, line 13: three is a int; expected Defence or a function."),
        ("unnamed", "A function without a name cannot be a row. Write it with def"),
        ("other", "It must contain other = Defence(...), or def other(...)."),
        ("trimmed", "med.py, line 4: AttributeError"),  # a fault names its line
    ],
)
def test_what_is_no_defence_or_fails_says_what_to_write(file, name: str, sentence: str, command_line, capsys) -> None:
    file.write_text(FUNCTIONS.replace("logits[1:-1].mean(0).softmax(-1)", "logits[1:-1].nothing"))
    words = ["--methods", f"clip,{file}:{name}", "--limit", "1", "--protocols", "off"]
    assert cli.main(command_line(file.parent / "runs", *words)) == 1
    assert sentence in capsys.readouterr().err


def test_the_options_and_keywords_of_before_measure_the_same(file, run_evaluate, data_root, engine, capsys) -> None:
    few = ["--limit", "2", "--protocols", "off", "--attack", f"none,{file}:halved,adaptive:trimmed"]
    few += ["--set", "adaptive.steps=1", "--set", "adaptive.restarts=1", "--set", "attack_views=4"]
    now = run_evaluate(file.parent / "now", "--methods", f"clip,{file}:trimmed", *few)
    forget_plugins()
    before = run_evaluate(file.parent / "before", "--methods", "clip,trimmed", "--defence", f"{file}:trimmed", *few)
    by = ["method", "attack", "picture", "answer", "margin", "settings"]
    frames = [load_runs(one)[by].sort_values(by, ignore_index=True) for one in (now, before)]
    assert frames[0].equals(frames[1])
    assert set(frames[0].attack) == {"none", "halved", "adaptive:trimmed"}
    capsys.readouterr()
    forget_plugins()
    words = ["--method", f"{file}:trimmed,clip", "--attack", f"adaptive:{file}:trimmed,none"]
    assert cli.main(["compare", str(now), *words]) in (0, 1)
    said = capsys.readouterr()
    assert "Nothing in the" not in said.err, "compare takes own code by its file as well"
    asked = {"split": "val", "budget": 4, "steps": 1, "protocols": "off", "limit": 1, "settings": {"views": 4}}
    old = {"methods": "clip", "attack": "none", "defences": [f"{file}:trimmed"], "attacks": f"{file}:halved"}
    rows = evaluate("caltech101", data_root=data_root, engine=engine, **asked, **old)
    assert set(zip(rows.method, rows.attack)) == {(m, a) for m in ("clip", "trimmed") for a in ("none", "halved")}


def test_help_shows_one_spelling(capsys) -> None:
    for command in ("explain", "evaluate", "budget", "serve", "open"):
        assert cli.main([command, "--help"]) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert "--defence" not in printed
        assert "FILE.py:NAME" in printed.partition("--methods")[2]
