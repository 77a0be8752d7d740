"""One request, whoever asks: its values are checked in one place."""

import shlex
from typing import Any

import pytest

from rita_demo.cli.explain import run_request_of
from rita_demo.cli.main import build_parser
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.records.errors import DemoError
from rita_demo.scripting import run as scripting
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.session.run_request import OWN_CLASSES, form_request
from rita_demo.ui.session.share_link import parse_link

NAMES = ("cup", "crab", "red fox")
LINE = "explain cup.png --classes 'cup,crab,red fox' --label Cup --target red_fox --methods mta --budget 2"
TRUE_AND_TARGET: dict[str, Any] = {"truth": "cup", "target": "red fox"}
FORM = {"vocabulary": OWN_CLASSES, "own_names": "cup, crab, red fox", "methods": ["mta"], "budget": 2, "views": 9}
LINK = {"sample": "coffee", "classes": "cup,crab,red fox", "methods": "mta", "budget": "2", "views": "9"}
WORDS: dict[str, Any] = {"classes": NAMES, "label": 0, "target": "red fox", "methods": "mta", "budget": "2"}


class AskedError(Exception):
    """Stands for the run."""


def from_python(monkeypatch: pytest.MonkeyPatch) -> RunRequest:
    def explain(request: RunRequest, model: object, memory: object) -> None:
        raise AskedError(request)

    monkeypatch.setattr(scripting, "explain", explain)
    with pytest.raises(AskedError) as asked:
        scripting.run("cup.png", settings={"views": 9}, **WORDS)
    return asked.value.args[0]


def test_command_line_form_link_and_python_ask_for_the_same_run(monkeypatch: pytest.MonkeyPatch) -> None:
    link = parse_link(LINK | TRUE_AND_TARGET)
    assert link is not None
    requests = [
        run_request_of(build_parser().parse_args(shlex.split(f"{LINE} --set views=9"))),
        form_request(FORM | TRUE_AND_TARGET),
        form_request(link.form),
        from_python(monkeypatch),
        RunRequest.parse("cup.png", changes={"views": 9}, **WORDS),
    ]
    for request in requests:
        assert (request.names, request.label, request.target) == (NAMES, 0, 2)
        assert request.settings == RECOMMENDED.replace(budget=2, views=9)
        assert request.methods == ("clip", "ensemble", "mta", "rita")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"classes": None}, "Either classes or a vocabulary"),
        ({"label": "house"}, "no class 'house'"),
        ({"attack": "none"}, "A target needs an attack"),
        ({"budget": 999}, "budget is a whole number"),
        ({"methods": ["magic"]}, "no method 'magic'"),
        ({"changes": {"vews": 9}}, "no setting 'vews'"),
    ],
)
def test_a_word_that_cannot_be_used_is_one_sentence(words: dict[str, Any], sentence: str) -> None:
    with pytest.raises(DemoError, match=sentence):
        RunRequest.parse("cup.png", **WORDS | words)
