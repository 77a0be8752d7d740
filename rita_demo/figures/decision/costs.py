"""The cost of every class, clean and attacked in one plot; and before and after the prompt update."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rita_demo.figures.figure import Figure
from rita_demo.figures.labels import escaped, reference_tag, sides_of
from rita_demo.figures.shapes import add_changes, category_axis, row_band, segments
from rita_demo.figures.theme import COLOURS, SIDE_STYLES, annotation, axis, dim_marks, finalise
from rita_demo.records import ImageResult, Run

MAX_CLASSES = 10


def class_costs(
    run: Run, selected: int | None = None, *, along: Sequence[ImageResult] = (), most: int = MAX_CLASSES
) -> Figure:
    """What RITA pays for each class: on the clean picture (ring) and on the attacked one (disc), joined by a line.

    Rows are classes, the cheapest on the delivered picture first. The reference class is bold and tagged; the lowest total of the
    picture shown is RITA's answer, which is said beside it, as is CLIP's where it is another. Marks carry
    ``customdata = (class, d_OT, alpha d_cOT, total, name)``.

    Args:
        run: both sides are drawn; one without an attack.
        selected: a class to mark with a band; it is always among the rows.
        along: the attacked side at other steps of the attack, the delivered one last. The rows are the same for all of
            them, so that they stay fixed from step to step; so is the scale, which is that of the run without them: a
            cost that lies outside is drawn at its end.
        most: rows.
    """
    whole = replace(run, attacked=along[-1]) if along else run
    shown = shown_classes(whole, selected, most, also=along)
    rows = {k: len(shown) - 1 - i for i, k in enumerate(shown)}
    without = shown_classes(whole, selected, most)
    values = np.concatenate([np.asarray(side.trace.total, float)[without] for side in (whole.clean, whole.attacked)])
    span = max(float(values.max() - values.min()), 1e-3)
    scale = float(values.min()) - 0.08 * span, float(values.max()) + 0.08 * span
    figure, names, said = Figure(), [escaped(one) for one in run.class_prompts.names], []
    y, sides = list(rows.values()), sides_of(run)
    ends = {name: np.clip(np.asarray(getattr(run, name).trace.total, float)[shown], *scale).tolist() for name in sides}
    figure.add_line(COLOURS["axis"], 2, x=segments(ends[sides[0]], ends[sides[-1]]), y=segments(y, y))
    for name in sides:
        trace, style = getattr(run, name).trace, SIDE_STYLES[name]
        prompt, total = (np.asarray(costs, float).tolist() for costs in (trace.prompt_transport.distance, trace.total))
        ring = {"color": COLOURS["surface"], "line": {"color": style["colour"], "width": 2}}
        marker = {"symbol": "circle", "size": 10}
        figure.add_marks(
            f"%{{customdata[4]}}, {name}<br>prompts d<sub>OT</sub> %{{customdata[1]:.4f}}<br>memory α·d<sub>cOT</sub> "
            "%{customdata[2]:+.4f}<br>total %{customdata[3]:.4f} (cosine distance)",
            x=ends[name],
            y=y,
            customdata=[[k, prompt[k], total[k] - prompt[k], total[k], names[k]] for k in rows],
            marker=marker | (ring if name == "clean" else {"color": style["colour"]}),
            name=name,
        )
        best = int(np.argmin(total))
        cheapest = f"{style['title']} picture: cheapest is {run.class_prompts.names[best]} at {total[best]:.4f}"
        said.append(f"{cheapest}, the true class {run.class_prompts.names[run.label]} costs {total[run.label]:.4f}")
    answers = run.attacked.verdicts["rita"].label, run.attacked.verdicts["clip"].label
    right = np.max(list(ends.values()), 0)
    tags = {answers[0]: ("RITA’s answer", "defence"), answers[1]: ("CLIP’s", "quiet")}
    tags |= {answers[0]: ("RITA’s and CLIP’s", "defence")} if answers[0] == answers[1] else {}
    notes = []
    for (k, row), end in zip(rows.items(), right.tolist()):
        if k in tags:
            text, role = tags[k]
            left = end > scale[0] + 0.6 * (scale[1] - scale[0])
            x = float(min(one[len(rows) - 1 - row] for one in ends.values())) if left else end
            at = {"xref": "x", "yref": "y", "yanchor": "middle", "font": {"size": 12, "color": COLOURS[role]}}
            notes.append(annotation(text, x, row, xshift=-9 if left else 9, xanchor="right" if left else "left", **at))
    return finalise(
        figure,
        kind="class_costs",
        alt=f"Transport cost of {len(shown)} classes in cosine distance. {'. '.join(said)}.",
        marks=("k",),
        annotations=notes,
        shapes=row_band(None if selected is None else rows.get(selected)),
        margin={"l": 118, "r": 6, "t": 4, "b": 24},
        xaxis=axis(range=[*scale], nticks=5),
        yaxis=category_axis([class_label(run, k, 15) for k in shown], top_first=True, size=12, edge=0.1),
    )


def shown_classes(run: Run, selected: int | None, max_classes: int, also: Sequence[ImageResult] = ()) -> list[int]:
    """At most ``max_classes`` classes: the true, the answered (also on the sides in ``also``) and the selected ones,
    then the cheapest of either side; sorted by total cost on the delivered picture."""
    wanted = [] if selected is None else [selected]
    wanted.append(run.label)
    for side in (run.attacked, run.clean, *also):
        wanted += [side.verdicts[m].label for m in ("rita", "clip") if m in side.verdicts]
    totals = [np.asarray(run.attacked.trace.total), np.asarray(run.clean.trace.total)]
    ranked = np.argsort(np.minimum(*[t.argsort().argsort() for t in totals]), kind="stable")
    chosen = list(dict.fromkeys([int(k) for k in (*wanted, *ranked)]))[: max(max_classes, 2)]
    return sorted(chosen, key=lambda k: totals[0][k])


def class_label(run: Run, k: int, letters: int) -> str:
    """The name of a class as a row label; the reference class is bold with a tag."""
    name = run.class_prompts.names[k]
    if k != run.label:
        return escaped(name, letters)
    tag = f" ({reference_tag(run)})"
    return f"<b>{escaped(name, letters + 1 - len(tag))}</b>{tag}"


def cost_change(run: Run, *, k: int | None = None) -> Figure:
    """d_OT of each class before (ring) and after (dot) the prompt update, joined by a line; both sides, one scale.

    Two marker traces per side, ``"clean before"``, ``"clean after"``, ..., with
    ``customdata = (class, before, after, hover text)``."""
    classes = shown_classes(run, k, 8)
    names, sides = run.class_prompts.names, sides_of(run)
    figure = Figure()
    for number, name in enumerate(sides):
        trace, style = getattr(run, name).trace, SIDE_STYLES[name]
        lift = 0.0 if len(sides) == 1 else 0.17 - 0.34 * number
        rows = [len(classes) - 1 - i + lift for i in range(len(classes))]
        data: list[list] = []
        for c in classes:
            one, two = (float(t.distance[c]) for t in (trace.untuned_prompt_transport, trace.prompt_transport))
            data.append([c, one, two, f"{escaped(names[c], 40)}, {name}: {one:.4f} → {two:.4f} ({two - one:+.4f})"])
        ring = {"size": 8, "color": COLOURS["surface"], "line": {"color": style["colour"], "width": 2}}
        both = {"symbol": style["symbol"], "opacity": dim_marks(classes, k)}
        markers = [both | ring, both | {"size": 9, "color": style["colour"]}]
        add_changes(figure, name, "yx", rows, data, "%{customdata[3]}", markers, (style["colour"], 2))
    return finalise(
        figure,
        kind="before_after",
        marks=("k",),
        alt=f"Transport cost of {len(classes)} classes before and after the prompt update.",
        annotations=[annotation("○◇ before  ●◆ after  (● clean  ◆ attacked)", 0, 1, yshift=6, xshift=-122)],
        margin={"l": 130, "r": 14, "t": 30, "b": 44},
        xaxis=axis(title="d<sub>OT</sub> (cosine distance, not from 0)", nticks=5),
        yaxis=category_axis([class_label(run, c, 16) for c in classes], top_first=True, size=12, edge=0.1),
    )
