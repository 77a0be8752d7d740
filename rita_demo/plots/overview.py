"""Who carries mass in every class at once: views across, or prompts across, classes down, cheapest first."""

from __future__ import annotations

import numpy as np

from rita_demo.plots.figure import Figure
from rita_demo.plots.inside import RISING
from rita_demo.plots.names import percent, right_tag, safe, short
from rita_demo.plots.plan import moved_shares, view_order
from rita_demo.plots.theme import COLOURS, SIDES, axis, finish, note, veils
from rita_demo.records import Story

MOST_ROWS = 200
MOST_NAMED = 24  # rows that have room for a name each


def class_order(story: Story) -> np.ndarray:
    """Class numbers from top to bottom: cheapest on the delivered picture first, at most 200."""
    return np.argsort(np.asarray(story.attacked.trace.total), kind="stable")[:MOST_ROWS]


def all_views(story: Story, side: str, *, k: int | None = None, view: int | None = None) -> Figure:
    """Which share of its own mass each view (across) moves to every class (down), 0 to 100 %.

    Returns:
        A figure whose cells carry ``customdata = class * N + view``.
    """
    one = getattr(story, side)
    classes, views = class_order(story), view_order(story.attacked, "entropy")
    share = np.stack([moved_shares(one, int(c))[views] for c in classes])
    rho = percent(float(one.trace.prompt.mass))
    head = f"share of each view that moves, ρ = {rho}"
    hover = "%{text}: %{z:.1%} of the view moves<extra></extra>"
    codes = classes[:, None] * len(views) + views
    scale = {
        "zmin": 0,
        "zmax": 1,
        "colorscale": [[0.0, COLOURS["surface"]], [1.0, COLOURS["defence"]]],
    }
    ticks = {"tickvals": [0, 0.5, 1], "ticktext": ["0 %", "50 %", "100 %"]}
    figure = _heatmap(story, classes, share, codes, scale, ticks, hover)
    chosen = (_place(classes, k), _place(views, view))
    return _finished(
        figure, story, side, "all_views", head, classes, "views, surest of the delivered picture first", chosen,
        len(views),
    )  # fmt: skip


def all_prompts(story: Story, side: str, *, k: int | None = None) -> Figure:
    """What every prompt (across) of every class (down) pays per unit of the mass it receives.

    Returns:
        A figure whose cells carry ``customdata = class`` and say the share of the mass in words.
    """
    mass, price = {}, {}
    for name in SIDES:
        moved = getattr(story, name).trace.prompt
        plan = np.asarray(moved.plan, float)
        mass[name] = plan.sum(1) / float(moved.mass)
        paid = (plan * np.asarray(moved.cost, float)).sum(1) / float(moved.mass)
        price[name] = np.where(mass[name] > 0, paid / np.maximum(mass[name], 1e-30), np.nan)
    classes = class_order(story)
    seen = np.concatenate([p[classes].ravel() for p in price.values()])
    low, high = float(np.nanmin(seen)), float(np.nanmax(seen))
    shares = mass[side][classes]
    low_share, high_share = percent(shares.min()), percent(shares.max())
    each = low_share if low_share == high_share else f"{low_share} to {high_share}"
    head = (
        f"mean cost of what a prompt receives (cosine distance); each receives {each} of the mass"
    )
    words = [
        [f"{safe(story.bank.names[c], 24)}, prompt {m + 1}: {percent(shares[i, m], 1)} of the mass"
         for m in range(shares.shape[1])] for i, c in enumerate(classes)
    ]  # fmt: skip
    codes = np.repeat(classes[:, None], shares.shape[1], 1)
    scale = {"zmin": low, "zmax": max(high, low + 1e-6), "colorscale": RISING}
    hover = "%{text}, mean cost %{z:.4f} (cosine distance)<extra></extra>"
    figure = _heatmap(
        story, classes, price[side][classes], codes, scale, {"nticks": 4}, hover, words
    )
    return _finished(
        figure, story, side, "all_prompts", head, classes, "prompts of the class, in their order",
        (_place(classes, k), None), shares.shape[1],
    )  # fmt: skip


