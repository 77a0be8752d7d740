"""What the engine is asked after the answer, as one JSON value: noise of the same size, and whether the change survives."""

from typing import Any

from rita_demo.figures.labels import truncated
from rita_demo.records import CheckedAnswers, ImageResult, Run
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording


def story_checks(session: Session) -> dict[str, Any] | None:
    """The checks of the run on screen; None until they are computed."""
    run, checks = session.run, session.checks
    if run is None or checks is None:
        return None
    survive = None
    if run.attack is not None:
        survive = [{"title": "as it is", "clean": _side(run, run.clean), "attacked": _side(run, run.attacked)}]
        survive += [
            {"title": one.title, "clean": _answers(run, one.clean), "attacked": _answers(run, one.attacked)}
            for one in checks.changes
            if one.attacked is not None
        ]
    return {"key": run.key, "noise": None if checks.noise is None else _answers(run, checks.noise), "survive": survive}


def _side(run: Run, side: ImageResult) -> dict[str, Any]:
    verdicts = {name: side.verdicts[name] for name in ("clip", "ensemble", "rita")}
    return {name: _answer(run, one.label, float(one.probability[one.label])) for name, one in verdicts.items()}


def _answers(run: Run, answers: CheckedAnswers) -> dict[str, Any]:
    found = {"clip": answers.clip, "ensemble": answers.ensemble, "rita": answers.rita}
    return {name: _answer(run, one.label, one.probability) for name, one in found.items()}


def _answer(run: Run, label: int, share: float) -> dict[str, Any]:
    """``same``: the reference class, so that the browser needs no names to compare."""
    known = not run.class_prompts.unknown_names
    return {
        "name": truncated(run.class_prompts.names[label], 24),
        "same": label == run.label,
        "share": wording.percent(share) if known else "",
        "right": None if run.given_label is None else label == run.given_label,
    }
