"""What every class costs, clean beside attacked, on one scale."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from rita_demo.plots.figure import Figure
from rita_demo.plots.names import right_tag, safe, short, sides_of
from rita_demo.plots.theme import COLOURS, SIDES, axis, fades, finish, note
from rita_demo.records import Side, Story

WIDE = ((0.0, 0.485), (0.515, 1.0))  # x domains of the panels, side by side
STACKED = ((0.56, 1.0), (0.0, 0.44))  # y domains on a phone: clean above attacked
TAGS = 0.46  # room for words right of the dots, as a share of the data's own range


def class_costs(
    story: Story,
    selected: int | None = None,
    *,
    top: int = 10,
    along: Sequence[Side] = (),
    pinned: Story | None = None,
) -> Figure:
    """Per class: d_OT (ring), plus alpha times d_cOT (purple), gives the total (diamond).

    The same classes stand in the same rows on both sides, cheapest on the delivered picture
    first; both panels share one scale, which does not start at 0 and says so.  The true class is
    outlined, RITA's and CLIP's answers carry words.

    Args:
        story: both sides' traces are drawn; one panel if there was no attack.
        selected: a class to mark with a band, the others go pale; always among the rows when given.
        top: how many classes at most.
        along: the attacked side at other steps of the attack, the delivered one last; rows and
            scale are the same for all of them, so that nothing jumps from step to step.
        pinned: another state whose totals stand in the same rows on the same scale, as empty squares;
            classes are matched by name, those it does not have get none.

    Returns:
        A figure whose marks carry ``customdata = (class, d_OT, alpha d_cOT, total, name)``.
    """
    sides = sides_of(story)
    fixed = replace(story, attacked=along[-1]) if along else story
    shown = shown_classes(fixed, selected, top, also=along)
    rows = {k: len(shown) - 1 - i for i, k in enumerate(shown)}
    before = {name: pinned_totals(story, name, shown, pinned) for name in sides}
    also = [v for found in before.values() for v in found.values()]
    low, high = _range(story, (story.clean, story.attacked, *along), shown, also)
    figure = Figure()
    annotations = [note(_key(pinned is not None), 0, 1.0, yshift=26, xshift=-150)]
    shapes: list[dict] = []
    for number, name in enumerate(sides):
        suffix = "" if number == 0 else str(number + 1)
        _draw_side(figure, story, name, rows, selected, suffix)
        _draw_pinned(figure, story, name, rows, suffix, before[name])
        annotations += _words(story, name, rows, suffix)
        shapes += _frames(story, rows, selected, suffix)
    return finish(
        figure,
        kind="class_costs",
        alt=_alt(story, sides, shown),
        pickable=True,
        narrow=_narrow(story, sides, shown),
        hovermode="closest",
        annotations=annotations,
        shapes=shapes,
        margin={"l": 158, "r": 12, "t": 62, "b": 44},
        **_axes(story, sides, shown, (low, high)),
    )


def shown_classes(
    story: Story, selected: int | None, top: int, also: Sequence[Side] = ()
) -> list[int]:
    """At most ``top`` classes: true, answered (``also`` by other sides) and selected ones, then the
    cheapest of either side.

    Sorted by the delivered picture's total cost, cheapest first.
    """
    wanted = [story.label]
    for side in (story.attacked, story.clean, *also):
        wanted += [side.verdicts[m].label for m in ("rita", "clip") if m in side.verdicts]
    if selected is not None:
        wanted.insert(0, selected)
    totals = [np.asarray(story.attacked.trace.total), np.asarray(story.clean.trace.total)]
    ranked = np.argsort(np.minimum(*[t.argsort().argsort() for t in totals]), kind="stable")
    chosen = list(dict.fromkeys([int(k) for k in wanted] + [int(k) for k in ranked]))[: max(top, 2)]
    return sorted(chosen, key=lambda k: totals[0][k])


def _costs(story: Story, side: Side) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """d_OT, what the memory adds, total: (K,) each. The middle one is their difference, as decided."""
    total = np.asarray(side.trace.total, float)
    prompt = np.asarray(side.trace.prompt.distance, float)
    return prompt, total - prompt, total


def pinned_totals(
    story: Story, side: str, shown: list[int], pinned: Story | None
) -> dict[int, float]:
    """Class of ``story`` -> its total in the pinned state, for those of ``shown`` that it has."""
    if pinned is None:
        return {}
    there = {name: k for k, name in enumerate(pinned.bank.names)}
    total = np.asarray(getattr(pinned, side).trace.total, float)
    names = story.bank.names
    return {k: float(total[there[names[k]]]) for k in shown if names[k] in there}


def _draw_pinned(
    figure: Figure, story: Story, name: str, rows: dict[int, int], suffix: str,
    before: dict[int, float],
) -> None:  # fmt: skip
    if not before:
        return
    now = np.asarray(getattr(story, name).trace.total, float)
    data = [
        [k, v, float(now[k]) - v, float(now[k]), safe(story.bank.names[k])]
        for k, v in before.items()
    ]
    hover = (
        "%{customdata[4]}<br>pinned total %{customdata[1]:.4f}<br>since then %{customdata[2]:+.4f} "
        "(cosine distance)<extra></extra>"
    )
    figure.add_scatter(
        x=list(before.values()), y=[rows[k] for k in before], mode="markers", customdata=data,
        marker={"symbol": "square-open", "size": 13, "color": COLOURS["quiet"], "line": {"width": 1.5}},
        name=f"{SIDES[name]['title']}: pinned", hovertemplate=hover, xaxis=f"x{suffix}", yaxis=f"y{suffix}",
    )  # fmt: skip


def _range(
    story: Story, sides: Iterable[Side], shown: list[int], also: list[float]
) -> tuple[float, float]:
    costs = [c[shown] for side in sides for c in _costs(story, side)[::2]]
    values = np.concatenate([*costs, np.array(also)])
    low, high = float(values.min()), float(values.max())
    span = max(high - low, 1e-3)
    return low - 0.05 * span, high + TAGS * span


def _draw_side(
    figure: Figure,
    story: Story,
    name: str,
    rows: dict[int, int],
    selected: int | None,
    suffix: str,
) -> None:
    prompt, memory, total = _costs(story, getattr(story, name))
    look = SIDES[name]
    names = story.bank.names
    data = [
        [k, float(prompt[k]), float(memory[k]), float(total[k]), safe(names[k])] for k in rows
    ]  # fmt: skip
    where = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
    stems_x, stems_y = [], []
    for k, row in rows.items():
        stems_x += [float(prompt[k]), float(total[k]), None]
        stems_y += [row, row, None]
    figure.add_scatter(
        x=stems_x, y=stems_y, mode="lines", line={"color": COLOURS["cache"], "width": 4},
        hoverinfo="skip", **where,
    )  # fmt: skip
    hover = (
        "%{customdata[4]}<br>prompts d<sub>OT</sub> %{customdata[1]:.4f}<br>memory α·d<sub>cOT</sub> "
        "%{customdata[2]:+.4f}<br>total %{customdata[3]:.4f} (cosine distance)<extra></extra>"
    )
    ring: dict = {"symbol": "circle", "size": 9, "color": COLOURS["surface"]}
    ring |= {"line": {"color": look["colour"], "width": 2}, "opacity": fades(rows, selected)}
    figure.add_scatter(
        x=[d[1] for d in data], y=list(rows.values()), mode="markers", marker=ring,
        name=f"{look['title']}: d_OT", hoverinfo="skip", **where,
    )  # fmt: skip
    figure.add_scatter(
        x=[d[3] for d in data], y=list(rows.values()), mode="markers", customdata=data,
        marker={"symbol": "diamond", "size": 11, "color": look["colour"], "opacity": fades(rows, selected)},
        name=f"{look['title']}: total", hovertemplate=hover, **where,
    )  # fmt: skip


def _words(story: Story, name: str, rows: dict[int, int], suffix: str) -> list[dict]:
    """The panel's heading, and behind a row what it is to whom."""
    side: Side = getattr(story, name)
    look = SIDES[name]
    head = note(
        f"<b>{look['title']} picture</b>", 0, 1, yshift=4, xref=f"x{suffix} domain",
        yref=f"y{suffix} domain", font={"size": 13, "color": look["colour"]},
    )  # fmt: skip
    total = np.asarray(side.trace.total)
    found = [head]
    for k, row in rows.items():
        tags = [
            f'<span style="color:{COLOURS["defence"]}"><b>◀ RITA</b></span>'
            if side.verdicts["rita"].label == k else "",
            "◁ CLIP" if side.verdicts["clip"].label == k else "",
        ]  # fmt: skip
        words = "  ".join(t for t in tags if t)
        if words:
            found.append(
                note(words, float(total[k]), row, xref=f"x{suffix}", yref=f"y{suffix}", xshift=9,
                     yanchor="middle")
            )  # fmt: skip
    return found


