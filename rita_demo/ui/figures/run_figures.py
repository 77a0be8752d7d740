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
Bounds = dict[str, TheoremBounds]  # by side


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


# --- the method
class Overview:
    """The method in one figure."""

    title, missing, is_of_run = "The method in one figure", NO_RUN, True

    def subject(self, session: Session) -> Run | None:
        return session.run_at_step

    def caption(self, session: Session, run: Run) -> str:
        return run_caption(session)

    def draw(self, session: Session, run: Run) -> Figure | None:
        """The method on the delivered picture at the step on screen; None before its crops are cut."""
        crops = session.crops_of(sides_of(run)[-1])
        return None if crops is None else overview_of(run, crops)

    def headline(self, session: Session, run: Run) -> str:
        """How many crops are sure enough for the memory, and what RITA answers."""
        trace = getattr(run, sides_of(run)[-1]).trace
        kept, answer = trace.confidence.kept, int(trace.verdict.label)
        kind = "" if run.given_label is None else "truth" if answer == run.given_label else "wrong"
        name = Markup("<b class='{}'>{}</b>").format(kind, run.class_prompts.names[answer])
        return Markup("{} of {} crops are sure of their answer, and RITA says {}.").format(
            int(kept.sum()), len(kept), name
        )

    def details(self, session: Session, run: Run, folders: DataFolders) -> str:
        """HTML: how the steps hang together."""
        return Markup(
            "<p>For every class a plan moves the crops to its sentences as cheaply as it can. The lowest cost is the answer.</p>"
        )


def overview_of(run: Run, crops: np.ndarray) -> Figure:
    """The overview of the delivered picture. ``crops`` (N, s, s, 3) uint8 of all its views."""
    side = sides_of(run)[-1]
    shown = np.pad(crops[shown_views(run, side)], EDGE, constant_values=255)
    sheet = jpeg_uri(tiled(shown, round(CROPS_SHOWN**0.5)), 512)
    return method_overview(run, side, jpeg_uri(getattr(run, side).picture.pixels, 256), sheet)


# --- Theorem 1
class Theorem:
    """Theorem 1: its bounds per class, once they are computed."""

    title, missing, is_of_run = "Does Theorem 1 hold?", NO_RUN, True

    def subject(self, session: Session) -> tuple[Run, Bounds] | None:
        known = session.figures.theorem_bounds
        return known if known is not None and known[0] is session.run else None

    def caption(self, session: Session, known: tuple[Run, Bounds]) -> str:
        return run_caption(session)

    def draw(self, session: Session, known: tuple[Run, Bounds]) -> Figure:
        """The bounds of the classes that are shown."""
        (run, bounds), at = known, session.selection.k
        names, shown = run.class_prompts.names, shown_classes(run, at)
        return figures.theorem_bounds(bounds, names, shown, selected=at, label=run.given_label)

    def headline(self, session: Session, known: tuple[Run, Bounds]) -> str:
        """In how many of the classes whose exact cost is known twice that cost lies between both bounds, on every picture."""
        sides = known[1].values()
        exact = np.all([np.isfinite(b.exact) for b in sides], axis=0)
        inside = [(b.lower - ROUNDING <= b.exact) & (b.exact <= b.upper + ROUNDING) for b in sides]
        return f"Both bounds hold for {(exact & np.all(inside, axis=0)).sum()} of {exact.sum()} classes."

    def details(self, session: Session, known: tuple[Run, Bounds], folders: DataFolders) -> Markup:
        """HTML: the bounds of the selected class, else of the cheapest one, in numbers; and what Theorem 1 covers."""
        (run, bounds), at = known, session.selection.k
        columns = {side: vars(one) for side, one in bounds.items()}
        k = shown_classes(run)[0] if at is None else at
        return html("theorem", bounds=columns, k=k, names=run.class_prompts.names, finite=np.isfinite)


def bounds_by_side(engine: Engine, run: Run) -> Bounds:
    """Side -> its bounds, with the exact transport cost of the classes that are shown. A cost as decided that is no
    distance of two points is NaN."""
    shown, traces = shown_classes(run), {side: getattr(run, side).trace for side in sides_of(run)}
    bounds = {side: analysis.with_exact(engine.theorem_bounds(trace), trace, shown) for side, trace in traces.items()}
    if run.settings.cost == "cosine":
        return bounds
    return {side: replace(one, used=np.full(len(one.used), np.nan)) for side, one in bounds.items()}


def shown_classes(run: Run, selected: int | None = None) -> list[int]:
    """The cheapest classes of both pictures, cheapest first, then the true and the selected class."""
    total = np.minimum(run.clean.trace.total, run.attacked.trace.total)
    order = np.argsort(total, kind="stable")[:MAX_CLASSES].tolist()
    return list(dict.fromkeys([*order, run.label, *([] if selected is None else [selected])]))
