"""The transport plan of one class, as something to touch: views across, prompts down."""

from __future__ import annotations

import numpy as np

from rita_demo.plots.figure import Figure
from rita_demo.plots.names import percent, safe, short
from rita_demo.plots.theme import (
    COLOURS,
    DIVERGING,
    SIDES,
    axis,
    finish,
    ghost,
    note,
    percents,
    veils,
)
from rita_demo.records import Side, Story

FLAT = 0.05  # a plan whose every cell is this close to an even share is called flat
REACH = 2.0  # colours go from a quarter (2^-2) to four times (2^2) an even share
HEAT, STRIP = (0.30, 1.0), (0.0, 0.20)  # the two panels, as shares of the height
LEFT, LEFT_NARROW = 190, 104  # margins that hold the prompts


def plan_heatmap(
    story: Story,
    side: str,
    k: int,
    *,
    order: str = "entropy",
    selected: tuple[int, int] | None = None,
) -> Figure:
    """T times N times M (over rho) of class ``k``, on a diverging scale around 1, and each view's mass.

    1 means an even share. With partial transport (rho below 1) the share of every view's mass
    that moves stands in the strip below, and a view that is left out shows there as nothing.

    Args:
        story: the record.
        side: ``"clean"`` or ``"attacked"``.
        k: class number.
        order: ``"entropy"`` (surest view first) or ``"index"`` (as drawn).
        selected: ``(view, atom)`` to frame, the other views go pale; atom -1 frames the view in the strip.

    Returns:
        A figure whose cells carry ``customdata = (view, atom, times even, cost, mass)`` and whose
        bars carry ``(view, -1, share moved)``.
    """
    one: Side = getattr(story, side)
    transport = one.trace.prompt
    views = view_order(one, order)
    even = even_shares(story, side, k)[views]
    atoms = np.flatnonzero(np.asarray(transport.column_weight)[k] > 0)
    figure = Figure()
    _draw_cells(figure, story, one, k, views, atoms, even)
    _draw_strip(figure, one, k, views)
    verdict = flatness(story, side, k)
    title = f"<b>{short(story.bank.names[k], 30)}</b>, {SIDES[side]['title'].lower()} picture. "
    heads = [
        note(title + verdict, 0, 1, yshift=6, xshift=8 - LEFT),
        note("share of each view that moves", 0, STRIP[1], yshift=3),
    ]
    return finish(
        figure,
        kind="plan_heatmap",
        alt=f"Transport plan of {story.bank.names[k]}, {side} picture. {verdict}",
        pickable=True,
        wrap=[0],
        narrow=_narrow(story, k, atoms),
        annotations=heads,
        shapes=_frame(views, atoms, selected),
        bargap=0.15,
        barmode="overlay",
        margin={"l": LEFT, "r": 64, "t": 58, "b": 34},
        **_axes(story, k, views, atoms, order),
    )


def view_order(side: Side, order: str) -> np.ndarray:
    """View numbers as they stand from left to right: by entropy, or as drawn."""
    entropy = np.asarray(side.trace.confidence.entropy)
    return np.argsort(entropy, kind="stable") if order == "entropy" else np.arange(len(entropy))


def even_shares(story: Story, side: str, k: int) -> np.ndarray:
    """(N, M of the atoms that count): T over the product of its marginals; 1 = an even share.

    The columns hold rho times the prompts' weights, so with uniform weights this is T N M / rho.
    """
    transport = getattr(story, side).trace.prompt
    columns = np.asarray(transport.column_weight, float)[k]
    atoms = np.flatnonzero(columns > 0)
    product = np.outer(np.asarray(transport.row_weight, float)[k], columns[atoms])
    return np.asarray(transport.plan, float)[k][:, atoms] / np.maximum(product, 1e-30)


def moved_shares(side: Side, k: int) -> np.ndarray:
    """(N,): which share of its own mass each view moves to class ``k``, in [0, 1]."""
    transport = side.trace.prompt
    weight = np.asarray(transport.row_weight, float)[k]
    return np.clip(np.asarray(transport.plan, float)[k].sum(1) / np.maximum(weight, 1e-30), 0, 1)


def flatness(story: Story, side: str, k: int) -> str:
    """One or two sentences, computed from the plan: is there something to see, and if not, why."""
    even = even_shares(story, side, k)
    off = float(np.abs(even - 1).max())
    blur, rho = story.settings.entropy_weight, float(getattr(story, side).trace.prompt.mass)
    if off < FLAT:
        return (
            f"Flat: every cell is within {percent(max(off, 1e-4), 2 if off < 0.01 else 1)} of an even "
            f"share. λ\u00a0=\u00a0{blur:g} blurs the small differences in cost away: the distance is the mean "
            "cost over views and prompts."
        )
    even_words = "Nearly even. " if off < 0.3 else ""
    left = int((moved_shares(getattr(story, side), k) < 0.05).sum())
    words = f"{even_words}Cells carry from {even.min():.2f} to {even.max():.2f} times an even share (λ\u00a0=\u00a0{blur:g})."
    if rho < 1:
        words += (
            f" Only {percent(rho)} of the mass must move: {left} of {len(even)} views are left out."
        )
    return words


