"""Cells: measurements that differ in the seed alone, one line each, as a DataFrame of the stored rows.

``n`` counts different pictures. ``accuracy`` is the mean over all answers of all seeds; its interval is that of ``n``
pictures, because a picture under another seed is not a new picture.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rita_demo.attacks import ATTACKS
from rita_demo.data.descriptions import BUILT_IN_ALL, descriptions_for
from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation import frames
from rita_demo.evaluation.measurement import IN_WORDS, omission, settings_text
from rita_demo.process.text_file import read_text
from rita_demo.records import MeasuredCell
from rita_demo.records.errors import DataError, join_names
from rita_demo.records.intervals import wilson
from rita_demo.records.json_value import JsonValue
from rita_demo.records.measurement import AblationPoint, RunTime
from rita_demo.settings import SETTINGS, in_groups

if TYPE_CHECKING:
    from pandas import DataFrame

CSV_COLUMNS = tuple(field.name for field in fields(MeasuredCell))  # of ``tables --format csv``, in their order
#: What tells cells apart; everything else that a number depends on is in the hash ``settings``.
CELL = ["dataset", "split", "backbone", "method", "attack", "budget", "steps", "protocol", "settings"]
MAX_NAMED = 5  # pictures that were left out, or methods that failed
NO_COUNT = "They count neither as right nor as wrong."


def cells(*folders: str | Path) -> DataFrame:
    """Every cell with at least one answer, of run folders or folders of them, sorted for reading; see
    :func:`summarise`. Raises DataError: a folder is not a run folder, or a damaged one."""
    return summarise(frames.read(*folders), frames.measurements(*folders))


def pooled(measured: DataFrame) -> DataFrame:
    """One line per cell of :func:`rita_demo.evaluation.frames.measurements`: its first measurement, ``measurements`` (all of
    them), ``seeds`` and ``expected``, the number of answers of a finished cell."""
    members = measured.groupby(measured.groupby(CELL, sort=False, dropna=False).ngroup())
    first = members.head(1).drop(columns="seed").reset_index(drop=True)
    return first.assign(
        measurements=[tuple(numbers) for numbers in members.groups.values()],
        seeds=members["seed"].agg(lambda seeds: " ".join(map(str, sorted(set(seeds))))),
        expected=members["pictures"].sum(),
    )


def answers_of(cell: Any, rows: DataFrame) -> DataFrame:
    """The rows of a cell that have an answer."""
    return rows[rows["measurement"].isin(cell["measurements"]) & rows["fault"].isna()]


def summarise(rows: DataFrame, measured: DataFrame) -> DataFrame:
    """One line per cell of :func:`rita_demo.evaluation.frames.read` and :func:`~rita_demo.evaluation.frames.measurements`.

    Columns: those of the CSV in their order; then those of its first measurement; ``measurements``: all of them;
    ``answers`` of ``expected`` ones, ``failed`` without one, ``finished``; ``seconds`` and ``view_seconds``: medians per
    picture; ``gradient``: median norm of the attack's first gradients; ``already_wrong``: pictures that CLIP has wrong
    before the attack; ``target_hits``: answers that are the attack's target; ``lowest``, ``highest``: accuracy of one
    seed; ``names``: of its pictures; ``variant``, ``of_attack``, ``also``: the settings that are not the recommended ones
    by what they act in (:func:`settings_by_part`), ``special``: all of them, as text.
    """
    about = pooled(measured).rename(columns={"missing": "not_there", "class_names": "prompts"})
    cell_of = {number: cell.Index for cell in about.itertuples() for number in cell.measurements}
    rows = rows.assign(cell=rows["measurement"].map(cell_of), hit=rows["answer"] == rows["target"])
    rows["wrong"] = rows["picture"].where(rows["already_wrong"].eq(True))
    answered = rows[rows["fault"].isna()].astype({"right": float})
    table = answered.groupby("cell").agg(
        accuracy=("right", "mean"),
        n=("picture", "nunique"),
        version=("version", lambda versions: " ".join(sorted(set(versions)))),
        answers=("picture", "size"),
        seconds=("seconds_method", "median"),
        view_seconds=("seconds_views", "median"),
        gradient=("gradient", "median"),
        already_wrong=("wrong", "nunique"),
        target_hits=("hit", "sum"),
        names=("picture", frozenset),
    )
    table["failed"] = rows[rows["fault"].notna()].groupby("cell").size().reindex(table.index, fill_value=0)
    by_seed = 100 * answered.groupby(["cell", "measurement"])["right"].mean()
    table = table.join(by_seed.groupby("cell").agg(lowest="min", highest="max"))
    table = table.join(about.drop(columns=list({*table} & {*about})))
    table["accuracy"] *= 100
    ends = [wilson(share * n / 100, n) for share, n in zip(table["accuracy"], table["n"])]
    table["low"], table["high"] = ([100 * end[at] for end in ends] for at in (0, 1))
    table["title"] = [title_of(*both) for both in zip(table["method"], table["method_title"])]
    table["missing"] = (table["expected"] - table["answers"]).clip(lower=0)
    table["finished"] = table["missing"] == 0
    table["class_names"] = table["prompts"].map(len)
    table["special"] = table["non_default"].map(settings_text)
    parts = [map(settings_text, settings_by_part(cell)) for cell in table.itertuples()]
    table["variant"], table["of_attack"], table["also"] = zip(*parts) if parts else ((), (), ())
    order = {name: at for names in (SETTINGS["attack"].choices, DEFENCES) for at, name in enumerate(names)}
    place = table.assign(**{name: table[name].map(lambda one: order.get(one, 99)) for name in ("attack", "method")})
    columns = ["dataset", "split", "backbone", "attack", "budget", "steps", "method", "protocol", "special", "settings"]
    table = table.loc[place.sort_values(columns, kind="stable").index].reset_index(drop=True)
    return table[[*CSV_COLUMNS, *(name for name in table if name not in CSV_COLUMNS)]]


def as_csv(table: DataFrame) -> str:
    """One line per cell, with the columns of ``CSV_COLUMNS``."""
    return table[list(CSV_COLUMNS)].to_csv(index=False, float_format="%.2f", lineterminator="\n")


def records_of(table: DataFrame) -> tuple[MeasuredCell, ...]:
    """The cells as records, with the columns of the CSV alone."""
    return tuple(MeasuredCell(**row) for row in table[list(CSV_COLUMNS)].to_dict("records"))


def points_of(table: DataFrame) -> tuple[AblationPoint, ...]:
    """The cells with the settings of their methods. Those of mixed traffic and of targeted attacks are left out."""
    plain = table[(table["attacked_share"] == 100) & (table["aim"] == "")]
    return tuple(map(AblationPoint, records_of(plain), plain["method_settings"]))


def to_json(points: Iterable[AblationPoint]) -> str:
    """The points as JSON, one line each: the columns of the CSV, and the settings as ``knobs``."""
    rows = [{name: getattr(point.cell, name) for name in CSV_COLUMNS} | {"knobs": point.settings} for point in points]
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n"


def read_points(path: Path) -> tuple[AblationPoint, ...]:
    """The points of a file that :func:`to_json` made. Raises DataError: the file is missing, or is not what ``tables --format
    points`` writes."""
    try:
        rows = json.loads(read_text(path))
        if not isinstance(rows, list):
            raise TypeError
        return tuple(
            AblationPoint(
                MeasuredCell(**{name: row[name] for name in CSV_COLUMNS}),
                {name: value for name, value in row["knobs"].items() if name in SETTINGS},
            )
            for row in rows
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(
            f"{path.name} holds no measured points.", "Write it with tables RUNS --format points."
        ) from error


def run_times(table: DataFrame) -> tuple[RunTime, ...]:
    """The time of every method: of its cell with the fewest other settings than the recommended ones, then with most
    pictures. CLIP needs one view of all that are cut."""
    times: dict[str, RunTime] = {}
    for cell in sorted(table.itertuples(), key=lambda cell: (len(cell.non_default), -cell.n)):
        views = cell.requested["views"]
        shared = cell.view_seconds / views if cell.method == "clip" else cell.view_seconds
        times.setdefault(cell.method, RunTime(cell.method, shared, cell.seconds, cell.n, cell.title, views))
    return tuple(times.values())


def load_runs(*folders: str | Path) -> DataFrame:
    """One row per picture, method and cell of the folders that ``evaluate`` wrote to, or of folders of such folders.
    The columns are in docs/python.md, with units. ``attack`` is what the tables call it, such as ``adaptive:rita``; in
    mixed traffic a clean picture has ``none``. Where a method was measured under several settings, as in a sweep, a
    warning says so: a mean that does not group by them is of all. Another one says which pictures have no row, because
    the user's own code failed. Raises DataError: a folder is not a run folder, or a damaged one."""
    rows, measured = frames.read(*folders), frames.measurements(*folders)
    sentences = [f"{line.rstrip('.')}. {NO_COUNT}" for line in failure_lines(rows, measured)[:-1]]
    for _, same in pooled(measured).groupby(CELL[:-1], sort=False, dropna=False):
        if len(same) > 1:  # under several settings, everything in a column being equal: the first is named
            texts = list(dict.fromkeys(settings_text(values) or "recommended" for values in same["non_default"]))
            differ = "; ".join(texts) if len(texts) > 1 else "other pictures, class names, weights or code"
            sentences.insert(
                0,
                f"{same['method'].iloc[0]} on {same['dataset'].iloc[0]} was measured under {len(same)} settings "
                f"({differ[:300]}): group by settings and non_default, or a mean is of all of them together.",
            )
            break
    for sentence in sentences:
        warnings.warn(sentence, stacklevel=2)
    answered = rows[rows["fault"].isna()].drop(columns=["fault", "detail"])
    return answered.astype({"right": bool}).reset_index(drop=True)


