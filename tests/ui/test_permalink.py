"""A link says what is on screen, is read back to the same, and a stranger's link ends in a sentence."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qsl

import pytest

from rita_demo import story as telling
from rita_demo.data.samples import SAMPLES
from rita_demo.errors import DemoError
from rita_demo.records import Story
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.ask import NOBODY, OWN, read_ask
from rita_demo.ui.permalink import LONGEST, query, read, within
from rita_demo.ui.sessions import Session
from tests.ui.fake import FakeEngine


def visit(story: Story, sample: str | None = "motorcycle") -> Session:
    visitor = Session(sample=sample)
    visitor.show(story, sample=sample)
    return visitor


def test_a_link_read_back_asks_for_the_same_story(story: Story) -> None:
    changed = replace(story, settings=story.settings.but(budget=7, views=32, order="predict_first"))
    session = visit(changed)
    session.select(k=2, view=5, atom=1, step=3, side="clean")
    text = query(session)
    link = read(dict(parse_qsl(text)))
    assert link is not None
    assert link.attack
    ask = read_ask(link.form, Session(sample=link.sample), 128, attack=True)
    assert (ask.settings, ask.names, ask.label) == (changed.settings, story.bank.names, story.label)
    assert ask.picture.key == SAMPLES["motorcycle"].load(side=128).key
    assert link.select == {"k": 2, "view": 5, "atom": 1, "step": 3, "side": "clean"}
    assert within(link.select, changed) == link.select


def test_a_link_to_a_sample_as_it_is_names_only_the_sample() -> None:
    engine, one = FakeEngine(spread=0.2), SAMPLES["motorcycle"]
    told = telling.tell(
        engine, one.load(), one.names, RECOMMENDED, label=one.names.index(one.label)
    )
    assert query(visit(told)) == "sample=motorcycle"
    link = read({"sample": "motorcycle"})
    assert link is not None
    assert (link.form["vocabulary"], link.form["truth"]) == (one.vocabulary, one.label)
    assert not link.select


def test_only_defended_and_without_a_true_class(defended: Story) -> None:
    link = read(dict(parse_qsl(query(visit(defended)), keep_blank_values=True)))
    assert link is not None
    assert not link.attack
    assert link.form["truth"] == NOBODY
    assert link.form["vocabulary"] == OWN


def test_there_is_no_link_to_an_upload_nor_to_more_names_than_an_address_holds(
    story: Story,
) -> None:
    assert query(Session()) == ""
    assert query(visit(story, sample=None)) == ""
    many = replace(
        story,
        bank=replace(story.bank, names=tuple(f"a long name {i}" for i in range(LONGEST // 10))),
    )
    assert query(visit(many)) == ""


def test_the_samples_own_class_counts_only_among_the_links_classes() -> None:
    for classes, truth in (("crab,piano", NOBODY), ("motorbike,crab", "motorbike")):
        link = read({"sample": "motorcycle", "classes": classes})
        assert link is not None
        assert link.form["truth"] == truth


@pytest.mark.parametrize("params", [{}, {"__theme": "dark"}, {"tab": "inside"}])
def test_a_page_without_a_link_opens_as_always(params: dict) -> None:
    assert read(params) is None


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({"sample": "/etc/passwd"}, "sample is one of"),
        ({"views": "32"}, "sample is one of"),
        ({"sample": "motorcycle", "views": "many"}, "views is a whole number"),
        ({"sample": "motorcycle", "budget": "1e9"}, "budget"),
        ({"sample": "motorcycle", "descriptions": "/etc/passwd"}, "descriptions is one of"),
        ({"sample": "motorcycle", "classes": "cup"}, "2 different class names"),
        ({"sample": "motorcycle", "truth": "unicorn"}, "unicorn"),
        ({"sample": "motorcycle", "methods": "rm -rf"}, "rm -rf"),
        ({"sample": "motorcycle", "view": "-1"}, "not a number"),
        ({"sample": "motorcycle", "step": "9" * 99}, "not a number"),
        ({"sample": "motorcycle", "<script>": "1"}, "nobody knows"),
    ],
)
def test_a_strangers_link_ends_in_a_sentence(params: dict, told: str) -> None:
    with pytest.raises(DemoError, match=told):
        read(params)


def test_a_selection_the_story_does_not_have_is_dropped(story: Story) -> None:
    asked = {"k": 1, "view": 64, "atom": 4, "step": 8, "side": "attacked"}
    assert within(asked, story) == {"k": 1, "side": "attacked"}
