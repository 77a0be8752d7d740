"""The memory's tab with the fake engine: contents, figures, export, and what strangers send."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import pytest

from rita_demo.analysis import plane
from rita_demo.errors import DemoError
from rita_demo.ui import recall, shelf, words
from rita_demo.ui.history import History
from rita_demo.ui.sessions import Session
from tests.ui.conftest import NAMES
from tests.ui.visit import Event, Visit, states_equal


def saved(visit: Visit, kind: Any) -> dict[str, str]:
    """What the browser is told to save."""
    return json.loads(visit.tab.exported(visit.name, Event({"kind": kind}))[visit.tab.export])


def test_the_first_tab_says_what_the_memory_holds_after_it_was_emptied(visit) -> None:
    from rita_demo.ui import verdicts

    assert "now holds" in verdicts.memory(visit.session)
    visit.tab.emptied(visit.name)
    assert "The memory is empty" in verdicts.memory(visit.session)


def test_a_picture_that_finishes_while_the_tab_is_in_sight_is_compared_as_well(visit, lost) -> None:
    visit.session.show(lost)
    visit.session.remember(lost, "Another")
    assert recall.WAITING in recall.compared(visit.session)
    updates = visit.desk.board.redraw(visit.session, "story")  # what a finished job draws
    assert visit.session.bare[0] is visit.session.recalled[0] is lost
    assert updates[visit.tab.distances] is not None
    assert any("With an empty one" in str(value) for value in updates.values())


def test_the_time_slider_shows_an_earlier_moment(visit) -> None:
    assert "memory is empty at this moment" not in recall.contents(visit.session)
    visit.tab.pick_moment(visit.name, 0)
    assert "memory is empty at this moment" in recall.contents(visit.session)
    assert visit.session.selection.moment == 0
    for hostile in ("1", -1, 99, 0.5, None, float("nan"), [0], True):
        assert visit.tab.pick_moment(visit.name, hostile) == {}


def test_a_chosen_item_selects_its_class_and_its_view_in_every_tab(visit) -> None:
    k = max(visit.now.held)
    visit.tab.click_item(visit.name, Event({"k": k, "slot": 0}))
    at = visit.session.selection
    assert (at.item, at.k, at.view) == ((k, 0), k, visit.now.held[k][0].view)
    assert 'aria-pressed="true"' in recall.contents(visit.session)
    assert "slot 0" in recall.detail(visit.session)


@pytest.mark.parametrize(
    "data",
    [None, "x", [], {}, {"k": 0}, {"k": 99, "slot": 0}, {"k": 0, "slot": 99}, {"k": "0", "slot": 0},
     {"k": float("nan"), "slot": 0}, {"k": 10**400, "slot": 0}, {"k": 0.5, "slot": True},
     {"curve": 0, "index": 0, "data": [10**9]}, {"curve": 0, "index": 0, "data": ["a"]},
     {"curve": 0, "index": 0, "data": [float("nan")]}, {"curve": 0, "index": 0, "data": [[0]]},
     {"k": [0], "slot": [0]}, {"k": {}, "slot": None}, {"curve": -1, "index": 0, "data": [0]}],
)  # fmt: skip
def test_forged_clicks_change_nothing(visit, data: Any) -> None:
    before = visit.session.selection
    for handler in (visit.tab.click_item, visit.tab.click_slot, visit.tab.click_class):
        assert handler(visit.name, Event(data)) == {}
    assert visit.session.selection == before


def test_the_answer_with_and_without_the_memory_is_said(visit, story) -> None:
    shown, bare = visit.session.bare
    assert shown is story
    engine = visit.desk.engine_of(visit.session)
    wanted, _ = engine.decide(story.attacked.glance, story.bank, None, story.settings)
    assert np.allclose(bare.cache_distance, wanted.cache_distance)
    assert "With an empty one" in recall.compared(visit.session)
    full = visit.session.recalled[2]
    assert np.allclose(full.cache_distance, story.attacked.trace.cache_distance)


def drawn(figure: Any, name: str) -> Any:
    return next(t for t in figure.data if t.name == name)


def test_the_distances_on_the_page_are_those_of_the_moment_looked_at(visit, story) -> None:
    visit.run(visit.tab.fill_poison(visit.name))
    engine, key = visit.desk.engine_of(visit.session), story.clean.picture.key
    held = []
    for at in (0, 1, len(visit.session.history.entries) - 1):
        visit.tab.pick_moment(visit.name, at)
        state = visit.session.history.without(key, at).state()
        held.append(int(state.count.sum()))
        wanted, _ = engine.decide(
            story.attacked.glance, story.bank, state, story.settings,
            tuning=story.attacked.trace.tuning,
        )  # fmt: skip
        figure = recall.distances(visit.session)
        marks = drawn(figure, "with the memory")
        classes = [d[0] for d in marks.customdata]
        assert list(marks.x) == pytest.approx(list(wanted.cache_distance[classes]))
        assert wanted.verdict.label == visit.session.recalled[2].verdict.label
    assert held[:2] == [0, 0]  # its own views do not judge it
    assert held[2] > 0
    assert sum(d[2] for d in marks.customdata) == held[2]
    assert sum(d[2] for d in drawn(figure, "empty memory").customdata) == 0


def test_the_plane_on_the_page_is_of_the_chosen_class_and_moment(visit, story) -> None:
    k = max(visit.now.held, key=lambda c: len(visit.now.held[c]))
    visit.tab.click_item(visit.name, Event({"k": k, "slot": 0}))
    items = visit.now.held[k]
    zbar = (story.bank.features[k] * story.bank.weight[k][:, None]).sum(0)
    wanted = plane(np.stack([i.feature for i in items]), zbar)
    figure = recall.plane_figure(visit.session)
    for stage in ("before", "smallest", "svd"):
        marks = drawn(figure, stage)
        assert np.stack([marks.x, marks.y], 1) == pytest.approx(getattr(wanted, stage))
    said = recall.plane_words(visit.session)
    assert f"{np.degrees(wanted.angle):.0f}°" in said
    for row in wanted.share:
        assert words.percent(round(float(row.sum()), 6)) in said
    visit.tab.pick_moment(visit.name, 0)
    assert "holds nothing" in recall.plane_figure(visit.session).layout.meta["alt"]
    visit.session.selection = replace(visit.session.selection, k=None)
    assert recall.plane_figure(visit.session) is None


def test_a_mark_of_the_plane_and_a_row_of_the_distances_are_chosen_everywhere(visit) -> None:
    k = max(visit.now.held, key=lambda c: len(visit.now.held[c]))
    visit.tab.click_class(visit.name, Event({"curve": 0, "index": 0, "data": [k, 0.5, 1, "x"]}))
    assert visit.session.selection.k == k
    visit.tab.click_slot(visit.name, Event({"curve": 0, "index": 0, "data": [0, 0.5]}))
    assert visit.session.selection.item == (k, 0)


def test_export_and_import_give_the_same_memory(visit, tmp_path: Path) -> None:
    address = saved(visit, None)["address"]
    path = tmp_path / "memory.safetensors"
    path.write_bytes(base64.b64decode(address.partition("base64,")[2]))
    wanted = visit.now.state()
    visit.tab.emptied(visit.name)
    visit.tab.imported(visit.name, str(path))
    assert states_equal(visit.now.state(), wanted)
    path.write_bytes(b"not a memory at all")
    with pytest.raises(DemoError, match="not a safetensors file"):
        visit.tab.imported(visit.name, str(path))
    with pytest.raises(DemoError, match="No file"):
        visit.tab.imported(visit.name, ["x"])
    assert states_equal(visit.now.state(), wanted)


def test_the_json_is_saved_as_well(visit) -> None:
    data = base64.b64decode(saved(visit, "json")["address"].partition("base64,")[2])
    found = json.loads(data)
    assert found["names"] == list(NAMES)
    assert found["settings"]["slots"] == visit.session.story.settings.slots
    assert sum(len(c["items"]) for c in found["held"].values()) == visit.now.count
    for hostile in (None, 3, ["json"], {}):
        assert saved(visit, hostile)["name"] == "memory.safetensors"


def test_every_item_says_class_entropy_age_and_every_class_its_agreement(visit) -> None:
    shown = recall.contents(visit.session)
    for k, items in visit.now.held.items():
        total = np.linalg.norm(np.sum([i.feature for i in items], 0))
        assert f"r<sub>k</sub> = {total / len(items):.3f}" in shown
        for slot, item in enumerate(items):
            assert f"Pseudo-label {NAMES[k]}, slot {slot}: entropy {item.entropy:.3f} nats" in shown
            assert f"{item.entropy:.2f} nats" in shown
    assert shown.count('tabindex="0" aria-label="Pseudo') == 1  # arrows walk from there


def test_the_log_says_what_entered_and_what_it_replaced(visit) -> None:
    entry = visit.session.history.entries[-1]
    event = replace(entry.events[0], replaced_entropy=0.5, replaced_born=0)
    history = History((*visit.session.history.entries[:-1], replace(entry, events=(event,))))
    said = shelf.log(history, 1)
    assert "instead of one of picture 1 (0.50)" in said
    assert said.count("aria-current") == 1


def test_names_cannot_become_markup_in_the_memory(visit) -> None:
    evil = "<img src=x onerror=alert(1)>"
    entry = visit.session.history.entries[-1]
    names = (evil,) * len(NAMES)
    entry = replace(entry, title=evil, shelf=replace(entry.shelf, names=names))
    visit.session.history = History((entry,))
    visit.session.selection = replace(visit.session.selection, item=(0, 0))
    for draw in (recall.contents, recall.detail, recall.log, recall.heading):
        assert "<img src=x" not in draw(visit.session)


def test_until_the_tab_is_opened_nothing_of_it_is_drawn(visit) -> None:
    visit.session.recalling = False
    drawn = visit.desk.board.redraw(visit.session, "story")
    assert all(value == gr.skip() for value in drawn.values())
    visit.session.recalling = True
    drawn = visit.desk.board.redraw(visit.session, "memory")
    assert not any(value == gr.skip() for value in drawn.values())
    assert json.dumps(drawn[visit.tab.moment])
    visit.tab.left(visit.name)
    assert not visit.session.recalling
    assert visit.tab.left("") == {}


def test_the_memory_counts_towards_the_visitors_bytes(visit) -> None:
    full = visit.session.bytes()
    visit.session.history = History()
    assert visit.session.bytes() < full


def test_a_lonely_visitor_sees_sentences() -> None:
    lonely = Session(recalling=True)
    for draw in (recall.contents, recall.detail, recall.log, recall.heading, recall.compared, recall.lesson):  # fmt: skip
        assert isinstance(draw(lonely), str)
