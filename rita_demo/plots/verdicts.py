"""Who is right: every method's answer, on both pictures and over other draws of views."""

from __future__ import annotations

from collections.abc import Sequence

from rita_demo.plots.figure import Figure
from rita_demo.plots.names import percent, safe, short, sides_of
from rita_demo.plots.theme import (
    COLOURS,
    METHODS,
    SIDES,
    axis,
    empty,
    finish,
    note,
    patch,
    percents,
    room_for,
    rows,
)
from rita_demo.records import Draw, Story


def verdict_bars(story: Story) -> Figure:
    """Probability of the true class (percent) per method, clean above attacked.

    The words beside a bar say what the method answers; a wrong answer's bar is hollow.

    Returns:
        A figure whose bars carry ``customdata = (answered class, words)``.
    """
    methods = [m for m in METHODS if m in story.clean.verdicts][::-1]
    sides = sides_of(story)
    offset = {"clean": 0.2 if len(sides) > 1 else 0.0, "attacked": -0.2}
    figure = Figure()
    parts = []
    for name in sides:
        spoken = _answers(story, name, methods)
        right = [k == story.label for k, *_ in spoken]
        colour = SIDES[name]["colour"]
        figure.add_bar(
            x=[100 * share for _, share, *_ in spoken],
            y=[i + offset[name] for i in range(len(methods))],
            width=0.34, orientation="h", name=SIDES[name]["title"],
            customdata=[[k, full] for k, _, _, full in spoken],
            marker={"color": [colour if r else COLOURS["surface"] for r in right],
                    "line": {"color": colour, "width": 1.5}},
            text=[words for _, _, words, _ in spoken], textposition="outside", textfont={"size": 12},
            hovertemplate="%{customdata[1]}<extra></extra>", cliponaxis=False,
        )  # fmt: skip
        parts += [
            f"{METHODS[m]['title']} {name}: {story.bank.names[k]}, true class {percent(share)}"
            for m, (k, share, _, _) in zip(methods, spoken)
        ]
    where = {"clean": "upper", "attacked": "lower"} if len(sides) > 1 else {}
    keys = [patch(SIDES[s]["colour"], "■", f"{where.get(s, '')} {s}".strip()) for s in sides]
    return finish(
        figure,
        kind="verdict_bars",
        narrow={"xaxis.tickvals": [0, 50, 100], "xaxis.ticktext": ["0 %", "50 %", "100 %"]},
        alt="; ".join(parts) + ".",
        annotations=[note("   ".join(keys), 0, 1, yshift=6)],
        margin={"l": room_for([METHODS[m]["title"] for m in methods]), "r": 24, "t": 30, "b": 40},
        xaxis=axis(range=[0, 150], title="probability of the true class",
                   **percents(0, 25, 50, 75, 100)),
        yaxis=rows([METHODS[m]["title"] for m in methods]),
    )  # fmt: skip


def _answers(story: Story, side: str, methods: list[str]) -> list[tuple[int, float, str, str]]:
    """Per method: its answer, its probability of the true class, the words beside the bar and in the hover."""
    found = []
    for method in methods:
        verdict = getattr(story, side).verdicts[method]
        share, k = float(verdict.probability[story.label]), int(verdict.label)
        sign = "✓" if k == story.label else "✗ says"
        words = f"{percent(share)}  {sign} {short(story.bank.names[k], 18)}"
        full = f"{METHODS[method]['title']}, {side}: {safe(story.bank.names[k], 60)}"
        found.append((k, share, words, f"{full} · true class {percent(share, 1)}"))
    return found


def draws(story: Story, repeats: Sequence[Draw]) -> Figure:
    """Right or wrong in every draw of views, one row per method, with the count in words.

    Returns:
        A figure whose marks carry ``customdata = (seed, words)``.
    """
    if not repeats:
        return empty("Other draws of views have not been tried yet.")
    methods = [m for m in METHODS if any(m in d.verdicts for d in repeats)][::-1]
    figure = Figure()
    counts = {}
    for row, method in enumerate(methods):
        seen = [(i, d, d.verdicts[method]) for i, d in enumerate(repeats) if method in d.verdicts]
        right = [int(v.label) == story.label for _, _, v in seen]
        counts[method] = (sum(right), len(right))
        colour = METHODS[method]["colour"]
        words = [
            [int(d.seed), f"{METHODS[method]['title']}, view seed {int(d.seed)}: "
             f"{safe(story.bank.names[int(v.label)], 50)}"] for _, d, v in seen
        ]  # fmt: skip
        figure.add_scatter(
            x=[i for i, _, _ in seen], y=[row] * len(seen), mode="markers", customdata=words,
            name=METHODS[method]["title"], hovertemplate="%{customdata[1]}<extra></extra>",
            marker={"symbol": ["circle" if r else "x-thin" for r in right], "size": 11,
                    "color": colour, "line": {"width": 2, "color": colour}},
            cliponaxis=False,
        )  # fmt: skip
    notes = [
        note(f"<b>{r}</b> of {n}", 1, row, yref="y", xshift=8, yanchor="middle",
             font={"size": 13, "color": COLOURS["text"]})
        for row, (r, n) in enumerate(counts[m] for m in methods)
    ]  # fmt: skip
    said = ", ".join(
        f"{METHODS[m]['title']} {counts[m][0]} of {counts[m][1]}" for m in methods[::-1]
    )
    return finish(
        figure,
        kind="draws",
        alt=f"Right answers over draws of views: {said}.",
        pickable=True,
        annotations=[note("● right   × wrong", 0, 1, yshift=6), *notes],
        margin={"l": room_for([METHODS[m]["title"] for m in methods]), "r": 70, "t": 30, "b": 36},
        xaxis=axis(range=[-0.5, len(repeats) - 0.5], tickvals=[], showgrid=False,
                   title=f"{len(repeats)} draws of the views"),
        yaxis=rows([METHODS[m]["title"] for m in methods]),
    )  # fmt: skip