def _frames(story: Story, rows: dict[int, int], selected: int | None, suffix: str) -> list[dict]:
    """An outline around the true class, a band behind the selected one."""
    common = {"type": "rect", "xref": f"x{suffix} domain", "x0": 0, "x1": 1, "yref": f"y{suffix}"}
    row = rows[story.label]
    outline = {"color": COLOURS["text"], "width": 1.5}
    found = [common | {"y0": row - 0.42, "y1": row + 0.42, "line": outline}]
    if selected in rows:
        row = rows[selected]
        band = {"fillcolor": COLOURS["grid"], "line": {"width": 0}, "layer": "below"}
        found.append(common | band | {"y0": row - 0.5, "y1": row + 0.5})
    return found


def _axes(story: Story, sides: list[str], shown: list[int], span: tuple[float, float]) -> dict:
    ticks = [class_tick(story, k, 18) for k in shown]
    found = {}
    for number, _ in enumerate(sides):
        suffix = "" if number == 0 else str(number + 1)
        found[f"xaxis{suffix}"] = axis(
            range=list(span), nticks=5, title="cosine distance (does not start at 0)",
            domain=WIDE[number] if len(sides) > 1 else (0, 1), anchor=f"y{suffix}",
        )  # fmt: skip
        found[f"yaxis{suffix}"] = axis(
            range=[-0.6, len(shown) - 0.4], tickvals=list(range(len(shown)))[::-1], ticktext=ticks,
            showgrid=False, showticklabels=number == 0, anchor=f"x{suffix}", domain=(0, 1),
            tickfont={"color": COLOURS["text"], "size": 12},
        )  # fmt: skip
    return found


