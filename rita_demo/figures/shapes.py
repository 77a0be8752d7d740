"""Axes, lines, frames, bands and error bars that several figures share."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from rita_demo.figures.figure import Spec
from rita_demo.figures.theme import COLOURS, TRANSPARENT, axis
from rita_demo.records import MeasuredCell

MAX_TICKS = 8  # of an axis of accuracies


def category_axis(
    titles: list[str], *, top_first: bool = False, size: int = 13, edge: float = 0.0, **more: Any
) -> Spec:
    """A vertical axis of named rows, the first at the bottom or at the top; ``size`` of the letters in pixels, ``edge``:
    space above and below, as a share of a row."""
    places = list(range(len(titles)))
    return axis(
        range=[-0.5 - edge, len(titles) - 0.5 + edge],
        **ticks(places[::-1] if top_first else places, titles),
        showgrid=False,
        tickfont={"color": COLOURS["text"], "size": size},
        **more,
    )


def label_width(titles: list[str]) -> int:
    """Width in pixels of the longest of the titles beside a figure."""
    return max(78, 14 + 7 * max(map(len, titles), default=0))


def ticks(values: Iterable[float], texts: Iterable[str]) -> Spec:
    """Ticks with these texts."""
    return {"tickvals": list(values), "ticktext": list(texts)}


def percent_ticks(*values: float) -> Spec:
    """Ticks at these percentages."""
    return ticks(values, (f"{v:g} %" for v in values))


def accuracy_axis(cells: Iterable[MeasuredCell], *, from_zero: bool = False) -> Spec:
    """A vertical axis of accuracies in percent, as long as the cells' intervals need. It starts at 0 for bars
    (``from_zero``); where it starts higher its title says so."""
    cells = list(cells)
    for step in (5, 10, 25):  # both ends are rounded outwards to multiples of it
        low = 0 if from_zero else max(math.floor(min(cell.low for cell in cells) / step) * step, 0)
        high = min(math.ceil(max(cell.high for cell in cells) / step) * step, 100)
        if high - low <= MAX_TICKS * step:
            break
    title = "accuracy (right of n)" + (f", axis from {low} %" if low else "")
    return axis(range=[low - 0.5, high + 0.5], title=title, **percent_ticks(*range(low, high + 1, step)))


def vertical_line(x: float, colour: str, dash: str | None = None, **more: Any) -> Spec:
    """A thin line over the full height of the figure."""
    line = {"color": COLOURS[colour], "width": 1} | ({"dash": dash} if dash else {})
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "line": line} | more


def frame(x: tuple[float, float], y: tuple[float, float], width: float = 2) -> Spec:
    """The outline of a rectangle."""
    box = {"type": "rect", "x0": x[0], "x1": x[1], "y0": y[0], "y1": y[1], "fillcolor": TRANSPARENT}
    return box | {"line": {"color": COLOURS["text"], "width": width}}


def row_band(row: int | None, **more: Any) -> list[Spec]:
    """A grey band behind a row, over the full width; none without a row."""
    if row is None:
        return []
    band = {"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "y0": row - 0.5, "y1": row + 0.5, "layer": "below"}
    return [band | {"fillcolor": COLOURS["grid"], "line": {"width": 0}} | more]


def segments(starts: Iterable[float], ends: Iterable[float]) -> list[float | None]:
    """Coordinates of separate lines from each start to its end, as one trace."""
    return [value for start, end in zip(starts, ends, strict=True) for value in (start, end, None)]


def outlined(symbol: str | list[str], colour: str | list[str], size: float | Sequence[float]) -> Spec:
    """The marker of a symbol with an outline of 2 pixels in its colour; each value is one or a list."""
    return {"symbol": symbol, "size": size, "color": colour, "line": {"width": 2, "color": colour}}


def accuracy_text(cell: MeasuredCell) -> str:
    """A measured accuracy as hover text."""
    return f"{cell.accuracy:.1f} % right ({cell.low:.1f} to {cell.high:.1f}), n = {cell.n}"


def accuracy_bars(cells: Iterable[MeasuredCell], colour: str) -> Spec:
    """Wilson's 95 % intervals of measured accuracies as error bars."""
    cells = list(cells)
    return {
        "type": "data",
        "symmetric": False,
        "thickness": 1,
        "width": 0,
        "color": colour,
        "array": [cell.high - cell.accuracy for cell in cells],
        "arrayminus": [cell.accuracy - cell.low for cell in cells],
    }
