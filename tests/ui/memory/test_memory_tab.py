"""The memory's tab with the toy engine: contents, figures, export, malformed events."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rita_demo.data.memory import MemoryTable
from rita_demo.data.record_file import FileError
from rita_demo.data.samples import SAMPLES
from rita_demo.pipeline import run as run_module
from rita_demo.process.generators import run_to_end
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.memory import html, panels
from rita_demo.ui.panels import run_summary_bar
from rita_demo.ui.session import cache_file
from rita_demo.ui.session.stream_history import own_picture_request
from rita_demo.ui.widgets import wording
from tests.toy_model import ToyEngine
from tests.ui.conftest import NAMES, chosen, drawn, open_room
from tests.ui.session.test_cache_file import table_of, with_changes


def test_a_run_that_finishes_while_the_tab_is_visible_is_compared(client, failed_run) -> None:
    client.session.show(failed_run)
    client.session.add_to_history(failed_run, "Another")
    assert panels.EMPTY_TEXT in panels.comparison(client.session)
    updates = drawn(client.tab, client.session, client.context.changed(client.session, "run"))  # of a finished job
    assert client.session.memory.empty_cache_result[0] is client.session.memory.cache_result[0] is failed_run
    assert updates[client.tab.distances] is not None
    assert any("With an empty one" in str(value) for value in updates.values())


def test_the_time_slider_shows_an_earlier_snapshot(client) -> None:
    assert "memory is empty at this moment" not in html.contents(client.session)
    chosen(client.tab, client.name, moment=0)
    assert "memory is empty at this moment" in html.contents(client.session)
    assert client.session.selection.moment == 0


def test_a_selected_item_selects_its_class_and_view_in_every_tab(client) -> None:
    tab, name, k = client.tab, client.name, client.fullest
    client.session.select(item=None, view=None)
    chosen(tab, name, memory_k=k, slot=0)
    at = client.session.selection
    assert (at.item, at.k, at.view) == ((k, 0), k, client.session.history.state_at().view[k, 0])
    assert 'aria-pressed="true"' in html.contents(client.session)
    assert "slot 0" in html.detail(client.session)


def trace_of(figure: Any, name: str) -> Any:
    return next(t for t in figure.data if t.name == name)


def test_distances_with_and_without_the_memory_belong_to_the_selected_snapshot(
    client, example_run, coffee_file: str
) -> None:
    shown, bare = client.session.memory.empty_cache_result
    assert shown is example_run
    assert "With an empty one" in panels.comparison(client.session)
    full = client.session.memory.cache_result[2]
    assert np.allclose(full.cache_distance, example_run.attacked.trace.cache_distance)
    client.run(client.tab.add_uploads(client.name, [coffee_file]))
    engine, key = client.context.engine_of(client.session), example_run.clean.picture.key
    held = []
    side = example_run.attacked
    given = {"settings": example_run.settings, "tuning": side.trace.tuning}
    for at in (0, 1, len(client.session.history.moments) - 1):
        chosen(client.tab, client.name, moment=at)
        state = client.session.history.cache_before(key, at)
        held.append(int(state.count.sum()))
        wanted, _ = engine.decide(side.encoded_views, example_run.class_prompts, state, **given)
        figure = panels.distances(client.session)
        marks = trace_of(figure, "with the memory")
        classes = [d[0] for d in marks.customdata]
        assert list(marks.x) == pytest.approx(list(wanted.cache_distance[classes]))
        assert wanted.verdict.label == client.session.memory.cache_result[2].verdict.label
        if at == 0:
            assert np.allclose(bare.cache_distance, wanted.cache_distance), "the memory was empty then"
    assert held[:2] == [0, 0]  # its own views do not judge it
    assert held[2] > 0
    assert sum(d[2] for d in marks.customdata) == held[2]
    assert sum(d[2] for d in trace_of(figure, "empty memory").customdata) == 0


def test_items_show_class_entropy_and_age_and_classes_show_agreement(client) -> None:
    shown = html.contents(client.session)
    state = client.session.history.state_at()
    for k in np.flatnonzero(state.count):
        total = np.linalg.norm(state.features[k].sum(0))
        assert f"</span> {total / state.count[k]:.3f}</p>" in shown
        for slot, entropy in enumerate(state.entropy[k, : state.count[k]]):
            assert f"Pseudo-label {NAMES[k]}, slot {slot}: entropy {entropy:.3f} nats" in shown
            assert f"<small>{entropy:.2f}</small>" in shown
    assert shown.count('tabindex="0" aria-label="Pseudo') == 1  # arrows walk from there


def test_the_log_lists_insertions_and_replacements(client) -> None:
    *past, moment = client.session.history.moments
    event = replace(moment.events[0], replaced_entropy=0.5, replaced_born=0)
    client.session.history = replace(client.session.history, moments=(*past, replace(moment, events=(event,))))
    said = html.log(client.session)
    assert f"{0.5 - event.entropy:.3f} lower than one of picture 1, which left" in said
    assert said.count("aria-current") == 1


def test_names_cannot_become_markup_in_the_memory(client) -> None:
    evil = "<img src=x onerror=alert(1)>"
    moment = replace(client.current, title=evil)
    client.session.history = replace(client.session.history, names=(evil,) * len(NAMES), moments=(moment,))
    client.session.selection = replace(client.session.selection, item=(0, 0))
    for draw in (html.contents, html.detail, html.log, panels.moment_heading):
        assert "<img src=x" not in draw(client.session)


def exported(engine: ToyEngine, history: MemoryTable) -> bytes:
    return cache_file.pack(history, engine.info.name, RECOMMENDED)


def test_an_exported_memory_is_imported_by_who_has_not_run_its_names_and_what_was_there_stays_in_the_menu(
    client, engine: ToyEngine, tmp_path: Path, coffee_file: str
) -> None:
    tab, session, names = client.tab, client.session, ("crab", "owl, barn")
    run = run_module.run_picture(
        engine, SAMPLES["coffee"].load(), names, RECOMMENDED.replace(attack="none", max_entropy=9.0)
    )
    theirs = MemoryTable().with_picture("theirs.png", "key", run, None)
    path, mine = tmp_path / "memory.zip", session.history
    path.write_bytes(exported(engine, theirs))
    said = " ".join(map(str, tab.on_import(client.name, str(path)).values()))
    assert f"Imported {wording.view_count(len(theirs.current.held))}. The next picture with its class names" in said
    assert "The earlier memory stays in the menu" in said
    titles = [one.title for one in session.history.moments]
    assert titles == [*(one.title for one in theirs.moments), "Imported from a file"], "its own history alone"
    assert session.history.names == names
    assert session.memories.histories == (mine, session.history)
    labels = [text for text, _ in panels.menu(session, ())["choices"]]
    assert (
        labels[1] == f"An imported file (memory.zip): {wording.view_count(len(theirs.current.held))} of 2 class names"
    )
    open_room(tab, client.name)
    assert session.memory.example is None, "no stored example takes its place"
    assert "This memory has other class names than the picture on screen" in panels.comparison(session)
    assert panels.decide_button(session)["visible"]
    request = own_picture_request(session, engine, None, session.history)
    assert (request.names, session.history) == (names, session.memories.histories[1])
    shown = session.run
    client.run(tab.decide_own(client.name))
    assert session.run.class_prompts.names == names
    assert panels.says(session).startswith(
        "<p class='says'>The memory of an imported file (memory.zip) after 2 pictures"
    )
    assert session.memories.histories == (mine, session.history), "the picture went into the imported one"
    session.show(shown)
    tab.pick_memory(client.name, "0")
    assert session.history is mine
    assert not panels.decide_button(session)["visible"]
    client.run(tab.add_uploads(client.name, [coffee_file]))
    longer = session.history
    tab.pick_memory(client.name, "1")
    assert session.history.names == names
    client.run(tab.add_uploads(client.name, [coffee_file]))  # of the names of the picture on screen
    assert [one.names for one in session.memories.histories] == [NAMES, names, NAMES], "nothing is lost"
    assert session.memories.histories[0] is longer
    assert len({text for text, _ in panels.menu(session, ())["choices"]}) == 3, "no text stands twice"


def test_a_memory_of_another_width_or_with_a_wrong_key_is_refused(client, engine: ToyEngine) -> None:
    data, width = exported(engine, client.session.history), engine.info.width
    with pytest.raises(FileError, match="another width"):
        cache_file.unpack(data, None, engine.info.name, width + 1)
    data = with_changes(data, names=("organ", *table_of(data).names[1:]))
    with pytest.raises(FileError, match="other class names than it says"):
        cache_file.unpack(data, None, engine.info.name, width)


def test_a_picture_whose_class_is_not_in_the_list_is_neither_right_nor_wrong(client, engine: ToyEngine) -> None:
    tab, session, names = client.tab, client.session, ("crab", "cup")
    run = run_module.run_picture(engine, SAMPLES["coffee"].load(), names, RECOMMENDED.replace(attack="none"))
    theirs = MemoryTable().with_picture("theirs.png", "key", run, None)
    request = own_picture_request(session, engine, None, replace(theirs))
    assert request.label is None, "a motorbike"
    session.show(run_to_end(request.run_steps(engine, session.history.cache_before("")), lambda _: None))
    session.add_to_history(session.run, "A motorbike")
    open_room(tab, client.name)
    assert "With an empty one" in panels.comparison(session)
    shown = [run_summary_bar.summary_bar(session), panels.comparison(session)]
    for text in shown:
        for word in ("✓", "✗", "wrong", "right", "true class"):
            assert word not in text, word
    client.session.show(replace(session.run, label_given=True))
    assert {"✓", "✗"} & set(run_summary_bar.summary_bar(session))
