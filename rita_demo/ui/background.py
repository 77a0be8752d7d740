"""What is computed for a visitor behind the answer: the attack's kept steps, and other strengths of it.

Nobody waits for it, and it waits while anybody's answer is being computed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import gradio as gr

from rita_demo import film as filming
from rita_demo import retelling
from rita_demo.records import Story
from rita_demo.ui.board import Updates
from rita_demo.ui.desk import Desk
from rita_demo.ui.reels import reeling, steps_that_fit
from rita_demo.ui.sessions import Session, measured

AT_ONCE = 60.0  # seconds; a film expected to take longer waits for a press of a button
STRENGTHS_AT_ONCE = 180.0  # the same for other strengths, which come last
#: Seconds between two words to the page: each costs a tenth, and what was prepared comes faster than that.
RARELY = 0.5
MOVED = ("step", "inside", "crops")
#: What a kept step of the film costs again, names of a story's timed stages.
STAGES = ("views and encoding", "decision", "other methods")


class Background:
    """The two jobs."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def film(self, session: Session) -> Iterator[Updates]:
        """The attack's kept steps, as they come: in the background, after everybody's first answers."""
        story, board = session.story, self._desk.board
        if story is None or story.attack is None or session.film or session.filming:
            return
        engine = self._desk.engine_of(session)
        most = steps_that_fit(measured(story.attacked), session.crops["attacked"].nbytes)
        session.filming = len(filming.kept_steps(filming.last_step(story), most))
        yield board.redraw(session, "film")
        frames = filming.film(engine, story, most)
        told, moved = time.monotonic(), False
        try:
            for _ in range(session.filming):
                yield from self._wait()
                frame = next(frames)
                crops = session.crops.get(session.views_of(frame.step))
                if crops is None:
                    crops = engine.view_pixels(frame.side.picture, story.settings)
                with session.lock:
                    if session.story is not story:
                        return  # another picture has come: its film is another event's
                    before = shown_step(session)
                    session.keep(frame, crops)
                moved = moved or shown_step(session) != before
                if session.filming and time.monotonic() < told + RARELY:
                    continue
                yield board.redraw(session, "film", *(MOVED if moved else ()))
                told, moved = time.monotonic(), False
        finally:
            if session.story is story:
                session.filming = 0

    def _wait(self) -> Iterator[Updates]:
        """Until nobody's picture is being computed."""
        while self._desk.turns.busy:
            yield {self._desk.status: gr.skip()}
            time.sleep(0.2)

    def strengths(self, session: Session) -> Iterator[Updates]:
        """The other strengths of the attack on screen, each with its kept steps, one after the other."""
        story, board = session.story, self._desk.board
        if story is None or session.filming:
            return
        engine, told = self._desk.engine_of(session), time.monotonic()
        for budget in retelling.other_strengths(story):
            if budget in session.reels:
                continue
            work = reeling(engine, story, budget)
            reel = None
            while reel is None:
                yield from self._wait()
                if not session.same_picture(story):
                    return  # another picture has come: its strengths are another event's
                try:
                    next(work)
                except StopIteration as end:
                    reel = end.value
                if time.monotonic() > told + RARELY:
                    yield {self._desk.status: gr.skip()}
                    told = time.monotonic()
            with session.lock:
                if not session.same_picture(story):
                    return
                session.keep_strength(budget, reel)
            self._desk.sessions.fit()
            more = budget != retelling.other_strengths(story)[-1]
            if more and time.monotonic() < told + RARELY:
                continue
            yield board.redraw(session, "film")
            told = time.monotonic()


def shown_step(session: Session) -> int | None:
    """The kept attack step that is looked at; None: the delivered picture."""
    return None if session.now is None else session.now.step


def _look_seconds(story: Story) -> float:
    return sum(story.seconds.get(s, 0.0) for s in STAGES) / 2


def film_seconds(story: Story) -> float:
    """How long the film of a story will about take: a step between is looked at like the delivered picture."""
    one = _look_seconds(story)
    return one * max(len(filming.kept_steps(filming.last_step(story))) - 2, 0)


def strengths_seconds(story: Story) -> float:
    """How long the other strengths of a story's attack will about take, with their kept steps."""
    if story.attack is None:
        return 0.0
    one = story.attack.seconds + _look_seconds(story) + film_seconds(story)
    return one * len(retelling.other_strengths(story))
