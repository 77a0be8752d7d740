"""A visitor's memory through time: what a picture leaves, what is undone, and which memories stay."""

import numpy as np
import pytest
from PIL import Image

from rita_demo.data.memory import MAX_MOMENTS, RESTARTED, MemoryTable, Moment
from rita_demo.data.samples import SAMPLES
from rita_demo.pipeline.run import run_picture
from rita_demo.records import Picture, Run
from rita_demo.records.errors import DemoError
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.session.session import MAX_MEMORIES, Memories
from tests.toy_model import ToyEngine
from tests.ui.conftest import NAMES
from tests.ui.memory_client import MemoryClient, states_equal


def test_the_history_holds_all_insertions_of_the_run_with_their_thumbnails(client, example_run) -> None:
    assert [e.title for e in client.session.history.moments] == ["The beginning", "A motorbike, attacked"]
    assert client.items
    assert states_equal(client.session.history.state_at(), example_run.cache_after)
    assert states_equal(client.session.history.state_at(0), example_run.cache_before)
    crops = client.session.crops["attacked"]
    for item in client.items:
        assert np.array_equal(item.thumbnail, np.array(Image.fromarray(crops[item.view]).resize((48, 48), 2)))
    client.session.add_to_history(example_run, "A motorbike")  # the same picture: nothing is inserted twice
    history = client.session.history
    assert len(history.moments) == 2
    assert states_equal(history.cache_before(example_run.clean.picture.key), example_run.cache_before)
    assert states_equal(history.cache_before("another"), example_run.cache_after)


def run_again(visit: MemoryClient, run: Run) -> Run:
    """The run's picture run again, as by the button, and added to the history."""
    engine, cache = visit.context.engine_of(visit.session), visit.session.history.cache_before(run.clean.picture.key)
    result = run_picture(engine, run.clean.picture, NAMES, run.settings, label=0, cache=cache)
    visit.session.show(result)
    visit.session.add_to_history(result, "A motorbike")
    return result


def holds_the_latest_run_only(visit: MemoryClient, key: str) -> bool:
    """Whether the memory holds views of a picture's latest run, and none of an earlier one."""
    runs = [moment.pictures - 1 for moment in visit.session.history.moments if moment.picture_key == key]
    return {int(item.born) for item in visit.items} & set(runs) == {runs[-1]}


def test_running_a_then_b_then_a_holds_every_view_of_a_once(client, example_run, coffee_file: str) -> None:
    mine = {i.view for i in client.items}
    client.add(coffee_file)
    with_b = client.session.history
    result = run_again(client, example_run)
    # it was judged by B alone, not by its own earlier views
    assert {int(b) for b in result.cache_before.born[result.cache_before.view >= 0]} <= {1}
    assert holds_the_latest_run_only(client, example_run.clean.picture.key)
    assert {i.view for i in client.items if i.born == 2} == mine
    assert not any(i.born == 0 for i in client.items)
    again = "A motorbike, attacked, again (its earlier views were taken out)"
    assert [e.title for e in client.session.history.moments[1:]] == ["A motorbike, attacked", "Upload", again]
    client.tab.on_undo(client.name)
    assert states_equal(client.session.history.state_at(), with_b.state_at())
    held = len(client.items)
    client.add(coffee_file)
    client.add(coffee_file)
    assert len(client.items) == held, "the same uploads are stored once"
    assert holds_the_latest_run_only(client, client.session.history.moments[-1].picture_key)


def test_another_vocabulary_starts_a_new_history_whose_length_is_limited(client) -> None:
    engine, picture = ToyEngine(), SAMPLES["coffee"].load()
    other = run_picture(engine, picture, ("cup", "piano"), RECOMMENDED.replace(attack="none"))
    client.session.show(other)
    client.session.add_to_history(other, "A cup")
    assert [e.title for e in client.session.history.moments] == [RESTARTED, "A cup"]
    assert client.session.history.names == ("cup", "piano")
    history = client.session.history
    for _ in range(MAX_MOMENTS + 50):
        history = history.emptied()
    assert (len(history.moments), len(history.label)) == (MAX_MOMENTS, 0), "no row stays that no moment holds"


