"""The memory's tab with the fake engine: history, contents, filling, undo, and what strangers send."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import pytest
import torch
from PIL import Image

from rita_demo import method
from rita_demo import story as telling
from rita_demo.analysis import plane
from rita_demo.crossing import inside, outside
from rita_demo.data.samples import SAMPLES
from rita_demo.errors import DemoError
from rita_demo.records import Story
from rita_demo.settings import RECOMMENDED
from rita_demo.ui import filling, recall, shelf, words
from rita_demo.ui.board import Board
from rita_demo.ui.desk import Desk, Engines
from rita_demo.ui.example import WorkedExample
from rita_demo.ui.history import MOST_ENTRIES, History
from rita_demo.ui.memory import MemoryTab
from rita_demo.ui.notice import Notice
from rita_demo.ui.sessions import Session, Sessions
from tests.ui.conftest import NAMES
from tests.ui.fake import FakeEngine


class Event:
    """What the browser, or somebody who pretends to be one, reports."""

    def __init__(self, data: Any) -> None:
        self._data = data


@pytest.fixture(scope="module")
def tab() -> MemoryTab:
    """The tab, built once; every test has its own visitor."""
    engine = FakeEngine(spread=0.2)
    with gr.Blocks(), gr.Tabs(), gr.Tab("Memory") as holder:
        desk = Desk(
            Engines(engine), Sessions(), WorkedExample(engine), Board(), Notice(), gr.HTML(),
            gr.State(""),
        )  # fmt: skip
        built = MemoryTab(desk, holder)
        built.wire([])
    return built


class Visit:
    """A visitor with a story, in front of the open tab."""

    def __init__(self, tab: MemoryTab, story: Story) -> None:
        self.tab, self.desk = tab, tab.desk
        self.name = self.desk.sessions.open(model="fake")
        self.session = self.desk.sessions.get(self.name)
        engine = self.desk.engine_of(self.session)
        self.session.show(story)
        self.session.crops["attacked"] = engine.view_pixels(story.attacked.picture, story.settings)
        self.session.remember(story, "A motorbike")
        self.tab.opened(self.name)
        self.tab.compared(self.name)

    @property
    def now(self) -> Any:
        return self.session.history.now

    def run(self, job: Any) -> None:
        for _ in job:
            pass


@pytest.fixture
def visit(tab: MemoryTab, story: Story) -> Visit:
    return Visit(tab, story)


def saved(visit: Visit, kind: Any) -> dict[str, str]:
    """What the browser is told to save."""
    return json.loads(visit.tab.exported(visit.name, Event({"kind": kind}))[visit.tab.export])


def states_equal(one: Any, other: Any) -> bool:
    names = ("features", "entropy", "born", "view", "count")
    return all(np.array_equal(getattr(one, n), getattr(other, n)) for n in names)


def test_the_history_holds_what_the_story_committed_and_nothing_is_lost(visit, story) -> None:
    assert [e.title for e in visit.session.history.entries] == [
        "The beginning", "A motorbike, attacked",
    ]  # fmt: skip
    assert visit.now.count > 0
    assert states_equal(visit.now.state(), story.cache_after)
    assert states_equal(visit.session.history.entries[0].shelf.state(), story.cache_before)


def test_every_view_that_entered_has_its_own_thumbnail(visit) -> None:
    crops = visit.session.crops["attacked"]
    for items in visit.now.held.values():
        for item in items:
            whole = np.array(Image.fromarray(crops[item.view]).resize((48, 48), 2))
            assert np.array_equal(item.thumb, whole)


def test_the_same_picture_again_is_not_committed_twice(visit, story) -> None:
    before = visit.session.history.before(story.clean.picture.key)
    assert states_equal(before, story.cache_before)
    visit.session.remember(story, "A motorbike")
    assert len(visit.session.history.entries) == 2
    other = visit.session.history.before("another")
    assert states_equal(other, story.cache_after)


def again(visit: Visit, story: Story, **changes: Any) -> Story:
    """The story's picture run once more, as the button does it, and remembered."""
    engine = visit.desk.engine_of(visit.session)
    told = telling.tell(
        engine, story.clean.picture, NAMES, story.settings.but(**changes), label=0,
        cache=visit.session.history.before(story.clean.picture.key),
    )  # fmt: skip
    visit.session.show(told)
    visit.session.remember(told, "A motorbike")
    return told


