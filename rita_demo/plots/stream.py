"""How a stream went: accuracy, memory and what entered it, up to a chosen picture."""

from __future__ import annotations

import math

import numpy as np

from rita_demo.plots.figure import Figure
from rita_demo.plots.names import safe, short
from rita_demo.plots.theme import (
    COLOURS,
    METHODS,
    axis,
    empty,
    fades,
    finish,
    method_keys,
    note,
    patch,
    percents,
    rows,
)
from rita_demo.surveys import Course, Held

MOST_MARKS = 1000  # of one line; longer streams are thinned for the screen
MOST_SHAPES = 40  # of one line, which tell it from the others beside its colour
MOST_CLASSES = 10
NOTHING = "Nothing has entered the memory yet."


def running_accuracy(course: Course, t: int) -> Figure:
    """Each method's accuracy over the pictures so far, with Wilson's 95 % interval as a band.

    Args:
        course: T >= 1 pictures. t: the picture looked at, 1..T, a vertical line.

    Returns:
        A figure whose marks carry ``customdata = (picture from 1, words)``.
    """
    figure, kept = Figure(), thinned(len(course.pictures))
    x = (kept + 1).tolist()
    for method, look in METHODS.items():
        if method not in course.curves:
            continue
        one = course.curves[method]
        low, high = (100 * end[kept] for end in (one.low, one.high))
        figure.add_scatter(
            x=x + x[::-1], y=[*high.tolist(), *low[::-1].tolist()], fill="toself", mode="none",
            fillcolor=look["colour"], opacity=0.09, hoverinfo="skip",
        )  # fmt: skip
        figure.add_scatter(
            x=x, y=(100 * one.share[kept]).tolist(), name=look["title"],
            mode="lines+markers",
            line={"color": look["colour"], "dash": look["dash"], "width": 2},
            marker={"symbol": look["symbol"], "size": 6, "color": look["colour"],
                    "maxdisplayed": MOST_SHAPES},
            customdata=[[i, accuracy_words(course, method, i)] for i in x],
            hovertemplate="%{customdata[1]}<extra></extra>", cliponaxis=False,
        )  # fmt: skip
    said = "; ".join(accuracy_words(course, m, t) for m in METHODS if m in course.curves)
    return finish(
        figure,
        kind="running_accuracy",
        alt=f"Accuracy over the stream. {said}.",
        pickable=True,
        hovermode="closest",
        annotations=[
            note("right so far, 95 % band: " + method_keys(course.curves), 0, 1, yshift=8)
        ],
        shapes=[_here(t)],
        margin={"l": 52, "r": 16, "t": 34, "b": 44},
        xaxis=_pictures(course),
        yaxis=axis(range=[-2, 102], **percents(0, 25, 50, 75, 100)),
    )


def accuracy_words(course: Course, method: str, t: int) -> str:
    """One method's accuracy after ``t`` pictures in words."""
    one = course.curves[method]
    n = int((course.answers[method][:t] >= 0).sum())
    if not n:
        return f"{METHODS[method]['title']}: no picture yet"
    share, low, high = (100 * float(v[t - 1]) for v in (one.share, one.low, one.high))
    return f"{METHODS[method]['title']}, first {t}: {share:.0f} % right ({low:.0f} to {high:.0f}), n = {n}"


def memory_growth(course: Course, t: int) -> Figure:
    """How full the memory was (share of all places) and how pure (share of its views whose picture is of
    the class they lie under), after every picture. Marks carry ``customdata = (picture from 1, words)``."""
    if not len(course.entered.picture):
        return empty(NOTHING)
    figure, kept = Figure(), thinned(len(course.pictures))
    places = course.slots * len(course.names)
    for values, title, colour, dash in (
        (course.fill / places, f"full, of {places} places", COLOURS["quiet"], "dot"),
        (course.purity, "pure, of the views held", COLOURS["cache"], "solid"),
    ):
        figure.add_scatter(
            x=(kept + 1).tolist(), y=(100 * values[kept]).tolist(), mode="lines", name=title,
            line={"color": colour, "dash": dash, "width": 2, "shape": "hv"},
            customdata=[[int(i) + 1, growth_words(course, int(i) + 1)] for i in kept],
            hovertemplate="%{customdata[1]}<extra></extra>",
        )  # fmt: skip
    key = (
        f"{patch(COLOURS['cache'], '━', 'pure: of the right class')}   "
        f"{patch(COLOURS['quiet'], '┅', f'full: of {places} places')}"
    )
    return finish(
        figure,
        kind="memory_growth",
        alt=growth_words(course, t),
        pickable=True,
        hovermode="closest",
        annotations=[note(key, 0, 1, yshift=8)],
        shapes=[_here(t)],
        margin={"l": 52, "r": 16, "t": 34, "b": 44},
        xaxis=_pictures(course),
        yaxis=axis(range=[-2, 102], **percents(0, 25, 50, 75, 100)),
    )


def growth_words(course: Course, t: int) -> str:
    """Fill and purity after ``t`` pictures in words."""
    held, purity = int(course.fill[t - 1]), float(course.purity[t - 1])
    places = course.slots * len(course.names)
    pure = "" if math.isnan(purity) else f", {100 * purity:.0f} % of them of the right class"
    return f"After picture {t} the memory held {held} of {places} views{pure}."


