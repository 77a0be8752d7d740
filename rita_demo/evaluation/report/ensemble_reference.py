"""Which Ensemble a measured cell is compared with: the plain one, and the one that weights views as RITA does.

Only cells on the same attacked pictures are compared. The plain Ensemble is fixed, whatever is recommended: the mean
of probabilities, equal weights for all crops, one prompt per class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation.report.mcnemar import PairedComparison, compare_paired
from rita_demo.settings import SETTINGS

Header = dict[str, Any]
PooledCell = list[tuple[Header, list[dict[str, Any]]]]  # one cell's header and rows per seed
PLAIN_ENSEMBLE = {
    "ensemble_average": "probability",
    "ensemble_weight": "uniform",
    "ensemble_step_back": 0.0,
    "ensemble_text": "template",
}
MATCHED_COLUMNS = ("dataset", "split", "backbone", "attack", "budget", "steps")


def rows_of(cells: PooledCell) -> list[dict[str, Any]]:
    """The rows of all seeds."""
    return [row for _, rows in cells for row in rows]


def compare_with_plain(cells: PooledCell, pools: Iterable[PooledCell]) -> PairedComparison | None:
    """Compare with the plain Ensemble, the one whose view settings are nearest.

    If none was measured, with the nearest other Ensemble; ``reference`` then names the difference. Another Ensemble is
    compared with a plain one only. None for the plain Ensemble itself, and where there is nothing to compare with.
    """
    header = cells[0][0]
    is_ensemble = header["columns"]["method"] == "ensemble"
    if is_ensemble and _ensemble_settings(header) == PLAIN_ENSEMBLE:
        return None
    return _compare_with(cells, pools, PLAIN_ENSEMBLE, exact=is_ensemble)


def compare_with_matching(cells: PooledCell, pools: Iterable[PooledCell]) -> PairedComparison | None:
    """Compare RITA with the Ensemble that has its view weights and its step back.

    What is left between the two is transport, prompts and cache. None for other methods, where this Ensemble is the
    plain one, and where it was not measured.
    """
    header = cells[0][0]
    defence = DEFENCES.get(header["columns"]["method"])  # None: a user's own, which tables does not load
    if defence is None or defence.baseline:
        return None
    weight, step_back = (header["knobs"].get(name, SETTINGS[name].paper) for name in ("view_weight", "step_back"))
    if weight not in SETTINGS["ensemble_weight"].choices:
        weight = "uniform"
    wanted = PLAIN_ENSEMBLE | {"ensemble_weight": weight, "ensemble_step_back": step_back}
    return None if wanted == PLAIN_ENSEMBLE else _compare_with(cells, pools, wanted, exact=True)


def _compare_with(
    cells: PooledCell, pools: Iterable[PooledCell], wanted: Mapping[str, Any], exact: bool
) -> PairedComparison | None:
    header = cells[0][0]
    candidates = [
        other
        for other in pools
        if other[0][0]["columns"]["method"] == "ensemble"
        and all(other[0][0]["columns"][name] == header["columns"][name] for name in MATCHED_COLUMNS)
        and (_ensemble_settings(other[0][0]) == wanted or not exact)
    ]
    for other in sorted(candidates, key=lambda other: _distance(header, other[0][0], wanted)):
        if paired := compare_paired(rows_of(cells), rows_of(other)):
            return replace(paired, reference=_difference_text(header, other[0][0], wanted))
    return None


def _ensemble_settings(header: Header) -> dict[str, Any]:
    """Which Ensemble a cell is; a run older than one of these settings has today's default."""
    return {name: header["knobs"].get(name, SETTINGS[name].default) for name in PLAIN_ENSEMBLE}


def _distance(header: Header, other: Header, wanted: Mapping[str, Any]) -> tuple[int, int, int]:
    """Number of differing settings: of the Ensemble, of the views and the attack, and of everything else."""
    differing = [name for name in _differing(header, other) if name not in PLAIN_ENSEMBLE]
    ensemble = len(_ensemble_settings(other).items() ^ wanted.items())
    return ensemble, len(_differing_view_settings(header, other)), len(differing)


def _differing(header: Header, other: Header) -> list[str]:
    first, second = header["special"], other["special"]
    return [name for name in first | second if first.get(name) != second.get(name)]


def _differing_view_settings(header: Header, other: Header) -> list[str]:
    """Differing settings of views and attack; the attacked pictures may be the same in spite of them."""
    groups = DEFENCES["ensemble"].groups
    return [name for name in _differing(header, other) if name in SETTINGS and SETTINGS[name].group in groups]


def _difference_text(header: Header, other: Header, wanted: Mapping[str, Any]) -> str:
    found = {name: value for name, value in _ensemble_settings(other).items() if value != wanted[name]}
    found |= {name: other["knobs"].get(name, "?") for name in _differing_view_settings(header, other)}
    return ", ".join(f"{name}={value}" for name, value in found.items())
