"""A stream over time, from its rows: accuracy with intervals, and the cache after every picture with each view that
entered it; and the memory kept against off."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from rita_demo.evaluation.report.paired import ATTACKED, compare, merged
from rita_demo.evaluation.rows import Row
from rita_demo.evaluation.streams import StreamRun
from rita_demo.figures.analysis import resultant_length
from rita_demo.records.intervals import wilson
from rita_demo.records.measurement import (
    AccuracyCurve,
    AccuracySummary,
    AnswerComparison,
    DifferentAnswer,
    RememberedView,
    StreamTrajectory,
)
from rita_demo.vlm.views import boxes

WITHOUT_CACHE = "rita:off"  # RITA with its memory off, among the methods of a stream


def trajectory_of(stream_run: StreamRun) -> StreamTrajectory:
    """The trajectory of a stored stream, as far as its rows are written. Raises DataError: its files are damaged."""
    by_method = {method: stream_run.rows(method) for method in stream_run.cells}
    by_method["rita"] = rows = by_method.pop("rita")  # the last one
    index = {name: k for k, name in enumerate(stream_run.names)}
    label = np.array([index[row["label"]] for row in rows], int)
    pictures = tuple(row["picture"] for row in rows)
    answers, seconds = dict[str, np.ndarray](), dict.fromkeys(pictures, 0.0)
    for method, some in by_method.items():
        answer_of = {row["picture"]: index[row["answer"]] for row in some}  # in an order of their own
        answers[method] = np.array([answer_of.get(picture, -1) for picture in pictures], int)
        stages = ("attack", "views", "method") if method == "rita" else ("method",)  # attack and views once
        for row in some:
            if row["picture"] in seconds:
                seconds[row["picture"]] += sum(row[f"seconds_{stage}"] for stage in stages)
    insertions = _insertions(stream_run, rows, label)
    cache_size, purity, entropy = memory_after(insertions, len(rows))
    return StreamTrajectory(
        names=stream_run.names,
        pictures=pictures,
        label=label,
        attacked=np.array([row["attacked"] for row in rows], bool),
        answers=answers,
        curves={method: accuracy_curve(answer == label, answer >= 0) for method, answer in answers.items()},
        titles=stream_run.titles,
        insertions=insertions,
        cache_size=cache_size,
        purity=purity,
        mean_entropy=entropy,
        seconds=np.array(list(seconds.values()), float),
        slots=int(stream_run.header.facts["requested"]["slots"]),
        expected_pictures=stream_run.header.pictures,
    )


def accuracy_curve(right: np.ndarray, answered: np.ndarray) -> AccuracyCurve:
    """The accuracy after each picture, with Wilson's interval. ``right``, ``answered``: (T,) bool; a picture that is not
    ``answered`` (no row yet) does not count."""
    total, n = np.cumsum(right & answered), np.cumsum(answered)
    share = np.where(n > 0, total / np.maximum(n, 1), np.nan)
    ends = [wilson(int(k), int(m)) if m else (np.nan, np.nan) for k, m in zip(total, n)]
    low, high = np.array(ends, float).reshape(-1, 2).T
    return AccuracyCurve(right, share, low, high)


def accuracy_summaries(trajectory: StreamTrajectory, t: int) -> tuple[AccuracySummary, ...]:
    """Every method's accuracy on the first ``t`` pictures: on all, on the clean and on the attacked ones."""
    attacked = trajectory.attacked[:t]
    subsets = {"all": np.ones(len(attacked), bool), "clean": ~attacked, "attacked": attacked}
    summaries = []
    for method, curve in trajectory.curves.items():
        for name, subset in subsets.items():
            counted = subset & (trajectory.answers[method][:t] >= 0)
            right, n = int(curve.right[:t][counted].sum()), int(counted.sum())
            low, high = wilson(right, n) if n else (np.nan, np.nan)
            summaries.append(AccuracySummary(method, name, right, n, right / n if n else np.nan, low, high))
    return tuple(summaries)


def classes_after(trajectory: StreamTrajectory, t: int) -> dict[int, RememberedView]:
    """Class -> the last view that entered it in the first ``t`` pictures, which knows how many the class holds."""
    return {view.label: view for view in trajectory.insertions if view.picture < t}


