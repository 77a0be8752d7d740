"""A stream: accuracy, size and purity of the cache and its insertions up to a selected picture; accuracy for print."""

import math
from typing import Any

import numpy as np

from rita_demo.defences.registry import DEFENCES
from rita_demo.figures.figure import Figure
from rita_demo.figures.labels import escaped, legend, legend_entry, method_colour
from rita_demo.figures.shapes import outlined, percent_ticks, ticks, vertical_line
from rita_demo.figures.theme import CLASS_STYLES, COLOURS, GLYPHS, annotation, axis, dim_marks, finalise, message_figure
from rita_demo.records.measurement import RememberedView, StreamTrajectory, method_and_memory

MAX_MARKS = 1000  # marks of one line; longer streams are thinned
ROW_HEIGHT, FRAME_HEIGHT, MOST_HEIGHT = 13, 78, 960  # pixels of a timeline: of a row, of what is around them, in all
NO_INSERTIONS = "Nothing has entered the memory yet."
#: What the memory does to the accuracy: method, role of its colour, dash, width, words.
MEMORY_LINES = (
    ("rita", "cache", "solid", 5, "━ RITA, memory kept"),
    ("rita:off", "defence", "dash", 2, "┅ without"),
    ("clip", "quiet", "solid", 2, "━ CLIP"),
)
# --- for print
INTERVALS = 4  # of a method: bands of several methods would lie over each other
SHARE = 0.6  # of the space between two such pictures, taken by the bars of all methods
SPARE = (1, 2, 3, 4, 5, 8, 6, 9)  # class colours that are not like RITA's
GREYS = {COLOURS["text"], COLOURS["quiet"]}
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


def memory_accuracy(trajectory: StreamTrajectory, t: int) -> Figure:
    """The share of right answers so far: of RITA with its memory kept and, dashed, without it, and of CLIP. It has no margins at
    its sides: the page shows the pictures below, each under its place. Marks carry ``customdata = (picture from 1, hover
    text)``."""
    figure, kept = Figure(), thinned_indices(len(trajectory.pictures))
    drawn = [line for line in MEMORY_LINES if line[0] in trajectory.curves]
    for method, role, dash, width, _ in drawn:
        figure.add_marks(
            x=(kept + 1).tolist(),
            y=(100 * trajectory.curves[method].accuracy[kept]).tolist(),
            name=escaped(trajectory.titles[method]),
            mode="lines",
            line={"color": COLOURS[role], "dash": dash, "width": width},
            opacity=0.55 if width > 2 else 1,  # the dashed line on it is seen
            customdata=[[i, accuracy_text(trajectory, method, i)] for i in (kept + 1).tolist()],
            cliponaxis=False,
        )
    words = "  ".join(f'<span style="color:{COLOURS[role]}">{words}</span>' for _, role, _, _, words in drawn)
    ends = [annotation(f"{share} %", 1, share, yref="y", xanchor="right") for share in (50, 100)]
    return finalise(
        figure,
        kind="memory_accuracy",
        alt=f"{'; '.join(accuracy_text(trajectory, method, t) for method, *_ in drawn)}.",
        marks=("picture",),
        annotations=[annotation(f"right so far  {words}", 0, 1, yshift=6), *ends],
        shapes=[vertical_line(t, "text")],
        margin={"l": 0, "r": 0, "t": 30, "b": 6},
        xaxis=axis(range=[0.5, trajectory.expected_pictures + 0.5], showgrid=False, showticklabels=False),
        yaxis=axis(range=[-2, 104], tickvals=[0, 50, 100], showticklabels=False),
    )


def accuracy_text(trajectory: StreamTrajectory, method: str, t: int) -> str:
    """One method's accuracy after ``t`` pictures as text."""
    one, title = trajectory.curves[method], escaped(trajectory.titles[method])
    n = int((trajectory.answers[method][:t] >= 0).sum())
    if not n:
        return f"{title}: no picture yet"
    share, low, high = (100 * float(v[t - 1]) for v in (one.accuracy, one.low, one.high))
    return f"{title}, first {t}: {share:.0f} % right ({low:.0f} to {high:.0f}), n = {n}"


def cache_growth(trajectory: StreamTrajectory, t: int) -> Figure:
    """Fill of the cache (share of all slots) and its purity (share of views cached under their true class) after every
    picture. Marks carry ``customdata = (picture from 1, hover text)``."""
    if not trajectory.insertions:
        return message_figure(NO_INSERTIONS)
    figure, kept = Figure(), thinned_indices(len(trajectory.pictures))
    places = trajectory.slots * len(trajectory.names)
    data = [[i + 1, growth_text(trajectory, i + 1)] for i in kept.tolist()]
    for values, title, role, dash in (
        (trajectory.cache_size / places, f"full, of {places} places", "quiet", "dot"),
        (trajectory.purity, "pure, of the views held", "cache", "solid"),
    ):
        line = {"color": COLOURS[role], "dash": dash, "width": 2, "shape": "hv"}
        figure.add_marks(x=kept + 1, y=100 * values[kept], mode="lines", name=title, line=line, customdata=data)
    words = legend((("cache", "━", "pure: of the right class"), ("quiet", "┅", f"full: of {places} places")))
    return _finalise(figure, trajectory, t, words, kind="memory_growth", alt=growth_text(trajectory, t))