def holds_the_latest_run_only(visit: Visit, key: str) -> bool:
    """Whether the memory holds views of a picture's latest run, and none of an earlier one."""
    now = {id(i) for items in visit.now.held.values() for i in items}
    runs = [e.brought & now for e in visit.session.history.entries if e.picture == key]
    return bool(runs[-1]) and set().union(*runs) == runs[-1]


def test_a_then_b_then_a_holds_every_view_of_a_once(visit, story, tmp_path: Path) -> None:
    path = tmp_path / "b.png"
    Image.fromarray(SAMPLES["coffee"].load().pixels).save(path)
    mine = {i.view for items in visit.now.held.values() for i in items}
    visit.run(visit.tab.fill_uploads(visit.name, [str(path)], False))
    with_b = visit.session.history
    told = again(visit, story)
    # it was judged by B alone, not by its own earlier views
    assert {int(b) for b in told.cache_before.born[told.cache_before.view >= 0]} <= {1}
    assert holds_the_latest_run_only(visit, story.clean.picture.key)
    brought = [i for items in visit.now.held.values() for i in items if i.born == 2]
    assert {i.view for i in brought} == mine
    assert not any(i.born == 0 for items in visit.now.held.values() for i in items)
    titles = [e.title for e in visit.session.history.entries]
    assert titles[1:] == [
        "A motorbike, attacked", "Upload 1",
        "A motorbike, attacked, again (its earlier views were taken out)",
    ]  # fmt: skip
    visit.tab.undone(visit.name)
    assert states_equal(visit.now.state(), with_b.now.state())


def test_the_picture_on_screen_run_again_after_a_filling_is_not_committed_twice(
    visit, story
) -> None:
    visit.run(visit.tab.fill_poison(visit.name))
    again(visit, story)
    again(visit, story)
    assert holds_the_latest_run_only(visit, story.clean.picture.key)
    assert (
        sum(e.picture == story.clean.picture.key for e in visit.session.history.entries[-2:]) == 1
    )


def test_another_attack_on_the_same_picture_replaces_what_the_first_left(visit, story) -> None:
    visit.run(visit.tab.fill_poison(visit.name))
    told = again(visit, story, budget=1)
    own = [
        i for items in visit.now.held.values() for i in items if i.born == visit.now.pictures - 1
    ]
    assert len(own) == len(told.attacked.trace.change.events)
    assert holds_the_latest_run_only(visit, story.clean.picture.key)


def test_the_same_uploads_twice_are_in_the_memory_once(visit, tmp_path: Path) -> None:
    path = tmp_path / "b.png"
    Image.fromarray(SAMPLES["coffee"].load().pixels).save(path)
    visit.run(visit.tab.fill_uploads(visit.name, [str(path)], False))
    held = visit.now.count
    visit.run(visit.tab.fill_uploads(visit.name, [str(path), str(path)], False))
    assert visit.now.count == held
    assert holds_the_latest_run_only(visit, visit.session.history.entries[-1].picture)


