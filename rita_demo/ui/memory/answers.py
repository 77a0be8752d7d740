"""The fold of *Memory* on who is right: every method's accuracy, the memory kept against off, and the pictures."""

from collections.abc import Iterable

import numpy as np
from markupsafe import Markup, escape

from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation import page as evaluation_page
from rita_demo.process.templates import html
from rita_demo.records.measurement import AccuracySummary, method_and_memory
from rita_demo.records.spreadsheet import csv_bytes
from rita_demo.settings.setting import number_text
from rita_demo.ui.memory.panels import ShownStream
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import table
from rita_demo.ui.widgets.data_uri import blank_html

MAX_PICTURES = 24  # of the gallery
SIGNIFICANT = 0.05
RUNNING = "<p class='empty'>Listed when the stream stops or ends.</p>"
OUTCOMES = [("only RITA is right", "rita"), ("only the average is right", "ensemble"), ("all are wrong", "none")]
OUTCOME_TEXT = {"rita": "RITA alone is right", "ensemble": "The average alone is right", "none": "No method is right"}
SUBSET_TEXT = {"all": "all pictures", "clean": "clean ones", "attacked": "attacked ones"}
SEPARATE_ATTACKER_TEXT = (
    "This attacker uses RITA’s memory. For CLIP and the other methods without that memory the same attack was made "
    "with an empty one: their attacked pictures differ from RITA’s."
)


def who_is_right(shown: ShownStream) -> str:
    """HTML: accuracy of every method up to the selected picture, whether the memory helps, and what the attacker knows."""
    facts = [*shown.recording.header.facts["threat"]]
    facts += [SEPARATE_ATTACKER_TEXT] * shown.recording.attack_uses_cache
    items = "".join(f"<li>{escape(fact)}</li>" for fact in facts)
    attacker = f"<details class='differs'><summary>What the attacker may do and knows</summary><ul class='plain'>{items}</ul></details>"
    what = escape(f"{shown.recording.title}. {shown.recording.header.omission}")
    return f"<p class='note'>{what}</p>{accuracy_table(shown)}<p>{help_text(shown)}</p>{attacker if facts else ''}"


def accuracy_table(shown: ShownStream) -> str:
    """HTML: accuracy of every method up to the selected picture, with Wilson's 95 % interval and n."""
    found = evaluation_page.accuracy_summaries(shown.trajectory, shown.t)
    parts = [p for p in SUBSET_TEXT if p == "all" or all(s.n for s in found if s.subset != "all")]
    rows, titles = [], shown.trajectory.titles
    for method, title in titles.items():
        mine = {s.subset: s for s in found if s.method == method}
        name = wording.term_html(title, wording.title_of(method)) if method in DEFENCES else title
        rows.append((name, *(_accuracy_cell(mine[p]) for p in parts)))
    columns = (Markup("<span class='sr'>method</span>"), *(SUBSET_TEXT[p] for p in parts))
    kinds = [method if method in DEFENCES else "" for method in titles]
    decided = {s.method: s.n for s in found if s.subset == "all"}
    fewer = [escape(titles[method]) for method, n in decided.items() if n < decided["rita"]]
    missing = f" {', '.join(fewer)} has no answer to some pictures: they are not counted." if fewer else ""
    return (
        f"{table(columns, rows, kinds=kinds)}<p class='note'>Right answers in percent; in brackets Wilson’s 95 % interval, "
        f"which is wide with few pictures.{missing}</p>"
    )


def _accuracy_cell(one: AccuracySummary) -> str:
    if not one.n:
        return "–"
    return Markup(
        f"<b class='number'>{wording.percent(one.accuracy)}</b> "
        f"<small>({100 * one.low:.0f} to {100 * one.high:.0f} %), {one.right} of n = {one.n}</small>"
    )


