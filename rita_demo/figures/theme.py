"""Colours, axes and layout of all figures, for Plotly and for CSS, light and dark.

The colours are Okabe-Ito's, safe for colour-blind readers, but for the violet; three are darker on a light page, so that text
in them has a contrast of 4.5 (WCAG AA). A colour has one meaning: clean = blue, attack = vermillion, defence (RITA) = violet,
cache = purple, right = bluish green, not selected = grey. The true class is outlined, never coloured. Figures are built in the light colours;
``DARK_COLOURS`` maps each to its dark partner, and ``PlotlyView`` swaps them in the browser. No other file names a colour.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from rita_demo.figures.figure import Figure, Spec

#: role -> (light, dark). Lower-case hex; each light value occurs once, because it is the key of the swap.
PALETTE: dict[str, tuple[str, str]] = {
    "clean": ("#0072b2", "#56b4e9"),
    "attack": ("#b84f00", "#f5793a"),
    "defence": ("#6b3fb0", "#b79cf0"),
    "right": ("#007a59", "#2fc79c"),
    "cache": ("#a84f86", "#d98fbc"),
    "other": ("#b4b9c0", "#5c636d"),
    "faint": ("#d9dce1", "#3f4550"),
    "text": ("#20242b", "#e7e9ec"),
    "quiet": ("#5f6670", "#a3abb6"),
    "grid": ("#e8eaee", "#2e333c"),
    "axis": ("#c3c8d0", "#4a515c"),
    "surface": ("#fefefe", "#17191e"),
    "low": ("#747b86", "#8b93a0"),
    "low_mid": ("#c6cad0", "#4f5661"),
    "middle": ("#f4f3f1", "#24272e"),
    "high_mid": ("#c3b1e4", "#4b3a75"),
    "high": ("#57309a", "#bfa6f5"),
}
#: The looks of many classes in one figure: light colour, dark colour, Plotly's name of a shape, and the shape.
CLASS_STYLES: tuple[tuple[str, str, str, str], ...] = (
    ("#332288", "#8f84e0", "circle", "●"),
    ("#2f8fbf", "#7cc4ea", "square", "■"),
    ("#117733", "#56b870", "diamond", "◆"),
    ("#8a8a1f", "#c9c95a", "cross", "✚"),
    ("#a8741a", "#e0b45c", "x", "✖"),
    ("#b8475a", "#ea8a98", "triangle-up", "▲"),
    ("#882255", "#d0709f", "triangle-down", "▼"),
    ("#7f3fa8", "#c08ae6", "star", "★"),
    ("#2b8f85", "#63c9be", "hexagon", "⬢"),
    ("#5a4636", "#b89b86", "pentagon", "⬟"),
)
COLOURS: dict[str, str] = {role: light for role, (light, _) in PALETTE.items()}
DARK_COLOURS: dict[str, str] = dict([*PALETTE.values(), *(style[:2] for style in CLASS_STYLES)])
FADED = 0.45  # opacity of marks that are not selected
TRANSPARENT = "rgba(0,0,0,0)"
FONT = "Inter, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

#: side of a run -> its title, colour and marker.
SIDE_STYLES: dict[str, dict[str, str]] = {
    "clean": {"title": "Clean", "colour": COLOURS["clean"], "symbol": "circle"},
    "attacked": {"title": "Attacked", "colour": COLOURS["attack"], "symbol": "diamond"},
}
#: Plotly's name of a shape -> the same shape as a character, for legends.
GLYPHS: dict[str, str] = dict(style[2:] for style in CLASS_STYLES) | {
    "circle-open": "○",
    "square-open": "□",
    "diamond-open": "◇",
    "triangle-up-open": "△",
    "triangle-down-open": "▽",
    "hexagon-open": "⬡",
    "pentagon-open": "⬠",
    "diamond-tall": "♦",
    "star-diamond": "✦",
    "hexagram": "✶",
}


def css_variables() -> str:
    """The palette as CSS variables ``--rita-<role>``, for a light page and under ``.dark``."""
    pairs = PALETTE | {f"class-{number}": style[:2] for number, style in enumerate(CLASS_STYLES)}
    light, dark = ("".join(f"--rita-{name}:{pair[shade]};" for name, pair in pairs.items()) for shade in (0, 1))
    return f":root{{{light}}}\n.dark{{{dark}}}\n"


def class_style(index: int) -> tuple[int, str, str, str]:
    """The style of the class with this index among those shown; the first hundred differ.

    Returns the index of its colour in ``CLASS_STYLES``, that colour, Plotly's name of its shape, and the shape."""
    again, number = divmod(index, len(CLASS_STYLES))
    return number, CLASS_STYLES[number][0], *CLASS_STYLES[(index + again) % len(CLASS_STYLES)][2:]


def axis(**more: Any) -> Spec:
    """An axis with a thin grid, without a frame, with grey ticks."""
    quiet: Spec = {
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


def dim_marks(items: Iterable[int], selected: int | None) -> list[float]:
    """Opacity of each mark; with a selection the others are dimmed."""
    return [1.0 if selected in (None, i) else FADED for i in items]


def annotation(text: str, x: float, y: float, **more: Any) -> Spec:
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
    marks: Sequence[str] = (),
    select: bool = False,
    legend_below: str = "",
    height: int = 0,
    **layout: Any,
) -> Figure:
    """Set the layout of a figure and the data that ``PlotlyView`` needs.

    Args:
        figure: the traces.
        kind: the zoom is kept between figures of the same kind.
        alt: the text alternative, plain text.
        marks: what a click selects: the names of the first numbers of ``customdata``, as in
            :class:`rita_demo.ui.session.mark.Mark`. select: whether marks can be selected with a lasso.
        height: pixels that it needs, where that is more than it is given.
        legend_below: what a saved or printed figure says below itself, where the page has it elsewhere.
        **layout: Plotly layout of this figure.
    """
    font = {"family": FONT, "size": 12, "color": COLOURS["text"]}
    meta: Spec = {
        "kind": kind,
        "alt": alt.replace("<br>", " "),
        "marks": list(marks),
        "select": select,
        "below": legend_below,
        "height": height,
    }
    common = {
        "paper_bgcolor": TRANSPARENT,
        "plot_bgcolor": TRANSPARENT,
        "font": font,
        "hoverlabel": {"bgcolor": COLOURS["surface"], "bordercolor": COLOURS["axis"], "font": font, "align": "left"},
        "modebar": {"bgcolor": TRANSPARENT, "color": COLOURS["other"], "activecolor": COLOURS["text"]},
        "margin": {"l": 60, "r": 20, "t": 36, "b": 44},
        "showlegend": False,
        "dragmode": False,
        "hovermode": "closest",
        "uirevision": kind,
        "meta": meta,
    }
    figure.layers = common | layout
    return figure


def message_figure(sentence: str) -> Figure:
    """A figure with a message instead of data; ``sentence`` must not contain user input that is not escaped."""
    centred = {"xanchor": "center", "yanchor": "middle", "align": "center"}
    text = annotation(sentence, 0.5, 0.5, font={"size": 14, "color": COLOURS["quiet"]}, **centred)
    hidden = {"visible": False}
    return finalise(Figure(), kind="empty", alt=sentence, annotations=[text], xaxis=hidden, yaxis=hidden)
