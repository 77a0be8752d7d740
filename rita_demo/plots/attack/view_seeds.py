"""Right and wrong answers of every method over repeats with other view seeds."""

from __future__ import annotations

from collections.abc import Sequence

from rita_demo.plots.figure import Figure
from rita_demo.plots.labels import escaped
from rita_demo.plots.theme import (
    COLOURS,
    METHOD_STYLES,
    annotation,
    axis,
    category_axis,
    finalise,
    label_width,
    message_figure,
)
from rita_demo.records import Run, ViewSeedResult


def view_seed_results(run: Run, repeats: Sequence[ViewSeedResult]) -> Figure:
    """Right or wrong answers with every view seed, one row per method, with the count.

    Returns:
        A figure whose marks carry ``customdata = (seed, hover text)``.
    """
    if not repeats:
        return message_figure("Other view seeds have not been tried yet.")
    methods = [m for m in METHOD_STYLES if any(m in r.verdicts for r in repeats)][::-1]
    titles = [METHOD_STYLES[m]["title"] for m in methods]
    figure, counts = Figure(), []
    for row, (method, title) in enumerate(zip(methods, titles, strict=True)):
        answers = [
            (i, int(r.seed), int(r.verdicts[method].label)) for i, r in enumerate(repeats) if method in r.verdicts
        ]
        right = [k == run.label for *_, k in answers]
        counts.append((sum(right), len(right)))
        colour = METHOD_STYLES[method]["colour"]
        figure.add_scatter(
            x=[i for i, *_ in answers],
            y=[row] * len(answers),
            mode="markers",
            customdata=[
                [seed, f"{title}, view seed {seed}: {escaped(run.class_prompts.names[k], 50)}"]
                for _, seed, k in answers
            ],
            name=title,
            hovertemplate="%{customdata[1]}<extra></extra>",
            marker={
                "symbol": ["circle" if r else "x-thin" for r in right],
                "size": 11,
                "color": colour,
                "line": {"width": 2, "color": colour},
            },
            cliponaxis=False,
        )
    place = {"yref": "y", "xshift": 8, "yanchor": "middle", "font": {"size": 13, "color": COLOURS["text"]}}
    notes = [annotation(f"<b>{right}</b> of {n}", 1, row, **place) for row, (right, n) in enumerate(counts)]
    summary = ", ".join(f"{title} {right} of {n}" for title, (right, n) in zip(titles[::-1], counts[::-1], strict=True))
    return finalise(
        figure,
        kind="draws",
        alt=f"Right answers over view seeds: {summary}.",
        pickable=True,
        annotations=[annotation("● right   × wrong", 0, 1, yshift=6), *notes],
        margin={"l": label_width(titles), "r": 70, "t": 30, "b": 36},
        xaxis=axis(range=[-0.5, len(repeats) - 0.5], tickvals=[], showgrid=False, title=f"{len(repeats)} view seeds"),
        yaxis=category_axis(titles),
    )
