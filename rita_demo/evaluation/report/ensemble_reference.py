"""Which Ensemble a measured cell is compared with: the plain one, and the one that weights views as RITA does.

Only cells on the same attacked pictures are compared. The plain Ensemble is fixed, whatever is recommended: the mean
of probabilities, equal weights for all crops, one prompt per class.
"""

from collections.abc import Mapping, Sequence
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


#: Methods that are an Ensemble -> settings of Ensemble that they fix.
ENSEMBLES: dict[str, dict[str, Any]] = {"ensemble": {}, "ensemble_area": PLAIN_ENSEMBLE | {"ensemble_weight": "area"}}


def rows_of(cells: PooledCell) -> list[dict[str, Any]]:
    """The rows of all seeds."""
    return [row for _, rows in cells for row in rows]


def compare_with_ensembles(cells: PooledCell, pools: Sequence[PooledCell]) -> dict[str, PairedComparison | None]:
    """``vs_plain``: the comparison with the plain Ensemble, the one whose view settings are nearest.

    If none was measured, with the nearest other Ensemble; ``reference`` then names the difference. Another Ensemble is
    compared with a plain one only. None for the plain Ensemble itself, and where there is nothing to compare with.
    The row ``ensemble_area`` is the Ensemble with the weights ``area``.

    ``vs_matching``: that of RITA with the Ensemble that has its view weights and its step back. What is left between
    the two is transport, prompts and cache. None for other methods, where this Ensemble is the plain one, and where it
    was not measured.

    ``vs_off``: that of a kept memory with no memory, everything else alike.
    """
    header = cells[0][0]
    method, found = header["columns"]["method"], dict[str, PairedComparison | None]()
    if method not in ENSEMBLES or _ensemble_settings(header) != PLAIN_ENSEMBLE:
        found["vs_plain"] = _compare_with(cells, pools, PLAIN_ENSEMBLE, exact=method in ENSEMBLES)
    if method in DEFENCES and not DEFENCES[method].baseline:  # a user's own is not loaded by tables
        weight, step_back = (header["knobs"].get(name, SETTINGS[name].before) for name in ("view_weight", "step_back"))
        if weight not in SETTINGS["ensemble_weight"].choices:
            weight = "uniform"
        wanted = PLAIN_ENSEMBLE | {"ensemble_weight": weight, "ensemble_step_back": step_back}
        if wanted != PLAIN_ENSEMBLE:
            found["vs_matching"] = _compare_with(cells, pools, wanted, exact=True)
    off = (one for one in pools if one[0][0]["columns"]["protocol"] == "off" != header["columns"]["protocol"])
    if alike := next((one for one in off if _without_cache(one[0][0]) == _without_cache(header)), None):
        found["vs_off"] = compare_paired(rows_of(cells), rows_of(alike))
    return found


def _without_cache(header: Header) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns and special settings of a cell, apart from what belongs to the cache."""
    columns = {n: v for n, v in header["columns"].items() if n not in ("settings", "protocol")}
    return columns, {n: v for n, v in header["special"].items() if n not in SETTINGS or SETTINGS[n].group != "cache"}


def _compare_with(
    cells: PooledCell, pools: Sequence[PooledCell], wanted: Mapping[str, Any], exact: bool
) -> PairedComparison | None:
    header = cells[0][0]
    columns = {name: header["columns"][name] for name in ("dataset", "split", "backbone", "attack", "budget", "steps")}
    found = []
    for other in pools:
        theirs = other[0][0]
        ensemble = _ensemble_settings(theirs)
        same = theirs["columns"]["method"] in ENSEMBLES and columns.items() <= theirs["columns"].items()
        if same and (ensemble == wanted or not exact):
            names = header["special"] | theirs["special"]
            differing = [n for n in names if header["special"].get(n) != theirs["special"].get(n)]
            # of views and attack; the attacked pictures may be the same in spite of them
            views = [n for n in differing if n in SETTINGS and SETTINGS[n].group in DEFENCES["ensemble"].groups]
            rest = [n for n in differing if n not in PLAIN_ENSEMBLE]
            difference = {name: value for name, value in ensemble.items() if value != wanted[name]}
            text = difference | {name: theirs["knobs"].get(name, "?") for name in views}
            found.append(((len(difference), len(views), len(rest)), other, text))
    for _, other, text in sorted(found, key=lambda one: one[0]):
        if paired := compare_paired(rows_of(cells), rows_of(other)):
            return replace(paired, reference=", ".join(f"{name}={value}" for name, value in text.items()))
    return None


def _ensemble_settings(header: Header) -> dict[str, Any]:
    """Which Ensemble a cell is; a run may be older than one of these settings."""
    asked = {name: header["knobs"].get(name, SETTINGS[name].before) for name in PLAIN_ENSEMBLE}
    return asked | ENSEMBLES.get(header["columns"]["method"], {})
