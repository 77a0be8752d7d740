"""The verdicts and what belongs to them, as HTML. Class names are escaped here."""

from dataclasses import replace
from html import escape

from rita_demo.attacks import get_attack
from rita_demo.defences.registry import DEFENCES
from rita_demo.records import DefenceFault, Run, Verdict
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording


def banner(session: Session) -> str:
    """The result in one sentence."""
    run = session.run_at_step
    if run is None:
        return ""
    sentence, kind = wording.summary(run)
    if run.step is not None:
        sentence = f"{wording.step_suffix(run)[2:].capitalize()}. {sentence}"
    mark = {"good": "✓", "bad": "✗", "dim": "–"}[kind]
    return (
        f'<div class="banner {kind}"><strong><span aria-hidden="true">{mark}</span> {escape(sentence)}</strong></div>'
    )


def table(session: Session) -> str:
    """Every method's answer on the clean and on the attacked picture."""
    run = session.run_at_step
    if run is None:
        return '<p class="empty">Who is right will stand here once a picture is chosen.</p>'
    rows = "".join(_row(run, name) for name in run.answered)
    rows += "".join(_fault_row(run, name, fault) for name, fault in run.faults.items())
    heads = f"<th scope='col'>attacked{wording.step_suffix(run)}</th><th scope='col'>outcome</th>" if run.attack else ""
    share = wording.term_html("probability", "probability")
    ahead = wording.term_html("margin")
    first = "clean" if run.attack else "this picture"
    return (
        "<table class='verdicts'><thead><tr><th scope='col'><span class='sr'>method</span></th>"
        f"<th scope='col'>{first}</th>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        f"<p class='quiet small'>Beside each answer stands its {share} among all {len(run.class_prompts.names)} "
        f"classes, below it the {ahead} to the second best. {escape(wording.right_definition(run))}</p>"
    )


def explanation(session: Session) -> str:
    """The numbers behind the answer."""
    run = session.run_at_step
    return "" if run is None else f"<p class='small'>{escape(wording.explanation(run))}</p>"


def _row(run: Run, name: str) -> str:
    clean, attacked = (side.verdicts[name] for side in (run.clean, run.attacked))
    cells = _answer(clean, run)
    if run.attack:
        word, kind, mark = wording.outcome(clean, attacked, run.given_label, run.attack.target)
        cells += _answer(attacked, run)
        cells += f"<td class='outcome {kind}'><span aria-hidden='true'>{mark}</span> {word}</td>"
    return f"<tr class='{name}'>{_title_cell(run, name)}{cells}</tr>"


def _title_cell(run: Run, name: str) -> str:
    about = DEFENCES[name].input_description.replace("{n}", str(len(run.attacked.encoded_views.features)))
    if name == "ensemble":
        about += f", mean {run.settings.ensemble_average}"
    title = wording.term_html(DEFENCES[name].title)
    return f"<th scope='row'>{title}<small>{escape(about)}</small></th>"


def _fault_row(run: Run, name: str, fault: DefenceFault) -> str:
    """A user's own defence that has no answer: file, line and kind of error, without the error's own text."""
    columns = 3 if run.attack else 1
    return f"<tr class='{name}'>{_title_cell(run, name)}<td colspan='{columns}'>No answer. {escape(fault.sentence)}</td></tr>"


def _answer(verdict: Verdict, run: Run) -> str:
    wrong = " wrong" if run.given_label not in (None, verdict.label) else ""
    label = escape(run.class_prompts.names[verdict.label])
    share = wording.percent(verdict.probability[verdict.label], 1)
    return (
        f"<td class='answer{wrong}'><b>{label}</b> <span class='number'>{share}</span>"
        f"<small>{escape(wording.margin(verdict))}</small></td>"
    )


def threat(session: Session) -> str:
    """The threat model: the attack, its strength and what the attacker does not know; the rest in a fold."""
    if session.run is None:
        return ""
    model = session.run.threat_model
    strength = f", at most {model.budget}/255" if model.budget else ""
    unknown = f"; the attacker does not know {_list(model.does_not_know)}" if model.does_not_know else ""
    items = "".join(f"<li>{escape(s)}</li>" for s in model.sentences)
    return (
        f"<details class='differs'><summary>{escape(get_attack(model.attack).title)}{strength}{escape(unknown)}."
        f"</summary><ul class='plain'>{items}</ul></details>"
    )


def _list(words: tuple[str, ...]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def times(session: Session) -> str:
    """Device and stage times."""
    if session.run is None:
        return ""
    return f"<p class='quiet small'>{escape(wording.stage_times(session.run))}</p>"


def cache_contents(session: Session) -> str:
    """What the memory holds now."""
    if session.run is None or session.run.settings.protocol == "off":
        return ""
    run, now = session.run, session.history.current
    if now is not None and now.key == run.class_prompts.key:  # it may have changed since
        run = replace(run, cache_after=now.to_cache_state())
    return f"<p class='lead'>{escape(wording.cache_contents(run))}</p>"


def unknown_words(session: Session) -> str:
    """A sentence when some words were not in the model's training data."""
    run = session.run
    if run is None:
        return ""
    marked = [n for n, w in zip(run.class_prompts.names, run.class_prompts.unknown, strict=True) if w]
    if not marked:
        return ""
    shown = ", ".join(marked[:6]) + (" …" if len(marked) > 6 else "")
    return (
        f"<p class='quiet small'>{len(marked)} of {len(run.class_prompts.names)} names contain words that "
        f"this model never met in training ({escape(shown)}): it can only guess what they look like.</p>"
    )


def heading_html(sentence: str, number: int) -> str:
    """A numbered heading."""
    return f"<h2 class='section-title'><span class='step'>{number}</span>{escape(sentence)}</h2>"
