"""Stored measurements: accuracy against one setting, the parts of RITA, groups of bars."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from rita_demo.attacks import ATTACKS
from rita_demo.defences.registry import DEFENCES, compared
from rita_demo.records import MeasuredCell
from rita_demo.records.grouping import group_by
from rita_demo.records.json_value import JsonValue
from rita_demo.records.measurement import AblationPoint, AblationSweep, AccuracyChart
from rita_demo.settings import RECOMMENDED

PROTOCOL_ORDER = ("stream", "off", "reset")  # of two measurements the first is shown
#: Settings of the ablations -> the values that are measured.
ABLATIONS: dict[str, tuple[float, ...]] = {
    "transported_mass": (0.1, 0.25, 0.5, 0.75, 1.0),
    "step_back": (0.0, 0.2, 0.4, 0.8),
    "entropy_weight": (0.001, 0.01, 0.1, 1.0),
    "cache_weight": (0.0, 0.1, 0.5, 1.0),
    "slots": (1, 3, 8, 16),
    "views": (32, 64, 96),
    "prompts": (4, 8, 16, 32),
    "tuning_steps": (0, 1, 2, 4),
}
MATCHED_FIELDS = ("dataset", "backbone", "method", "attack", "budget", "steps", "protocol", "split", "seeds")


def sweeps(points: Iterable[AblationPoint], setting: str) -> tuple[AblationSweep, ...]:
    """Every line that varies only ``setting`` over at least two values, longest first.

    ``others`` are the settings in which the lines differ beyond the columns of the table."""

    def line_of(point: AblationPoint) -> tuple:
        cell = tuple(getattr(point.cell, name) for name in MATCHED_FIELDS if name != setting)
        return (*cell, tuple(sorted(at for at in point.settings.items() if at[0] != setting)))

    lines = []
    for group in group_by((point for point in points if setting in point.settings), line_of).values():
        cells = {p.settings[setting]: p.cell for p in sorted(group, key=lambda p: p.cell.n)}
        if len(cells) >= 2:
            lines.append((sorted(cells.items(), key=lambda at: (isinstance(at[0], str), at[0])), group[0].settings))
    names = dict.fromkeys(name for _, kept in lines for name in kept if name not in (setting, *MATCHED_FIELDS))
    apart = [name for name in names if len({str(kept.get(name)) for _, kept in lines}) > 1]
    others = [tuple((name, kept[name]) for name in apart if name in kept) for _, kept in lines]
    drawn = []
    for (pairs, _), differ in zip(lines, others):
        values, measured = zip(*pairs)
        drawn.append(AblationSweep(setting, values, measured, differ))
    return tuple(sorted(drawn, key=lambda line: (-len(line.values), str(line.others))))


def one_memory(lines: Sequence[AblationSweep]) -> tuple[AblationSweep, ...]:
    """Of sweeps that differ in what became of the memory alone the first by ``PROTOCOL_ORDER``."""
    fields = attrgetter(*(name for name in MATCHED_FIELDS if name != "protocol"))
    groups = group_by(lines, lambda line: (fields(line.cells[0]), line.values, line.others)).values()
    return tuple(min(same, key=lambda line: _rank(line.cells[0])) for same in groups)


def _rank(cell: MeasuredCell) -> int:
    return [*PROTOCOL_ORDER, cell.protocol].index(cell.protocol)


@dataclass(frozen=True)
class Pooled:
    """RITA's ``shares`` of right answers for each of ``values`` of a setting, of ``n`` pictures under ``attack``."""

    values: tuple[JsonValue, ...]
    shares: tuple[float, ...]
    n: int
    attack: str


def pooled(lines: Sequence[AblationSweep]) -> Pooled | None:
    """The sweeps of one setting over all datasets together: those under the strongest attack, of two memories the first of
    ``PROTOCOL_ORDER``, on the model of the first; only values that all of them have. None without a sweep under an attack."""
    attacked = [line for line in lines if line.cells[0].attack != "none"]
    if not attacked:
        return None

    def kind(line: AblationSweep) -> tuple:
        cell = line.cells[0]
        return -cell.budget, _rank(cell), cell.backbone, cell.attack, cell.steps, line.others

    first = min(attacked, key=lambda line: kind(line)[:2])
    alike = [line for line in attacked if kind(line) == kind(first)]
    values = [value for value in first.values if all(value in line.values for line in alike)]
    cells = [[line.cells[line.values.index(value)] for line in alike] for value in values]
    n = sum(cell.n for cell in cells[0]) if cells else 0
    if not n:
        return None
    shares = tuple(sum(cell.accuracy * cell.n for cell in row) / sum(100 * cell.n for cell in row) for row in cells)
    cell = first.cells[0]
    name = ATTACKS[cell.attack].column_title if cell.attack in ATTACKS else cell.attack  # one that is not loaded
    return Pooled(tuple(values), shares, n, f"{name} {cell.budget}/255" if cell.budget else name)


#: Rows of the component table: title, methods, protocol, settings that the row is about.
COMPONENTS: tuple[tuple[str, tuple[str, ...], str, dict[str, JsonValue]], ...] = (
    *((DEFENCES[name].full_title, (name,), "off", {}) for name in compared() if name != "rita"),
    ("RITA: d_OT alone, prompts as they start", ("rita",), "off", {"tuning_steps": 0}),
    ("RITA: d_OT alone", ("rita",), "off", {}),
    ("RITA: the memory alone", ("rita_memory",), "stream", {}),
    ("RITA: d_OT and the memory, emptied before every picture", ("rita",), "reset", {}),
    ("RITA: d_OT and the memory, prompts as they start", ("rita", "rita_untuned"), "stream", {"tuning_steps": 0}),
    ("RITA: d_OT and the memory", ("rita",), "stream", {}),
)


