"""The verdicts and what belongs to them, as HTML."""

import numpy as np
from markupsafe import Markup

from rita_demo.attacks import get_attack
from rita_demo.data.memory import RESTARTED
from rita_demo.defences.registry import DEFENCES
from rita_demo.pipeline.outcome import outcome
from rita_demo.process import graphics_card
from rita_demo.process.templates import html
from rita_demo.records import Run
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording


def table(run: Run) -> Markup:
    """Every method's answer on the clean and on the attacked picture; a user's own defence that has none with file,
    line and kind of its error, without the error's own text."""
    return html("verdicts", run=run, outcomes=outcome(run), defences=DEFENCES, wording=wording)


def explanation(run: Run) -> Markup:
    """The numbers behind the answer."""
    return Markup("<p class='small'>{}</p>").format(wording.explanation(run))


def threat(run: Run, *, is_open: bool = False) -> Markup:
    """The threat model: the attack, its strength and what the attacker does not know; the rest in a fold."""
    model = run.threat_model
    *first, last = model.does_not_know or ("",)
    unknown = " or ".join(filter(None, (", ".join(first), last)))
    title = get_attack(model.attack).title
    return html("threat", model=model, title=title, unknown=unknown, attacked=run.attack is not None, is_open=is_open)


def times(run: Run) -> Markup:
    """Device and stage times on one line."""
    info, shown = run.backbone, wording.format_seconds
    parts = ", ".join(f"{name} {shown(value)}" for name, value in run.seconds.items())
    model = f"{info.title}, {info.parameters / 1e6:.0f} M parameters, input {info.side} px, on {info.device} in {info.precision}"
    spent = f"Time: {parts}; total {shown(sum(run.seconds.values()))}."
    text = " ".join(filter(None, (f"{model}.", graphics_card.warning(info.device), spent)))
    return Markup("<p class='quiet small'>{}</p>").format(text)


def cache_effect(run: Run) -> str:
    """Whether the memory changed RITA's answer, and by how much it leads without and with the memory."""
    if run.settings.protocol == "off":
        return ""
    trace, names, k = run.attacked.trace, run.class_prompts.names, run.attacked.verdicts["rita"].label
    without, total = (np.array(costs, float) for costs in (trace.prompt_transport.distance, trace.total))
    rival = int(np.argmin(np.where(np.arange(len(total)) == k, np.inf, total)))
    before, now = (costs[rival] - costs[k] for costs in (without, total))
    without_it = (
        f"By the prompts alone {names[k]} {'leads' if before > 0 else 'trails'} {names[rival]} by {abs(before):.3f}"
    )
    with_it = f"with the memory (α = {run.settings.cache_weight:g}) it leads by {now:.3f}"
    lead = Markup("<p class='lead'>{} <span class='wide-only'>{}; {}.</span></p>")
    return lead.format(wording.cache_effect(run), without_it, with_it)


def cache_contents(session: Session) -> str:
    """What the memory holds now."""
    if session.run is None or session.run.settings.protocol == "off":
        return ""
    run, now, names = session.run, session.history, session.run.class_prompts.names
    changed = bool(now.moments) and now.key == run.class_prompts.key  # since the run
    counts = now.state_at().count if changed else run.cache_after.count
    held = sorted(((int(counts[k]), names[k]) for k in np.flatnonzero(counts)), reverse=True)
    if not held:
        return Markup("<p class='lead'>The memory is empty.</p>")
    listed = ", ".join(f"{name} ({count})" for count, name in held[:8])
    classes = "1 class" if len(held) == 1 else f"{len(held)} classes"
    views = wording.view_count(int(np.sum(counts)))
    restarted = f"{RESTARTED} " if len(now.moments) == 2 and now.moments[0].title == RESTARTED else ""
    said = f"{restarted}For the next picture the memory now holds {views} of {classes}: {listed}."
    return Markup("<p class='lead'>{}</p>").format(said)


def heading_html(sentence: str, number: int) -> Markup:
    """A numbered heading."""
    return Markup("<h2 class='section-title'><span class='step'>{}</span>{}</h2>").format(number, sentence)
