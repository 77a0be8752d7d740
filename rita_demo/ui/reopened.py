"""A saved run in the place of the worked example: asked again, and compared with what the file says."""

from __future__ import annotations

from typing import Any

from rita_demo import bundle
from rita_demo import story as telling
from rita_demo.data.pictures import open_picture
from rita_demo.records import Picture, Story
from rita_demo.ui import archive
from rita_demo.ui.example import Example, WorkedExample
from rita_demo.ui.history import Shelf

MOST_TOLD = 4  # differences that are told


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
        self._finish(
            Example(
                story,
                "The saved picture",
                source=run.clean,
                memory=self.memory,
                said=compared(run, story),
            )
        )


def _memory(engine: Any, run: bundle.Run) -> Shelf | None:
    if run.memory is None or engine.info.name != run.backbone:
        return None
    return archive.unpack(run.memory, engine.classes(run.names, run.settings), run.backbone)


def compared(run: bundle.Run, story: Story) -> str:
    """What the page says: whether the run came out as it stands in the file, and what did not."""
    found = bundle.differences(run, story)
    asked = len(run.methods) * (1 if run.attacked is None else 2)
    if not found:
        square = (
            ""
            if run.attacked is None
            else ", and the attacked square equals the saved one in every pixel"
        )
        said = f"This saved run was made again: all {asked} answers are those in the file{square}."
    else:
        more = len(found) - MOST_TOLD
        told = found[:MOST_TOLD] + ([f"There are {more} more differences."] if more > 0 else [])
        said = f"This saved run was made again and differs from the file. {' '.join(told)}"
    if run.backbone != story.backbone.name:
        left = " Its memory belongs to that model and was left out." if run.memory else ""
        said += f" It was made with the model {run.backbone}; this page uses {story.backbone.name}.{left}"
    return said
