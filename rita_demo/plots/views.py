"""How sure each view is, and what it says: one bar per view."""

from __future__ import annotations

import math

import numpy as np

from rita_demo.plots.figure import Figure
from rita_demo.plots.names import percent, right_class, right_tag, safe, short
from rita_demo.plots.theme import COLOURS, SIDES, axis, fades, finish, ghost, note, patch
from rita_demo.records import Side, Story

#: what a view says -> colour and second cue (hatching).
SAYS: dict[str, tuple[str, str]] = {
    "true": (COLOURS["clean"], ""),
    "fooled": (COLOURS["attack"], "/"),
    "another": (COLOURS["other"], "."),
}


def what_views_say(story: Story, side: str) -> tuple[list[str], int | None]:
    """``"true"``, ``"fooled"`` or ``"another"`` for each view, and the class the fooled ones name.

    Fooled is a view that names what CLIP answers on the delivered picture, where that is wrong:
    the same class at every step of the attack.
    """
    answer = story.label if story.attack is None else int(story.attack.probability[-1].argmax())
    wrong = answer if answer != story.label else None
    found = []
    for k in np.asarray(getattr(story, side).trace.confidence.label).tolist():
        found.append("true" if k == story.label else "fooled" if k == wrong else "another")
    return found, wrong


def view_entropies(story: Story, side: str, *, selected: int | None = None) -> Figure:
    """Entropy of every view in nats, surest first; colour says what it takes the picture for.

    Views under the dashed line are confident: only they may enter the memory.

    Args:
        story: the record.
        side: ``"clean"`` or ``"attacked"``.
        selected: a view to outline; the others go pale.

    Returns:
        A figure whose columns carry ``customdata = (view, probability of the true class, words)``.
    """
    one: Side = getattr(story, side)
    confidence = one.trace.confidence
    entropy = np.asarray(confidence.entropy, float)
    order = np.argsort(entropy, kind="stable")
    says, wrong = what_views_say(story, side)
    figure = Figure()
    for what, (colour, hatch) in SAYS.items():
        places = [i for i, n in enumerate(order) if says[n] == what]
        views = [int(order[i]) for i in places]
        heights = [float(entropy[n]) for n in views]
        _draw(figure, what, (colour, hatch), places, heights, fades(views, selected))
    limit = float(confidence.limit)
    most = math.log(max(len(story.bank.names), 2))
    hover = "%{customdata[2]}<extra></extra>"
    figure.add_trace(ghost(list(range(len(order))), most, _words(story, one, order), hover))
    return finish(
        figure,
        kind="view_entropies",
        alt=_alt(story, side, says, wrong, entropy, limit),
        pickable=True,
        wrap=[0],
        narrow={"margin.t": 46},
        barmode="overlay",
        bargap=0.15,
        annotations=[note(_key(story, says, wrong), 0, 1, yshift=6, xshift=-38),
                     _limit_words(limit, most)],
        shapes=_shapes(limit, most, order, selected, entropy),
        margin={"l": 46, "r": 72, "t": 30, "b": 34},
        xaxis=axis(range=[-0.7, len(order) - 0.3], tickvals=[], showgrid=False,
                   title=f"{len(order)} views, surest first"),
        yaxis=axis(range=[0, most * 1.02], title="entropy (nats)", nticks=5),
    )  # fmt: skip


def _draw(
    figure: Figure, what: str, look: tuple[str, str], places: list[int], heights: list[float],
    opacity: list[float],
) -> None:  # fmt: skip
    colour, hatch = look
    pattern = {"shape": hatch, "fgcolor": colour, "bgcolor": COLOURS["surface"], "solidity": 0.45}
    figure.add_bar(
        x=places,
        y=heights,
        width=0.85,  # else Plotly makes the bars as wide as the gap between two of this kind
        name=what,
        marker={"color": colour, "line": {"color": colour, "width": 1}, "opacity": opacity}
        | ({"pattern": pattern} if hatch else {}),
        hoverinfo="skip",
    )


def _words(story: Story, side: Side, order: np.ndarray) -> list[list]:
    """Per view in order: its number, its probability of the true class, and both in words."""
    confidence = side.trace.confidence
    found = []
    for n in order.tolist():
        share = float(np.asarray(confidence.probability)[n, story.label])
        kept = "confident" if confidence.kept[n] else "not confident"
        words = f"view {n} says {safe(story.bank.names[int(confidence.label[n])], 40)}, {kept}"
        words += f"<br>{right_class(story)} {percent(share, 1)}, entropy {confidence.entropy[n]:.3f} nats"
        found.append([n, share, words])
    return found


def _key(story: Story, says: list[str], wrong: int | None) -> str:
    names = story.bank.names
    parts = [
        patch(
            COLOURS["clean"],
            "■",
            f"{short(names[story.label], 16)}\u00a0({right_tag(story)})\u00a0{says.count('true')}",
        )
    ]
    if wrong is not None:
        parts.append(
            patch(COLOURS["attack"], "▨", f"{short(names[wrong], 16)}\u00a0{says.count('fooled')}")
        )
    parts.append(patch(COLOURS["other"], "░", f"another\u00a0{says.count('another')}"))
    return "   ".join(parts)


def _limit_words(limit: float, most: float) -> dict:
    """Beside the end of the line, where no bar can be."""
    words = f"limit γ<br>{limit:.2f} nats"
    return note(words, 1, min(limit, most), yref="y", xshift=6, yanchor="middle")


def _shapes(
    limit: float, most: float, order: np.ndarray, selected: int | None, entropy: np.ndarray
) -> list[dict]:
    line = {"color": COLOURS["quiet"], "width": 1.5, "dash": "dash"}
    level = min(limit, most)
    found: list[dict] = [
        {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": level, "y1": level, "line": line}
    ]
    if selected is not None and selected in order:
        i = int(np.flatnonzero(order == selected)[0])
        frame = {"line": {"color": COLOURS["text"], "width": 2}, "fillcolor": "rgba(0,0,0,0)"}
        top = max(float(entropy[selected]), 0.04 * most)
        found.append({"type": "rect", "x0": i - 0.5, "x1": i + 0.5, "y0": 0, "y1": top} | frame)
    return found


def _alt(
    story: Story, side: str, says: list[str], wrong: int | None, entropy: np.ndarray, limit: float
) -> str:
    names = story.bank.names
    words = f"{SIDES[side]['title']} picture: {says.count('true')} of {len(says)} views say "
    words += f"{names[story.label]}"
    if wrong is not None:
        words += f", {says.count('fooled')} say {names[wrong]}"
    sure = int((entropy <= limit).sum())
    return f"{words}, {says.count('another')} something else. {sure} are under the limit of {limit:g} nats."
