"""Colours, axes and layout of all figures, for Plotly and for CSS, light and dark.

The colours are Okabe-Ito's, safe for colour-blind readers; three are darker on a light page, so that text in them has a
contrast of 4.5 (WCAG AA). A colour has one meaning: clean = blue, attack = vermillion, defence = bluish green,
cache = purple, not selected = grey. The true class is outlined, never coloured. Figures are built in the light colours;
``DARK_COLOURS`` maps each to its dark partner, and ``PlotlyView`` swaps them in the browser. No other file names a colour.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rita_demo.defences.registry import DEFENCES
from rita_demo.plots.figure import Figure
from rita_demo.records import MeasuredCell

#: role -> (light, dark). Lower-case hex; each light value occurs once, because it is the key of the swap.
PALETTE: dict[str, tuple[str, str]] = {
    "clean": ("#0072b2", "#56b4e9"),
    "attack": ("#b84f00", "#f5793a"),
    "defence": ("#007a59", "#2fc79c"),
    "cache": ("#a84f86", "#d98fbc"),
    "other": ("#b4b9c0", "#5c636d"),
    "faint": ("#d9dce1", "#3f4550"),
    "text": ("#20242b", "#e7e9ec"),
    "quiet": ("#5f6670", "#a3abb6"),
    "grid": ("#e8eaee", "#2e333c"),
    "axis": ("#c3c8d0", "#4a515c"),
    "surface": ("#fefefe", "#17191e"),
    "low": ("#2a6f9e", "#5aaede"),
    "low_mid": ("#a9cbe0", "#2f5570"),
    "middle": ("#f4f3f1", "#24272e"),
    "high_mid": ("#ecbd9b", "#7a4a2a"),
    "high": ("#c25a17", "#f08c4c"),
}
#: Colours of many classes in one figure: (light, dark); each class also has a shape.
CLASS_PALETTE: tuple[tuple[str, str], ...] = (
    ("#332288", "#8f84e0"),
    ("#2f8fbf", "#7cc4ea"),
    ("#117733", "#56b870"),
    ("#8a8a1f", "#c9c95a"),
    ("#a8741a", "#e0b45c"),
    ("#b8475a", "#ea8a98"),
    ("#882255", "#d0709f"),
    ("#7f3fa8", "#c08ae6"),
    ("#2b8f85", "#63c9be"),
    ("#5a4636", "#b89b86"),
)
CLASS_SYMBOLS = (
    ("circle", "●"),
    ("square", "■"),
    ("diamond", "◆"),
    ("cross", "✚"),
    ("x", "✖"),
    ("triangle-up", "▲"),
    ("triangle-down", "▼"),
    ("star", "★"),
    ("hexagon", "⬢"),
    ("pentagon", "⬟"),
)
COLOURS: dict[str, str] = {role: light for role, (light, _) in PALETTE.items()}
DARK_COLOURS: dict[str, str] = dict(PALETTE.values()) | dict(CLASS_PALETTE)
MAX_TICKS = 8  # of an axis of accuracies
FADED = 0.45  # opacity of marks that are not selected
TRANSPARENT = "rgba(0,0,0,0)"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

#: Diverging: below the middle blue, above vermillion, the middle nearly the colour of the page.
DIVERGING = [[n / 4, COLOURS[role]] for n, role in enumerate(("low", "low_mid", "middle", "high_mid", "high"))]


class _MethodStyles(Mapping[str, dict[str, str]]):
    """Name of a defence -> its title, colour, dash and symbol, in the order of ``DEFENCES``.

    A defence without a role in the palette (a user's own) gets the next of the class colours.
    """

    def __getitem__(self, name: str) -> dict[str, str]:
        defence = DEFENCES[name]
        guests = [other.name for other in DEFENCES.values() if not other.role]
        colour = COLOURS[defence.role] if defence.role else CLASS_PALETTE[guests.index(name) % len(CLASS_PALETTE)][0]
        return {"title": defence.title, "colour": colour, "dash": defence.dash, "symbol": defence.symbol}

    def __iter__(self) -> Iterator[str]:
        return iter(DEFENCES)

    def __len__(self) -> int:
        return len(DEFENCES)


METHOD_STYLES = _MethodStyles()

#: side of a run -> its title, colour and marker.
SIDE_STYLES: dict[str, dict[str, str]] = {
    "clean": {"title": "Clean", "colour": COLOURS["clean"], "symbol": "circle"},
    "attacked": {"title": "Attacked", "colour": COLOURS["attack"], "symbol": "diamond"},
}
#: Plotly's name of a shape -> the same shape as a character, for legends.
GLYPHS: dict[str, str] = dict(CLASS_SYMBOLS) | {
    "circle-open": "○",
    "square-open": "□",
    "diamond-open": "◇",
    "triangle-up-open": "△",
}
CSS_ROLES = ("clean", "attack", "defence", "cache", "text", "quiet", "other", "faint", "grid", "axis", "surface")


def css_variables() -> str:
    """The palette as CSS variables ``--rita-<role>``, for a light page and under ``.dark``."""
    pairs = {role: PALETTE[role] for role in CSS_ROLES}
    pairs |= {f"class-{number}": pair for number, pair in enumerate(CLASS_PALETTE)}
    light, dark = ("".join(f"--rita-{name}:{pair[shade]};" for name, pair in pairs.items()) for shade in (0, 1))
    return f":root{{{light}}}\n.dark{{{dark}}}\n"


def class_style(index: int) -> tuple[int, str, str, str]:
    """The style of the class with this index among those shown; the first hundred differ.

    Returns the index of its colour in ``CLASS_PALETTE``, that colour, Plotly's name of its shape, and the shape.
    """
    colours, shapes = len(CLASS_PALETTE), len(CLASS_SYMBOLS)
    number = index % colours
    return number, CLASS_PALETTE[number][0], *CLASS_SYMBOLS[(index + index // colours) % shapes]


def legend_entry(colour: str, mark: str, words: str) -> str:
    """An entry of a figure's legend: the mark in its colour and its meaning."""
    return f'<span style="color:{colour}">{mark}</span>\u00a0{words}'


def method_legend(methods: Iterable[str]) -> str:
    """The legend of a figure with a line per method: every method's mark and title."""
    shown = set(methods)
    looks = [look for name, look in METHOD_STYLES.items() if name in shown]
    return "   ".join(legend_entry(v["colour"], GLYPHS[v["symbol"]], v["title"]) for v in looks)


def axis(**more: Any) -> dict[str, Any]:
    """An axis with a thin grid, without a frame, with grey ticks."""
    quiet: dict[str, Any] = {
        "gridcolor": COLOURS["grid"],
        "linecolor": COLOURS["axis"],
        "zeroline": False,
        "tickfont": {"color": COLOURS["quiet"], "size": 12},
        "title": {"font": {"color": COLOURS["quiet"], "size": 12}, "standoff": 6},
        "automargin": False,
        "tickangle": 0,
    }
    if isinstance(more.get("title"), str):
        more["title"] = quiet["title"] | {"text": more["title"]}
    return quiet | more


def category_axis(titles: list[str], *, top_first: bool = False, size: int = 13, **more: Any) -> dict[str, Any]:
    """A vertical axis of named rows, the first at the bottom or at the top; ``size`` of the letters in pixels."""
    places = list(range(len(titles)))
    return axis(
        range=[-0.5, len(titles) - 0.5],
        tickvals=places[::-1] if top_first else places,
        ticktext=titles,
        showgrid=False,
        ticks="",
        tickfont={"color": COLOURS["text"], "size": size},
        **more,
    )


def label_width(titles: list[str]) -> int:
    """Width in pixels of the longest of the titles beside a figure."""
    return max(78, 14 + 7 * max(map(len, titles), default=0))


def percent_ticks(*values: float) -> dict[str, Any]:
    """Ticks at these percentages."""
    return {"tickvals": list(values), "ticktext": [f"{v:g} %" for v in values]}


def dim_marks(items: Iterable[int], selected: int | None) -> list[float]:
    """Opacity of each mark; with a selection the others are dimmed."""
    return [1.0 if selected in (None, i) else FADED for i in items]


def dim_columns(selected: int, count: int) -> list[dict[str, Any]]:
    """Shapes that dim every column of ``count`` but the selected one, over the full height."""
    cover = {"type": "rect", "yref": "paper", "y0": 0, "y1": 1, "line": {"width": 0}}
    cover |= {"fillcolor": COLOURS["surface"], "opacity": 1 - FADED}
    ends = ((-0.5, selected - 0.5), (selected + 0.5, count - 0.5))
    return [cover | {"x0": low, "x1": high} for low, high in ends if low < high]


def accuracy_axis(cells: Iterable[MeasuredCell], *, from_zero: bool = False) -> dict[str, Any]:
    """A vertical axis of accuracies in percent, as long as the cells' intervals need. It starts at 0 for bars
    (``from_zero``); where it starts higher its title says so."""
    cells = list(cells)
    step = next(s for s in (5, 10, 25) if s == 25 or _span(cells, from_zero, s) <= MAX_TICKS * s)
    low, high = _rounded_range(cells, from_zero, step)
    title = "accuracy (right of n)" + (f", axis from {low} %" if low else "")
    return axis(range=[low - 0.5, high + 0.5], title=title, **percent_ticks(*range(low, high + 1, step)))


def _rounded_range(cells: list[MeasuredCell], from_zero: bool, step: int) -> tuple[int, int]:
    """The intervals' ends, rounded outwards to multiples of ``step``, within 0 to 100."""
    low = 0 if from_zero else math.floor(min(cell.low for cell in cells) / step) * step
    return max(low, 0), min(math.ceil(max(cell.high for cell in cells) / step) * step, 100)


def _span(cells: list[MeasuredCell], from_zero: bool, step: int) -> int:
    low, high = _rounded_range(cells, from_zero, step)
    return high - low


def annotation(text: str, x: float, y: float, **more: Any) -> dict[str, Any]:
    """Text inside a figure, without an arrow, by default in paper coordinates."""
    plain = {
        "text": text,
        "x": x,
        "y": y,
        "xref": "paper",
        "yref": "paper",
        "showarrow": False,
        "xanchor": "left",
        "yanchor": "bottom",
        "align": "left",
        "font": {"size": 12, "color": COLOURS["quiet"]},
    }
    return plain | more


def finalise(
    figure: Figure,
    *,
    kind: str,
    alt: str,
    pickable: bool = False,
    select: bool = False,
    narrow: dict[str, Any] | None = None,
    wrap: list[int] | None = None,
    legend_below: str = "",
    **layout: Any,
) -> Figure:
    """Set the layout of a figure and the data that ``PlotlyView`` needs.

    Args:
        figure: the traces.
        kind: the zoom is kept between figures of the same kind.
        alt: the text alternative, plain text.
        pickable: whether a mark can be clicked.
        select: whether marks can be selected with a lasso.
        wrap: numbers of the annotations that ``PlotlyView`` breaks into lines of the view's width.
        legend_below: what a saved or printed figure says below itself, where the page has it elsewhere.
        narrow: dotted layout path (or ``data.0...``) -> value where the view is narrower than 560 px.
        **layout: Plotly layout of this figure.
    """
    font = {"family": FONT, "size": 12, "color": COLOURS["text"]}
    meta = {"kind": kind, "alt": alt, "pickable": pickable, "select": select}
    common = {
        "paper_bgcolor": TRANSPARENT,
        "plot_bgcolor": TRANSPARENT,
        "font": font,
        "hoverlabel": {"bgcolor": COLOURS["surface"], "bordercolor": COLOURS["axis"], "font": font, "align": "left"},
        "modebar": {"bgcolor": TRANSPARENT, "color": COLOURS["other"], "activecolor": COLOURS["text"]},
        "margin": {"l": 60, "r": 20, "t": 36, "b": 44},
        "showlegend": False,
        "dragmode": False,
        "uirevision": kind,
        "meta": meta | {"narrow": narrow or {}, "wrap": wrap or [], "below": legend_below},
    }
    figure.layers = common | layout
    return figure


def add_hit_area(figure: Figure, height: float, data: list, hover: str, **more: Any) -> None:
    """Invisible bars of full height, so that the whole column of a small mark can be hovered and clicked."""
    figure.add_bar(
        x=list(range(len(data))),
        y=[height] * len(data),
        width=1,
        customdata=data,
        hovertemplate=f"{hover}<extra></extra>",
        marker={"color": TRANSPARENT, "line": {"width": 0}},
        name="pick",
        hoverlabel={"bgcolor": COLOURS["surface"]},
        **more,
    )


def stacked_panels(upper: list[float], lower: list[float]) -> dict[str, Any]:
    """``narrow`` for a figure of two panels side by side: one above the other; annotation 1 is the right one's title."""
    titles = {"annotations.1.x": 0, "annotations.1.y": lower[1]}
    return titles | {"xaxis.domain": [0, 1], "xaxis2.domain": [0, 1], "yaxis.domain": upper, "yaxis2.domain": lower}


def message_figure(sentence: str) -> Figure:
    """A figure with a message instead of data; ``sentence`` must not contain user input that is not escaped."""
    centred = {"xanchor": "center", "yanchor": "middle", "align": "center"}
    text = annotation(sentence, 0.5, 0.5, font={"size": 14, "color": COLOURS["quiet"]}, **centred)
    hidden = {"visible": False}
    return finalise(Figure(), kind="empty", alt=sentence, wrap=[0], annotations=[text], xaxis=hidden, yaxis=hidden)
