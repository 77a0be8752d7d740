"""The cost of every class, clean beside attacked, on one scale."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rita_demo.plots.figure import Figure
from rita_demo.plots.labels import escaped, reference_tag, sides_of
from rita_demo.plots.shapes import row_band, segments
from rita_demo.plots.theme import COLOURS, SIDE_STYLES, annotation, axis, dim_marks, finalise
from rita_demo.records import ImageResult, Run

WIDE_DOMAINS = ((0.0, 0.485), (0.515, 1.0))  # x domains of the panels, side by side
STACKED_DOMAINS = ((0.56, 1.0), (0.0, 0.44))  # y domains in a narrow view: clean above attacked
TAGS_SPACE = 0.46  # space for text right of the marks, as a share of the data's range
AXIS_TITLE = "cosine distance (does not start at 0)"


def class_costs(
    run: Run,
    selected: int | None = None,
    *,
    max_classes: int = 10,
    along: Sequence[ImageResult] = (),
    pinned: Run | None = None,
) -> Figure:
    """Per class: d_OT (ring) plus alpha times d_cOT (purple line) is the total (diamond).

    The same classes have the same rows on both sides, cheapest on the delivered picture first, and both panels share one
    scale. The true class is outlined; RITA's and CLIP's answers are labelled.

    Args:
        run: both sides are drawn; one panel without an attack.
        selected: a class to mark with a band, the others are dimmed; it is always among the rows.
        max_classes: limit on the number of rows.
        along: the attacked side at other steps of the attack, the delivered one last. Rows and scale are the same for
            all of them, so that they stay fixed from step to step.
        pinned: another run whose totals are drawn as empty squares in the same rows. Classes are matched by name.

    Returns:
        A figure whose marks carry ``customdata = (class, d_OT, alpha d_cOT, total, name)``.
    """
    sides = sides_of(run)
    fixed = replace(run, attacked=along[-1]) if along else run
    shown = shown_classes(fixed, selected, max_classes, also=along)
    rows = {k: len(shown) - 1 - i for i, k in enumerate(shown)}
    earlier = {name: _pinned_totals(run, name, shown, pinned) for name in sides}
    others = [v for totals in earlier.values() for v in totals.values()]
    span = _range((run.clean, run.attacked, *along), shown, others)
    figure = Figure()
    annotations = [annotation(_legend(pinned is not None), 0, 1.0, yshift=26, xshift=-150)]
    shapes: list[dict] = []
    for name, suffix in zip(sides, ("", "2")):
        _draw_side(figure, run, name, rows, selected, suffix)
        _draw_pinned(figure, run, name, rows, suffix, earlier[name])
        annotations += _add_labels(run, name, rows, suffix)
        shapes += _highlight_shapes(run, rows, selected, suffix)
    return finalise(
        figure,
        kind="class_costs",
        alt=_alt_text(run, sides, shown),
        pickable=True,
        narrow=_narrow(run, sides, shown),
        hovermode="closest",
        annotations=annotations,
        shapes=shapes,
        margin={"l": 158, "r": 12, "t": 62, "b": 44},
        **_axes(run, sides, shown, span),
    )


def shown_classes(run: Run, selected: int | None, max_classes: int, also: Sequence[ImageResult] = ()) -> list[int]:
    """At most ``max_classes`` classes: the true, the answered (also on the sides in ``also``) and the selected ones,
    then the cheapest of either side; sorted by total cost on the delivered picture.
    """
    wanted = [] if selected is None else [selected]
    wanted.append(run.label)
    for side in (run.attacked, run.clean, *also):
        wanted += [side.verdicts[m].label for m in ("rita", "clip") if m in side.verdicts]
    totals = [np.asarray(run.attacked.trace.total), np.asarray(run.clean.trace.total)]
    ranked = np.argsort(np.minimum(*[t.argsort().argsort() for t in totals]), kind="stable")
    chosen = list(dict.fromkeys([int(k) for k in (*wanted, *ranked)]))[: max(max_classes, 2)]
    return sorted(chosen, key=lambda k: totals[0][k])


def _costs(side: ImageResult) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """d_OT, the cache's share, total: (K,) each. The share is the difference of the other two."""
    total = np.asarray(side.trace.total, float)
    prompt = np.asarray(side.trace.prompt_transport.distance, float)
    return prompt, total - prompt, total


