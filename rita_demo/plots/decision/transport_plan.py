"""The transport plan of one class as a heatmap: views across, prompts down."""

from __future__ import annotations

import numpy as np

from rita_demo.plots.decision.cells import (
    PLAN_SCALE,
    add_cells,
    colour_bar,
    moved_shares,
    plan_colours,
    position,
    row_axis,
    view_axis,
    view_order,
)
from rita_demo.plots.figure import Figure
from rita_demo.plots.labels import escaped, percent
from rita_demo.plots.shapes import frame
from rita_demo.plots.theme import COLOURS, SIDE_STYLES, annotation, axis, dim_columns, finalise, hit_area, percent_ticks
from rita_demo.records import ImageResult, Run

FLAT_TOLERANCE = 0.05  # a plan whose every cell is this close to an even share is called flat
HEATMAP_DOMAIN, STRIP_DOMAIN = (0.30, 1.0), (0.0, 0.20)  # the two panels, as shares of the height
LEFT_MARGIN, LEFT_MARGIN_NARROW = 190, 104  # margins that hold the prompts


def plan_heatmap(
    run: Run, side: str, k: int, *, order: str = "entropy", selected: tuple[int, int] | None = None
) -> Figure:
    """T times N times M over rho of class ``k`` on a diverging scale around 1 (an even share), and each view's mass.

    The strip below shows the share of every view's mass that moves; with rho < 1 it can be 0.

    Args:
        run: the run.
        side: ``"clean"`` or ``"attacked"``.
        k: class number.
        order: ``"entropy"`` (most confident view first) or ``"index"``.
        selected: ``(view, atom)`` to frame; the other views are dimmed. Atom -1 frames the view in the strip only.

    Returns:
        A figure whose cells carry ``customdata = (view, atom, ratio to an even share, cost, mass)`` and whose bars
        carry ``(view, -1, share moved)``.
    """
    one: ImageResult = getattr(run, side)
    views = view_order(one, order)
    atoms = np.flatnonzero(np.asarray(one.trace.prompt_transport.column_weight)[k] > 0)
    figure = Figure()
    _draw_cells(figure, run, one, k, views, atoms, ratio_of_valid_prompts(run, side, k)[views])
    _draw_strip(figure, one, k, views)
    verdict = flatness(run, side, k)
    title = f"<b>{escaped(run.class_prompts.names[k], 30)}</b>, {SIDE_STYLES[side]['title'].lower()} picture. "
    return finalise(
        figure,
        kind="plan_heatmap",
        alt=f"Transport plan of {run.class_prompts.names[k]}, {side} picture. {verdict}",
        pickable=True,
        wrap=[0],
        narrow=_narrow(run, k, atoms),
        annotations=[
            annotation(title + verdict, 0, 1, yshift=6, xshift=8 - LEFT_MARGIN),
            annotation("share of each view that moves", 0, STRIP_DOMAIN[1], yshift=3),
        ],
        shapes=_selection_shapes(views, atoms, selected),
        bargap=0.15,
        barmode="overlay",
        margin={"l": LEFT_MARGIN, "r": 64, "t": 58, "b": 34},
        xaxis=view_axis(
            len(views),
            "views, most confident (lowest entropy) first" if order == "entropy" else "views by number",
            anchor="y2",
            ticks="",
            tickvals=list(range(0, len(views), max(1, len(views) // 8))) if order == "index" else [],
        ),
        yaxis=row_axis([_prompt_label(run, k, m, 26) for m in atoms.tolist()], 8, domain=HEATMAP_DOMAIN),
        yaxis2=axis(range=[0, 100], domain=STRIP_DOMAIN, anchor="x", fixedrange=True, **percent_ticks(0, 100)),
    )


def ratio_of_valid_prompts(run: Run, side: str, k: int) -> np.ndarray:
    """(N, M of the valid prompts): T over the product of its marginals; 1 = an even share.

    The columns hold rho times the prompts' weights, so with uniform weights this is T N M / rho.
    """
    transport = getattr(run, side).trace.prompt_transport
    columns = np.asarray(transport.column_weight, float)[k]
    atoms = np.flatnonzero(columns > 0)
    product = np.outer(np.asarray(transport.row_weight, float)[k], columns[atoms])
    return np.asarray(transport.plan, float)[k][:, atoms] / np.maximum(product, 1e-30)


def flatness(run: Run, side: str, k: int) -> str:
    """One or two sentences on how far the plan is from an even one, and why."""
    even = ratio_of_valid_prompts(run, side, k)
    off = float(np.abs(even - 1).max())
    weight, rho = run.settings.entropy_weight, float(getattr(run, side).trace.prompt_transport.mass)
    if off < FLAT_TOLERANCE:
        return (
            f"Flat: every cell is within {percent(max(off, 1e-4), 2 if off < 0.01 else 1)} of an even share. "
            f"λ\u00a0=\u00a0{weight:g} is large compared with the differences in cost: the distance is the mean cost over "
            "views and prompts."
        )
    words = f"Cells carry from {even.min():.2f} to {even.max():.2f} times an even share (λ\u00a0=\u00a0{weight:g})."
    if off < 0.3:
        words = f"Nearly even. {words}"
    if rho < 1:
        unused = int((moved_shares(getattr(run, side), k) < 0.05).sum())
        words += f" Only {percent(rho)} of the mass must move: {unused} of {len(even)} views are left out."
    return words


def _draw_cells(
    figure: Figure, run: Run, side: ImageResult, k: int, views: np.ndarray, atoms: np.ndarray, even: np.ndarray
) -> None:
    transport, confidence = side.trace.prompt_transport, side.trace.confidence
    cost, plan = (np.asarray(values, float)[k] for values in (transport.cost, transport.plan))
    answers = [escaped(run.class_prompts.names[int(confidence.label[n])], 30) for n in views]
    add_cells(
        figure,
        plan_colours(even.T),
        len(views),
        len(atoms),
        **PLAN_SCALE,
        customdata=[
            [[int(n), int(m), float(even[i, j]), float(cost[n, m]), float(plan[n, m])] for i, n in enumerate(views)]
            for j, m in enumerate(atoms)
        ],
        text=[
            [
                f"view {n}: answer {answer}, entropy {confidence.entropy[n]:.2f} nats<br>“{_prompt_label(run, k, m, 60)}”"
                for n, answer in zip(views, answers, strict=True)
            ]
            for m in atoms.tolist()
        ],
        hovertemplate="%{text}<br>%{customdata[2]:.3f} × an even share<br>cost %{customdata[3]:.4f} (cosine distance)"
        "<extra></extra>",
        colorbar=colour_bar(
            len=HEATMAP_DOMAIN[1] - HEATMAP_DOMAIN[0],
            y=sum(HEATMAP_DOMAIN) / 2,
            thickness=10,
            tickvals=[-2, -1, 0, 1, 2],
            ticktext=["≤¼×", "½×", "1× even", "2×", "≥4×"],
        ),
    )


def _draw_strip(figure: Figure, side: ImageResult, k: int, views: np.ndarray) -> None:
    moved, places = moved_shares(side, k), list(range(len(views)))
    figure.add_bar(
        x=places,
        y=[100 * float(moved[n]) for n in views],
        yaxis="y2",
        marker={"color": COLOURS["defence"], "line": {"width": 0}},
        hoverinfo="skip",
    )
    data = [[int(n), -1, float(moved[n])] for n in views]
    hover = "view %{customdata[0]}: %{customdata[2]:.1%} of its mass moves<extra></extra>"
    figure.add_trace(hit_area(places, 100, data, hover, yaxis="y2"))


def _prompt_label(run: Run, k: int, atom: int, letters: int) -> str:
    """A prompt, truncated and escaped."""
    sentences = run.class_prompts.prompts[k]
    return escaped(sentences[atom] if atom < len(sentences) else f"prompt {atom + 1}", letters)


def _selection_shapes(views: np.ndarray, atoms: np.ndarray, selected: tuple[int, int] | None) -> list[dict]:
    """Frames around the selected view in the strip and around the selected cell; the other views are dimmed."""
    column = None if selected is None else position(views, selected[0])
    if selected is None or column is None:
        return []
    width = (column - 0.5, column + 0.5)
    shapes = [*dim_columns(column, len(views)), frame(width, (0, 100), yref="y2")]
    row = position(atoms[::-1], selected[1])
    return shapes if row is None else [*shapes, frame(width, (row - 0.5, row + 0.5))]


def _narrow(run: Run, k: int, atoms: np.ndarray) -> dict:
    return {
        "margin": {"l": LEFT_MARGIN_NARROW, "r": 10, "t": 96, "b": 70},
        "data.0.xgap": 0,
        "data.0.colorbar.orientation": "h",
        "data.0.colorbar.len": 1.0,
        "data.0.colorbar.x": 0.5,
        "data.0.colorbar.y": -0.34,
        "yaxis.tickfont.size": 11,
        "yaxis.ticktext": [_prompt_label(run, k, m, 14) for m in atoms.tolist()],
        "annotations.0.xshift": 8 - LEFT_MARGIN_NARROW,
    }
