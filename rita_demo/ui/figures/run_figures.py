"""Figures of the run on screen: the method in one figure; and Theorem 1, the bounds per class and what they cover."""

from dataclasses import replace

import numpy as np
from markupsafe import Markup

from rita_demo import figures
from rita_demo.attacks import get_attack
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation.page import DataFolders
from rita_demo.figures import analysis
from rita_demo.figures.figure import Figure
from rita_demo.figures.labels import sides_of
from rita_demo.figures.paper.method_overview import CROPS_SHOWN, method_overview, shown_views
from rita_demo.process.templates import html
from rita_demo.records import Run, TheoremBounds
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.data_uri import jpeg_uri, tiled

EDGE = ((0, 0), (6, 6), (6, 6), (0, 0))  # white pixels around a crop
ROUNDING = 1e-5  # of squared distances computed in float32
MAX_CLASSES = 10  # of the bounds
NO_RUN = "Attack a picture in the Story: this figure is about the run on screen."


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
    return figures.theorem_bounds(bounds, names, shown, selected=at, label=run.given_label)


def theorem_headline(session: Session) -> str:
    """In how many classes twice the exact cost lies between both bounds."""
    known = _bounds(session)
    if known is None:
        return NO_RUN
    holds, drawn = holding_classes(known[1])
    return f"Both bounds hold for {holds} of {drawn} classes."


def holding_classes(bounds: dict[str, TheoremBounds]) -> tuple[int, int]:
    """The classes where twice the exact cost lies between the bounds, on every picture, and those where it is computed."""
    known = np.all([np.isfinite(b.exact) for b in bounds.values()], axis=0)
    inside = [(b.lower - ROUNDING <= b.exact) & (b.exact <= b.upper + ROUNDING) for b in bounds.values()]
    return int((known & np.all(inside, axis=0)).sum()), int(known.sum())


def theorem_details(session: Session, folders: DataFolders) -> Markup:
    """HTML: the bounds of the selected class, else of the cheapest one, in numbers; and what Theorem 1 covers."""
    known, at = _bounds(session), session.selection.k
    if known is None:
        return Markup()
    run, bounds = known
    k = shown_classes(run)[0] if at is None else at
    columns = {side: vars(one) for side, one in bounds.items()}
    return html("theorem", bounds=columns, k=k, names=run.class_prompts.names, finite=np.isfinite)


def overview_headline(session: Session) -> str:
    """What RITA answers, and of how many crops."""
    run = session.run_at_step
    if run is None:
        return NO_RUN
    one = getattr(run, sides_of(run)[-1])
    kept, answer = one.trace.confidence.kept, int(one.trace.verdict.label)
    kind = "" if run.given_label is None else "truth" if answer == run.given_label else "wrong"
    name = Markup("<b class='{}'>{}</b>").format(kind, run.class_prompts.names[answer])
    return Markup("RITA keeps {} of {} crops and answers {}.").format(int(kept.sum()), len(kept), name)


def overview_details(session: Session, folders: DataFolders) -> str:
    """HTML: how the steps hang together."""
    return Markup(
        "<p>For every class a plan moves the crops to its sentences as cheaply as it can. The lowest cost is the answer.</p>"
    )


def run_caption(session: Session) -> str:
    """The run on screen in a line; a saved figure of it has the page's own caption."""
    run = session.run
    if run is None:
        return ""
    attack = "not attacked"
    if run.attack is not None:
        threat, made = run.threat_model, get_attack(run.threat_model.attack)
        strength = f" {threat.budget}/255" if threat.budget else ""
        knows = f"; the attacker does not know {made.does_not_know[0]}" if made.does_not_know else ""
        attack = f"{made.column_title}{strength}, {threat.steps} steps{knows}"
    return f"One picture (n = 1), {len(run.class_prompts.names)} class names, {attack}; {run.backbone.title}."
