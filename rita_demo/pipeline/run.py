"""One picture attacked and defended, from first to last: what the page shows and ``explain`` exports.

The clean and the attacked picture are both decided from the same cache. Only the delivered picture (the attacked one,
when there is an attack) is added to it (docs/method.md, section 0)."""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rita_demo.attacks import differentiated, get_attack
from rita_demo.data.pictures import picture_of, square_words
from rita_demo.defences.registry import DEFAULT_METHODS, DEFENCES, attacker_sentences, plugin_sentences, with_defaults
from rita_demo.engine.protocol import Engine
from rita_demo.process.generators import Steps, run_to_end
from rita_demo.records import (
    Array,
    AttackTrace,
    CacheState,
    ClassPrompts,
    DefenceFault,
    EncodedViews,
    Exclusions,
    ImageResult,
    Picture,
    Run,
    ThreatModel,
    Trace,
    Verdict,
)
from rita_demo.records.errors import SettingError
from rita_demo.settings import SETTINGS, Settings
from rita_demo.settings.attack_name import attacked_defence


@dataclass(frozen=True)
class RunProgress:
    """What is finished so far."""

    sentence: str  # on the current stage
    fraction: float  # done, in [0, 1]
    class_prompts: ClassPrompts | None = None
    clean: Verdict | None = None  # CLIP's on the clean picture
    attack: AttackTrace | None = None
    square: Array | None = None  # (H, W, 3) uint8 after the attack's step, where the attack shows it


def run_picture_steps(
    engine: Engine,
    picture: Picture,
    names: Sequence[str],
    settings: Settings,
    *,
    label: int | None = None,
    target: int | None = None,
    cache: CacheState | None = None,
    methods: Sequence[str] = DEFAULT_METHODS,
) -> Generator[RunProgress, None, Run]:
    """Attack a picture and defend it; yield after every stage and return the run.

    Args:
        label: index of the true class; None: CLIP's own answer on the clean picture.
        target: index of the class a targeted attack moves towards.
        cache: the cache to decide from; None: an empty one.
        methods: names of defences beside :func:`default_methods`.

    Raises:
        SettingError: a label or target outside the classes, a target that is the label, or an unknown method."""
    answering, seconds = with_defaults(methods), dict[str, float]()
    with _timed(seconds, "prompts"):
        class_prompts = engine.encode_classes(names, settings)
    check_index("label", label, class_prompts)
    check_index("target", target, class_prompts)
    before = engine.compatible_cache(cache, class_prompts, settings)
    first = _clip_verdict(engine, picture, class_prompts, settings)
    yield RunProgress("Cutting the picture into views", 0.1, class_prompts, first)
    with _timed(seconds, "views and encoding"):
        engine.encode_views(picture, settings)  # cached for defend()
    yield RunProgress("Tuning the prompts and deciding on the clean picture", 0.2, class_prompts, first)
    clean, committed = defend(engine, picture, class_prompts, before, settings, seconds, methods=answering)
    truth = clean.verdicts["clip"].label if label is None else label
    if target is not None and target == truth:
        raise SettingError(
            f"The attack cannot move towards {class_prompts.names[truth]!r}: that is already the answer.",
            "Choose another target class.",
        )
    attack, attacked = None, clean
    if settings.attack != "none":
        attack = yield from attack_picture_steps(engine, clean, class_prompts, settings, truth, target, before)
        seconds["attack"] = attack.seconds
        known = clean.verdicts["clip"], attack
        yield RunProgress("Defending the attacked picture", 0.8, class_prompts, *known)
        delivered = picture_of(attack.pixels)
        attacked, committed = defend(engine, delivered, class_prompts, before, settings, seconds, methods=answering)
    return Run(
        class_prompts=class_prompts,
        settings=settings,
        backbone=engine.info,
        clean=clean,
        attacked=attacked,
        attack=attack,
        label=truth,
        label_given=label is not None,
        threat_model=threat_model(settings, class_prompts, picture, truth, label is not None, target, answering),
        cache_before=before,
        cache_after=committed,
        seconds=seconds,
        methods=answering,
    )


def run_picture(*args: Any, **named: Any) -> Run:
    """:func:`run_picture_steps` without the progress."""
    return run_to_end(run_picture_steps(*args, **named))


def defend(
    engine: Engine,
    picture: Picture,
    class_prompts: ClassPrompts,
    cache: CacheState,
    settings: Settings,
    seconds: dict[str, float] | None = None,
    *,
    methods: Sequence[str] = DEFAULT_METHODS,
) -> tuple[ImageResult, CacheState]:
    """Encode, decide and compare: the result on one picture, and the cache with the picture added. Stage times are added
    to ``seconds``."""
    seconds = {} if seconds is None else seconds
    with _timed(seconds, "views and encoding"):
        encoded_views = engine.encode_views(picture, settings)
    with _timed(seconds, "decision"):
        trace, after = engine.decide(encoded_views, class_prompts, cache, settings)
    with _timed(seconds, "other methods"):
        decide = decider(engine, encoded_views, class_prompts, cache, settings, trace)
        answers = engine.answers(encoded_views, class_prompts, settings, methods, decide, picture, cache)
    result = with_answers(ImageResult(picture, encoded_views, trace, {}), answers)
    memories = {name: verdict.memory[0] for name, verdict in result.verdicts.items() if verdict.memory is not None}
    verdicts = {name: replace(verdict, memory=None) for name, verdict in result.verdicts.items()}
    return replace(result, verdicts=verdicts), replace(after, others={**after.others, **memories})