def growth_text(trajectory: StreamTrajectory, t: int) -> str:
    """Fill and purity after ``t`` pictures as text."""
    held, purity = int(trajectory.cache_size[t - 1]), float(trajectory.purity[t - 1])
    places = trajectory.slots * len(trajectory.names)
    pure = "" if math.isnan(purity) else f", {100 * purity:.0f} % of them of the right class"
    return f"After picture {t} the memory holds {held} of {places} views{pure}."


def cache_insertions(trajectory: StreamTrajectory, t: int) -> Figure:
    """The entropy of every inserted view, by picture: a circle under its picture's true class, a cross under another;
    a line: the mean of the views held.

    Marks carry ``customdata = (picture from 1, hover text)``."""
    views = trajectory.insertions
    if not views:
        return message_figure(NO_INSERTIONS)
    figure, kept = Figure(), [views[i] for i in thinned_indices(len(views))]
    for name, symbol, colour in (
        ("right class", "circle-open", COLOURS["cache"]),
        ("another class", "x-thin", COLOURS["attack"]),
    ):
        chosen = [view for view in kept if (view.truth == view.label) is (name == "right class")]
        data = []
        for view in chosen:
            words = f"Picture {view.picture + 1}, view {view.view}, entered as {escaped(trajectory.names[view.label])}"
            data.append([view.picture + 1, _view_text(trajectory, view, words)])
        figure.add_marks(
            x=[view.picture + 1 for view in chosen],
            y=[view.entropy for view in chosen],
            name=name,
            marker=outlined(symbol, colour, 9),
            customdata=data,
            cliponaxis=False,
        )
    at, line = thinned_indices(len(trajectory.pictures)), {"color": COLOURS["quiet"], "width": 2, "shape": "hv"}
    mean = trajectory.mean_entropy
    data = [[i + 1, f"After picture {i + 1} held: {mean[i]:.3f} nats"] for i in at.tolist()]
    figure.add_marks(x=at + 1, y=mean[at], mode="lines", name="mean of the views held", line=line, customdata=data)
    words = (
        f'<span style="color:{COLOURS["cache"]}">○ under its true class</span>   '
        f'<span style="color:{COLOURS["attack"]}">× another</span>   '
        f"{legend_entry(COLOURS['quiet'], '━', 'mean held')}"
    )
    entropy = [view.entropy for view in views]
    alt = (
        f"{len(views)} views entered, {sum(v.truth == v.label for v in views)} of them under their picture's true class; "
        f"their entropy is {float(np.median(entropy)):.2f} nats in the median, at most log K = {math.log(len(trajectory.names)):.2f} "
        "nats."
    )
    yaxis = axis(range=[0, max(max(entropy) * 1.1, 0.1)], nticks=5, title="entropy (nats)")
    return _finalise(figure, trajectory, t, words, kind="entering", alt=alt, yaxis=yaxis)


def _view_text(trajectory: StreamTrajectory, view: RememberedView, words: str) -> str:
    """``words`` on a stored view, and where it came from."""
    true_class = f"true class: {escaped(trajectory.names[view.truth])}{', attacked' if view.attacked else ''}"
    return f"{words}<br>{true_class}<br>entropy {view.entropy:.3f} nats"


def class_timeline(
    trajectory: StreamTrajectory, views: tuple[RememberedView, ...], t: int, selected: int | None = None
) -> Figure:
    """One row per class that ever held a view: a bar from the picture that a view came from to the one it left at.

    Marks carry ``customdata = (picture from 1, hover text)``; a line marks picture ``t``."""
    rows = sorted({view.label for view in views}, key=lambda k: trajectory.names[k], reverse=True)
    if not rows:
        return message_figure(NO_INSERTIONS)
    figure, place = Figure(), {k: row for row, k in enumerate(rows)}
    lane, end = 0.8 / trajectory.slots, len(trajectory.pictures)
    for right, colour in ((True, COLOURS["cache"]), (False, COLOURS["attack"])):
        shown = [view for view in views if (view.truth == view.label) is right]
        data = []
        for view in shown:
            until = "still held" if view.left is None else f"left at picture {view.left + 1}"
            words = f"{escaped(trajectory.names[view.label])}: view {view.view} of picture {view.picture + 1}, {until}"
            data.append([view.picture + 1, _view_text(trajectory, view, words)])
        figure.add_bar(
            base=[view.picture + 0.5 for view in shown],
            x=[(end if view.left is None else view.left) - view.picture for view in shown],
            y=[place[view.label] + 0.4 - (view.slot + 0.5) * lane for view in shown],
            orientation="h",
            width=0.8 * lane,
            name="right class" if right else "another class",
            marker={"color": colour, "opacity": dim_marks((view.label for view in shown), selected)},
            customdata=data,
            hovertemplate="%{customdata[1]}<extra></extra>",
        )
    wrong, left = sum(view.truth != view.label for view in views), sum(view.left is not None for view in views)
    height = min(ROW_HEIGHT * len(rows) + FRAME_HEIGHT, MOST_HEIGHT)
    step = math.ceil(ROW_HEIGHT * len(rows) / (height - FRAME_HEIGHT))  # of more classes every second is named
    named, names = range(len(rows) - 1, -1, -step), [escaped(name, 14) for name in trajectory.names]
    return _finalise(
        figure,
        trajectory,
        t,
        legend((("cache", "━", "under its true class"), ("attack", "━", "another"))),
        kind="class_timeline",
        alt=f"{len(views)} views entered under {len(rows)} classes, {wrong} of them wrong; {left} left again.",
        barmode="overlay",
        height=height,
        margin={"l": 116, "r": 16, "t": 34, "b": 44},
        yaxis=axis(range=[-0.6, len(rows) - 0.4], **ticks(named, (names[rows[row]] for row in named))),
    )


