"""Right and wrong answers of every method over repeats with other view seeds."""

from collections.abc import Sequence

from rita_demo.defences.registry import DEFENCES
from rita_demo.plots.axes import category_axis, label_width
from rita_demo.plots.figure import Figure
from rita_demo.plots.labels import escaped
from rita_demo.plots.shapes import outlined
from rita_demo.plots.theme import COLOURS, annotation, axis, finalise, message_figure, method_colour
from rita_demo.records import Run, ViewSeedResult


def view_seed_results(run: Run, repeats: Sequence[ViewSeedResult]) -> Figure:
    """Right or wrong answers with every view seed, one row per method, with the count.

    Marks carry ``customdata = (seed, hover text)``.
    """
    if not repeats:
        return message_figure("Other view seeds have not been tried yet.")
    methods = [m for m in DEFENCES if any(m in r.verdicts for r in repeats)][::-1]
    titles = [DEFENCES[m].title for m in methods]
    notes = [annotation("● right   × wrong", 0, 1, yshift=6)]
    place = {"yref": "y", "xshift": 8, "yanchor": "middle", "font": {"size": 13, "color": COLOURS["text"]}}
    figure, summary = Figure(), []
    for row, (method, title) in enumerate(zip(methods, titles, strict=True)):
        answers = [(i, r.seed, int(r.verdicts[method].label)) for i, r in enumerate(repeats) if method in r.verdicts]
        right = [k == run.label for *_, k in answers]
        figure.add_marks(
            x=[i for i, *_ in answers],
            y=[row] * len(answers),
            customdata=[
                [seed, f"{title}, view seed {seed}: {escaped(run.class_prompts.names[k], 50)}"]
                for _, seed, k in answers
            ],
            name=title,
            marker=outlined(["circle" if r else "x-thin" for r in right], method_colour(method), 11),
            cliponaxis=False,
        )
        notes.append(annotation(f"<b>{sum(right)}</b> of {len(right)}", 1, row, **place))
        summary.append(f"{title} {sum(right)} of {len(right)}")
    return finalise(
        figure,
        kind="draws",
        alt=f"Right answers over view seeds: {', '.join(summary[::-1])}.",
        pickable=True,
        annotations=notes,
        margin={"l": label_width(titles), "r": 70, "t": 30, "b": 36},
        xaxis=axis(range=[-0.5, len(repeats) - 0.5], tickvals=[], showgrid=False, title=f"{len(repeats)} view seeds"),
        yaxis=category_axis(titles),
    )
