"""Stored measurements as groups of bars: steps of the prompt update by budget, and methods by backbone."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from rita_demo.analysis.sweeps import non_recommended
from rita_demo.defences.registry import compared
from rita_demo.records import MeasuredCell
from rita_demo.records.measurement import AblationPoint, AccuracyChart

PROTOCOL_ORDER = ("stream", "off", "reset")  # of two measurements the first is shown


def budget_by_steps(points: Iterable[AblationPoint]) -> tuple[AccuracyChart, ...]:
    """RITA's accuracy by the budget of PGD, a bar per number of steps of the prompt update: one chart per dataset, split
    and backbone with at least two budgets and two numbers of steps. Budget 0 is no attack."""
    mine = [p for p in points if p.cell.method == "rita" and p.cell.attack in ("none", "pgd")]
    charts = []
    for (dataset, split, backbone), cells in _groups(mine, "dataset", "split", "backbone").items():
        found = _closest(
            cells, lambda p: (p.settings.get("tuning_steps"), p.cell.budget * (p.cell.attack != "none")), "tuning_steps"
        )
        steps, budgets = (sorted({key[at] for key in found}) for at in (0, 1))
        if len(steps) < 2 or len(budgets) < 2:
            continue
        bars = {
            f"{step} step{'s' * (step != 1)}": tuple(found.get((step, budget)) for budget in budgets) for step in steps
        }
        groups = tuple(f"{budget}/255" if budget else "no attack" for budget in budgets)
        about = f"RITA, {dataset} ({split}), {backbone}"
        charts.append(AccuracyChart(about, "strength of PGD", groups, bars))
    return tuple(charts)


def by_backbone(points: Iterable[AblationPoint]) -> tuple[AccuracyChart, ...]:
    """Every method's accuracy without an attack and under each attack, a group per backbone and attack with at least two
    methods: one chart per dataset and split."""
    charts = []
    for (dataset, split), mine in _groups(points, "dataset", "split").items():
        found = _closest(mine, lambda p: ((p.cell.backbone, p.cell.attack_text), p.cell.method))
        counts = Counter(group for group, _ in found)
        several = {group for group in counts if counts[group] > 1} or set(counts)  # one method alone compares nothing
        groups = sorted(several, key=lambda group: (group[0], group[1] != "no attack", group[1]))
        methods = [name for name in compared() if any(method == name for _, method in found)]
        bars = {name: tuple(found.get((group, name)) for group in groups) for name in methods}
        titles = tuple(f"{backbone}<br>{attack}" for backbone, attack in groups)
        charts.append(AccuracyChart(f"{dataset} ({split})", "backbone, attack", titles, bars))
    return tuple(charts)


def _groups(points: Iterable[AblationPoint], *columns: str) -> dict[tuple[str, ...], list[AblationPoint]]:
    """The points by the values of these columns of their cells."""
    found: dict[tuple[str, ...], list[AblationPoint]] = {}
    for point in points:
        found.setdefault(tuple(getattr(point.cell, name) for name in columns), []).append(point)
    return found


def _closest(
    points: Iterable[AblationPoint], key: Callable[[AblationPoint], Any], *about: str
) -> dict[Any, MeasuredCell]:
    """For every key the cell closest to the recommended settings, apart from the settings that the chart is ``about``."""
    free = dict.fromkeys(about)

    def distance(point: AblationPoint) -> tuple[int, int, int]:
        place = [*PROTOCOL_ORDER, point.cell.protocol].index(point.cell.protocol)
        return len(non_recommended(point, free)), place, -point.cell.n

    found: dict[Any, MeasuredCell] = {}
    for point in sorted(points, key=distance):
        found.setdefault(key(point), point.cell)
    return found
