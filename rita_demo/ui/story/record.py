"""What the Story shows of a run, as JSON values: the browser selects, sorts and moves what stands here."""

from typing import Any

import numpy as np

from rita_demo.attacks import differentiated
from rita_demo.data.pictures import picture_of
from rita_demo.defences.registry import DEFENCES
from rita_demo.engine.protocol import Engine
from rita_demo.figures.analysis import crop_field as positions
from rita_demo.figures.analysis.crop_field import push_left
from rita_demo.figures.labels import truncated
from rita_demo.pipeline.attack_steps import last_step
from rita_demo.records import AttackTrace, CheckedAnswers, ImageResult, Run
from rita_demo.ui.session.session import Session
from rita_demo.ui.story.sentences import claim, does, doubt, knew, threat, which
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.data_uri import COLUMNS, jpeg_uri, lossless_uri, magnified_perturbation, tiled

NAME_LENGTH = 24  # characters of a class name
THUMBNAIL = 64  # pixels of a crop
ANSWERS = ("clip", "ensemble", "rita")  # the first answers of the first screen, in order
CROPS, SENTENCE_LENGTH = 3, 48  # of the small plan; characters of a sentence
TITLES = {"clip": "CLIP, whole picture", "rita": "RITA"}


def story_value(session: Session) -> dict[str, Any] | None:
    """The run on screen: its pictures, its sentence, and the crops and answers before and after the attack."""
    run = session.run
    if run is None:
        return None
    steps, names = _Steps(run, session), run.class_prompts.names
    # one of the answers without and with the attack, and of CLIP's first two, may be the true class
    asked = [side.verdicts[name].label for name in ANSWERS for side in (run.clean, run.attacked)]
    asked += np.argsort(run.clean.verdicts["clip"].probability)[::-1][:2].tolist()
    choices = list(dict.fromkeys(names[k] for k in asked))
    titles = TITLES | {"ensemble": f"average of {len(run.attacked.encoded_views.features)} crops"}
    value: dict[str, Any] = {
        "key": run.key,
        "last": last_step(run),
        "shown": last_step(run) if session.selection.step is None else session.selection.step,
        "clean": _once(session, "story clean", lambda: lossless_uri(run.clean.picture.pixels)),
        "attacked": None,
        "claim": claim(run),
        "threat": threat(run),
        "doubt": doubt(run),
        "kind": run.settings.attack,
        "through_crops": differentiated(run.settings) != "model",
        "knew": knew(run),
        "which": which(run),
        "choices": choices,
        "others": [] if run.label_given else [name for name in names if name not in choices],
        "known": not run.class_prompts.unknown_names,
        "answers": [{"name": name, "title": titles.get(name) or DEFENCES[name].title} for name in answers(run)],
        "boxes": steps.boxes.round(4).tolist(),
        "flipped": [bool(one) for one in run.attacked.encoded_views.views.flipped],
        **steps.values(),
        "small": small_plan(run),
        "mass": run.settings.transported_mass,
        "push": None,
    }
    if run.attack is not None:
        attack = run.attack
        now = int(run.attacked.verdicts["clip"].label)  # where CLIP still says the reference class, the rival
        shown = [run.label, steps.labels[1] if now == run.label else now]
        value["attacked"] = _once(session, "story attacked", lambda: change(attack, last_step(run)))
        value["curve"] = [[_share(p[k]) for k in shown] for p in np.asarray(attack.probability)]
        value["curve_names"] = [truncated(run.class_prompts.names[k], NAME_LENGTH) for k in shown]
        value["push"] = _push(run)
        value["does"] = does(run)
    return value


def story_steps(session: Session) -> dict[str, Any] | None:
    """Pictures, crops and answers of the attack's stored steps, once all of them are there; None before."""
    run = session.run
    if run is None or run.attack is None or session.pending_steps or not session.attack_steps:
        return None
    attack, steps = run.attack, _Steps(run, session)
    between = [at.step for at in steps.field if 0 < at.step < last_step(run)]
    return {
        "key": run.key,
        **steps.values(),
        "pictures": {step: _once(session, f"story {step}", lambda step=step: change(attack, step)) for step in between},
    }


