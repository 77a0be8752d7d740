"""Accuracy along a stream for print: each method has its own colour, and intervals stand beside each other."""

import numpy as np

from rita_demo.defences.registry import DEFENCES
from rita_demo.figures.figure import Figure
from rita_demo.figures.labels import escaped, legend, method_colour
from rita_demo.figures.shapes import percent_ticks
from rita_demo.figures.theme import CLASS_STYLES, COLOURS, GLYPHS, annotation, axis, finalise
from rita_demo.records.measurement import StreamTrajectory, method_and_memory

INTERVALS = 4  # of a method: bands of several methods would lie over each other
SHARE = 0.6  # of the space between two such pictures, taken by the bars of all methods
SPARE = (1, 2, 3, 4, 5, 8, 6, 9)  # class colours that are not like RITA's
GREYS = {COLOURS["text"], COLOURS["quiet"]}
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


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
