"""The fold of *Memory* on who is right: every method's accuracy, and the memory kept against off."""

from markupsafe import Markup, escape

from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation import page as evaluation_page
from rita_demo.records.measurement import AccuracySummary
from rita_demo.settings.setting import number_text
from rita_demo.ui.memory.panels import ShownStream
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import place_link, table

SIGNIFICANT = 0.05
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
    pictures = place_link("The pictures that one method alone has right", "#fig-won", "Figures")
    return (
        f"<p class='note'>{what}</p>{accuracy_table(shown)}<p>{help_text(shown)}</p>{attacker if facts else ''}"
        f"<p class='note'>{pictures} are in Figures.</p>"
    )


def accuracy_table(shown: ShownStream) -> str:
    """HTML: accuracy of every method up to the selected picture, with Wilson's 95 % interval and n."""
    summaries = evaluation_page.accuracy_summaries(shown.trajectory, shown.t)
    parts = [part for part in SUBSET_TEXT if part == "all" or all(s.n for s in summaries if s.subset != "all")]
    rows, titles = [], shown.trajectory.titles
    for method, title in titles.items():
        mine = {summary.subset: summary for summary in summaries if summary.method == method}
        name = wording.term_html(title, wording.title_of(method)) if method in DEFENCES else title
        rows.append((name, *(_accuracy_cell(mine[part]) for part in parts)))
    columns = (Markup("<span class='sr'>method</span>"), *(SUBSET_TEXT[part] for part in parts))
    kinds = [method if method in DEFENCES else "" for method in titles]
    decided = {summary.method: summary.n for summary in summaries if summary.subset == "all"}
    fewer = [escape(titles[method]) for method, n in decided.items() if n < decided["rita"]]
    missing = f" {', '.join(fewer)} has no answer to some pictures: they are not counted." if fewer else ""
    return (
        f"{table(columns, rows, kinds=kinds)}<p class='note'>Right answers in percent; in brackets Wilson’s 95 % interval, "
        f"which is wide with few pictures.{missing}</p>"
    )


def _accuracy_cell(of: AccuracySummary) -> str:
    if not of.n:
        return "–"
    interval = f"{100 * of.low:.0f} to {100 * of.high:.0f} %"
    share = f"<b class='number'>{wording.percent(of.accuracy)}</b>"
    return Markup(f"{share} <small>({interval}), {of.right} of n = {of.n}</small>")


def help_text(shown: ShownStream) -> str:
    """HTML: does the memory help, on the same pictures with it and without."""
    paired = evaluation_page.compare_answers(shown.recording, shown.t)
    if paired is None:
        return "RITA without memory was not measured in this run: start it again, and it is."
    if not paired.different and no_class_holds_two(shown):
        return "<b>The memory changes no answer, and cannot yet</b>: no class holds two views."
    if not paired.different:
        same = "the one answer is" if paired.n == 1 else f"all {paired.n} answers are"
        return f"<b>The memory changes nothing</b>: {same} the same."
    counts = (
        f"Right only with it: {paired.gained}; right only without: {paired.lost}; of {paired.n} pictures (McNemar’s exact p "
        f"{number_text(float(f'{paired.p_value:.2g}'))})."
    )
    if paired.p_value >= SIGNIFICANT:
        return f"<b>That the memory helps is not shown by these pictures.</b> {counts}"
    return f"<b>The memory {'helps' if paired.gained > paired.lost else 'harms'}.</b> {counts}"


def no_class_holds_two(shown: ShownStream) -> bool:
    """Then a class costs in the memory exactly what one without views costs, which is its mean prompt."""
    held = evaluation_page.classes_after(shown.trajectory, shown.t).values()
    return all(view.count < 2 for view in held) and shown.recording.header.requested_clean.empty_class == "text_mean"
