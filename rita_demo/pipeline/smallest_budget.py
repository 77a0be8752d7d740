"""How much on this picture: the smallest budget at which the attacker who knows a defence makes its answer wrong."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np

from rita_demo.data.pictures import picture_of
from rita_demo.defences.registry import DEFENCES
from rita_demo.engine.protocol import Engine
from rita_demo.pipeline.arena import cell_settings
from rita_demo.pipeline.run import defend
from rita_demo.process.generators import Steps
from rita_demo.process.plugin_file import PluginError
from rita_demo.records import Run
from rita_demo.records.errors import SettingError
from rita_demo.records.json_value import JsonValue

MOST = 32  # in 1/255: the default largest budget


@dataclass(frozen=True)
class BudgetProbe:
    """One attack by somebody who knows the defence: the ``budget`` in 1/255, the defence's ``answer`` (a class) to the
    delivered ``pixels`` (H, W, 3) uint8, and whether it is ``broken``; how far the pixels moved, as in ``AttackTrace``;
    ``forward`` and ``backward`` passes of the vision tower, in pictures."""

    budget: int
    answer: int
    broken: bool
    pixels: np.ndarray
    linf: float
    l2: float
    forward: int
    backward: int
    seconds: float


@dataclass(frozen=True)
class SmallestBudget:
    """``budget``: the smallest at which the defence broke, in 1/255; 0 if it is wrong without an attack, None if it stood at
    every budget up to ``most``. ``probes``: all attacks, in the order in which they were made."""

    method: str
    budget: int | None
    most: int
    probes: tuple[BudgetProbe, ...] = ()

    @property
    def breaking(self) -> BudgetProbe | None:
        """The attack at :attr:`budget`."""
        return next((probe for probe in self.probes if probe.budget == self.budget), None)


def row_of(result: SmallestBudget, names: Sequence[str]) -> dict[str, JsonValue]:
    """A result as a row of a table, with the class ``names`` of its run. ``tried``: every budget, and whether the defence fell
    there, as "4:stands 8:falls"."""
    breaking, probes = result.breaking, result.probes
    return {
        "method": result.method,
        "budget": result.budget,
        "answer": None if breaking is None else names[breaking.answer],
        "linf": None if breaking is None else breaking.linf,
        "l2": None if breaking is None else breaking.l2,
        "attacks": len(probes),
        **{name: sum(getattr(probe, name) for probe in probes) for name in ("forward", "backward", "seconds")},
        "tried": " ".join(f"{probe.budget}:{'falls' if probe.broken else 'stands'}" for probe in probes),
    }


def smallest_budget_steps(engine: Engine, run: Run, method: str, most: int) -> Generator[str, None, SmallestBudget]:
    """Find it by bisection over whole budgets, from the run's own: doubled while the defence stands, then halved between
    the last that it stood and the first that broke it. Every attack's first restart begins at the picture of an earlier
    one. The attack is not perfect, so a defence that stands at a budget may fall to a better attack there, and nothing
    promises that it falls at every larger one.

    ``run``: an unattacked run that has the method's answer; its settings, memory and true class are used. Yields a
    sentence on every step. Raises SettingError: the method has no answer, or ``most`` is out of range. PluginError: a
    user's own defence fails."""
    if method not in run.clean.verdicts:
        raise SettingError(f"{DEFENCES[method].title} has no answer on this picture.", "Run the picture with it first.")
    run.settings.replace(budget=most)  # checks it
    if run.clean.verdicts[method].label != run.label:
        return SmallestBudget(method, 0, most)
    probes: dict[int, BudgetProbe] = {}
    stood, broke, budget = 0, None, min(max(run.settings.budget, 1), most)
    while broke is None or broke - stood > 1:
        start = min(probes.values(), key=lambda probe: (not probe.broken, abs(probe.budget - budget)), default=None)
        probe = yield from _probe_steps(engine, run, method, budget, None if start is None else start.pixels)
        probes[budget] = probe
        yield f"{DEFENCES[method].title} {'falls' if probe.broken else 'stands'} at {budget}/255"
        stood, broke = (stood, budget) if probe.broken else (budget, broke)
        if broke is None and stood == most:
            return SmallestBudget(method, None, most, tuple(probes.values()))
        budget = min(2 * stood, most) if broke is None else (stood + broke) // 2
    return SmallestBudget(method, broke, most, tuple(probes.values()))


def _probe_steps(
    engine: Engine, run: Run, method: str, budget: int, start: np.ndarray | None
) -> Generator[str, None, BudgetProbe]:
    settings = cell_settings(run.settings, method, "adaptive").replace(budget=budget)
    clean, prompts, before = run.clean.picture, run.class_prompts, engine.passes
    steps = Steps(engine.attack_steps(clean, prompts, settings, run.label, None, run.cache_before, start))
    for done, total, *_ in steps:
        yield f"{DEFENCES[method].title} at {budget}/255: step {done} of at most {total}"
    trace, after = steps.value, engine.passes
    result, _ = defend(engine, picture_of(trace.pixels), prompts, run.cache_before, settings, methods=[method])
    if method not in result.verdicts:
        fault = result.faults[method]
        raise PluginError(f"{DEFENCES[method].title} has no answer: {fault.sentence}", detail=fault.detail)
    answer = result.verdicts[method].label
    return BudgetProbe(
        budget=budget,
        answer=answer,
        broken=answer != run.label,
        pixels=trace.pixels,
        linf=float(trace.linf),
        l2=float(trace.l2),
        forward=after.forward - before.forward,
        backward=after.backward - before.backward,
        seconds=trace.seconds,
    )
