"""The third tab, *Memory (cache)*: what is remembered, how it came about, and what it changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr

from rita_demo.errors import DemoError
from rita_demo.ui import archive, filling, notice, recall, thread, words
from rita_demo.ui.board import Updates
from rita_demo.ui.desk import AT_ONCE, ENGINE_QUEUE, Desk
from rita_demo.ui.history import Entry, History
from rita_demo.ui.plotly_view import PlotlyView, clicked, whole
from rita_demo.ui.recall import when_open
from rita_demo.ui.sessions import Session
from rita_demo.ui.shelf import MEMORY_KINDS, Contents, Export, as_file, chosen_item, export_kind
from rita_demo.ui.stopping import Stoppable

LONG: dict[str, Any] = ENGINE_QUEUE | {"show_progress": "hidden", "api_visibility": "private"}


class MemoryTab:
    """The tab. Build it inside its ``gr.Tab``."""

    def __init__(self, desk: Desk, tab: gr.Tab) -> None:
        self.desk, self.tab, self.exports = desk, tab, 0
        with gr.Column(elem_id="memory"):
            strip = gr.HTML(elem_id="memory-strip")
            desk.board.add(strip, when_open(thread.strip), "memory", "step", "inside")
            self._draw_contents()
            self._draw_use()
            self._draw_filling()
        desk.board.prepare(self._compare)

    # --- layout
    def _draw_contents(self) -> None:
        board = self.desk.board
        gr.HTML(
            "<h2 class='story'>What is remembered</h2><p class='lead'>"
            f"The surest crops ({words.term('confident view')}) of every picture enter the "
            f"{words.term('memory (cache)')} under the class they answer with, their {words.term('pseudo-label')}. "
            "Running a picture again takes its earlier views out first: nothing is in the memory twice.</p>"
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
            self.remove = gr.Button(
                "Remove the chosen view", size="sm", elem_id="remove", interactive=False
            )
            self.export = Export(MEMORY_KINDS, elem_id="export")
            self.load = gr.UploadButton("Import", type="filepath", size="sm", elem_id="import")
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
        board.add(self.remove, when_open(recall.removing), "memory")

    def _draw_use(self) -> None:
        board = self.desk.board
        gr.HTML("<h2 class='story'>What it changes</h2>")
        compared = gr.HTML(elem_id="compared")
        with gr.Row(elem_classes="pair"):
            with gr.Column(scale=1, min_width=300):
                gr.HTML("<h3>What the memory adds per class, for the picture on screen</h3>")
                self.distances = PlotlyView(
                    aria="d_cOT of every class with and without the memory", height=380,
                    empty=recall.WAITING, elem_id="distances",
                )  # fmt: skip
            with gr.Column(scale=1, min_width=300):
                gr.HTML("<h3>How Procrustes turns the chosen class’s views</h3>")
                self.plane = PlotlyView(
                    aria="The chosen class's remembered views before and after Procrustes",
                    height=380, narrow_height=340, empty=recall.WAITING, elem_id="plane",
                )  # fmt: skip
                said = gr.HTML(elem_id="plane-words")
        board.add(compared, when_open(recall.compared), "memory")
        board.add(self.distances, when_open(recall.distances), "memory", "class")
        board.add(self.plane, when_open(recall.plane_figure), "memory", "class")
        board.add(said, when_open(recall.plane_words), "memory", "class")

    def _draw_filling(self) -> None:
        gr.HTML(
            "<h2 class='story'>A lesson in poisoning</h2><p class='lead'>The memory believes what it sees. "
            "Fill it with pictures, or with attacked ones, and see what that does to the picture on the "
            "first tab: what it says before and after stands here. Undo takes the pictures out again, one "
            "by one.</p>"
        )
        with gr.Row(elem_id="fill"):
            self.many = gr.UploadButton(
                "Remember several pictures", file_count="multiple",
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
    def wire(self, others: list[gr.Tab]) -> None:
        """Connect the events; call it once every panel of every tab is on the board."""
        desk, visitor = self.desk, self.desk.visitor
        touched: tuple[tuple[Any, Any, list[Any], list[Any]], ...] = (
            (self.moment.input, self.pick_moment, [visitor, self.moment], []),
            (self.contents.click, self.click_item, [visitor], []),
            (self.plane.click, self.click_slot, [visitor], []),
            (self.distances.click, self.click_class, [visitor], []),
            (self.undo.click, self.undone, [visitor], []),
            (self.empty.click, self.emptied, [visitor], []),
            (self.remove.click, self.removed, [visitor], []),
            (self.export.click, self.exported, [visitor], [self.export]),
            (self.load.upload, self.imported, [visitor, self.load], []),
        )
        safe = notice.guarded(desk.notice)
        for event, handler, inputs, more in touched:
            changed = desk.outputs_of("memory", "class", "view", "side")
            event(safe(handler), inputs, [*changed, *more], **AT_ONCE)
        for tab in others:
            tab.select(safe(self.left), visitor, desk.notice, **AT_ONCE)
        # first what is there, then what has to be decided for it
        here = self.tab.select(safe(self.opened), visitor, desk.outputs_of("memory"), **AT_ONCE)
        here.then(safe(self.compared), visitor, desk.outputs_of("memory"), **AT_ONCE)
        job = Stoppable(desk, self.stop, self.stopped, desk.turns.taken).job
        outputs = desk.outputs(self.stop)
        uploads = [visitor, self.many, self.attacked]
        self.many.upload(job(self.fill_uploads), uploads, outputs, **LONG)
        self.poison.click(job(self.fill_poison), [visitor], outputs, **LONG)

    def opened(self, visitor: Any) -> Updates:
        """The tab came into sight: from now on it is drawn."""
        session = self.desk.sessions.get(visitor)
        session.recalling = True
        return self.desk.board.redraw(session, "memory")

    def compared(self, visitor: Any) -> Updates:
        """The picture on screen decided with and without the memory."""
        return self._select(self.desk.sessions.get(visitor), "memory")

    def left(self, visitor: Any) -> Updates:
        """Another tab is in sight. (The first one is "chosen" before there is a session.)"""
        if visitor:
            self.desk.sessions.get(visitor).recalling = False
        return {}

    def pick_moment(self, visitor: Any, number: Any) -> Updates:
        """The time slider moved."""
        session = self.desk.sessions.get(visitor)
        at = whole(number, 0, len(session.history.entries))
        if at is None:
            return {}
        seen, item = recall.entry(session), session.selection.item
        kept = seen.shelf.item(*item) if seen is not None and item is not None else None
        place = session.history.entries[at].shelf.find(kept)
        updates = self._select(session, "memory", moment=at, item=place)
        updates.pop(self.moment, None)  # it shows the choice itself
        return updates

    def click_item(self, visitor: Any, event: gr.EventData) -> Updates:
        """A remembered view was chosen: its class is looked at in every tab, and if it came with the
        picture on screen, that view as well."""
        session = self.desk.sessions.get(visitor)
        entry = recall.entry(session)
        chosen = None if entry is None else chosen_item(event, entry.shelf)
        return {} if entry is None or chosen is None else self._choose(session, entry, chosen)

    def click_slot(self, visitor: Any, event: gr.EventData) -> Updates:
        """A view was chosen in the plane of its class."""
        session, click = self.desk.sessions.get(visitor), clicked(event)
        entry, k = recall.entry(session), session.selection.k
        if entry is None or k is None or click is None:
            return {}
        slot = click.integer(0, len(entry.shelf.held.get(k, ())))
        return {} if slot is None else self._choose(session, entry, (k, slot))

    def click_class(self, visitor: Any, event: gr.EventData) -> Updates:
        """A class was chosen in the figure of distances."""
        session, click = self.desk.sessions.get(visitor), clicked(event)
        story = session.story
        k = click.integer(0, len(story.bank.names)) if story is not None and click else None
        return {} if k is None else self._select(session, "class", k=k, atom=None)

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

    def removed(self, visitor: Any) -> Updates:
        """The chosen view is forgotten; Undo brings it back."""
        session = self.desk.sessions.get(visitor)
        history, item = session.history, session.selection.item
        now, one = history.now, recall.entry(session)
        if now is None or one is None or item is None or now.item(*item) is None:
            raise DemoError("No remembered view is chosen.", "Choose one first.")
        if one.shelf is not now:
            raise DemoError(
                "This is an earlier moment: only what the memory holds now can be removed.",
                "Move the slider to the latest moment.",
            )
        name, gone = now.names[item[0]], now.item(*item)
        assert gone is not None
        title = f"Removed view {gone.view} of picture {gone.born + 1} from {name}"
        state = self.desk.engine_of(session).forget(now.state(), *item)
        return self._now(session, history.forgotten(title, state), f"{title}. Undo brings it back.")

    def exported(self, visitor: Any, event: gr.EventData) -> Updates:
        """The memory of the moment looked at, as a file."""
        session = self.desk.sessions.get(visitor)
        entry, story = recall.entry(session), session.story
        if entry is None or story is None:
            raise DemoError("There is no memory to export yet.", "Run a picture first.")
        kind, entries = export_kind(event), session.history.entries[: recall.moment(session) + 1]
        about = archive.described(entry.shelf, story.backbone.name, story.settings, entries)
        with self.desk.handing.making():
            made = (archive.as_json if kind == "json" else archive.pack)(entry.shelf, about)
            self.exports += 1
            file = as_file(f"memory.{kind}", made, self.exports)
        return {
            self.export: file,
            self.desk.status: notice.done(f"Exported {words.views(entry.shelf.count)} as {kind}."),
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
        fillers, refused = filling.uploads(session, engine, paths, attack is True)
        yield from self._fill(session, fillers, refused)

    def fill_poison(self, visitor: Any) -> Iterator[Updates]:
        """Attacked versions of the samples."""
        session = self.desk.sessions.get(visitor)
        engine = self.desk.engine_of(session)
        yield from self._fill(session, filling.poison(session, engine), [])

    def _fill(
        self, session: Session, fillers: list[filling.Filler], refused: list[str]
    ) -> Iterator[Updates]:
        yield from filling.fill(self.desk, session, fillers, refused)
        yield self._select(session, "memory")

    def stopped(self, session: Session) -> Updates:
        """A filling was stopped: what was committed stays."""
        said = notice.done("Stopped. What was remembered until then stays; Undo takes it out.")
        return {self.desk.status: said, **self._select(session, "memory")}

    def _now(self, session: Session, history: History, said: str) -> Updates:
        with session.lock:
            session.history = history
        session.lesson = ""
        updates = self._select(session, "memory", moment=None, item=None)
        return {self.desk.notice: "", self.desk.status: notice.done(said), **updates}

    def _select(self, session: Session, *aspects: str, **changes: Any) -> Updates:
        session.selection = replace(session.selection, **changes)
        if "memory" in aspects:
            self._compare(session)
        return self.desk.board.redraw(session, *aspects)

    def _compare(self, session: Session) -> None:
        """With and without the memory, while the tab is in sight."""
        if session.recalling:
            filling.compare(self.desk.engine_of(session), session)