def help_text(shown: ShownStream) -> str:
    """HTML: does the memory help, on the same pictures with it and without."""
    found = evaluation_page.compare_answers(shown.recording, shown.t)
    if found is None:
        return "RITA without memory was not measured in this run: start it again, and it is."
    if not found.different and no_class_holds_two(shown):
        return "<b>The memory changes no answer, and cannot yet</b>: no class holds two views."
    if not found.different:
        same = "the one answer is" if found.n == 1 else f"all {found.n} answers are"
        return f"<b>The memory changes nothing</b>: {same} the same."
    counts = (
        f"Right only with it: {found.gained}; right only without: {found.lost}; of {found.n} pictures (McNemar’s exact p "
        f"{number_text(float(f'{found.p_value:.2g}'))})."
    )
    if found.p_value >= SIGNIFICANT:
        return f"<b>That the memory helps is not shown by these pictures.</b> {counts}"
    return f"<b>The memory {'helps' if found.gained > found.lost else 'harms'}.</b> {counts}"


def no_class_holds_two(shown: ShownStream) -> bool:
    """Then a class costs in the memory exactly what one without views costs, which is its mean prompt."""
    held = evaluation_page.classes_after(shown.trajectory, shown.t).values()
    return all(view.count < 2 for view in held) and shown.recording.header.requested_clean.empty_class == "text_mean"


# --- the gallery
def outcome_gallery(shown: ShownStream) -> str:
    """HTML: the pictures up to the selected one that only RITA has right, only the average, or no method at all, as buttons.
    RITA's own ablations do not count."""
    if shown.state.running and shown.state.following:
        return RUNNING
    title, chosen = _outcome(shown)
    titles, found = _titles(shown), outcome_pictures(shown)
    count = f"<p>{OUTCOME_TEXT[chosen]} on {len(found)} of {shown.t} pictures.</p>"
    more = f"<p class='note'>And {len(found) - MAX_PICTURES} more.</p>" if len(found) > MAX_PICTURES else ""
    listed = ((n, answers_at(shown, n, titles)) for n in found[:MAX_PICTURES])
    return count + picture_buttons(shown, listed, title) + more


def outcome_pictures(shown: ShownStream) -> list[int]:
    """The pictures of that gallery, from 0."""
    chosen = _outcome(shown)[1]
    right = {name: shown.trajectory.curves[name].right[: shown.t] for name in _titles(shown)}
    others = [~passed for name, passed in right.items() if name != chosen]
    return np.flatnonzero(np.logical_and.reduce(others) & right.get(chosen, True)).tolist()


def outcome_csv(shown: ShownStream) -> bytes:
    """The same as a table, with every method's answer; pictures are numbered from 1."""
    trajectory, methods = shown.trajectory, _titles(shown)
    names = (*trajectory.names, "")  # the last one for no answer yet, -1
    rows = (
        [n + 1, trajectory.pictures[n], names[trajectory.label[n]], bool(trajectory.attacked[n])]
        + [names[trajectory.answers[method][n]] for method in methods]
        for n in outcome_pictures(shown)
    )
    return csv_bytes([("picture", "file", "true_class", "attacked", *methods), *rows])


def _outcome(shown: ShownStream) -> tuple[str, str]:
    return next((one for one in OUTCOMES if one[1] == shown.state.outcome), OUTCOMES[0])


def _titles(shown: ShownStream) -> dict[str, str]:
    """The methods that are compared, each with its memory kept if it has one."""
    titles = shown.trajectory.titles
    left_out = {name for name, one in DEFENCES.items() if one.ablation}
    return {n: title for n, title in titles.items() if n not in left_out and method_and_memory(n) == (n, "")}


def answers_at(shown: ShownStream, n: int, titles: dict[str, str]) -> list[tuple[str, int]]:
    """Title and answer of the methods that have one to picture ``n``, from 0."""
    answers = shown.trajectory.answers
    return [(titles[name], int(answers[name][n])) for name in titles if name in answers and answers[name][n] >= 0]


def picture_buttons(shown: ShownStream, pictures: Iterable[tuple[int, list[tuple[str, int]]]], about: str) -> str:
    """HTML: buttons with a picture's number, its true class and every (title, answer); pictures are numbered from 0."""
    of, found = shown.trajectory, []
    for n, answers in pictures:
        image = shown.image(of.pictures[n], 64) or blank_html(of.pictures[n])
        found.append((n, int(of.label[n]), of.attacked[n], image, answers))
    return html("arrivals", about=about, pictures=found, shown=shown.t, names=of.names) if found else ""
