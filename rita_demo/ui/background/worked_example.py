"""What the page shows when it opens, computed by the engine in the background: the worked example."""

import atexit
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rita_demo.data import samples
from rita_demo.pipeline import attack_steps as pipeline_steps
from rita_demo.pipeline import rerun
from rita_demo.pipeline import run as run_module
from rita_demo.records import AttackStepResult, Picture, Run
from rita_demo.records.errors import DemoError
from rita_demo.settings import RECOMMENDED, Settings
from rita_demo.ui.background.attack_steps import budget_variant_steps
from rita_demo.ui.session.cache_history import CacheSnapshot, History, HistoryEntry
from rita_demo.ui.session.session import SIDES, BudgetVariant, Session

log = logging.getLogger("rita_demo.ui")

#: (sample, budget in 1/255), tried in this order: the first where CLIP is fooled and RITA is not is shown, else the
#: first of all. The page says that it was chosen.
CANDIDATES = (("motorcycle", 4), ("motorcycle", 2), ("motorcycle", 1), ("coffee", 4))


WELCOME = "An example."


@dataclass(frozen=True)
class Example:
    """A run with its views for the screen, its attack steps with theirs, and the same for other budgets (1/255), as far
    as they are computed. ``message`` and ``warning`` are shown with it.

    A saved run has no ``sample``: its picture is the file ``source``, and it was decided from ``cache_snapshot``."""

    run: Run
    title: str
    sample: str | None = None
    source: bytes | None = None
    cache_snapshot: CacheSnapshot | None = None
    message: str = WELCOME
    warning: DemoError | None = None
    attack_steps: tuple[tuple[AttackStepResult, np.ndarray], ...] = ()
    crops: dict[str, np.ndarray] = field(default_factory=dict)
    budget_variants: tuple[tuple[int, BudgetVariant], ...] = ()


class Stopped(Exception):
    """The server shuts down."""


class WorkedExample:
    """Computed once in a background thread, for all visitors.

    ``sentence`` and ``fraction`` are its progress. ``sample_key`` names its sample before it is computed, for the form.
    """

    def __init__(
        self, engine: Any, settings: Settings = RECOMMENDED, candidates: Sequence[tuple[str, int]] = CANDIDATES
    ) -> None:
        self._stopping, self._thread = False, threading.Thread(target=self._work, daemon=True)
        here = samples.available()
        self._engine, self._settings = engine, settings
        self._candidates = [pair for pair in candidates if pair[0] in here]
        self.sample_key = self._candidates[0][0] if self._candidates else None
        self.sentence, self.fraction = "Preparing a worked example", 0.0
        self.failure = "The worked example could not be computed."
        self.result: Example | None = None
        self._viewable = threading.Event()  # all but attack steps and budgets; or there is no example
        self._complete = threading.Event()

    def start(self) -> None:
        """Start the thread, once."""
        if self._thread.ident is None:
            self._thread.start()
            atexit.register(self.stop)

    def stop(self) -> None:
        """Stop at the next step and wait for it: the interpreter must not exit while a thread runs torch."""
        self._stopping = True
        if self._thread.ident is not None:
            self._thread.join(60)

    def _check_stopped(self, _: object = None) -> None:
        if self._stopping:
            raise Stopped

    def first_picture(self) -> Picture | None:
        """The picture to show before its run is ready."""
        return samples.sample(self.sample_key).load() if self.sample_key else None

    def wait(self, seconds: float, *, complete: bool = False) -> bool:
        """Wait; True once it can be shown (``complete``: with all attack steps and budgets), or has failed."""
        return (self._complete if complete else self._viewable).wait(seconds)

    def _work(self) -> None:
        try:
            self._compute()
        except Stopped:
            pass
        except DemoError as error:
            self.sentence = str(error)
        except Exception as error:
            log.error("%s", self.failure, exc_info=error)
            self.sentence = self.failure
        finally:
            self._viewable.set()
            self._complete.set()

    def _compute(self) -> None:
        best: tuple[str, Run] | None = None
        for key, budget in self._candidates:
            run = self._run(key, self._settings.replace(budget=budget))
            rescued = run.attack is not None and run.attack.fooled and run.attacked.verdicts["rita"].label == run.label
            if best is None or rescued:
                best = key, run
            if rescued:
                break
        if best is not None:
            key, run = best
            self._finish(Example(run, samples.SAMPLES[key].title, sample=key))

    def _run(self, key: str, settings: Settings) -> Run:
        one = samples.sample(key)
        picture = one.load(square=settings.square, side=self._engine.info.side)
        steps = run_module.run_picture_steps(
            self._engine, picture, one.names, settings, label=one.names.index(one.label)
        )
        return run_module.run_to_end(steps, self._report)

    def _report(self, progress: run_module.RunProgress) -> None:
        self._check_stopped()
        self.sentence, self.fraction = progress.sentence, 0.6 * progress.fraction

    def _finish(self, example: Example) -> None:
        """Compute the views for the screen, then the attack steps and other budgets, which visitors need not wait for."""
        run = example.run
        self.sentence, self.fraction = "Drawing the views", 0.7
        cut = {side: self._engine.view_pixels(getattr(run, side).picture, run.settings) for side in SIDES}
        self.result = replace(example, crops=cut)
        self._viewable.set()
        for frame in pipeline_steps.attack_step_results(self._engine, run):
            crops = self._engine.view_pixels(frame.image_result.picture, run.settings)
            self.result = replace(self.result, attack_steps=(*self.result.attack_steps, (frame, crops)))
            self._check_stopped()
        for budget in rerun.other_budgets(run):
            variant = run_module.run_to_end(budget_variant_steps(self._engine, run, budget), self._check_stopped)
            self.result = replace(self.result, budget_variants=(*self.result.budget_variants, (budget, variant)))


def show_example(session: Session, example: Example) -> None:
    """Show the worked example, or the saved run, to a visitor."""
    session.show(example.run, shared=True, sample=example.sample)
    session.attack_defend.sample, session.attack_defend.source = example.sample, example.source
    session.crops = dict(example.crops)
    session.pending_steps = len(pipeline_steps.sampled_steps(pipeline_steps.last_step(example.run)))
    for frame, cut in example.attack_steps:
        session.store_attack_step(frame, cut)
    for budget, variant in example.budget_variants:
        session.store_budget_variant(budget, variant)
    if example.cache_snapshot is not None:
        session.history = History((HistoryEntry("As it was saved", example.cache_snapshot),))
    session.add_to_history(example.run, example.title)
