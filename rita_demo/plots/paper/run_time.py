"""Seconds per picture of every method."""

from collections.abc import Sequence

from rita_demo.defences.registry import DEFENCES
from rita_demo.plots.axes import category_axis, label_width
from rita_demo.plots.figure import Figure
from rita_demo.plots.theme import COLOURS, annotation, axis, finalise, legend_entry, message_figure
from rita_demo.records.measurement import RunTime

PARTS = (("views", "other", "cutting and encoding the views"), ("own", "defence", "the method itself"))


def run_times(times: Sequence[RunTime], about: str) -> Figure:
    """A row per method, fastest on top: the seconds of its views and its own, end to end.

    Marks carry ``customdata = (hover text,)``. ``about``: what was measured, plain text.
    """
    if not times:
        return message_figure("No measured run has times. Measure one with evaluate.")
    rows = sorted(times, key=lambda one: one.views + one.own, reverse=True)
    titles = [DEFENCES[one.method].title for one in rows]
    most = max(one.views + one.own for one in rows)
    figure, data = Figure(), []
    for one, title in zip(rows, titles, strict=True):
        data.append([f"{title}: views {one.views:.3f} s, method {one.own:.3f} s, n = {one.n}"])
    for field, role, name in PARTS:
        figure.add_bar(
            orientation="h",
            x=[getattr(one, field) for one in rows],
            y=list(range(len(rows))),
            base=[one.views if field == "own" else 0 for one in rows],
            width=0.7,
            name=name,
            marker={"color": COLOURS[role]},
            customdata=data,
            hovertemplate="%{customdata[0]}<extra></extra>",
        )
    totals = [
        annotation(f"{one.views + one.own:.2f} s", one.views + one.own, at, xref="x", yref="y", xshift=4)
        | {"yanchor": "middle"}
        for at, one in enumerate(rows)
    ]
    legend = "   ".join(legend_entry(COLOURS[role], "■", name) for _, role, name in PARTS)
    return finalise(
        figure,
        kind="run time",
        alt=f"{about}. Seconds per picture: "
        + "; ".join(f"{title} {one.views + one.own:.3f}" for title, one in zip(titles, rows, strict=True))
        + ".",
        wrap=[0],
        narrow={"margin.t": 64},
        annotations=[annotation(f"{about}:   {legend}", 0, 1, yshift=8, xshift=-label_width(titles)), *totals],
        barmode="overlay",
        margin={"l": label_width(titles), "r": 12, "t": 40, "b": 46},
        xaxis=axis(title="median seconds per picture, attack not included", range=[0, 1.15 * most]),
        yaxis=category_axis(titles),
    )
