"""The tab Stream with the fake engine: running, pausing, going back in time, stored runs, fetching, strangers."""

from __future__ import annotations

import base64
import json
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
import torch

from rita_demo import measuring
from rita_demo.data import download
from rita_demo.data.download import Fetched
from rita_demo.errors import DataError, DemoError, SettingError
from rita_demo.measuring import Places, streams
from rita_demo.settings import RECOMMENDED
from rita_demo.ui import page as pages
from rita_demo.ui import stream_fetch, stream_panels
from rita_demo.ui.example import WorkedExample
from rita_demo.ui.sessions import SessionLost
from rita_demo.ui.stream import StreamTab
from rita_demo.ui.stream_state import Streaming
from tests.ui.fake import FakeEngine


class Event:
    """What the browser, or somebody who pretends to be one, reports."""

    def __init__(self, data: Any) -> None:
        self._data = data


class Visit:
    """A visitor in front of the tab."""

    def __init__(self, tab: StreamTab) -> None:
        self.tab = tab
        self.name = tab.desk.sessions.open(model="fake")
        self.session = tab.desk.sessions.get(self.name)

    @property
    def view(self) -> Any:
        return self.session.stream

    def wish(self, **changes: Any) -> dict[Any, Any]:
        """What the browser sends with the button."""
        fields = self.tab.first.form.fields
        form = {c: c.value for c in fields.values()}
        form |= {fields["views"]: 8, fields["prompts"]: 2, fields["steps"]: 2}  # quick
        asked = {c: c.value for c in self.tab.asked.values()}
        asked |= {self.tab.asked["pictures"]: 4}
        asked |= {self.tab.asked[name]: value for name, value in changes.items()}
        return {self.tab.desk.visitor: self.name, **form, **asked}

    def run(self, job: Any) -> list[dict[Any, Any]]:
        return list(job)

    def stream(self, **changes: Any) -> None:
        self.run(self.tab.started(self.wish(**changes)))


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Tensors this small wait for other threads longer than they compute."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> StreamTab:
    """The whole page is built once; its tab is caught."""
    root, caught = tmp_path_factory.mktemp("places"), []

    class Caught(StreamTab):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            caught.append(self)

    engine = FakeEngine(truth="dotted", wrong="striped", spread=0.2)
    example = WorkedExample(engine)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "StreamTab", Caught)
        patch.setattr(example, "start", lambda: None)
        pages.build(engine, example=example, places=Places(root / "data", root / "runs"))
    return caught[0]


@pytest.fixture
def tab(built: StreamTab) -> StreamTab:
    """The tab, with no run stored yet."""
    shutil.rmtree(built.places.runs, ignore_errors=True)
    return built


@pytest.fixture
def visit(tab: StreamTab) -> Visit:
    return Visit(tab)


def test_a_stream_is_the_rows_of_evaluate(visit: Visit) -> None:
    visit.stream(traffic="mixed")
    view = visit.view
    assert not view.running
    assert not view.unfinished
    assert view.t == len(view.course.pictures) == 4
    assert set(view.course.answers) == {"clip", "ensemble", "rita"}
    rows = view.recording.rows()
    assert [row["picture"] for row in rows] == list(view.course.pictures)
    assert {row["protocol"] for row in rows} == {"stream"}
    text = stream_panels.standings(visit.session)
    assert "of n = 4" in text
    for figure in (stream_panels.accuracy(visit.session), stream_panels.classes(visit.session)):
        assert f"{view.recording.title}; after picture 4 of 4" in figure.layout.meta["caption"]
    assert "All 4 pictures are decided" in stream_panels.status(visit.session)


def test_the_same_wish_again_measures_nothing_again(visit: Visit) -> None:
    visit.stream()
    before = (visit.view.recording.cells["rita"] / "rows.jsonl").read_bytes()
    visit.stream()
    assert (visit.view.recording.cells["rita"] / "rows.jsonl").read_bytes() == before
    assert visit.view.t == 4


def test_pause_resume_one_picture_and_cancel(visit: Visit) -> None:
    job = visit.tab.started(visit.wish(pictures=6))
    for updates in job:
        if visit.view.course is not None and len(visit.view.course.pictures) == 2:
            assert updates[visit.tab.pressed["pause"]]["visible"]
            assert visit.tab.paused(visit.name)
            break
    last = visit.run(job)[-1]
    assert len(visit.view.course.pictures) == 2
    assert last[visit.tab.pressed["resume"]]["visible"]
    assert not last[visit.tab.pressed["pause"]]["visible"]
    visit.run(visit.tab.stepped(visit.name))
    assert len(visit.view.course.pictures) == 3
    visit.run(visit.tab.resumed(visit.name))
    assert len(visit.view.course.pictures) == 6
    with pytest.raises(SettingError, match="no paused stream"):
        visit.run(Visit(visit.tab).tab.resumed(Visit(visit.tab).name))
    shown = visit.tab.cancelled(visit.name)
    assert visit.view.course is None
    assert not shown[visit.tab.pressed["inside"]]["visible"]
    assert len(measuring.recordings(visit.tab.places.runs)) == 1  # the rows are kept


