"""The verdicts and what belongs to them, as HTML."""

from markupsafe import Markup

from rita_demo.attacks import get_attack
from rita_demo.defences.registry import DEFENCES
from rita_demo.pipeline.outcome import outcome
from rita_demo.process import graphics_card
from rita_demo.process.templates import html
from rita_demo.records import Run
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import place_link


def banner(run: Run) -> Markup:
    """The result in one sentence."""
    sentence, kind = wording.verdict_sentence(run)
    if run.step:
        sentence = f"{wording.step_suffix(run)[2:].capitalize()}. {sentence}"
    result, reason, why = sentence.partition(wording.LEFT_OUT)  # the second half of a long sentence
    before, asks, after = (f"{result}." if reason else result).partition(wording.ASK)
    smalls = (reason[2:] + why, wording.unknown_words(run.class_prompts.unknown), run.class_prompts.warning)
    link = Markup(place_link(asks, "#truth input")) if asks else ""
    return html("banner", kind=kind, before=before, link=link, after=after, smalls=list(filter(None, smalls)))


def says(run: Run) -> Markup:
    """What is on screen, and how many of the methods are right; of how many the answer changed where that is not known."""
    what, count = f"One picture among {len(run.class_prompts.names)} class names", len(run.answered)
    if run.attack is not None:
        row = get_attack(run.settings.attack)
        strength = f" {run.settings.budget}/255" if row.bounded else ""
        what += f"; attack: {row.column_title}{strength}{wording.step_suffix(run)}"
    outcomes = outcome(run).values()
    right = [sum(found.right_before is True for found in outcomes), sum(found.right is True for found in outcomes)]
    answers = len({found.now for found in outcomes})
    if not run.label_given and run.attack is None:
        said = f"{count} methods give {answers} answer{'s' * (answers > 1)}"
    elif not run.label_given:
        said = f"{sum(found.before != found.now for found in outcomes)} of {count} methods change their answer"
    elif run.attack is None:
        said = f"{right[1]} of {count} methods have it right"
    else:
        said = f"{right[1]} of {count} methods have the attacked picture right, {right[0]} the clean one"
    return Markup("<p class='says'>{}. {}.</p>").format(what, said)


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
    text = " ".join(filter(None, (f"{model}.", graphics_card.warning(info.device), spent)))
    return Markup("<p class='quiet small'>{}</p>").format(text)
