"""Figures of the run on screen: the method in one figure; and Theorem 1, the bounds per class and what they cover."""

from dataclasses import replace

import numpy as np
from markupsafe import Markup

from rita_demo import analysis, plots
from rita_demo.engine.protocol import Engine
from rita_demo.plots.figure import Figure
from rita_demo.plots.labels import sides_of
from rita_demo.plots.paper.method_overview import CROPS_SHOWN, method_overview, shown_views
from rita_demo.process.templates import html
from rita_demo.records import Run, TheoremBounds
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.data_uri import jpeg_uri
from rita_demo.ui.widgets.views_grid import tiled

EDGE = ((0, 0), (6, 6), (6, 6), (0, 0))  # white pixels around a crop
ROUNDING = 1e-5  # of squared distances computed in float32
MAX_CLASSES = 10  # of the bounds


def draw_overview(session: Session) -> Figure | None:
    """The method on the delivered picture at the step on screen, or None before there is one."""
    run = session.run_at_step
    crops = session.crops_of(sides_of(run)[-1]) if run else None
    return None if run is None or crops is None else overview_of(run, crops)


def overview_of(run: Run, crops: np.ndarray) -> Figure:
    """The overview of the delivered picture. ``crops`` (N, s, s, 3) uint8 of all its views."""
    side = sides_of(run)[-1]
    shown = np.pad(crops[shown_views(run, side)], EDGE, constant_values=255)
    sheet = jpeg_uri(tiled(shown, round(CROPS_SHOWN**0.5)), 512)
    return method_overview(run, side, jpeg_uri(getattr(run, side).picture.pixels, 256), sheet)


def bounds_by_side(engine: Engine, run: Run) -> dict[str, TheoremBounds]:
    """Side -> its bounds, with the exact transport cost of the classes that are shown. A cost as decided that is no
    distance of two points is NaN."""
    shown, traces = shown_classes(run), {side: getattr(run, side).trace for side in sides_of(run)}
    found = {side: analysis.with_exact(engine.theorem_bounds(trace), trace, shown) for side, trace in traces.items()}
    if run.settings.cost == "cosine":
        return found
    return {side: replace(bounds, used=np.full(len(bounds.used), np.nan)) for side, bounds in found.items()}


def shown_classes(run: Run, selected: int | None = None) -> list[int]:
    """The cheapest classes of both pictures, cheapest first, then the true and the selected class."""
    total = np.minimum(run.clean.trace.total, run.attacked.trace.total)
    order = np.argsort(total, kind="stable")[:MAX_CLASSES].tolist()
    extra = [k for k in (run.label, selected) if k is not None and k not in order]
    return order + list(dict.fromkeys(extra))


def _bounds(session: Session) -> tuple[Run, dict[str, TheoremBounds]] | None:
    """Those of the run on screen, once they are computed."""
    known = session.figures.theorem_bounds
    return known if known is not None and known[0] is session.run else None


def draw_bounds(session: Session) -> Figure | None:
    """The figure, or None while no picture was decided."""
    known, at = _bounds(session), session.selection.k
    if known is None:
        return None
    run, bounds = known
    names, shown = run.class_prompts.names, shown_classes(run, at)
    return plots.theorem_bounds(bounds, names, shown, selected=at, label=run.given_label)


def _holds_text(bounds: dict[str, TheoremBounds]) -> str:
    """Whether twice the exact cost lies between the bounds, where it is computed."""
    holds, drawn = {}, 0
    for side, b in bounds.items():
        known = np.isfinite(b.exact)
        drawn = int(known.sum())
        inside = (b.lower - ROUNDING <= b.exact) & (b.exact <= b.upper + ROUNDING)
        holds[side] = int((known & inside).sum())
    if min(holds.values()) == drawn:
        both = " on both pictures" if len(holds) > 1 else ""
        return f"Yes: twice the exact cost lies between its bounds in all {drawn} classes where it is computed{both}."
    counts = ", ".join(f"{side} in {count} of {drawn}" for side, count in holds.items())
    return f"Not everywhere: twice the exact cost lies between its bounds {counts} classes."


def theorem_text(session: Session) -> Markup:
    """What Theorem 1 covers, and the bounds on this picture in words."""
    known = _bounds(session)
    if known is None:
        return html("theorem", bounds={})
    run, bounds = known
    return html("theorem", bounds=bounds, holds=_holds_text(bounds), names=run.class_prompts.names, median=np.median)
