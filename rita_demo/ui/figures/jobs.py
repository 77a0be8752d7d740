"""The long jobs of *Figures*: collect pictures, run UMAP. Each yields updates after every picture or half second and can be
stopped there; the earlier result stays."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

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
from rita_demo.ui.session.session import FiguresState
from rita_demo.ui.widgets.plotly_view import parse_int

DATASET_PREFIX = "dataset:"  # of a source that needs no stored run
EXAMPLE_PREFIX = "example:"  # of the name of a stored example
CLASSES = 6  # of a cloud, unless some are named
UMAP_NEIGHBOURS = 15


class FigureJobs:
    """The jobs. ``worker`` runs UMAP in another process."""

    def __init__(self, context: AppContext, folders: DataFolders) -> None:
        self._context, self._folders, self.worker = context, folders, analysis.UmapProcess()
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
            asked, count = [] if names is None else names, parse_int(each, 0, 100_000)
            if not isinstance(asked, list) or not all(isinstance(name, str) for name in asked):
                raise SettingError("The class names come as a list.", "Choose them in the menu.")
            if count is None:
                raise SettingError(f"The number of pictures is a whole number; got {str(each)[:40]!r}.")
            dataset, classes = (
                str(source).removeprefix(DATASET_PREFIX),
                tuple(dict.fromkeys(map(str, asked))) or CLASSES,
            )
            collection = evaluation_page.live_set(self._folders, dataset, classes, count)
            steps = Steps(evaluation_page.collect_steps(engine, collection, _cloud_settings(attack, budget, views)))
            text = "Attacking and deciding picture {} of {}"
        for done, total in steps:
            yield context.progress(text.format(done + 1, total), done / total, time_left)
        placed = analysis.placed_cloud(steps.value, engine.kl_to_one_hot)
        with session.lock:
            session.figures = with_cloud(session.figures, placed)
        context.sessions.evict()
        yield context.done("Measuring how far the classes are apart") | context.changed(session, "cloud", "figures")
        measured = replace(placed, separability=analysis.separabilities(placed.cloud))
        session.figures = replace(session.figures, placed_cloud=measured)
        text = f"Collected {len(placed.cloud.ids)} pictures."
        yield Finished(context.done(text) | context.changed(session, "cloud"))

    def run_umap(self, visitor: str) -> Iterator[Updates]:
        """UMAP in the other process for the cloud that was just collected; meanwhile the page shows PCA. Nothing if collecting
        failed, which has its own message."""
        context, begin = self._context, time.perf_counter()
        session = context.sessions.get(visitor)
        placed = session.figures.placed_cloud
        if placed is None or "UMAP" in placed.coordinates:
            return
        points = placed.points
        centred = analysis.centre_by_kind(points)
        asked = self._umap_threads.submit(self.worker.compute, centred, UMAP_NEIGHBOURS, points.picture)
        while wait([asked], 0.5).not_done:
            spent = time.perf_counter() - begin
            yield context.done(f"UMAP is placing {len(points.kind)} points, {spent:.0f} s so far")
        coordinates = asked.result()
        with session.lock:
            now = session.figures.placed_cloud
            if now is None or now.cloud is not placed.cloud:
                return  # other pictures were collected meanwhile
            captions = now.captions | {"UMAP": analysis.umap_caption(UMAP_NEIGHBOURS)}
            drawn = replace(now, coordinates=now.coordinates | {"UMAP": coordinates}, captions=captions)
            session.figures = replace(session.figures, placed_cloud=drawn)
        text = f"UMAP placed {len(coordinates)} points."
        yield Finished(context.done(text) | context.changed(session, "cloud"))


def with_cloud(figures: FiguresState, placed: PlacedCloud) -> FiguresState:
    """Another cloud on screen, with the story of one of its pictures."""
    n = analysis.clearest_picture(placed.cloud)
    mine = (placed.points.kind == "attacked") & (placed.points.picture == n)
    shown = figures.shown if figures.shown in ("cloud", "kl") else "cloud"
    chosen: dict[str, Any] = {"k": None, "picture": n, "point": int(mine.argmax()), "lasso_points": ()}
    return replace(figures, shown=shown, placed_cloud=placed, projection="UMAP", **chosen)


def is_stored(source: JsonValue) -> bool:
    """Whether an untrusted source may name a stream or a stored example: it names no dataset."""
    return isinstance(source, str) and not source.startswith(DATASET_PREFIX)


def _cloud_settings(attack: JsonValue, budget: JsonValue, views: JsonValue) -> Settings:
    strength, count = SETTINGS["budget"].parse(budget), SETTINGS["views"].parse(views)
    if count < 2:
        raise SettingError(f"The figure needs at least 2 views of a picture; got {count}.")
    name = SETTINGS["attack"].parse(attack)
    if not strength and get_attack(name).bounded:
        name = "none"
    return RECOMMENDED.replace(square="model", budget=strength, views=count, attack=name)