def class_tick(story: Story, k: int, letters: int) -> str:
    """A class as a row's label; the one that counts as right is bold and says so."""
    name = story.bank.names[k]
    if k != story.label:
        return short(name, letters)
    tag = f" ({right_tag(story)})"
    return f"<b>{short(name, letters + 1 - len(tag))}</b>{tag}"


def _key(pinned: bool) -> str:
    return (
        f'○ prompts d<sub>OT</sub>   <span style="color:{COLOURS["cache"]}"><b>━</b></span> '
        f"memory α·d<sub>cOT</sub>   ◆ total{'   □ pinned total' if pinned else ''}"
    )


def _narrow(story: Story, sides: list[str], shown: list[int]) -> dict:
    """On a phone the panels stand above each other and names are cut earlier."""
    ticks = [class_tick(story, k, 13) for k in shown]
    found: dict = {"margin": {"l": 112, "r": 8, "t": 62, "b": 40}, "yaxis.ticktext": ticks}
    found["annotations.0.xshift"] = -104
    for number in range(len(sides)):
        found[f"xaxis{number + 1 if number else ''}.title.text"] = "cosine distance, not from 0"
    if len(sides) == 1:
        return found
    for suffix, domain in (("", STACKED[0]), ("2", STACKED[1])):
        found[f"xaxis{suffix}.domain"] = (0, 1)
        found[f"yaxis{suffix}.domain"] = domain
        found[f"yaxis{suffix}.ticktext"] = ticks
        found[f"yaxis{suffix}.showticklabels"] = True
    found["xaxis.title.text"] = ""
    return found


def _alt(story: Story, sides: list[str], shown: list[int]) -> str:
    names = story.bank.names
    parts = []
    for name in sides:
        total = np.asarray(getattr(story, name).trace.total)
        best = int(total.argmin())
        parts.append(
            f"{SIDES[name]['title']} picture: cheapest is {names[best]} at {total[best]:.4f}, the true "
            f"class {names[story.label]} costs {total[story.label]:.4f}"
        )
    return f"Transport cost of {len(shown)} classes in cosine distance. {'. '.join(parts)}."
