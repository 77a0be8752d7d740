"""The third tab, *Memory (cache)*: what is remembered, how it came about, and what it changes."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr

from rita_demo.errors import DemoError
from rita_demo.ui import archive, filling, notice, recall, words
from rita_demo.ui.board import Updates
from rita_demo.ui.desk import AT_ONCE, ENGINE_QUEUE, Desk
from rita_demo.ui.history import Entry, History
from rita_demo.ui.plotly_view import whole
from rita_demo.ui.recall import when_open
from rita_demo.ui.sessions import Session
from rita_demo.ui.shelf import Contents, Export, chosen_item

LONG: dict[str, Any] = ENGINE_QUEUE | {"show_progress": "hidden", "api_visibility": "private"}


class MemoryTab:
    """The tab. Build it inside its ``gr.Tab``."""

    def __init__(self, desk: Desk, tab: gr.Tab) -> None:
        self.desk, self.tab, self.exports = desk, tab, 0
        with gr.Column(elem_id="memory"):
            self._draw_contents()
            self._draw_use()
            self._draw_filling()

    # --- layout
    def _draw_contents(self) -> None:
        board = self.desk.board
        gr.HTML(
            "<h2 class='story'>What is remembered</h2><p class='lead'>"
            f"The surest crops ({words.term('confident view')}) of every picture enter the "
            f"{words.term('memory (cache)')} under the class they answer with. Trying the latest picture "
            "again never commits it twice.</p>"
        )
        self.moment = gr.Slider(
            0, 1, value=0, step=1, label="Moment", visible=False, elem_id="moment",
            info="0 is the beginning; what the memory held then is shown below.",
        )  # fmt: skip
        title = gr.HTML(elem_id="moment-title")
        self.contents = Contents(elem_id="contents")
        with gr.Row(elem_id="memory-buttons"):
            self.undo = gr.Button("Undo", size="sm", elem_id="undo")
            self.empty = gr.Button("Empty the memory", size="sm", elem_id="empty-memory")
            self.export = Export(elem_id="export")
            self.load = gr.UploadButton(
                "Import", file_types=[".safetensors"], type="filepath", size="sm", elem_id="import"
            )
        with gr.Row(elem_classes="pair"):
            with gr.Column(scale=1, min_width=320):
                detail = gr.HTML(elem_id="item-detail")
            with gr.Column(scale=2, min_width=320):
                gr.HTML("<h3>What happened</h3>")
                log = gr.HTML(elem_id="log")
        board.add(self.moment, when_open(recall.slider), "memory")
        board.add(title, when_open(recall.heading), "memory")
        board.add(self.contents, when_open(recall.contents), "memory", "class")
        board.add(detail, when_open(recall.detail), "memory")
        board.add(log, when_open(recall.log), "memory")

    def _draw_use(self) -> None:
        board = self.desk.board
        gr.HTML("<h2 class='story'>What it changes</h2>")
        compared = gr.HTML(elem_id="compared")
        board.add(compared, when_open(recall.compared), "memory")

    def _draw_filling(self) -> None:
        gr.HTML(
            "<h2 class='story'>A lesson in poisoning</h2><p class='lead'>The memory believes what it sees. "
            "Fill it with pictures, or with attacked ones, and see what that does to the picture on the "
            "first tab. Undo takes the pictures out again, one by one.</p>"
        )
        with gr.Row(elem_id="fill"):
            self.many = gr.UploadButton(
                "Remember several pictures", file_types=["image"], file_count="multiple",
                type="filepath", size="sm", elem_id="many",
            )  # fmt: skip
            self.attacked = gr.Checkbox(
                False, label="attack each first, as in the settings", elem_id="attack-each"
            )
            self.poison = gr.Button("Fill it with attacked samples", size="sm", elem_id="poison")
            self.stop = gr.Button("Stop", size="sm", visible=False, elem_id="stop-filling")
        lesson = gr.HTML(elem_id="lesson")
        self.desk.board.add(lesson, when_open(recall.lesson), "memory")

    # --- events
    def wire(self) -> None:
        """Connect the events; call it once every panel of every tab is on the board."""
        desk, visitor = self.desk, self.desk.visitor
        touched: tuple[tuple[Any, Any, list[Any], list[Any]], ...] = (
            (self.tab.select, self.opened, [visitor], []),
            (self.moment.input, self.pick_moment, [visitor, self.moment], []),
            (self.contents.click, self.click_item, [visitor], []),
            (self.undo.click, self.undone, [visitor], []),
            (self.empty.click, self.emptied, [visitor], []),
            (self.export.click, self.exported, [visitor], [self.export]),
            (self.load.upload, self.imported, [visitor, self.load], []),
        )
        for event, handler, inputs, more in touched:
            event(notice.guarded(desk.notice)(handler), inputs, desk.outputs(*more), **AT_ONCE)
        outputs = desk.outputs(self.stop)
        jobs: list[Any] = [
            self.many.upload(
                self._job(self.fill_uploads), [visitor, self.many, self.attacked], outputs, **LONG
            ),
            self.poison.click(self._job(self.fill_poison), [visitor], outputs, **LONG),
        ]
        stopped = notice.guarded(desk.notice)(self.stopped)
        self.stop.click(stopped, visitor, outputs, cancels=jobs, **AT_ONCE)

    def _job(self, work: Any) -> Any:
        """A long job as an event: the stop button while it runs, a sentence when it fails."""

        def begins(*values: Any) -> Iterator[Updates]:
            yield {self.stop: gr.update(visible=True), self.desk.notice: ""}
            yield from work(*values)
            yield {self.stop: gr.update(visible=False)}

        hidden = {self.desk.status: "", self.stop: gr.update(visible=False)}
        return notice.guarded(self.desk.notice, lambda: hidden)(begins)

    def opened(self, visitor: Any) -> Updates:
        """The tab came to the front: from now on it is drawn; the empty memory's answer is computed."""
        session = self.desk.sessions.get(visitor)
        session.recalling = True
        story, engine = session.story, self.desk.engine_of(session)
        stale = session.bare is None or session.bare[0] is not story
        if story is not None and stale and engine.info.name == story.backbone.name:
            session.bare = (story, filling.bare(engine, story))
        return self.desk.board.redraw(session, "memory")

    def pick_moment(self, visitor: Any, number: Any) -> Updates:
        """The time slider moved."""
        session = self.desk.sessions.get(visitor)
        at = whole(number, 0, len(session.history.entries))
        if at is None:
            return {}
        updates = self._select(session, "memory", moment=at)
        updates.pop(self.moment, None)  # it shows the choice itself
        return updates

    def click_item(self, visitor: Any, event: gr.EventData) -> Updates:
        """A remembered view was chosen: its class is looked at in every tab, and if it came with the
        picture on screen, that view as well."""
        session = self.desk.sessions.get(visitor)
        entry = recall.entry(session)
        chosen = None if entry is None else chosen_item(event, entry.shelf)
        return {} if entry is None or chosen is None else self._choose(session, entry, chosen)

    def _choose(self, session: Session, entry: Entry, chosen: tuple[int, int]) -> Updates:
        story, item = session.story, entry.shelf.item(*chosen)
        if story is None or item is None or entry.shelf.key != story.bank.key:
            return self._select(session, "memory", item=chosen)
        changes: dict[str, Any] = {"item": chosen, "k": chosen[0], "atom": None}
        here = story.cache_after
        born_here = item.born == here.pictures - 1 and bool(
            (here.born[chosen[0]] == item.born)[here.view[chosen[0]] == item.view].any()
        )
        if born_here:
            changes |= {"view": item.view, "side": "attacked"}
        return self._select(session, "memory", "class", "view", "side", **changes)

    def undone(self, visitor: Any) -> Updates:
        """One moment back."""
        session = self.desk.sessions.get(visitor)
        if len(session.history.entries) < 2:
            raise DemoError("There is nothing to undo.")
        title = session.history.entries[-1].title
        return self._now(session, session.history.undone(), f"Undone: {title}.")

    def emptied(self, visitor: Any) -> Updates:
        """The memory forgets everything; Undo brings it back."""
        session = self.desk.sessions.get(visitor)
        if session.history.now is None or not session.history.now.count:
            raise DemoError("The memory is empty already.")
        return self._now(
            session, session.history.reset(), "The memory is empty. Undo brings it back."
        )

    def exported(self, visitor: Any) -> Updates:
        """The memory of the moment looked at, as a file."""
        session = self.desk.sessions.get(visitor)
        entry = recall.entry(session)
        if entry is None or session.story is None:
            raise DemoError("There is no memory to export yet.", "Run a picture first.")
        data = archive.pack(entry.shelf, session.story.backbone.name)
        self.exports += 1  # another address each time, or the browser would see no change
        code = base64.b64encode(data).decode()
        return {
            self.export: f"data:application/octet-stream;n={self.exports};base64,{code}",
            self.desk.status: notice.done(f"Exported {words.views(entry.shelf.count)}."),
        }

    def imported(self, visitor: Any, path: Any) -> Updates:
        """A memory from a file in place of this one."""
        session = self.desk.sessions.get(visitor)
        if not isinstance(path, str):
            raise archive.ArchiveError("No file arrived.", "Try again.")
        story = filling.told(session, self.desk.engine_of(session))
        shelf = archive.unpack(archive.read(Path(path)), story.bank, story.backbone.name)
        said = f"Imported {words.views(shelf.count)}. The next picture is decided from them."
        updates = self._now(session, session.history.imported(shelf), said)
        self.desk.sessions.fit()
        return updates

    def fill_uploads(self, visitor: Any, paths: Any, attack: Any) -> Iterator[Updates]:
        """Several uploads at once."""
        session = self.desk.sessions.get(visitor)
        engine = self.desk.engine_of(session)
        yield from filling.fill(
            self.desk, session, filling.uploads(session, engine, paths, attack is True)
        )

    def fill_poison(self, visitor: Any) -> Iterator[Updates]:
        """Attacked versions of the samples."""
        session = self.desk.sessions.get(visitor)
        engine = self.desk.engine_of(session)
        yield from filling.fill(self.desk, session, filling.poison(session, engine))

    def stopped(self, visitor: Any) -> Updates:
        """A filling was cancelled: what was committed stays."""
        session = self.desk.sessions.get(visitor)
        said = notice.done("Stopped. What was remembered until then stays; Undo takes it out.")
        redrawn = self.desk.board.redraw(session, "memory")
        return {self.stop: gr.update(visible=False), self.desk.status: said, **redrawn}

    def _now(self, session: Session, history: History, said: str) -> Updates:
        with session.lock:
            session.history = history
        session.lesson = ""
        updates = self._select(session, "memory", moment=None, item=None)
        return {self.desk.notice: "", self.desk.status: notice.done(said), **updates}

    def _select(self, session: Session, *aspects: str, **changes: Any) -> Updates:
        session.selection = replace(session.selection, **changes)
        return self.desk.board.redraw(session, *aspects)