def test_one_view_is_removed_and_brought_back(visit) -> None:
    with pytest.raises(DemoError, match="No remembered view"):
        visit.tab.removed(visit.name)
    before, held = visit.now.state(), visit.now.count
    k = max(visit.now.held, key=lambda c: len(visit.now.held[c]))
    gone = visit.now.held[k][0]
    visit.tab.click_item(visit.name, Event({"k": k, "slot": 0}))
    assert recall.removing(visit.session)["interactive"] is True
    visit.tab.removed(visit.name)
    wanted = method.without(inside(before, torch.device("cpu")), k, 0)
    assert states_equal(visit.now.state(), outside(wanted))
    assert visit.now.count == held - 1
    assert all(i is not gone for items in visit.now.held.values() for i in items)
    assert f"Removed view {gone.view} of picture 1" in recall.log(visit.session)
    assert recall.removing(visit.session)["interactive"] is False
    visit.tab.undone(visit.name)
    assert states_equal(visit.now.state(), before)


def test_what_an_earlier_moment_held_cannot_be_removed(visit) -> None:
    k = max(visit.now.held)
    visit.tab.emptied(visit.name)
    visit.tab.pick_moment(visit.name, 1)
    visit.tab.click_item(visit.name, Event({"k": k, "slot": 0}))
    assert recall.removing(visit.session)["interactive"] is False
    with pytest.raises(DemoError):
        visit.tab.removed(visit.name)
    assert visit.now.count == 0


def test_the_chosen_view_is_followed_through_time_by_what_it_is(visit) -> None:
    k = max(visit.now.held, key=lambda c: len(visit.now.held[c]))
    last = len(visit.now.held[k]) - 1
    visit.tab.click_item(visit.name, Event({"k": k, "slot": last}))
    item = visit.now.held[k][last]
    visit.run(visit.tab.fill_poison(visit.name))
    for at in range(1, len(visit.session.history.entries)):
        visit.tab.pick_moment(visit.name, at)
        place = visit.session.selection.item
        shelf_then = visit.session.history.entries[at].shelf
        if place is None:
            assert shelf_then.find(item) is None
            return
        assert shelf_then.item(*place) is item


def test_items_that_stay_are_shared_between_moments(visit) -> None:
    first = visit.now
    visit.run(visit.tab.fill_poison(visit.name))
    shared = [
        item
        for k, items in visit.now.held.items()
        for item in items
        if item in first.held.get(k, ())
    ]
    kept = [i for items in visit.now.held.values() for i in items if i.born == 0]
    assert len(shared) == len(kept)


def test_another_vocabulary_begins_a_new_history(visit) -> None:
    engine, picture = FakeEngine(), SAMPLES["coffee"].load()
    other = telling.tell(engine, picture, ("cup", "piano"), RECOMMENDED.but(attack="none"))
    visit.session.show(other)
    visit.session.remember(other, "A cup")
    assert [e.title for e in visit.session.history.entries] == ["The beginning", "A cup"]
    assert visit.now.names == ("cup", "piano")


def test_the_history_is_bounded(visit) -> None:
    history = visit.session.history
    for _ in range(MOST_ENTRIES + 50):
        history = history.imported(visit.now)
    assert len(history.entries) == MOST_ENTRIES


def test_emptying_can_be_undone(visit) -> None:
    held = visit.now.count
    visit.tab.emptied(visit.name)
    assert visit.now.count == 0
    with pytest.raises(DemoError, match="empty already"):
        visit.tab.emptied(visit.name)
    visit.tab.undone(visit.name)
    assert visit.now.count == held
    visit.tab.undone(visit.name)
    assert visit.now.count == 0
    with pytest.raises(DemoError, match="nothing to undo"):
        visit.tab.undone(visit.name)


def test_the_first_tab_says_what_the_memory_holds_after_it_was_emptied(visit) -> None:
    from rita_demo.ui import verdicts

    assert "now holds" in verdicts.memory(visit.session)
    visit.tab.emptied(visit.name)
    assert "The memory is empty" in verdicts.memory(visit.session)


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


def test_attacked_samples_fill_the_memory_and_the_lesson_says_what_changed(visit) -> None:
    moments = len(visit.session.history.entries)
    visit.run(visit.tab.fill_poison(visit.name))
    titles = [e.title for e in visit.session.history.entries[moments:]]
    assert len(titles) == filling.SEEDS * sum(s.label in NAMES for s in SAMPLES.values())
    assert all("attacked" in t for t in titles)
    for text in ("before", "now", "clean picture", "attacked picture", "cosine distance"):
        assert text in recall.lesson(visit.session)


