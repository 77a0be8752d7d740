"""Figures of the run on screen: the method in one figure; and Theorem 1, the bounds per class and what they cover."""

from dataclasses import replace
from html import escape

import numpy as np

from rita_demo import analysis, plots
from rita_demo.engine.protocol import Engine
from rita_demo.plots.figure import Figure
from rita_demo.plots.labels import sides_of
from rita_demo.plots.paper.method_overview import CROPS_SHOWN, method_overview, shown_views
from rita_demo.records import Run, TheoremBounds
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.data_uri import jpeg_uri
from rita_demo.ui.widgets.views_grid import tiled

EDGE = ((0, 0), (6, 6), (6, 6), (0, 0))  # white pixels around a crop
ROUNDING = 1e-5  # of squared distances computed in float32
MAX_CLASSES = 10  # of the bounds

SCOPE_HTML = """<h3>What it covers</h3><ul class="plain">
<li>Views and prompts of a class as two clouds of unit vectors. Their squared Wasserstein distance is twice the transport
cost without regularisation, 2 d_OT (λ → 0, all mass moved), since |x − z|² = 2 (1 − cos).</li>
<li>The distance of the means plus B², the distance of the covariances (Bures), is exact for Gaussians, and a lower bound
otherwise. With both spreads instead of B² it is an upper bound.</li></ul>
<h3>What it does not cover</h3><ul class="plain">
<li>RITA’s own cost (hollow mark). With λ it lies higher; with ρ below 1 the worst views are dropped, and it may lie below
the line. Weights of views and the memory’s part are outside the theorem.</li>
<li>That the answer is right. Where the bounds of two classes overlap, the theorem does not say which is cheaper.</li></ul>"""


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


def theorem_text(session: Session) -> str:
    """HTML: the bounds on this picture in words."""
    known, found = _bounds(session), ""
    if known is None:
        return SCOPE_HTML
    run, bounds = known
    for side, b in bounds.items():
        low, high = float(b.bures.min()), float(b.bures.max())
        gap = float(b.mean_gap.max() - b.mean_gap.min())
        near, width = int(np.argmin(b.lower)), b.upper - b.lower
        alike = high - low < 0.2 * gap
        found += (
            f"<li><b class='{side}'>{side}</b>: the lower bound is smallest for {escape(run.class_prompts.names[near])} "
            f"({b.lower[near]:.4f}). The bounds are {np.median(width):.4f} wide in the median class and {width.max():.4f} in "
            f"the widest, {escape(run.class_prompts.names[int(width.argmax())])}. B² lies between {low:.4f} and {high:.4f} "
            f"over all {len(b.lower)} classes, the means differ by up to {gap:.4f}: the covariances "
            f"{'hardly separate the classes' if alike else 'separate the classes as well'}.</li>"
        )
    return (
        f"<p class='says'>{_holds_text(bounds)}</p>"
        "<details class='differs'><summary>What the bounds say here, and what they do not</summary>"
        f"<ul class='plain'>{found}</ul>{SCOPE_HTML}</details>"
    )