def entering(course: Course, t: int) -> Figure:
    """The entropy of every view that entered, by picture: a circle where it entered under its picture's
    true class, a cross where not. Marks carry ``customdata = (picture from 1, words)``."""
    e = course.entered
    if not len(e.picture):
        return empty(NOTHING)
    figure, kept = Figure(), thinned(len(e.picture))
    for true, symbol, colour in (
        (True, "circle-open", COLOURS["cache"]),
        (False, "x-thin", COLOURS["attack"]),
    ):
        chosen = [int(i) for i in kept if bool(e.true[i]) is true]
        figure.add_scatter(
            x=[int(e.picture[i]) + 1 for i in chosen], y=[float(e.entropy[i]) for i in chosen],
            mode="markers", name="right class" if true else "another class",
            marker={"symbol": symbol, "size": 9, "color": colour, "line": {"width": 2, "color": colour}},
            customdata=[[int(e.picture[i]) + 1, _entered_words(course, i)] for i in chosen],
            hovertemplate="%{customdata[1]}<extra></extra>", cliponaxis=False,
        )  # fmt: skip
    key = (
        f'<span style="color:{COLOURS["cache"]}">○ under its true class</span>   '
        f'<span style="color:{COLOURS["attack"]}">× under another</span>'
    )
    right, n = int(e.true.sum()), len(e.picture)
    top = max(float(e.entropy.max()) * 1.1, 0.1)
    return finish(
        figure,
        kind="entering",
        alt=f"{n} views entered, {right} of them under their picture's true class; their entropy is "
        f"{float(np.median(e.entropy)):.2f} nats in the median, at most log K = "
        f"{math.log(len(course.names)):.2f} nats.",
        pickable=True,
        hovermode="closest",
        annotations=[note(key, 0, 1, yshift=8)],
        shapes=[_here(t)],
        margin={"l": 52, "r": 16, "t": 34, "b": 44},
        xaxis=_pictures(course),
        yaxis=axis(range=[0, top], nticks=5, title="entropy (nats)"),
    )


def _entered_words(course: Course, i: int) -> str:
    e = course.entered
    t, k = int(e.picture[i]), int(e.label[i])
    return (
        f"Picture {t + 1}, view {int(e.view[i])}, entered as {safe(course.names[k])}"
        f"<br>true class: {safe(course.names[int(course.label[t])])}"
        f"{', attacked' if course.attacked[t] else ''}<br>entropy {float(e.entropy[i]):.3f} nats"
    )


def class_memory(course: Course, held: Held, end: Held, chosen: int | None = None) -> Figure:
    """Per class: views held (outline) and those of the right class (filled) on the left, r_k on the right.

    The classes and their order are those that hold most at the ``end``, so that nothing jumps when
    another moment (``held``) is looked at; where one is ``chosen`` the others go pale. Marks carry
    ``customdata = (class, words)``.
    """
    order = sorted(
        np.flatnonzero(end.held).tolist(), key=lambda k: (-int(end.held[k]), course.names[k])
    )
    if not order:
        return empty(NOTHING)
    shown = order[:MOST_CLASSES][::-1]
    place, figure = list(range(len(shown))), Figure()
    data = [[k, _class_words(course, held, k)] for k in shown]
    pale = fades(shown, chosen if chosen in shown else None)
    hover = "%{customdata[1]}<extra></extra>"
    for values, fill in ((held.held, "rgba(0,0,0,0)"), (held.pure, COLOURS["cache"])):
        figure.add_bar(
            x=[int(values[k]) for k in shown], y=place, orientation="h", customdata=data,
            marker={"color": fill, "line": {"color": COLOURS["cache"], "width": 1.5}, "opacity": pale},
            hovertemplate=hover, width=0.6,
        )  # fmt: skip
    there = [i for i, k in enumerate(shown) if held.held[k]]
    figure.add_scatter(
        x=[float(held.strength[shown[i]]) for i in there], y=there, mode="markers", xaxis="x2",
        customdata=[data[i] for i in there], hovertemplate=hover,
        marker={"symbol": "diamond", "size": 9, "color": COLOURS["cache"],
                "opacity": [pale[i] for i in there]},
    )  # fmt: skip
    rest = len(order) - len(shown)
    more = f"; {rest} more classes hold some" if rest else ""
    said = "; ".join(_class_words(course, held, k) for k in reversed(shown))
    return finish(
        figure,
        kind="class_memory",
        alt=f"{said}{more}.",
        pickable=True,
        barmode="overlay",
        hovermode="closest",
        annotations=[
            note("views held; filled: of the right class", 0, 1, yshift=8),
            note("agreement r", 0.7, 1, yshift=8),
        ],
        margin={"l": 116, "r": 16, "t": 34, "b": 40},
        xaxis=axis(range=[0, course.slots + 0.1], domain=[0, 0.62], dtick=1, title=f"views, of {course.slots}"),
        xaxis2=axis(range=[-0.03, 1.05], domain=[0.7, 1], tickvals=[0, 0.5, 1], title="r (0 to 1)"),
        yaxis=rows([short(course.names[k], 14) for k in shown]),
    )  # fmt: skip


def _class_words(course: Course, held: Held, k: int) -> str:
    count, pure = int(held.held[k]), int(held.pure[k])
    words = (
        f"{safe(course.names[k])}: {count} of {course.slots} views held, {pure} of the right class"
    )
    return words + (f", r = {float(held.strength[k]):.3f}" if count else "")


def thinned(count: int) -> np.ndarray:
    """Numbers 0..count-1, evenly thinned to what a screen can show, with both ends."""
    if count <= MOST_MARKS:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, MOST_MARKS).round().astype(int))


def _pictures(course: Course) -> dict:
    """The axis of time: as long as the whole stream, so that nothing moves while it runs."""
    return axis(range=[0.5, course.wanted + 0.5], nticks=6, title="picture of the stream")


def _here(t: int) -> dict:
    """The moment looked at."""
    line = {"color": COLOURS["text"], "width": 1, "dash": "dot"}
    return {"type": "line", "x0": t, "x1": t, "y0": 0, "y1": 1, "yref": "paper", "line": line}
