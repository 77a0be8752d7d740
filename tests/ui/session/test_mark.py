"""What an event may name, and what that selects."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rita_demo.figures import analysis
from rita_demo.ui.session.mark import NUMBERS, SELECTION_TOPICS, Mark, select
from rita_demo.ui.session.session import Selection, Session, selected_class
from tests.figures.clouds import make_cloud
from tests.toy_model import ToyEngine


@pytest.fixture
def full(session: Session, example_run) -> Session:
    """With a memory and a feature cloud."""
    session.add_to_history(example_run, "A motorbike")
    session.figures = replace(
        session.figures, placed_cloud=analysis.placed_cloud(make_cloud(), ToyEngine().kl_to_one_hot)
    )
    return session


@pytest.fixture
def streaming(full: Session) -> Session:
    """With a stream of five pictures on screen, too, whose memory is the visitor's."""
    moments = (full.history.moments[0], *full.history.moments[1:] * 5)
    trajectory: Any = SimpleNamespace(names=("owl", "crab"), pictures=range(5))
    full.stream.trajectory, full.stream.history = trajectory, replace(full.history, moments=moments)
    return full


def choose(session: Session, **named: Any) -> tuple[str, ...]:
    return select(session, Mark.read(named, session))


def test_a_second_click_on_a_view_selects_nothing_but_a_view_with_a_prompt_or_a_class_stays(full: Session) -> None:
    full.select(atom=2)
    for wanted in (3, None, 3):
        assert choose(full, view=3) == ("view",)
        assert (full.selection.view, full.selection.atom) == (wanted, None)
    for atom, wanted in ((1, 1), (1, 1), (-1, None)):
        assert choose(full, view=7, atom=atom) == ("view",)
        assert (full.selection.view, full.selection.atom) == (7, wanted)
    full.select(atom=1)
    for _ in range(2):
        assert choose(full, view=5.0, k=2) == ("view", "class")
        assert (full.selection.view, full.selection.k, full.selection.atom) == (5, 2, None)


def test_a_prompt_a_class_and_a_step_are_selected(full: Session) -> None:
    choose(full, view=3)
    for atom, wanted in ((2, 2), (-1, None), (1, 1)):
        assert choose(full, atom=atom) == ("view",)
        assert (full.selection.view, full.selection.atom) == (3, wanted)
    assert choose(full, k=1) == ("class",)
    assert (full.selection.k, full.selection.atom) == (1, None)
    assert "step" in choose(full, step=4)
    assert full.selection.step == 4


def test_a_stored_view_selects_its_class_and_its_view_at_the_moment_that_held_it(full: Session) -> None:
    k, slot, row = full.history.held()[0]
    for moment in ({}, {"moment": 1}):
        full.selection = Selection(k=0 if k else 1, atom=1)
        full.stream.history = full.history
        assert "memory" in choose(full, memory_k=k, slot=slot, **moment)
        at = full.selection
        assert (at.item, at.k, at.view, at.atom, at.moment) == ((k, slot), k, full.history.view[row], None, None)
        assert (full.stream.history is None) == bool(moment), "a moment is one of the memory in use"
    assert choose(full, moment=0) == ("memory",)
    assert (full.selection.moment, full.selection.item) == (0, None)
    assert choose(full, memory_k=k, slot=slot) == (), "it was not held then"
    choose(full, memory_k=k, slot=slot, moment=1)
    assert full.selected_item == row
    choose(full, moment=1)
    assert full.selection.item == (k, slot)


def test_a_picture_of_the_stream_is_a_moment_of_its_memory_and_the_newest_one_follows_it(streaming: Session) -> None:
    for picture, wanted in ((2, 2), (5, None)):
        for named in ({"picture": picture}, {"moment": picture}):
            streaming.select(moment=1)
            assert choose(streaming, **named) == ("memory",)
            assert streaming.selection.moment == wanted
    assert choose(streaming, moment=0) == (), "a stream is shown from its first picture on"


def test_a_chip_is_pressed_and_released_and_a_point_selects_its_picture(full: Session) -> None:
    points = full.figures.placed_cloud.points
    view = int(np.flatnonzero((points.kind == "view") & (points.label == 1))[0])
    assert choose(full, point=view) == ("cloud",), "the run does not have its class"
    assert (selected_class(full), full.figures.picture) == (1, points.picture[view])
    choose(full, cloud_k=2)
    assert (selected_class(full), full.figures.picture) == (2, points.picture[view])
    for wanted in (2, None, 2):  # while a picture's story is told, its class is chosen first
        choose(full, chip=2)
        assert (selected_class(full), full.figures.picture) == (wanted, None)


@pytest.mark.parametrize("name", NUMBERS)
def test_what_the_session_does_not_have_selects_nothing(full: Session, name: str) -> None:
    before = full.selection, full.figures
    for value in (-2, 10**6, 10**30, 0.5, math.nan, math.inf, "0", True, None, [0], {}):
        for more in ({}, {"view": 3}, {"slot": 0}, {"moment": 0}):
            assert choose(full, **more | {name: value}) == () != more | {name: value}
            assert choose(Session(), **more | {name: value}) == ()
    assert (full.selection, full.figures) == before


def test_every_topic_of_a_selection_is_answered(full: Session) -> None:
    k, slot, _ = full.history.held()[0]
    marks: list[dict[str, int]] = [{name: 1} for name in ("view", "k", "step", "picture", "figure")]
    marks += [{"memory_k": k, "slot": slot}, {"chip": 0}]
    assert {topic for mark in marks for topic in choose(full, **mark)} == set(SELECTION_TOPICS)
