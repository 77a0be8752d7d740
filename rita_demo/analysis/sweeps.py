"""Stored measurements as ablations: accuracy against one setting with all others fixed."""

from collections.abc import Iterable, Sequence
from typing import Any

from rita_demo.defences.registry import DEFENCES, compared
from rita_demo.records.measurement import AblationPoint, AblationSweep
from rita_demo.settings import RECOMMENDED

MATCHED_FIELDS = ("dataset", "backbone", "method", "attack", "budget", "steps", "protocol", "split", "seeds")


def sweeps(points: Iterable[AblationPoint], setting: str) -> tuple[AblationSweep, ...]:
    """Every line that varies only ``setting`` over at least two values, longest first.

    ``others`` are the settings in which the lines differ beyond the columns of the table.
    """
    groups: dict[tuple, list[AblationPoint]] = {}
    for point in points:
        if setting in point.settings:
            cell = tuple(getattr(point.cell, name) for name in MATCHED_FIELDS if name != setting)
            groups.setdefault((*cell, _setting_values(point.settings, setting)), []).append(point)
    lines = []
    for group in groups.values():
        cells = {p.settings[setting]: p.cell for p in sorted(group, key=lambda p: p.cell.n)}
        if len(cells) >= 2:
            ordered = sorted(cells.items(), key=lambda at: (isinstance(at[0], str), at[0]))
            lines.append((dict(ordered), group[0].settings))
    names = dict.fromkeys(name for _, kept in lines for name in kept if name not in (setting, *MATCHED_FIELDS))
    apart = [name for name in names if len({str(kept.get(name)) for _, kept in lines}) > 1]
    found = [
        AblationSweep(setting, tuple(cells), tuple(cells.values()), tuple((n, kept[n]) for n in apart if n in kept))
        for cells, kept in lines
    ]
    return tuple(sorted(found, key=lambda one: (-len(one.values), str(one.others))))


def _setting_values(settings: dict[str, Any], *without: str) -> tuple:
    return tuple(sorted((k, v) for k, v in settings.items() if k not in without))


#: Rows of the component table: title, methods, protocol, settings that the row is about.
COMPONENTS: tuple[tuple[str, tuple[str, ...], str, dict[str, Any]], ...] = (
    *((DEFENCES[name].full_title, (name,), "off", {}) for name in compared() if name != "rita"),
    ("RITA: d_OT alone, prompts as they start", ("rita",), "off", {"tuning_steps": 0}),
    ("RITA: d_OT alone", ("rita", "rita_prompts"), "off", {}),
    ("RITA: the memory alone", ("rita_memory",), "stream", {}),
    ("RITA: d_OT and the memory, emptied before every picture", ("rita", "rita_reset"), "reset", {}),
    ("RITA: d_OT and the memory, prompts as they start", ("rita", "rita_untuned"), "stream", {"tuning_steps": 0}),
    ("RITA: d_OT and the memory", ("rita",), "stream", {}),
)


def components(points: Sequence[AblationPoint]) -> dict[str, dict[str, AblationPoint]]:
    """Title of a row -> title of a column -> the point closest to the recommended settings.

    Closest means the fewest settings that differ, without those of the row. Rows and columns without a measurement are
    omitted.
    """
    table: dict[str, dict[str, AblationPoint]] = {}
    for title, methods, protocol, about in COMPONENTS:
        wanted = [p for p in points if p.cell.method in methods and p.cell.protocol == protocol]
        for point in sorted(wanted, key=lambda p: (len(non_recommended(p, about)), -p.cell.n)):
            if all(point.settings.get(name) == value for name, value in about.items()):
                cell = point.cell
                attack = "clean" if cell.attack == "none" else f"{cell.attack} {cell.budget}/255"
                table.setdefault(title, {}).setdefault(f"{cell.dataset} ({cell.split}), {attack}", point)
    return table


def non_recommended(point: AblationPoint, about: dict[str, Any]) -> tuple[str, ...]:
    """Names of the settings that differ from the recommended ones, without ``about`` and the columns."""
    free = {*about, "attack", "budget", "steps", "protocol", "square"}
    return tuple(n for n, value in point.settings.items() if n not in free and value != getattr(RECOMMENDED, n, None))
