"""The memory through time: what a picture leaves, what is taken out, what Undo brings back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from rita_demo import method
from rita_demo import story as telling
from rita_demo.crossing import inside, outside
from rita_demo.data.samples import SAMPLES
from rita_demo.errors import DemoError
from rita_demo.records import Story
from rita_demo.settings import RECOMMENDED
from rita_demo.ui import recall
from rita_demo.ui.history import MOST_ENTRIES
from tests.ui.conftest import NAMES
from tests.ui.fake import FakeEngine
from tests.ui.visit import Event, Visit, states_equal


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
