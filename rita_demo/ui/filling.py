"""Several pictures at once into the memory, and what that changes for the picture on screen."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from rita_demo import story as telling
from rita_demo.data import samples
from rita_demo.data.pictures import open_picture
from rita_demo.errors import PictureError, SettingError
from rita_demo.records import CacheState, Picture, Side, Story, Trace
from rita_demo.settings import Settings
from rita_demo.ui import notice, words
from rita_demo.ui.board import Updates
from rita_demo.ui.desk import Desk
from rita_demo.ui.sessions import Session

MOST_FILES = 32
SEEDS = 1  # attacked versions of each sample


@dataclass(frozen=True)
class Filler:
    """One picture to remember: what the log calls it, its class if known, and how it is attacked."""

    title: str
    picture: Picture
    label: int | None
    settings: Settings


def told(session: Session, engine: Any) -> Story:
    """The story on screen, if its memory can be used now."""
    story = session.story
    if story is None:
        raise PictureError("There is no picture yet.", "Run one on the first tab.")
    if engine.info.name != story.backbone.name:
        raise SettingError(
            "Another model was chosen since this picture was decided.",
            "Run a picture with it first.",
        )
    return story


def uploads(session: Session, engine: Any, paths: Any, attack: bool) -> list[Filler]:
    """Uploaded files as pictures to remember."""
    story = told(session, engine)
    if not isinstance(paths, list) or not paths or not all(isinstance(p, str) for p in paths):
        raise PictureError("No file arrived.", "Choose one or more pictures.")
    if len(paths) > MOST_FILES:
        raise PictureError(f"At most {MOST_FILES} pictures at once; got {len(paths)}.")
    settings = _attacking(story.settings) if attack else story.settings.but(attack="none")
    found = []
    for number, path in enumerate(paths, 1):
        try:
            picture = open_picture(
                Path(path).read_bytes(), square=settings.square, side=engine.info.side
            )
        except PictureError as error:
            raise PictureError(f"File {number}: {error.message}", error.hint) from error
        title = f"Upload {number}" + (", attacked" if attack else "")
        found.append(Filler(title, picture, None, settings))
    return found


def poison(session: Session, engine: Any) -> list[Filler]:
    """Attacked versions of every sample whose class is in the list."""
    story = told(session, engine)
    names, settings = story.bank.names, _attacking(story.settings)
    found = []
    for one in samples.available().values():
        if one.label not in names:
            continue
        picture = one.load(square=settings.square, side=engine.info.side)
        for seed in range(SEEDS):
            found.append(
                Filler(
                    f"{one.title}, attacked (seed {seed})",
                    picture,
                    names.index(one.label),
                    settings.but(attack_seed=seed),
                )
            )
    if not found:
        raise PictureError(
            "No sample shows one of these classes.", "Upload pictures and attack each of them."
        )
    return found


def _attacking(settings: Settings) -> Settings:
    return settings if settings.attack != "none" else settings.but(attack="pgd")


def fill(desk: Desk, session: Session, fillers: Sequence[Filler]) -> Iterator[Updates]:
    """Decide and commit each picture, one after another, then say what it changed."""
    engine = desk.engine_of(session)
    story, begin = told(session, engine), time.perf_counter()
    if story.settings.protocol != "stream":
        raise SettingError(
            "The memory is not kept from picture to picture with these settings.",
            "Choose “kept from picture to picture” in the settings, then run a picture.",
        )
    held = session.history.now
    before = story.cache_before if held is None else held.state()
    for number, filler in enumerate(fillers):
        status = f"Remembering {filler.title} ({number + 1} of {len(fillers)})"
        yield {
            desk.status: notice.progress(status, number / len(fillers), time.perf_counter() - begin)
        }
        for sentence in _commit(desk, session, story, filler):
            now = f"{status}: {sentence}"
            spent = time.perf_counter() - begin
            yield {desk.status: notice.progress(now, number / len(fillers), spent)}
        if session.story is not story:
            return
        desk.sessions.fit()
        yield desk.board.redraw(session, "memory")
    after = session.history.now
    if after is not None:
        session.lesson = lesson(engine, story, before, after.state(), len(fillers))
    took = words.seconds(time.perf_counter() - begin)
    yield {
        desk.status: notice.done(f"{len(fillers)} pictures decided in {took}."),
        **desk.board.redraw(session, "memory"),
    }


def _commit(desk: Desk, session: Session, story: Story, filler: Filler) -> Iterator[str]:
    """One picture through the whole method, saying what happens; the picture on screen stays."""
    engine, target = desk.engine_of(session), story.attack.target if story.attack else None
    now = session.history.now
    steps = telling.telling(
        engine, filler.picture, story.bank.names, filler.settings, label=filler.label,
        target=None if target == filler.label else target, cache=now.state() if now else None,
    )  # fmt: skip
    while True:
        try:
            yield next(steps).sentence
        except StopIteration as end:
            one: Story = end.value
            break
    if session.story is not story:
        return
    events = one.attacked.trace.change.events
    crops = engine.view_pixels(one.attacked.picture, one.settings) if events else None
    with session.lock:
        session.history = session.history.committed(
            filler.title, "", one.bank, one.cache_before, one.cache_after, events, crops
        )


def lesson(engine: Any, story: Story, before: CacheState, after: CacheState, count: int) -> str:
    """HTML: RITA's answer for the picture on screen from the memory before and after the filling."""
    sides = [("clean", story.clean)] + ([("attacked", story.attacked)] if story.attack else [])
    rows = ""
    for name, side in sides:
        then, now = (_decided(engine, story, side, state) for state in (before, after))
        rows += (
            f"<tr><th scope='row'>{name} picture</th>{_answer(then, story)}{_answer(now, story)}"
            f"<td class='outcome dim'>{_word(then, now, story)}</td></tr>"
        )
    return (
        f"<h3>What the {count} pictures changed</h3><table class='verdicts'><thead><tr><th></th>"
        "<th scope='col'>RITA before</th><th scope='col'>RITA now</th><th scope='col'></th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def _decided(engine: Any, story: Story, side: Side, state: CacheState | None) -> Trace:
    trace, _ = engine.decide(
        side.glance, story.bank, state, story.settings, tuning=side.trace.tuning
    )
    return trace


def bare(engine: Any, story: Story) -> Trace:
    """The delivered picture decided as if nothing had ever been remembered."""
    return _decided(engine, story, story.attacked, None)


def _answer(trace: Trace, story: Story) -> str:
    wrong = " wrong" if trace.verdict.label != story.label else ""
    name = escape(story.bank.names[trace.verdict.label])
    return f"<td class='answer{wrong}'><b>{name}</b><small>{escape(words.margin(trace.verdict))}</small></td>"


def _word(then: Trace, now: Trace, story: Story) -> str:
    if then.verdict.label == now.verdict.label:
        return "the same answer"
    if now.verdict.label == story.label:
        return "now right"
    return "misled by the memory" if then.verdict.label == story.label else "another wrong answer"
