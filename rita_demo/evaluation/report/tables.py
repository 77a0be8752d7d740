"""What ``tables`` prints of cells: an overview and the details of every dataset, and the threat models, as plain text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation.pictures import split_note
from rita_demo.evaluation.report.cells import scope
from rita_demo.evaluation.report.paired import REFERENCES, Paired, all_datasets
from rita_demo.evaluation.report.render import markdown
from rita_demo.records.grouping import group_by
from rita_demo.records.masking_signs import JudgedCell, masking_sentence, masking_signs

if TYPE_CHECKING:
    from pandas import DataFrame

INTERVAL_NOTE = (
    "Intervals: Wilson, 95 %, of n different pictures. Accuracy is the mean over all seeds; a picture under another "
    "seed is not a new picture (the lowest and the highest accuracy of one seed stand beside the seeds). A star marks "
    "a cell that is not finished, and has its number of answers beside it."
)
AGAINST_NOTE = (
    "Against Ensemble: difference of accuracy in points on the same attacked pictures; in brackets the pictures that "
    "only this method / only Ensemble has right, and McNemar's exact two-sided p. A picture counts once: with several "
    "seeds for the method that is right under more of them, and for neither in a tie. Where the plain Ensemble (mean "
    "probability, equal weights for all crops) or one on the same views was not measured, the one used is named."
)
SECONDS_NOTE = (
    "Seconds per picture: median for cutting and encoding the views, which all methods on the same views share, "
    "+ median for the method itself; the attack is not included. CLIP needs one view only: its part is one in N of "
    "the views' time, and more when one view is encoded alone."
)
NOTES = INTERVAL_NOTE, AGAINST_NOTE, SECONDS_NOTE
NOT_MEASURED = "–"
#: What the cells of one overview share.
SHEET = ["dataset", "split", "backbone", "weights", "class_names"]


def as_markdown(table: DataFrame) -> str:
    """Of every dataset methods x attacks, and one line per cell with intervals and paired tests; then all datasets together,
    the threat model of every attack once, and how to read the numbers.

    ``table``: of :func:`rita_demo.evaluation.report.paired.against_references`."""
    every = list(table.itertuples())
    sheets = group_by(every, lambda cell: (*(getattr(cell, name) for name in SHEET), scope(cell)))
    parts = [part for sheet in sheets.values() for part in (*_overview(sheet), *_details(sheet, every))]
    parts += [part for reference in REFERENCES.items() for part in _together(table, *reference)]
    parts.append("### Threat models")
    for attack, said in threat_models(every).items():
        parts += [f"**{attack}**", "\n".join(f"- {sentence}" for sentence in said)]
    return "\n\n".join([*parts, "### How to read these numbers", *NOTES]) + "\n"


def threat_models(cells: Iterable[Any]) -> dict[str, tuple[str, ...]]:
    """Attack with its own settings -> the sentences of its threat model, each once; one that is of some of the cells
    begins with what these are."""
    models = {}
    for attack, same in group_by(cells, attack_column).items():
        sentences = dict.fromkeys(sentence for cell in same for sentence in cell.threat)
        models[attack] = tuple(f"{_owners(sentence, same)}{sentence}" for sentence in sentences)
    return models


def _owners(sentence: str, cells: Sequence[Any]) -> str:
    """What tells the cells apart whose threat model has the sentence, as "CLIP, RITA: "; "" where all have it."""
    owners = [cell for cell in cells if sentence in cell.threat]
    others = [cell for cell in cells if sentence not in cell.threat]
    for name in ("title", "dataset", "split", "backbone", "protocol", "special") if others else ():
        values = dict.fromkeys(str(getattr(cell, name)) for cell in owners)
        if not any(str(getattr(cell, name)) in values for cell in others):
            return f"{', '.join(values)}: "
    return ""


def attack_text(attack: str, budget: int) -> str:
    """``clean``, or the attack with its budget if it has one."""
    if attack == "none":
        return "clean"
    return f"{attack} {budget}/255" if budget else attack


def attack_column(cell: Any) -> str:
    """The attack of a cell with its budget, steps and own settings: what makes a column."""
    steps = f"{cell.steps} steps" if cell.steps > 1 else ""
    return ", ".join(filter(None, (attack_text(cell.attack, cell.budget), steps, cell.of_attack)))


def cache_text(cell: Any) -> str:
    """The cache protocol; empty for a method without a cache, and for one that is not loaded and was measured without."""
    defence = DEFENCES.get(cell.method)
    return cell.protocol if (defence.uses_cache if defence else cell.protocol != "off") else ""


def _share_text(cell: Any) -> str:
    """An unfinished cell has the number of its answers and a star; then settings of the attack alone."""
    answers = "" if cell.finished else f" ({cell.answers} of {cell.expected})*"
    return f"{cell.accuracy:.1f}{answers}" + f" ({cell.also})" * bool(cell.also)


def _overview(cells: Sequence[Any]) -> list[str]:
    """A row per method, memory and the settings that act without an attack too; a column per attack with its settings."""
    first, columns = cells[0], dict.fromkeys(map(attack_column, cells))
    lines = group_by(cells, lambda cell: (cell.title, cache_text(cell), cell.variant or "recommended"))
    several = {method for method, count in Counter(method for method, *_ in lines).items() if count > 1}
    rows, missing = [], []
    for (method, memory, settings), same in lines.items():
        by_attack = group_by(same, attack_column)
        with_memory = f"memory {memory}" if memory else ""
        named = ", ".join(filter(None, (method, with_memory, settings))) if method in several else method
        if lacking := [name for name in columns if name not in by_attack]:
            missing.append(f"{named} under {' and '.join(lacking)}")
        shares = [" / ".join(map(_share_text, by_attack.get(name, ()))) or NOT_MEASURED for name in columns]
        rows.append((method, memory, *shares, settings))
    gaps = (f"{NOT_MEASURED}: not measured: {'; '.join(missing)}.",) if missing else ()
    failed = [f"{c.title} under {attack_column(c)}, {c.failed} of {c.expected}" for c in cells if c.failed]
    faults = (f"Failed, and counted neither as right nor as wrong: {'; '.join(failed)}.",) if failed else ()
    model = f"Model weights {first.weights[:8]}. {first.note}".rstrip()
    title = f"### {first.dataset} ({first.split}), {first.backbone}, accuracy in percent"
    table = markdown(("method", "memory", *columns, "settings"), rows)
    return [title, f"{scope(first)}\n{model}", table, *gaps, *faults]


def _details(cells: Sequence[Any], every: Sequence[Any]) -> list[str]:
    """A row per cell, with interval, paired tests, seeds and times; below it the signs of masking."""
    first, rows = cells[0], []
    tests = [name for name in REFERENCES if name == "vs_plain" or any(getattr(cell, name) for cell in cells)]
    head = ["attack", "method", "memory", "accuracy %", "95 %", "n", *(REFERENCES[name] for name in tests)]
    head += ["seeds", "s per picture", "settings"]
    for cell in cells:
        share, interval = f"{cell.accuracy:.1f}{'' if cell.finished else '*'}", f"{cell.low:.1f} to {cell.high:.1f}"
        seeds = f" ({cell.lowest:.1f} to {cell.highest:.1f})" if len(cell.measurements) > 1 else ""
        views = cell.requested.get("views") if cell.method == "clip" else None  # it needs one of them
        seconds = f"≥ {cell.view_seconds / views:.3f}" if views else f"{cell.view_seconds:.3f}"
        target = f"; says the target: {cell.target_hits} of {cell.answers}" if cell.aim else ""
        row = [attack_column(cell), cell.title, cache_text(cell), share, interval, str(cell.n)]
        row += [*(_paired_text(getattr(cell, name)) for name in tests), cell.seeds + seeds]
        rows.append([*row, f"{seconds} + {cell.seconds:.3f}", (cell.special or "recommended") + target])
    untouched = dict.fromkeys(
        f"{attack_column(c)}: already wrong, so left untouched: {c.already_wrong} of {c.n} pictures."
        for c in cells
        if c.attack == "autoattack"
    )
    adaptive, static = ([_judged(c) for c in every if (c.attack == "adaptive") is knows] for knows in (True, False))
    signs = []
    for cell in cells:
        if cell.attack == "adaptive" and not _judged(cell).by_queries:
            memory = f"memory {cache}" if (cache := cache_text(cell)) else ""
            row = [cell.title, f"{cell.budget}/255", memory, cell.special or "recommended settings"]
            sentence = masking_sentence(masking_signs(_judged(cell), adaptive, static))
            signs.append(f"{', '.join(filter(None, row))}: {sentence}")
    title = f"### {first.dataset} ({first.split}), {first.backbone}, every cell"
    return [title, markdown(head, rows), *untouched, *signs]


def _judged(cell: Any) -> JudgedCell:
    gradient = None if cell.gradient != cell.gradient else cell.gradient  # NaN where there is none
    return JudgedCell(cell, gradient, "adaptive.search=square" in cell.special, cell.variant, cell.names)


def _together(table: DataFrame, reference: str, title: str) -> list[str]:
    """The paired tests over all datasets, and what their splits are; nothing where there are none."""
    rows, splits = [], set()
    for cell, datasets, paired in all_datasets(table, reference):
        row = (attack_text(cell.attack, cell.budget), cell.title, cache_text(cell), str(datasets), str(paired.n))
        rows.append((*row, _paired_text(paired), cell.special or "recommended"))
        splits.add(cell.split)
    places = table.loc[table["split"].isin(splits), ["dataset", "split"]].drop_duplicates().itertuples(index=False)
    notes = [f"{name} ({split}): {note}" for name, split in places if (note := split_note(name, split))]
    head = ("attack", "method", "memory", "datasets", "n", title, "settings")
    return [f"### All datasets together, {title}", *notes, markdown(head, rows)] if rows else []


def _paired_text(paired: Paired | None) -> str:
    if paired is None:
        return ""
    signed = f"{paired.difference:+.1f}".replace("-", "−")
    other = f" than Ensemble with {paired.reference}" if paired.reference else ""
    return f"{signed} ({paired.gained} / {paired.lost}, p {paired.p_value:.2g}){other}"
