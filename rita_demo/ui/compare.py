"""Comparisons of *Inside RITA*: the paper's settings against the recommended ones, and one pinned state."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from rita_demo import retelling
from rita_demo.plots.costs import shown_classes
from rita_demo.plots.names import sides_of
from rita_demo.records import Story, Trace, Verdict
from rita_demo.settings import KNOBS, PAPER, PRESETS, RECOMMENDED, Settings
from rita_demo.ui import words
from rita_demo.ui.controls import shown_value
from rita_demo.ui.sessions import Pinned, Session
from rita_demo.ui.what_if import differing, seen

DIFFER = RECOMMENDED.differs_from(PAPER)
MOVABLE = tuple(n for n in DIFFER if KNOBS[n].group in retelling.FROM_FEATURES)


def as_preset(settings: Settings, preset: Settings) -> Settings:
    """``settings`` with everything that can follow at once as in the preset; the rest stays the run's."""
    return settings.but(**{n: getattr(preset, n) for n in MOVABLE})


def preset_table(engine: Any, story: Story) -> str:
    """HTML: every setting in which the presets differ, why, and what changing it alone does to this picture.

    Settings of views and prompts are measured too: the delivered picture is looked at again.
    """
    rows = "".join(_preset_row(engine, story, name) for name in DIFFER)
    together = ""
    for name, preset in PRESETS.items():
        changed = retelling.rescore(engine, story, as_preset(story.settings, preset))
        together += (
            f"<tr><th scope='row'>All that follow at once, as in “{name}”</th><td></td><td></td>"
            f"<td>{_answer(story, changed.attacked.trace)}</td></tr>"
        )
    return (
        "<table class='verdicts presets'><thead><tr><th scope='col'>setting</th><th scope='col'>recommended"
        "</th><th scope='col'>paper</th><th scope='col'>changed alone, on this picture</th></tr></thead>"
        f"<tbody>{rows}{together}</tbody></table><p class='quiet small'>The run: {_verdict(story)}. The "
        "answer is RITA’s on the picture that was delivered; margin and cost are in cosine distance, "
        "in brackets the change from the run.</p>"
    )


def _preset_row(engine: Any, story: Story, name: str) -> str:
    knob = KNOBS[name]
    recommended, paper = getattr(RECOMMENDED, name), getattr(PAPER, name)
    value = recommended if getattr(story.settings, name) == paper else paper
    title = escape(f"{knob.label} {knob.symbol}".strip())
    return (
        f"<tr><th scope='row'>{title}<small>{escape(knob.why)}</small></th>"
        f"<td>{escape(shown_value(knob, recommended))}</td><td>{escape(shown_value(knob, paper))}</td>"
        f"<td>{_alone(engine, story, name, value)}</td></tr>"
    )


def _alone(engine: Any, story: Story, name: str, value: Any) -> str:
    knob = KNOBS[name]
    if knob.group == "attack":
        return (
            "<span class='quiet'>needs a new attack: it makes another picture, so it cannot be "
            "measured on this one</span>"
        )
    settings = story.settings.but(**{name: value})
    if knob.group in retelling.FROM_FEATURES:
        trace = retelling.rescore(engine, story, settings).attacked.trace
    else:
        trace = retelling.look_again(engine, story, settings)
    return f"<small>{escape(shown_value(knob, value))}:</small> {_answer(story, trace)}"


def _answer(before: Story, after: Trace) -> str:
    old, new, names = before.attacked.trace, after.verdict, before.bank.names
    verb = "still " if old.verdict.label == new.label else "now "
    k = before.label
    cost, moved = float(after.total[k]), float(after.total[k] - old.total[k])
    return (
        f"{verb}<b>{escape(names[new.label])}</b><small>margin {new.margin:.4f} "
        f"({words.signed(new.margin - old.verdict.margin)})<br>{escape(names[k])} costs {cost:.4f} "
        f"({words.signed(moved)})</small>"
    )


def _verdict(story: Story) -> str:
    said = story.attacked.verdicts["rita"]
    return f"{escape(story.bank.names[said.label])}, margin {said.margin:.4f}"


def pin(session: Session) -> None:
    """Keep what is seen now, to compare with; it replaces what was pinned before."""
    story = seen(session)
    if story is None:
        return
    truth = escape(story.bank.names[story.label])
    attack = (
        f"attacked at {story.settings.budget}/255{words.at_step(story)}"
        if story.attack is not None
        else "not attacked"
    )
    session.pinned = Pinned("; ".join([f"{truth}, {attack}", *differing(session)]), story)


def pinned_sentence(session: Session) -> str:
    """HTML above the figure of costs: what the empty squares are, and what RITA said then."""
    kept = session.pinned
    if kept is None:
        return ""
    said = "; ".join(
        f"{side} {escape(kept.story.bank.names[verdict.label])}, margin {verdict.margin:.4f}"
        for side, verdict in _answers(kept.story)
    )
    return f"<p class='quiet small'>□ <b>pinned</b>: {kept.title}. RITA said {said} (cosine distance).</p>"


def pinned_table(session: Session) -> str:
    """HTML: the pinned state beside what is seen now."""
    now, kept = seen(session), session.pinned
    if now is None or kept is None:
        return (
            "<p class='empty'>Nothing is pinned. Pin what is shown, then change a setting or run "
            "another picture: both stand here side by side.</p>"
        )
    rows = [_both("RITA", _verdicts(kept.story), _verdicts(now))]
    k = session.selection.k
    names = [now.bank.names[c] for c in shown_classes(now, k, 6)]
    old, new = (dict(zip(s.bank.names, _totals(s), strict=True)) for s in (kept.story, now))
    for name in names:
        title = f"{escape(name)}<small>total cost{', true' if name == now.bank.names[now.label] else ''}</small>"
        rows.append(_both(title, _cost(old.get(name)), _cost(new[name], old.get(name))))
    return (
        "<table class='verdicts presets'><thead><tr><th></th><th scope='col'>pinned: "
        f"{kept.title}</th><th scope='col'>shown now</th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _both(title: str, one: str, two: str) -> str:
    return f"<tr><th scope='row'>{title}</th><td>{one}</td><td>{two}</td></tr>"


def _answers(story: Story) -> list[tuple[str, Verdict]]:
    return [(side, getattr(story, side).verdicts["rita"]) for side in sides_of(story)]


def _verdicts(story: Story) -> str:
    return "".join(
        f"{side} <b>{escape(story.bank.names[verdict.label])}</b><small>margin {verdict.margin:.4f}</small>"
        for side, verdict in _answers(story)
    )


def _totals(story: Story) -> list[tuple[float, float]]:
    sides = (np.asarray(s.trace.total, float) for s in (story.clean, story.attacked))
    return [(float(a), float(b)) for a, b in zip(*sides, strict=True)]


def _cost(pair: tuple[float, float] | None, before: tuple[float, float] | None = None) -> str:
    if pair is None:
        return "<span class='quiet'>not among its classes</span>"
    shown = [f"{v:.4f}" for v in pair]
    if before is not None:
        shown = [
            f"{v:.4f} <span class='quiet'>({words.signed(v - b)})</span>"
            for v, b in zip(pair, before, strict=True)
        ]
    return f"clean {shown[0]}, delivered {shown[1]}"
