"""The colours of everything that is drawn, for Plotly and for CSS, light and dark.

Okabe-Ito, safe for colour-blind eyes, three of them darkened on a light page so that words in
them reach a contrast of 4.5 (WCAG AA).  A colour says one thing only: clean = blue,
attack = vermillion, defence = bluish green, cache = purple, unselected = grey; the true
class is outlined, never coloured.  Figures are always *built* in the light colours;
``DARK_FOR`` says what each becomes on a dark page, and ``PlotlyView`` swaps them in the
browser.  So no other file writes a colour down.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rita_demo.methods import METHODS as METHOD_NAMES
from rita_demo.plots.figure import Figure

#: role -> (light, dark).  Hex in lower case, each light value once: it is the key of the swap.
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
#: True classes, where many are told apart at once: (light, dark), each with a shape as second cue.
CLASS_PALETTE: tuple[tuple[str, str], ...] = (
    ("#332288", "#8f84e0"), ("#2f8fbf", "#7cc4ea"), ("#117733", "#56b870"), ("#8a8a1f", "#c9c95a"),
    ("#a8741a", "#e0b45c"), ("#b8475a", "#ea8a98"), ("#882255", "#d0709f"), ("#7f3fa8", "#c08ae6"),
    ("#2b8f85", "#63c9be"), ("#5a4636", "#b89b86"),
)  # fmt: skip
CLASS_SYMBOLS = (
    ("circle", "●"), ("square", "■"), ("diamond", "◆"), ("cross", "✚"), ("x", "✖"),
    ("triangle-up", "▲"), ("triangle-down", "▼"), ("star", "★"), ("hexagon", "⬢"), ("pentagon", "⬟"),
)  # fmt: skip
COLOURS: dict[str, str] = {role: light for role, (light, _) in PALETTE.items()}
DARK_FOR: dict[str, str] = dict(PALETTE.values()) | dict(CLASS_PALETTE)
FADED = 0.45  # opacity of what is not chosen
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

#: Diverging around the middle: below in blue, above in vermillion, nothing to see = paper.
DIVERGING: list[list[float | str]] = [
    [0.0, COLOURS["low"]],
    [0.25, COLOURS["low_mid"]],
    [0.5, COLOURS["middle"]],
    [0.75, COLOURS["high_mid"]],
    [1.0, COLOURS["high"]],
]

#: method -> its colour, and its second cue (line and marker). Whoever is compared with RITA is grey.
_LOOKS: dict[str, tuple[str, str, str]] = {
    "clip": ("text", "dot", "square"),
    "ensemble": ("quiet", "dash", "diamond"),
    "tpt": ("quiet", "dashdot", "triangle-up"),
    "ctpt": ("quiet", "longdash", "triangle-down"),
    "mta": ("quiet", "longdashdot", "pentagon"),
    "rtpt": ("quiet", "solid", "star"),
    "rita": ("defence", "solid", "circle"),
    "rita_prompts": ("defence", "dash", "circle-open"),
    "rita_memory": ("defence", "dot", "square-open"),
    "rita_reset": ("defence", "dashdot", "diamond-open"),
    "rita_untuned": ("defence", "longdash", "triangle-up-open"),
}
#: method -> what a person calls it, and how it is drawn.
METHODS: dict[str, dict[str, str]] = {
    name: {
        "title": METHOD_NAMES[name].title,
        "colour": COLOURS[role],
        "dash": dash,
        "symbol": symbol,
    }
    for name, (role, dash, symbol) in _LOOKS.items()
}

#: side of a story -> what a person calls it and its colour.
SIDES: dict[str, dict[str, str]] = {
    "clean": {"title": "Clean", "colour": COLOURS["clean"]},
    "attacked": {"title": "Attacked", "colour": COLOURS["attack"]},
}
#: Plotly's name of a shape -> the same shape as a letter, for keys in words.
GLYPHS: dict[str, str] = dict(CLASS_SYMBOLS) | {
    "circle-open": "○", "square-open": "□", "diamond-open": "◇", "triangle-up-open": "△",
}  # fmt: skip
CSS_ROLES = (
    "clean", "attack", "defence", "cache", "text", "quiet", "other", "faint", "grid", "axis",
    "surface",
)  # fmt: skip


def css_variables() -> str:
    """The palette as CSS variables ``--rita-<role>``, for a light page and under ``.dark``."""
    pairs = {role: PALETTE[role] for role in CSS_ROLES}
    pairs |= {f"class-{number}": pair for number, pair in enumerate(CLASS_PALETTE)}
    light, dark = (
        "".join(f"--rita-{name}:{pair[shade]};" for name, pair in pairs.items()) for shade in (0, 1)
    )
    return f":root{{{light}}}\n.dark{{{dark}}}\n"


def class_look(place: int) -> tuple[int, str, str, str]:
    """How the class in this place among those shown looks, the first hundred all differently: number
    of its colour in ``CLASS_PALETTE``, that colour, Plotly's name of its shape, and the shape."""
    colours, shapes = len(CLASS_PALETTE), len(CLASS_SYMBOLS)
    number = place % colours
    return number, CLASS_PALETTE[number][0], *CLASS_SYMBOLS[(place + place // colours) % shapes]


def patch(colour: str, sign: str, words: str) -> str:
    """An entry of a figure's key: the mark in its colour, what it means beside it."""
    return f'<span style="color:{colour}">{sign}</span>\u00a0{words}'


def method_keys(methods: Iterable[str]) -> str:
    """The key of a figure with a line per method: every method's mark and title."""
    looks = [look for name, look in METHODS.items() if name in set(methods)]
    return "   ".join(patch(v["colour"], GLYPHS[v["symbol"]], v["title"]) for v in looks)


def axis(**more: Any) -> dict[str, Any]:
    """A quiet axis: thin grid, no frame, ticks in grey."""
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


def rows(titles: list[str]) -> dict[str, Any]:
    """A vertical axis of named rows, the first at the bottom."""
    return axis(
        range=[-0.5, len(titles) - 0.5], tickvals=list(range(len(titles))), ticktext=titles,
        showgrid=False, ticks="", tickfont={"color": COLOURS["text"], "size": 13},
    )  # fmt: skip


def room_for(titles: list[str]) -> int:
    """Pixels beside a figure that hold the longest of the methods' titles."""
    return max(78, 14 + 7 * max(map(len, titles), default=0))


def percents(*values: float) -> dict[str, Any]:
    """Ticks at these percentages, each with its sign."""
    return {"tickvals": list(values), "ticktext": [f"{v:g} %" for v in values]}


def fades(items: Iterable[int], chosen: int | None) -> list[float]:
    """Opacity of each mark: what is not chosen goes pale, nothing disappears."""
    return [1.0 if chosen in (None, i) else FADED for i in items]


def veils(place: int, count: int, **more: Any) -> list[dict[str, Any]]:
    """Shapes that make every column but ``place`` of ``count`` pale, as high as the figure."""
    veil = {
        "type": "rect", "yref": "paper", "y0": 0, "y1": 1, "line": {"width": 0},
        "fillcolor": COLOURS["surface"], "opacity": 1 - FADED,
    } | more  # fmt: skip
    ends = ((-0.5, place - 0.5), (place + 0.5, count - 0.5))
    return [veil | {"x0": low, "x1": high} for low, high in ends if low < high]


def note(text: str, x: float, y: float, **more: Any) -> dict[str, Any]:
    """Words inside a figure, without an arrow; in paper coordinates unless told otherwise."""
    plain = {
        "text": text, "x": x, "y": y, "xref": "paper", "yref": "paper", "showarrow": False,
        "xanchor": "left", "yanchor": "bottom", "align": "left", "font": {"size": 12, "color": COLOURS["quiet"]},
    }  # fmt: skip
    return plain | more


def finish(
    figure: Figure,
    *,
    kind: str,
    alt: str,
    pickable: bool = False,
    select: bool = False,
    narrow: dict[str, Any] | None = None,
    wrap: list[int] | None = None,
    **layout: Any,
) -> Figure:
    """Give a figure the house's look and what ``PlotlyView`` needs.

    Args:
        figure: the traces.
        kind: zoom is kept between figures of the same kind.
        alt: what the figure says, for those who do not see it; plain text, shown as text only.
        pickable: whether a click on a mark means something.
        select: whether marks can be gathered with a lasso.
        wrap: numbers of the annotations that ``PlotlyView`` breaks into lines of the view's width.
        narrow: dotted layout path (or ``data.0...``) -> value where the view is narrower than 560 px.
        **layout: Plotly layout of this figure.
    """
    common = {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FONT, "size": 12, "color": COLOURS["text"]},
        "hoverlabel": {
            "bgcolor": COLOURS["surface"],
            "bordercolor": COLOURS["axis"],
            "font": {"color": COLOURS["text"], "family": FONT, "size": 12},
            "align": "left",
        },
        "modebar": {
            "bgcolor": "rgba(0,0,0,0)", "color": COLOURS["other"], "activecolor": COLOURS["text"],
        },
        "margin": {"l": 60, "r": 20, "t": 36, "b": 44},
        "showlegend": False,
        "dragmode": False,
        "uirevision": kind,
        "meta": {"kind": kind, "alt": alt, "pickable": pickable, "select": select,
                 "narrow": narrow or {}, "wrap": wrap or []},
    }  # fmt: skip
    figure.layers = common | layout
    return figure


def ghost(x: list, height: float, data: list, hover: str, **more: Any) -> dict[str, Any]:
    """Invisible bars of full height: a whole column answers the pointer, however small what it shows."""
    return dict(
        type="bar",
        x=x, y=[height] * len(x), width=1, customdata=data, hovertemplate=hover,
        marker={"color": "rgba(0,0,0,0)", "line": {"width": 0}}, name="pick",
        hoverlabel={"bgcolor": COLOURS["surface"]}, **more,
    )  # fmt: skip


def empty(sentence: str) -> Figure:
    """A figure that says why there is nothing to see; ``sentence`` is ours and already safe."""
    words = note(
        sentence, 0.5, 0.5, xanchor="center", yanchor="middle", align="center",
        font={"size": 14, "color": COLOURS["quiet"]},
    )  # fmt: skip
    hidden = {"visible": False}
    return finish(
        Figure(),
        kind="empty",
        alt=sentence,
        wrap=[0],
        annotations=[words],
        xaxis=hidden,
        yaxis=hidden,
    )


def plain(figure: Figure) -> str:
    """The text alternative a figure carries."""
    return figure.meta["alt"]
