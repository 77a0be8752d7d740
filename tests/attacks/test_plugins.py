"""An attack from a user's own file: it runs like the others, and what is wrong with it is one sentence with a line."""

import re
from pathlib import Path

import pytest
import torch

from rita_demo import settings
from rita_demo.attacks import ATTACKS, registry
from rita_demo.process.plugin_file import PluginError
from tests.attacks.test_attacks import MODEL, run

pytestmark = pytest.mark.usefixtures("no_plugins_afterwards")
TEXTS = 'name="plugin", title="A plugin", sentence="One step.", '
IMPORT = "from rita_demo.attacks.contract import Attack\n"


def write(folder: Path, text: str) -> str:
    (folder / "mine.py").write_text(text)
    return f"{folder / 'mine.py'}:ATTACK"


def plugin(folder: Path, options: str = "", functions: str = "") -> str:
    return write(folder, f"{IMPORT}{functions}\nATTACK = Attack({TEXTS}{options})\n")


def test_a_plugin_runs_like_the_attack_it_equals(tmp_path: Path) -> None:
    functions = "def step(iterate, gradient, step_size):\n    return iterate + step_size * gradient.sign()\n"
    spec = plugin(tmp_path, "step=step, start='uniform', relative_step_size=0.25, iterative=True", functions)
    before = settings.SETTINGS["attack"].choices
    assert registry.add_plugin(spec).name == "plugin"
    assert registry.add_plugin(spec) is ATTACKS["plugin"]  # a second time: the same
    assert settings.SETTINGS["attack"].choices[-1] == "plugin"
    assert torch.equal(run(MODEL, "plugin")[1].frames, run(MODEL, "pgd")[1].frames)
    registry.remove("plugin")
    assert settings.SETTINGS["attack"].choices == before


STATE = "def own(iterate, gradient, step_size, state=None):\n    return {}\n"
COMPONENT = "def own(*a):\n    return {}\n"


@pytest.mark.parametrize(
    ("options", "functions", "sentence"),
    [
        ("step=own", COMPONENT.format("a[0][:1, :1]"), r"line 2: step of .* has shape \(1, 1, 12, 12\); expected"),
        ("step=own", COMPONENT.format("a[0] * float('nan')"), "line 2: step of .* not finite"),
        ("project=own", COMPONENT.format("a[0] * 0 + 0.5"), "line 2: project of .* moves a pixel value by .*/255"),
        ("step=own", STATE.format("iterate"), r"line 2: step of .* is a Tensor; expected a pair \(pixels, state\)"),
        ("step=own", COMPONENT.format("a[7]"), "line 3: IndexError: tuple index"),
        ("loop=own", COMPONENT.format("iter(())"), "line 2: the result of .* has no frames"),
    ],
)
def test_a_wrong_result_gives_one_sentence(tmp_path: Path, options: str, functions: str, sentence: str) -> None:
    registry.add_plugin(plugin(tmp_path, options, functions))
    with pytest.raises(PluginError) as caught:
        run(MODEL, "plugin")
    assert re.match(f"mine.py, {sentence}", caught.value.for_owner)