def _pinned_totals(run: Run, side: str, shown: list[int], pinned: Run | None) -> dict[int, float]:
    """Class of ``run`` -> its total in the pinned run, for the shown classes that it has."""
    if pinned is None:
        return {}
    there = {name: k for k, name in enumerate(pinned.class_prompts.names)}
    total = np.asarray(getattr(pinned, side).trace.total, float)
    names = run.class_prompts.names
    return {k: float(total[there[names[k]]]) for k in shown if names[k] in there}


def _draw_pinned(
    figure: Figure, run: Run, name: str, rows: dict[int, int], suffix: str, totals: dict[int, float]
) -> None:
    if not totals:
        return
    now = np.asarray(getattr(run, name).trace.total, float)
    names = run.class_prompts.names
    figure.add_scatter(
        x=list(totals.values()),
        y=[rows[k] for k in totals],
        mode="markers",
        customdata=[[k, v, float(now[k]) - v, float(now[k]), escaped(names[k])] for k, v in totals.items()],
        marker={"symbol": "square-open", "size": 13, "color": COLOURS["quiet"], "line": {"width": 1.5}},
        name=f"{SIDE_STYLES[name]['title']}: pinned",
        hovertemplate="%{customdata[4]}<br>pinned total %{customdata[1]:.4f}<br>since then %{customdata[2]:+.4f} "
        "(cosine distance)<extra></extra>",
        xaxis=f"x{suffix}",
        yaxis=f"y{suffix}",
    )


def _range(sides: Iterable[ImageResult], shown: list[int], others: list[float]) -> tuple[float, float]:
    costs = [c[shown] for side in sides for c in _costs(side)[::2]]
    values = np.concatenate([*costs, np.array(others)])
    low, high = float(values.min()), float(values.max())
    span = max(high - low, 1e-3)
    return low - 0.05 * span, high + TAGS_SPACE * span


def _draw_side(figure: Figure, run: Run, name: str, rows: dict[int, int], selected: int | None, suffix: str) -> None:
    prompt, memory, total = _costs(getattr(run, name))
    style, y = SIDE_STYLES[name], list(rows.values())
    names = run.class_prompts.names
    data = [[k, float(prompt[k]), float(memory[k]), float(total[k]), escaped(names[k])] for k in rows]
    opacity = dim_marks(rows, selected)
    panel: dict[str, Any] = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
    figure.add_scatter(
        x=segments((float(prompt[k]) for k in rows), (float(total[k]) for k in rows)),
        y=segments(y, y),
        mode="lines",
        line={"color": COLOURS["cache"], "width": 4},
        hoverinfo="skip",
        **panel,
    )
    ring = {"symbol": "circle", "size": 9, "color": COLOURS["surface"], "line": {"color": style["colour"], "width": 2}}
    figure.add_scatter(
        x=[d[1] for d in data],
        y=y,
        mode="markers",
        marker=ring | {"opacity": opacity},
        name=f"{style['title']}: d_OT",
        hoverinfo="skip",
        **panel,
    )
    figure.add_scatter(
        x=[d[3] for d in data],
        y=y,
        mode="markers",
        customdata=data,
        marker={"symbol": "diamond", "size": 11, "color": style["colour"], "opacity": opacity},
        name=f"{style['title']}: total",
        hovertemplate="%{customdata[4]}<br>prompts d<sub>OT</sub> %{customdata[1]:.4f}<br>memory α·d<sub>cOT</sub> "
        "%{customdata[2]:+.4f}<br>total %{customdata[3]:.4f} (cosine distance)<extra></extra>",
        **panel,
    )


def _add_labels(run: Run, name: str, rows: dict[int, int], suffix: str) -> list[dict]:
    """The heading of the panel, and the answers of RITA and CLIP beside their rows."""
    side: ImageResult = getattr(run, name)
    heading = annotation(
        f"<b>{SIDE_STYLES[name]['title']} picture</b>",
        0,
        1,
        yshift=4,
        xref=f"x{suffix} domain",
        yref=f"y{suffix} domain",
        font={"size": 13, "color": SIDE_STYLES[name]["colour"]},
    )
    tags: dict[int, list[str]] = {}
    tags.setdefault(side.verdicts["rita"].label, []).append(
        f'<span style="color:{COLOURS["defence"]}"><b>◀ RITA</b></span>'
    )
    tags.setdefault(side.verdicts["clip"].label, []).append("◁ CLIP")
    place = {"xref": f"x{suffix}", "yref": f"y{suffix}", "xshift": 9, "yanchor": "middle"}
    total = np.asarray(side.trace.total)
    found = [annotation("  ".join(tags[k]), float(total[k]), row, **place) for k, row in rows.items() if k in tags]
    return [heading, *found]


