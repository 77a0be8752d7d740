"""WHO IS RIGHT? and what stands around it, as HTML. Class names are escaped here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from html import escape

from rita_demo.methods import METHODS
from rita_demo.records import Story, Verdict
from rita_demo.ui import words
from rita_demo.ui.sessions import Session


def banner(session: Session) -> str:
    """The result in one sentence."""
    story = session.now
    if story is None:
        return ""
    sentence, kind = words.summary(story)
    if story.step is not None:
        sentence = f"{words.at_step(story)[2:].capitalize()}. {sentence}"
    mark = {"good": "✓", "bad": "✗", "dim": "–"}[kind]
    return (
        f'<div class="banner {kind}"><strong><span aria-hidden="true">{mark}</span> '
        f"{escape(sentence)}</strong></div>"
    )


def table(session: Session) -> str:
    """Who is right: every method on the clean and on the attacked picture."""
    story = session.now
    if story is None:
        return '<p class="empty">Who is right will stand here once a picture is chosen.</p>'
    rows = "".join(_row(story, name) for name in story.clean.verdicts)
    heads = (
        f"<th scope='col'>attacked{words.at_step(story)}</th><th scope='col'>outcome</th>"
        if story.attack
        else ""
    )
    share = words.term("probability", "probability")
    ahead = words.term("margin")
    first = "clean" if story.attack else "this picture"
    return (
        "<table class='verdicts'><thead><tr><th scope='col'><span class='sr'>method</span></th>"
        f"<th scope='col'>{first}</th>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        f"<div class='why'><p>{escape(words.why(story))}</p><p class='quiet small'>Beside each answer "
        f"stands its {share} among all {len(story.bank.names)} classes, below it the {ahead} to the "
        f"second best. {escape(words.right_means(story))}</p></div>"
    )


def _row(story: Story, name: str) -> str:
    clean, attacked = (side.verdicts[name] for side in (story.clean, story.attacked))
    about = METHODS[name].about.format(n=len(story.attacked.glance.features))
    title = words.term(METHODS[name].title)
    cells = _answer(clean, story)
    if story.attack:
        word, kind, mark = words.outcome(clean, attacked, story.label, story.attack.target)
        cells += _answer(attacked, story)
        cells += f"<td class='outcome {kind}'><span aria-hidden='true'>{mark}</span> {word}</td>"
    return f"<tr class='{name}'><th scope='row'>{title}<small>{about}</small></th>{cells}</tr>"


def _answer(verdict: Verdict, story: Story) -> str:
    known = story.label_given or story.attack is not None  # else nobody can say what is wrong
    wrong = " wrong" if known and verdict.label != story.label else ""
    label = escape(story.bank.names[verdict.label])
    share = words.percent(verdict.probability[verdict.label], 1)
    return (
        f"<td class='answer{wrong}'><b>{label}</b> <span class='number'>{share}</span>"
        f"<small>{escape(words.margin(verdict))}</small></td>"
    )


def threat(session: Session) -> str:
    """The threat model in plain words."""
    if session.story is None:
        return ""
    items = "".join(f"<li>{escape(s)}</li>" for s in session.story.threat.sentences)
    return f"<h3>What the attacker may do and knows</h3><ul class='plain'>{items}</ul>"


def times(session: Session) -> str:
    """Device and stage times."""
    if session.story is None:
        return ""
    return f"<p class='quiet small'>{escape(words.stages(session.story))}</p>"


def memory(session: Session) -> str:
    """What the memory holds now."""
    if session.story is None or session.story.settings.protocol == "off":
        return ""
    story, now = session.story, session.history.now
    if now is not None and now.key == story.bank.key:  # it may have been emptied since, or filled
        story = replace(story, cache_after=now.state())
    return f"<p class='lead'>{escape(words.memory_holds(story))}</p>"


def unknown_words(session: Session) -> str:
    """A sentence when the model never met some of the words."""
    story = session.story
    if story is None:
        return ""
    marked = [n for n, w in zip(story.bank.names, story.bank.unknown, strict=True) if w]
    if not marked:
        return ""
    shown = ", ".join(marked[:6]) + (" …" if len(marked) > 6 else "")
    return (
        f"<p class='quiet small'>{len(marked)} of {len(story.bank.names)} names contain words that "
        f"this model never met in training ({escape(shown)}): it can only guess what they look like.</p>"
    )


def heading(sentence: str, number: int) -> str:
    """A numbered headline of the story."""
    return f"<h2 class='story'><span class='step'>{number}</span>{escape(sentence)}</h2>"


def headline(number: int, said: Callable[[Story], str], empty: str) -> Callable[[Session], str]:
    """A panel's draw function for one headline: what the story says, or ``empty`` before there is one."""

    def draw(session: Session) -> str:
        return heading(empty if session.now is None else said(session.now), number)

    return draw
