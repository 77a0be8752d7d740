"""Axes, lines, frames and bands that several figures share."""

from collections.abc import Iterable, Sequence
from typing import Any

from rita_demo.figures.figure import Figure, Spec
from rita_demo.figures.theme import COLOURS, TRANSPARENT, axis


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


def vertical_line(x: float, colour: str, dash: str | None = None, **more: Any) -> Spec:
    """A thin line over the full height of the figure."""
    line = {"color": COLOURS[colour], "width": 1} | ({"dash": dash} if dash else {})
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "line": line} | more


def frame(x: tuple[float, float], y: tuple[float, float]) -> Spec:
    """The outline of a rectangle."""
    box = {"type": "rect", "x0": x[0], "x1": x[1], "y0": y[0], "y1": y[1], "fillcolor": TRANSPARENT}
    return box | {"line": {"color": COLOURS["text"], "width": 2}}


def row_band(row: int | None) -> list[Spec]:
    """A grey band behind a row, over the full width; none without a row."""
    if row is None:
        return []
    band = {"type": "rect", "xref": "paper", "x0": 0, "x1": 1, "y0": row - 0.5, "y1": row + 0.5, "layer": "below"}
    return [band | {"fillcolor": COLOURS["grid"], "line": {"width": 0}}]


def segments(starts: Iterable[float], ends: Iterable[float]) -> list[float | None]:
    """Coordinates of separate lines from each start to its end, as one trace."""
    return [value for start, end in zip(starts, ends, strict=True) for value in (start, end, None)]


def add_changes(
    figure: Figure, side: str, axes: str, places: list[float], data: list[list], hover: str, markers: list, line: tuple
) -> None:
    """Marks before and after (columns 1 and 2 of ``data``), joined by lines (colour, width); ``axes``: that of the places,
    the other."""
    ends = [[row[column] for row in data] for column in (1, 2)]
    figure.add_line(*line, **dict(zip(axes, (segments(places, places), segments(*ends)), strict=True)))
    for when, marker, values in zip(("before", "after"), markers, ends, strict=True):
        marks = dict(zip(axes, (places, values), strict=True))
        figure.add_marks(hover, **marks, customdata=data, marker=marker, name=f"{side} {when}")


def outlined(symbol: str | list[str], colour: str | list[str], size: float | Sequence[float]) -> Spec:
    """The marker of a symbol with an outline of 2 pixels in its colour; each value is one or a list."""
    return {"symbol": symbol, "size": size, "color": colour, "line": {"width": 2, "color": colour}}
