"""How much on this picture: the smallest budget at which the attacker who knows a defence makes its answer wrong."""

import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np

from rita_demo.analysis.visible_change import VisibleChange, visible_change
from rita_demo.data.pictures import picture_of
from rita_demo.defences.registry import DEFENCES
from rita_demo.engine.protocol import Engine
from rita_demo.pipeline.arena import TableProgress, cell_settings, same_memory, same_question, unattacked
from rita_demo.pipeline.run import defend
from rita_demo.process.generators import Steps
from rita_demo.process.plugin_file import PluginError
from rita_demo.records import Run
from rita_demo.records.errors import DemoError, SettingError
from rita_demo.records.json_value import JsonValue

MOST = 32  # in 1/255: the default largest budget
NO_PIXELS = np.empty((0, 0, 3), np.uint8)


@dataclass(frozen=True)
class BudgetProbe:
    """One attack by somebody who knows the defence: the ``budget`` in 1/255, the defence's ``answer`` (a class) to the
    delivered ``pixels`` (H, W, 3) uint8, and whether it is ``broken``; how far the pixels moved, as in ``AttackTrace``, and
    how visible that is; ``forward`` and ``backward`` passes of the vision tower, in pictures."""

    budget: int
    answer: int
    broken: bool
    pixels: np.ndarray
    linf: float
    l2: float
    change: VisibleChange
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
        return next((one for one in self.probes if one.budget == self.budget), None)


@dataclass(frozen=True)
class BudgetTable:
    """How much on the clean picture of ``run``, in its model. ``found``: the result of each method that is done, or a
    sentence why there is none. ``probes``: the attacks so far on those that are not."""

    run: Run
    most: int = MOST
    found: Mapping[str, SmallestBudget | str] = field(default_factory=dict)
    probes: Mapping[str, tuple[BudgetProbe, ...]] = field(default_factory=dict)

    def fits(self, run: Run | None) -> bool:
        """Whether ``run`` asks the same of the same model, with any attack, and decides from the same memory."""
        same = run is not None and run.backbone.name == self.run.backbone.name and same_question(self.run, run)
        return same and run is not None and same_memory(self.run.cache_before, run.cache_before)

    def bounds(self, method: str) -> tuple[int, int]:
        """The largest budget that a method stood so far, and the smallest that broke it, ``most`` + 1 before one did."""
        probes = self.probes.get(method, ())
        stood = max((one.budget for one in probes if not one.broken), default=0)
        return stood, min((one.budget for one in probes if one.broken), default=self.most + 1)


def budget_table_steps(
    engine: Engine, run: Run, methods: Sequence[str], known: BudgetTable | None = None
) -> Generator[TableProgress[BudgetTable], None, BudgetTable]:
    """Find the smallest budget of each method in turn; yields after every step of an attack. The share that is done
    never falls: every attack halves what is open. ``known``: a table that fits the run; its results and attacks are kept."""
    table = known or BudgetTable(run)
    due = [name for name in methods if name not in table.found]
    total, done = sum(DEFENCES[name].attack_seconds for name in due), 0.0
    for name in due:
        cost, tried = DEFENCES[name].attack_seconds, {one.budget: one for one in table.probes.get(name, ())}
        result: SmallestBudget | str
        try:
            steps = Steps(
                smallest_budget_steps(engine, _answered(engine, table.run, name), name, table.most, tried.get)
            )
            for sentence, probe in steps:
                if probe is not None and probe.budget not in tried:
                    tried[probe.budget] = probe
                    table = replace(table, probes={**table.probes, name: tuple(tried.values())})
                stood, broke = table.bounds(name)
                decided = 1 - math.log(broke - stood) / math.log(table.most + 1)
                yield TableProgress(sentence, (done + cost * decided) / total, table)
            result = replace(steps.value, probes=tuple(replace(p, pixels=NO_PIXELS) for p in steps.value.probes))
        except DemoError as error:  # a plugin that fails: the others go on
            result = error.message
        rest = {other: probes for other, probes in table.probes.items() if other != name}
        table, done = replace(table, found={**table.found, name: result}, probes=rest), done + cost
        yield TableProgress(f"{DEFENCES[name].title} is done", done / total, table)
    return table


