"""The crops as a histogram: each is a small tile that stands where it fits, between the reference class and its rival.

The tiles come from one sprite (:func:`rita_demo.ui.widgets.data_uri.sprite_value`); the browser puts them into columns that
fit its width. Columns are the same at every step of the attack.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rita_demo.figures.analysis import crop_field as positions
from rita_demo.figures.decision.views import moved_shares
from rita_demo.figures.labels import truncated
from rita_demo.process.templates import html
from rita_demo.records import Array, Run
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.data_uri import COLUMNS
from rita_demo.ui.widgets.html_buttons import HtmlWidget

SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


class CropColumns(HtmlWidget):
    """Value: :func:`columns_html`; ``view``: the crop that is chosen. ``click`` reports {"view": a crop}. One tab stop: left and
    right lead to the neighbouring column, up and down through it."""

    selects = ("click",)
    script = SCRIPT


@dataclass(frozen=True)
class Fit:
    """How the crops of the picture on screen stand between two classes."""

    reference: int
    rival: int
    margins: Array  # (N,) by how much each crop fits the reference better, a difference of cosines
    answers: Array  # (N,) the class of each crop alone


def rival_of(session: Session, run: Run) -> int:
    """The class that the reference class of ``run`` is compared with: the same at every step of the attack."""
    return positions.rival_class(replace(session.run or run, label=run.label))


def fit_of(session: Session, run: Run) -> Fit:
    """The crops of the picture on screen."""
    pair = [run.label, rival_of(session, run)]
    margins = np.asarray(positions.margins(run, run.attacked, pair), float)
    return Fit(run.label, pair[1], margins, positions.view_labels(run.attacked))


def shown_view(session: Session) -> int | None:
    """The crop that the room is about; None before there is a run. While none is chosen: of the delivered picture, the one that
    fits the reference class best, without the whole picture. The same at every step of the attack."""
    run = session.run
    if run is None or session.selection.view is not None:
        return None if run is None else session.selection.view
    margins = positions.margins(run, run.attacked, [run.label, positions.rival_class(run)])
    return int(np.argmax(margins[1:]) + 1) if len(margins) > 1 else 0


def columns_html(session: Session) -> str:
    """HTML: the tiles of the picture on screen, from left to right; "" before there is a run."""
    run = session.displayed_run
    if run is None:
        return "<p class='empty'>The crops appear here once a picture is defended.</p>"
    fit, names, side = fit_of(session, run), run.class_prompts.names, run.attacked
    pair = [fit.reference, fit.rival]
    ends = [positions.margins(run, one, pair) for one in (run.clean, (session.run or run).attacked)]
    moved = moved_shares(side, side.verdicts["rita"].label)
    out, boxes = session.inside.what_if.exclusions.views, side.encoded_views.views.boxes
    rows, kinds = -(-len(fit.margins) // COLUMNS), {fit.reference: "reference", fit.rival: "rival"}
    tiles = [
        {
            "view": n,
            "name": "whole picture" if n == 0 else f"crop {n}",
            "at": round(float(fit.margins[n]), 5),
            "moved": round(float(moved[n]), 3),
            "kind": kinds.get(int(fit.answers[n]), "another"),
            "answer": truncated(names[int(fit.answers[n])], 60),
            "out": n in out,
            "area": 100 * float(np.prod(boxes[n][2:] - boxes[n][:2])),
            "x": 100 * (n % COLUMNS) / (COLUMNS - 1),
            "y": 100 * (n // COLUMNS) / max(rows - 1, 1),
        }
        for n in np.argsort(fit.margins, kind="stable").tolist()
    ]
    kept = [one for one in tiles if not one["out"]]
    return html(
        "crop_columns",
        tiles=tiles,
        reference=truncated(names[fit.reference], 24),
        rival=truncated(names[fit.rival], 24),
        count=sum(one["at"] > 0 for one in kept),
        of=len(kept),
        ends=json.dumps([np.asarray(one, float).round(4).tolist() for one in ends]),
        size=f"{COLUMNS * 100}% {rows * 100}%",
        others=any(one["kind"] == "another" for one in tiles),
    )
