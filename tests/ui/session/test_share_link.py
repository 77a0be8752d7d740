"""A link gives the run on screen again; an invalid link gives an error message."""

from dataclasses import replace
from urllib.parse import parse_qsl

import pytest

from rita_demo.data.samples import SAMPLES
from rita_demo.pipeline import run as run_module
from rita_demo.records import Run
from rita_demo.records.errors import DemoError
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.session.run_request import form_values, names_of, parse_request
from rita_demo.ui.session.session import AttackDefendState, Session
from rita_demo.ui.session.share_link import ShareLink, history_text, parse_link, query, valid_selection
from tests.toy_model import ToyEngine
from tests.ui.conftest import shown


def make_session(run: Run, sample: str | None = "motorcycle") -> Session:
    visitor = shown(run, sample=sample)
    return visitor


def read(text: str) -> ShareLink:
    link = parse_link(dict(parse_qsl(text, keep_blank_values=True)))
    assert link is not None
    return link


def test_a_link_read_back_requests_the_same_run(example_run: Run) -> None:
    changed = replace(example_run, settings=example_run.settings.replace(budget=7, views=32, order="predict_first"))
    session = make_session(changed)
    session.select(k=2, view=5, atom=1, step=3)
    link = read(query(session))
    request = parse_request(link.form, AttackDefendState(sample=link.sample), 128, attack=True)
    assert request.settings == changed.settings
    assert (request.names, request.label) == (example_run.class_prompts.names, example_run.label)
    assert request.picture.key == SAMPLES["motorcycle"].load(side=128).key
    assert link.selection == {"k": 2, "view": 5, "atom": 1, "step": 3}
    assert valid_selection(link.selection, changed) == link.selection
    assert valid_selection({"k": 1, "view": 64, "atom": 4, "step": 8}, changed) == {"k": 1}, "what the run has"


def test_names_with_commas_come_back_from_the_link_and_the_form() -> None:
    names, picture = ("motorbike, red", "fox, red", '"cup"', "crab; blue"), SAMPLES["motorcycle"].load()
    run = run_module.run_picture(ToyEngine(spread=0.2), picture, names, RECOMMENDED, label=0)
    assert names_of(form_values(run)) == names
    link = read(query(make_session(run)))
    request = parse_request(link.form, AttackDefendState(sample=link.sample), 128, attack=True)
    assert (request.names, request.label) == (names, 0)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"sample": "/etc/passwd"}, "sample is one of"),
        ({"views": "many"}, "views is a whole number"),
        ({"methods": "rm -rf"}, "rm -rf"),
        ({"view": "-1"}, "not a number"),
        ({"step": "9" * 99}, "not a number"),
        ({"<script>": "1"}, "an unknown part"),
    ],
)
def test_an_invalid_link_gives_an_error_message(params: dict, message: str) -> None:
    with pytest.raises(DemoError, match=message):
        parse_link({"sample": "motorcycle"} | params)


def test_the_history_has_the_run_of_an_own_picture_too_and_no_link_opens_it(example_run: Run) -> None:
    changed = replace(example_run, settings=example_run.settings.replace(budget=7))
    session = make_session(changed, sample=None)
    text = dict(parse_qsl(history_text(session), keep_blank_values=True))
    assert text["own"] == example_run.clean.picture.key
    link = parse_link(text, from_history=True)
    assert link is not None
    assert link.sample == ""
    request = parse_request(link.form, AttackDefendState(sample="motorcycle"), 128, attack=True)
    assert (request.settings, request.names, request.label) == (
        changed.settings,
        example_run.class_prompts.names,
        example_run.given_label,
    )
    with pytest.raises(DemoError, match="unknown part: 'own'"):
        parse_link(text)
    assert history_text(make_session(changed)) == query(make_session(changed))
