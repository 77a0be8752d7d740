"""Theorem 1 on one picture: the bracket around the transport cost of every class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rita_demo.plots.figure import Figure
from rita_demo.plots.names import safe, short
from rita_demo.plots.theme import COLOURS, SIDES, axis, finish, note, patch, rows
from rita_demo.records import Bracket

OFFSET = {"clean": 0.18, "attacked": -0.18}


def brackets(
    sides: Mapping[str, Bracket],
    names: Sequence[str],
    shown: Sequence[int],
    selected: int | None = None,
    label: int | None = None,
) -> Figure:
    """A line from the lower to the upper bound per class and side; the filled mark is twice the
    transport cost without blur, the hollow one twice the cost RITA decided with.

    Args:
        sides: "clean" and "attacked" (or one of them) -> its bracket.
        shown: the classes, cheapest first; label: the class that counts as right.

    Returns:
        A figure whose marks carry ``customdata = (class, words)``.
    """
    figure = Figure()
    place = {k: len(shown) - 1 - number for number, k in enumerate(shown)}
    for side, bracket in sides.items():
        colour = SIDES[side]["colour"]
        y = [place[k] + OFFSET[side] for k in shown]
        for k, at in zip(shown, y):
            figure.add_scatter(
                x=[float(bracket.lower[k]), float(bracket.upper[k])], y=[at, at], mode="lines",
                name=f"{side} bracket", hoverinfo="skip",
                line={"color": colour, "width": 3, "dash": "solid" if side == "clean" else "dot"},
            )  # fmt: skip
        data = [[int(k), _words(bracket, k, names, side)] for k in shown]
        for field, symbol in (("exact", "diamond"), ("used", "circle-open")):
            figure.add_scatter(
                x=[float(getattr(bracket, field)[k]) for k in shown], y=y, mode="markers",
                name=f"{side} {field}", customdata=data,
                hovertemplate="%{customdata[1]}<extra></extra>",
                marker={"symbol": symbol, "size": 10, "color": colour,
                        "line": {"width": 2, "color": colour}},
            )  # fmt: skip
    key = "   ".join(
        patch(SIDES[side]["colour"], "━" if side == "clean" else "┅", side) for side in sides
    )
    key += "   line: Theorem 1’s bracket   ◆ 2 d_OT without blur   ○ 2 d_OT as decided"
    titles = [short(names[k], 15) + (" ✓" if k == label else "") for k in reversed(shown)]
    shapes = []
    if selected in place:
        at = place[selected]
        shapes = [{"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "y0": at - 0.5, "y1": at + 0.5,
                   "fillcolor": COLOURS["grid"], "line": {"width": 0}, "layer": "below"}]  # fmt: skip
    return finish(
        figure,
        kind="brackets",
        alt=_spoken(sides, names, shown),
        pickable=True,
        wrap=[0],
        hovermode="closest",
        annotations=[note(key, 0, 1, yshift=8, xshift=-120)],
        narrow={"margin.t": 76},
        shapes=shapes,
        margin={"l": 130, "r": 16, "t": 40, "b": 46},
        xaxis=axis(title="squared distance between unit vectors (0 to 4)", nticks=6),
        yaxis=rows(titles),
    )


def _words(bracket: Bracket, k: int, names: Sequence[str], side: str) -> str:
    return (
        f"{safe(names[k], 60)}, {side}<br>lower {bracket.lower[k]:.4f} = means {bracket.mean_gap[k]:.4f}"
        f" + shapes B² {bracket.bures[k]:.4f}<br>2 d_OT without blur {_number(bracket.exact[k])}, "
        f"as decided {bracket.used[k]:.4f}<br>upper {bracket.upper[k]:.4f}"
    )


def _number(value: float) -> str:
    return f"{value:.4f}" if np.isfinite(value) else "not computed"


def _spoken(sides: Mapping[str, Bracket], names: Sequence[str], shown: Sequence[int]) -> str:
    parts = [
        f"{names[k]}, {side}: {b.lower[k]:.4f} to {b.upper[k]:.4f}, transport {_number(b.exact[k])}"
        for k in shown
        for side, b in sides.items()
    ]
    return "Theorem 1's bracket: " + "; ".join(parts) + "."
