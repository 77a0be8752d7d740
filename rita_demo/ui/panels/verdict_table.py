"""The verdicts and what belongs to them, as HTML. Class names are escaped here."""

from html import escape

import numpy as np

from rita_demo.attacks import get_attack
from rita_demo.defences.registry import DEFENCES
from rita_demo.process import graphics_card
from rita_demo.records import Run, Verdict
from rita_demo.ui.session.cache_history import RESTARTED
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import html_table, place_link, table_row


def banner(run: Run) -> str:
    """The result in one sentence."""
    sentence, kind = wording.verdict_sentence(run)
    if run.step:
        sentence = f"{wording.step_suffix(run)[2:].capitalize()}. {sentence}"
    mark = {"good": "✓", "bad": "✗", "dim": "•"}[kind]
    result, reason, why = sentence.partition(wording.LEFT_OUT)
    if reason:  # the second half of a long sentence
        sentence = result + "."
    text = escape(sentence).replace(wording.ASK, place_link(wording.ASK, "#truth input"))
    said = f"<span aria-hidden='true'>{mark}</span> {text}"
    small = f"<small>{escape(reason[2:] + why)}</small>" if reason else ""
    return f"<div class='banner {kind}'><strong>{said}</strong>{small}{names_notes(run)}</div>"


def says(run: Run) -> str:
    """What is on screen, and how many of the methods are right; of how many the answer changed where that is not known."""
    what, count = f"One picture among {len(run.class_prompts.names)} class names", len(run.answered)
    if run.attack is not None:
        row = get_attack(run.settings.attack)
        strength = f" {run.settings.budget}/255" if row.bounded else ""
        what += f"; attack: {row.column_title}{strength}{wording.step_suffix(run)}"
    before, now = ([side.verdicts[name].label for name in run.answered] for side in (run.clean, run.attacked))
    right = [answers.count(run.label) for answers in (before, now)]
    if not run.label_given and run.attack is None:
        found = f"{count} methods give {len(set(now))} answer{'s' * (len(set(now)) > 1)}"
    elif not run.label_given:
        found = f"{sum(a != b for a, b in zip(before, now))} of {count} methods change their answer"
    elif run.attack is None:
        found = f"{right[1]} of {count} methods have it right"
    else:
        found = f"{right[1]} of {count} methods have the attacked picture right, {right[0]} the clean one"
    return f"<p class='says'>{escape(what)}. {found}.</p>"


def table(run: Run) -> str:
    """Every method's answer on the clean and on the attacked picture; a user's own defence that has none with file,
    line and kind of its error, without the error's own text."""
    columns = ["<span class='sr'>method</span>", "clean" if run.attack else "this picture"]
    columns += [f"attacked{wording.step_suffix(run)}", "outcome"] if run.attack else []
    rows = [_row(run, name) for name in run.answered]
    for name, fault in run.faults.items():
        cell = f"<td colspan='{len(columns) - 1}'>No answer. {escape(fault.sentence)}</td>"
        rows.append(table_row(_title(run, name), cell, css=name))
    every = f"among all {len(run.class_prompts.names)} classes"
    beside, below = f"Beside each answer: its {wording.term_html('probability')} {every}", "below it"
    if run.class_prompts.unknown_names:
        why = "the list has words that the model was not trained with"
        beside, below = f"Answers {every}, without percentages: {why}", "below RITA’s answer"
    return html_table(columns, rows) + (
        f"<p class='quiet small'>{beside}<span class='wide-only'>; {below}: its {wording.term_html('margin')} to the "
        f"second best</span>. {escape(wording.explain_right(run))}</p>"
    )


def explanation(run: Run) -> str:
    """The numbers behind the answer."""
    return f"<p class='small'>{escape(wording.explanation(run))}</p>"


def _row(run: Run, name: str) -> str:
    clean, attacked = (side.verdicts[name] for side in (run.clean, run.attacked))
    cells = [_answer(clean, run)]
    if run.attack:
        word, kind, mark = wording.outcome(clean, attacked, run.given_label, run.attack.target)
        outcome = f"<td class='outcome {kind}'><span aria-hidden='true'>{mark}</span> {word}</td>"
        cells += [_answer(attacked, run), outcome]
    return table_row(_title(run, name), *cells, css=name)


def _title(run: Run, name: str) -> str:
    about = DEFENCES[name].input_description.replace("{n}", str(len(run.attacked.encoded_views.features)))
    if name == "ensemble":
        about += f", mean {run.settings.ensemble_average}"
    return f"{wording.term_html(DEFENCES[name].title)}<small>{escape(about)}</small>"