def _draw_cells(
    figure: Figure, story: Story, side: Side, k: int, views: np.ndarray, atoms: np.ndarray,
    even: np.ndarray,
) -> None:  # fmt: skip
    transport, confidence = side.trace.prompt, side.trace.confidence
    cost = np.asarray(transport.cost, float)[k]
    plan = np.asarray(transport.plan, float)[k]
    names, prompts = story.bank.names, story.bank.prompts[k]
    data, text = [], []
    for j, m in enumerate(atoms):
        data.append(
            [[int(n), int(m), float(even[i, j]), float(cost[n, m]), float(plan[n, m])]
             for i, n in enumerate(views)]
        )  # fmt: skip
        sentence = safe(prompts[m] if m < len(prompts) else f"prompt {m + 1}", 60)
        text.append(
            [f"view {n}: says {short(names[int(confidence.label[n])], 30)}, entropy "
             f"{confidence.entropy[n]:.2f} nats<br>“{sentence}”" for n in views]
        )  # fmt: skip
    colour = np.clip(np.log2(np.maximum(even.T, 1e-9)), -REACH, REACH)
    ticks = [-2, -1, 0, 1, 2]
    figure.add_heatmap(
        z=colour, x=list(range(len(views))), y=list(range(len(atoms)))[::-1],
        zmin=-REACH, zmax=REACH, colorscale=DIVERGING, xgap=1, ygap=1, customdata=data, text=text,
        hovertemplate=(
            "%{text}<br>%{customdata[2]:.3f} × an even share<br>cost %{customdata[3]:.4f} "
            "(cosine distance)<extra></extra>"
        ),
        colorbar={
            "len": HEAT[1] - HEAT[0], "y": sum(HEAT) / 2, "thickness": 10, "x": 1.01, "outlinewidth": 0,
            "tickvals": ticks, "ticktext": ["≤¼×", "½×", "1× even", "2×", "≥4×"],
            "tickfont": {"size": 11, "color": COLOURS["quiet"]},
        },
    )  # fmt: skip


def _draw_strip(figure: Figure, side: Side, k: int, views: np.ndarray) -> None:
    moved = moved_shares(side, k)
    figure.add_bar(
        x=list(range(len(views))),
        y=[100 * float(moved[n]) for n in views],
        yaxis="y2",
        marker={"color": COLOURS["defence"], "line": {"width": 0}},
        hoverinfo="skip",
    )
    data = [[int(n), -1, float(moved[n])] for n in views]
    hover = "view %{customdata[0]}: %{customdata[2]:.1%} of its mass moves<extra></extra>"
    figure.add_trace(ghost(list(range(len(views))), 100, data, hover, yaxis="y2"))


def _axes(story: Story, k: int, views: np.ndarray, atoms: np.ndarray, order: str) -> dict:
    count = len(views)
    step = max(1, count // 8)
    sentences = story.bank.prompts[k]
    title = "views, surest (lowest entropy) first" if order == "entropy" else "views, as drawn"
    return {
        "xaxis": axis(
            range=[-0.5, count - 0.5], showgrid=False, anchor="y2", title=title,
            tickvals=list(range(0, count, step)) if order == "index" else [], ticks="",
        ),
        "yaxis": axis(
            range=[-0.5, len(atoms) - 0.5], showgrid=False, domain=HEAT, ticks="",
            tickvals=list(range(len(atoms)))[::-1],
            ticktext=[_sentence(sentences, m, 26) for m in atoms],
            tickfont={"size": 12 if len(atoms) <= 8 else 8, "color": COLOURS["text"]},
        ),
        "yaxis2": axis(
            range=[0, 100], domain=STRIP, anchor="x", fixedrange=True,
            **percents(0, 100),
        ),
    }  # fmt: skip


def _sentence(sentences: tuple[str, ...], atom: int, letters: int) -> str:
    """A prompt as an axis label; its full text is in the hover."""
    return short(sentences[atom] if atom < len(sentences) else f"prompt {atom + 1}", letters)


def _frame(views: np.ndarray, atoms: np.ndarray, selected: tuple[int, int] | None) -> list[dict]:
    if selected is None or selected[0] not in views:
        return []
    i = int(np.flatnonzero(views == selected[0])[0])
    box = {"type": "rect", "x0": i - 0.5, "x1": i + 0.5, "fillcolor": "rgba(0,0,0,0)"}
    line = {"line": {"color": COLOURS["text"], "width": 2}}
    shown = [*veils(i, len(views)), box | line | {"yref": "y2", "y0": 0, "y1": 100}]
    if selected[1] not in atoms:
        return shown
    row = len(atoms) - 1 - int(np.flatnonzero(atoms == selected[1])[0])
    return [*shown, box | line | {"y0": row - 0.5, "y1": row + 0.5}]


def _narrow(story: Story, k: int, atoms: np.ndarray) -> dict:
    sentences = story.bank.prompts[k]
    return {
        "margin": {"l": LEFT_NARROW, "r": 10, "t": 96, "b": 70},
        "data.0.xgap": 0,
        "data.0.colorbar.orientation": "h",
        "data.0.colorbar.len": 1.0,
        "data.0.colorbar.x": 0.5,
        "data.0.colorbar.y": -0.34,
        "yaxis.tickfont.size": 11,
        "yaxis.ticktext": [_sentence(sentences, m, 14) for m in atoms],
        "annotations.0.xshift": 8 - LEFT_NARROW,
    }
