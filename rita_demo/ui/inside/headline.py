"""The sentence above *Inside*, with its number: what RITA answers, or what a what-if changes; and what has to be said beside it."""

from markupsafe import Markup

from rita_demo.figures.labels import reference_class, truncated
from rita_demo.pipeline import rerun
from rita_demo.records import Run
from rita_demo.ui.inside.crop_columns import fit_of
from rita_demo.ui.inside.what_if import differing
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import place_link

LETTERS = 30  # of a class name


def headline(session: Session) -> Markup:
    """HTML of at most about 20 words."""
    run, run_now = session.displayed_run, session.run_at_step
    if session.inside.awaited:
        return Markup("{} is being computed …").format(session.inside.awaited)
    if run is None or run_now is None:
        return Markup("There is no run yet: run a picture in the Story.")
    if session.inside.what_if.run is not None:
        return _what_if(session, run_now, run)
    fit, rita = fit_of(session, run), run.attacked.verdicts["rita"]
    answer, count = _answer(run, rita.label), len(fit.margins)
    if run.attack is None or run.step == 0:
        votes = int((fit.answers == rita.label).sum())
        start = Markup("{} of {} crops {} {}").format(votes, count, "says" if votes == 1 else "say", answer)
        right = (
            "" if run.given_label in (None, rita.label) else Markup(", but it is {}").format(_answer(run, run.label))
        )
        return start + Markup("; RITA agrees, ahead by {:.3f}{}.").format(rita.margin, right)
    better = int((fit.margins > 0).sum())
    rival = "" if run.label_given else f" than {_short(run, fit.rival)}"
    start = Markup("{} of {} crops still {} {} better{}; RITA answers {}, ").format(
        better, count, "fits" if better == 1 else "fit", _short(run, run.label), rival, answer
    )
    before = run.clean.verdicts["rita"].label
    if run.given_label not in (None, before):
        without = Markup("as it does") if before == rita.label else Markup("and {}").format(_answer(run, before))
        return start + Markup("{} without an attack.").format(without)
    ahead = rerun.lead(run.attacked.trace.total, run.label)
    return start + Markup("{} by {:.3f}.").format("ahead" if ahead >= 0 else "behind", abs(ahead))


def _what_if(session: Session, before: Run, after: Run) -> Markup:
    changes = differing(session)
    what = truncated(changes[0], 60) if len(changes) == 1 else f"with {len(changes)} changes"
    what += ":" * (not what.startswith("with"))
    new, old = after.attacked.verdicts["rita"], before.attacked.verdicts["rita"]
    turned = "still" if new.label == old.label else "now"
    start = Markup("{} RITA {} answers {}").format(what[:1].upper() + what[1:], turned, _answer(after, new.label))
    if new.label != old.label:
        return start + Markup(", ahead by {:.3f}; before it was {}.").format(new.margin, _answer(after, old.label))
    digits = 3 if f"{new.margin:.3f}" != f"{old.margin:.3f}" else 4
    margin, earlier = f"{new.margin:.{digits}f}", f"{old.margin:.{digits}f}"
    return start + Markup(", ahead by {}{}.").format(
        margin, " as before" if margin == earlier else f" instead of {earlier}"
    )


def _short(run: Run, k: int) -> str:
    return truncated(run.class_prompts.names[k], LETTERS)


def _answer(run: Run, k: int) -> Markup:
    """A class as an answer: right or wrong only where the true class is known."""
    kind = "" if run.given_label is None else "truth" if k == run.given_label else "wrong"
    mark = " ✗" if kind == "wrong" else ""
    return Markup("<b class='{}'>{}{}</b>").format(kind, _short(run, k), mark)


def notes(session: Session) -> str:
    """HTML: words that the model does not know, names it cannot tell apart, and a missing true class; "" for nothing."""
    run = session.displayed_run
    if run is None:
        return ""
    texts: list[str] = [wording.unknown_words(run.class_prompts.unknown), run.class_prompts.warning]
    if not run.label_given:
        link = Markup(place_link(wording.ASK, "#truth input"))
        texts.append(Markup("No true class was given, so no answer counts as right or wrong. {}.").format(link))
    return Markup("").join(Markup("<p>{}</p>").format(text) for text in texts if text)


def effect(session: Session) -> str:
    """HTML: by how much a what-if moves the lead of the reference class on the picture shown; "" without one."""
    before, after = session.run_at_step, session.inside.what_if.run
    if before is None or after is None:
        return ""
    ahead, then = (rerun.lead(run.attacked.trace.total, after.label) for run in (after, before))
    moved = "does not change"
    if abs(ahead - then) >= wording.MIN_CHANGE:
        moved = f"changes by {wording.signed(ahead - then)}"
    return f"<p class='note'>The lead of {reference_class(after)} {moved} (cosine distance).</p>"
