"""The attack step by step: its loss, and every method's probability of the true class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rita_demo.plots.figure import Figure
from rita_demo.plots.labels import escaped, percent, reference_class
from rita_demo.plots.shapes import vertical_line
from rita_demo.plots.theme import (
    COLOURS,
    METHOD_STYLES,
    annotation,
    axis,
    finalise,
    label_width,
    message_figure,
    percent_ticks,
)
from rita_demo.records import AttackStepResult, AttackTrace, Run

PROBABILITY_DOMAIN, LOSS_DOMAIN = ((0.40, 1.0), (0.0, 0.26))  # the two panels, as shares of the height
MIN_LABEL_GAP = 9.0  # percent points that keep two direct labels apart


def attack_steps(run: Run, step_results: Sequence[AttackStepResult], step: int) -> Figure:
    """Probability of the true class per method (percent) above the attacker's loss (in its unit), over the steps.

    Args:
        run: the run; without an attack the figure is a message.
        step_results: the steps computed so far, in any order; CLIP's line needs none.
        step: the step to mark, clipped to the range.

    Returns:
        A figure whose marks carry ``customdata = (step,)``; a circle is a right answer, a cross a wrong one.
    """
    attack = run.attack
    if attack is None:
        return message_figure("No attack here: this picture was only defended.")
    last = len(attack.loss) - 1
    step = int(np.clip(step, 0, last))
    figure = Figure()
    ends = {}
    for method, (steps, shares, labels) in _lines(run, attack, step_results).items():
        _draw_method(figure, run, method, steps, shares, labels)
        if steps:
            ends[method] = (steps[-1], 100 * shares[-1])
    _draw_loss(figure, np.asarray(attack.loss, float), attack.loss_unit)
    end_labels = [_end_label(m, ends[m][0], y) for m, y in _spread_labels(ends).items()]
    return finalise(
        figure,
        kind="attack_steps",
        alt=_alt_text(run, attack, ends),
        pickable=True,
        wrap=[0],
        narrow={"margin.t": 50},
        hovermode="x",
        annotations=_panel_titles(run, attack) + end_labels,
        shapes=[vertical_line(step, "quiet", "dot", xref="x", layer="below")],
        margin={"l": 52, "r": label_width([METHOD_STYLES[m]["title"] for m in ends]), "t": 34, "b": 40},
        **_axes(np.asarray(attack.loss, float), attack.loss_unit),
    )


def _panel_titles(run: Run, attack: AttackTrace) -> list[dict]:
    name = escaped(run.class_prompts.names[run.label], 24)
    words = f"Probability of {reference_class(run)}, <b>{name}</b> (●\u00a0right, ×\u00a0wrong)"
    return [
        annotation(words, 0, 1.0, yshift=6, xshift=-44),
        annotation(f"What the attack increases: {_loss_description(run, attack)}", 0, LOSS_DOMAIN[1], yshift=3),
    ]


def _loss_description(run: Run, attack: AttackTrace) -> str:
    """What ``attack.loss`` is."""
    target = attack.target
    if attack.loss_unit != "nats":
        return "its own goal"
    if target is None:
        return {"eot": "CLIP’s loss on crops", "defence": "RITA’s loss"}.get(attack.name, "CLIP’s loss")
    return f"log probability of {escaped(run.class_prompts.names[target], 24)}"


def _axes(loss: np.ndarray, unit: str) -> dict[str, Any]:
    """Both panels over one step axis. The ranges depend on the attack only, so that no slider changes them."""
    last = len(loss) - 1
    low, high = float(loss.min()), float(loss.max())
    pad = 0.12 * max(high - low, 0.1)
    return {
        "xaxis": axis(
            range=[-0.25, last + 0.25], dtick=max(1, round(last / 10)), title="attack step", anchor="y2", showgrid=False
        ),
        "yaxis": axis(range=[-4, 104], domain=PROBABILITY_DOMAIN, **percent_ticks(0, 25, 50, 75, 100)),
        "yaxis2": axis(range=[low - pad, high + pad], title=unit, nticks=4, domain=LOSS_DOMAIN, anchor="x"),
    }


def _lines(
    run: Run, attack: AttackTrace, step_results: Sequence[AttackStepResult]
) -> dict[str, tuple[list[int], list[float], list[int]]]:
    """method -> steps, probability of the true class, answers. CLIP's are those of the attack where that has more."""
    ordered = sorted(step_results, key=lambda result: result.step)
    found: dict[str, tuple[list[int], list[float], list[int]]] = {}
    for method in run.answered:
        seen = [(r.step, r.image_result.verdicts[method]) for r in ordered if method in r.image_result.verdicts]
        shares = [float(v.probability[run.label]) for _, v in seen]
        found[method] = ([step for step, _ in seen], shares, [int(v.label) for _, v in seen])
    single = np.asarray(attack.probability)
    if len(found["clip"][0]) < len(single):
        found["clip"] = (
            list(range(len(single))),
            single[:, run.label].astype(float).tolist(),
            single.argmax(1).tolist(),
        )
    return found