def test_a_running_stream_is_left_when_the_page_is_closed(visit: Visit) -> None:
    job = visit.tab.started(visit.wish(pictures=6))
    next(job)
    next(job)
    visit.tab.desk.sessions._open.pop(visit.name)
    with pytest.raises(SessionLost):
        visit.run(job)
    other = Visit(visit.tab)
    other.stream(pictures=6)  # the run folder is free, and the stream goes on
    assert other.view.t == 6


def test_two_visitors_never_write_one_run(visit: Visit) -> None:
    job = visit.tab.started(visit.wish(pictures=6))
    next(job)
    next(job)
    other = Visit(visit.tab)
    with pytest.raises(DataError, match="Another evaluation is writing"):
        other.stream(pictures=6)
    job.close()
    assert not visit.view.running


class Hesitating(Streaming):
    """Who finds that nothing runs waits a second for somebody else to find the same."""

    both = threading.Barrier(2, timeout=1)

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name == "running" and found is False:
            with suppress(threading.BrokenBarrierError):
                type(self).both.wait()
        return found


def test_of_two_presses_that_arrive_together_one_starts_a_stream(visit: Visit) -> None:
    jobs = [visit.tab.started(visit.wish(pictures=3)) for _ in range(2)]
    visit.session.stream = Hesitating()

    def press(job: Any) -> str:
        try:
            next(job)
        except SettingError as error:
            return str(error)
        return "started"

    with ThreadPoolExecutor(2) as pool:
        said = sorted(pool.map(press, jobs))
    assert said[1] == "started"
    assert "A stream of yours is running" in said[0]
    for job in jobs:
        job.close()
    assert not visit.view.running


def test_the_stream_makes_way_for_a_single_picture(visit: Visit, monkeypatch) -> None:
    job = visit.tab.started(visit.wish(pictures=3))
    next(job)
    next(job)
    with visit.tab.desk.turns.taken():
        for _ in range(3):
            assert set(next(job)) == {visit.tab.desk.notice}  # it waits
        assert len(visit.view.course.pictures) == 1
    visit.run(job)
    assert len(visit.view.course.pictures) == 3


def test_the_slider_shows_accuracy_and_memory_as_they_were(visit: Visit) -> None:
    visit.stream(pictures=5)
    updates = visit.tab.pick(visit.name, 2)
    assert visit.tab.slider not in updates
    assert "of n = 2" in stream_panels.standings(visit.session)
    assert "After picture 2" in stream_panels.memory_words(visit.session)
    visit.tab.click_picture(visit.name, Event({"t": 4}))
    assert visit.view.t == 4
    visit.tab.click_figure(visit.name, Event({"curve": 1, "index": 0, "data": [3, "words"]}))
    assert visit.view.t == 3
    visit.tab.pick(visit.name, 5)
    assert visit.view.at is None  # follows the stream again


def test_a_class_of_the_memory_is_looked_at_in_every_tab_that_knows_it(visit: Visit) -> None:
    visit.stream(pictures=3, traffic="attacked")
    visit.run(visit.tab.open_inside(visit.name))  # now the story on screen has the stream's classes
    names = visit.view.course.names
    assert stream_panels.looked_at(visit.session) == visit.session.selection.k
    updates = visit.tab.click_class(
        visit.name, Event({"curve": 0, "index": 0, "data": [5, "words"]})
    )
    assert visit.session.story.bank.names[visit.session.selection.k] == names[5]
    assert visit.tab.classes in updates
    assert visit.tab.inside.parts["looked_at"] in updates
    for bad in ([99], ["x"], []):
        assert visit.tab.click_class(visit.name, Event({"curve": 0, "index": 0, "data": bad})) == {}
    assert visit.tab.click_class(visit.name, Event(None)) == {}


@pytest.mark.parametrize("number", [None, "2", 0, -1, 99, 1.5, float("nan"), [1], {"t": 1}])
def test_what_strangers_send_as_a_picture_changes_nothing(visit: Visit, number: Any) -> None:
    visit.stream(pictures=2)
    assert visit.tab.pick(visit.name, number) == {}
    assert visit.tab.click_picture(visit.name, Event({"t": number})) == {}
    assert visit.tab.click_figure(visit.name, Event({"data": [number]})) == {}
    assert visit.view.t == 2


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"dataset": "../../etc"}, "no such dataset"),
        ({"dataset": "dtd"}, "no such dataset"),
        ({"dataset": None}, "no such dataset"),
        ({"traffic": "heavy"}, "traffic is one of clean, mixed, attacked"),
        ({"traffic": ["mixed"]}, "traffic is one of"),
        ({"order": "backwards"}, "order is one of random, classes"),
        ({"seed": -1}, "whole number from 0"),
        ({"pictures": 10**9}, "whole number from 2 to 500"),
        ({"pictures": "many"}, "whole number from 2 to 500"),
        ({"pictures": True}, "whole number from 2 to 500"),
    ],
)
def test_a_wish_that_is_not_allowed_gets_a_sentence(visit: Visit, changes: dict, says: str) -> None:
    with pytest.raises(DemoError, match=says):
        visit.stream(**changes)
    assert not visit.view.running


