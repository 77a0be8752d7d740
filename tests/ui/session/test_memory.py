"""A visitor's memory through time: what a picture leaves, where every view came from, what is taken out and brought back."""

import numpy as np
import pytest
import torch
from PIL import Image

from rita_demo import method
from rita_demo.data.memory import MAX_MOMENTS, RESTARTED, MemoryTable
from rita_demo.data.samples import SAMPLES
from rita_demo.engine.conversion import to_numpy, to_torch
from rita_demo.pipeline.run import run_picture
from rita_demo.records import Picture, Run
from rita_demo.records.errors import DemoError
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.memory import panels
from tests.toy_model import ToyEngine
from tests.ui.conftest import NAMES, chosen
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


def test_a_removed_view_can_be_restored_and_one_of_an_earlier_moment_cannot_be_removed(client) -> None:
    with pytest.raises(DemoError, match="No stored view"):
        client.tab.on_remove(client.name)
    before = client.session.history.state_at()
    k = client.fullest
    gone = client.session.history.row((k, 0))
    chosen(client.tab, client.name, memory_k=k, slot=0)
    assert panels.remove_button(client.session)["interactive"] is True
    client.tab.on_remove(client.name)
    wanted = method.remove(to_torch(before, torch.device("cpu")), k, 0)
    assert states_equal(client.session.history.state_at(), to_numpy(wanted))
    assert gone not in client.current.held
    assert f"Removed view {before.view[k, 0]} of picture 1" in panels.happened(client.session)
    assert panels.remove_button(client.session)["interactive"] is False
    client.tab.on_undo(client.name)
    assert states_equal(client.session.history.state_at(), before)
    client.tab.on_clear(client.name)
    chosen(client.tab, client.name, moment=1)
    chosen(client.tab, client.name, memory_k=k, slot=0)
    assert panels.remove_button(client.session)["interactive"] is False
    with pytest.raises(DemoError):
        client.tab.on_remove(client.name)


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
