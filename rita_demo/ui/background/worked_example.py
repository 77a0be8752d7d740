"""What the page shows when it opens: the worked example, stored or computed by the engine in the background."""

import atexit
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
from PIL import Image, ImageOps

from rita_demo.data import memory_file, samples
from rita_demo.engine.loading import LOADING, loading_steps
from rita_demo.engine.protocol import Engine
from rita_demo.pipeline import bundle_read, story
from rita_demo.pipeline import example as example_module
from rita_demo.pipeline import run as run_module
from rita_demo.process.generators import run_to_end
from rita_demo.process.shutdown import ShuttingDown
from rita_demo.records import ImageResult, Picture, Run
from rita_demo.records.errors import DemoError
from rita_demo.settings import RECOMMENDED, Settings
from rita_demo.ui.background.attack_steps import store_attack_steps, store_checks
from rita_demo.ui.session.session import SIDES, Session

log = logging.getLogger("rita_demo.ui")
MAX_LISTED_DIFFERENCES = 5  # of a saved run that is not quite as in its file


class WorkedExample:
    """Computed once in a background thread, for all visitors.

    ``session``: a visitor who sees it; None until it can be shown, or when it failed. Attack steps are added to
    it later. ``message`` and ``warning`` are shown with it. ``sentence`` and ``fraction`` are the progress, and
    ``sample_key`` names its sample before it is computed, for the form. ``compute`` is the work: by default the candidates.
    """

    def __init__(
        self,
        engine: Engine,
        settings: Settings = RECOMMENDED,
        candidates: Sequence[tuple[str, int]] = example_module.CANDIDATES,
        compute: Callable[[], None] | None = None,
    ) -> None:
        self._stopping, self._thread = False, threading.Thread(target=self._work, daemon=True)
        here = samples.available()
        self._engine, self._settings, self.compute = engine, settings, compute or self._choose
        self._candidates = [pair for pair in candidates if pair[0] in here]
        self.sample_key = self._candidates[0][0] if self._candidates else None
        self.sentence, self.fraction = "Preparing a worked example", 0.0
        self.failure = "The worked example could not be computed."
        self.session: Session | None = None
        self.message = "Stored example."
        self.warning: DemoError | None = None
        self.picture: Picture | None = None  # of a run without a sample
        self._viewable = threading.Event()  # all but attack steps and checks; or there is no example
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

    def first_picture(self) -> Picture | None:
        """The picture to show before its run is ready."""
        return samples.sample(self.sample_key).load() if self.sample_key else self.picture

    def wait(self, seconds: float, *, complete: bool = False) -> bool:
        """Wait; True once it can be shown (``complete``: with all attack steps and checks), or has failed."""
        return (self._complete if complete else self._viewable).wait(seconds)

    def show(self, visitor: Session) -> None:
        """Show a visitor the example as far as it is computed."""
        example = self.session
        assert example is not None
        assert example.run is not None
        visitor.show(example.run, shared=True, sample=example.run_sample)
        visitor.attack_defend.source, visitor.attack_defend.sample = example.attack_defend.source, example.run_sample
        visitor.history, visitor.pending_steps = example.history, 1
        self.show_more(visitor)

    def show_more(self, visitor: Session) -> bool:
        """Show a visitor of the example what was computed meanwhile; returns whether there was something."""
        example = self.session
        assert example is not None
        with visitor.lock, example.lock:
            kept = (len(visitor.attack_steps), visitor.pending_steps, visitor.checks)
            if visitor.run is not example.run:
                return False
            if visitor.pending_steps:
                visitor.attack_steps, visitor.pending_steps = example.attack_steps, example.pending_steps
                visitor.crops = example.crops | visitor.crops
            visitor.checks = visitor.checks or example.checks
            return kept != (len(visitor.attack_steps), visitor.pending_steps, visitor.checks)

    def _work(self) -> None:
        try:
            preparing = self.sentence
            for _ in loading_steps(self._engine, wanted=False):
                self.sentence = LOADING
                self._check_stopping()
            self.sentence = preparing
            self.compute()
        except DemoError as error:
            self.sentence = str(error)
        except Exception as error:
            log.error("%s", self.failure, exc_info=error)
            self.sentence = self.failure
        finally:
            self._viewable.set()
            self._complete.set()

    def _choose(self) -> None:
        steps = example_module.choose_steps(self._engine, self._settings, self._candidates)
        if (found := run_to_end(steps, self.report)) is not None:
            self.finish(Session(run_sample=found[0]), found[1], samples.SAMPLES[found[0]].title)

    def _check_stopping(self) -> None:
        if self._stopping:
            raise ShuttingDown

    def report(self, progress: run_module.RunProgress) -> None:
        self._check_stopping()
        self.sentence, self.fraction = progress.sentence, 0.6 * progress.fraction

    def finish(self, example: Session, run: Run, title: str) -> None:
        """Compute the views for the screen, then the attack steps and checks, which visitors need not wait for."""
        self.sentence, self.fraction = "Cutting the crops for the screen", 0.7
        crops = {side: self._engine.view_pixels(getattr(run, side).picture, run.settings) for side in SIDES}
        self.complete(self.opened(example, run, title, crops))

    def opened(self, example: Session, run: Run, title: str, crops: dict[str, np.ndarray]) -> Iterator[object]:
        """Let visitors see the example; returns the work that is left, which needs the engine."""
        example.show(run, sample=example.run_sample)
        example.crops = crops
        example.add_to_history(run, title)
        self.session = example
        work = chain(*(store(self._engine, example, run) for store in (store_attack_steps, store_checks)))
        next(work, None)  # now it is known how many steps there will be
        self._viewable.set()
        return work

    def complete(self, work: Iterator[object]) -> None:
        for _ in work:
            self._check_stopping()


