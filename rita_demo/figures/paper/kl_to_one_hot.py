"""Definition 15: KL to one-hot of pictures and of cached views."""

from collections.abc import Callable

import numpy as np

from rita_demo.figures.figure import Figure, Spec
from rita_demo.figures.labels import escaped, legend, percent
from rita_demo.figures.shapes import category_axis, label_width, segments
from rita_demo.figures.theme import COLOURS, GLYPHS, annotation, axis, finalise, message_figure
from rita_demo.records.measurement import KlToOneHot

#: field of the record -> title (empty: the record's name of the pictures), colour, dash, marker.
LINES = {
    "original": ("", COLOURS["attack"], "solid", "x"),
    "cached": ("crops in the memory, as filed", COLOURS["cache"], "dash", "circle"),
    "cached_true": ("the same by true class", COLOURS["cache"], "dot", "circle-open"),
}
CURVE_POINTS = 160  # of a density curve
MAX_ROWS = 20  # classes with a row of their own
FRAME_HEIGHT, ROW_HEIGHT = 160, 31  # pixels: margins, and of a row with its share of the density above


def kl_to_one_hot(
    one: KlToOneHot, density: Callable[[np.ndarray, np.ndarray], np.ndarray | None], selected: int | None = None
) -> Figure:
    """Above the density over the classes with a tick per class, below a row per class with its name; with too few classes
    for a density the rows alone.

    Each density is divided by its maximum: the cached views lie near 0 nats, up to a thousand times as dense as the
    pictures. Marks carry ``customdata = (class, hover text)``. ``density``: values and positions -> curve
    (``analysis.density``), or None for too few values; ``selected``: a class to mark."""
    finite = np.concatenate([getattr(one, name) for name in LINES])
    finite = finite[np.isfinite(finite)]
    if not len(finite):
        return message_figure("The memory holds nothing to compare.")
    top = float(finite.max()) * 1.08 + 1e-3
    data = [[k, _hover_text(one, k)] for k in range(len(one.names))]
    titles = {name: title or one.pictures_name for name, (title, *_) in LINES.items()}
    figure, entries, curves = Figure(), [], {}
    for name in LINES:
        values = getattr(one, name)
        x = np.union1d(
            np.linspace(0, top, CURVE_POINTS), values[np.isfinite(values)]
        )  # a peak can be narrower than a step
        if (curve := density(values, x)) is not None:
            curves[name] = (x, curve / curve.max())
    for row, (name, (_, colour, dash, symbol)) in enumerate(LINES.items()):
        values = getattr(one, name)
        entries.append((colour, GLYPHS[symbol], f"{_nats(one.medians[row])} {titles[name]}"))
        if not curves:
            continue
        ks = np.flatnonzero(np.isfinite(values))
        if name in curves:
            x, y = curves[name]
            figure.add_line(colour, 2, dash, x=x, y=y, name=titles[name])
        size = [12 if k == selected else 7 for k in ks]
        figure.add_marks(
            x=values[ks],
            y=[-0.06 * (row + 1)] * len(ks),
            yaxis="y3",
            name=f"ticks: {titles[name]}",
            customdata=[data[k] for k in ks],
            marker={"symbol": symbol, "size": size, "color": colour, "opacity": 0.8},
        )
    rows = _rows(one)
    most = f"the {len(rows)} of {one.classes} classes that change most"
    row_names = [(k, escaped(one.names[k], 15)) for k in reversed(rows)]
    row_titles = [f"<b>{name}</b>" if k == selected else name for k, name in row_names]
    _add_classes(figure, one, rows, titles, data, selected)
    left = label_width([one.names[k][:15] for k in rows])
    notes = [annotation(f"medians: {legend(entries)}", 0, 1, yshift=6, xshift=8 - left)]
    layout: Spec = {
        "xaxis2": axis(anchor="y2", range=[-0.02 * top, top], title="KL to one-hot (nats, 0 is best)"),
        "yaxis2": category_axis(row_titles, size=12, anchor="x2"),
    }
    if curves:
        notes.append(annotation("every class" if len(rows) == one.classes else most, 0, 0.48, yshift=4))
        layout["yaxis2"]["domain"] = [0, 0.48]
        layout |= {
            "xaxis": axis(anchor="y3", range=[-0.02 * top, top]),
            "yaxis": axis(domain=[0.7, 1], range=[0, 1.1], showticklabels=False, title="density<br>(maximum = 1)"),
            "yaxis3": axis(domain=[0.6, 0.69], range=[-0.22, 0], visible=False),
            "height": FRAME_HEIGHT + ROW_HEIGHT * len(rows),
        }
    return finalise(
        figure,
        kind="one_hot",
        alt=kl_summary(one),
        marks=("cloud_k",),
        annotations=notes,
        margin={"l": left, "r": 12, "t": 40, "b": 46},
        **layout,
    )


def _rows(one: KlToOneHot) -> list[int]:
    """The classes with a row of their own, largest divergence of the pictures first: all that have both, or of more than
    ``MAX_ROWS`` those that change most."""
    both = np.flatnonzero(np.isfinite(one.original) & np.isfinite(one.cached))
    most = both[np.argsort(-np.abs(one.original - one.cached)[both], kind="stable")][:MAX_ROWS]
    return most[np.argsort(-one.original[most], kind="stable")].tolist()


def _add_classes(
    figure: Figure, one: KlToOneHot, rows: list[int], titles: dict[str, str], data: list[list], selected: int | None
) -> None:
    """A row per class: a line from its pictures to its views in the memory, and the marks of all three divergences."""
    right = {"xaxis": "x2", "yaxis": "y2"}
    places = list(range(len(rows)))[::-1]
    x = segments(one.original[rows].tolist(), one.cached[rows].tolist())
    figure.add_line(COLOURS["axis"], 1.5, x=x, y=segments(places, places), name="change", **right)
    for name, (_, colour, _, symbol) in LINES.items():
        values = np.asarray(getattr(one, name), float)
        shown = [k for k in rows if np.isfinite(values[k])]
        shades = [colour if selected in (None, k) else COLOURS["other"] for k in shown]
        figure.add_marks(
            x=values[shown],
            y=[places[rows.index(k)] for k in shown],
            name=titles[name],
            customdata=[data[k] for k in shown],
            marker={"symbol": symbol, "size": 8, "color": shades, "line": {"width": 1, "color": shades}},
            **right,
        )


def _hover_text(one: KlToOneHot, k: int) -> str:
    values = {title or one.pictures_name: float(getattr(one, name)[k]) for name, (title, *_) in LINES.items()}
    parts = [f"{title}: {_nats(value)}" for title, value in values.items() if np.isfinite(value)]
    return "<br>".join([escaped(one.names[k], 60), *parts])


def _nats(value: float) -> str:
    return f"{value:.2f} nats" if np.isfinite(value) else "–"


def kl_summary(one: KlToOneHot) -> str:
    """The comparison in one sentence per way of counting."""
    if not one.classes:
        return "No class has both a picture and a crop in the memory."
    pictures, filed, true = map(_nats, one.medians)
    summary = (
        f"KL to one-hot, median over {one.classes} classes: {pictures} for the {one.pictures_name}, {filed} for the crops "
        f"in the memory; closer in {percent(one.improved)} of the classes."
    )
    if one.classes_true:
        closer = f"closer in {percent(one.improved_true)} of {one.classes_true}"
        summary += f" Counted by the true class of the pictures: {true}, {closer}."
    return summary
