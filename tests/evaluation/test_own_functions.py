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


def test_functions_of_a_file_measure_what_they_measure_in_python(
    file: Path, run_evaluate, data_root: Path, engine
) -> None:
    words = ["--methods", "clip,trimmed", "--defence", f"{file}:trimmed", "--attack", f"none,{file}:halved"]
    stored = run_evaluate(file.parent / "runs", *words, "--limit", "3", "--protocols", "off", "--set", "view_seed=1")
    forget_plugins()
    spec = importlib.util.spec_from_file_location("med", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    settings = {"views": 6, "prompts": 2, "max_entropy": 9, "view_seed": 1}
    asked = {"methods": "clip", "attack": "none", "budget": 4, "steps": 1, "protocols": "off", "limit": 3}
    own = {"defences": [module.trimmed], "attacks": [module.halved]}
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
    ],
)
def test_what_is_neither_says_what_to_write(file: Path, name: str, sentence: str, command_line, capsys) -> None:
    assert cli.main(command_line(file.parent / "runs", "--defence", f"{file}:{name}")) == 1
    assert sentence in capsys.readouterr().err


def test_a_fault_of_a_function_of_a_file_names_its_line(file: Path, command_line, capsys) -> None:
    file.write_text(FUNCTIONS.replace("softmax(-1)", "nothing"))
    words = ["--methods", "clip,trimmed", "--defence", f"{file}:trimmed", "--limit", "1", "--protocols", "off"]
    assert cli.main(command_line(file.parent / "runs", *words)) == 1
    assert "med.py, line 4: AttributeError" in capsys.readouterr().err
