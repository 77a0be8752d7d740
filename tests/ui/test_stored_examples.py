"""No room of the Lab is empty when it is opened, and what the visitor makes takes the example's place."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from rita_demo import Engine, stored_views
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.evaluate_picture import cache_after
from rita_demo.evaluation.page import DataFolders
from rita_demo.pipeline import example
from rita_demo.pipeline.arena import columns
from rita_demo.records.errors import DemoError
from rita_demo.ui.arena.tab import ArenaTab
from rita_demo.ui.arena.table import table_html
from rita_demo.ui.figures import wall
from rita_demo.ui.figures.tab import FiguresTab
from rita_demo.ui.memory import panels
from rita_demo.ui.memory.tab import MemoryTab
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from tests.ui.conftest import build_tabs, chosen, form_shown, saved_file

NOWHERE = DataFolders(Path("nowhere/data"), Path("nowhere/runs"))


@pytest.fixture(scope="module")
def tabs() -> dict[type[Any], Any]:
    return build_tabs((MemoryTab, FiguresTab, ArenaTab), Engine("embedded"), folders=NOWHERE)


def visitor(tab: Any, opened: str) -> tuple[str, Session]:
    """A visitor who sees the stored worked example and opens a room."""
    name = tab.context.sessions.open(model="embedded")
    session = tab.context.sessions.get(name)
    key, run = example.stored()
    session.show(run, shared=True, sample=key)
    session.add_to_history(run, "The example")
    tab.context.panels.open(session, opened)
    return name, session


@pytest.fixture
def memory(tabs: dict[type[Any], Any]) -> tuple[MemoryTab, str, Session]:
    """The room Memory, and a visitor in it."""
    return tabs[MemoryTab], *visitor(tabs[MemoryTab], "memory")


@pytest.fixture
def figures(tabs: dict[type[Any], Any]) -> tuple[FiguresTab, str, Session]:
    return tabs[FiguresTab], *visitor(tabs[FiguresTab], "figures")


def last(updates: Iterable[dict[Any, Any]]) -> dict[Any, Any]:
    """The last value of each output of a job."""
    values: dict[Any, Any] = {}
    for update in updates:
        values |= update
    return values


def others_and_in_use(session: Session) -> tuple[int, int]:
    """How many memories beside the one in use the visitor has, and the place of the latter."""
    return len(session.memories.histories) - 1, session.memories.in_use


# --- Memory
def test_the_memory_opens_with_a_stored_stream_at_its_end_and_every_stream_has_a_shelf(memory: Any) -> None:
    tab, name, session = memory
    shown = panels.shown_stream(session, tab.folders)
    right = int(shown.trajectory.curves["rita"].right.sum())
    assert shown.t == len(shown.trajectory.pictures) == 40
    text = f"After 40 pictures RITA has {right} right, with its memory or without: no answer changed."
    assert panels.headline(session) == text
    assert panels.film(shown).count("<img") == 40, "textures come with the program"
    assert panels.remove_button(session)["visible"] is False
    with pytest.raises(DemoError, match="nothing is removed from it"):
        tab.on_remove(name)
    for one in evaluation_page.shipped_streams()[1:]:
        tab.pick_memory(name, one.name)
        shown = panels.shown_stream(session, tab.folders)
        missing = panels.shelf(session, tab.folders)
        assert missing.count("<img") == 0
        assert missing.count("RITA_DATA") == 1, "one line on how to get them"


def test_the_memory_of_a_stream_is_that_of_its_rows_at_every_moment(memory: Any) -> None:
    stream = memory[2].stream
    rows, history = stream.recording.rows(), stream.history
    empty = history.state_at(0)
    for t, entry in enumerate(history.moments):
        state, wanted = history.state_at(t), cache_after(empty, rows[:t])
        for part in ("features", "entropy", "born", "view", "count"):
            assert np.array_equal(getattr(state, part), getattr(wanted, part)), (t, part)
        assert (state.pictures, state.key) == (t, wanted.key)
        assert len(entry.events) == (0 if t == 0 else len(rows[t - 1]["entered"]))


def test_the_table_of_the_memory_is_that_of_stored_views(memory: Any) -> None:
    tab, name, session = memory

    def saved() -> pandas.DataFrame:
        return pandas.read_csv(io.BytesIO(saved_file(tab.on_table(name)[tab.table_button])))

    stream = session.stream.recording
    wanted = stored_views(stream.folder)
    wanted = wanted[wanted.stream == stream.title]
    pandas.testing.assert_frame_equal(saved(), pandas.read_csv(io.StringIO(wanted.to_csv(index=False))))
    assert wanted.replaced.notna().any()
    chosen(tab, name, moment=3)
    assert saved().picture.max() <= 2


@pytest.mark.slow
def test_one_press_decides_the_picture_on_screen_with_a_streams_memory(memory: Any, monkeypatch: Any) -> None:
    tab, name, session = memory
    stream, engine = evaluation_page.shipped_streams()[0], tab.context.models.default
    key = session.run.clean.picture.key
    last(tab.decide_own(name))
    run = session.run
    assert (run.clean.picture.key, run.class_prompts.names) == (key, stream.names)
    held = cache_after(engine.empty_cache(run.class_prompts, run.settings), stream.rows()[:40])
    assert run.cache_before.count.tolist() == held.count.tolist()
    assert np.array_equal(run.cache_before.features, held.features)
    assert session.stream.recording.name == stream.name, "it stays on screen, and speaks of the picture now"
    assert others_and_in_use(session) == (1, 1), "the memory of before is kept"
    assert form_shown(tab, session)[tab.opener.fill_form.__self__.form.fields["vocabulary"]] == "dtd"
    monkeypatch.setattr(engine, "weights_key", lambda: "others")
    before = session.memories
    with pytest.raises(DemoError, match="was measured with the model"):
        last(tab.decide_own(name))
    assert session.memories is before, "a press that fails changes nothing"


# --- Figures and Arena


@pytest.mark.slow
def test_every_memory_is_chosen_in_one_menu_and_is_as_it_was_left(memory: Any) -> None:
    tab, name, session = memory
    stored, own = evaluation_page.shipped_streams(), session.history

    def menu() -> tuple[list[tuple[str, str]], str]:
        drawn = panels.menu(session)
        return drawn["choices"], drawn["value"]

    choices, value = menu()
    assert choices[0] == (f"My memory: {wording.view_count(len(own.current.held))}", "0")
    assert [one for _, one in choices[1:]] == [one.name for one in stored]
    assert all(text.endswith(", stored") for text, _ in choices[1:])
    assert value == stored[0].name, "until another is chosen"
    for one in (*stored, stored[0]):
        updates = tab.pick_memory(name, one.name)
        assert menu()[1] == one.name == session.stream.recording.name
        assert {tab.accuracy, tab.shelf} <= updates.keys(), "its memory and its accuracy together"
        assert session.history is own, "shown, not used"
        tab.context.panels.open(session, "memory")
        assert menu()[1] == one.name, "it stays when the room is opened again"
    tab.pick_memory(name, stored[1].name)
    last(tab.decide_own(name))
    theirs = session.history
    assert menu()[0][1][0].startswith(f"From a stream ({stored[1].title}), ")
    for place, history in (("0", own), ("1", theirs), ("0", own)):
        tab.pick_memory(name, place)
        assert (session.history, menu()[1]) == (history, place)
    tab.context.panels.open(session, "memory")
    assert session.stream.recording is None, "chosen once, their own stays"
    for bad in ("2", "-1", "/none", "", None, 0, ["0"], True):
        with pytest.raises(DemoError, match=r"no stored|No memory is chosen"):
            tab.pick_memory(name, bad)
    _, other = visitor(tab, "memory")
    assert len(panels.menu(other)["choices"]) == 1 + len(stored), "nobody sees another's"


@pytest.mark.slow
def test_the_figures_open_with_a_stored_cloud_and_the_menu_has_the_others(figures: Any) -> None:
    tab, name, session = figures
    assert session.figures.placed_cloud.cloud.title.startswith("36 drawn textures")
    tab.pick_pictures(name, "example:dtd")
    assert session.figures.placed_cloud.cloud.title.startswith("36 pictures of dtd (test)")
    assert "Stored example: 36 " in wall.caption(session)
    with pytest.raises(DemoError, match="no stored example"):
        tab.pick_pictures(name, "example:../x")
    last(tab.jobs.collect(name, "dataset:textures", 1, "pgd", 4, 8, ["banded", "marbled"]))
    assert "Stored example" not in wall.caption(session)


def test_the_arena_opens_filled_for_the_worked_example_and_for_no_other_picture(tabs: Any, example_run: Any) -> None:
    tab = tabs[ArenaTab]
    _, session = visitor(tab, "arena")
    html, table = table_html(session, {}), session.arena
    assert "</b>, stored" in html
    assert html.count("class='mark") == len(table.methods) * len(columns())
    assert "mark empty" not in html
    session.show(example_run)
    tab.context.panels.open(session, "arena")
    html = table_html(session, {})
    assert "</b>, stored" not in html
    assert html.count("mark empty") == html.count("class='mark"), "nothing is known of this picture"
    assert session.arena is table
