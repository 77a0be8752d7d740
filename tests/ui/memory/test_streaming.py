"""Streams in *Memory* with the toy engine: start and stop, earlier pictures, stored runs, malformed requests."""

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import gradio as gr
import pytest

from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import WITHOUT_CACHE, DataFolders, streams
from rita_demo.records.errors import DataError, DemoError, SettingError
from rita_demo.ui.memory import answers, panels
from rita_demo.ui.memory.tab import MemoryTab
from rita_demo.ui.session.session import StreamState
from rita_demo.ui.session.store import SessionLost
from tests.evaluation.conftest import single_threaded  # noqa: F401
from tests.toy_model import ToyEngine
from tests.ui.conftest import build_tab, chosen, drawn, saved_file

pytestmark = pytest.mark.slow
ENGINE = ToyEngine(truth="dotted", wrong="striped", spread=0.2)


class StreamClient:
    """A visitor in front of the room."""

    def __init__(self, tab: MemoryTab) -> None:
        self.tab = tab
        self.name = tab.context.sessions.open(model="toy")
        self.session = tab.context.sessions.get(self.name)
        self.session.room = "memory"

    @property
    def view(self) -> Any:
        return self.session.stream

    @property
    def shown(self) -> Any:
        return panels.shown_stream(self.session, self.tab.folders)

    def form_values(self, **changes: Any) -> dict[Any, Any]:
        """What the browser sends with the button."""
        fields = self.tab.streaming.form.fields
        form = {c: c.value for c in fields.values()} | {fields["steps"]: 2}  # quick
        self.session.attack_defend.settings = {"views": 8, "prompts": 2}
        asked = {c: c.value for c in self.tab.streaming.inputs.values()}
        asked |= {self.tab.streaming.inputs["pictures"]: 4}
        asked |= {self.tab.streaming.inputs[name]: value for name, value in changes.items()}
        return {self.tab.context.visitor: self.name, **form, **asked}

    def stream(self, **changes: Any) -> None:
        list(self.tab.streaming.on_start(self.form_values(**changes)))


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> MemoryTab:
    root = tmp_path_factory.mktemp("places")
    return build_tab(MemoryTab, ENGINE, folders=DataFolders(root / "data", root / "runs"))


@pytest.fixture
def client(tab: MemoryTab) -> StreamClient:
    """No run is stored yet."""
    shutil.rmtree(tab.folders.runs, ignore_errors=True)
    return StreamClient(tab)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> StreamClient:
    """A visitor whose six pictures are decided."""
    root = tmp_path_factory.mktemp("finished")
    client = StreamClient(build_tab(MemoryTab, ENGINE, folders=DataFolders(root / "data", root / "runs")))
    client.stream(pictures=6, traffic="mixed")
    return client


@pytest.fixture
def viewer(finished: StreamClient) -> StreamClient:
    """Another one, who looks at their stream."""
    other = StreamClient(finished.tab)
    other.tab.pick_memory(other.name, finished.view.recording.name)
    return other


def test_a_stream_is_the_rows_of_evaluate(client: StreamClient) -> None:
    view, empty = client.view, client.session.size_bytes()
    client.stream(traffic="mixed")
    assert not view.running
    assert client.session.selected_moment == len(view.trajectory.pictures) == 4
    assert set(view.trajectory.answers) == {"clip", "ensemble", "rita", WITHOUT_CACHE}
    rows = view.recording.rows()
    assert [row["picture"] for row in rows] == list(view.trajectory.pictures)
    assert {row["protocol"] for row in rows} == {"stream"}
    assert "of n = 4" in answers.accuracy_table(client.shown)
    drawn(client.tab, client.session, {})
    assert client.session.size_bytes() > empty + sum(map(len, view.thumbnails.values())) > empty
    written = (view.recording.folder / "rows.sqlite").read_bytes()
    client.stream(traffic="mixed")  # measures nothing again
    assert (view.recording.folder / "rows.sqlite").read_bytes() == written


def test_a_stopped_stream_goes_on_when_it_is_started_again_as_it_was(client: StreamClient) -> None:
    tab, form = client.tab, client.tab.streaming
    for updates in (job := form.on_start(client.form_values(pictures=6))):
        if client.view.decided == 2:
            assert drawn(tab, client.session, updates)[form.stop_button]["visible"]
            assert "Stopping after this picture" in form.on_stop(client.name)[tab.context.status]
            break
    last = drawn(tab, client.session, list(job)[-1])
    assert client.view.decided == 2
    assert last[form.stop_button] == {"visible": False, "__type__": "update"}
    before = client.view.recording.rows()
    client.stream(pictures=6)
    assert client.view.decided == 6
    assert client.view.recording.rows()[:2] == before
    assert len(evaluation_page.stream_runs(tab.folders.runs)) == 1


def test_two_sessions_may_write_the_same_run_and_a_closed_page_ends_its_own(client: StreamClient) -> None:
    job, other = client.tab.streaming.on_start(client.form_values(pictures=6)), StreamClient(client.tab)
    next(job)
    next(job)
    other.stream(pictures=6)  # it goes on from the stored pictures, and each row is there once
    assert other.view.decided == 6
    assert [row["place"] for row in other.view.recording.rows()] == [*range(6)]
    client.tab.context.sessions._sessions.pop(client.name)
    with pytest.raises(SessionLost):
        list(job)
    assert not client.view.running


class RacingState(StreamState):
    """Two visitors see at the same time that no stream runs; one of them starts."""

    barrier = threading.Barrier(2, timeout=1)

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name == "running" and found is False:
            with suppress(threading.BrokenBarrierError):
                type(self).barrier.wait()
        return found


