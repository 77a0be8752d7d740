"""Which Ensemble a measured cell is held against: the plain one, and the one that takes the views as RITA does.

Both saw the same attacked pictures, or nothing is compared. What the plain one is does not follow what is
recommended: a mean of probabilities, every crop alike, one sentence per class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from rita_demo.evaluation.paired import Paired, compare
from rita_demo.methods import METHODS
from rita_demo.settings import KNOBS

Cells = list[tuple[dict[str, Any], list[dict[str, Any]]]]  # one cell's header and rows per seed
PLAIN = {
    "ensemble_average": "probability",
    "ensemble_weight": "uniform",
    "ensemble_step_back": 0.0,
    "ensemble_text": "template",
}
SAME = ("dataset", "split", "backbone", "attack", "budget", "steps")


def rows_of(cells: Cells) -> list[dict[str, Any]]:
    """The rows of all seeds."""
    return [row for _, found in cells for row in found]


def against_plain(cells: Cells, pools: Iterable[Cells]) -> Paired | None:
    """The plain Ensemble on the same attacked pictures, with the views nearest to these.

    Where no plain one was measured, the nearest Ensemble, which says in ``other`` what it is. None for the plain
    Ensemble itself, and where there is nothing to compare with. Another Ensemble is held against the plain one only.
    """
    header = cells[0][0]
    if header["columns"]["method"] != "ensemble":
        return _against(cells, pools, PLAIN, strictly=False)
    return None if _own(header) == PLAIN else _against(cells, pools, PLAIN, strictly=True)


def against_alike(cells: Cells, pools: Iterable[Cells]) -> Paired | None:
    """The Ensemble that takes the views as this RITA does: its weights by what a view shows or leaves out, and its step back.

    What is left between the two is transport, prompts and memory. None for what is not RITA, where RITA takes
    the views as the plain Ensemble does, and without such an Ensemble on the same attacked pictures.
    """
    header = cells[0][0]
    if METHODS[header["columns"]["method"]].baseline:
        return None
    own = {
        name: header["knobs"].get(name, KNOBS[name].paper) for name in ("view_weight", "step_back")
    }
    weights = KNOBS["ensemble_weight"].choices
    weight = own["view_weight"] if own["view_weight"] in weights else "uniform"
    wanted = PLAIN | {"ensemble_weight": weight, "ensemble_step_back": own["step_back"]}
    return None if wanted == PLAIN else _against(cells, pools, wanted, strictly=True)


def _against(
    cells: Cells, pools: Iterable[Cells], wanted: Mapping[str, Any], strictly: bool
) -> Paired | None:
    header, mine = cells[0][0], [cells[0][0]["columns"][name] for name in SAME]
    candidates = [
        other
        for other in pools
        if other[0][0]["columns"]["method"] == "ensemble"
        and [other[0][0]["columns"][name] for name in SAME] == mine
        and (_own(other[0][0]) == wanted or not strictly)
    ]
    for other in sorted(candidates, key=lambda other: _distance(header, other[0][0], wanted)):
        if paired := compare(rows_of(cells), rows_of(other)):
            return replace(paired, other=_name(header, other[0][0], wanted))
    return None


def _own(header: dict[str, Any]) -> dict[str, Any]:
    """What kind of Ensemble it is; runs from before a setting had what is its default now."""
    return {name: header["knobs"].get(name, KNOBS[name].default) for name in PLAIN}


def _distance(mine: dict[str, Any], other: dict[str, Any], wanted: Mapping[str, Any]) -> Any:
    """First what kind it is, then its views, then whatever else was set (all of RITA, where the attack goes
    through it)."""
    unlike = len(_own(other).items() ^ wanted.items())
    rest = {name for name in mine["special"] | other["special"] if name not in PLAIN}
    differing = [n for n in rest if mine["special"].get(n) != other["special"].get(n)]
    return unlike, len(_views(mine, other)), len(differing)


def _views(mine: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Settings of what both look at (views, attack) that differ: an attack may be the same in spite of them."""
    groups = METHODS["ensemble"].groups
    names = mine["special"] | other["special"]
    return [
        name
        for name in names
        if name in KNOBS
        and KNOBS[name].group in groups
        and mine["special"].get(name) != other["special"].get(name)
    ]


def _name(mine: dict[str, Any], other: dict[str, Any], wanted: Mapping[str, Any]) -> str:
    own = _own(other)
    told = {name: own[name] for name in own if own[name] != wanted[name]}
    told |= {name: other["knobs"].get(name, "?") for name in _views(mine, other)}
    return ", ".join(f"{name}={value}" for name, value in told.items())
