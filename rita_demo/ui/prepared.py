"""The attacks on the samples at every kept strength, computed before anybody asks, while nobody waits.

Nothing is kept here: the engine remembers the attacks, what the views of their kept steps are encoded to and the
prompt updates for them, so that choosing a sample, and another strength of it, has only to decide.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from rita_demo import film as filming
from rita_demo import retelling
from rita_demo import story as telling
from rita_demo.data import samples
from rita_demo.errors import DemoError
from rita_demo.settings import Settings
from rita_demo.ui.background import strengths_seconds
from rita_demo.ui.behind import Behind, Ended
from rita_demo.ui.desk import Turns
from rita_demo.ui.example import WorkedExample

#: Seconds since anybody touched a result, opened the page or got an answer. A step of this keeps the next touch
#: waiting for up to a third of a second, so that it begins only when nobody seems to be at the page.
PAUSE = 30.0
#: Seconds for one sample's strengths; with a model that needs longer every step would keep visitors waiting.
MOST = 30.0
log = logging.getLogger("rita_demo.ui")


class Preparation(Behind):
    """Works through the samples once the worked example is complete, with its settings: those the page opens with."""

    def __init__(self, engine: Any, example: WorkedExample, turns: Turns) -> None:
        super().__init__()
        self._engine, self._example, self._turns = engine, example, turns
        self.done = threading.Event()

    def _work(self) -> None:
        try:
            while not self._example.wait(0.5, film=True):
                self._go_on()
            first = self._example.ready
            if first is not None and strengths_seconds(first.story) <= MOST:
                for key in samples.available():
                    self._prepare(key, first.story.settings)
            self.done.set()
        except Ended:
            raise
        except DemoError as error:  # then every visitor computes his own, and is told what is wrong
            log.warning("the samples were not prepared: %s", error)
        except Exception as error:
            log.error("the samples were not prepared", exc_info=error)

    def _prepare(self, key: str, settings: Settings) -> None:
        one = samples.sample(key)
        picture = one.load(square=settings.square, side=self._engine.info.side)
        self._engine.keep_work_on(picture)
        steps = telling.telling(
            self._engine, picture, one.names, settings, label=one.names.index(one.label)
        )
        story = telling.finish(steps, self._go_on)
        for _ in filming.film(self._engine, story):
            self._go_on()
        for budget in retelling.other_strengths(story):
            other = telling.finish(retelling.at_strength(self._engine, story, budget), self._go_on)
            for _ in filming.film(self._engine, other):
                self._go_on()

    def _go_on(self, _: object = None) -> None:
        """Between two steps: visitors come first."""
        while not self._ending and (
            self._turns.busy or time.monotonic() < self._turns.touched + PAUSE
        ):
            time.sleep(0.2)
        super()._go_on()
