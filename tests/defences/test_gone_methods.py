"""What is gone is refused by one sentence that says what to ask for instead, at every door: former methods, an attack, a preset."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from rita_demo import run
from rita_demo.evaluation.request import points
from rita_demo.pipeline.run_request import read_settings
from rita_demo.records.errors import GONE_METHODS, DemoError
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.session.share_link import parse_link

ATTACK = "The attack defence is adaptive:rita, which is stronger: ask for that."
PRESET = "The preset step_back is the settings step_back=0.4 and ensemble_step_back=0.4: set those."
METHOD = "The method {0} is rita with --protocols {1} (the setting protocol={1}): ask for that."


def read(settings: dict[str, Any]) -> Any:
    Path("s.json").write_text(json.dumps({"settings": settings}))
    return read_settings(Path("s.json"))


def link(**words: str) -> Any:
    return parse_link({"sample": "coffee", **words})


ASKS: list[tuple[str, Callable[[], Any]]] = [
    (ATTACK, lambda: points(attacks="pgd,defence", budget="4")),
    (ATTACK, lambda: link(attack="defence")),
    (ATTACK, lambda: RECOMMENDED.replace(attack="defence")),
    (PRESET, lambda: run("a.png", classes=["cup", "crab"], preset="step_back")),
]
for name, protocol in GONE_METHODS.items():
    doors: list[Callable[..., Any]] = [
        lambda name: link(methods=name),
        lambda name: run("a.png", classes=["cup", "crab"], methods=[name]),
        lambda name: points(attacks=f"adaptive:{name}", budget="4"),
        lambda name: read({f"{name}.x": 1}),
    ]
    ASKS += [(METHOD.format(name, protocol), lambda door=door, name=name: door(name)) for door in doors]


@pytest.fixture(autouse=True)
def in_a_folder_with_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Image.new("RGB", (40, 40), "red").save("a.png")


@pytest.mark.parametrize(("sentence", "ask"), ASKS)
def test_what_is_gone_is_refused_by_one_sentence(sentence: str, ask: Callable[[], Any]) -> None:
    with pytest.raises(DemoError) as error:
        ask()
    assert str(error.value) in (sentence, f"s.json: {sentence}")
