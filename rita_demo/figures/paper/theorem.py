"""Theorem 1 on one picture: the bounds on the transport cost of every class."""

from collections.abc import Mapping, Sequence

import numpy as np

from rita_demo.figures.figure import Figure
from rita_demo.figures.labels import escaped, legend_entry
from rita_demo.figures.shapes import category_axis, outlined, row_band
from rita_demo.figures.theme import SIDE_STYLES, annotation, axis, finalise
from rita_demo.records import TheoremBounds

#: side -> offset of its line in the row of a class, dash, and the dash as a character
LINES = {"clean": (0.18, "solid", "━"), "attacked": (-0.18, "dot", "┅")}


def theorem_bounds(
    sides: Mapping[str, TheoremBounds],
    names: Sequence[str],
    shown: Sequence[int],
    selected: int | None = None,
    label: int | None = None,
) -> Figure:
    """A line with an end at the lower and the upper bound per class and side, and a mark at twice the exact transport cost
    (lambda -> 0). The cost of RITA's decision, which moves a part of the mass and may lie outside, is said in the hover text.
    Marks carry ``customdata = (class, hover text)``. ``sides``: "clean" and "attacked" (or one of them) -> its bounds;
    ``shown``: the classes to draw, cheapest first; ``selected``: a class to mark with a band; ``label``: the reference.
    """
    figure, legend, parts = Figure(), [], {}
    place = {k: len(shown) - 1 - number for number, k in enumerate(shown)}
    for side, bounds in sides.items():
        colour, (offset, dash, glyph) = SIDE_STYLES[side]["colour"], LINES[side]
        legend.append(legend_entry(colour, glyph, side))
        data = []
        for k in shown:
            x, y = [float(bounds.lower[k]), float(bounds.upper[k])], [place[k] + offset] * 2
            ends = {"symbol": "line-ns-open", "size": 14, "color": colour, "line": {"width": 3}}
            figure.add_line(colour, 3, dash, mode="lines+markers", marker=ends, x=x, y=y, name=f"{side} bracket")
            exact = f"{bounds.exact[k]:.4f}" if np.isfinite(bounds.exact[k]) else "not computed"
            used = f"{bounds.used[k]:.4f}" if np.isfinite(bounds.used[k]) else "by another cost"
            text = (
                f"{escaped(names[k], 60)}, {side}<br>lower {x[0]:.4f} = means {bounds.mean_gap[k]:.4f}"
                f" + shapes B² {bounds.bures[k]:.4f}<br>2 d_OT exact {exact}, "
                f"as decided {used}<br>upper {x[1]:.4f}"
            )
            data.append([int(k), text])
            parts[k, side] = f"{names[k]}, {side}: {x[0]:.4f} to {x[1]:.4f}, transport {exact}"
        figure.add_marks(
            x=[float(bounds.exact[k]) for k in shown],
            y=[place[k] + offset for k in shown],
            name=f"{side} exact",
            customdata=data,
            marker=outlined("diamond", colour, 5),
        )
    legend.append("line: Theorem 1’s bounds   ◆\u00a0twice the exact cost")
    titles = [escaped(names[k], 15) + (" ✓" if k == label else "") for k in reversed(shown)]
    return finalise(
        figure,
        kind="brackets",
        alt=f"Theorem 1's bounds: {'; '.join(parts[k, side] for k in shown for side in sides)}.",
        marks=("k",),
        annotations=[annotation("   ".join(legend), 0, 1, yshift=8, xshift=-120)],
        shapes=row_band(None if selected is None else place.get(selected)),
        margin={"l": 130, "r": 16, "t": 40, "b": 46},
        xaxis=axis(title="squared distance (0 to 4)", nticks=6),
        yaxis=category_axis(titles),
    )
