"""The attack step by step: its loss, and every method's probability of the true class."""

from collections.abc import Sequence

import numpy as np

from rita_demo.defences.registry import DEFENCES
from rita_demo.figures.figure import Figure
from rita_demo.figures.labels import escaped, method_colour, percent, reference_class
from rita_demo.figures.shapes import label_width, outlined, percent_ticks, vertical_line
from rita_demo.figures.theme import COLOURS, annotation, axis, finalise, message_figure
from rita_demo.records import AttackStepResult, AttackTrace, Run

PROBABILITY_DOMAIN, LOSS_DOMAIN = ((0.40, 1.0), (0.0, 0.26))  # the two panels, as shares of the height
MIN_LABEL_GAP = 9.0  # percent points that keep two direct labels apart


def attack_steps(run: Run, step_results: Sequence[AttackStepResult], step: int) -> Figure:
    """Probability of the true class per method (percent) above the attacker's loss (in its unit), over the steps.

    The ranges of the axes depend on the attack only, so that no slider changes them. A circle is a right answer, a cross
    a wrong one. Marks carry ``customdata = (step,)``. ``step_results``: the steps computed so far, in any order; CLIP's
    line needs none. ``step``: the step to mark, clipped to the range. Without an attack the figure is a message."""
    attack = run.attack
    if attack is None:
        return message_figure("No attack here: this picture was only defended.")
    loss, last = np.asarray(attack.loss, float), len(attack.loss) - 1
    figure, ends, ordered = Figure(), {}, sorted(step_results, key=lambda result: result.step)
    for method in run.answered:
        answers = [(result.step, result.image_result.verdicts.get(method)) for result in ordered]
        line = [(at, float(one.probability[run.label]), int(one.label)) for at, one in answers if one is not None]
        if method == "clip" and len(line) < len(attack.probability):  # the attack itself has more
            line = [(at, float(p[run.label]), int(p.argmax())) for at, p in enumerate(attack.probability)]
        defence, colour, right = DEFENCES[method], method_colour(method), [k == run.label for *_, k in line]
        symbols, sizes = ["circle" if r else "x-thin" for r in right], [7 if r else 9 for r in right]
        figure.add_marks(
            "%{text}",
            x=[at for at, *_ in line],
            y=[100 * p for _, p, _ in line],
            name=defence.title,
            mode="lines+markers",
            line={"color": colour, "dash": defence.dash, "width": 2},
            marker=outlined(symbols, colour, sizes) | {"opacity": 1},
            customdata=[[at] for at, *_ in line],
            text=[
                f"{defence.title}: {escaped(run.class_prompts.names[k], 40)} · {reference_class(run)} {percent(p, 1)}"
                for _, p, k in line
            ],
            cliponaxis=False,
        )
        if line:
            ends[method] = (line[-1][0], 100 * line[-1][1])
    figure.add_marks(
        f"%{{y:.3f}} {attack.loss_unit}",
        x=list(range(last + 1)),
        y=loss.tolist(),
        yaxis="y2",
        name="loss",
        mode="lines+markers",
        line={"color": COLOURS["attack"], "width": 2},
        marker={"size": 5, "color": COLOURS["attack"], "opacity": 1},
        customdata=[[s] for s in range(last + 1)],
        cliponaxis=False,
    )
    name, goal = escaped(run.class_prompts.names[run.label], 24), _loss_description(run, attack)
    words = f"Probability of {reference_class(run)}, <b>{name}</b> (●\u00a0right, ×\u00a0wrong)"
    notes = [
        annotation(words, 0, 1.0, yshift=6, xshift=-44),
        annotation(f"What the attack increases: {goal}", 0, LOSS_DOMAIN[1], yshift=3),
    ]
    for method, y in _spread_labels(ends).items():
        font, at = {"size": 12, "color": method_colour(method)}, {"xref": "x", "yref": "y", "yanchor": "middle"}
        notes.append(annotation(DEFENCES[method].title, ends[method][0], y, **at, xshift=9, font=font))
    low, high = float(loss.min()), float(loss.max())
    pad = 0.12 * max(high - low, 0.1)
    parts = [f"{DEFENCES[m].title} {percent(y / 100)} at step {s}" for m, (s, y) in ends.items()]
    return finalise(
        figure,
        kind="attack_steps",
        alt=f"Probability of {reference_class(run)} along {last} attack steps: {', '.join(parts)}. What the attack "
        f"increases, {goal}, goes from {loss[0]:.2f} to {loss[-1]:.2f} {attack.loss_unit}.",
        marks=("step",),
        hovermode="x",
        annotations=notes,
        shapes=[vertical_line(int(np.clip(step, 0, last)), "quiet", "dot", xref="x", layer="below")],
        margin={"l": 52, "r": label_width([DEFENCES[m].title for m in ends]), "t": 34, "b": 40},
        xaxis=axis(
            range=[-0.25, last + 0.25], dtick=max(1, round(last / 10)), title="attack step", anchor="y2", showgrid=False
        ),
        yaxis=axis(range=[-4, 104], domain=PROBABILITY_DOMAIN, **percent_ticks(0, 25, 50, 75, 100)),
        yaxis2=axis(range=[low - pad, high + pad], title=attack.loss_unit, nticks=4, domain=LOSS_DOMAIN, anchor="x"),
    )


def _loss_description(run: Run, attack: AttackTrace) -> str:
    """What ``attack.loss`` is."""
    if attack.loss_unit != "nats":
        return "its own goal"
    if attack.target is None:
        return "CLIP’s loss on crops" if attack.name == "eot" else "CLIP’s loss"
    return f"log probability of {escaped(run.class_prompts.names[attack.target], 24)}"


def _spread_labels(ends: dict[str, tuple[int, float]]) -> dict[str, float]:
    """Heights for the direct labels, in the lines' order, moved apart where they would overlap."""
    placed: dict[str, float] = {}
    floor = -MIN_LABEL_GAP
    for method in sorted(ends, key=lambda m: ends[m][1]):
        floor = max(ends[method][1], floor + MIN_LABEL_GAP)
        placed[method] = floor
    over = max([*placed.values(), 100.0]) - 100.0
    return {m: y - over for m, y in placed.items()}
