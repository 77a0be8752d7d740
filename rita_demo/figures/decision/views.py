"""Entropy and answer of every view."""

import math

import numpy as np

from rita_demo.figures.decision.cells import position, view_axis, view_order
from rita_demo.figures.figure import Figure
from rita_demo.figures.labels import escaped, legend, percent, reference_class, reference_tag
from rita_demo.figures.shapes import frame
from rita_demo.figures.theme import COLOURS, SIDE_STYLES, TRANSPARENT, annotation, axis, dim_marks, finalise
from rita_demo.records import Run

#: answer of a view -> colour, hatching and the character for it in the legend.
VIEW_ANSWERS: dict[str, tuple[str, str, str]] = {
    "true": (COLOURS["clean"], "", "■"),
    "fooled": (COLOURS["attack"], "/", "▨"),
    "another": (COLOURS["other"], ".", "░"),
}


def view_answers(run: Run, side: str) -> tuple[list[str], int | None]:
    """``"true"``, ``"fooled"`` or ``"another"`` for each view, and the class of the fooled ones.

    A view is fooled when it gives the wrong answer on the delivered picture (``Run.wrong_answer``), at every step of the
    attack."""
    wrong = None if run.attack is None else run.wrong_answer
    kinds = {wrong: "fooled", run.label: "true"}
    labels = np.asarray(getattr(run, side).trace.confidence.label).tolist()
    return [kinds.get(k, "another") for k in labels], wrong


def view_entropies(run: Run, side: str, view: int | None = None) -> Figure:
    """Entropy of every view in nats, lowest first; the colour is its answer. With a selected ``view``, which is outlined,
    the others are dimmed.

    Views under the dashed line are confident: only they may enter the cache. Columns carry
    ``customdata = (view, probability of the true class, hover text)``."""
    one, names = getattr(run, side), run.class_prompts.names
    order, limit = view_order(one), float(one.trace.confidence.limit)
    entropy = np.asarray(one.trace.confidence.entropy, float)
    answers, wrong = view_answers(run, side)
    figure, entries, counts = Figure(), list[tuple[str, str, str]](), dict[str, int]()
    titles = {"true": f"{escaped(names[run.label], 16)} ({reference_tag(run)})"}
    if wrong is not None:
        titles["fooled"] = escaped(names[wrong], 16)
    rest = {names[k] for k, kind in zip(one.trace.confidence.label, answers, strict=True) if kind == "another"}
    titles["another"] = escaped(rest.pop(), 16) if len(rest) == 1 else "other classes"
    for answer, (colour, hatch, mark) in VIEW_ANSWERS.items():
        places = [i for i, n in enumerate(order) if answers[n] == answer]
        views = order[places].tolist()
        counts[answer] = len(views)
        if answer in titles:
            unit = "" if entries else " crops"
            entries.append((colour, mark, f"{titles[answer]} {len(views)}{unit}".replace(" ", "\u00a0")))
        pattern = {"shape": hatch, "fgcolor": colour, "bgcolor": COLOURS["surface"], "solidity": 0.45}
        marker = {"color": colour, "line": {"color": colour, "width": 1}, "opacity": dim_marks(views, view)}
        figure.add_bar(
            x=places,
            y=entropy[views],
            width=0.85,  # without it Plotly derives the width from the gaps between bars of one answer
            name=answer,
            marker=marker | ({"pattern": pattern} if hatch else {}),
            hoverinfo="skip",
        )
    most = math.log(max(len(names), 2))
    data = []
    for n in order.tolist():
        share, kept = float(one.trace.confidence.probability[n, run.label]), one.trace.confidence.kept[n]
        text = f"view {n}: answer {escaped(names[int(one.trace.confidence.label[n])], 40)}, {'' if kept else 'not '}confident"
        text += f"<br>{reference_class(run)} {percent(share, 1)}, entropy {one.trace.confidence.entropy[n]:.3f} nats"
        data.append([n, share, text])
    figure.add_bar(  # invisible and of full height: the whole column of a small bar can be hovered and clicked
        x=list(range(len(order))),
        y=[most] * len(order),
        width=1,
        customdata=data,
        hovertemplate="%{customdata[2]}<extra></extra>",
        marker={"color": TRANSPARENT, "line": {"width": 0}},
        name="pick",
        hoverlabel={"bgcolor": COLOURS["surface"]},
    )
    level = min(limit, most)
    dashed = {"color": COLOURS["quiet"], "width": 1.5, "dash": "dash"}
    shapes = [{"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": level, "y1": level, "line": dashed}]
    if view is not None and (column := position(order, view)) is not None:
        top = max(float(entropy[view]), 0.04 * most)
        shapes.append(frame((column - 0.5, column + 0.5), (0, top)))
    limit_text = f"limit γ<br>{limit:.2f} nats"  # beside the end of the line, where no bar can be
    fooled = "" if wrong is None else f", {counts['fooled']} give {names[wrong]}"
    return finalise(
        figure,
        kind="view_entropies",
        alt=f"{SIDE_STYLES[side]['title']} picture: {counts['true']} of {len(answers)} views give {names[run.label]}"
        f"{fooled}, {counts['another']} another class. {int((entropy <= limit).sum())} are under the limit of {limit:g} "
        "nats.",
        marks=("view",),
        barmode="overlay",
        bargap=0.15,
        annotations=[
            annotation(legend(entries), 0, 1, yshift=6, xshift=-38),
            annotation(limit_text, 1, level, yref="y", xshift=6, yanchor="middle"),
        ],
        shapes=shapes,
        margin={"l": 46, "r": 72, "t": 30, "b": 34},
        xaxis=view_axis(len(order), f"{len(order)} views, lowest entropy first", range=[-0.7, len(order) - 0.3]),
        yaxis=axis(range=[0, most * 1.02], title="entropy (nats)", nticks=5),
    )
