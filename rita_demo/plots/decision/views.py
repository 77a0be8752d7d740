"""Entropy and answer of every view: one bar per view."""

import math

import numpy as np

from rita_demo.plots.decision.cells import position, view_axis, view_order
from rita_demo.plots.figure import Figure
from rita_demo.plots.labels import escaped, percent, reference_class, reference_tag
from rita_demo.plots.shapes import add_hit_area, frame, limit_line
from rita_demo.plots.theme import COLOURS, SIDE_STYLES, annotation, axis, dim_marks, finalise, legend_entry
from rita_demo.records import ImageResult, Run

#: answer of a view -> colour, hatching and the character for it in the legend.
VIEW_ANSWERS: dict[str, tuple[str, str, str]] = {
    "true": (COLOURS["clean"], "", "■"),
    "fooled": (COLOURS["attack"], "/", "▨"),
    "another": (COLOURS["other"], ".", "░"),
}


def view_answers(run: Run, side: str) -> tuple[list[str], int | None]:
    """``"true"``, ``"fooled"`` or ``"another"`` for each view, and the class of the fooled ones.

    A view is fooled when it gives CLIP's wrong answer on the delivered picture, at every step of the attack.
    """
    answer = run.label if run.attack is None else int(run.attack.probability[-1].argmax())
    kinds = {answer: "fooled", run.label: "true"}
    labels = np.asarray(getattr(run, side).trace.confidence.label).tolist()
    return [kinds.get(k, "another") for k in labels], answer if answer != run.label else None


def view_entropies(run: Run, side: str, *, selected: int | None = None) -> Figure:
    """Entropy of every view in nats, lowest first; the colour is its answer.

    Views under the dashed line are confident: only they may enter the cache. Columns carry
    ``customdata = (view, probability of the true class, hover text)``.

    Args:
        run: the run. side: ``"clean"`` or ``"attacked"``.
        selected: a view to outline; the others are dimmed.
    """
    one: ImageResult = getattr(run, side)
    order, limit = view_order(one), float(one.trace.confidence.limit)
    entropy = np.asarray(one.trace.confidence.entropy, float)
    answers, wrong = view_answers(run, side)
    figure = Figure()
    for answer, (colour, hatch, _) in VIEW_ANSWERS.items():
        places = [i for i, n in enumerate(order) if answers[n] == answer]
        views = [int(order[i]) for i in places]
        pattern = {"shape": hatch, "fgcolor": colour, "bgcolor": COLOURS["surface"], "solidity": 0.45}
        marker = {"color": colour, "line": {"color": colour, "width": 1}, "opacity": dim_marks(views, selected)}
        figure.add_bar(
            x=places,
            y=[float(entropy[n]) for n in views],
            width=0.85,  # without it Plotly derives the width from the gaps between bars of one answer
            name=answer,
            marker=marker | ({"pattern": pattern} if hatch else {}),
            hoverinfo="skip",
        )
    most = math.log(max(len(run.class_prompts.names), 2))
    add_hit_area(figure, most, _hover_data(run, one, order), "%{customdata[2]}")
    level = min(limit, most)
    shapes = [limit_line(level, 1.5)]
    if selected is not None and (column := position(order, selected)) is not None:
        top = max(float(entropy[selected]), 0.04 * most)
        shapes.append(frame((column - 0.5, column + 0.5), (0, top)))
    limit_text = f"limit γ<br>{limit:.2f} nats"  # beside the end of the line, where no bar can be
    return finalise(
        figure,
        kind="view_entropies",
        alt=_alt_text(run, side, answers, wrong, int((entropy <= limit).sum()), limit),
        pickable=True,
        wrap=[0],
        narrow={"margin.t": 46},
        barmode="overlay",
        bargap=0.15,
        annotations=[
            annotation(_legend(run, answers, wrong), 0, 1, yshift=6, xshift=-38),
            annotation(limit_text, 1, level, yref="y", xshift=6, yanchor="middle"),
        ],
        shapes=shapes,
        margin={"l": 46, "r": 72, "t": 30, "b": 34},
        xaxis=view_axis(len(order), f"{len(order)} views, lowest entropy first", range=[-0.7, len(order) - 0.3]),
        yaxis=axis(range=[0, most * 1.02], title="entropy (nats)", nticks=5),
    )


def _hover_data(run: Run, side: ImageResult, order: np.ndarray) -> list[list]:
    """Per view in order: its number, its probability of the true class, and its hover text."""
    confidence, found = side.trace.confidence, []
    for n in order.tolist():
        share = float(confidence.probability[n, run.label])
        kept = "confident" if confidence.kept[n] else "not confident"
        text = f"view {n}: answer {escaped(run.class_prompts.names[int(confidence.label[n])], 40)}, {kept}"
        text += f"<br>{reference_class(run)} {percent(share, 1)}, entropy {confidence.entropy[n]:.3f} nats"
        found.append([n, share, text])
    return found


def _legend(run: Run, answers: list[str], wrong: int | None) -> str:
    names = run.class_prompts.names
    titles = {"true": f"{escaped(names[run.label], 16)}\u00a0({reference_tag(run)})", "another": "another"}
    if wrong is not None:
        titles["fooled"] = escaped(names[wrong], 16)
    return "   ".join(
        legend_entry(colour, mark, f"{titles[answer]}\u00a0{answers.count(answer)}")
        for answer, (colour, _, mark) in VIEW_ANSWERS.items()
        if answer in titles
    )


def _alt_text(run: Run, side: str, answers: list[str], wrong: int | None, confident: int, limit: float) -> str:
    names, count = run.class_prompts.names, answers.count
    fooled = "" if wrong is None else f", {count('fooled')} give {names[wrong]}"
    return (
        f"{SIDE_STYLES[side]['title']} picture: {count('true')} of {len(answers)} views give {names[run.label]}{fooled}, "
        f"{count('another')} another class. {confident} are under the limit of {limit:g} nats."
    )