def thinned_indices(count: int) -> np.ndarray:
    """Numbers 0..count-1, thinned evenly to at most ``MAX_MARKS``, with both ends."""
    if count <= MAX_MARKS:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, MAX_MARKS).round().astype(int))


def _finalise(figure: Figure, trajectory: StreamTrajectory, t: int, words: str, **layout: Any) -> Figure:
    """The layout of a figure over the whole stream, so that the axis is fixed while it runs; a line marks picture t."""
    pictures = axis(range=[0.5, trajectory.expected_pictures + 0.5], nticks=6, title="picture of the stream")
    share = axis(range=[-2, 102], **percent_ticks(0, 25, 50, 75, 100))
    usual: dict[str, Any] = {"yaxis": share, "margin": {"l": 52, "r": 16, "t": 34, "b": 44}}
    return finalise(
        figure,
        marks=("picture",),
        annotations=[annotation(words, 0, 1, yshift=8, xshift=-44)],
        shapes=[vertical_line(t, "text", "dot")],
        xaxis=pictures,
        **(usual | layout),
    )


def stream_accuracy(course: StreamTrajectory) -> Figure:
    """Each method's accuracy over the pictures so far, with Wilson's 95 % interval as bars at ``INTERVALS`` pictures, beside those
    of the other methods."""
    n, figure, entries, parts = len(course.pictures), Figure(), [], []
    looks = _looks(list(course.titles))
    apart = SHARE * n / INTERVALS / len(looks)
    places = np.unique(np.linspace(n / INTERVALS, n, INTERVALS).round().astype(int)) - 1
    for number, (name, title) in enumerate(course.titles.items()):
        one, (colour, dash, symbol) = course.curves[name], looks[name]
        figure.add_line(colour, 2, dash, x=list(range(1, n + 1)), y=100 * one.accuracy, name=escaped(title))
        share, low, high = (100 * values[places] for values in (one.accuracy, one.low, one.high))
        bars = {"type": "data", "symmetric": False, "color": colour, "thickness": 1.5, "width": 3}
        figure.add_scatter(
            x=places + 1 + apart * (number - (len(looks) - 1) / 2),
            y=share,
            mode="markers",
            name=f"{escaped(title)}, intervals",
            hoverinfo="skip",
            cliponaxis=False,
            marker={"symbol": symbol, "size": 8, "color": colour},
            error_y=bars | {"array": high - share, "arrayminus": share - low},
        )
        entries.append((colour, GLYPHS.get(symbol, GLYPHS["circle"]), escaped(title)))
        parts.append(f"{title} {share[-1]:.0f} % ({low[-1]:.0f} to {high[-1]:.0f})")
    words = f"right so far, bars: 95 % intervals: {legend(entries)}"
    edge = 0.5 + apart * len(looks) / 2
    return finalise(
        figure,
        kind="stream accuracy",
        alt=f"Accuracy over {n} pictures. {'; '.join(parts)}.",
        annotations=[annotation(words, 0, 1, yshift=8, xshift=-44)],
        margin={"l": 52, "r": 16, "t": 40, "b": 44},
        xaxis=axis(title="pictures of the stream", range=[1 - edge, n + edge]),
        yaxis=axis(range=[0, 100.5], title="accuracy", **percent_ticks(*range(0, 101, 25))),
    )


def _looks(names: list[str]) -> dict[str, tuple[str, str, str]]:
    """Colour, dash and symbol of every method. The first of several in one colour has it, greys being one; the others have one of
    the class colours."""
    looks: dict[str, tuple[str, str, str]] = {}
    spare = [CLASS_STYLES[n][0] for n in SPARE]
    for number, name in enumerate(names):
        method, _ = method_and_memory(name)
        colour, used = method_colour(method), {look[0] for look in looks.values()}
        if colour in used | (GREYS if used & GREYS else set()):
            colour = next((shade for shade in spare if shade not in used), colour)
        symbol = DEFENCES[method].symbol if method in DEFENCES else "hexagon"
        if symbol in {look[2] for look in looks.values()}:
            symbol = (
                f"{symbol.removesuffix('-open')}-open" if not symbol.endswith("-open") else symbol.removesuffix("-open")
            )
        looks[name] = colour, DASHES[number % len(DASHES)], symbol
    return looks
