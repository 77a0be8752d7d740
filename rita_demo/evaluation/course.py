"""How a stream went, from its rows alone: accuracy with intervals, and the memory after every picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from rita_demo.analysis import strength
from rita_demo.evaluation.cells import vectors_of
from rita_demo.evaluation.recordings import Recording
from rita_demo.intervals import wilson
from rita_demo.surveys import Course, Curve, Entered, Held, Standing

PARTS = ("all", "clean", "attacked")


def course_of(recording: Recording) -> Course:
    """The course of a stored stream as far as its rows go; it may be growing meanwhile.

    Raises:
        DataError: its files are damaged.
    """
    rows = recording.rows()
    names = tuple(recording.header["names"])
    index = {name: k for k, name in enumerate(names)}
    label = np.array([index[row["label"]] for row in rows], int)
    others = {m: recording.rows(m) for m in recording.cells if m != "rita"}
    by_method = {**others, "rita": rows}
    pictures = tuple(row["picture"] for row in rows)
    answers = {m: _answers(found, pictures, index) for m, found in by_method.items()}
    entered = _entered(recording, rows, label)
    fill, purity = totals(entered, len(rows))
    return Course(
        names=names,
        pictures=pictures,
        label=label,
        attacked=np.array([row["attack"] != "none" for row in rows], bool),
        answers=answers,
        curves={m: curve(given == label, given >= 0) for m, given in answers.items()},
        entered=entered,
        fill=fill,
        purity=purity,
        seconds=_seconds(by_method, pictures),
        slots=int(recording.header["knobs"]["slots"]),
        wanted=int(recording.header["pictures"]),
    )


def curve(right: np.ndarray, known: np.ndarray) -> Curve:
    """The accuracy after each picture, with Wilson's interval: right ones over those that were answered.

    Args:
        right, known: (T,) bool; a picture that is not ``known`` (no row yet) does not count.
    """
    total, n = np.cumsum(right & known), np.cumsum(known)
    share = np.where(n > 0, total / np.maximum(n, 1), np.nan)
    ends = [wilson(int(k), int(m)) if m else (np.nan, np.nan) for k, m in zip(total, n)]
    low, high = np.array(ends, float).reshape(-1, 2).T
    return Curve(right, share, low, high)


def standings(course: Course, t: int) -> tuple[Standing, ...]:
    """Every method's accuracy on the first ``t`` pictures: on all, on the clean, on the attacked ones."""
    attacked = course.attacked[:t]
    chosen = {"all": np.ones(len(attacked), bool), "clean": ~attacked, "attacked": attacked}
    found = []
    for method, one in course.curves.items():
        for part in PARTS:
            counted = chosen[part] & (course.answers[method][:t] >= 0)
            right, n = int(one.right[:t][counted].sum()), int(counted.sum())
            low, high = wilson(right, n) if n else (np.nan, np.nan)
            found.append(Standing(method, part, right, n, right / n if n else np.nan, low, high))
    return tuple(found)


def held_after(course: Course, t: int) -> Held:
    """The memory after the first ``t`` pictures, per class."""
    e, K = course.entered, len(course.names)
    held, pure, r = np.zeros(K, int), np.zeros(K, int), np.zeros(K)
    last: dict[tuple[int, int], int] = {}
    for number in range(int(np.searchsorted(e.picture, t))):
        k = int(e.label[number])
        held[k], pure[k], r[k] = e.held[number], e.pure[number], e.strength[number]
        last[k, int(e.slot[number])] = number
    items = tuple((k, slot, number) for (k, slot), number in sorted(last.items()))
    return Held(held, pure, r, items)


def totals(entered: Entered, pictures: int) -> tuple[np.ndarray, np.ndarray]:
    """``fill`` (T,) and ``purity`` (T,) of the whole memory after each of ``pictures`` pictures."""
    held, pure = np.zeros(pictures, int), np.zeros(pictures, int)
    now: dict[int, tuple[int, int]] = {}
    for picture, k, count, true in zip(
        entered.picture, entered.label, entered.held, entered.pure, strict=True
    ):
        before = now.get(int(k), (0, 0))
        now[int(k)] = (int(count), int(true))
        held[picture] += int(count) - before[0]
        pure[picture] += int(true) - before[1]
    held, pure = held.cumsum(), pure.cumsum()
    return held, np.where(held > 0, pure / np.maximum(held, 1), np.nan)


def _entered(recording: Recording, rows: list[dict[str, Any]], label: np.ndarray) -> Entered:
    """Every view that entered, and what its class held right afterwards."""
    events = [(t, *event) for t, row in enumerate(rows) for event in row["entered"]]
    vectors = vectors_of(recording.cells["rita"], len(events), _width(recording, len(events)))
    table = np.array([event[:4] for event in events], int).reshape(-1, 4)
    true = label[table[:, 0]] == table[:, 1] if len(events) else np.zeros(0, bool)
    lying: dict[int, dict[int, int]] = {}
    after = []
    for number, (_, k, slot, _) in enumerate(table.tolist()):
        lying.setdefault(k, {})[slot] = number
        there = list(lying[k].values())
        after.append((len(there), int(true[there].sum()), strength(vectors[there])))
    held, pure, r = np.array(after, float).reshape(-1, 3).T
    entropy = np.array([event[4] for event in events], float)
    return Entered(
        picture=table[:, 0], label=table[:, 1], slot=table[:, 2], view=table[:, 3], entropy=entropy,
        true=true, held=held.astype(int), pure=pure.astype(int), strength=r,
    )  # fmt: skip


def _width(recording: Recording, events: int) -> int:
    """D; runs of earlier versions do not say it, but their finished files tell."""
    if "width" in recording.header or not events:
        return int(recording.header.get("width", 1))
    return (recording.cells["rita"] / "memory.f32").stat().st_size // (4 * events)


def _answers(
    rows: list[dict[str, Any]], pictures: tuple[str, ...], index: dict[str, int]
) -> np.ndarray:
    """(T,) a method's answers in the order of the stream; its own order may be another one."""
    given = {row["picture"]: index[row["answer"]] for row in rows}
    return np.array([given.get(picture, -1) for picture in pictures], int)


def _seconds(by_method: dict[str, list[dict[str, Any]]], pictures: tuple[str, ...]) -> np.ndarray:
    """(T,) attack and views once, and every method's own time."""
    spent = dict.fromkeys(pictures, 0.0)
    for method, rows in by_method.items():
        for row in rows:
            if row["picture"] in spent:
                s = row["seconds"]
                spent[row["picture"]] += s["method"]
                spent[row["picture"]] += s["attack"] + s["views"] if method == "rita" else 0.0
    return np.array(list(spent.values()), float)


def pace(course: Course, last: int = 10) -> tuple[float, float]:
    """Pictures per second of computing, over the ``last`` ones, and the seconds that are left at that pace."""
    mean = float(course.seconds[-last:].mean()) if len(course.seconds) else np.nan
    return 1 / max(mean, 1e-9), (course.wanted - len(course.pictures)) * mean
