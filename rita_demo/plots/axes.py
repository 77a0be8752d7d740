"""Axes that several figures share."""

import math
from collections.abc import Iterable
from typing import Any

from rita_demo.plots.theme import COLOURS, axis
from rita_demo.records import MeasuredCell

MAX_TICKS = 8  # of an axis of accuracies


def category_axis(
    titles: list[str], *, top_first: bool = False, size: int = 13, edge: float = 0.0, **more: Any
) -> dict[str, Any]:
    """A vertical axis of named rows, the first at the bottom or at the top; ``size`` of the letters in pixels, ``edge``:
    space above and below, as a share of a row."""
    places = list(range(len(titles)))
    return axis(
        range=[-0.5 - edge, len(titles) - 0.5 + edge],
        tickvals=places[::-1] if top_first else places,
        ticktext=titles,
        showgrid=False,
        tickfont={"color": COLOURS["text"], "size": size},
        **more,
    )


def label_width(titles: list[str]) -> int:
    """Width in pixels of the longest of the titles beside a figure."""
    return max(78, 14 + 7 * max(map(len, titles), default=0))


def percent_ticks(*values: float) -> dict[str, Any]:
    """Ticks at these percentages."""
    return {"tickvals": list(values), "ticktext": [f"{v:g} %" for v in values]}


def accuracy_axis(cells: Iterable[MeasuredCell], *, from_zero: bool = False) -> dict[str, Any]:
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
