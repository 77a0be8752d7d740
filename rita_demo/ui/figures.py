"""The tab *Figures of the paper*: each of them made from this visitor's own run.

Its panels share the common selection; they are drawn only while the tab is in sight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import gradio as gr

from rita_demo import measuring
from rita_demo.analysis import Worker
from rita_demo.measuring import Places, ablations
from rita_demo.ui import figures_cloud, figures_layout, figures_measured, figures_theorem, notice
from rita_demo.ui.board import Updates
from rita_demo.ui.desk import AT_ONCE, Desk
from rita_demo.ui.figures_jobs import FigureJobs
from rita_demo.ui.figures_state import looked_at
from rita_demo.ui.plotly_view import clicked, picked, whole
from rita_demo.ui.sessions import Session
from rita_demo.ui.stopping import Stoppable

#: Long jobs of this tab wait for each other and for nobody else: the engine is held for one step at a time.
LONG: dict[str, Any] = {
    "concurrency_id": "figures", "concurrency_limit": 1, "show_progress": "hidden",
    "api_visibility": "private",
}  # fmt: skip
PLACING: dict[str, Any] = LONG | {"concurrency_id": "umap"}


class FiguresTab:
    """The tab. Build it inside ``gr.Tab``; ``parts`` holds its components by name.

    Args:
        places: where stored runs are, and where small ones are kept.
        worker: places points by UMAP; tests bring a quick one.
    """

    def __init__(self, desk: Desk, places: Places, worker: Worker | None = None) -> None:
        self.desk, self.places = desk, places
        self.jobs = FigureJobs(desk, places, worker or Worker())
        self.parts: dict[str, Any] = figures_layout.draw(desk.board)
        desk.board.prepare(self._bracket)

    # --- events
    def wire(self, here: gr.Tab, others: list[gr.Tab]) -> None:
        """Connect the events; call it once every panel of every tab is on the board."""
        p, visitor = self.parts, self.desk.visitor
        said, of = self.desk.notice, self.desk.outputs_of
        quick: list[tuple[Any, Any, list[Any], list[Any]]] = [
            (here.select, self.opened, [visitor], [*of("figures", "cloud"), p["source"], p["run"]]),
            *((tab.select, self.left, [visitor], [said]) for tab in others),
            (p["cloud"].click, self.on_mark, [visitor], of("class", "cloud")),
            (p["cloud"].hover, self.on_hover, [visitor], [said, p["mark"]]),
            (p["cloud"].select, self.on_lasso, [visitor], [said, p["lassoed"]]),
            (p["chips"].click, self.on_chip, [visitor], of("class", "cloud")),
            (p["how"].input, self.pick_how, [visitor, p["how"]], of("cloud")),
            (p["one_hot"].click, self.on_class, [visitor], of("class", "cloud")),
            (p["brackets"].click, self.on_story_class, [visitor], of("class")),
            (p["run"].input, self.pick_run, [visitor, p["run"]], of("figures")),
            (p["knob"].input, self.pick_knob, [visitor, p["knob"]], of("figures")),
            *((menu.input, self.filtered, [visitor, *p["filters"].values()], [said, p["printed"]])
              for menu in p["filters"].values()),
        ]  # fmt: skip
        for event, handler, inputs, outputs in quick:
            event(notice.guarded(said)(handler), inputs, outputs, **AT_ONCE)
        self._wire_jobs()

    def _wire_jobs(self) -> None:
        p, visitor = self.parts, self.desk.visitor
        asked = [p[n] for n in ("source", "classes", "each", "attack", "budget", "views")]
        cloud = Stoppable(self.desk, p["stop"], self.stopped)
        near, outputs = [visitor, p["neighbours"]], self.desk.outputs(p["stop"])
        gathers = p["gather"].click(cloud.job(self.jobs.gather), [visitor, *asked], outputs, **LONG)
        gathers.success(cloud.after(self.jobs.place_new), near, outputs, **PLACING)
        p["place"].click(cloud.job(self.jobs.place), near, outputs, **PLACING)
        p["measure"].click(
            Stoppable(self.desk, p["stop_measuring"], self.stopped).job(self.measured),
            [visitor, p["knob"], p["pictures"], p["strength"]],
            self.desk.outputs(p["stop_measuring"], p["source"], p["run"]), **LONG,
        )  # fmt: skip

    def stopped(self, _: Session) -> Updates:
        """A long job was stopped."""
        return {self.desk.status: notice.done("Stopped. What was there before is still shown.")}

    # --- coming and going
    def opened(self, visitor: Any) -> Updates:
        """The tab comes into sight: UMAP is warmed up, the bracket worked out, the lists of runs read."""
        session = self.desk.sessions.get(visitor)
        self.jobs.worker.warm()
        session.figures = replace(session.figures, open=True)
        self._bracket(session)
        lists = figures_layout.run_lists(self.parts, self.places, session.figures.run)
        self._read(session, lists[self.parts["run"]]["value"])  # it may have grown meanwhile
        return {**lists, **self.desk.board.redraw(session, "figures", "cloud")}

    def _bracket(self, session: Session) -> None:
        """Theorem 1 on the picture on screen, while the tab is in sight."""
        story, known = session.story, session.figures.brackets
        if session.figures.open and story is not None and (known is None or known[0] is not story):
            made = figures_theorem.brackets_of(self.desk.engine_of(session), story)
            session.figures = replace(session.figures, brackets=(story, made))

    def _read(self, session: Session, run: str) -> None:
        """Look at what a run folder holds now; "" is what came with this copy."""
        found = measuring.points(self.places, run)
        session.figures = replace(session.figures, run=run, points=found)

    def left(self, visitor: Any) -> Updates:
        """Another tab is in sight: these figures need not be drawn."""
        if visitor:  # the first tab is "chosen" before there is a session
            session = self.desk.sessions.get(visitor)
            session.figures = replace(session.figures, open=False)
        return {}

    # --- the cloud
    def on_mark(self, visitor: Any, event: gr.EventData) -> Updates:
        """A point was clicked: its picture and class are looked at, in every tab that knows the class."""
        session = self.desk.sessions.get(visitor)
        one, click = session.figures.gathered, clicked(event)
        i = click.integer(0, len(one.marks.kind)) if one is not None and click else None
        if one is None or i is None:
            return {}
        picture, k = int(one.marks.picture[i]), int(one.marks.label[i])
        if picture >= 0:
            k = int(one.cloud.label[picture])
        return self._look_at(session, k, None if picture < 0 else picture)

    def on_hover(self, visitor: Any, event: gr.EventData) -> Updates:
        """The pointer is over a point: its thumbnail."""
        session = self.desk.sessions.get(visitor)
        one, click = session.figures.gathered, clicked(event)
        i = click.integer(0, len(one.marks.kind)) if one is not None and click else None
        return {} if i is None else {self.parts["mark"]: figures_cloud.about_mark(session, i)}

    def on_lasso(self, visitor: Any, event: gr.EventData) -> Updates:
        """Points were gathered: count them."""
        session = self.desk.sessions.get(visitor)
        one = session.figures.gathered
        if one is None:
            return {}
        chosen = picked(event, len(one.marks.kind))
        session.figures = replace(session.figures, lassoed=chosen)
        return {self.parts["lassoed"]: figures_cloud.lasso_words(session)}

    def on_chip(self, visitor: Any, event: gr.EventData) -> Updates:
        """A class was pressed: it is highlighted, or released when it was."""
        session = self.desk.sessions.get(visitor)
        one, raw = session.figures.gathered, getattr(event, "_data", None)
        k = (
            whole(raw.get("k"), 0, len(one.cloud.bank.names))
            if one and isinstance(raw, dict)
            else None
        )
        if k is None:
            return {}
        if k == looked_at(session):
            session.figures = replace(
                session.figures, k=None, picture=None, ignored=session.selection.k
            )
            return self.desk.board.redraw(session, "cloud")
        return self._look_at(session, k, None)

    def on_class(self, visitor: Any, event: gr.EventData) -> Updates:
        """A class's mark among the KL values was clicked."""
        session = self.desk.sessions.get(visitor)
        one, click = session.figures.gathered, clicked(event)
        k = click.integer(0, len(one.cloud.bank.names)) if one is not None and click else None
        return {} if k is None else self._look_at(session, k, session.figures.picture)

    def _look_at(self, session: Session, k: int, picture: int | None) -> Updates:
        """Highlight a class of the cloud; where the picture on screen knows it, it is everybody's."""
        one, story = session.figures.gathered, session.story
        assert one is not None
        name = one.cloud.bank.names[k]
        known = story is not None and name in story.bank.names
        if story is not None and known:
            at = story.bank.names.index(name)
            session.selection = replace(session.selection, k=at, atom=None)
            session.figures = replace(session.figures, k=k, picture=picture, ignored=None)
            return self.desk.board.redraw(session, "class", "cloud")
        session.figures = replace(
            session.figures, k=k, picture=picture, ignored=session.selection.k
        )
        return self.desk.board.redraw(session, "cloud")

    def pick_how(self, visitor: Any, how: Any) -> Updates:
        """PCA or UMAP."""
        session = self.desk.sessions.get(visitor)
        if how not in ("PCA", "UMAP"):
            return {}
        session.figures = replace(session.figures, how=how)
        return self.desk.board.redraw(session, "cloud")

    # --- Theorem 1
    def on_story_class(self, visitor: Any, event: gr.EventData) -> Updates:
        """A class of the bracket was clicked."""
        session = self.desk.sessions.get(visitor)
        story, click = session.story, clicked(event)
        k = click.integer(0, len(story.bank.names)) if story is not None and click else None
        if k is None:
            return {}
        session.selection = replace(session.selection, k=k, atom=None)
        return self.desk.board.redraw(session, "class")

    # --- measurements
    def pick_run(self, visitor: Any, run: Any) -> Updates:
        """A run folder was chosen from the list."""
        session = self.desk.sessions.get(visitor)
        self._read(session, run or "")
        return {self.desk.notice: "", **self.desk.board.redraw(session, "figures")}

    def pick_knob(self, visitor: Any, knob: Any) -> Updates:
        """Another setting's ablation."""
        session = self.desk.sessions.get(visitor)
        if knob not in ablations.VALUES:
            return {}
        session.figures = replace(session.figures, knob=knob)
        return self.desk.board.redraw(session, "figures")

    def measured(self, visitor: Any, knob: Any, pictures: Any, budget: Any) -> Iterator[Updates]:
        """A small ablation, and then its run in the list of runs."""
        yield from self.jobs.measure(visitor, knob, pictures, budget)
        session = self.desk.sessions.get(visitor)
        self._read(session, ablations.FOLDER)
        lists = figures_layout.run_lists(self.parts, self.places, ablations.FOLDER)
        yield {**lists, **self.desk.board.redraw(session, "figures")}

    def filtered(self, visitor: Any, *values: Any) -> Updates:
        """A filter of the printed table was changed."""
        session = self.desk.sessions.get(visitor)
        chosen = figures_measured.chosen_filters(values)
        session.figures = replace(session.figures, filters=chosen)
        return self.desk.board.only(session, [self.parts["printed"]])
