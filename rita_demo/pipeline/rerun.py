"""A run again with something changed: settings, a class, views, prompts or stored views left out.

The run itself is never changed, and nothing here is added to the cache."""

from dataclasses import replace

import numpy as np

from rita_demo.defences.registry import DEFENCES
from rita_demo.engine.protocol import Engine
from rita_demo.pipeline.run import check_index, decider, same_prompt_update, with_answers
from rita_demo.records import CacheState, DefenceFault, Exclusions, ImageResult, Run, Verdict
from rita_demo.records.errors import SettingError
from rita_demo.settings import SETTINGS, Settings

#: Groups of settings that need features only; the others need new pixels, views or prompts.
FEATURE_GROUPS = ("transport", "cache")


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
        SettingError: a setting that needs a new run, a label outside the classes, or nothing left to decide from."""
    settings = settings or run.settings
    changed = settings.differs_from(run.settings)
    if fixed := [name for name in changed if SETTINGS[name].group not in (*FEATURE_GROUPS, "tuning")]:
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


def lead(total: np.ndarray, label: int) -> float:
    """By how much the class ``label`` is ahead of the best other one, in cosine distance; negative: behind."""
    return float(np.delete(total, label).min() - total[label])