def test_two_concurrent_presses_start_one_stream(client: StreamClient) -> None:
    jobs = [client.tab.streaming.on_start(client.form_values(pictures=3)) for _ in range(2)]
    client.session.stream = RacingState()
    with ThreadPoolExecutor(2) as pool:
        pressed = [pool.submit(next, job) for job in jobs]
    (error,) = filter(None, (one.exception() for one in pressed))
    assert isinstance(error, SettingError)
    assert "A stream of yours is running" in str(error)
    for job in jobs:
        job.close()
    assert not client.view.running


def test_the_stream_yields_to_a_single_picture(client: StreamClient, monkeypatch) -> None:
    job = client.tab.streaming.on_start(client.form_values(pictures=3))
    next(job)
    next(job)
    with client.tab.context.activity.track_job():
        for _ in range(3):
            assert set(next(job)) == {client.tab.context.error_banner}  # it waits
        assert len(client.view.trajectory.pictures) == 1
    list(job)
    assert len(client.view.trajectory.pictures) == 3


def test_a_picture_is_selected_and_accuracy_and_memory_are_those_of_its_time(viewer: StreamClient) -> None:
    tab, name, session = viewer.tab, viewer.name, viewer.session
    course = viewer.view.trajectory
    shown = chosen(tab, name, picture=2)
    assert {tab.accuracy, tab.film, tab.moment, tab.shelf} <= shown.keys(), "one selection moves all of them"
    assert "of n = 2" in answers.accuracy_table(viewer.shown)
    assert panels.headline(session).startswith("After 2 pictures RITA has")
    held = evaluation_page.classes_after(course, 2)
    assert shown[tab.shelf].count("<button") == sum(view.count for view in held.values())
    for forged in (None, "2", 0, 99):
        assert chosen(tab, name, picture=forged) == {}
    assert (session.selected_moment, session.run) == (2, None)


def test_an_invalid_request_gives_an_error_message(client: StreamClient) -> None:
    for name, values, says in (
        ("dataset", ("../../etc", "dtd", None), "no such dataset"),
        ("traffic", ("heavy", ["mixed"]), "traffic is one of clean, mixed, attacked"),
        ("seed", (-1,), "whole number from 0"),
        ("pictures", (10**9, "many", True), "whole number from 2 to 500"),
    ):
        for value in values:
            with pytest.raises(DemoError, match=says):
                client.stream(**{name: value})
    assert not client.view.running


def test_a_stored_run_is_opened_from_the_list_only(client: StreamClient) -> None:
    client.stream(traffic="clean")
    other = StreamClient(client.tab)
    other.tab.on_open(other.session)
    _, *examples, (_, stored) = panels.menu(other.session)["choices"]
    assert stored == client.view.recording.name
    assert all(title.endswith(", stored") for title, _ in examples)
    other.tab.pick_memory(other.name, stored)
    assert other.view.decided == 4
    for name in ("../..", None, "", ["x"], stored + "/.."):
        with pytest.raises(DataError):
            other.tab.pick_memory(other.name, name)
    file = saved_file(other.tab.on_rows(other.name)[other.tab.rows_button])
    methods = [(row["method"], row["protocol"]) for row in map(json.loads, file.splitlines())]
    assert len(methods) == 16
    assert set(methods) == {("clip", "off"), ("ensemble", "off"), ("rita", "stream"), ("rita", "off")}


def test_a_picture_opens_in_inside_rita_with_the_memory_before_it(viewer: StreamClient) -> None:
    t = 3
    chosen(viewer.tab, viewer.name, picture=t)
    updates = list(viewer.tab.open_inside(viewer.name))
    assert any(update.get(viewer.tab.opener.tabs) == gr.update(selected="inside") for update in updates)
    run, row = viewer.session.run, viewer.view.recording.rows()[t - 1]
    assert run.label_given
    assert run.class_prompts.names[run.label] == row["label"]
    assert run.class_prompts.names[run.attacked.verdicts["rita"].label] == row["answer"]
    held = evaluation_page.classes_after(viewer.view.trajectory, t - 1)
    assert {k: n for k, n in enumerate(run.cache_before.count.tolist()) if n} == {k: held[k].count for k in held}
    entered = [[e.label, e.slot, e.view] for e in run.attacked.trace.cache_update.events]
    assert entered == [event[:3] for event in row["entered"]]
    titles = [entry.title for entry in viewer.session.history.moments]
    assert [f"picture {n} of the stream" in title for n, title in enumerate(titles)][1:t] == [True] * (t - 1)
    assert viewer.view.recording is not None, "the stream stays on screen in Memory"
    assert viewer.session.selected_moment == t


@pytest.mark.parametrize(("limit", "value"), [("MAX_STREAMS", 2), ("MAX_STREAM_BYTES", 1)])
def test_the_oldest_page_streams_are_deleted_and_terminal_streams_stay(
    client: StreamClient, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(streams, limit, value)
    runs = client.tab.folders.runs
    (runs / "terminal").mkdir(parents=True)
    client.stream(pictures=2, seed=9)
    client.stream(pictures=2, seed=8)
    assert len(evaluation_page.stream_runs(runs)) == 2, "what may still be written stays"
    monkeypatch.setattr(streams, "AT_WORK", 0)
    for seed in range(4):
        client.stream(pictures=2, seed=seed)
    # room is made before a stream begins: those that weigh too much are all earlier ones
    kept = {2, 3} if limit == "MAX_STREAMS" else {3}
    assert sum(p.name.startswith("page-") for p in runs.iterdir()) == len(kept)
    assert (runs / "terminal").is_dir()
    assert {r.header.facts["seed"] for r in evaluation_page.stream_runs(runs)} == kept
