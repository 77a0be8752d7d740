"""The long jobs of *Figures*: collect pictures, run UMAP.

Each yields ``{component: value}`` after every picture or half second and can be stopped there; the earlier result
stays.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import replace

from rita_demo.attacks import get_attack
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders
from rita_demo.figures import analysis
from rita_demo.process.generators import Steps
from rita_demo.process.time_left import TimeLeft
from rita_demo.records.errors import SettingError
from rita_demo.records.json_value import JsonValue
from rita_demo.records.measurement import PlacedCloud
from rita_demo.settings import RECOMMENDED, SETTINGS, Settings
from rita_demo.ui.framework.context import AppContext
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.framework.stoppable import Finished
from rita_demo.ui.session.session import FiguresState, Session
from rita_demo.ui.widgets.plotly_view import parse_int

DATASET_PREFIX = "dataset:"  # of a source that needs no stored run
EXAMPLE_PREFIX = "example:"  # of the name of a stored example
CLASSES = 6  # of a cloud, unless some are named
UMAP_NEIGHBOURS = 15


class FigureJobs:
    """The jobs. ``worker`` runs UMAP in another process."""

    def __init__(self, context: AppContext, folders: DataFolders, worker: analysis.UmapProcess) -> None:
        self._context, self._folders, self.worker = context, folders, worker
        self._umap_threads = ThreadPoolExecutor(2, thread_name_prefix="umap")

    def collect(
        self,
        visitor: str,
        source: str,
        each: JsonValue,
        attack: JsonValue,
        budget: JsonValue,
        views: JsonValue,
        names: JsonValue = None,
    ) -> Iterator[Updates]:
        """Attack and decide pictures of a dataset one after another, or load a stored stream. ``names`` of classes; none:
        ``CLASSES`` of them."""
        context, session, time_left = self._context, self._context.sessions.get(visitor), TimeLeft()
        engine = context.engine_of(session)
        if is_stored(source):
            yield context.progress("Reading the stored stream", 0.1)
            steps = Steps(evaluation_page.load_cloud_steps(self._folders, source, engine))
            text = "Encoding clean picture {} of {}"
        else:
            asked = (parse_names(names) or CLASSES, parse_number(each, "pictures"))
            collection = evaluation_page.live_set(self._folders, str(source).removeprefix(DATASET_PREFIX), *asked)
            steps = Steps(evaluation_page.collect_steps(engine, collection, _cloud_settings(attack, budget, views)))
            text = "Attacking and deciding picture {} of {}"
        for done, total in steps:
            yield context.progress(text.format(done + 1, total), done / total, time_left)
        placed = analysis.placed_cloud(steps.value, engine.kl_to_one_hot)
        yield from self._show(session, placed, f"Collected {len(placed.cloud.ids)} pictures.")

    def _show(self, session: Session, placed: PlacedCloud, text: str) -> Iterator[Updates]:
        """A new cloud, then how far its classes are apart."""
        context = self._context
        with session.lock:
            session.figures = with_cloud(session.figures, placed)
        context.sessions.evict()
        yield context.done("Measuring how far the classes are apart") | context.changed(session, "cloud", "figures")
        measured = replace(placed, separability=analysis.separabilities(placed.cloud))
        session.figures = replace(session.figures, placed_cloud=measured)
        yield Finished(context.done(text) | context.changed(session, "cloud"))

    def run_umap(self, visitor: str) -> Iterator[Updates]:
        """UMAP in the other process for the cloud that was just collected; meanwhile the page shows PCA. Nothing if collecting
        failed, which has its own message."""
        session, near = self._context.sessions.get(visitor), UMAP_NEIGHBOURS
        one = session.figures.placed_cloud
        if one is None or "UMAP" in one.coordinates:
            return
        context, begin = self._context, time.perf_counter()
        asked = self._umap_threads.submit(
            self.worker.compute, analysis.centre_by_kind(one.points), near, one.points.picture
        )
        while True:
            try:
                coordinates = asked.result(0.5)
                break
            except FutureTimeout:
                spent = time.perf_counter() - begin
                yield context.done(f"UMAP is placing {len(one.points.kind)} points, {spent:.0f} s so far")
        with session.lock:
            now = session.figures.placed_cloud
            if now is None or now.cloud is not one.cloud:
                return  # other pictures were collected meanwhile
            captions = now.captions | {"UMAP": analysis.umap_caption(near)}
            drawn = replace(now, coordinates=now.coordinates | {"UMAP": coordinates}, captions=captions)
            session.figures = replace(session.figures, placed_cloud=drawn)
        text = f"UMAP placed {len(coordinates)} points."
        yield Finished(context.done(text) | context.changed(session, "cloud"))


def with_cloud(figures: FiguresState, placed: PlacedCloud) -> FiguresState:
    """Another cloud on screen, with the story of one of its pictures."""
    n = analysis.clearest_picture(placed.cloud)
    mine = (placed.points.kind == "attacked") & (placed.points.picture == n)
    shown = figures.shown if figures.shown in ("cloud", "kl") else "cloud"
    return replace(
        figures,
        shown=shown,
        placed_cloud=placed,
        projection="UMAP",
        lasso_points=(),
        k=None,
        picture=n,
        point=int(mine.argmax()),
    )


def is_stored(source: JsonValue) -> bool:
    """Whether an untrusted source may name a stream or a stored example: it names no dataset."""
    return isinstance(source, str) and not source.startswith(DATASET_PREFIX)


def example_of(source: JsonValue) -> str | None:
    """The dataset whose stored example an untrusted source names."""
    named = isinstance(source, str) and source.startswith(EXAMPLE_PREFIX)
    return str(source).removeprefix(EXAMPLE_PREFIX) if named else None


def _cloud_settings(attack: JsonValue, budget: JsonValue, views: JsonValue) -> Settings:
    strength, count = SETTINGS["budget"].parse(budget), SETTINGS["views"].parse(views)
    if count < 2:
        raise SettingError(f"The figure needs at least 2 views of a picture; got {count}.")
    name = SETTINGS["attack"].parse(attack)
    if not strength and get_attack(name).bounded:
        name = "none"
    return RECOMMENDED.replace(square="model", budget=strength, views=count, attack=name)


def parse_names(value: JsonValue) -> tuple[str, ...]:
    """Class names from a menu, untrusted; () for none."""
    given = [] if value is None else value
    names = [name for name in given if isinstance(name, str)] if isinstance(given, list) else []
    if not isinstance(given, list) or len(names) < len(given):
        raise SettingError("The class names come as a list.", "Choose them in the menu.")
    return tuple(dict.fromkeys(names))


def parse_number(value: JsonValue, what: str) -> int:
    """A whole number from a slider, untrusted."""
    found = parse_int(value, 0, 100_000)
    if found is None:
        raise SettingError(f"The number of {what} is a whole number; got {str(value)[:40]!r}.")
    return found
