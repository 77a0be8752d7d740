"""A defence and an attack read only the settings that they declare: rows are found by these alone."""

from pathlib import Path

import pytest

from rita_demo.attacks.registry import ATTACKS
from rita_demo.cli import main as cli
from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation.frames import read
from rita_demo.records.errors import SettingError
from rita_demo.settings import RECOMMENDED, SETTINGS
from rita_demo.settings.declared import Declared

#: ``READS``: the setting that the defence reads, ``USES``: those that it declares, ``OWN``: its own settings.
DEFENCE = """
from rita_demo.defences.contract import Defence, verdict_of
from rita_demo.settings.setting import Setting

def answer(inputs):
    scale = {reads}
    return verdict_of((scale * inputs.views @ inputs.template_features.T).mean(0).softmax(-1))

OWN = ({own})
DEFENCE = Defence("mine", "Mine", "Any.", answer, uses={uses}, settings=OWN)
"""


@pytest.fixture
def own(tmp_path: Path, command_line, no_plugins_afterwards):
    """Measures the defence of a file; returns the exit status."""

    def measure(reads: str, *more: str, uses: str = "()", setting: str = "") -> int:
        (tmp_path / "own.py").write_text(DEFENCE.format(reads=reads, uses=uses, own=setting))
        words = ["--methods", f"{tmp_path}/own.py:DEFENCE", "--attack", "none", "--limit", "3", *more]
        return cli.main(command_line(tmp_path / "runs", *words))

    return measure


def test_a_forgotten_declaration_is_a_sentence_that_names_setting_and_defence(own, tmp_path, capsys) -> None:
    assert own("inputs.settings.slots") == 1
    said = capsys.readouterr().err
    assert "The defence 'mine' reads the setting slots, which it does not declare." in said
    assert "Name it among its uses" in said
    assert read(tmp_path / "runs").fault.notna().all(), "no answer, so no row that would be found again"
    assert own("inputs.params['factor']") == 1
    assert "The defence 'mine' reads the setting factor, which it does not declare." in capsys.readouterr().err


def test_a_declared_setting_tells_rows_apart_and_another_one_does_not(own, capsys) -> None:
    for more, new in (((), 3), (("--set", "slots=2"), 3), (("--set", "slots=2"), 0), (("--set", "prompts=3"), 0)):
        capsys.readouterr()
        assert own("inputs.settings.slots", *more, uses="('slots',)") == 0
        assert f"{new} of them new" in capsys.readouterr().out, more


def test_a_setting_of_its_own_that_is_added_later_finds_the_rows_of_before(run_evaluate, tmp_path, add_setting, capsys):
    """A setting that RITA gets in a later version: at its default nothing is measured again, at another value all is."""
    more = ("--methods", "clip,rita", "--attack", "none", "--limit", "3", "--protocols", "stream")
    run_evaluate(tmp_path / "runs", *more)
    name = add_setting("transport")
    assert name in SETTINGS
    for changes, new in (((), 0), (("--set", f"{name}={SETTINGS[name].default}"), 0), (("--set", f"{name}=0.5"), 3)):
        capsys.readouterr()
        run_evaluate(tmp_path / "runs", *more, *changes)
        assert f"{new} of them new" in capsys.readouterr().out


@pytest.mark.parametrize("name", [*DEFENCES])
def test_every_defence_declares_settings_that_exist(name: str) -> None:
    names = DEFENCES[name].declared_settings(RECOMMENDED)
    declared = Declared(RECOMMENDED, names, "it", "uses")
    assert names <= set(SETTINGS)
    for setting in SETTINGS:
        if setting in names:
            assert getattr(declared, setting) == getattr(RECOMMENDED, setting)
        else:
            with pytest.raises(SettingError, match=f"It reads the setting {setting}, which"):
                getattr(declared, setting)
    assert ATTACKS["pgd"].param_values(RECOMMENDED) == {}
