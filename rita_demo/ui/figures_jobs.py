"""The long jobs of *Figures of the paper*: gathering pictures, placing them, measuring a setting.

Each yields ``{component: value}`` after every picture or half second; cancelling acts at the next one,
and what was there before stays.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillWorking
from contextlib import closing
from dataclasses import replace
from typing import Any

from rita_demo import measuring
from rita_demo.analysis import Worker, comparable
from rita_demo.errors import DataError, SettingError
from rita_demo.measuring import Places, ablations
from rita_demo.settings import KNOBS, RECOMMENDED, Settings
from rita_demo.surveys import Cloud
from rita_demo.ui import figures_cloud, notice
from rita_demo.ui.board import Updates
from rita_demo.ui.desk import Desk
from rita_demo.ui.plotly_view import whole

DRAWN = "textures"  # the source that needs no stored run
SPREAD = 0.1  # UMAP's min_dist, its own default


class FigureJobs:
    """The jobs. ``worker`` places points by UMAP in another process."""

    def __init__(self, desk: Desk, places: Places, worker: Worker) -> None:
        self._desk, self._places, self.worker = desk, places, worker
        self._waiting = ThreadPoolExecutor(2, thread_name_prefix="umap")

    def gather(
        self,
        visitor: Any,
        source: Any,
        classes: Any,
        each: Any,
        attack: Any,
        budget: Any,
        views: Any,
    ) -> Iterator[Updates]:
        """Attack, look at and remember drawn textures, or read a stored stream."""
        session = self._desk.sessions.get(visitor)
        engine = self._desk.engine_of(session)
        if isinstance(source, str) and source != DRAWN:
            yield {self._desk.status: notice.progress("Reading the stored stream", 0.1, 0)}
            steps = measuring.reading(self._places, source, engine)
            cloud = yield from self._told(steps, "Looking at clean picture {} of {}")
        else:
            collection = measuring.drawn(number(classes, "classes"), number(each, "pictures"))
            steps = measuring.gathering(engine, collection, _asked(attack, budget, views))
            cloud = yield from self._told(steps, "Attacking and looking at picture {} of {}")
        first = figures_cloud.gathered(cloud, engine.one_hot_kl)
        with session.lock:
            session.figures = replace(
                session.figures, gathered=first, how="UMAP", k=None, picture=None, lassoed=()
            )
        self._desk.sessions.fit()
        yield {
            self._desk.status: notice.done("Measuring how far the classes are apart"),
            **self._desk.board.redraw(session, "cloud"),
        }
        session.figures = replace(session.figures, gathered=figures_cloud.with_numbers(first))
        yield {
            self._desk.status: notice.done(f"Gathered {len(cloud.ids)} pictures."),
            **self._desk.board.redraw(session, "cloud"),
        }

    def _told(
        self, steps: Generator[tuple[int, int], None, Cloud], says: str
    ) -> Generator[Updates, None, Cloud]:
        begin = time.perf_counter()
        while True:
            try:
                done, total = next(steps)
            except StopIteration as end:
                return end.value
            now = says.format(done + 1, total)
            spent = time.perf_counter() - begin
            yield {self._desk.status: notice.progress(now, done / total, spent)}

    def place_new(self, visitor: Any, neighbours: Any) -> Iterator[Updates]:
        """UMAP for what was just gathered; nothing when gathering failed, which has said so itself."""
        one = self._desk.sessions.get(visitor).figures.gathered
        if one is not None and "UMAP" not in one.places:
            yield from self.place(visitor, neighbours)

    def place(self, visitor: Any, neighbours: Any) -> Iterator[Updates]:
        """UMAP in the other process; the page shows PCA, or the places of before, meanwhile."""
        session = self._desk.sessions.get(visitor)
        one, near = session.figures.gathered, number(neighbours, "neighbours")
        if one is None:
            raise DataError("There is nothing to place yet.", "Press “Gather” first.")
        if not 2 <= near <= 200:
            raise SettingError(f"UMAP looks at 2 to 200 neighbours; got {near}.")
        begin = time.perf_counter()
        asked = self._waiting.submit(self.worker.ask, comparable(one.marks), near, SPREAD)
        while True:
            try:
                places = asked.result(0.5)
                break
            except StillWorking:
                spent = time.perf_counter() - begin
                said = f"UMAP is placing {len(one.marks.kind)} points, {spent:.0f} s so far"
                yield {self._desk.status: notice.done(said)}
        with session.lock:
            now = session.figures.gathered
            if now is None or now.cloud is not one.cloud:
                return  # other pictures were gathered meanwhile
            drawn = figures_cloud.with_umap(one, places, near)
            session.figures = replace(session.figures, gathered=drawn, how="UMAP")
        yield {
            self._desk.status: notice.done(f"UMAP placed {len(places)} points."),
            **self._desk.board.redraw(session, "cloud"),
        }

    def measure(self, visitor: Any, knob: Any, pictures: Any, budget: Any) -> Iterator[Updates]:
        """A small ablation on drawn textures; what was measured before is not measured again."""
        session = self._desk.sessions.get(visitor)
        engine, begin = self._desk.engine_of(session), time.perf_counter()
        strength = KNOBS["budget"].parse(budget)
        request = ablations.small(
            self._places, knob, number(pictures, "pictures"), strength, engine.info.name
        )
        yield {self._desk.status: notice.progress("Measuring", 0.02, 0)}
        with closing(measuring.running(engine, request)) as steps:
            for step in steps:
                spent = time.perf_counter() - begin
                share = step.done / step.wanted
                yield {self._desk.status: notice.progress(step.sentence, share, spent)}
        session.figures = replace(session.figures, knob=knob)
        yield {self._desk.status: notice.done("Measured.")}


def _asked(attack: Any, budget: Any, views: Any) -> Settings:
    """The settings of the pictures that are gathered."""
    strength, count = KNOBS["budget"].parse(budget), KNOBS["views"].parse(views)
    if count < 2:
        raise SettingError(f"The figure needs at least 2 views of a picture; got {count}.")
    name = KNOBS["attack"].parse(attack) if strength else "none"
    return RECOMMENDED.but(square="model", budget=strength, views=count, attack=name)


def number(value: Any, what: str) -> int:
    """A whole number from a slider that a stranger may have filled in."""
    found = whole(value, 0, 100_000)
    if found is None:
        raise SettingError(f"The number of {what} is a whole number; got {str(value)[:40]!r}.")
    return found
