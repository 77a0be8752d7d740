"""A run again with something changed: settings, views, stored views, view seeds, or the budget.

The run itself is never changed, and nothing here is added to the cache.
"""

from collections.abc import Generator, Iterator
from dataclasses import replace

import numpy as np

from rita_demo.attacks import get_attack
from rita_demo.defences.registry import DEFENCES
from rita_demo.engine.protocol import Engine
from rita_demo.pipeline.run import (
    RunProgress,
    check_index,
    decider,
    defend,
    run_picture_steps,
    same_prompt_update,
    with_answers,
)
from rita_demo.records import CacheState, DefenceFault, Exclusions, ImageResult, Run, Trace, Verdict, ViewSeedResult
from rita_demo.records.errors import SettingError
from rita_demo.settings import SETTINGS, Settings

#: Groups of settings that need features only; the others need new pixels, views or prompts.
FEATURE_GROUPS = ("transport", "cache")
#: Budgets in 1/255 that the page precomputes: those of the measured curve.
BUDGETS = (1, 2, 4, 8)


def rescore(
    engine: Engine,
    run: Run,
    settings: Settings | None = None,
    exclusions: Exclusions | None = None,
    label: int | None = None,
) -> Run:
    """Decide both pictures again from their features ("what if"); no picture is encoded.

    The run's prompt update is used again, also when views are excluded, and so are the answers of the defences that do
    not use RITA's decision. If a setting of the update differs, the update is made again from all views, which encodes
    prompts and takes about a second.

    Args:
        settings: may differ from the run's in ``FEATURE_GROUPS`` and in the prompt update; None: the run's.
        exclusions: views and prompts without mass, and cache items to remove.
        label: another true class; None: the run's.

    Raises:
        SettingError: a setting that needs a new run, a label outside the classes, or nothing left to decide from.
    """
    settings = settings or run.settings
    if fixed := settings_needing_rerun(settings, run.settings):
        raise SettingError(f"{', '.join(fixed)} cannot change without a new run.")
    check_index("label", label, run.class_prompts)
    same_update, prompts, before = same_prompt_update(settings, run.settings), run.class_prompts, run.cache_before
    names = [name for name in run.methods if not DEFENCES[name].baseline]

    def decide_again(side: ImageResult) -> tuple[ImageResult, CacheState]:
        views = side.encoded_views
        tuning = side.trace.tuning if same_update else engine.tune(views, prompts, settings)
        trace, after = engine.decide(views, prompts, before, settings, tuning, exclusions)
        decide = decider(engine, views, prompts, before, settings, trace, exclusions)
        answers = engine.answers(views, prompts, settings, names, decide)
        earlier: dict[str, Verdict | DefenceFault] = {**side.verdicts, **side.faults}
        baselines = {name: answer for name, answer in earlier.items() if DEFENCES[name].baseline}
        return with_answers(replace(side, trace=trace), baselines | answers), after

    clean, after = decide_again(run.clean)
    attacked = clean
    if run.attack is not None:
        attacked, after = decide_again(run.attacked)
    return replace(
        run,
        settings=settings,
        clean=clean,
        attacked=attacked,
        cache_after=replace(after, others=run.cache_after.others) if run.step is None else run.cache_after,
        label=run.label if label is None else label,
        label_given=run.label_given or label is not None,
    )


def settings_needing_rerun(one: Settings, other: Settings) -> tuple[str, ...]:
    """The settings that differ and need more than features."""
    return tuple(n for n in one.differs_from(other) if SETTINGS[n].group not in (*FEATURE_GROUPS, "tuning"))


def decide_with_new_views(engine: Engine, run: Run, settings: Settings) -> Trace:
    """RITA's decision on the delivered picture with other views or prompts, which are encoded.

    Raises:
        SettingError: for a setting of the attack, which would make another picture.
    """
    if any(SETTINGS[name].group == "attack" for name in settings.differs_from(run.settings)):
        raise SettingError("Another attack makes another picture.", "Run it in the Story.")
    class_prompts = engine.encode_classes(run.class_prompts.names, settings)
    encoded_views = engine.encode_views(run.attacked.picture, settings)
    return engine.decide(encoded_views, class_prompts, run.cache_before, settings)[0]


def repeat_view_seeds(engine: Engine, run: Run, count: int = 10) -> Iterator[ViewSeedResult]:
    """The delivered picture with the view seeds 0 to ``count - 1``."""
    for seed in range(count):
        settings = run.settings.replace(view_seed=seed)
        picture, prompts = run.attacked.picture, run.class_prompts
        side, _ = defend(engine, picture, prompts, run.cache_before, settings, methods=run.methods)
        yield ViewSeedResult(seed, side.verdicts)


def other_budgets(run: Run) -> tuple[int, ...]:
    """The budgets in 1/255 to precompute beside the run's own; none for an attack without a budget."""
    if run.attack is None or not get_attack(run.settings.attack).bounded:
        return ()
    return tuple(n for n in BUDGETS if n != run.settings.budget)


def at_budget_steps(engine: Engine, run: Run, budget: int) -> Generator[RunProgress, None, Run]:
    """The attack of a run with another budget in 1/255, from the same cache and with the same view seed: the run that
    :func:`run_picture_steps` returns with this budget. Its clean result is the same object, and but for the attack's the
    times are those of ``run``."""
    assert run.attack is not None
    other = yield from run_picture_steps(
        engine,
        run.clean.picture,
        run.class_prompts.names,
        run.settings.replace(budget=budget),
        label=run.given_label,
        target=run.attack.target,
        cache=run.cache_before,
        methods=run.methods,
        clean=run.clean,
    )
    return replace(other, seconds=run.seconds | {"attack": other.seconds["attack"]})


def lead(total: np.ndarray, label: int) -> float:
    """By how much the class ``label`` is ahead of the best other one, in cosine distance; negative: behind."""
    return float(np.delete(total, label).min() - total[label])
