"""The views of one decision: their order, how much of each moves, their entropy and their answer."""

import math

import numpy as np

from rita_demo.figures.figure import Figure, Spec
from rita_demo.figures.labels import escaped, legend, percent, reference_class, reference_tag
from rita_demo.figures.shapes import add_changes, frame
from rita_demo.figures.theme import COLOURS, SIDE_STYLES, TRANSPARENT, annotation, axis, dim_marks, finalise
from rita_demo.records import ImageResult, Run

#: Answer of a view -> colour, hatching and the character for it in the legend.
VIEW_ANSWERS: dict[str, tuple[str, str, str]] = {
    "true": (COLOURS["clean"], "", "■"),
    "fooled": (COLOURS["attack"], "/", "▨"),
    "another": (COLOURS["other"], ".", "░"),
}


def view_order(side: ImageResult) -> np.ndarray:
    """View numbers from left to right: lowest entropy first."""
    return np.argsort(np.asarray(side.trace.confidence.entropy), kind="stable")


def moved_shares(side: ImageResult, k: int) -> np.ndarray:
    """(N,): the share of its own mass that each view moves to class ``k``, in [0, 1]."""
    transport = side.trace.prompt_transport
    weight = np.asarray(transport.row_weight, float)[k]
    return np.clip(np.asarray(transport.plan, float)[k].sum(1) / np.maximum(weight, 1e-30), 0, 1)


def view_axis(count: int, title: str = "views, surest first", edge: float = 0.2) -> Spec:
    """The horizontal axis of ``count`` views or prompts, without ticks; ``edge``: space at both ends."""
    return axis(range=[-0.5 - edge, count - 0.5 + edge], showgrid=False, tickvals=[], title=title)


def position(order: np.ndarray, number: int | None) -> int | None:
    """The index of ``number`` in ``order``, if it is there."""
    return order.tolist().index(number) if number in order else None


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
    sure, order = one.trace.confidence, view_order(one)
    entropy, limit = np.asarray(sure.entropy, float), float(sure.limit)
    answers, wrong = view_answers(run, side)
    figure, entries, counts = Figure(), list[tuple[str, str, str]](), dict[str, int]()
    titles = {"true": f"{escaped(names[run.label], 16)} ({reference_tag(run)})"}
    if wrong is not None:
        titles["fooled"] = escaped(names[wrong], 16)
    rest = {names[k] for k, kind in zip(sure.label, answers, strict=True) if kind == "another"}
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
    data = []
    for n in order.tolist():
        share = float(sure.probability[n, run.label])
        text = f"view {n}: answer {escaped(names[int(sure.label[n])], 40)}, {'' if sure.kept[n] else 'not '}confident"
        text += f"<br>{reference_class(run)} {percent(share, 1)}, entropy {sure.entropy[n]:.3f} nats"
        data.append([n, share, text])
    most = math.log(max(len(names), 2))
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
    if (column := position(order, view)) is not None:
        shapes.append(frame((column - 0.5, column + 0.5), (0, max(float(entropy[view]), 0.04 * most))))
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
        xaxis=view_axis(len(order), f"{len(order)} views, lowest entropy first"),
        yaxis=axis(range=[0, most * 1.02], title="entropy (nats)", nticks=5),
    )


def entropy_change(run: Run, changes: dict[str, tuple[np.ndarray, np.ndarray]], *, view: int | None = None) -> Figure:
    """Entropy of every view before (ring) and after (dot) the prompt update, joined by a line; one scale.

    Views are in the order of their entropy on the delivered picture; with a selected ``view`` the others are grey.
    ``changes``: side -> entropies (N,) before and after, in nats. Two marker traces per side, ``"clean before"``,
    ``"clean after"``, ..., with ``customdata = (view, before, after)``."""
    figure, order = Figure(), view_order(run.attacked)
    for number, (name, (before, after)) in enumerate(changes.items()):
        style = SIDE_STYLES[name]
        places = [i + (0.0 if len(changes) == 1 else 0.36 * number - 0.18) for i in range(len(order))]
        data = [[int(n), float(before[n]), float(after[n])] for n in order]
        colours = [style["colour"] if view in (None, int(n)) else COLOURS["other"] for n in order]
        markers = [{"symbol": style["symbol"] + kind, "size": 6, "color": colours} for kind in ("-open", "")]
        line = style["colour"] if view is None else COLOURS["other"]
        hover = f"{style['title']}, view %{{customdata[0]}}: %{{customdata[1]:.3f}} → %{{customdata[2]:.3f}} nats"
        add_changes(figure, name, "xy", places, data, hover, markers, (line, 1))
    most = math.log(max(len(run.class_prompts.names), 2))
    moved = {name: float(np.mean(after - before)) for name, (before, after) in changes.items()}
    summary = "; ".join(f"{name} {v:+.3f} nats on average" for name, v in moved.items()).replace("-", "−")
    return finalise(
        figure,
        kind="entropy_change",
        marks=("view",),
        alt=f"Entropy of {len(order)} views before and after the prompt update: {summary}.",
        annotations=[annotation(f"○◇ before  ●◆ after (● clean ◆ attacked): {summary}", 0, 1, yshift=6, xshift=-50)],
        margin={"l": 58, "r": 14, "t": 30, "b": 34},
        xaxis=view_axis(len(order)),
        yaxis=axis(range=[-0.05 * most, 1.03 * most], title="entropy (nats)", nticks=5),
    )