def failure_lines(rows: DataFrame, measured: DataFrame) -> list[str]:
    """What the owner of the code reads about its faults, a line per dataset, attack and fault; nothing where there are none."""
    failed, lines = rows[rows["fault"].notna()], []
    for (dataset, attack, fault), same in failed.groupby(["dataset", "attack", "fault"], sort=False):
        about, first = measured.loc[same["measurement"]], same.iloc[0]
        titles = [title_of(*both) for both in zip(about["method"], about["method_title"])]
        pictures = f"{same['picture'].nunique()} of {about['pictures'].iloc[0]} pictures of {dataset}"
        under = "without an attack" if attack == "none" else f"under {attack}"
        methods = join_names(list(dict.fromkeys(titles)), MAX_NAMED)
        detail = f": {first['detail']}" if first["detail"] else ""
        lines.append(
            f"Failed: {methods}: no answer to {pictures} {under}, the first {first['picture']}: {fault}{detail}"
        )
    return [*lines, f"{len(failed)} answers failed. {NO_COUNT}"] if lines else []


def title_of(method: str, stored_title: str = "") -> str:
    """A method's title, the stored one where the method is not loaded."""
    return DEFENCES[method].full_title if method in DEFENCES else stored_title or method


def settings_by_part(cell: Any) -> tuple[dict[str, JsonValue], dict[str, JsonValue], dict[str, JsonValue]]:
    """``non_default`` of a cell in three parts: what acts without the attack too, which is the method's or of its pictures;
    what is a setting of attacks alone and is not in the attack's label or its number of steps; and settings of other groups
    that act in this attack and not in this method (``view_scale`` of an attack through crops on CLIP)."""
    attack = cell.attack.partition(":")[0].partition("@")[0]
    elsewhere = {"target", "attacked_share", ATTACKS[attack].steps_setting if attack in ATTACKS else "steps"}
    acting, known = set(cell.attack_settings), cell.method if cell.against == "each" else cell.against
    if known in DEFENCES:  # the attack declares the settings of every defence that it could be made against
        acting &= {*in_groups(*DEFENCES[known].groups, "views"), *DEFENCES[known].setting_names}
    own, of_attack, also = dict[str, JsonValue](), dict[str, JsonValue](), dict[str, JsonValue]()
    for name, value in cell.non_default.items():
        if name in elsewhere:
            continue
        # it says how the attack is made, and neither what is attacked nor how CLIP is asked
        of_attacks = name in SETTINGS and SETTINGS[name].group == "attack" and name not in ("square", "hand_prompt")
        makes_it = of_attacks or name.startswith(f"{attack}.")
        if (name in cell.method_settings and not makes_it) or name in IN_WORDS:
            own[name] = value
        elif makes_it:
            of_attack[name] = value
        elif name in acting:
            also[name] = value
    return own, of_attack, also


def scope(cell: Any) -> str:
    """Sentences on pictures, classes, descriptions (of classes that no built-in one is of, none are used, whatever the
    settings ask for) and pictures that were left out."""
    pictures, prompts = f"{cell.pictures} pictures", f"{cell.class_names} prompts"
    if cell.pictures < cell.available:
        pictures = f"{cell.pictures} of {cell.available} pictures"
    if cell.classes_present < cell.class_names:
        prompts += f" ({cell.classes_present} of these classes have pictures)"
    sentences = [f"Accuracy on {pictures}, among {prompts}."]
    if not any(descriptions_for(cell.prompts, BUILT_IN_ALL)):
        sentences.append("There are no class descriptions for these classes.")
    left = omission(cell.dataset, cell.split, cell.not_there, cell.listed, cell.left_out)
    return " ".join([*sentences, left]).rstrip()