def stored_example(engine: Engine) -> WorkedExample:
    """The worked example that comes with this project: shown before the model is loaded. Raises DataError: its file is
    missing or broken."""
    example = WorkedExample(engine)
    example.sample_key, run = example_module.stored()
    crops = {side: displayed_views(getattr(run, side), engine.info.side) for side in SIDES}
    session = Session(run_sample=example.sample_key)
    left = example.opened(session, run, samples.SAMPLES[example.sample_key].title, crops)
    session.checks = story.stored()
    example.compute = lambda: example.complete(left)
    return example


def displayed_views(result: ImageResult, side: int) -> np.ndarray:
    """The views of a picture for the screen, (N, side, side, 3) uint8: the engine's ``view_pixels`` as Pillow cuts them."""
    picture, views = Image.fromarray(result.picture.pixels), result.encoded_views.views
    cut = []
    for box, flipped in zip((views.boxes * picture.width).tolist(), views.flipped):
        view = picture.resize((side, side), Image.Resampling.BICUBIC, tuple(box))
        cut.append(np.asarray(ImageOps.mirror(view) if flipped else view))
    return np.stack(cut)


def reopened(engine: Engine, saved: bundle_read.SavedRun) -> WorkedExample:
    """A saved run, in place of the worked example: run again with the stored settings and the stored cache. Raises DemoError: the cache in the file is
    damaged or not of this run. (One of another model is ignored, with a message.)"""
    session, request = Session(), saved.opened(engine.info.side)
    session.attack_defend.source = saved.picture
    if saved.cache_file is not None and engine.info.name == saved.backbone:
        class_prompts = engine.encode_classes(saved.names, saved.settings)
        memory = memory_file.unpack(saved.cache_file, class_prompts, saved.backbone)
        session.history = memory.with_moments((replace(memory.moments[-1], title="As it was saved"),))

    def compute() -> None:
        run = run_to_end(request.run_steps(engine, session.history.cache_before("")), example.report)
        example.message, example.warning = comparison(saved, run)
        example.finish(session, run, "The saved picture")

    example = WorkedExample(engine, saved.settings, (), compute)
    example.sentence, example.failure = "Opening the saved run", "The saved run could not be computed."
    example.picture = request.picture
    return example


def comparison(saved: bundle_read.SavedRun, run: Run) -> tuple[str, DemoError | None]:
    """The page's message, and an error with the differences between the run and the file, if there are any."""
    found = bundle_read.differences(saved, run)
    answers = len(saved.methods) * (1 if saved.attacked is None else 2)
    pixels = "" if saved.attacked is None else " and every pixel"
    same = f"A saved run, made again: all {answers} answers{pixels} are those in the file."
    if saved.backbone != run.backbone.name:
        left = " Its memory belongs to that model and was left out." if saved.cache_file else ""
        found.insert(0, f"It was made with the model {saved.backbone}; this page uses {run.backbone.name}.{left}")
    elif not found:
        return same, None
    more = len(found) - MAX_LISTED_DIFFERENCES
    listed = found[:MAX_LISTED_DIFFERENCES] + ([f"There are {more} more differences."] if more > 0 else [])
    return "A saved run, made again.", DemoError("It is not quite as in the file.", " ".join(listed))