def _clip_verdict(engine: Engine, picture: Picture, class_prompts: ClassPrompts, settings: Settings) -> Verdict:
    """CLIP's own answer, for the screen: it needs the whole picture alone, a fraction of all views."""
    one_view = settings.replace(views=1)
    verdict = engine.answers(engine.encode_views(picture, one_view), class_prompts, one_view, ("clip",))["clip"]
    assert isinstance(verdict, Verdict)  # only a user's own defence has none
    return verdict


def second_best(engine: Engine, picture: Picture, names: Sequence[str], settings: Settings, label: int | None) -> int:
    """The class that CLIP finds most probable on a picture after its answer and beside the true class ``label``."""
    verdict = _clip_verdict(engine, picture, engine.encode_classes(names, settings), settings)
    first, *rest = np.argsort(-np.asarray(verdict.probability), kind="stable").tolist()
    return next((k for k in rest if k != label), first)


def with_answers(result: ImageResult, answers: Mapping[str, Verdict | DefenceFault]) -> ImageResult:
    """The result with these answers instead of its own, in the order of ``DEFENCES``."""
    ordered = {name: answers[name] for name in DEFENCES if name in answers}
    return replace(
        result,
        verdicts={name: answer for name, answer in ordered.items() if isinstance(answer, Verdict)},
        faults={name: answer for name, answer in ordered.items() if isinstance(answer, DefenceFault)},
    )


def threat_model(
    settings: Settings,
    class_prompts: ClassPrompts,
    picture: Picture,
    label: int,
    label_given: bool,
    target: int | None,
    methods: Sequence[str],
) -> ThreatModel:
    """The threat model that is printed beside every number. ``methods``: the defences that answer."""
    aim = None if target is None else class_prompts.names[target]
    whose = "the true class" if label_given else "CLIP’s own answer"
    row, side = get_attack(settings.attack), int(picture.pixels.shape[0])
    goal = f"{row.direction} {whose} “{class_prompts.names[label]}”" if aim is None else f"towards “{aim}”"
    sentences: tuple[str, ...] = ("No attack was made here; if the picture was attacked before, we cannot know how.",)
    if settings.attack != "none":
        where = f"on {square_words(settings.square, side)}, seed {settings.attack_seed}"
        sentences = row.threat_sentences(settings.replace(hand_prompt=class_prompts.prompt_template), goal, where, aim)
    return ThreatModel(
        attack=settings.attack,
        budget=settings.budget if row.bounded else 0,
        steps=row.step_count(settings),
        seed=settings.attack_seed,
        square=settings.square,
        side=side,
        goal=goal if settings.attack != "none" else "none",
        knows=row.knows,
        does_not_know=row.does_not_know,
        sentences=sentences + attacker_sentences(settings) + plugin_sentences(methods, settings),
    )


def attack_picture_steps(
    engine: Engine,
    clean: ImageResult,
    class_prompts: ClassPrompts,
    settings: Settings,
    label: int,
    target: int | None,
    cache: CacheState,
) -> Generator[RunProgress, None, AttackTrace]:
    """Attack the clean picture; yields every step, returns the attack."""
    steps = Steps(engine.attack_steps(clean.picture, class_prompts, settings, label, target, cache))
    victim = DEFENCES[attacked_defence(settings)].title if differentiated(settings) == "defence" else "CLIP"
    attack = get_attack(settings.attack)
    for done, total, *more in steps:
        unit = "" if attack.loss_unit == "no unit" else f" {attack.loss_unit}"
        reached = f", loss {more[0]:.2f}{unit}" if more else ""
        sentence = f"Attacking {victim}: {attack.progress.format(done, total)}{reached}"
        fraction, square = 0.3 + 0.5 * done / max(total, 1), more[1] if len(more) > 1 else None
        yield RunProgress(sentence, fraction, class_prompts, clean.verdicts["clip"], square=square)
    return steps.value


def decider(
    engine: Engine,
    encoded_views: EncodedViews,
    class_prompts: ClassPrompts,
    cache: CacheState,
    settings: Settings,
    trace: Trace,
    exclusions: Exclusions | None = None,
) -> Callable[[Settings], Trace]:
    """RITA's decision with changed settings; ``trace`` is the one with ``settings``, whose prompt update is used again
    where the change does not concern it."""

    def decide(changed: Settings) -> Trace:
        if changed == settings:
            return trace
        tuning = trace.tuning if same_prompt_update(settings, changed) else None
        return engine.decide(encoded_views, class_prompts, cache, changed, tuning, exclusions)[0]

    return decide


def same_prompt_update(one: Settings, other: Settings) -> bool:
    """Whether both settings adjust the prompts in the same way."""
    groups = {*one.prompt_update_groups, *other.prompt_update_groups}
    return not any(SETTINGS[name].group in groups for name in one.differs_from(other))


def check_index(what: str, index: int | None, class_prompts: ClassPrompts) -> None:
    count = len(class_prompts.names)
    if index is not None and not 0 <= index < count:
        raise SettingError(f"The {what} is one of the {count} classes, 0 to {count - 1}; got {index}.")


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Adds the wall time of a block to ``seconds[name]``."""
    begin = time.perf_counter()
    yield
    seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - begin
