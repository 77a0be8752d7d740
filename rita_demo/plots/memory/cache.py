"""The cache's share in a decision."""

import numpy as np

from rita_demo.plots.decision.costs import shown_classes
from rita_demo.plots.figure import Figure
from rita_demo.plots.labels import escaped
from rita_demo.plots.shapes import category_axis, outlined, row_band
from rita_demo.plots.theme import COLOURS, annotation, axis, finalise
from rita_demo.records import Run, Trace

MIN_CHANGE = 5e-5  # a smaller change of a cosine distance rounds to nothing


def cache_distances(run: Run, empty: Trace, selected: int | None = None, *, full: Trace | None = None) -> Figure:
    """d_cOT of the delivered picture with the cache (purple) and with an empty one (grey ring), per class.

    ``empty``: the delivered picture of the run decided with an empty cache; ``full``: with another cache than the run's;
    ``selected``: a class to mark with a band. The class that changes most is always shown. Marks carry ``customdata = (class, d_cOT, views in the cache, name)``."""
    full = full or run.attacked.trace
    change = np.abs(np.asarray(full.cache_distance) - np.asarray(empty.cache_distance))
    most = [int(change.argmax())] if change.max() >= MIN_CHANGE else []
    shown, names = list(dict.fromkeys([*shown_classes(run, selected, 10), *most])), run.class_prompts.names
    place = {k: len(shown) - 1 - i for i, k in enumerate(shown)}
    then, now = (np.asarray(trace.cache_distance, float)[shown].tolist() for trace in (empty, full))
    figure, changes = Figure(), []
    for k, *ends in zip(shown, then, now, strict=True):
        figure.add_line(COLOURS["cache"], 2, x=ends, y=[place[k]] * 2)
        if abs(ends[1] - ends[0]) >= MIN_CHANGE:
            changes.append(f"{names[k]} {ends[1]:.4f} instead of {ends[0]:.4f}")
    for trace, distance, name, marker in (
        (empty, then, "empty memory", outlined("circle-open", COLOURS["quiet"], 10)),
        (full, now, "with the memory", outlined("diamond", COLOURS["cache"], 10)),
    ):
        figure.add_marks(
            f"%{{customdata[3]}}<br>{name}: d_cOT %{{x:.4f}}, %{{customdata[2]}} views held",
            x=distance,
            y=list(place.values()),
            name=name,
            customdata=[[k, d, int(trace.cache.count[k]), escaped(names[k])] for k, d in zip(shown, distance)],
            marker=marker,
        )
    words = f'<span style="color:{COLOURS["cache"]}">◆ with the memory</span>   ○ with an empty one'
    alt = f"Cost of the memory with and without its views: {'; '.join(changes)}."
    return finalise(
        figure,
        kind="cache_distances",
        alt=alt if changes else "None of the classes shown changes.",
        marks=("k",),
        annotations=[annotation(words, 0, 1, yshift=8, xshift=-120)],
        shapes=row_band(None if selected is None else place.get(selected)),
        margin={"l": 130, "r": 16, "t": 34, "b": 44},
        xaxis=axis(title="cost in the memory (cosine distance)", nticks=6),
        yaxis=category_axis([escaped(names[k], 16) for k in reversed(shown)]),
    )