def test_clearing_can_be_undone(client) -> None:
    held = len(client.items)
    client.tab.on_clear(client.name)
    with pytest.raises(DemoError, match="empty already"):
        client.tab.on_clear(client.name)
    client.tab.on_undo(client.name)
    assert len(client.items) == held
    client.tab.on_undo(client.name)
    assert not client.items
    with pytest.raises(DemoError, match="nothing to undo"):
        client.tab.on_undo(client.name)


def test_the_memory_of_another_defence_forgets_a_picture_that_is_run_again(engine) -> None:
    pictures = [
        Picture(np.random.default_rng(int(n)).integers(0, 256, (112, 112, 3)).astype(np.uint8), str(n)) for n in "123"
    ]
    history, settings = MemoryTable(), RECOMMENDED.replace(views=4, tuning_steps=0, attack="none")
    for one in pictures:
        run = run_picture(
            engine, one, ("cup", "crab", "cat"), settings, methods=["tda"], cache=history.cache_before(one.key)
        )
        history = history.with_picture("a picture", one.key, run, None)
    held = history.cache_before("new").others["tda"]
    assert sorted(set(held.born[held.born >= 0])) == [0, 1, 2]
    without = history.cache_before(pictures[1].key).others["tda"]
    assert sorted(set(without.born[without.born >= 0])) == [0, 2]
    assert without.count.sum() == (held.born >= 0).sum() - (held.born == 1).sum()
    for k, count in enumerate(without.count.tolist()):
        assert (without.born[k, :count] >= 0).all()
        assert (without.born[k, count:] == -1).all()
        assert not without.features[k, count:].any()
    assert history.undo().cache_before("new").others["tda"].pictures == 2


# --- which memories of a visitor stay when another one is used


def memory(count: int, origin: str = "", moments: int = 2) -> MemoryTable:
    """A memory that holds so many views, at its last moment alone."""
    rows = [{"label": 0, "born": n, "view": n, "entropy": 0.1, "feature": np.ones(2, np.float32)} for n in range(count)]
    first = [Moment(f"Moment {n}", 0, 3, np.arange(0)) for n in range(moments - 1)]
    table = MemoryTable("key", ("cup", "cat"), feature=np.zeros((0, 2), np.float32), origin=origin)
    return table.with_rows(rows).with_moments((*first, Moment("The last", count, 3, np.arange(count))))


def places(memories: Memories, *wanted: MemoryTable) -> bool:
    """Whether these are the memories, in this order."""
    return [id(one) for one in memories.histories] == [id(one) for one in wanted]


def test_what_holds_views_stays_and_is_as_it_was_when_it_is_used_again() -> None:
    mine, theirs, third = memory(2), memory(3, "a stream (x)"), memory(1)
    found = Memories().changed(mine).another(theirs).another(third)
    assert places(found, mine, theirs, third)
    assert (found.in_use, found.current) == (2, third)
    longer = theirs.emptied()
    found = found.using(1).changed(longer).using(0)
    assert places(found, mine, longer, third)
    assert found.current is mine
    assert places(found.using(1).another(mine), mine, longer, third, mine), "emptied, which Undo takes back"


def test_over_the_limit_the_oldest_leaves_but_never_the_first_or_the_one_in_use() -> None:
    many = [memory(1) for _ in range(MAX_MEMORIES)]
    found = Memories().changed(many[0])
    for one in many[1:]:
        found = found.another(one)
    assert places(found, *many)
    new = memory(2)
    assert places(found.another(new), many[0], *many[2:], new)
    assert places(found.using(1).another(new), *many[:2], *many[3:], new)
    assert found.using(1).another(new).current is new
