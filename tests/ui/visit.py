"""Somebody in front of the memory's tab, without a browser."""

from __future__ import annotations

from typing import Any

import numpy as np

from rita_demo.records import Story
from rita_demo.ui.memory import MemoryTab


class Event:
    """What the browser, or somebody who pretends to be one, reports."""

    def __init__(self, data: Any) -> None:
        self._data = data


class Visit:
    """A visitor with a story, in front of the open tab."""

    def __init__(self, tab: MemoryTab, story: Story) -> None:
        self.tab, self.desk = tab, tab.desk
        self.name = self.desk.sessions.open(model="fake")
        self.session = self.desk.sessions.get(self.name)
        engine = self.desk.engine_of(self.session)
        self.session.show(story)
        self.session.crops["attacked"] = engine.view_pixels(story.attacked.picture, story.settings)
        self.session.remember(story, "A motorbike")
        self.tab.opened(self.name)
        self.tab.compared(self.name)

    @property
    def now(self) -> Any:
        return self.session.history.now

    def run(self, job: Any) -> None:
        for _ in job:
            pass


def states_equal(one: Any, other: Any) -> bool:
    names = ("features", "entropy", "born", "view", "count")
    return all(np.array_equal(getattr(one, n), getattr(other, n)) for n in names)