def _answered(engine: Engine, run: Run, method: str) -> Run:
    """The run with the method's answer without an attack."""
    if method in run.clean.verdicts:
        return run
    settings, picture = unattacked(run.settings), run.clean.picture
    clean, _ = defend(engine, picture, run.class_prompts, run.cache_before, settings, methods=[method])
    if method in clean.faults:
        raise PluginError(clean.faults[method].sentence)
    return replace(run, clean=clean)


def row_of(one: SmallestBudget, names: Sequence[str]) -> dict[str, JsonValue]:
    """A result as a row of a table, with the class ``names`` of its run."""
    breaking, probes = one.breaking, one.probes
    change: Mapping[str, JsonValue] = {} if breaking is None else asdict(breaking.change)
    return {
        "method": one.method,
        "budget": one.budget,
        "answer": None if breaking is None else names[breaking.answer],
        "linf": None if breaking is None else breaking.linf,
        "l2": None if breaking is None else breaking.l2,
        **{name: change.get(name) for name in ("ssim", "ciede2000", "ciede2000_max")},
        "attacks": len(probes),
        **{name: sum(getattr(probe, name) for probe in probes) for name in ("forward", "backward", "seconds")},
        "tried": tried_text(probes),
    }


def tried_text(probes: Iterable[BudgetProbe]) -> str:
    """Every budget that was tried, and whether the defence fell: "4:stands 8:falls"."""
    return " ".join(f"{probe.budget}:{'falls' if probe.broken else 'stands'}" for probe in probes)


#: Budget in 1/255 -> what is known of it.
Known = Callable[[int], BudgetProbe | None]


def smallest_budget_steps(
    engine: Engine, run: Run, method: str, most: int, known: Known = lambda budget: None
) -> Generator[tuple[str, BudgetProbe | None], None, SmallestBudget]:
    """Find it by bisection over whole budgets, from the run's own: doubled while the defence stands, then halved between
    the last that it stood and the first that broke it. Every attack's first restart begins at the picture of an earlier
    one. The attack is not perfect, so a defence that stands at a budget may fall to a better attack there, and nothing
    promises that it falls at every larger one.

    ``run``: an unattacked run that has the method's answer; its settings, memory and true class are used. Yields a sentence
    and, after every attack, its probe.

    Raises:
        SettingError: the method has no answer, or ``most`` is out of range. PluginError: a user's own defence fails.
    """
    if method not in run.clean.verdicts:
        raise SettingError(f"{DEFENCES[method].title} has no answer on this picture.", "Run the picture with it first.")
    run.settings.replace(budget=most)  # checks it
    if run.clean.verdicts[method].label != run.label:
        return SmallestBudget(method, 0, most)
    probes: dict[int, BudgetProbe] = {}
    stood, broke, budget = 0, None, min(max(run.settings.budget, 1), most)
    while broke is None or broke - stood > 1:
        if (probe := known(budget)) is None:
            start = min(probes.values(), key=lambda one: (not one.broken, abs(one.budget - budget)), default=None)
            probe = yield from _probe_steps(engine, run, method, budget, None if start is None else start.pixels)
        probes[budget] = probe
        yield f"{DEFENCES[method].title} {'falls' if probe.broken else 'stands'} at {budget}/255", probe
        stood, broke = (stood, budget) if probe.broken else (budget, broke)
        if broke is None and stood == most:
            return SmallestBudget(method, None, most, tuple(probes.values()))
        budget = min(2 * stood, most) if broke is None else (stood + broke) // 2
    return SmallestBudget(method, broke, most, tuple(probes.values()))


def _probe_steps(
    engine: Engine, run: Run, method: str, budget: int, start: np.ndarray | None
) -> Generator[tuple[str, None], None, BudgetProbe]:
    settings = cell_settings(run.settings, method, "adaptive").replace(budget=budget)
    clean, prompts, before = run.clean.picture, run.class_prompts, engine.passes
    steps = Steps(engine.attack_steps(clean, prompts, settings, run.label, None, run.cache_before, start))
    for done, total, *_ in steps:
        yield f"{DEFENCES[method].title} at {budget}/255: step {done} of at most {total}", None
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
        change=visible_change(clean.pixels, trace.pixels),
        forward=after.forward - before.forward,
        backward=after.backward - before.backward,
        seconds=trace.seconds,
    )
