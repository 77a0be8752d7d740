"""Results of RITA at a few steps of an attack.

Every step is decided from the cache and with the view seed of the run, and none is added to the cache. Step 0 is the
clean result, the last step is the attacked one."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from rita_demo.data.pictures import picture_of
from rita_demo.engine.protocol import Engine
from rita_demo.pipeline.run import defend
from rita_demo.records import AttackStepResult, ImageResult, Run

MAX_STEPS = 6  # results that are computed


def last_step(run: Run) -> int:
    """Number S of the attack's last step, the delivered picture; 0 without an attack."""
    return 0 if run.attack is None else len(run.attack.frames) - 1


def sampled_steps(last: int, max_steps: int = MAX_STEPS) -> tuple[int, ...]:
    """At most ``max_steps`` (at least 2) of the steps 0..last in order, with both ends.

    Early steps are closer together, because an attack moves fastest at its start: the i-th of n gaps ends at
    ``last (i / n)^1.5``; 7 steps give 0, 1, 2, 3, 5, 7."""
    gaps = min(max_steps - 1, last)
    between = (max(i, round(last * (i / gaps) ** 1.5)) for i in range(1, gaps))
    return tuple(sorted({0, *between, last}))


def attack_step_results(engine: Engine, run: Run, max_steps: int = MAX_STEPS) -> Iterator[AttackStepResult]:
    """The results at :func:`sampled_steps`, in order; each costs about as much as defending the delivered picture."""
    if run.attack is None:
        return
    ends = _first_and_last(run)
    for step in sampled_steps(last_step(run), max_steps):
        result = ends.get(step)
        if result is None:
            picture = picture_of(run.attack.frames[step])
            result, _ = defend(engine, picture, run.class_prompts, run.cache_before, run.settings, methods=run.methods)
        yield AttackStepResult(step, result)


def run_at_step(run: Run, results: Iterable[AttackStepResult], step: int | None) -> Run:
    """The run with the result at the step in ``results`` nearest to ``step`` in place of the attacked one.

    The first and the last step need no result. Of two equally near steps the later one is taken; None is the last step,
    where ``run`` itself is returned, else a copy with ``step`` set."""
    if run.attack is None or step is None:
        return run
    sides = {frame.step: frame.image_result for frame in results} | _first_and_last(run)
    nearest = min(sides, key=lambda at: (abs(at - step), -at))
    if nearest == last_step(run):
        return run
    return replace(run, attacked=sides[nearest], step=nearest, delivered=run.attacked)


def _first_and_last(run: Run) -> dict[int, ImageResult]:
    return {0: run.clean, last_step(run): run.attacked}