def test_the_lessons_numbers_are_those_of_both_memories(visit, story) -> None:
    engine, key = visit.desk.engine_of(visit.session), story.clean.picture.key
    then = visit.session.history.before(key)
    moments = len(visit.session.history.entries)
    visit.run(visit.tab.fill_poison(visit.name))
    now = visit.session.history.before(key)
    for side in (story.clean, story.attacked):
        for state in (then, now):
            trace, _ = engine.decide(
                side.glance, story.bank, state, story.settings, tuning=side.trace.tuning
            )
            assert f"{float(trace.cache_distance[story.label]):.4f}" in visit.session.lesson
            assert words.margin(trace.verdict) in visit.session.lesson
    truth = {f"{s.title}, attacked": s.label for s in SAMPLES.values()}
    events = [
        (NAMES[e.label], truth[entry.title.split(" (seed")[0]])
        for entry in visit.session.history.entries[moments:]
        for e in entry.events
    ]
    wrong = sum(one != other for one, other in events)
    assert f"{words.views(len(events))} entered, {wrong} of them under a wrong class" in (
        visit.session.lesson
    )


def test_several_uploads_enter_one_after_another(visit, tmp_path: Path) -> None:
    paths = []
    for number, key in enumerate(("coffee", "cat")):
        path = tmp_path / f"{number}.png"
        Image.fromarray(SAMPLES[key].load().pixels).save(path)
        paths.append(str(path))
    visit.run(visit.tab.fill_uploads(visit.name, paths, False))
    visit.run(visit.tab.fill_uploads(visit.name, paths[:1], True))
    titles = [e.title for e in visit.session.history.entries[2:]]
    assert titles[:2] == ["Upload 1", "Upload 2"]
    assert titles[2].startswith("Upload 1, attacked, again")
    assert visit.now.pictures == 4


def test_a_bad_file_among_uploads_is_named_and_the_others_are_remembered(
    visit, tmp_path: Path
) -> None:
    good, bad = tmp_path / "good.png", tmp_path / "bad.png"
    Image.fromarray(SAMPLES["coffee"].load().pixels).save(good)
    bad.write_text("no picture")
    answers = list(visit.tab.fill_uploads(visit.name, [str(bad), str(good)], False))
    said = next(a[visit.desk.notice] for a in answers if visit.desk.notice in a)
    assert "File 1 was left out" in said
    assert [e.title for e in visit.session.history.entries[2:]] == ["Upload 2"]
    progress = [a[visit.desk.status] for a in answers if visit.desk.status in a]
    assert any("Remembering Upload 2 (1 of 1)" in p for p in progress)
    with pytest.raises(DemoError, match="File 1 was left out"):
        visit.run(visit.tab.fill_uploads(visit.name, [str(bad)], False))


@pytest.mark.parametrize("paths", [None, [], "x.png", [1], ["a"] * 99])
def test_what_is_no_list_of_files_gets_a_sentence(visit, paths: Any) -> None:
    with pytest.raises(DemoError):
        visit.run(visit.tab.fill_uploads(visit.name, paths, False))


def test_a_memory_that_is_switched_off_cannot_be_filled(visit) -> None:
    story = visit.session.story
    visit.session.story = replace(story, settings=story.settings.but(protocol="off"))
    with pytest.raises(DemoError, match="not kept"):
        visit.run(visit.tab.fill_poison(visit.name))


def test_a_story_of_another_model_is_not_filled_into(visit) -> None:
    story = visit.session.story
    visit.session.story = replace(story, backbone=replace(story.backbone, name="ViT-B-16:openai"))
    with pytest.raises(DemoError, match="Another model"):
        filling.told(visit.session, visit.desk.engine_of(visit.session))


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
