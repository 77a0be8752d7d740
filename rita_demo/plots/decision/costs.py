"""The cost of every class, clean beside attacked, on one scale."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rita_demo.plots.figure import Figure, Spec
from rita_demo.plots.labels import escaped, reference_tag, sides_of
from rita_demo.plots.shapes import category_axis, row_band, segments
from rita_demo.plots.theme import COLOURS, SIDE_STYLES, annotation, axis, dim_marks, finalise
from rita_demo.records import ImageResult, Run

WIDE_DOMAINS = ((0.0, 0.485), (0.515, 1.0))  # x domains of the panels, side by side
STACKED_DOMAINS = ((0.56, 1.0), (0.0, 0.44))  # y domains in a narrow view: clean above attacked
TAGS_SPACE = 0.46  # space for text right of the marks, as a share of the data's range
MAX_CLASSES = 10


def class_costs(run: Run, selected: int | None = None, *, along: Sequence[ImageResult] = ()) -> Figure:
    """Per class: d_OT (ring) plus alpha times d_cOT (purple line) is the total (diamond).

    The same classes have the same rows on both sides, cheapest on the delivered picture first, and both panels share one
    scale. The true class is outlined; RITA's and CLIP's answers are labelled. Marks carry
    ``customdata = (class, d_OT, alpha d_cOT, total, name)``.

    Args:
        run: both sides are drawn; one panel without an attack.
        selected: a class to mark with a band, the others are dimmed; it is always among the rows.
        along: the attacked side at other steps of the attack, the delivered one last. The rows are the same for all of
            them, so that they stay fixed from step to step; so is the scale, which is that of the run without them: a
            cost that lies outside is drawn at its end.
    """
    sides, whole = sides_of(run), replace(run, attacked=along[-1]) if along else run
    shown = shown_classes(whole, selected, MAX_CLASSES, also=along)
    rows = {k: len(shown) - 1 - i for i, k in enumerate(shown)}
    without = shown_classes(whole, selected, MAX_CLASSES)
    values = np.concatenate([cost[without] for side in (whole.clean, whole.attacked) for cost in _costs(side)])
    span = max(float(values.max()) - float(values.min()), 1e-3)
    scale = float(values.min()) - 0.1 * span, float(values.max()) + TAGS_SPACE * span
    figure, names, said = Figure(), run.class_prompts.names, []
    layout: Spec = {}
    stroke = f'<span style="color:{COLOURS["cache"]}"><b>━</b></span> '
    held = any(np.any(getattr(run, side).trace.cache.count) for side in sides)
    added = f"{stroke}{'memory' if held else 'mean prompt: no memory yet'}   " if _memory_counts(run, sides) else ""
    notes, shapes = [annotation(f"○ prompts   {added}◆ total", 0, 1.0, yshift=26, xshift=-150)], []
    narrow: Spec = {"margin": {"l": 112, "r": 8, "t": 62, "b": 40}, "annotations.0.xshift": -104}
    for name, suffix, domain, stacked in zip(sides, ("", "2"), WIDE_DOMAINS, STACKED_DOMAINS):
        x, y = f"x{suffix}", f"y{suffix}"
        _draw_side(figure, run, name, rows, selected, scale, {"xaxis": x, "yaxis": y})
        notes += _labels(run, name, rows, scale, x, y)
        total = getattr(run, name).trace.total
        best, true = int(total.argmin()), run.label
        cheapest = f"{SIDE_STYLES[name]['title']} picture: cheapest is {names[best]} at {total[best]:.4f}"
        said.append(f"{cheapest}, the true class {names[true]} costs {total[true]:.4f}")
        row, line = rows[run.label], {"color": COLOURS["text"], "width": 1.5}  # the true class is outlined
        outline = {"type": "rect", "x0": 0, "x1": 1, "y0": row - 0.42, "y1": row + 0.42, "line": line}
        shapes.append(outline | {"xref": f"{x} domain", "yref": y})
        shapes += row_band(None if selected is None else rows.get(selected), xref=f"{x} domain", yref=y)
        across = {"anchor": y, "domain": domain if len(sides) > 1 else (0, 1), "nticks": 5}
        layout[f"xaxis{suffix}"] = axis(range=[*scale], title="cosine distance (does not start at 0)", **across)
        at = {"anchor": x, "domain": (0, 1), "showticklabels": not suffix}
        labels = [class_label(run, k, 18) for k in shown]
        layout[f"yaxis{suffix}"] = category_axis(labels, top_first=True, size=12, edge=0.1, **at)
        narrow[f"xaxis{suffix}.title.text"] = "" if not suffix and len(sides) > 1 else "cosine distance, not from 0"
        narrow[f"yaxis{suffix}.ticktext"] = [class_label(run, k, 13) for k in shown]
        if len(sides) > 1:
            narrow |= {f"xaxis{suffix}.domain": (0, 1), f"yaxis{suffix}.domain": stacked}
            narrow[f"yaxis{suffix}.showticklabels"] = True
    return finalise(
        figure,
        kind="class_costs",
        alt=f"Transport cost of {len(shown)} classes in cosine distance. {'. '.join(said)}.",
        marks=("k",),
        narrow=narrow,
        annotations=notes,
        shapes=shapes,
        margin={"l": 158, "r": 12, "t": 62, "b": 44},
        **layout,
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


def _memory_counts(run: Run, sides: Sequence[str]) -> bool:
    """Whether the memory adds to the cost of any class."""
    return any(np.any(prompt != total) for prompt, total in (_costs(getattr(run, side)) for side in sides))


def _costs(side: ImageResult) -> tuple[np.ndarray, np.ndarray]:
    """d_OT and total of every class; the cache's share is their difference."""
    return np.asarray(side.trace.prompt_transport.distance, float), np.asarray(side.trace.total, float)


