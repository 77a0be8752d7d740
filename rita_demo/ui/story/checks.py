"""What the engine is asked after the answer, as one JSON value: noise of the same size, whether the change survives, how
far the picture drifts from its crops, the law of wrong crops."""

from typing import Any

import numpy as np

from rita_demo.analysis.crop_field import rival_class
from rita_demo.analysis.crop_law import NEAREST, LawCurve, LawCurves
from rita_demo.plots.labels import truncated
from rita_demo.records import CheckedAnswer, CheckedAnswers, Run, StoryChecks
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording

MEASURED = "embedded"  # the model of the stored drifts
RULES = ("average", "balanced", "nearest_35", "nearest_10")
GAIN = 1 / NEAREST[0] - 1  # what a wrong class gains in its nearest crops counts so often
#: What a drift depends on besides the model: the stored ones have the recommended values.
DRIFTS_BY = ("square", "views", "view_scale", "views_augmix", "view_weight")


def story_checks(session: Session) -> dict[str, Any] | None:
    """The checks of the run on screen; None until they are computed."""
    run, checks = session.run, session.checks
    if run is None or checks is None:
        return None
    like_measured = run.backbone.name == MEASURED and not {*run.settings.differs_from(RECOMMENDED)} & {*DRIFTS_BY}
    return {
        "key": run.key,
        "noise": None if checks.noise is None else _answers(run, checks.noise),
        "noise_size": checks.noise_size,
        "survive": _survive(run, checks) if run.attack is not None else None,
        "drift": {
            "clean": checks.clean.crop_offset,
            "attacked": None if checks.attacked is None else checks.attacked.crop_offset,
        }
        if like_measured
        else None,
        "law": None if session.law is None else _law(run, session.law),
    }


def _law(run: Run, law: LawCurves) -> dict[str, Any]:
    name = truncated(run.class_prompts.names[run.label], 24)
    note = (
        f"Share of {law.draws} draws in which {name} is found ({run.backbone.title}). RITA lets each class take its nearest 35 % of the crops, "
        "the nearest tenth takes 10 %. The law compares RITA with transport of all crops, not with the average. A wrong class takes its nearest "
        f"crops, too: what it gains counts 1/0.35 − 1 = {GAIN:.1f} times. The curves are measured; the law is exact only where the crops of a "
        "picture are alike and at most 35 % are replaced."
    )
    if law.attack is not None:
        helps = "helps" if law.attack.partial_helps else "does not help"
        turned, rival = law.attack.turned, truncated(run.class_prompts.names[rival_class(run)], 24)
        note += (
            f" The attack above turns {int(turned.sum())} of {len(turned)} crops, with {wording.percent(law.attack.share)} of the weight; crops "
            f"that fit {rival} better without it are not among them. Against it leaving out {helps} by the law."
        )
    return {
        "shares": (law.shares / 100).tolist(),
        "clutter": _curves(name, law.clutter),
        "impostor": _curves(name, law.impostor),
        "attack": None if law.attack is None else law.attack.share,
        "exact": NEAREST[0],
        "note": note,
    }


def _curves(name: str, curve: LawCurve) -> dict[str, list[Any]]:
    """``helps``: whether the law says at a share that the nearest 35 % beat the mean; ``says``: the same in a sentence."""
    terms = zip(curve.drop, curve.rise, curve.partial_helps)
    said = [_balance(name, float(drop), float(rise), bool(helps)) for drop, rise, helps in terms]
    return {rule: (getattr(curve, rule) / 100).round(3).tolist() for rule in RULES} | {
        "helps": [bool(one) for one in curve.partial_helps],
        "says": said,
    }


def _balance(name: str, drop: float, rise: float, helps: bool) -> str:
    """The law on these crops: (1/rho - 1) rise < drop. Empty where there are none to compare."""
    if np.isnan(drop):
        return ""
    return (
        f"Leaving out {'helps' if helps else 'hurts'} transport here, by the law: in the wrong crops {name} loses {_signed(drop)}, "
        f"{'more' if helps else 'less'} than the best wrong class gains ({_signed(rise)} × {GAIN:.1f} = {_signed(GAIN * rise)})."
    )


def _signed(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")


def _survive(run: Run, checks: StoryChecks) -> list[dict[str, Any]]:
    rows = [{"title": "as it is", "clean": _side(run, "clean"), "attacked": _side(run, "attacked")}]
    for one in checks.changes:
        if one.attacked is not None:
            rows.append(
                {"title": one.title, "clean": _answers(run, one.clean), "attacked": _answers(run, one.attacked)}
            )
    return rows


def _side(run: Run, side: str) -> dict[str, Any]:
    verdicts = getattr(run, side).verdicts
    return {
        name: _answer(run, verdicts[name].label, float(verdicts[name].probability[verdicts[name].label]))
        for name in ("clip", "ensemble", "rita")
    }


def _answers(run: Run, answers: CheckedAnswers) -> dict[str, Any]:
    found: dict[str, CheckedAnswer] = {name: getattr(answers, name) for name in ("clip", "ensemble", "rita")}
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
