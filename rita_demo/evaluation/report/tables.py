"""The tables that a reader of measurements gets, as cells of plain text; markdown and LaTeX write them down."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rita_demo.analysis import JudgedCell, masking_sentence, masking_signs
from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation.pictures import split_note
from rita_demo.evaluation.report.comparisons import PairedComparison
from rita_demo.evaluation.report.results import ResultRow
from rita_demo.records.grouping import group_by

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
PLUGIN_SENTENCE = " is a defence from "
REFERENCES = {
    "vs_plain": "against Ensemble",
    "vs_matching": "against Ensemble, views as RITA’s",
    "vs_off": "against no memory",
}


@dataclass(frozen=True)
class Table:
    """One table: ``above`` and ``below`` are sentences, ``head`` and ``rows`` cells of plain text; ``paper_tables``: names of the
    paper's tables that it stands beside."""

    title: str
    above: tuple[str, ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    below: tuple[str, ...] = ()
    paper_tables: tuple[str, ...] = ()


def measured_tables(rows: Sequence[ResultRow]) -> list[Table]:
    """Per dataset methods x attacks, then one table per dataset and threat model, then all datasets together."""
    sheets = group_by(rows, lambda r: (r.dataset, r.split, r.backbone, r.scope, r.weights))
    groups = group_by(rows, lambda r: (r.dataset, r.split, r.backbone, about_attack(r), r.scope, r.weights))
    adaptive, static = (
        [_judged(row) for row in rows if (row.attack == "adaptive") is knows] for knows in (True, False)
    )
    together = (_all_datasets_table(rows, *reference) for reference in REFERENCES.items())
    measured = [_measured_table(group, _masking_texts(group, adaptive, static)) for group in groups.values()]
    return [*map(_overview_table, sheets.values()), *measured, *(table for table in together if table.rows)]


def all_datasets(
    rows: Iterable[ResultRow], reference: str = "vs_plain"
) -> list[tuple[ResultRow, int, PairedComparison]]:
    """Finished cells that differ in the dataset alone, compared with Ensemble on all their pictures together.

    Args:
        reference: ``vs_plain``, ``vs_matching`` or ``vs_off``, see :class:`ResultRow`.

    Returns:
        Per group of at least two datasets: its first cell, the number of datasets, and the summed comparison. A
        dataset measured twice (with all class names and with those present) counts once.
    """
    pairs = [(row, pair) for row in rows if row.finished and (pair := getattr(row, reference)) is not None]
    alike = group_by(
        pairs,
        lambda p: (
            *(p[0].split, p[0].backbone, p[0].attack, p[0].budget, p[0].steps),
            *(p[0].method, p[0].protocol, p[0].non_default, p[1].reference),
        ),
    )
    sums = []
    for group in alike.values():
        datasets = group_by(group, lambda p: p[0].dataset.partition(":")[0])
        if len(datasets) > 1:
            sums.append((group[0][0], len(datasets), _summed([same[0][1] for same in datasets.values()])))
    return sums


def attack_text(attack: str, budget: int) -> str:
    """``clean``, or the attack with its budget if it has one."""
    if attack == "none":
        return "clean"
    return f"{attack} {budget}/255" if budget else attack


def method_text(row: ResultRow) -> str:
    """A method's title, the stored one where this version does not have the method."""
    return DEFENCES[row.method].full_title if row.method in DEFENCES else row.title or row.method


def cache_text(row: ResultRow) -> str:
    """The cache protocol; empty for a method without a cache."""
    return row.protocol if row.method not in DEFENCES or DEFENCES[row.method].uses_cache else ""


def accuracy_text(row: ResultRow) -> str:
    """The accuracy, with a star while the cell is not finished."""
    return f"{row.accuracy:.1f}{'' if row.finished else '*'}"


def _answered_text(row: ResultRow) -> str:
    """The accuracy and, while the cell is not finished, of how many answers it is, with a star; then the settings that act
    in the attack alone here, and elsewhere in the method."""
    also = f" ({row.also})" if row.also else ""
    return f"{row.accuracy:.1f}" + f" ({row.answers} of {row.expected_answers})*" * (not row.finished) + also


def seconds_text(row: ResultRow) -> str:
    """Views + method, in seconds."""
    if row.method == "clip" and row.views:
        return f"≥ {row.view_seconds / row.views:.3f} + {row.seconds:.3f}"
    return f"{row.view_seconds:.3f} + {row.seconds:.3f}"


def untouched_text(row: ResultRow) -> tuple[str, ...]:
    """AutoAttack leaves pictures alone that CLIP already gets wrong; the number of them as a sentence."""
    if row.attack != "autoattack":
        return ()
    return (f"Already wrong, so left untouched: {row.already_wrong} of {row.n} pictures.",)


def _judged(row: ResultRow) -> JudgedCell:
    by_queries = "adaptive.search=square" in row.non_default
    return JudgedCell(row, row.gradient, by_queries, row.variant, row.pictures)


def _masking_texts(
    group: Sequence[ResultRow], adaptive: Sequence[JudgedCell], static: Sequence[JudgedCell]
) -> tuple[str, ...]:
    """For every row that was attacked by one who knows its method: the signs that it hides its gradient."""
    return tuple(
        f"{_row_text(row)}: {masking_sentence(masking_signs(_judged(row), adaptive, static))}"
        for row in group
        if row.attack == "adaptive" and not _judged(row).by_queries
    )


def _row_text(row: ResultRow) -> str:
    """A row of a table in a sentence: its method, strength, memory and settings."""
    memory = f"memory {cache}" if (cache := cache_text(row)) else ""
    parts = (method_text(row), f"{row.budget}/255", memory, row.non_default or "recommended settings")
    return ", ".join(filter(None, parts))


def about_attack(row: ResultRow) -> tuple[str, ...]:
    """The threat model without the sentence about a plugin's defence: the plugin stands beside the other methods."""
    return tuple(sentence for sentence in row.threat_model if PLUGIN_SENTENCE not in sentence)


def _overview_table(group: Sequence[ResultRow]) -> Table:
    """The paper's shape: a row per method, memory and the settings that act without an attack too, a column per attack
    and its own settings, accuracies in percent."""

    def column(row: ResultRow) -> str:
        steps = f"{row.steps} steps" if row.steps > 1 else ""
        return ", ".join(filter(None, (attack_text(row.attack, row.budget), steps, row.attack_settings)))

    first, columns = group[0], dict.fromkeys(map(column, group))
    lines = group_by(group, lambda r: (method_text(r), cache_text(r), r.variant or "recommended"))
    several = {method for method, count in Counter(method for method, *_ in lines).items() if count > 1}
    cells, missing = [], []
    for (method, memory, settings), rows in lines.items():
        found = group_by(rows, column)
        memory_text = f"memory {memory}" if memory else ""
        named = ", ".join(filter(None, (method, memory_text, settings))) if method in several else method
        missing += [f"{named} under {name}" for name in columns if name not in found]
        values = (" / ".join(map(_answered_text, found.get(name, ()))) or NOT_MEASURED for name in columns)
        cells.append((method, memory, *values, settings))
    gaps = (f"{NOT_MEASURED}: not measured: {'; '.join(missing)}.",) if missing else ()
    title = f"{first.dataset} ({first.split}), {first.backbone}, accuracy in percent"
    below = (*gaps, *_failed_text(group, column))
    return Table(title, (first.scope,), ("method", "memory", *columns, "settings"), tuple(cells), below)


def _failed_text(group: Sequence[ResultRow], column: Callable[[ResultRow], str]) -> tuple[str, ...]:
    """The answers that are missing because the user's own code failed, as a sentence; nothing where there are none."""
    counts = [
        f"{method_text(row)} under {column(row)}, {row.failed} of {row.expected_answers}" for row in group if row.failed
    ]
    return (f"Failed, and counted neither as right nor as wrong: {'; '.join(counts)}.",) if counts else ()


def _measured_table(group: Sequence[ResultRow], below: tuple[str, ...] = ()) -> Table:
    first = group[0]
    shown = [name for name in REFERENCES if name == "vs_plain" or any(getattr(row, name) for row in group)]
    steps = f", {first.steps} steps" if first.steps > 1 else ""
    model = f"Model weights {first.weights[:8]}. {first.note}".rstrip()
    references = [REFERENCES[name] for name in shown]
    return Table(
        f"{first.dataset} ({first.split}), {first.backbone}, {attack_text(first.attack, first.budget)}{steps}",
        (*dict.fromkeys(s for row in group for s in row.threat_model), first.scope, model, *untouched_text(first)),
        ("method", "memory", "accuracy %", "95 %", "n", *references, "seeds", "s per picture", "settings"),
        tuple(_cells(row, shown) for row in group),
        below,
    )


def _cells(row: ResultRow, references: Sequence[str]) -> tuple[str, ...]:
    by_seed = f" ({row.accuracy_range[0]:.1f} to {row.accuracy_range[1]:.1f})" if row.accuracy_range else ""
    target = "" if row.target_hits is None else f"; says the target: {row.target_hits} of {row.answers}"
    return (
        method_text(row),
        cache_text(row),
        accuracy_text(row),
        f"{row.low:.1f} to {row.high:.1f}",
        str(row.n),
        *(_comparison_text(getattr(row, name)) for name in references),
        row.seeds + by_seed,
        seconds_text(row),
        (row.non_default or "recommended") + target,
    )


def _all_datasets_table(rows: Sequence[ResultRow], reference: str, title: str) -> Table:
    found = all_datasets(rows, reference)
    cells = tuple(
        (
            attack_text(row.attack, row.budget),
            method_text(row),
            cache_text(row),
            str(datasets),
            str(paired.n),
            _comparison_text(paired),
            row.non_default or "recommended",
        )
        for row, datasets, paired in found
    )
    splits = {row.split for row, *_ in found}
    notes = dict.fromkeys(
        f"{row.dataset} ({row.split}): {note}"
        for row in rows
        if row.split in splits and (note := split_note(row.dataset, row.split))
    )
    head = ("attack", "method", "memory", "datasets", "n", title, "settings")
    return Table(f"All datasets together, {title}", tuple(notes), head, cells)


def _comparison_text(paired: PairedComparison | None) -> str:
    if paired is None:
        return ""
    signed = f"{paired.difference:+.1f}".replace("-", "−")
    other = f" than Ensemble with {paired.reference}" if paired.reference else ""
    return f"{signed} ({paired.gained} / {paired.lost}, p {paired.p_value:.2g}){other}"


def _summed(pairs: Sequence[PairedComparison]) -> PairedComparison:
    n, gained, lost = (sum(getattr(pair, name) for pair in pairs) for name in ("n", "gained", "lost"))
    weighted = None if all(p.seed_weighted_gain is None for p in pairs) else sum(p.net_gain for p in pairs)
    return PairedComparison(n, gained, lost, weighted, pairs[0].reference)
