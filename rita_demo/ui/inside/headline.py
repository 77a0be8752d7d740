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
    fit, rita = fit_of(session, run), run.attacked.verdicts["rita"].label
    attacked, count = run.attack is not None and run.step != 0, len(fit.margins)
    if not attacked:
        said = int((fit.answers == rita).sum())
        start = Markup("{} of {} crops {} {}").format(said, count, "says" if said == 1 else "say", _answer(run, rita))
        right = "" if run.given_label in (None, rita) else Markup(", but it is {}").format(_answer(run, run.label))
        return start + Markup("; RITA agrees, ahead by {:.3f}{}.").format(run.attacked.verdicts["rita"].margin, right)
    better = int((fit.margins > 0).sum())
    rival = "" if run.label_given else f" than {_short(run, fit.rival)}"
    fits = "fits" if better == 1 else "fit"
    start = Markup("{} of {} crops still {} {} better{}").format(better, count, fits, _short(run, run.label), rival)
    before = run.clean.verdicts["rita"].label
    if run.given_label not in (None, before):
        without = Markup("as it does") if before == rita else Markup("and {}").format(_answer(run, before))
        return start + Markup("; RITA answers {}, {} without an attack.").format(_answer(run, rita), without)
    ahead = rerun.lead(run.attacked.trace.total, run.label)
    return start + Markup("; RITA answers {}, {} by {:.3f}.").format(
        _answer(run, rita), "ahead" if ahead >= 0 else "behind", abs(ahead)
    )


def _what_if(session: Session, before: Run, after: Run) -> Markup:
    said = differing(session)
    what = truncated(said[0], 60) if len(said) == 1 else f"with {len(said)} changes"
    new, old = after.attacked.verdicts["rita"], before.attacked.verdicts["rita"]
    turned = "still" if new.label == old.label else "now"
    joined = "" if what.startswith("with") else ":"
    start = Markup("{}{} RITA {} answers {}").format(
        what[:1].upper() + what[1:], joined, turned, _answer(after, new.label)
    )
    if new.label != old.label:
        return start + Markup(", ahead by {:.3f}; before it was {}.").format(new.margin, _answer(after, old.label))
    digits = 3 if f"{new.margin:.3f}" != f"{old.margin:.3f}" else 4
    one, two = f"{new.margin:.{digits}f}", f"{old.margin:.{digits}f}"
    return start + Markup(", ahead by {}{}.").format(one, " as before" if one == two else f" instead of {two}")


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
    said = [
        Markup("{}").format(text)
        for text in (wording.unknown_words(run.class_prompts.unknown), run.class_prompts.warning)
        if text
    ]
    if not run.label_given:
        link = Markup(place_link(wording.ASK, "#truth input"))
        said.append(Markup("No true class was given, so no answer counts as right or wrong. {}.").format(link))
    return Markup("").join(Markup("<p>{}</p>").format(one) for one in said)


def effect(session: Session) -> str:
    """HTML: by how much a what-if moves the lead of the reference class on the picture shown; "" without one."""
    before, after = session.run_at_step, session.inside.what_if.run
    if before is None or after is None:
        return ""
    ahead, then = (rerun.lead(one.attacked.trace.total, after.label) for one in (after, before))
    moved = (
        f"changes by {wording.signed(ahead - then)}" if abs(ahead - then) >= wording.MIN_CHANGE else "does not change"
    )
    return f"<p class='note'>The lead of {reference_class(after)} {moved} (cosine distance).</p>"
