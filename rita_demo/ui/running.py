"""What a press of the button does: one generator per long job, which yields what is finished.

Each yields ``{component: value}``; cancelling takes effect at the next yield, and whatever was on
the page before comes back when a job fails.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from typing import Any

from rita_demo import retelling
from rita_demo import story as telling
from rita_demo.records import Story
from rita_demo.ui import notice, words
from rita_demo.ui.ask import Ask
from rita_demo.ui.background import Background
from rita_demo.ui.board import Updates
from rita_demo.ui.desk import Desk
from rita_demo.ui.pictures import clean_part, noise_part
from rita_demo.ui.sessions import Session

DRAWS = 10


class Jobs:
    """The long jobs of the tab. ``first`` are the components that are filled before the others."""

    def __init__(self, desk: Desk, pictures: Any, first: list[Any]) -> None:
        self._desk, self._pictures, self._first = desk, pictures, first
        self.behind = Background(desk)

    def tell(self, session: Session, ask: Ask) -> Iterator[Updates]:
        """Attack and defend: pictures first, then verdicts, then figures."""
        desk, engine = self._desk, self._desk.engine_of(session)
        begin = time.perf_counter()
        try:
            story = yield from self._told(session, ask, engine, begin)
            # The answer first; the visitor's own session changes when all of it is there, so that
            # stopping or failing from here on still brings back what there was.
            drawing = {desk.status: self._answered("Drawing the views", 0.9, begin)}
            yield drawing | desk.board.only(preview(story), self._first)
            crops = self._crops(engine, story)
        except Exception:
            yield desk.board.redraw(session, "story")  # what was there before
            raise
        session.show(story, sample=ask.sample)
        session.crops = crops
        session.remember(story, ask.title)
        desk.sessions.fit()
        yield {desk.status: self._answered("Drawing the figures", 0.95, begin)}
        drawn = {desk.status: self._progress("The figures are drawn", 0.97, begin)}
        yield drawn | desk.board.redraw(session, "story")
        spent = words.seconds(time.perf_counter() - begin)
        yield {desk.status: notice.done(f"Done in {spent}.")}

    def draws(self, session: Session) -> Iterator[Updates]:
        """The delivered picture again with other draws of views."""
        story = session.story
        if story is None:
            return
        desk, begin, found = self._desk, time.perf_counter(), []
        for draw in retelling.draws(desk.engine_of(session), story, DRAWS):
            if session.story is not story:
                return
            found.append(draw)
            session.draws = tuple(found)
            now = f"Drawing the views again: {len(found)} of {DRAWS}"
            yield {
                desk.status: self._progress(now, len(found) / DRAWS, begin),
                **desk.board.redraw(session, "draws"),
            }
        yield {desk.status: notice.done(f"{DRAWS} draws of views compared.")}

    def _told(
        self, session: Session, ask: Ask, engine: Any, begin: float
    ) -> Generator[Updates, None, Story]:
        """Drive ``story.telling``: yields progress and finished parts, returns the story."""
        desk = self._desk
        yield {desk.notice: "", desk.status: self._stale("Reading the class names", 0.02, begin)}
        steps = telling.telling(
            engine, ask.picture, ask.names, ask.settings,
            label=ask.label, target=ask.target, cache=session.history.before(ask.picture.key),
            methods=ask.methods,
        )  # fmt: skip
        shown = 0
        while True:
            try:
                at = next(steps)
            except StopIteration as end:
                return end.value
            update: Updates = {desk.status: self._stale(at.sentence, 0.85 * at.fraction, begin)}
            parts = (at.clean is not None) + (at.attack is not None)
            if parts > shown:
                shown = parts
                update[self._pictures] = partial_pictures(at)
            yield update

    def _crops(self, engine: Any, story: Story) -> dict[str, Any]:
        crops = {"attacked": engine.view_pixels(story.attacked.picture, story.settings)}
        if story.attack is None:
            crops["clean"] = crops["attacked"]
        return crops

    @staticmethod
    def _progress(now: str, fraction: float, begin: float) -> str:
        return notice.progress(now, fraction, time.perf_counter() - begin)

    @staticmethod
    def _stale(now: str, fraction: float, begin: float) -> str:
        return notice.progress(now, fraction, time.perf_counter() - begin, stale=True)

    @staticmethod
    def _answered(now: str, fraction: float, begin: float) -> str:
        spent = time.perf_counter() - begin
        return notice.progress(now, fraction, spent, stale=True, answered=True)


def preview(story: Story) -> Session:
    """A session that holds nothing but this story, to draw a few panels from."""
    session = Session()
    session.show(story)
    return session


def partial_pictures(at: telling.Progress) -> dict[str, Any]:
    """The pictures that are finished while the rest is still being computed."""
    assert at.bank is not None
    assert at.clean is not None
    names = at.bank.names
    clean = clean_part(at.clean.picture, at.clean.verdicts["clip"], names)
    if at.attack is None:
        waiting = {"src": None, "hole": "The attack is at work …"}
        return {"clean": clean, "noise": waiting, "attacked": waiting}
    noise = noise_part(at.attack, len(at.attack.frames) - 1)
    return {
        "clean": clean,
        "noise": noise,
        "attacked": {"src": None, "hole": "The defence is at work …"},
    }
