"""What an event may name, and what that selects."""

import math
from dataclasses import replace
from typing import Any

import pytest

from rita_demo.figures import analysis
from rita_demo.ui.session.mark import NUMBERS, Mark, select
from rita_demo.ui.session.session import Selection, Session
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


def choose(session: Session, **named: Any) -> tuple[str, ...]:
    return select(session, Mark.read(named, session))


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


@pytest.mark.parametrize("name", NUMBERS)
def test_what_the_session_does_not_have_selects_nothing(full: Session, name: str) -> None:
    before = full.selection, full.figures
    for value in (-2, 10**6, 10**30, 0.5, math.nan, math.inf, "0", True, None, [0], {}):
        for more in ({}, {"view": 3}, {"slot": 0}, {"moment": 0}):
            assert choose(full, **more | {name: value}) == () != more | {name: value}
            assert choose(Session(), **more | {name: value}) == ()
    assert (full.selection, full.figures) == before
