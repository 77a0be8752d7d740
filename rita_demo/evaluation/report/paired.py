"""Two measurements on the same pictures: McNemar's exact test (1947), and the Ensemble to compare with.

Overlapping confidence intervals say little, because the same pictures are hard for both methods. The test uses the
pictures on which exactly one of the two is right.

With several seeds a picture still counts once, because its answers under two seeds are not independent. It is gained
when the first method is right under a larger share of the seeds than the other, lost when under a smaller one. If the
methods were equally good, exchanging them on a picture under all seeds would change nothing, so each such picture goes
either way with probability 1/2 and the exact test holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rita_demo.defences.registry import DEFENCES
from rita_demo.records.intervals import mcnemar
from rita_demo.settings import SETTINGS

if TYPE_CHECKING:
    from pandas import DataFrame

ATTACKED = ["picture", "content", "picture_seed", "linf", "l2"]  # equal in two rows of the same attacked picture
#: The plain Ensemble, whatever is recommended: the mean of probabilities, equal weights for all crops, one prompt a class.
PLAIN_ENSEMBLE = {
    "ensemble_average": "probability",
    "ensemble_weight": "uniform",
    "ensemble_step_back": 0.0,
    "ensemble_text": "template",
}
#: Methods that are an Ensemble -> settings of Ensemble that they fix.
ENSEMBLES: dict[str, dict[str, Any]] = {"ensemble": {}, "ensemble_area": PLAIN_ENSEMBLE | {"ensemble_weight": "area"}}
SAME_ATTACK = ["dataset", "split", "backbone", "attack", "budget", "steps"]
#: Column -> its title in tables.
REFERENCES = {
    "vs_plain": "against Ensemble",
    "vs_matching": "against Ensemble, views as RITA’s",
    "vs_off": "against no memory",
}


@dataclass(frozen=True)
class Paired:
    """Two methods on the same ``n`` pictures: ``gained`` by the first one, ``lost`` to the other. ``net_gain``: the sum over
    the pictures of (share of seeds under which the first is right - that of the other). ``reference``: how the other
    method differs from the one that was asked for, "" if it does not."""

    n: int
    gained: int
    lost: int
    net_gain: float
    reference: str = ""

    @property
    def difference(self) -> float:
        """Accuracy of the first method minus that of the other, in percentage points."""
        return 100 * self.net_gain / self.n

    @property
    def p_value(self) -> float:
        """Two-sided exact p-value; 1 when no picture is gained or lost."""
        return mcnemar(self.gained, self.lost)


def merged(first: DataFrame, second: DataFrame, on: Sequence[str] = ATTACKED) -> DataFrame:
    """The pictures that both have, in the order of the first: one line each, with the share of right answers ``first`` and
    ``second``. ``on``: what is equal in rows that are compared; ``["picture", "content"]`` compares whatever was attacked."""
    columns = [*on, "right"]
    both = first[columns].merge(second[columns], on=list(on), suffixes=("_first", "_second"))
    shares = both.groupby("picture", sort=False)[["right_first", "right_second"]].mean()
    return shares.set_axis(["first", "second"], axis=1)


def compare(shares: DataFrame) -> Paired | None:
    """McNemar's test of the two columns of :func:`merged`; None without a picture."""
    if shares.empty:
        return None
    lead = shares["first"] - shares["second"]
    return Paired(len(lead), int((lead > 0).sum()), int((lead < 0).sum()), float(lead.sum()))


def against_references(table: DataFrame, rows: DataFrame) -> DataFrame:
    """The table of :func:`rita_demo.evaluation.report.cells.summarise` with a :class:`Paired` or None in each of:

    ``vs_plain``: against the plain Ensemble, the one whose view settings are nearest; if none was measured, against the
    nearest other Ensemble, and ``reference`` names the difference. Another Ensemble is compared with a plain one only.

    ``vs_matching``: RITA against the Ensemble that has its view weights and its step back. What is left between the two is
    transport, prompts and cache. None where this Ensemble is the plain one.

    ``vs_off``: a kept memory against none, everything else alike.
    """
    every = list(table.itertuples())
    cell_of = {number: cell.Index for cell in every for number in cell.measurements}
    answers = dict(iter(rows[rows["fault"].isna()].groupby(rows["measurement"].map(cell_of))))
    references: dict[str, list[Paired | None]] = {name: [] for name in REFERENCES}
    for cell in every:
        asked: dict[str, list[tuple[Any, Mapping[str, Any]]]] = {name: [] for name in REFERENCES}
        if _ensemble_of(cell) != PLAIN_ENSEMBLE:
            asked["vs_plain"] = _ensembles(cell, every, PLAIN_ENSEMBLE, exact=cell.method in ENSEMBLES)
        if (matching := _matching_ensemble(cell)) != PLAIN_ENSEMBLE:
            asked["vs_matching"] = _ensembles(cell, every, matching, exact=True)
        if cell.protocol != "off":
            same = [one for one in every if one.protocol == "off" and _without_cache(one) == _without_cache(cell)]
            asked["vs_off"] = [(one, {}) for one in same[:1]]
        for name, candidates in asked.items():
            test = None
            for other, differing in candidates:
                if test := compare(merged(answers[cell.Index], answers[other.Index])):
                    text = ", ".join(f"{setting}={value}" for setting, value in differing.items())
                    test = replace(test, reference=text)
                    break
            references[name].append(test)
    return table.assign(**references)


