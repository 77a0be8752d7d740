"""The verdicts and what belongs to them, as HTML."""

from markupsafe import Markup

from rita_demo.attacks import get_attack
from rita_demo.defences.registry import DEFENCES
from rita_demo.pipeline.outcome import outcome
from rita_demo.process.environment import graphics_card_warning
from rita_demo.process.templates import html
from rita_demo.records import Run
from rita_demo.ui.widgets import wording


def table(run: Run) -> Markup:
    """Every method's answer on the clean and on the attacked picture; a user's own defence that has none with file,
    line and kind of its error, without the error's own text."""
    return html("verdicts", run=run, outcomes=outcome(run), defences=DEFENCES, wording=wording)


def explanation(run: Run) -> Markup:
    """The numbers behind the answer."""
    return Markup("<p class='small'>{}</p>").format(wording.explanation(run))


def threat(run: Run) -> Markup:
    """The threat model: the attack, its strength and what the attacker does not know; the rest in a fold."""
    model = run.threat_model
    *first, last = model.does_not_know or ("",)
    unknown = " or ".join(filter(None, (", ".join(first), last)))
    title = get_attack(model.attack).title
    return html("threat", model=model, title=title, unknown=unknown, attacked=run.attack is not None)


def times(run: Run) -> Markup:
    """Device and stage times on one line."""
    info, shown = run.backbone, wording.format_seconds
    parts = ", ".join(f"{name} {shown(value)}" for name, value in run.seconds.items())
    model = f"{info.title}, {info.parameters / 1e6:.0f} M parameters, input {info.side} px, on {info.device} in {info.precision}"
    spent = f"Time: {parts}; total {shown(sum(run.seconds.values()))}."
    text = " ".join(filter(None, (f"{model}.", graphics_card_warning(info.device), spent)))
    return Markup("<p class='quiet small'>{}</p>").format(text)