def components(points: Sequence[AblationPoint]) -> dict[str, dict[str, AblationPoint]]:
    """Title of a row -> title of a column -> the point closest to the recommended settings.

    Closest means the fewest settings that differ, without those of the row. Rows and columns without a measurement are
    omitted."""
    table: dict[str, dict[str, AblationPoint]] = {}
    listed = {name for _, methods, *_ in COMPONENTS for name in methods}
    listed |= {name for name, row in DEFENCES.items() if row.ablation}
    others = {p.cell.method: p.cell for p in points if p.cell.method not in listed}
    rows = [(cell.title or name, (name,), cell.protocol, dict[str, JsonValue]()) for name, cell in others.items()]
    for title, methods, protocol, about in (*rows, *COMPONENTS):
        wanted = [p for p in points if p.cell.method in methods and p.cell.protocol == protocol]
        for point in sorted(wanted, key=lambda p: (len(non_recommended(p, about)), -p.cell.n)):
            if all(point.settings.get(name) == value for name, value in about.items()):
                cell = point.cell
                attack = "clean" if cell.attack == "none" else f"{cell.attack} {cell.budget}/255"
                table.setdefault(title, {}).setdefault(f"{cell.dataset} ({cell.split}), {attack}", point)
    return table


def non_recommended(point: AblationPoint, about: dict[str, JsonValue]) -> tuple[str, ...]:
    """Names of the settings that differ from the recommended ones, without ``about`` and the columns."""
    free = {*about, "attack", "budget", "steps", "protocol", "square"}
    return tuple(n for n, value in point.settings.items() if n not in free and value != getattr(RECOMMENDED, n, None))


def budget_by_steps(points: Iterable[AblationPoint]) -> tuple[AccuracyChart, ...]:
    """RITA's accuracy by the budget of PGD, a bar per number of steps of the prompt update: one chart per dataset, split
    and backbone with at least two budgets and two numbers of steps. Budget 0 is no attack."""
    rows = [p for p in points if p.cell.method == "rita" and p.cell.attack in ("none", "pgd")]
    charts = []

    def place(point: AblationPoint) -> tuple:
        return point.settings.get("tuning_steps"), point.cell.budget * (point.cell.attack != "none")

    for (dataset, split, backbone), part in group_by(
        rows, attrgetter("cell.dataset", "cell.split", "cell.backbone")
    ).items():
        cell_at = _closest(part, place, "tuning_steps")
        steps, budgets = (sorted({key[at] for key in cell_at}) for at in (0, 1))
        if len(steps) < 2 or len(budgets) < 2:
            continue
        bars = {
            f"{step} step{'s' * (step != 1)}": tuple(cell_at.get((step, budget)) for budget in budgets)
            for step in steps
        }
        groups = tuple(f"{budget}/255" if budget else "no attack" for budget in budgets)
        about = f"RITA, {dataset} ({split}), {backbone}, {_memory(cell_at.values())}"
        charts.append(AccuracyChart(about, "strength of PGD", groups, bars))
    return tuple(charts)


def by_backbone(points: Iterable[AblationPoint]) -> tuple[AccuracyChart, ...]:
    """Every method's accuracy without an attack and under each attack, a group per backbone and attack with at least two
    methods: one chart per dataset and split. A group with one method compares nothing: the chart names it as left out. What
    became of the memory is said once, or group by group where it differs."""
    charts = []
    for (dataset, split), part in group_by(points, attrgetter("cell.dataset", "cell.split")).items():
        cell_of = _closest(part, lambda p: ((p.cell.backbone, p.cell.attack_text), p.cell.method))
        counts = Counter(group for group, _ in cell_of)
        several = {group for group in counts if counts[group] > 1} or set(counts)  # one method alone compares nothing
        groups = sorted(several, key=lambda group: (group[0], group[1] != "no attack", group[1]))
        single = {group: (name, cell) for (group, name), cell in cell_of.items() if group not in several}
        names = [*compared(), *(method for _, method in cell_of if method not in DEFENCES)]
        methods = [name for name in dict.fromkeys(names) if any(method == name for _, method in cell_of)]
        bars = {name: tuple(cell_of.get((group, name)) for group in groups) for name in methods}
        using = [name for name in methods if name in DEFENCES and DEFENCES[name].uses_cache]
        memories = [_memory(cell for name in using if (cell := cell_of.get((group, name)))) for group in groups]
        different = {memory for memory in memories if memory}
        each = memories if len(different) > 1 else [""] * len(groups)
        titles = tuple("<br>".join(filter(None, (*group, memory))) for group, memory in zip(groups, each))
        about = f"{dataset} ({split})" + f", {''.join(different)}" * (len(different) == 1)
        left_out = []
        for group, (name, cell) in sorted(single.items()):
            title = DEFENCES[name].title if name in DEFENCES else cell.title or name
            left_out.append(f"{' '.join(group)} ({title}, n = {cell.n})")
        charts.append(AccuracyChart(about, "backbone, attack", titles, bars, tuple(left_out)))
    return tuple(charts)


def _memory(cells: Iterable[MeasuredCell]) -> str:
    """What became of the memory in these cells: "memory kept", or several."""
    return " or ".join(dict.fromkeys(cell.protocol_text for cell in cells))


def _closest(
    points: Iterable[AblationPoint], key: Callable[[AblationPoint], Hashable], *about: str
) -> dict[Any, MeasuredCell]:
    """For every key the cell closest to the recommended settings, apart from the settings that the chart is ``about``."""
    free, cells = dict.fromkeys(about), dict[Any, MeasuredCell]()
    for point in sorted(points, key=lambda p: (len(non_recommended(p, free)), _rank(p.cell), -p.cell.n)):
        cells.setdefault(key(point), point.cell)
    return cells
