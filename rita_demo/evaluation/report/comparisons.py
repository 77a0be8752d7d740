"""Measured cells compared on the same attacked pictures: McNemar's exact test (1947), and the Ensemble to compare with.

Overlapping confidence intervals say little, because the same pictures are hard for both methods. The test uses the
pictures on which exactly one of the two is right.

With several seeds a picture still counts once, because its answers under two seeds are not independent. It is gained
when the first method is right under more seeds than the other, lost when under fewer. If the methods were equally
good, exchanging them on a picture under all seeds would change nothing, so each such picture goes either way with
probability 1/2 and the exact test holds.

The plain Ensemble is fixed, whatever is recommended: the mean of probabilities, equal weights for all crops, one prompt
per class.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation.store.cell_file import CellHeader, Row, SeedGroup
from rita_demo.records.grouping import group_by
from rita_demo.records.intervals import mcnemar
from rita_demo.settings import SETTINGS

Rows = Iterable[Row]
PLAIN_ENSEMBLE = {
    "ensemble_average": "probability",
    "ensemble_weight": "uniform",
    "ensemble_step_back": 0.0,
    "ensemble_text": "template",
}
#: Methods that are an Ensemble -> settings of Ensemble that they fix.
ENSEMBLES: dict[str, dict[str, Any]] = {"ensemble": {}, "ensemble_area": PLAIN_ENSEMBLE | {"ensemble_weight": "area"}}


@dataclass(frozen=True)
class PairedComparison:
    """Two methods on the same ``n`` pictures: ``gained`` by the first one, ``lost`` to the other.

    ``seed_weighted_gain``: sum over the pictures of (share of seeds under which the first is right - that of the
    other); None with one seed, where it is gained - lost. ``reference``: how the other method differs from the
    requested reference, "" if it does not.
    """

    n: int
    gained: int
    lost: int
    seed_weighted_gain: float | None = None
    reference: str = ""

    @property
    def net_gain(self) -> float:
        """Pictures gained minus pictures lost, weighted by seeds where there are several."""
        return self.gained - self.lost if self.seed_weighted_gain is None else self.seed_weighted_gain

    @property
    def difference(self) -> float:
        """Accuracy of the first method minus that of the other, in percentage points."""
        return 100 * self.net_gain / self.n

    @property
    def p_value(self) -> float:
        """Two-sided exact p-value; 1 when no picture is gained or lost."""
        return mcnemar(self.gained, self.lost)


def compare_paired(first: Rows, other: Rows) -> PairedComparison | None:
    """Compare the rows of two cells on the attacked pictures that both have; None if there are none.

    Two rows are of the same attacked picture when file, seed and the norms of the attack are equal.
    """
    other_right = {picture_key(row): bool(row["right"]) for row in other}
    shared = (row for row in first if picture_key(row) in other_right)
    by_picture = group_by(shared, lambda row: row["picture"])
    if not by_picture:
        return None
    leads = [[row["right"] - other_right[picture_key(row)] for row in rows] for rows in by_picture.values()]
    gained, lost = sum(sum(lead) > 0 for lead in leads), sum(sum(lead) < 0 for lead in leads)
    several_seeds = any(len(lead) > 1 for lead in leads)
    weighted = sum(sum(lead) / len(lead) for lead in leads) if several_seeds else None
    return PairedComparison(len(leads), gained, lost, weighted)


def picture_key(row: Row) -> tuple[Any, ...]:
    """Equal for two rows of the same attacked picture."""
    return row["picture"], row["picture_seed"], row["linf"], row["l2"]


def compare_with_ensembles(group: SeedGroup, others: Sequence[SeedGroup]) -> dict[str, PairedComparison | None]:
    """``vs_plain``: the comparison with the plain Ensemble, the one whose view settings are nearest.

    If none was measured, with the nearest other Ensemble; ``reference`` then names the difference. Another Ensemble is
    compared with a plain one only. None for the plain Ensemble itself, and where there is nothing to compare with.
    The row ``ensemble_area`` is the Ensemble with the weights ``area``.

    ``vs_matching``: that of RITA with the Ensemble that has its view weights and its step back. What is left between
    the two is transport, prompts and cache. None for other methods, where this Ensemble is the plain one, and where it
    was not measured.

    ``vs_off``: that of a kept memory with no memory, everything else alike.
    """
    header = group.header
    method, comparisons = header.method, dict[str, PairedComparison | None]()
    if method not in ENSEMBLES or _ensemble_settings(header) != PLAIN_ENSEMBLE:
        comparisons["vs_plain"] = _compare_with(group, others, PLAIN_ENSEMBLE, exact=method in ENSEMBLES)
    if method in DEFENCES and not DEFENCES[method].baseline:  # a user's own is not loaded by tables
        weight, step_back = (header.settings[name] for name in ("view_weight", "step_back"))
        if weight not in SETTINGS["ensemble_weight"].choices:
            weight = "uniform"
        wanted = PLAIN_ENSEMBLE | {"ensemble_weight": weight, "ensemble_step_back": step_back}
        if wanted != PLAIN_ENSEMBLE:
            comparisons["vs_matching"] = _compare_with(group, others, wanted, exact=True)
    off = (one for one in others if one.header.columns["protocol"] == "off" != header.columns["protocol"])
    if alike := next((one for one in off if _without_cache(one.header) == _without_cache(header)), None):
        comparisons["vs_off"] = compare_paired(group.rows, alike.rows)
    return comparisons


def _without_cache(header: CellHeader) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns and non-default settings of a cell, apart from what belongs to the cache."""
    columns = {n: v for n, v in header.columns.items() if n not in ("settings", "protocol")}
    return columns, {n: v for n, v in header.non_default.items() if n not in SETTINGS or SETTINGS[n].group != "cache"}


def _compare_with(
    group: SeedGroup, others: Sequence[SeedGroup], wanted: Mapping[str, Any], exact: bool
) -> PairedComparison | None:
    own, candidates = group.header.non_default, []
    columns = {
        name: group.header.columns[name] for name in ("dataset", "split", "backbone", "attack", "budget", "steps")
    }
    for other in others:
        header, other_settings = other.header, other.header.non_default
        ensemble = _ensemble_settings(header)
        same = header.method in ENSEMBLES and columns.items() <= header.columns.items()
        if same and (ensemble == wanted or not exact):
            differing = [n for n in own | other_settings if own.get(n) != other_settings.get(n)]
            # of views and attack; the attacked pictures may be the same in spite of them
            views = [n for n in differing if n in SETTINGS and SETTINGS[n].group in DEFENCES["ensemble"].groups]
            rest = [n for n in differing if n not in PLAIN_ENSEMBLE]
            difference = {name: value for name, value in ensemble.items() if value != wanted[name]}
            text = difference | {name: header.settings.get(name, "?") for name in views}
            candidates.append(((len(difference), len(views), len(rest)), other, text))
    for _, other, text in sorted(candidates, key=lambda one: one[0]):
        if paired := compare_paired(group.rows, other.rows):
            return replace(paired, reference=", ".join(f"{name}={value}" for name, value in text.items()))
    return None


def _ensemble_settings(header: CellHeader) -> dict[str, Any]:
    """Which Ensemble a cell is."""
    stated = {name: header.settings[name] for name in PLAIN_ENSEMBLE}
    return stated | ENSEMBLES.get(header.method, {})