def _draw_method(figure: Figure, run: Run, method: str, steps: list, shares: list, labels: list) -> None:
    style = METHOD_STYLES[method]
    right = [k == run.label for k in labels]
    figure.add_scatter(
        x=steps,
        y=[100 * p for p in shares],
        name=style["title"],
        mode="lines+markers",
        line={"color": style["colour"], "dash": style["dash"], "width": 2},
        marker={
            "symbol": ["circle" if r else "x-thin" for r in right],
            "size": [7 if r else 9 for r in right],
            "opacity": 1,
            "color": style["colour"],
            "line": {"width": 2, "color": style["colour"]},
        },
        customdata=[[s] for s in steps],
        text=[
            f"{style['title']}: {escaped(run.class_prompts.names[k], 40)} · {reference_class(run)} {percent(p, 1)}"
            for k, p in zip(labels, shares)
        ],
        hovertemplate="%{text}<extra></extra>",
        cliponaxis=False,
    )


def _draw_loss(figure: Figure, loss: np.ndarray, unit: str) -> None:
    figure.add_scatter(
        x=list(range(len(loss))),
        y=loss.tolist(),
        yaxis="y2",
        name="loss",
        mode="lines+markers",
        line={"color": COLOURS["attack"], "width": 2},
        marker={"size": 5, "color": COLOURS["attack"], "opacity": 1},
        customdata=[[s] for s in range(len(loss))],
        hovertemplate=f"%{{y:.3f}} {unit}<extra></extra>",
        cliponaxis=False,
    )


def _spread_labels(ends: dict[str, tuple[int, float]]) -> dict[str, float]:
    """Heights for the direct labels, in the lines' order, moved apart where they would overlap."""
    placed: dict[str, float] = {}
    floor = -MIN_LABEL_GAP
    for method in sorted(ends, key=lambda m: ends[m][1]):
        floor = max(ends[method][1], floor + MIN_LABEL_GAP)
        placed[method] = floor
    over = max([*placed.values(), 100.0]) - 100.0
    return {m: y - over for m, y in placed.items()}


def _end_label(method: str, step: int, height: float) -> dict:
    style = METHOD_STYLES[method]
    font = {"size": 12, "color": style["colour"]}
    return annotation(style["title"], step, height, xref="x", yref="y", xshift=9, yanchor="middle", font=font)


def _alt_text(run: Run, attack: AttackTrace, ends: dict[str, tuple[int, float]]) -> str:
    parts = [f"{METHOD_STYLES[m]['title']} {percent(y / 100)} at step {s}" for m, (s, y) in ends.items()]
    loss = attack.loss
    return (
        f"Probability of {reference_class(run)} along {len(loss) - 1} attack steps: {', '.join(parts)}. "
        f"What the attack increases, {_loss_description(run, attack)}, goes from {loss[0]:.2f} to {loss[-1]:.2f} "
        f"{attack.loss_unit}."
    )