def test_a_stored_run_is_opened_from_the_list_only(visit: Visit) -> None:
    visit.stream(traffic="clean")
    other = Visit(visit.tab)
    listed = other.tab.opened(other.name)[other.tab.stored]["choices"]
    assert [name for _, name in listed] == [visit.view.recording.name]
    other.tab.open_stored(other.name, listed[0][1])
    assert other.view.t == 4
    assert not other.view.unfinished
    for name in ("../..", None, "", ["x"], listed[0][1] + "/.."):
        with pytest.raises(DataError):
            other.tab.open_stored(other.name, name)
    file = json.loads(other.tab.exported(other.name)[other.tab.pressed["export"]])
    assert file["name"] == "rows.jsonl"
    code = file["address"].partition("base64,")[2]
    rows = [json.loads(line) for line in base64.b64decode(code).decode().splitlines()]
    assert len(rows) == 12
    assert {row["method"] for row in rows} == {"clip", "ensemble", "rita"}


@pytest.mark.parametrize("t", [1, 3])
def test_a_picture_opens_in_inside_rita_with_the_memory_it_met(visit: Visit, t: int) -> None:
    visit.stream(pictures=3, traffic="attacked")
    visit.tab.pick(visit.name, t)
    updates = visit.run(visit.tab.open_inside(visit.name))
    assert any(u.get(visit.tab.tabs) == gr.update(selected="inside") for u in updates)
    story, row = visit.session.story, visit.view.recording.rows()[t - 1]
    assert story.label_given
    assert story.bank.names[story.label] == row["label"]
    assert story.bank.names[story.attacked.verdicts["rita"].label] == row["answer"]
    held = measuring.held_after(visit.view.course, t - 1)
    assert story.cache_before.count.tolist() == held.held.tolist()
    entered = [[e.label, e.slot, e.view] for e in story.attacked.trace.change.events]
    assert entered == [event[:3] for event in row["entered"]]
    assert f"before its picture {t}" in visit.session.history.entries[0].title


def test_a_stream_of_another_model_is_looked_at_but_not_opened_inside(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    visit.stream()
    monkeypatch.setattr(visit.tab.desk.engines.first, "spread", 0.9)  # other weights
    before = visit.session.history
    with pytest.raises(SettingError, match="made with the model 'fake'"):
        visit.run(visit.tab.open_inside(visit.name))
    assert visit.session.history is before


def test_the_state_of_a_visitor_is_counted(visit: Visit) -> None:
    empty = visit.session.bytes()
    visit.stream()
    visit.tab.board.redraw(visit.session, "story")
    assert visit.session.bytes() > empty + sum(map(len, visit.view.thumbs.values())) > empty


@pytest.mark.parametrize(("limit", "value"), [("KEPT", 2), ("KEPT_BYTES", 1)])
def test_the_oldest_streams_of_the_page_go_and_those_of_a_terminal_stay(
    tab: StreamTab, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(streams, limit, value)
    runs = tab.places.runs
    (runs / "terminal" / "cells").mkdir(parents=True)
    for seed in range(4):
        Visit(tab).stream(pictures=2, seed=seed)
    # room is made before a stream begins: those that weigh too much are all earlier ones
    kept = {2, 3} if limit == "KEPT" else {3}
    assert sum(p.name.startswith("page-") for p in runs.iterdir()) == len(kept)
    assert (runs / "terminal").is_dir()
    assert {r.header["seed"] for r in measuring.recordings(runs)} == kept


def test_fetching_says_how_far_it_is_can_be_stopped_and_fails_in_a_sentence(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch = visit.tab.fetch
    monkeypatch.setattr(stream_fetch, "OFTEN", -1.0)  # every piece is told
    monkeypatch.setattr(
        download, "fetching",
        lambda archive, root: (Fetched(n, 10, f"Fetching {archive.dataset}: {n} of 10") for n in range(11)),
    )  # fmt: skip
    seen = visit.run(fetch.fetch(visit.name, "dtd"))
    assert any("Fetching dtd" in str(u.get(fetch.state)) for u in seen)
    assert "is here" in seen[-1][fetch.state]
    job = fetch.fetch(visit.name, "dtd")
    next(job)
    next(job)
    fetch.stopped(visit.name)
    assert "goes on from there" in visit.run(job)[-1][fetch.state]
    for name in (None, "imagenet", "../x", ["dtd"]):
        with pytest.raises(DataError, match="No dataset is chosen"):
            visit.run(fetch.fetch(visit.name, name))


def test_a_request_names_a_folder_below_the_runs_only(tmp_path: Path) -> None:
    request = measuring.request_for(
        Places(tmp_path, tmp_path / "runs"), RECOMMENDED, "a/../b",
        dataset="textures", traffic="clean", order="random", seed=0, pictures=2,
    )  # fmt: skip
    assert request.out.parent == tmp_path / "runs"
    assert request.points[0].attack == "none"