def _highlight_shapes(run: Run, rows: dict[int, int], selected: int | None, suffix: str) -> list[dict]:
    """An outline around the true class, a band behind the selected one."""
    panel = {"xref": f"x{suffix} domain", "yref": f"y{suffix}"}
    row = rows[run.label]
    outline = {"type": "rect", "x0": 0, "x1": 1, "y0": row - 0.42, "y1": row + 0.42}
    outline |= {"line": {"color": COLOURS["text"], "width": 1.5}}
    return [outline | panel, *row_band(None if selected is None else rows.get(selected), **panel)]


def _axes(run: Run, sides: list[str], shown: list[int], span: tuple[float, float]) -> dict:
    found = {}
    for number, suffix in enumerate(("", "2")[: len(sides)]):
        domain = WIDE_DOMAINS[number] if len(sides) > 1 else (0, 1)
        found[f"xaxis{suffix}"] = axis(range=list(span), nticks=5, title=AXIS_TITLE, domain=domain, anchor=f"y{suffix}")
        found[f"yaxis{suffix}"] = class_axis(
            [class_label(run, k, 18) for k in shown], showticklabels=number == 0, anchor=f"x{suffix}", domain=(0, 1)
        )
    return found


def class_axis(labels: list[str], **more: Any) -> dict[str, Any]:
    """The vertical axis of classes, the first at the top."""
    return axis(
        range=[-0.6, len(labels) - 0.4],
        tickvals=list(range(len(labels)))[::-1],
        ticktext=labels,
        showgrid=False,
        tickfont={"color": COLOURS["text"], "size": 12},
        **more,
    )


def class_label(run: Run, k: int, letters: int) -> str:
    """The name of a class as a row label; the reference class is bold with a tag."""
    name = run.class_prompts.names[k]
    if k != run.label:
        return escaped(name, letters)
    tag = f" ({reference_tag(run)})"
    return f"<b>{escaped(name, letters + 1 - len(tag))}</b>{tag}"


def _legend(pinned: bool) -> str:
    return (
        f'○ prompts d<sub>OT</sub>   <span style="color:{COLOURS["cache"]}"><b>━</b></span> '
        f"memory α·d<sub>cOT</sub>   ◆ total{'   □ pinned total' if pinned else ''}"
    )


def _narrow(run: Run, sides: list[str], shown: list[int]) -> dict:
    """In a narrow view the panels are stacked and names are shorter."""
    ticks = [class_label(run, k, 13) for k in shown]
    found: dict = {"margin": {"l": 112, "r": 8, "t": 62, "b": 40}, "annotations.0.xshift": -104}
    for suffix, domain in zip(("", "2")[: len(sides)], STACKED_DOMAINS):
        found |= {f"xaxis{suffix}.title.text": "cosine distance, not from 0", f"yaxis{suffix}.ticktext": ticks}
        if len(sides) > 1:
            found |= {f"xaxis{suffix}.domain": (0, 1), f"yaxis{suffix}.domain": domain}
            found[f"yaxis{suffix}.showticklabels"] = True
    return found | ({"xaxis.title.text": ""} if len(sides) > 1 else {})


def _alt_text(run: Run, sides: list[str], shown: list[int]) -> str:
    names = run.class_prompts.names
    parts = []
    for name in sides:
        total = np.asarray(getattr(run, name).trace.total)
        best = int(total.argmin())
        parts.append(
            f"{SIDE_STYLES[name]['title']} picture: cheapest is {names[best]} at {total[best]:.4f}, the true "
            f"class {names[run.label]} costs {total[run.label]:.4f}"
        )
    return f"Transport cost of {len(shown)} classes in cosine distance. {'. '.join(parts)}."
