"""Definition 15: KL to one-hot of pictures and of cached views."""

import numpy as np

from rita_demo.figures.analysis.feature_cloud import density
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


def kl_to_one_hot(kl: KlToOneHot, selected: int | None = None) -> Figure:
    """Above the density over the classes with a tick per class, below a row per class with its name; with too few classes
    for a density the rows alone.

    Each density is divided by its maximum: the cached views lie near 0 nats, up to a thousand times as dense as the
    pictures. Marks carry ``customdata = (class, hover text)``. ``selected``: a class to mark."""
    every = np.concatenate([getattr(kl, name) for name in LINES])
    if not np.isfinite(every).any():
        return message_figure("The memory holds nothing to compare.")
    top = float(np.nanmax(every)) * 1.08 + 1e-3
    data = [[k, _hover_text(kl, k)] for k in range(len(kl.names))]
    titles = {name: title or kl.pictures_name for name, (title, *_) in LINES.items()}
    figure, entries, curves = Figure(), [], {}
    for name in LINES:
        values = getattr(kl, name)
        # a peak can be narrower than a step
        x = np.union1d(np.linspace(0, top, CURVE_POINTS), values[np.isfinite(values)])
        if (curve := density(values, x)) is not None:
            curves[name] = (x, curve / curve.max())
    for row, (name, (_, colour, dash, symbol)) in enumerate(LINES.items()):
        values = getattr(kl, name)
        entries.append((colour, GLYPHS[symbol], f"{_nats(kl.medians[row])} {titles[name]}"))
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
    # a row per class, largest divergence of the pictures first: all that have both, or of too many those that change most
    both = np.flatnonzero(np.isfinite(kl.original) & np.isfinite(kl.cached))
    most = both[np.argsort(-np.abs(kl.original - kl.cached)[both], kind="stable")][:MAX_ROWS]
    rows = most[np.argsort(-kl.original[most], kind="stable")].tolist()
    places, below = list(range(len(rows)))[::-1], {"xaxis": "x2", "yaxis": "y2"}
    ends = segments(kl.original[rows].tolist(), kl.cached[rows].tolist())
    figure.add_line(COLOURS["axis"], 1.5, x=ends, y=segments(places, places), name="change", **below)
    for name, (_, colour, _, symbol) in LINES.items():
        values = np.asarray(getattr(kl, name), float)
        shown = [k for k in rows if np.isfinite(values[k])]
        shades = [colour if selected in (None, k) else COLOURS["other"] for k in shown]
        figure.add_marks(
            x=values[shown],
            y=[places[rows.index(k)] for k in shown],
            name=titles[name],
            customdata=[data[k] for k in shown],
            marker={"symbol": symbol, "size": 8, "color": shades, "line": {"width": 1, "color": shades}},
            **below,
        )
    names = [(k, escaped(kl.names[k], 15)) for k in reversed(rows)]
    left = label_width([kl.names[k][:15] for k in rows])
    notes = [annotation(f"medians: {legend(entries)}", 0, 1, yshift=6, xshift=8 - left)]
    layout: Spec = {
        "xaxis2": axis(anchor="y2", range=[-0.02 * top, top], title="KL to one-hot (nats, 0 is best)"),
        "yaxis2": category_axis([f"<b>{n}</b>" if k == selected else n for k, n in names], size=12, anchor="x2"),
    }
    if curves:
        which = (
            "every class" if len(rows) == kl.classes else f"the {len(rows)} of {kl.classes} classes that change most"
        )
        notes.append(annotation(which, 0, 0.48, yshift=4))
        layout["yaxis2"]["domain"] = [0, 0.48]
        layout |= {
            "xaxis": axis(anchor="y3", range=[-0.02 * top, top]),
            "yaxis": axis(domain=[0.7, 1], range=[0, 1.1], showticklabels=False, title="density<br>(maximum = 1)"),
            "yaxis3": axis(domain=[0.6, 0.69], range=[-0.22, 0], visible=False),
            "height": FRAME_HEIGHT + ROW_HEIGHT * len(rows),
        }
    margin = {"l": left, "r": 12, "t": 40, "b": 46}
    return finalise(
        figure, kind="one_hot", alt=_summary(kl), marks=("cloud_k",), annotations=notes, margin=margin, **layout
    )


def _hover_text(kl: KlToOneHot, k: int) -> str:
    values = {title or kl.pictures_name: float(getattr(kl, name)[k]) for name, (title, *_) in LINES.items()}
    parts = [f"{title}: {_nats(value)}" for title, value in values.items() if np.isfinite(value)]
    return "<br>".join([escaped(kl.names[k], 60), *parts])


def _nats(value: float) -> str:
    return f"{value:.2f} nats" if np.isfinite(value) else "–"


def _summary(kl: KlToOneHot) -> str:
    """The comparison in one sentence per way of counting."""
    if not kl.classes:
        return "No class has both a picture and a crop in the memory."
    pictures, filed, true = map(_nats, kl.medians)
    summary = (
        f"KL to one-hot, median over {kl.classes} classes: {pictures} for the {kl.pictures_name}, {filed} for the crops "
        f"in the memory; closer in {percent(kl.improved)} of the classes."
    )
    if not kl.classes_true:
        return summary
    closer = f"closer in {percent(kl.improved_true)} of {kl.classes_true}"
    return f"{summary} Counted by the true class of the pictures: {true}, {closer}."