def story_crops(session: Session) -> dict[str, Any] | None:
    """The crops as small pictures, and what the attack added to each, magnified; None until they are cut."""
    run, crops, before = session.run, session.crops.get("attacked"), session.crops.get("clean")
    if run is None or crops is None:
        return None
    value: dict[str, Any] = {"key": run.key, "sheet": _once(session, "story sheet", lambda: _sheet(crops))}
    if run.attack is not None and before is not None:
        value["noise"] = _once(session, "story noise", lambda: _sheet(magnified_perturbation(before, crops)))
    return value


def crossing_value(engine: Engine, run: Run, square: np.ndarray) -> dict[str, Any]:
    """Where the crops of a run stand on another ``square`` (H, W, 3), as in :func:`story_value`: "answers" 0 is the reference
    class, 1 its rival, 2 another class."""
    views = engine.encode_views_batch([picture_of(square)], run.settings, [run.settings.view_seed])[0]
    pair = [run.label, positions.rival_class(run)]
    crops, answers = positions.between(run, views.features, pair)
    sides = {k: n for n, k in enumerate(pair)}
    return {"crops": crops.round(4).tolist(), "answers": [sides.get(k, 2) for k in answers.tolist()]}


def change(attack: AttackTrace, step: int) -> dict[str, str]:
    """The picture at a step, lossless: as its difference from the clean one plus 128 where every difference fits in a
    byte (half the size of the picture itself), else as it is."""
    clean, now = (np.asarray(attack.frames[n], np.int16) for n in (0, step))
    moved = now - clean
    if np.abs(moved).max() > 127:
        return {"pixels": lossless_uri(now.astype(np.uint8))}
    return {"change": lossless_uri((moved + 128).astype(np.uint8))}


class _Steps:
    """The crop field with the result behind each of its steps, and the classes that any crop answers."""

    def __init__(self, run: Run, session: Session) -> None:
        found = positions.crop_field(run, session.attack_steps)
        self.field, self.boxes = found.steps, found.boxes
        self.sides = {result.step: result.image_result for result in session.attack_steps}
        self.sides |= {0: run.clean, last_step(run): run.attacked}
        labels = [k for at in found.steps for k in at.answers.tolist()]
        labels += [side.verdicts[name].label for side in self.sides.values() for name in answers(run)]
        self.run, self.labels = run, list(dict.fromkeys([found.reference, found.rival, *map(int, labels)]))

    def values(self) -> dict[str, Any]:
        """The classes, whose numbers are their places in "names", and what stands at each step."""
        names = [truncated(self.run.class_prompts.names[k], NAME_LENGTH) for k in self.labels]
        return {"names": names, "steps": [_step(self.run, at, self.sides[at.step], self.labels) for at in self.field]}


def _once(session: Session, name: str, make: Any) -> Any:
    """What ``make`` gives, kept with the run on screen: a picture is encoded once."""
    if name not in session.image_cache:
        session.image_cache[name] = make()
    return session.image_cache[name]