def _ensemble_of(cell: Any) -> dict[str, Any] | None:
    """Which Ensemble a cell is; None for another method."""
    if cell.method not in ENSEMBLES:
        return None
    return {n: cell.method_settings.get(n, value) for n, value in PLAIN_ENSEMBLE.items()} | ENSEMBLES[cell.method]


def _matching_ensemble(cell: Any) -> dict[str, Any]:
    """The Ensemble with the view weights and the step back of a cell of RITA; the plain one for other methods, and for a
    user's own, which is not loaded by tables."""
    if cell.method not in DEFENCES or DEFENCES[cell.method].baseline:
        return PLAIN_ENSEMBLE
    names = ("view_weight", "step_back")
    weight, step_back = (cell.method_settings.get(name, SETTINGS[name].default) for name in names)
    weight = weight if weight in SETTINGS["ensemble_weight"].choices else "uniform"
    return PLAIN_ENSEMBLE | {"ensemble_weight": weight, "ensemble_step_back": step_back}


def _ensembles(
    cell: Any, every: Sequence[Any], wanted: Mapping[str, Any], exact: bool
) -> list[tuple[Any, Mapping[str, Any]]]:
    """The Ensembles under the same attack, the nearest to the ``wanted`` one first, each with how it differs from that and
    from the cell's views (the attacked pictures may be the same in spite of them). ``exact``: the wanted one alone."""
    ranked = []
    for other in every:
        ensemble = _ensemble_of(other)
        if ensemble is None or any(getattr(other, name) != getattr(cell, name) for name in SAME_ATTACK):
            continue
        names = cell.non_default | other.non_default
        differing = [name for name in names if cell.non_default.get(name) != other.non_default.get(name)]
        views = [n for n in differing if n in SETTINGS and SETTINGS[n].group in DEFENCES["ensemble"].groups]
        rest = [name for name in differing if name not in PLAIN_ENSEMBLE]
        difference = {name: value for name, value in ensemble.items() if value != wanted[name]}
        if not (exact and difference):
            text = difference | {name: other.requested.get(name, "?") for name in views}
            ranked.append(((len(difference), len(views), len(rest)), other, text))
    return [(other, text) for _, other, text in sorted(ranked, key=lambda line: line[0])]


def _without_cache(cell: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Columns and special settings of a cell, apart from what belongs to the cache."""
    special = {n: v for n, v in cell.non_default.items() if n not in SETTINGS or SETTINGS[n].group != "cache"}
    return (cell.method, *(getattr(cell, name) for name in SAME_ATTACK)), special


def all_datasets(table: DataFrame, reference: str) -> list[tuple[Any, int, Paired]]:
    """Finished cells that differ in the dataset alone, compared with a ``reference`` on all their pictures together.

    Returns:
        Per group of at least two datasets: its first cell, the number of datasets, and the summed comparison. A
        dataset measured twice (with all class names and with those present) counts once.
    """
    tested = table[table["finished"] & table[reference].notna()]
    tested = tested.assign(
        base=tested["dataset"].str.split(":").str[0], text=[one.reference for one in tested[reference]]
    )
    keys = ["split", "backbone", "attack", "budget", "steps", "method", "protocol", "special", "text"]
    sums = []
    for _, group in tested.groupby(keys, sort=False):
        pairs = list(group.drop_duplicates("base")[reference])
        if len(pairs) > 1:
            totals = {name: sum(getattr(pair, name) for pair in pairs) for name in ("n", "gained", "lost", "net_gain")}
            sums.append((next(group.itertuples()), len(pairs), Paired(**totals, reference=pairs[0].reference)))
    return sums