def _insertions(stream_run: StreamRun, rows: list[Row], label: np.ndarray) -> tuple[RememberedView, ...]:
    """Every view that entered the cache, in order."""
    events = [(t, *event) for t, row in enumerate(rows) for event in row["entered"]]
    features = remembered_features(stream_run)
    content: dict[int, dict[int, int]] = {}  # class -> slot -> id of the view in it
    insertions: list[RememberedView] = []
    for number, (t, k, slot, view, entropy) in enumerate(events):
        old = content.setdefault(k, {}).get(slot)
        content[k][slot] = number
        present = list(content[k].values())
        inserted = RememberedView(
            id=number,
            picture=t,
            name=rows[t]["picture"],
            truth=int(label[t]),
            attacked=bool(rows[t]["attacked"]),
            label=k,
            slot=slot,
            view=view,
            entropy=entropy,
            count=len(present),
            correct_count=sum(int(label[events[n][0]] == k) for n in present),
            resultant_length=resultant_length(features[present]),
            replaced=old,
            gain=None if old is None else insertions[old].entropy - entropy,
        )
        if old is not None:
            insertions[old] = replace(insertions[old], replaced_by=number, left=t)
        insertions.append(inserted)
    return tuple(insertions)


def remembered_features(stream_run: StreamRun) -> np.ndarray:
    """(E, D) the features of every view that entered the cache, in order."""
    data = b"".join(row["entered_features"] or b"" for row in stream_run.rows())
    return np.frombuffer(data, "<f4").reshape(-1, stream_run.header.facts["width"])


def throughput(trajectory: StreamTrajectory, window: int = 10) -> tuple[float, float]:
    """Pictures per second over the last ``window`` pictures, and the seconds left at that speed."""
    mean = float(trajectory.seconds[-window:].mean()) if len(trajectory.seconds) else np.nan
    return 1 / max(mean, 1e-9), (trajectory.expected_pictures - len(trajectory.pictures)) * mean


def memory_after(views: Sequence[RememberedView], pictures: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Number of cached views, share of correctly labelled ones and mean entropy in nats, each (T,), after each of T
    ``pictures``; the last two are NaN while there are no views. ``views``: all that entered, in order."""
    at = np.array([view.picture for view in views], int)

    def stored_sum(values: list[float]) -> np.ndarray:
        change = [x - (0 if view.replaced is None else values[view.replaced]) for x, view in zip(values, views)]
        return np.bincount(at, change, pictures).cumsum()

    size = stored_sum([1.0] * len(views))
    held = np.where(size > 0, size, np.nan)
    right, entropy = [float(view.truth == view.label) for view in views], [view.entropy for view in views]
    return size.astype(int), stored_sum(right) / held, stored_sum(entropy) / held


def remembered_views(trajectory: StreamTrajectory, t: int) -> tuple[RememberedView, ...]:
    """Every view that entered the cache in the first ``t`` pictures, in order, as it is known then."""
    return tuple(
        view if view.left is None or view.left < t else replace(view, replaced_by=None, left=None)
        for view in trajectory.insertions
        if view.picture < t
    )


def view_boxes(stream: StreamRun, views: Iterable[RememberedView]) -> dict[int, tuple[float, ...]]:
    """Id -> left, top, right, bottom of a remembered view as fractions of its picture's square, in [0, 1]."""
    rows, by_id = stream.rows(), dict[int, tuple[float, ...]]()
    for view in views:
        drawn, _ = boxes.view_boxes(stream.header.view_settings_for(rows[view.picture]), view.view + 1)
        by_id[view.id] = tuple(drawn[view.view].tolist())
    return by_id


def compare_answers(stream: StreamRun, t: int) -> AnswerComparison | None:
    """RITA's answers with its memory kept against those with it off, on the first ``t`` pictures that both have and that
    were attacked alike; None if there are none."""
    if WITHOUT_CACHE not in stream.cells:
        return None
    import pandas

    first, second = (pandas.DataFrame(rows) for rows in (stream.rows()[:t], stream.rows(WITHOUT_CACHE)))
    if first.empty or second.empty or (paired := compare(merged(first, second))) is None:
        return None
    index, different = {name: k for k, name in enumerate(stream.names)}, []
    both = first.reset_index(names="number").merge(
        second[[*ATTACKED, "answer"]], on=ATTACKED, suffixes=("", "_without")
    )
    for row in both[both["answer"] != both["answer_without"]].itertuples():
        classes = (index[name] for name in (row.label, row.answer, row.answer_without))
        different.append(DifferentAnswer(row.number, row.picture, *classes))
    return AnswerComparison(paired.n, paired.gained, paired.lost, paired.p_value, tuple(different))
