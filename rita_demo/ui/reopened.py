"""A saved run in the place of the worked example: asked again, and compared with what the file says."""

from __future__ import annotations

from typing import Any

from rita_demo import bundle
from rita_demo import story as telling
from rita_demo.data.pictures import open_picture
from rita_demo.errors import DemoError
from rita_demo.records import Picture, Story
from rita_demo.ui import archive
from rita_demo.ui.example import Example, WorkedExample
from rita_demo.ui.history import Shelf

MOST_TOLD = 5  # differences that are told


class ReopenedRun(WorkedExample):
    """A saved run, asked again of ``engine`` with the stored settings, from the stored memory.

    Raises:
        DemoError: the memory in the file is damaged or not of this run. (One of another model is left
            out, which the page says.)
    """

    def __init__(self, engine: Any, run: bundle.Run) -> None:
        super().__init__(engine, run.settings, ())
        self.sentence = "Opening the saved run"
        self.failure = "The saved run could not be computed."
        self.run, self.memory = run, _memory(engine, run)

    def first_picture(self) -> Picture:
        """The square of the file."""
        side = self._engine.info.side
        return open_picture(self.run.clean, square=self.run.settings.square, side=side)

    def _find(self) -> None:
        run = self.run
        steps = telling.telling(
            self._engine, self.first_picture(), run.names, run.settings, label=run.label,
            target=run.target, methods=run.methods,
            cache=None if self.memory is None else self.memory.state(),
        )  # fmt: skip
        story = telling.finish(steps, self._say)
        said, warning = compared(run, story)
        self._finish(
            Example(
                story,
                "The saved picture",
                source=run.clean,
                memory=self.memory,
                said=said,
                warning=warning,
            )
        )


def _memory(engine: Any, run: bundle.Run) -> Shelf | None:
    if run.memory is None or engine.info.name != run.backbone:
        return None
    return archive.unpack(run.memory, engine.classes(run.names, run.settings), run.backbone)


def compared(run: bundle.Run, story: Story) -> tuple[str, DemoError | None]:
    """What the page says: whether the run came out as it stands in the file, and if not, what did not."""
    found = bundle.differences(run, story)
    answers = len(run.methods) * (1 if run.attacked is None else 2)
    pixels = "" if run.attacked is None else " and every pixel"
    same = f"A saved run, made again: all {answers} answers{pixels} are those in the file."
    if run.backbone != story.backbone.name:
        left = " Its memory belongs to that model and was left out." if run.memory else ""
        found.insert(
            0,
            f"It was made with the model {run.backbone}; this page uses {story.backbone.name}.{left}",
        )
    elif not found:
        return same, None
    more = len(found) - MOST_TOLD
    told = found[:MOST_TOLD] + ([f"There are {more} more differences."] if more > 0 else [])
    return "A saved run, made again.", DemoError("It is not quite as in the file.", " ".join(told))
