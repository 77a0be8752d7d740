"""Stored rows as result rows: one per measured cell, seeds pooled, with Wilson's 95 % interval; as the points of the
ablation figures, with the settings that matter; and as they are, in one table.

A run folder can be read while another process writes to it; an incomplete last line is not counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import fmean, median
from typing import Any

from rita_demo.attacks import ATTACKS
from rita_demo.data.descriptions import BUILT_IN_ALL, descriptions_for
from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation import planned_cells
from rita_demo.evaluation.measurement import settings_text
from rita_demo.evaluation.planned_cells import canonical_settings
from rita_demo.evaluation.report.comparisons import PairedComparison, compare_with_ensembles
from rita_demo.evaluation.request import SEEDS
from rita_demo.evaluation.store.cell_file import CellHeader, SeedGroup, seed_groups
from rita_demo.process.text_file import read_text
from rita_demo.records import MeasuredCell
from rita_demo.records.errors import DataError, SettingError
from rita_demo.records.intervals import wilson
from rita_demo.records.json_value import JsonValue
from rita_demo.records.measurement import AblationPoint, RunTime
from rita_demo.settings import RECOMMENDED, SETTINGS, in_groups

COLUMNS = tuple(field.name for field in fields(MeasuredCell))  # of the CSV


@dataclass(frozen=True)
class ResultRow(MeasuredCell):
    """One measured cell: the columns of the CSV, and what the other tables show beside them.

    ``n`` counts different pictures. ``accuracy`` is the mean over all answers of all seeds; its interval is that of
    ``n`` pictures, because a picture under another seed is not a new picture.

    Args:
        expected_answers: answers of a finished cell; ``answers`` those that exist.
        seconds: median per picture of the method itself; ``view_seconds`` of cutting and encoding its ``views``,
            which all methods share.
        non_default: the settings that differ from the recommended ones.
        threat_model: its sentences. ``scope``: a sentence on pictures and classes. ``note``: one on the model.
        already_wrong: pictures that CLIP got wrong before the attack (0 without an attack).
        vs_plain, vs_matching, vs_off: see :func:`rita_demo.evaluation.report.comparisons.compare_with_ensembles`.
        accuracy_range: lowest and highest accuracy of one seed in percent; None for one seed.
        weights: a hash of the model's weights.
        target_hits: answers that are the attack's target; None without a target.
        gradient: median norm of the attack's first gradients; None without any.
        variant, attack_settings, also: the settings that differ from the recommended ones by what they act in, see
            :func:`rita_demo.evaluation.planned_cells.settings_by_part`. pictures: their names.
        failed: answers that are missing, because the user's own code failed.
    """

    expected_answers: int
    answers: int
    seconds: float
    non_default: str
    threat_model: tuple[str, ...]
    scope: str
    already_wrong: int = 0
    vs_plain: PairedComparison | None = None
    vs_matching: PairedComparison | None = None
    vs_off: PairedComparison | None = None
    view_seconds: float = 0.0
    views: int = 0
    accuracy_range: tuple[float, float] | None = None
    weights: str = ""
    note: str = ""
    target_hits: int | None = None
    gradient: float | None = None
    variant: str = ""
    attack_settings: str = ""
    also: str = ""
    pictures: frozenset[str] = frozenset()
    failed: int = 0

    @property
    def finished(self) -> bool:
        """Whether every picture has an answer under every seed."""
        return self.answers >= self.expected_answers


def result_rows(*folders: Path) -> tuple[ResultRow, ...]:
    """Every cell that has at least one row, of run folders or folders of them, sorted for reading.

    Raises:
        DataError: a folder is not a run folder, or one of its files is damaged.
    """
    order = {name: at for names in (SETTINGS["attack"].choices, DEFENCES) for at, name in enumerate(names)}

    def reading_order(row: ResultRow) -> tuple[Any, ...]:
        place = (row.dataset, row.split, row.backbone, order.get(row.attack, 99), row.budget, row.steps)
        return (*place, order.get(row.method, 99), row.protocol, row.non_default, row.settings)

    groups = seed_groups(*folders)
    rows = (result_row(group, **compare_with_ensembles(group, groups)) for group in groups)
    return tuple(sorted(rows, key=reading_order))


def _scope(header: CellHeader) -> str:
    """Sentences on pictures, classes, descriptions (of classes that no built-in one is of, none are used, whatever the
    settings ask for) and pictures that were left out."""
    pictures, prompts = f"{header.pictures} pictures", f"{header.classes} prompts"
    if header.pictures < header.available:
        pictures = f"{header.pictures} of {header.available} pictures"
    if header.classes_present < header.classes:
        prompts += f" ({header.classes_present} of these classes have pictures)"
    sentences = [f"Accuracy on {pictures}, among {prompts}."]
    if not any(descriptions_for(header.names, BUILT_IN_ALL)):
        sentences.append("There are no class descriptions for these classes.")
    return " ".join([*sentences, header.omission]).rstrip()


def result_row(group: SeedGroup, **comparisons: Any) -> ResultRow:
    """One cell measured with one or more seeds, and its ``vs_...`` comparisons."""
    header, rows = group.header, group.rows
    share, n = fmean(row["right"] for row in rows), len({row["picture"] for row in rows})
    low, high = wilson(share * n, n)
    gradients = [row["gradient"] for row in rows if row.get("gradient") is not None]
    own, of_attack, also = map(settings_text, _settings_by_part(header))
    expected = sum(one.pictures for one in group.headers)
    by_seed = [100 * fmean(row["right"] for row in found) for found in group.rows_by_seed]
    return ResultRow(
        **header.columns,
        accuracy=100 * share,
        n=n,
        low=100 * low,
        high=100 * high,
        seeds=" ".join(map(str, sorted({one.seed for one in group.headers}))),
        class_names=header.classes,
        version=" ".join(sorted({row["version"] for row in rows})),
        title=header.title,
        expected_answers=expected,
        answers=len(rows),
        seconds=median(row["seconds"]["method"] for row in rows),
        view_seconds=median(row["seconds"]["views"] for row in rows),
        views=header.settings["views"],
        non_default=settings_text(header.non_default),
        threat_model=tuple(header.threat_model["sentences"]),
        scope=_scope(header),
        **comparisons,
        already_wrong=len({row["picture"] for row in rows if row["already_wrong"]}),
        accuracy_range=(min(by_seed), max(by_seed)) if len(by_seed) > 1 else None,
        weights=header.weights,
        note=header.note,
        target_hits=sum(row["answer"] == row["target"] for row in rows) if header.target else None,
        gradient=median(gradients) if gradients else None,
        variant=own,
        attack_settings=of_attack,
        also=also,
        missing=max(expected - len(rows), 0),
        pictures=frozenset(row["picture"] for row in rows),
        failed=sum(group.failed),
    )


def _settings_by_part(header: CellHeader) -> tuple[dict[str, JsonValue], ...]:
    """As :func:`planned_cells.settings_by_part`; of code that is not loaded by the names of the settings alone."""
    try:
        return planned_cells.settings_by_part(header.cell, header.names)
    except SettingError:
        attack = re.split("[:@]", header.columns["attack"])[0]
        of_attack = {
            name: value
            for name, value in header.non_default.items()
            if planned_cells.is_of_attacks(name) or name.partition(".")[0] == attack
        }
        steps = ATTACKS[attack].steps_setting if attack in ATTACKS else "steps"  # a column of its own
        own = {n: v for n, v in header.non_default.items() if n not in (*of_attack, steps, "target", "attacked_share")}
        return own, {n: v for n, v in of_attack.items() if n != steps}, {}


def run_times(rows: Iterable[MeasuredCell]) -> tuple[RunTime, ...]:
    """The time of every method: of its cell with the fewest other settings than the recommended ones, then with most
    pictures. CLIP needs one view of all that are cut. Cells without times are left out."""
    times: dict[str, RunTime] = {}
    timed = (row for row in rows if isinstance(row, ResultRow))
    for row in sorted(timed, key=lambda r: (len(r.non_default.split(", ")) if r.non_default else 0, -r.n)):
        views = row.view_seconds / row.views if row.method == "clip" and row.views else row.view_seconds
        times.setdefault(row.method, RunTime(row.method, views, row.seconds, row.n, row.title, row.views))
    return tuple(times.values())


def ablation_points(*folders: Path) -> tuple[AblationPoint, ...]:
    """Every measured cell of run folders or folders of them, seeds pooled.

    Cells of mixed traffic and of targeted attacks are left out; a user's own method that is not loaded has the settings
    that were not the recommended ones.

    Raises:
        DataError: not a run folder, or a damaged one.
    """
    points = []
    for group in seed_groups(*folders):
        header = group.header
        try:
            cell = header.cell
            settings = {name: getattr(cell.settings, name) for name in _relevant(cell.method)}
        except SettingError:
            if header.method in DEFENCES or not header.method_title:
                continue
            settings = {name: value for name, value in header.non_default.items() if name in SETTINGS}
        if header.traffic.share != 100 or header.target:
            continue
        points.append(AblationPoint(result_row(group), settings))
    return tuple(points)


def _relevant(method: str) -> list[str]:
    """Names of the settings that a method may depend on, without the seeds; none of a method that is not here."""
    if (row := DEFENCES.get(method)) is None:
        return []
    matter = {*in_groups(*row.groups), *row.setting_names}
    return [name for name in SETTINGS if name in matter.difference(SEEDS)]


def non_default_settings(point: AblationPoint) -> dict[str, JsonValue]:
    """The settings that differ from the recommended ones, apart from attack, budget, steps and protocol."""
    columns = {n: v for n, v in point.settings.items() if n in ("attack", "budget", "steps", "protocol")}
    usual = canonical_settings(point.cell.method, RECOMMENDED.replace(**columns), frozenset())
    return {n: v for n, v in point.settings.items() if v != getattr(usual, n)}


def to_json(points: Sequence[AblationPoint]) -> str:
    """The points as JSON, one line each: the columns of ``tables --format csv``, and the settings as ``knobs``."""
    rows = [{n: getattr(p.cell, n) for n in COLUMNS} | {"knobs": p.settings} for p in points]
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n"


def read_points(path: Path) -> tuple[AblationPoint, ...]:
    """The points of a file that :func:`to_json` made.

    Raises:
        DataError: the file is missing, or is not what ``tables --format points`` writes.
    """
    try:
        rows = json.loads(read_text(path))
        if not isinstance(rows, list):
            raise TypeError
        return tuple(
            AblationPoint(
                MeasuredCell(**{name: row[name] for name in COLUMNS}),
                {name: value for name, value in row["knobs"].items() if name in SETTINGS},
            )
            for row in rows
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(
            f"{path.name} holds no measured points.", "Write it with tables RUNS --format points."
        ) from error
