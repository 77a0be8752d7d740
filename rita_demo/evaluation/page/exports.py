"""Tables of *Memory* and *Figures* as CSV files."""

from collections.abc import Sequence

from rita_demo.evaluation.report.only_right import OnlyRight
from rita_demo.records.measurement import CloudPoints, FeatureCloud
from rita_demo.records.spreadsheet import csv_bytes

POINT_COLUMNS = ("file", "true_class", "kind", "stored_as", "view")


def points_csv(cloud: FeatureCloud, points: CloudPoints, chosen: Sequence[int]) -> bytes:
    """The ``chosen`` points of a cloud that belong to pictures; views are numbered from 1, and ``view`` of a view in the
    memory is its place there."""
    names = cloud.names

    def row(i: int) -> list[object]:
        n, kind = int(points.picture[i]), str(points.kind[i])
        stored = names[int(points.label[i])] if kind == "cached" else ""
        view = int(points.index[i]) + 1 if kind in ("view", "cached") else ""
        return [cloud.ids[n], names[int(cloud.label[n])], kind, stored, view]

    return csv_bytes([POINT_COLUMNS, *(row(i) for i in chosen if points.picture[i] >= 0)])


def won_csv(found: OnlyRight) -> bytes:
    """The pictures that one measurement has right and another has not, as ``compare --csv`` writes them."""
    return csv_bytes([list(found.won), *found.won.itertuples(index=False, name=None)])
