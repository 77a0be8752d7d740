"""The attack as it goes: its loss, and what every method thinks of the true class after each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rita_demo.plots.figure import Figure
from rita_demo.plots.names import percent, right_class, safe, short
from rita_demo.plots.theme import COLOURS, METHODS, axis, empty, finish, note, percents, room_for
from rita_demo.records import AttackTrace, FilmFrame, Story

TOP, BOTTOM = (0.40, 1.0), (0.0, 0.26)  # the two panels, as shares of the height
GAP = 9.0  # percent points that keep two direct labels apart


def attack_steps(story: Story, film: Sequence[FilmFrame], step: int) -> Figure:
    """Probability of the true class per method (percent) above the attacker's loss (in its unit), over steps.

    Args:
        story: whose ``attack`` is drawn; without one, a figure that says so.
        film: the kept steps that exist so far, in any order; CLIP's line needs none.
        step: the step to mark, brought into range.

    Returns:
        A figure whose marks carry ``customdata = (step,)``. A filled mark means the method's
        answer is the true class, a cross that it is another one.
    """
    attack = story.attack
    if attack is None:
        return empty("No attack here: this picture was only defended.")
    last = len(attack.loss) - 1
    step = int(np.clip(step, 0, last))
    figure = Figure()
    ends = {}
    for method, (steps, shares, labels) in _lines(story, attack, film).items():
        _draw_method(figure, story, method, steps, shares, labels)
        if steps:
            ends[method] = (steps[-1], 100 * shares[-1])
    _draw_loss(figure, np.asarray(attack.loss, float), attack.loss_unit)
    labels = [_end_label(m, ends[m][0], y) for m, y in _spread(ends).items()]
    return finish(
        figure,
        kind="attack_steps",
        alt=_alt(story, attack, ends),
        pickable=True,
        wrap=[0],
        narrow={"margin.t": 50},
        hovermode="x",
        annotations=_heads(story, attack) + labels,
        shapes=[_cursor(step)],
        margin={"l": 52, "r": room_for([METHODS[m]["title"] for m in ends]), "t": 34, "b": 40},
        **_axes(np.asarray(attack.loss, float), attack.loss_unit),
    )


def _heads(story: Story, attack: AttackTrace) -> list[dict]:
    name = short(story.bank.names[story.label], 24)
    words = f"Probability of {right_class(story)}, <b>{name}</b> (●\u00a0right, ×\u00a0wrong)"
    return [
        note(words, 0, 1.0, yshift=6, xshift=-44),
        note(f"What the attacker drives up: {_goal(story, attack)}", 0, BOTTOM[1], yshift=3),
    ]


def _goal(story: Story, attack: AttackTrace) -> str:
    """What ``attack.loss`` is, in words."""
    target = attack.target
    if attack.loss_unit != "nats":
        return "his own goal"
    if target is None:
        return {"eot": "CLIP’s loss on crops", "defence": "RITA’s loss"}.get(
            attack.name, "CLIP’s loss"
        )
    return f"log probability of {short(story.bank.names[target], 24)}"


def _axes(loss: np.ndarray, unit: str) -> dict[str, Any]:
    """Both panels over one step axis; they depend on the attack alone, so that no slider moves them."""
    last = len(loss) - 1
    low, high = float(loss.min()), float(loss.max())
    pad = 0.12 * max(high - low, 0.1)
    return {
        "xaxis": axis(
            range=[-0.25, last + 0.25], dtick=max(1, round(last / 10)), title="attack step",
            anchor="y2", showgrid=False,
        ),
        "yaxis": axis(range=[-4, 104], domain=TOP, **percents(0, 25, 50, 75, 100)),
        "yaxis2": axis(
            range=[low - pad, high + pad], title=unit, nticks=4, domain=BOTTOM, anchor="x"
        ),
    }  # fmt: skip


def _lines(
    story: Story, attack: AttackTrace, film: Sequence[FilmFrame]
) -> dict[str, tuple[list, list, list]]:
    """method -> steps, probability of the true class, answers. CLIP's come from the attack itself."""
    frames = sorted(film, key=lambda f: f.step)
    found: dict[str, tuple[list, list, list]] = {}
    for method in story.clean.verdicts:
        seen = [(f.step, f.side.verdicts[method]) for f in frames]
        found[method] = (
            [s for s, _ in seen],
            [float(v.probability[story.label]) for _, v in seen],
            [int(v.label) for _, v in seen],
        )
    single = np.asarray(attack.probability)
    if len(found["clip"][0]) < len(single):
        found["clip"] = (
            list(range(len(single))),
            [float(p) for p in single[:, story.label]],
            [int(k) for k in single.argmax(1)],
        )
    return found


def _draw_method(
    figure: Figure, story: Story, method: str, steps: list, shares: list, labels: list
) -> None:
    look = METHODS[method]
    right = [k == story.label for k in labels]
    words = [
        f"{look['title']}: {safe(story.bank.names[k], 40)} · {right_class(story)} {percent(p, 1)}"
        for k, p in zip(labels, shares)
    ]
    figure.add_scatter(
        x=steps,
        y=[100 * p for p in shares],
        name=look["title"],
        mode="lines+markers",
        line={"color": look["colour"], "dash": look["dash"], "width": 2},
        marker={
            "symbol": ["circle" if r else "x-thin" for r in right],
            "size": [7 if r else 9 for r in right],
            "opacity": 1,
            "color": look["colour"],
            "line": {"width": 2, "color": look["colour"]},
        },
        customdata=[[s] for s in steps],
        text=words,
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


def _cursor(step: int) -> dict:
    return {
        "type": "line", "x0": step, "x1": step, "xref": "x", "y0": 0, "y1": 1, "yref": "paper",
        "line": {"color": COLOURS["quiet"], "width": 1, "dash": "dot"}, "layer": "below",
    }  # fmt: skip


def _spread(ends: dict[str, tuple[int, float]]) -> dict[str, float]:
    """Heights for the direct labels, in the lines' order, moved apart where they would overlap."""
    placed: dict[str, float] = {}
    floor = -GAP
    for method in sorted(ends, key=lambda m: ends[m][1]):
        floor = max(ends[method][1], floor + GAP)
        placed[method] = floor
    over = max([*placed.values(), 100.0]) - 100.0
    return {m: y - over for m, y in placed.items()}


def _end_label(method: str, step: int, height: float) -> dict:
    look = METHODS[method]
    return note(
        look["title"], step, height, xref="x", yref="y", xshift=9, yanchor="middle",
        font={"size": 12, "color": look["colour"]},
    )  # fmt: skip


def _alt(story: Story, attack: AttackTrace, ends: dict[str, tuple[int, float]]) -> str:
    parts = [f"{METHODS[m]['title']} {percent(y / 100)} at step {s}" for m, (s, y) in ends.items()]
    loss = attack.loss
    return (
        f"Probability of {right_class(story)} along {len(loss) - 1} attack steps: {', '.join(parts)}. "
        f"What the attacker drives up, {_goal(story, attack)}, goes from {loss[0]:.2f} to {loss[-1]:.2f} "
        f"{attack.loss_unit}."
    )
