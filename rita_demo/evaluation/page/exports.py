"""Tables of *Stream* and *Figures* as CSV files."""

from collections.abc import Sequence

from rita_demo.evaluation.report.only_right import TABLE_COLUMNS, OnlyRight, rows_of
from rita_demo.evaluation.store.stream_runs import StreamRun
from rita_demo.evaluation.stream_trajectory import view_boxes
from rita_demo.records.measurement import CloudPoints, FeatureCloud, RememberedView
from rita_demo.records.spreadsheet import csv_bytes

VIEW_COLUMNS: tuple[str, ...] = (
    "picture",
    "file",
    "true_class",
    "attacked",
    "stored_as",
    "view",
    "left",
    "top",
    "right",
    "bottom",
)
VIEW_COLUMNS += ("entropy", "entered_at", "replaced_picture", "replaced_view", "nats_lower", "left_at")
POINT_COLUMNS = ("file", "true_class", "kind", "stored_as", "view")


def stored_views_csv(one: StreamRun, views: Sequence[RememberedView]) -> bytes:
    """Every view that entered a stream's memory: pictures are numbered from 1 in the order of the stream; the box is in
    fractions of the picture's square; a view that is held has no ``left_at``, one that took a free place replaced none."""
    boxes, by_id = view_boxes(one, views), {view.id: view for view in views}

    def row(view: RememberedView) -> list[object]:
        gone = None if view.replaced is None else by_id.get(view.replaced)
        told = ["", ""] if gone is None else [gone.picture + 1, gone.view]
        gain = "" if view.gain is None else f"{view.gain:.6f}"
        number, names = view.picture + 1, one.names
        about = [number, view.name, names[view.truth], view.attacked, names[view.label], view.view]
        box = [f"{edge:.6f}" for edge in boxes[view.id]]
        return [*about, *box, f"{view.entropy:.6f}", number, *told, gain, "" if view.left is None else view.left + 1]

    return csv_bytes([VIEW_COLUMNS, *map(row, views)])


def points_csv(cloud: FeatureCloud, points: CloudPoints, chosen: Sequence[int]) -> bytes:
    """The ``chosen`` points of a cloud that belong to pictures; views are numbered from 1, and ``view`` of a view in the
    memory is its place there."""
    names = cloud.class_prompts.names

    def row(i: int) -> list[object]:
        n, kind = int(points.picture[i]), str(points.kind[i])
        stored = names[int(points.label[i])] if kind == "cached" else ""
        view = int(points.index[i]) + 1 if kind in ("view", "cached") else ""
        return [cloud.ids[n], names[int(cloud.label[n])], kind, stored, view]

    return csv_bytes([POINT_COLUMNS, *(row(i) for i in chosen if points.picture[i] >= 0)])


def won_csv(found: OnlyRight) -> bytes:
    """The pictures that one measurement has right and another has not, as ``compare --csv`` writes them."""
    return csv_bytes([TABLE_COLUMNS, *rows_of(found)])
