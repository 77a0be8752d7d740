"""A story asked again: with other settings (what if), other views, other draws of them, another strength.

The story itself is never changed, and nothing here enters the memory.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace

from rita_demo.attacks import attack_row
from rita_demo.data.pictures import picture_of
from rita_demo.engine import Engine
from rita_demo.errors import SettingError
from rita_demo.methods import METHODS
from rita_demo.records import CacheState, Draw, LeftOut, Side, Story, Trace
from rita_demo.settings import KNOBS, Settings
from rita_demo.story import Progress, ablations, attacking, check_index, defend, ordered
from rita_demo.threat import threat_model

#: Groups of settings that answer from features alone; the others need new pixels, views or prompts.
FROM_FEATURES = ("transport", "cache")
#: The group that needs the sentences encoded again, but no picture.
FROM_SENTENCES = ("tuning",)
#: Strengths in 1/255 that the page keeps beside the one that was asked for: those of the measured curve.
STRENGTHS = (1, 2, 4, 8)


def rescore(
    engine: Engine,
    story: Story,
    settings: Settings | None = None,
    left_out: LeftOut = LeftOut(),  # noqa: B008 (a frozen value)
    label: int | None = None,
) -> Story:
    """What if: both sides decided again from the features they have; no picture is encoded.

    The prompt update is the run's own (it is passed back), also when views are left out, and
    so are the answers of the baselines; RITA's ablations follow.  Only when a setting of the update
    itself differs is the update made again (from all views), which encodes sentences and takes a
    second or so.

    Args:
        settings: may differ from the run's in ``FROM_FEATURES`` and ``FROM_SENTENCES``; None: the run's.
        left_out: views and prompts that carry no mass, items of the memory that are taken out.
        label: another true class; None: the story's.

    Raises:
        SettingError: a setting that needs a new run, a label outside the vocabulary, or
            nothing left to decide from.
    """
    settings = settings or story.settings
    fixed = needs_a_run(settings, story.settings)
    if fixed:
        raise SettingError(f"{', '.join(fixed)} cannot change without a new run.")
    check_index("label", label, story.bank)

    kept = same_update(settings, story.settings)

    def again(side: Side) -> tuple[Side, CacheState]:
        tuning = side.trace.tuning if kept else engine.tune(side.glance, story.bank, settings)
        trace, after = engine.decide(
            side.glance, story.bank, story.cache_before, settings, tuning, left_out
        )
        now = ablations(
            engine,
            side.glance,
            story.bank,
            story.cache_before,
            settings,
            trace,
            story.methods,
            left_out,
        )
        baselines = {n: v for n, v in side.verdicts.items() if METHODS[n].baseline}
        verdicts = {**baselines, "rita": trace.verdict, **now}
        return replace(side, trace=trace, verdicts=ordered(verdicts)), after

    clean, after = again(story.clean)
    attacked = clean
    if story.attack is not None:
        attacked, after = again(story.attacked)
    return replace(
        story,
        settings=settings,
        clean=clean,
        attacked=attacked,
        cache_after=after if story.step is None else story.cache_after,
        label=story.label if label is None else label,
        label_given=story.label_given or label is not None,
    )


def needs_a_run(one: Settings, other: Settings) -> tuple[str, ...]:
    """The settings that differ and cannot be answered from features alone."""
    cheap = FROM_FEATURES + FROM_SENTENCES
    return tuple(n for n in one.differs_from(other) if KNOBS[n].group not in cheap)


def same_update(one: Settings, other: Settings) -> bool:
    """Whether both settings adjust the prompts in the same way."""
    return not any(KNOBS[n].group in FROM_SENTENCES for n in one.differs_from(other))


def look_again(engine: Engine, story: Story, settings: Settings) -> Trace:
    """RITA's decision on the delivered picture as it is, with other views or prompts; encodes them.

    Raises:
        SettingError: for a setting of the attack, which would make it another picture.
    """
    changed = settings.differs_from(story.settings)
    if any(KNOBS[n].group == "attack" for n in changed):
        raise SettingError("Another attack makes another picture.", "Run it on the first tab.")
    bank = engine.classes(story.bank.names, settings)
    glance = engine.look(story.attacked.picture, settings)
    return engine.decide(glance, bank, story.cache_before, settings)[0]


def draws(engine: Engine, story: Story, count: int = 10) -> Iterator[Draw]:
    """The delivered picture again with other draws of views: seeds 0 to count - 1."""
    for seed in range(count):
        settings = story.settings.but(view_seed=seed)
        side, _ = defend(
            engine,
            story.attacked.picture,
            story.bank,
            story.cache_before,
            settings,
            methods=story.methods,
        )
        yield Draw(seed, side.verdicts)


def other_strengths(story: Story) -> tuple[int, ...]:
    """The strengths in 1/255 that are worth keeping beside the story's own, in order; none without a budget."""
    if story.attack is None or not attack_row(story.settings.attack).bounded:
        return ()
    return tuple(n for n in STRENGTHS if n != story.settings.budget)


def at_strength(engine: Engine, story: Story, budget: int) -> Generator[Progress, None, Story]:
    """The same attack with another strength, decided from the same memory with the same draw of views.

    Args:
        budget: in 1/255; any that ``Settings`` takes.

    Returns:
        the story that :func:`rita_demo.story.tell` tells with this strength; its clean side is the very
        same object, and but for the attack's the times are the first story's.
    """
    assert story.attack is not None
    settings, bank, clean = story.settings.but(budget=budget), story.bank, story.clean
    target, before = story.attack.target, story.cache_before
    attack = yield from attacking(engine, clean, bank, settings, story.label, target, before)
    yield Progress("Defending the attacked picture", 0.8, bank, clean, attack)
    delivered = picture_of(attack.pixels)
    attacked, after = defend(engine, delivered, bank, before, settings, methods=story.methods)
    return replace(
        story,
        settings=settings,
        attacked=attacked,
        attack=attack,
        threat=threat_model(settings, bank, clean.picture, story.label, story.label_given, target),
        cache_after=after,
        seconds=story.seconds | {"attack": attack.seconds},
    )
