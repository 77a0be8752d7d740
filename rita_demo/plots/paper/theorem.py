"""Theorem 1 on one picture: the bounds on the transport cost of every class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rita_demo.plots.figure import Figure
from rita_demo.plots.labels import escaped
from rita_demo.plots.shapes import row_band
from rita_demo.plots.theme import SIDE_STYLES, annotation, axis, category_axis, finalise, legend_entry
from rita_demo.records import TheoremBounds

SIDE_OFFSET = {"clean": 0.18, "attacked": -0.18}


def theorem_bounds(
    sides: Mapping[str, TheoremBounds],
    names: Sequence[str],
    shown: Sequence[int],
    selected: int | None = None,
    label: int | None = None,
) -> Figure:
    """A line from the lower to the upper bound per class and side.

    The filled mark is twice the exact transport cost (lambda -> 0), the open one twice the cost of RITA's decision.

    Args:
        sides: "clean" and "attacked" (or one of them) -> its bounds.
        names: of all classes. shown: the classes to draw, cheapest first.
        selected: a class to mark with a band. label: the reference class.

    Returns:
        A figure whose marks carry ``customdata = (class, hover text)``.
    """
    figure = Figure()
    place = {k: len(shown) - 1 - number for number, k in enumerate(shown)}
    for side, bounds in sides.items():
        colour = SIDE_STYLES[side]["colour"]
        y = [place[k] + SIDE_OFFSET[side] for k in shown]
        for k, at in zip(shown, y):
            figure.add_scatter(
                x=[float(bounds.lower[k]), float(bounds.upper[k])],
                y=[at, at],
                mode="lines",
                name=f"{side} bracket",
                hoverinfo="skip",
                line={"color": colour, "width": 3, "dash": "solid" if side == "clean" else "dot"},
            )
        data = [[int(k), _hover_text(bounds, k, names, side)] for k in shown]
        for field, symbol in (("exact", "diamond"), ("used", "circle-open")):
            figure.add_scatter(
                x=[float(getattr(bounds, field)[k]) for k in shown],
                y=y,
                mode="markers",
                name=f"{side} {field}",
                customdata=data,
                hovertemplate="%{customdata[1]}<extra></extra>",
                marker={"symbol": symbol, "size": 10, "color": colour, "line": {"width": 2, "color": colour}},
            )
    legend = "   ".join(
        legend_entry(SIDE_STYLES[side]["colour"], "━" if side == "clean" else "┅", side) for side in sides
    )
    legend += "   line: Theorem 1’s bounds   ◆ 2 d_OT exact (λ → 0)   ○ 2 d_OT as decided"
    titles = [escaped(names[k], 15) + (" ✓" if k == label else "") for k in reversed(shown)]
    return finalise(
        figure,
        kind="brackets",
        alt=_alt_text(sides, names, shown),
        pickable=True,
        wrap=[0],
        hovermode="closest",
        annotations=[annotation(legend, 0, 1, yshift=8, xshift=-120)],
        narrow={"margin.t": 76},
        shapes=row_band(None if selected is None else place.get(selected)),
        margin={"l": 130, "r": 16, "t": 40, "b": 46},
        xaxis=axis(title="squared distance between unit vectors (0 to 4)", nticks=6),
        yaxis=category_axis(titles),
    )


def _hover_text(bounds: TheoremBounds, k: int, names: Sequence[str], side: str) -> str:
    return (
        f"{escaped(names[k], 60)}, {side}<br>lower {bounds.lower[k]:.4f} = means {bounds.mean_gap[k]:.4f}"
        f" + shapes B² {bounds.bures[k]:.4f}<br>2 d_OT exact {_number(bounds.exact[k])}, "
        f"as decided {bounds.used[k]:.4f}<br>upper {bounds.upper[k]:.4f}"
    )


def _number(value: float) -> str:
    return f"{value:.4f}" if np.isfinite(value) else "not computed"


def _alt_text(sides: Mapping[str, TheoremBounds], names: Sequence[str], shown: Sequence[int]) -> str:
    parts = [
        f"{names[k]}, {side}: {b.lower[k]:.4f} to {b.upper[k]:.4f}, transport {_number(b.exact[k])}"
        for k in shown
        for side, b in sides.items()
    ]
    return "Theorem 1's bounds: " + "; ".join(parts) + "."
