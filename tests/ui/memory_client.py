"""A visitor of the tab *Memory*, without a browser."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from rita_demo.data.pictures import open_picture
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.process.generators import run_to_end
from rita_demo.records import Run
from rita_demo.ui.memory.tab import MemoryTab


class Event:
    """Event data as a browser sends them, or a forged one."""

    def __init__(self, data: Any) -> None:
        self._data = data


class MemoryClient:
    """A visitor with a run and the tab open."""

    def __init__(self, tab: MemoryTab, run: Run) -> None:
        self.tab, self.context = tab, tab.context
        self.name = self.context.sessions.open(model="toy")
        self.session = self.context.sessions.get(self.name)
        engine = self.context.engine_of(self.session)
        self.session.show(run)
        self.session.crops["attacked"] = engine.view_pixels(run.attacked.picture, run.settings)
        self.session.add_to_history(run, "A motorbike")
        self.session.touch("run")
        self.context.panels.open(self.session, "memory")

    @property
    def current(self) -> Any:
        return self.session.history.current

    @property
    def items(self) -> list[Any]:
        """Every stored view, as columns by name."""
        memory = self.session.history
        return [SimpleNamespace(**{n: c[row] for n, c in memory.columns.items()}) for row in self.current.held]

    @property
    def fullest(self) -> int:
        """The class that holds most views."""
        return int(self.session.history.state_at().count.argmax())

    def add(self, file: str) -> None:
        """Decide another picture without an attack, and add it to the memory; the run on screen stays."""
        session, shown, engine = self.session, self.session.run, self.context.engine_of(self.session)
        picture, settings = open_picture(Path(file).read_bytes()), shown.settings.replace(attack="none")
        request = RunRequest(picture, shown.class_prompts.names, settings)
        run = run_to_end(request.run_steps(engine, session.history.cache_before(picture.key)), lambda _: None)
        crops, session.crops = session.crops, {"attacked": engine.view_pixels(run.attacked.picture, settings)}
        session.add_to_history(run, "Upload")
        session.crops = crops

    def run(self, job: Any) -> None:
        for _ in job:
            pass


def states_equal(one: Any, other: Any) -> bool:
    names = ("features", "entropy", "born", "view", "count")
    return all(np.array_equal(getattr(one, n), getattr(other, n)) for n in names)