def _place(order: np.ndarray, number: int | None) -> int | None:
    found = [] if number is None else np.flatnonzero(order == number).tolist()
    return found[0] if found else None


def _heatmap(
    story: Story, classes: np.ndarray, values: np.ndarray, codes: np.ndarray, scale: dict, ticks: dict,
    hover: str, words: list | None = None,
) -> Figure:  # fmt: skip
    names = [safe(story.bank.names[c], 24) for c in classes]
    figure = Figure()
    figure.add_heatmap(
        z=np.round(values, 5), customdata=codes.astype(np.int32), hovertemplate=hover,
        text=words or [[name] * values.shape[1] for name in names],
        colorbar={"thickness": 8, "x": 1.01, "outlinewidth": 0,
                  "tickfont": {"size": 11, "color": COLOURS["quiet"]}} | ticks,
        **scale,
    )  # fmt: skip
    return figure


def _finished(
    figure: Figure, story: Story, side: str, kind: str, head: str, classes: np.ndarray, across: str,
    chosen: tuple[int | None, int | None], width: int,
) -> Figure:  # fmt: skip
    count, row, column = len(classes), *chosen
    rest = len(story.bank.names) - count
    down = f"{count} classes, cheapest first" + (f" ({rest} more)" if rest else "")
    title = f'<b style="color:{SIDES[side]["colour"]}">{SIDES[side]["title"]}</b>  {head}'
    line = {
        "type": "rect",
        "line": {"color": COLOURS["text"], "width": 1.5},
        "fillcolor": "rgba(0,0,0,0)",
    }
    shapes = []
    if row is not None:
        shapes.append(line | {"x0": -0.5, "x1": width - 0.5, "y0": row - 0.5, "y1": row + 0.5})
    if column is not None:
        shapes += veils(column, width)
        shapes.append(
            line | {"x0": column - 0.5, "x1": column + 0.5, "y0": -0.5, "y1": count - 0.5}
        )
    places, named = _labels(story, classes, row)
    return finish(
        figure, kind=kind, pickable=True, wrap=[0], shapes=shapes, plot_bgcolor=COLOURS["faint"],
        alt=f"{SIDES[side]['title']} picture, {head}, for {down}. Marked rows: {', '.join(named)}.",
        annotations=[note(title, 0, 1, yshift=14, xshift=-126)], narrow={"margin.t": 76},
        margin={"l": 138, "r": 52, "t": 54, "b": 30},
        xaxis=axis(range=[-0.5, width - 0.5], tickvals=[], showgrid=False, title=across),
        yaxis=axis(range=[count - 0.5, -0.5], tickvals=places, ticktext=named,
                   showgrid=False, title=down, tickfont={"size": 11, "color": COLOURS["text"]}),
    )  # fmt: skip


def _labels(story: Story, classes: np.ndarray, chosen: int | None) -> tuple[list[float], list[str]]:
    """Where a row's name stands, and the name: of all rows where there is room, else of those looked for
    (chosen, CLIP's answer under attack, what counts as right). Names that would touch share a place."""
    tags = {} if chosen is None else {int(classes[chosen]): "chosen ▸ "}
    if story.attack is not None:
        tags[story.attacked.verdicts["clip"].label] = "attack ▸ "
    tags[story.label] = f"{right_tag(story)} ▸ "
    crowded = len(classes) > MOST_NAMED
    groups: list[list[tuple[int, str]]] = []
    for row, c in enumerate(int(c) for c in classes):
        if crowded and c not in tags:
            continue
        line = (row, tags.get(c, "") + short(story.bank.names[c], 12))
        if crowded and groups and row - groups[-1][-1][0] < 2 * len(classes) / MOST_NAMED:
            groups[-1].append(line)
        else:
            groups.append([line])
    places = [float(np.mean([row for row, _ in group])) for group in groups]
    return places, ["<br>".join(words for _, words in group) for group in groups]
