"""RITA without memory, or with one that is emptied, is RITA under a protocol; what is gone is refused."""

import json
from pathlib import Path

import pytest

from rita_demo import only_right, run
from rita_demo.attacks import ATTACKS, get_attack
from rita_demo.cli import main as cli
from rita_demo.defences.registry import DEFENCES, validated
from rita_demo.evaluation.request import points
from rita_demo.pipeline.run_request import method_names, read_settings
from rita_demo.records.errors import GONE_METHODS, DataError, SettingError
from rita_demo.settings import RECOMMENDED, parse_assignment
from rita_demo.ui.session.run_request import methods_of
from rita_demo.ui.session.share_link import parse_link

ASKS = {
    "a list of methods": lambda name, _: validated(["clip", name]),
    "the API": lambda name, _: method_names(f"clip,{name}"),
    "the form": lambda name, _: methods_of({"methods": [name]}),
    "a link": lambda name, _: parse_link({"sample": "coffee", "methods": name}),
    "a setting in a link": lambda name, _: parse_link({"sample": "coffee", f"{name}.x": "1"}),
    "Python": lambda name, picture: run(picture, classes=["cup", "crab"], methods=[name]),
    "a known defence": lambda name, _: RECOMMENDED.replace(attack="adaptive", **{"adaptive.against": name}),
    "an attack": lambda name, _: points(attacks=f"adaptive:{name}", budget="4"),
    "a comparison": lambda name, picture: only_right(picture.parent, method=("rita", name)),
    "a setting": lambda name, _: parse_assignment(f"{name}.x=1"),
}


def sentence(name: str) -> str:
    protocol = GONE_METHODS[name]
    return f"The method {name} is rita with --protocols {protocol} (the setting protocol={protocol}): ask for that."


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    from PIL import Image

    Image.new("RGB", (40, 40), "red").save(tmp_path / "a.png")
    return tmp_path / "a.png"


@pytest.mark.parametrize("name", GONE_METHODS)
@pytest.mark.parametrize("ask", ASKS)
def test_a_former_method_is_refused_by_one_sentence_that_says_what_to_ask_for(
    ask: str, name: str, picture: Path
) -> None:
    assert name not in DEFENCES
    with pytest.raises(SettingError) as error:
        ASKS[ask](name, picture)
    assert str(error.value) == sentence(name)


@pytest.mark.parametrize("name", GONE_METHODS)
def test_a_saved_settings_file_that_names_one_is_refused(name: str, tmp_path: Path) -> None:
    for settings in ({"adaptive.against": name}, {f"{name}.x": 1}):
        (tmp_path / "s.json").write_text(json.dumps({"settings": settings}))
        with pytest.raises(DataError) as error:
            read_settings(tmp_path / "s.json")
        assert str(error.value) == f"s.json: {sentence(name)}"


@pytest.mark.parametrize("name", GONE_METHODS)
def test_the_command_line_refuses_one(name: str, picture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explain = ["explain", str(picture), "--classes", "cup,crab", "--methods", name]
    evaluate = ["evaluate", "--dataset", "textures", "--methods", name, "--attack", "none", "--budget", "4"]
    for words in (explain, [*evaluate, "--out", str(picture.parent / "runs")]):
        assert cli.main(words) == 2
        assert capsys.readouterr().err.strip().endswith(f"error: {sentence(name)}")


def test_the_former_preset_is_refused_by_the_settings_that_it_was(
    picture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "The preset step_back is the settings step_back=0.4 and ensemble_step_back=0.4: set those."
    with pytest.raises(SettingError) as error:
        run(picture, classes=["cup", "crab"], preset="step_back")
    assert str(error.value) == said
    assert cli.main(["explain", str(picture), "--classes", "cup,crab", "--preset", "step_back"]) == 2
    assert capsys.readouterr().err.strip().endswith(f"error: argument --preset: {said}")
    assert parse_assignment("step_back=0.4") == ("step_back", 0.4), "the setting stays"


ASKS_ATTACK = {
    "a measurement": lambda: points(attacks="pgd,defence", budget="4"),
    "a measurement with steps": lambda: points(attacks="defence", budget="4", steps="3"),
    "a link": lambda: parse_link({"sample": "coffee", "attack": "defence"}),
    "a setting": lambda: parse_assignment("attack=defence"),
    "Python": lambda: RECOMMENDED.replace(attack="defence"),
    "its name": lambda: get_attack("defence"),
}


@pytest.mark.parametrize("ask", ASKS_ATTACK)
def test_the_attack_through_rita_is_refused_by_one_sentence_that_names_the_stronger_one(ask: str) -> None:
    assert "defence" not in ATTACKS
    with pytest.raises(SettingError) as error:
        ASKS_ATTACK[ask]()
    assert str(error.value) == "The attack defence is adaptive:rita, which is stronger: ask for that."
