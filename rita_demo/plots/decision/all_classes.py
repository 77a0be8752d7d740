"""The mass of every class at once: views or prompts across, classes down, cheapest first."""

import numpy as np

from rita_demo.plots.decision.cells import (
    MASS_SCALE,
    VIEWS_TITLE,
    cell_data,
    cost_scale,
    moved_shares,
    position,
    side_title,
    view_axis,
    view_order,
)
from rita_demo.plots.figure import Figure
from rita_demo.plots.labels import escaped, percent, reference_tag
from rita_demo.plots.shapes import dim_columns, frame, ticks
from rita_demo.plots.theme import COLOURS, SIDE_STYLES, annotation, axis, finalise
from rita_demo.records import Run

MAX_ROWS = 200
MAX_LABELS = 24  # rows that have space for a name each


def class_order(run: Run) -> np.ndarray:
    """Class numbers from top to bottom: cheapest on the delivered picture first, at most 200."""
    return np.argsort(np.asarray(run.attacked.trace.total), kind="stable")[:MAX_ROWS]


def all_views(run: Run, side: str, *, k: int | None = None, view: int | None = None) -> Figure:
    """The share of its own mass that each view (across) moves to every class (down), 0 to 100 %.

    Cells carry ``customdata = (view, class)``."""
    one = getattr(run, side)
    classes, views = class_order(run), view_order(run.attacked)
    figure = Figure()
    figure.add_heatmap(
        z=np.round(np.stack([moved_shares(one, int(c))[views] for c in classes]), 5),
        customdata=cell_data(views, classes),
        hovertemplate="%{text}: %{z:.1%} of the view moves<extra></extra>",
        text=[[escaped(run.class_prompts.names[c], 24)] * len(views) for c in classes],
        **MASS_SCALE,
    )
    head = f"share of each view that moves, ρ = {percent(float(one.trace.prompt_transport.mass))}"
    return _finalise(figure, run, side, "all_views", head, VIEWS_TITLE, k, position(views, view))


def all_prompts(run: Run, side: str, *, k: int | None = None) -> Figure:
    """The mean cost of the mass that every prompt (across) of every class (down) receives.

    Cells carry ``customdata = class``; their text names the share of the mass."""
    classes, mass, price = class_order(run), {}, {}
    for name in SIDE_STYLES:
        solved = getattr(run, name).trace.prompt_transport
        plan = np.asarray(solved.plan, float)[classes]
        mass[name] = received = plan.sum(1) / float(solved.mass)
        paid = (plan * np.asarray(solved.cost, float)[classes]).sum(1) / float(solved.mass)
        price[name] = np.where(received > 0, paid / np.maximum(received, 1e-30), np.nan)
    shares, names = mass[side], [escaped(run.class_prompts.names[c], 24) for c in classes]
    figure = Figure()
    figure.add_heatmap(
        z=np.round(price[side], 5),
        customdata=np.repeat(classes[:, None], shares.shape[1], 1).astype(np.int32),
        hovertemplate="%{text}, mean cost %{z:.4f} (cosine distance)<extra></extra>",
        text=[
            [f"{name}, prompt {m + 1}: {percent(share, 1)} of the mass" for m, share in enumerate(row)]
            for name, row in zip(names, shares, strict=True)
        ],
        **cost_scale(list(price.values())),
    )
    each = " to ".join(dict.fromkeys((percent(shares.min()), percent(shares.max()))))
    head = f"mean cost of the mass that a prompt receives (cosine distance); each receives {each} of the mass"
    return _finalise(figure, run, side, "all_prompts", head, "prompts of the class, in their order", k, None)


def _finalise(
    figure: Figure, run: Run, side: str, kind: str, head: str, across: str, k: int | None, column: int | None
) -> Figure:
    classes = class_order(run)
    count, width, row = len(classes), len(figure.traces[0]["text"][0]), position(classes, k)
    rest = len(run.class_prompts.names) - count
    down = f"{count} classes, cheapest first" + (f" ({rest} more)" if rest else "")
    shapes = []
    if row is not None:
        shapes.append(frame((-0.5, width - 0.5), (row - 0.5, row + 0.5), 1.5))
    if column is not None:
        shapes += [*dim_columns(column, width), frame((column - 0.5, column + 0.5), (-0.5, count - 0.5), 1.5)]
    places, named = _labels(run, classes, row)
    font = {"size": 11, "color": COLOURS["text"]}
    return finalise(
        figure,
        kind=kind,
        marks=("view", "k") if kind == "all_views" else ("k",),
        shapes=shapes,
        plot_bgcolor=COLOURS["faint"],
        alt=f"{SIDE_STYLES[side]['title']} picture, {head}, for {down}. Marked rows: {', '.join(named)}.",
        annotations=[annotation(side_title(side, head), 0, 1, yshift=14, xshift=-126)],
        narrow_top=76,
        margin={"l": 138, "r": 52, "t": 54, "b": 30},
        xaxis=view_axis(width, across),
        yaxis=axis(range=[count - 0.5, -0.5], title=down, showgrid=False, tickfont=font, **ticks(places, named)),
    )


def _labels(run: Run, classes: np.ndarray, selected: int | None) -> tuple[list[float], list[str]]:
    """Positions and texts of the row labels: all rows, or among many only the selected class, CLIP's answer under
    attack and the reference class. Labels that would overlap share a position."""
    tags = {} if selected is None else {int(classes[selected]): "chosen ▸ "}
    if run.attack is not None:
        tags[run.attacked.verdicts["clip"].label] = "attack ▸ "
    tags[run.label] = f"{reference_tag(run)} ▸ "
    crowded = len(classes) > MAX_LABELS
    groups: list[list[tuple[int, str]]] = []
    for row, c in enumerate(classes.tolist()):
        if crowded and c not in tags:
            continue
        line = (row, tags.get(c, "") + escaped(run.class_prompts.names[c], 12))
        if crowded and groups and row - groups[-1][-1][0] < 2 * len(classes) / MAX_LABELS:
            groups[-1].append(line)
        else:
            groups.append([line])
    places = [float(np.mean([row for row, _ in group])) for group in groups]
    return places, ["<br>".join(words for _, words in group) for group in groups]