def _sheet(crops: np.ndarray) -> str:
    step = max(1, crops.shape[1] // THUMBNAIL)
    sheet = tiled(crops, COLUMNS)
    return jpeg_uri(sheet, sheet.shape[1] // step)


def answers(run: Run) -> tuple[str, ...]:
    """Names of the defences that the first screen shows: the three, then those that were asked for besides."""
    return (*ANSWERS, *(name for name in run.answered if name not in ANSWERS))


def _step(run: Run, at: positions.CropFieldStep, side: ImageResult, labels: list[int]) -> dict[str, Any]:
    """``labels``: the classes that the numbers of "answers" and "label" count in."""
    return {
        "step": at.step,
        "crops": at.crops.round(4).tolist(),
        "answers": [labels.index(k) for k in at.answers.tolist()],
        "marks": {name: round(at.methods[name], 4) for name in ANSWERS if name in at.methods},
        "says": {name: _answer(run, side, name, labels) for name in answers(run) if name in side.verdicts},
    }


def _answer(run: Run, side: ImageResult, name: str, labels: list[int]) -> dict[str, Any]:
    verdict = side.verdicts[name]
    right = None if run.given_label is None else verdict.label == run.given_label
    return {
        "label": labels.index(verdict.label),
        "right": right,
        "share": wording.share(run.class_prompts, verdict),
        "value": _share(verdict.probability[verdict.label]),
    }


def _push(run: Run) -> dict[str, Any] | None:
    push = push_left(run)
    if push is None or push.median is None:
        return None
    share = np.asarray(push.share, float)
    order = 1 + np.argsort(share[1:], kind="stable")
    change = run.attacked.picture.pixels != run.clean.picture.pixels
    covers = bool(change.any(axis=-1).mean() < 0.5)  # a patch or a written word: another reason why crops help
    return {
        "share": share.round(4).tolist(),
        "median": push.median,
        "first": int(order[len(order) // 4]),
        "covers": covers,
    }


def _share(value: Any) -> float:
    return round(float(value), 4)


def small_plan(run: Run) -> dict[str, Any] | None:
    """Three crops, from top to bottom by which sentence of the reference class they lean to; None: there are fewer.

    "cost": of the reference class and of its rival, crop by crop, the cosine distance to each sentence. "pull": what a
    crop that moves by one to the right, or down, comes nearer to each sentence, beside what it comes nearer to all of
    them. "at": how far right a crop stands: 0 where it fits both classes alike."""
    small = positions.small_transport(run, run.attacked, positions.rival_class(run))
    if len(small.views) < CROPS:
        return None
    cost, pull, atoms = small.cost, small.sentence_at - small.sentence_at.mean((0, 1)), small.atoms
    if cost.shape[2] > 1:  # the first sentence of each class is the one that the top crop leans to
        leans = cost[..., 0] - cost[..., 1]
        order = np.argsort(leans[0], kind="stable")
        order = order if order[0] < order[-1] else order[::-1]
        cost, views = cost[:, order], small.views[order]
        turned = leans[:, order[0]] > leans[:, order[-1]]
        for c in np.flatnonzero(turned):
            cost[c], pull[c], atoms[c] = cost[c, :, ::-1], pull[c, ::-1], atoms[c, ::-1]
        if (pull[:, 0, 1] > pull[:, 1, 1]).sum() * 2 > len(pull):  # down is towards the second
            pull[..., 1] *= -1
    else:
        views = small.views
    apart = pull[0, :, 0].mean() - pull[1, :, 0].mean()
    return {
        "views": views.tolist(),
        "at": ((cost[1].mean(1) - cost[0].mean(1)) / apart).round(5).tolist(),
        "cost": cost.round(6).tolist(),
        "pull": pull.round(5).tolist(),
        "sentences": [
            [_sentence(run.class_prompts.prompts[k][m]) for m in row]
            for k, row in zip(small.classes, atoms, strict=True)
        ],
    }


def _sentence(prompt: str) -> str:
    """A prompt; of a mean of several the first, and how many more there are."""
    first, _, more = prompt.partition(" (and ")
    if not more.endswith("their mean)"):
        return truncated(prompt, SENTENCE_LENGTH)
    return f"{truncated(first, SENTENCE_LENGTH).rstrip('.')} (and {more.split(' ')[0]} more)"


def story_checks(session: Session) -> dict[str, Any] | None:
    """The checks of the run on screen; None until they are computed."""
    run, checks = session.run, session.checks
    if run is None or checks is None:
        return None
    survive = None
    if run.attack is not None:
        survive = [{"title": "as it is", "clean": _side(run, run.clean), "attacked": _side(run, run.attacked)}]
        survive += [
            {"title": one.title, "clean": _asked(run, one.clean), "attacked": _asked(run, one.attacked)}
            for one in checks.changes
            if one.attacked is not None
        ]
    return {"key": run.key, "noise": None if checks.noise is None else _asked(run, checks.noise), "survive": survive}


def _side(run: Run, side: ImageResult) -> dict[str, Any]:
    verdicts = {name: side.verdicts[name] for name in ANSWERS}
    return {name: _checked(run, one.label, float(one.probability[one.label])) for name, one in verdicts.items()}


def _asked(run: Run, checked: CheckedAnswers) -> dict[str, Any]:
    by_name = {name: getattr(checked, name) for name in ANSWERS}
    return {name: _checked(run, one.label, one.probability) for name, one in by_name.items()}


def _checked(run: Run, label: int, share: float) -> dict[str, Any]:
    """``same``: the reference class, so that the browser needs no names to compare."""
    known = not run.class_prompts.unknown_names
    return {
        "name": truncated(run.class_prompts.names[label], NAME_LENGTH),
        "same": label == run.label,
        "share": wording.percent(share) if known else "",
        "right": None if run.given_label is None else label == run.given_label,
    }
