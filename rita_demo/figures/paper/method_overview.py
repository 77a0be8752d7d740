"""The method on one picture: the picture, its crops, the transport plan of the answer, and what every class costs."""

import numpy as np

from rita_demo.figures.decision.views import view_order
from rita_demo.figures.figure import Figure, Spec
from rita_demo.figures.labels import escaped, legend
from rita_demo.figures.shapes import category_axis
from rita_demo.figures.theme import COLOURS, annotation, axis, finalise
from rita_demo.records import ImageResult, Run

CROPS_SHOWN = 16  # the surest, in four rows
VIEWS_IN_PLAN, PROMPTS_IN_PLAN, CLASSES = 8, 4, 4
THICKEST = 7.0  # pixels of the heaviest line of the plan
COLUMNS, ROWS = ((0.0, 0.4), (0.62, 1.0)), ((0.58, 0.92), (0.06, 0.4))  # domains of the four panels


def shown_views(run: Run, side: str) -> np.ndarray:
    """The indices of the crops that the figure shows, surest first."""
    return view_order(getattr(run, side))[:CROPS_SHOWN]


def method_overview(run: Run, side: str, picture: str, crops: str) -> Figure:
    """Four panels in the order of the method, of the ``side`` "clean" or "attacked".

    ``picture``: it as a data URI; ``crops``: those of :func:`shown_views` on one square picture, four in a row, likewise.
    """
    one: ImageResult = getattr(run, side)
    names, trace = run.class_prompts.names, one.trace
    best = int(trace.verdict.label)
    figure = Figure()
    # the plan of the answer: lines between some crops and some sentences, as thick as the mass that moves
    transport, views = trace.prompt_transport, view_order(one)[:VIEWS_IN_PLAN]
    prompts = np.flatnonzero(transport.column_weight[best] > 0)[:PROMPTS_IN_PLAN]
    mass = transport.plan[best][np.ix_(views, prompts)]
    left, right = (np.linspace(0.95, 0.05, len(some)) for some in (views, prompts))
    for i, j in np.ndindex(mass.shape):
        width = THICKEST * float(mass[i, j] / max(mass.max(), 1e-12))
        if width >= 0.2:
            ends = {"x": [0.08, 0.92], "y": [left[i], right[j]], "xaxis": "x3", "yaxis": "y3"}
            figure.add_line(COLOURS["defence"], width, **ends, opacity=0.45)
    for x, y, role, symbol in ((0.08, left, "text", "circle"), (0.92, right, "defence", "square")):
        marker = {"size": 9, "color": COLOURS[role], "symbol": symbol}
        figure.add_scatter(x=[x] * len(y), y=y, xaxis="x3", yaxis="y3", mode="markers", hoverinfo="skip", marker=marker)
    order = np.argsort(trace.total, kind="stable")[:CLASSES].tolist()
    total, cached = trace.total[order], (run.settings.cache_weight * trace.cache_distance)[order]
    for role, base, values in (("defence", 0 * total, total - cached), ("cache", total - cached, cached)):
        if np.any(values > 0):
            figure.add_bar(
                orientation="h",
                x=values.astype(float),
                base=base.astype(float),
                y=list(range(len(order)))[::-1],
                width=0.6,
                xaxis="x4",
                yaxis="y4",
                marker={"color": COLOURS[role]},
                hoverinfo="skip",
            )
    kept = int(trace.confidence.kept.sum())
    clip = escaped(names[one.verdicts["clip"].label], 22)
    notes = (
        ("", f"<b>1</b> {'The attacked picture' if side == 'attacked' else 'The picture'}", f"CLIP says: {clip}"),
        ("2", f"<b>2</b> {len(trace.confidence.entropy)} crops of it", f"the surest {CROPS_SHOWN}; {kept} are kept"),
        ("3", "<b>3</b> The cheapest transport", f"crops to sentences of “{escaped(names[best], 18)}”"),
        ("4", "<b>4</b> Cost of every class", f"the lowest: {escaped(names[best], 18)}"),
    )
    entries = (("defence", "■", "crops to sentences"), ("cache", "■", "crops to the memory"))
    texts = [
        annotation(panel[part], 0, 1, xref=f"x{panel[0]} domain", yref=f"y{panel[0]} domain", yshift=shift, font=font)
        for part, shift, font in (
            (1, 20, {"size": 12, "color": COLOURS["text"]}),
            (2, 4, {"size": 11, "color": COLOURS["quiet"]}),
        )
        for panel in notes
    ]
    whole: Spec = {"x": 0, "y": 1, "sizex": 1, "sizey": 1, "xanchor": "left", "yanchor": "top", "sizing": "contain"}
    whole |= {"layer": "above"}
    picture_axis: Spec = {"visible": False, "range": [0, 1]}
    layout: Spec = {}
    for number, (at, *_) in enumerate(notes):
        layout[f"xaxis{at}"] = axis(**picture_axis, domain=COLUMNS[number % 2], anchor=f"y{at}")
        layout[f"yaxis{at}"] = axis(**picture_axis, domain=ROWS[number // 2], anchor=f"x{at}")
    place = {"range": [0, 1.05 * float(total.max())], "nticks": 3, "domain": COLUMNS[1], "anchor": "y4"}
    layout["xaxis4"] = axis(visible=True, title="cosine distance", **place)
    costs = [f"{names[k]} {trace.total[k]:.3f}" for k in order]
    titles = [escaped(names[k], 14) for k in reversed(order)]
    layout["yaxis4"] = category_axis(titles, size=12, domain=ROWS[1], anchor="x4")
    return finalise(
        figure,
        kind="overview",
        alt=f"{' '.join(f'{title} {note}.' for _, title, note in notes)} Costs: {', '.join(costs)}.",
        images=[
            whole | {"source": uri, "xref": f"x{at}", "yref": f"y{at}"} for uri, at in ((picture, ""), (crops, "2"))
        ],
        annotations=[*texts, annotation(legend(entries), 1, 0, xanchor="right", yanchor="top", yshift=-28)],
        barmode="overlay",
        margin={"l": 8, "r": 12, "t": 24, "b": 62},
        **layout,
    )
