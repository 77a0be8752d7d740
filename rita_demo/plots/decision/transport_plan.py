"""The transport plan of one class as a heatmap: views across, prompts down."""

import numpy as np

from rita_demo.plots.axes import percent_ticks
from rita_demo.plots.decision.cells import (
    PLAN_SCALE,
    add_cells,
    colour_bar,
    moved_shares,
    plan_colours,
    ratio_to_product_plan,
    row_axis,
    selection_shapes,
    view_axis,
    view_order,
)
from rita_demo.plots.figure import Figure
from rita_demo.plots.labels import escaped, percent
from rita_demo.plots.shapes import add_hit_area
from rita_demo.plots.theme import COLOURS, SIDE_STYLES, annotation, axis, finalise
from rita_demo.records import ImageResult, Run

FLAT_TOLERANCE = 0.05  # a plan whose every cell is this close to an even share is called flat
HEATMAP_DOMAIN, STRIP_DOMAIN = (0.30, 1.0), (0.0, 0.20)  # the two panels, as shares of the height
LEFT_MARGIN, LEFT_MARGIN_NARROW = 190, 104  # margins that hold the prompts


def plan_heatmap(run: Run, side: str, k: int, *, selected: tuple[int, int] | None = None) -> Figure:
    """T times N times M over rho of class ``k`` on a diverging scale around 1 (an even share), and each view's mass.

    The strip below shows the share of every view's mass that moves; with rho < 1 it can be 0. Cells carry
    ``customdata = (view, atom, ratio to an even share, cost, mass)``, bars ``(view, -1, share moved)``.

    Args:
        run: the run. side: ``"clean"`` or ``"attacked"``. k: class number.
        selected: ``(view, atom)`` to frame; the other views are dimmed. Atom -1 frames the view in the strip only.
    """
    one: ImageResult = getattr(run, side)
    views, atoms = view_order(one), _valid_prompts(one, k)
    labels = [[_prompt_label(run, k, m, letters) for m in atoms] for letters in (60, 26, 14)]
    figure = Figure()
    _draw_cells(figure, run, side, k, views, labels[0])
    moved, places = moved_shares(one, k)[views], list(range(len(views)))
    bar = {"color": COLOURS["defence"], "line": {"width": 0}}
    figure.add_bar(x=places, y=[100 * float(share) for share in moved], yaxis="y2", marker=bar, hoverinfo="skip")
    data = [[int(n), -1, float(share)] for n, share in zip(views, moved, strict=True)]
    add_hit_area(figure, 100, data, "view %{customdata[0]}: %{customdata[2]:.1%} of its mass moves", yaxis="y2")
    verdict = flatness(run, side, k)
    title = f"<b>{escaped(run.class_prompts.names[k], 30)}</b>, {SIDE_STYLES[side]['title'].lower()} picture. "
    return finalise(
        figure,
        kind="plan_heatmap",
        alt=f"Transport plan of {run.class_prompts.names[k]}, {side} picture. {verdict}",
        pickable=True,
        wrap=[0],
        narrow={
            "margin": {"l": LEFT_MARGIN_NARROW, "r": 10, "t": 96, "b": 70},
            "data.0.xgap": 0,
            "data.0.colorbar.orientation": "h",
            "data.0.colorbar.len": 1.0,
            "data.0.colorbar.x": 0.5,
            "data.0.colorbar.y": -0.34,
            "yaxis.tickfont.size": 11,
            "yaxis.ticktext": labels[2],
            "annotations.0.xshift": 8 - LEFT_MARGIN_NARROW,
        },
        annotations=[
            annotation(title + verdict, 0, 1, yshift=6, xshift=8 - LEFT_MARGIN),
            annotation("share of each view that moves", 0, STRIP_DOMAIN[1], yshift=3),
        ],
        shapes=_selection_shapes(views, atoms, selected),
        bargap=0.15,
        barmode="overlay",
        margin={"l": LEFT_MARGIN, "r": 64, "t": 58, "b": 34},
        xaxis=view_axis(len(views), "views, most confident (lowest entropy) first", anchor="y2", ticks=""),
        yaxis=row_axis(labels[1], 8, domain=HEATMAP_DOMAIN),
        yaxis2=axis(range=[0, 100], domain=STRIP_DOMAIN, anchor="x", fixedrange=True, **percent_ticks(0, 100)),
    )


def flatness(run: Run, side: str, k: int) -> str:
    """One or two sentences on how far the plan is from an even one, and why."""
    one: ImageResult = getattr(run, side)
    even = np.nan_to_num(ratio_to_product_plan(run, side, k)[:, _valid_prompts(one, k)])
    off = float(np.abs(even - 1).max())
    weight, rho = run.settings.entropy_weight, float(one.trace.prompt_transport.mass)
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
        unused = int((moved_shares(one, k) < 0.05).sum())
        words += f" Only {percent(rho)} of the mass must move: {unused} of {len(even)} views are left out."
    return words


def _valid_prompts(one: ImageResult, k: int) -> np.ndarray:
    """The prompts of a class that take part in the transport: no padding, no excluded ones."""
    return np.flatnonzero(np.asarray(one.trace.prompt_transport.column_weight)[k] > 0)


def _draw_cells(figure: Figure, run: Run, side: str, k: int, views: np.ndarray, labels: list[str]) -> None:
    one: ImageResult = getattr(run, side)
    transport, confidence = one.trace.prompt_transport, one.trace.confidence
    cost, plan = (np.asarray(values, float)[k] for values in (transport.cost, transport.plan))
    even, names = np.nan_to_num(ratio_to_product_plan(run, side, k)), run.class_prompts.names
    answers = [
        f"view {n}: answer {escaped(names[int(confidence.label[n])], 30)}, entropy {confidence.entropy[n]:.2f} nats"
        for n in views
    ]
    atoms = _valid_prompts(one, k)
    add_cells(
        figure,
        plan_colours(even[views][:, atoms].T),
        "%{text}<br>%{customdata[2]:.3f} × an even share<br>cost %{customdata[3]:.4f} (cosine distance)",
        **PLAN_SCALE,
        customdata=[
            [[int(n), int(m), float(even[n, m]), float(cost[n, m]), float(plan[n, m])] for n in views] for m in atoms
        ],
        text=[[f"{answer}<br>“{label}”" for answer in answers] for label in labels],
        colorbar=colour_bar(
            len=HEATMAP_DOMAIN[1] - HEATMAP_DOMAIN[0],
            y=sum(HEATMAP_DOMAIN) / 2,
            thickness=10,
            tickvals=[-2, -1, 0, 1, 2],
            ticktext=["≤¼×", "½×", "1× even", "2×", "≥4×"],
        ),
    )


def _prompt_label(run: Run, k: int, atom: int, letters: int) -> str:
    """A prompt, truncated and escaped."""
    sentences = run.class_prompts.prompts[k]
    return escaped(sentences[atom] if atom < len(sentences) else f"prompt {atom + 1}", letters)


def _selection_shapes(views: np.ndarray, atoms: np.ndarray, selected: tuple[int, int] | None) -> list[dict]:
    """Frames around the selected view in the strip and around the selected cell; the other views are dimmed."""
    shapes = selection_shapes(views, atoms, selected)
    if selected is None or not shapes:
        return []
    *dimmed, cell = shapes
    strip = cell | {"y0": 0, "y1": 100, "yref": "y2"}
    return [*dimmed, strip, cell] if selected[1] in atoms else [*dimmed, strip]
