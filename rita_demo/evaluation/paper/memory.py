"""What became of RITA's memory in the measured streams: figures of the longest, and a table of all."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rita_demo import figures
from rita_demo.evaluation.paper.catalogue import MEMORY_TABLE, STREAM_FIGURES, Item
from rita_demo.evaluation.report.render import as_files
from rita_demo.evaluation.stored_views import streams_of
from rita_demo.evaluation.stream_trajectory import WITHOUT_CACHE, remembered_views, trajectory_of
from rita_demo.evaluation.streams import StreamRun, traffic_words
from rita_demo.figures.figure import Figure
from rita_demo.figures.labels import escaped
from rita_demo.figures.stream import stream_accuracy
from rita_demo.records.measurement import StreamTrajectory
from rita_demo.vlm.catalogue import NOT_ZERO_SHOT

MAX_DRAWN = 4  # streams with figures of their own
HEAD = (
    *("stream", "pictures", "views held", "entered", "under their true class, %", "mean entropy, nats"),
    *("RITA right", "RITA right without memory"),
)
#: What a figure shows, how it is drawn, and its height in pixels.
Drawing = Callable[[StreamTrajectory], Figure]
DRAWN: tuple[tuple[str, Drawing, int], ...] = (
    ("Accuracy after every picture", stream_accuracy, 400),
    (
        "Share of the memory's places that hold a view, and share of the views held that are under their true class",
        lambda s: figures.cache_growth(s, len(s.pictures)),
        340,
    ),
    (
        "Entropy of every view that entered the memory, and the mean of the views held",
        lambda s: figures.cache_insertions(s, len(s.pictures)),
        340,
    ),
    (
        "When each view was held, by the class that it is stored under",
        lambda s: figures.class_timeline(s, remembered_views(s, len(s.pictures)), len(s.pictures)),
        480,
    ),
)


def longest_streams(folders: Sequence[Path]) -> list[StreamRun]:
    """The streams in the run folders, the longest first."""
    return sorted(streams_of(folders), key=lambda one: -one.decided)


def memory_items(folders: Sequence[Path]) -> Iterator[Item]:
    """The figures of the longest streams in the run folders, and the table of all. With several streams the figures are
    numbered, and the captions say which stream it is."""
    import pandas

    streams = longest_streams(folders)
    if not streams:
        text = "No stream was measured: evaluate --methods rita --protocols stream."
        yield from (Item(name, text) for name in (*STREAM_FIGURES, MEMORY_TABLE))
        return
    courses = [(one, trajectory_of(one)) for one in streams]
    for name, (shows, draw, height) in zip(STREAM_FIGURES, DRAWN, strict=True):
        for number, (one, course) in enumerate(courses[:MAX_DRAWN], 1):
            own, figure = f"{name}-{number}" if len(courses) > 1 else name, draw(course)
            c = one.columns
            about = f"{c['dataset']} {c['split']}, {len(course.pictures)} pictures, {traffic_words(c)}, seed "
            about += f"{one.header.facts['seed']}, {c['backbone']}"
            figure.meta["below"] = escaped(about)  # printed, a figure is apart from its caption
            seen = f" {NOT_ZERO_SHOT}" if str(one.columns["backbone"]).startswith("embedded") else ""
            yield Item(own, f"{shows}. {one.title}.{seen}", figure, height)
    more = len(courses) - MAX_DRAWN
    title = "The memory at the end of every stream" + (f"; the {MAX_DRAWN} longest have figures" if more > 0 else "")
    yield Item(
        MEMORY_TABLE, title, files=as_files(pandas.DataFrame([_row(*both) for both in courses], columns=list(HEAD)))
    )


def _row(one: StreamRun, course: StreamTrajectory) -> tuple[str, ...]:
    n, right = len(course.pictures), {name: int(curve.right.sum()) for name, curve in course.curves.items()}
    held = int(course.cache_size[-1])
    purity, entropy = (f"{100 * course.purity[-1]:.1f}", f"{course.mean_entropy[-1]:.3f}") if held else ("–", "–")
    without = f"{right[WITHOUT_CACHE]} of {n}" if WITHOUT_CACHE in right else "–"
    memory = str(held), str(len(course.insertions)), purity, entropy
    return one.title, str(n), *memory, f"{right['rita']} of {n}", without
