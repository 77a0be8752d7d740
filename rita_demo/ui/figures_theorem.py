"""Theorem 1 on the picture on screen: the bracket per class, and what it does and does not cover."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from rita_demo import analysis, plots
from rita_demo.plots.figure import Figure
from rita_demo.records import Bracket, Story
from rita_demo.ui.sessions import Session

SHOWN = 10  # classes

COVERS = """<h3>What it covers</h3><ul class="plain">
<li>Views and prompts of a class as two clouds of unit vectors. Their squared Wasserstein distance is twice the
transport cost without blur, 2 d_OT (λ → 0, all mass moved), since |x − z|² = 2 (1 − cos).</li>
<li>The distance of the means plus B², the distance of the covariances (Bures), is exact for Gaussians and a lower
bound for everything else; with both spreads added instead of B² it becomes an upper bound. The filled mark always lies
on the line.</li></ul>
<h3>What it does not cover</h3><ul class="plain">
<li>RITA’s own cost (hollow mark): with blur λ it lies higher, with a share ρ below 1 it drops the views that fit worst
and may lie below the line; weights of views and the memory’s part are outside it too.</li>
<li>That the answer is right. A bracket is no margin: where the brackets of two classes overlap, the theorem does not
say which is cheaper.</li></ul>"""


def brackets_of(engine: Any, story: Story) -> dict[str, Bracket]:
    """Side -> its bracket, with the exact transport for the classes that are shown."""
    sides = {"clean": story.clean} | ({"attacked": story.attacked} if story.attack else {})
    shown = shown_classes(story)
    return {
        name: analysis.with_exact(engine.bracket(side.trace), side.trace, shown)
        for name, side in sides.items()
    }


def shown_classes(story: Story, selected: int | None = None) -> list[int]:
    """The cheapest classes of both sides, the right one, and the selected one, cheapest first."""
    total = np.minimum(story.clean.trace.total, story.attacked.trace.total)
    order = np.argsort(total, kind="stable")[:SHOWN].tolist()
    extra = [k for k in (story.label, selected) if k is not None and k not in order]
    return order + list(dict.fromkeys(extra))


def draw_brackets(session: Session) -> Figure | None:
    """The figure, or None while no picture was decided."""
    known, story = session.figures.brackets, session.story
    if known is None or known[0] is not story or story is None:
        return None
    at = session.selection.k
    label = story.label if story.label_given else None
    return plots.brackets(
        known[1], story.bank.names, shown_classes(story, at), selected=at, label=label
    )


def words(session: Session) -> str:
    """HTML: what the bracket says on this picture."""
    known, story = session.figures.brackets, session.story
    if known is None or known[0] is not story or story is None:
        return COVERS
    said = ""
    for side, b in known[1].items():
        low, high = float(b.bures.min()), float(b.bures.max())
        gap = float(b.mean_gap.max() - b.mean_gap.min())
        near, width = int(np.argmin(b.lower)), b.upper - b.lower
        said += (
            f"<li><b class='{side}'>{side}</b>: the lower bound is smallest for "
            f"{escape(story.bank.names[near])} ({b.lower[near]:.4f}). The bracket is {np.median(width):.4f} wide in the "
            f"median class and {width.max():.4f} in the widest, {escape(story.bank.names[int(width.argmax())])}: "
            f"that far the theorem leaves 2 d_OT open. B² lies between {low:.4f} and "
            f"{high:.4f} over all {len(b.lower)} classes, the means differ by up to {gap:.4f}: "
            f"{_which(high - low, gap)}</li>"
        )
    return f"<ul class='plain'>{said}</ul>{COVERS}"


def _which(bures: float, gap: float) -> str:
    if bures < 0.2 * gap:
        return (
            "the prompts of a class are alike, so the shapes say nearly the same about every class."
        )
    return "the shapes tell the classes apart as well."
