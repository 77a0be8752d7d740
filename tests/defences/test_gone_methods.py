"""What is gone is refused by one sentence that says what to ask for instead: former methods, an attack, a preset."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rita_demo import run
from rita_demo.evaluation.request import points
from rita_demo.records.errors import GONE_METHODS, DemoError
from rita_demo.settings import RECOMMENDED, parse_assignment
from rita_demo.ui.session.share_link import parse_link

ATTACK = "The attack defence is adaptive:rita, which is stronger: ask for that."
PRESET = "The preset step_back is the settings step_back=0.4 and ensemble_step_back=0.4: set those."
METHOD = "The method {0} is rita with --protocols {1} (the setting protocol={1}): ask for that."
PICTURE, NAMES = np.zeros((40, 40, 3), np.uint8), ["cup", "crab"]

ASKS: list[tuple[str, Callable[[], Any]]] = [
    (ATTACK, lambda: points(attacks="pgd,defence", budget="4")),
    (ATTACK, lambda: parse_link({"sample": "coffee", "attack": "defence"})),
    (ATTACK, lambda: RECOMMENDED.replace(attack="defence")),
    (PRESET, lambda: run(PICTURE, classes=NAMES, preset="step_back")),
]
for name, protocol in GONE_METHODS.items():
    doors: list[Callable[..., Any]] = [
        lambda name: parse_link({"sample": "coffee", "methods": name}),
        lambda name: run(PICTURE, classes=NAMES, methods=[name]),
        lambda name: points(attacks=f"adaptive:{name}", budget="4"),
        lambda name: parse_assignment(f"{name}.x=1"),
    ]
    ASKS += [(METHOD.format(name, protocol), lambda door=door, name=name: door(name)) for door in doors]


@pytest.mark.parametrize(("sentence", "ask"), ASKS)
def test_what_is_gone_is_refused_by_one_sentence(sentence: str, ask: Callable[[], Any]) -> None:
    with pytest.raises(DemoError) as error:
        ask()
    assert str(error.value) == sentence
