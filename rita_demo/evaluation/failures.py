"""Pictures without an answer, because a file of the user's own failed.

They count neither as right nor as wrong. A measurement of edited code is another one, so that it is measured anew.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from rita_demo.evaluation.rows import measurements, read
from rita_demo.records.errors import join_names

MAX_METHODS = 5  # that are named
NO_COUNT = "They count neither as right nor as wrong."


@dataclass(frozen=True)
class Failure:
    """One fault of a user's own code: the number of ``answers`` that it left out, over all methods; ``sentence`` says which
    and why; ``detail``: the text of the first exception, for the owner of the code, not for visitors of the page."""

    answers: int
    sentence: str
    detail: str

    def __str__(self) -> str:
        return f"{self.sentence}: {self.detail}" if self.detail else self.sentence


def failures(*folders: str | Path, only: Collection[int] | None = None) -> tuple[Failure, ...]:
    """The faults in run folders or folders of them, one for each dataset, attack and sentence. ``only``: of these
    measurements, by their ``id`` in their run folder.

    Raises:
        DataError: as :func:`rita_demo.evaluation.rows.read`.
    """
    about = measurements(*folders)
    if only is not None:
        about = about[about.id.isin(only)]
    if about.empty or not about.faults.any():
        return ()
    frame = read(*folders)
    frame = frame[frame.fault.notna() & frame.measurement.isin(about.index)].assign(
        attack=lambda rows: rows.measurement.map(about.attack)
    )
    found = []
    for (dataset, attack, fault), same in frame.groupby(["dataset", "attack", "fault"], sort=False):
        first = same.iloc[0]
        titles = about.loc[same.measurement.unique()].method_title.unique()
        pictures = f"{same.picture.nunique()} of {about.loc[first.measurement].pictures} pictures of {dataset}"
        under = "without an attack" if attack == "none" else f"under {attack}"
        methods = join_names([*titles], MAX_METHODS)
        sentence = f"{methods}: no answer to {pictures} {under}, the first {first.picture}: {fault}"
        found.append(Failure(len(same), sentence, first.detail or ""))
    return tuple(found)


def failure_lines(failures: Sequence[Failure]) -> list[str]:
    """What the owner of the code reads about its faults; nothing where there are none."""
    count = sum(one.answers for one in failures)
    return [*(f"Failed: {one}" for one in failures), f"{count} answers failed. {NO_COUNT}"] if failures else []