def _draw_side(
    figure: Figure,
    run: Run,
    name: str,
    rows: dict[int, int],
    selected: int | None,
    scale: tuple[float, float],
    panel: dict[str, str],
) -> None:
    prompt, total = (costs.tolist() for costs in _costs(getattr(run, name)))
    style, y = SIDE_STYLES[name], list(rows.values())
    names = [escaped(one) for one in run.class_prompts.names]
    starts, ends = (np.clip([costs[k] for k in rows], *scale).tolist() for costs in (prompt, total))
    opacity = dim_marks(rows, selected)
    figure.add_line(COLOURS["cache"], 4, x=segments(starts, ends), y=segments(y, y), **panel)
    ring = {"symbol": "circle", "size": 9, "color": COLOURS["surface"], "line": {"color": style["colour"], "width": 2}}
    ring["opacity"], title = opacity, f"{style['title']}: d_OT"
    figure.add_scatter(x=starts, y=y, mode="markers", marker=ring, name=title, hoverinfo="skip", **panel)
    figure.add_marks(
        "%{customdata[4]}<br>prompts d<sub>OT</sub> %{customdata[1]:.4f}<br>memory α·d<sub>cOT</sub> "
        "%{customdata[2]:+.4f}<br>total %{customdata[3]:.4f} (cosine distance)",
        x=ends,
        y=y,
        customdata=[[k, prompt[k], total[k] - prompt[k], total[k], names[k]] for k in rows],
        marker={"symbol": "diamond", "size": 11, "color": style["colour"], "opacity": opacity},
        name=f"{style['title']}: total",
        **panel,
    )


def _labels(run: Run, name: str, rows: dict[int, int], scale: tuple[float, float], x: str, y: str) -> list[dict]:
    """The heading of the panel, and the answers of RITA and CLIP beside their rows."""
    side, style = getattr(run, name), SIDE_STYLES[name]
    font = {"size": 13, "color": style["colour"]}
    over = {"xref": f"{x} domain", "yref": f"{y} domain", "yshift": 4, "font": font}
    found = [annotation(f"<b>{style['title']} picture</b>", 0, 1, **over)]
    rita = f'<span style="color:{COLOURS["defence"]}"><b>◀ RITA</b></span>'
    for k, row in rows.items():
        tags = [tag for method, tag in (("rita", rita), ("clip", "◁ CLIP")) if side.verdicts[method].label == k]
        if tags:
            at = {"xref": x, "yref": y, "xshift": 9, "yanchor": "middle"}
            found.append(annotation("  ".join(tags), float(np.clip(side.trace.total[k], *scale)), row, **at))
    return found


def class_label(run: Run, k: int, letters: int) -> str:
    """The name of a class as a row label; the reference class is bold with a tag."""
    name = run.class_prompts.names[k]
    if k != run.label:
        return escaped(name, letters)
    tag = f" ({reference_tag(run)})"
    return f"<b>{escaped(name, letters + 1 - len(tag))}</b>{tag}"