def _answer(verdict: Verdict, run: Run) -> str:
    wrong = " wrong" if run.given_label not in (None, verdict.label) else ""
    label, share = escape(run.class_prompts.names[verdict.label]), wording.share(run.class_prompts, verdict, 1)
    margin = wording.margin(verdict, shares=not run.class_prompts.unknown_names)
    return (
        f"<td class='answer{wrong}'><b>{label}</b> <span class='number'>{share}</span>"
        f"<small>{escape(margin)}</small></td>"
    )


def threat(run: Run) -> str:
    """The threat model: the attack, its strength and what the attacker does not know; the rest in a fold."""
    model = run.threat_model
    strength = f", at most {model.budget}/255" if model.budget and run.attack else ""
    *first, last = model.does_not_know or ("",)
    unknown = " or ".join(filter(None, (", ".join(first), last)))
    about = escape(f"; the attacker does not know {unknown}") if unknown else ""
    items = "".join(f"<li>{escape(s)}</li>" for s in model.sentences)
    return (
        f"<details class='differs'><summary>{escape(get_attack(model.attack).title)}{strength}{about}."
        f"</summary><ul class='plain'>{items}</ul></details>"
    )


def times(run: Run) -> str:
    """Device and stage times on one line."""
    info, shown = run.backbone, wording.format_seconds
    parts = ", ".join(f"{name} {shown(value)}" for name, value in run.seconds.items())
    model = f"{info.title}, {info.parameters / 1e6:.0f} M parameters, input {info.side} px, on {info.device} in {info.precision}"
    spent = f"Time: {parts}; total {shown(sum(run.seconds.values()))}."
    text = " ".join(filter(None, (f"{model}.", graphics_card.warning(info.device), spent)))
    return f"<p class='quiet small'>{escape(text)}</p>"


def cache_effect(run: Run) -> str:
    """Whether the memory changed RITA's answer, and by how much it leads without and with the memory."""
    if run.settings.protocol == "off":
        return ""
    trace, names, k = run.attacked.trace, run.class_prompts.names, run.attacked.verdicts["rita"].label
    without, total = (np.array(costs, float) for costs in (trace.prompt_transport.distance, trace.total))
    rival = int(np.argmin(np.where(np.arange(len(total)) == k, np.inf, total)))
    before, now = (costs[rival] - costs[k] for costs in (without, total))
    return (
        f"<p class='lead'>{escape(wording.cache_effect(run))} <span class='wide-only'>By the prompts alone "
        f"{escape(names[k])} {'leads' if before > 0 else 'trails'} {escape(names[rival])} by {abs(before):.3f}; with the memory "
        f"(α = {run.settings.cache_weight:g}) it leads by {now:.3f}.</span></p>"
    )


def cache_contents(session: Session) -> str:
    """What the memory holds now."""
    if session.run is None or session.run.settings.protocol == "off":
        return ""
    run, now, names = session.run, session.history.current, session.run.class_prompts.names
    changed = now is not None and now.key == run.class_prompts.key  # since the run
    counts = now.to_cache_state().count if now is not None and changed else run.cache_after.count
    held = sorted(((int(counts[k]), names[k]) for k in np.flatnonzero(counts)), reverse=True)
    if not held:
        return "<p class='lead'>The memory is empty.</p>"
    listed = ", ".join(f"{name} ({count})" for count, name in held[:8])
    classes = "1 class" if len(held) == 1 else f"{len(held)} classes"
    views = wording.view_count(int(np.sum(counts)))
    entries = session.history.entries
    restarted = f"{RESTARTED} " if len(entries) == 2 and entries[0].title == RESTARTED else ""
    return f"<p class='lead'>{restarted}For the next picture the memory now holds {views} of {classes}: {escape(listed)}.</p>"


def names_notes(run: Run) -> str:
    """HTML: what the model does not know of the class names: words that it was not trained with, and names that are the same
    to it."""
    said = (wording.unknown_words(run.class_prompts.unknown), run.class_prompts.warning)
    return "".join(f"<small>{escape(sentence)}</small>" for sentence in said if sentence)


def heading_html(sentence: str, number: int) -> str:
    """A numbered heading."""
    return f"<h2 class='section-title'><span class='step'>{number}</span>{escape(sentence)}</h2>"
