"""Several pictures at once into the memory, and what that changes for the picture on screen."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from rita_demo import story as telling
from rita_demo.data import samples
from rita_demo.data.pictures import open_picture
from rita_demo.errors import PictureError, SettingError
from rita_demo.records import CacheState, Picture, Side, Story, Trace
from rita_demo.settings import Settings
from rita_demo.ui import notice, recall, words
from rita_demo.ui.board import Updates
from rita_demo.ui.desk import Desk
from rita_demo.ui.sessions import Session

MOST_FILES = 32
VISIBLE = 5e-5  # a smaller change of a cosine distance rounds to nothing
MOST_SAID = 3  # refused files that are named
SEEDS = 2  # attacked versions of each sample: a class with one view costs what an empty one does


@dataclass(frozen=True)
class Filler:
    """One picture to remember: what the log calls it, its class if known, and how it is attacked.
    ``key`` names it in the history, where a picture has one place."""

    title: str
    key: str
    picture: Picture
    label: int | None
    settings: Settings


@dataclass
class Tally:
    """What a filling did: pictures ``decided``; of those whose class is known, views that ``entered``
    and how many of them under a ``wrong`` class."""

    decided: int = 0
    entered: int = 0
    wrong: int = 0


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


def uploads(
    session: Session, engine: Any, paths: Any, attack: bool
) -> tuple[list[Filler], list[str]]:
    """Uploaded files as pictures to remember, and a sentence on each file that is none.

    Raises:
        PictureError: when no file arrived, too many did, or not one of them is a picture.
    """
    story = told(session, engine)
    if not isinstance(paths, list) or not paths or not all(isinstance(p, str) for p in paths):
        raise PictureError("No file arrived.", "Choose one or more pictures.")
    if len(paths) > MOST_FILES:
        raise PictureError(
            f"At most {MOST_FILES} pictures at once; got {len(paths)}.", "Choose fewer."
        )
    settings = _attacking(story.settings) if attack else story.settings.but(attack="none")
    found, refused = [], []
    for number, path in enumerate(paths, 1):
        try:
            picture = open_picture(
                Path(path).read_bytes(), square=settings.square, side=engine.info.side
            )
        except PictureError as error:
            refused.append(f"File {number} was left out: {error.message}")
            continue
        title = f"Upload {number}" + (", attacked" if attack else "")
        found.append(Filler(title, picture.key, picture, None, settings))
    if not found:
        raise PictureError(" ".join(refused[:MOST_SAID]), "Nothing was remembered.")
    return found, refused


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
                    f"{picture.key} {seed}" if seed else picture.key,
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


def fill(
    desk: Desk, session: Session, fillers: Sequence[Filler], refused: Sequence[str] = ()
) -> Iterator[Updates]:
    """Decide and commit each picture, one after another, then say what it changed."""
    engine = desk.engine_of(session)
    story, begin = told(session, engine), time.perf_counter()
    if story.settings.protocol != "stream":
        raise SettingError(
            "The memory is not kept from picture to picture with these settings.",
            "Choose “kept from picture to picture” in the settings, then run a picture.",
        )
    if refused:
        yield {desk.notice: notice.sentence(_left_out(refused, len(fillers)))}
    before, tally = others(session, story), Tally()
    for number, filler in enumerate(fillers):
        status = f"Remembering {filler.title} ({number + 1} of {len(fillers)})"
        for sentence in chain([""], _commit(desk, session, story, filler, tally)):
            now = f"{status}: {sentence}" if sentence else status
            spent = time.perf_counter() - begin
            yield {desk.status: notice.progress(now, number / len(fillers), spent)}
        if session.story is not story:
            return
        desk.sessions.fit()
        yield desk.board.redraw(session, "memory")
    session.lesson = lesson(engine, story, before, others(session, story), tally)
    took = words.seconds(time.perf_counter() - begin)
    yield {desk.status: notice.done(f"{tally.decided} pictures decided in {took}.")}


def _left_out(refused: Sequence[str], taken: int) -> PictureError:
    more = len(refused) - MOST_SAID
    said = " ".join(refused[:MOST_SAID]) + (f" And {more} more." if more > 0 else "")
    return PictureError(said, f"The other {taken} are remembered.")


def others(session: Session, story: Story) -> CacheState | None:
    """The memory as it is now without what the picture on screen brought: it would be decided from it."""
    return session.history.before(story.clean.picture.key)


def _commit(
    desk: Desk, session: Session, story: Story, filler: Filler, tally: Tally
) -> Iterator[str]:
    """One picture through the whole method, saying what happens; the picture on screen stays."""
    engine, target = desk.engine_of(session), story.attack.target if story.attack else None
    steps = telling.telling(
        engine, filler.picture, story.bank.names, filler.settings, label=filler.label,
        target=None if target == filler.label else target, cache=session.history.before(filler.key),
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
            filler.title,
            filler.key,
            one.bank,
            one.cache_before,
            one.cache_after,
            events,
            crops,
            retry=False,
        )
    tally.decided += 1
    if filler.label is not None:
        tally.entered += len(events)
        tally.wrong += sum(event.label != filler.label for event in events)


def lesson(
    engine: Any, story: Story, before: CacheState | None, after: CacheState | None, tally: Tally
) -> str:
    """HTML: RITA's answer for the picture on screen from the memory before and after the filling."""
    sides = [("clean", story.clean)] + ([("attacked", story.attacked)] if story.attack else [])
    rows = ""
    for name, side in sides:
        then, now = (_decided(engine, story, side, state) for state in (before, after))
        rows += (
            f"<tr><th scope='row'>{name} picture</th>{_answer(then, story)}{_answer(now, story)}"
            f"<td class='outcome dim'>{_word(then, now, story)}</td></tr>"
        )
        rows += _costs(story, then, now)
    return (
        f"<h3>What the {tally.decided} pictures changed</h3>{_entered(tally)}<table class='verdicts'>"
        "<thead><tr><th><span class='sr'>picture</span></th><th scope='col'>before</th>"
        "<th scope='col'>now</th><th scope='col'>change</th></tr></thead>"
        f"<tbody>{rows}</tbody></table><p class='quiet small'>RITA’s answer and "
        f"{words.term('margin')}; below, what the memory says about the true class and about the class "
        "that moved most. The picture’s own views are left out of the memory here.</p>"
    )


def _entered(tally: Tally) -> str:
    if not tally.entered:
        return ""
    return (
        f"<p class='lead'>{words.views(tally.entered)} entered, {tally.wrong} of them under a wrong class "
        f"({words.percent(tally.wrong / tally.entered)}).</p>"
    )


def _costs(story: Story, then: Trace, now: Trace) -> str:
    """Two rows: d_cOT of the true class, and of the class whose d_cOT moved most."""
    change = np.asarray(now.cache_distance) - np.asarray(then.cache_distance)
    most = int(np.abs(change).argmax())
    moved = (most,) if abs(float(change[most])) >= VISIBLE else ()
    rows = ""
    for k in dict.fromkeys((story.label, *moved)):
        old, new = float(then.cache_distance[k]), float(now.cache_distance[k])
        said = words.signed(new - old) if abs(new - old) >= VISIBLE else "unchanged"
        rows += (
            f"<tr class='sub'><th scope='row'>d<sub>cOT</sub> of {escape(story.bank.names[k])}"
            f"<small>cosine distance</small></th><td>{old:.4f}</td><td>{new:.4f}</td>"
            f"<td>{said}</td></tr>"
        )
    return rows


def _decided(engine: Any, story: Story, side: Side, state: CacheState | None) -> Trace:
    trace, _ = engine.decide(
        side.glance, story.bank, state, story.settings, tuning=side.trace.tuning
    )
    return trace


def compare(engine: Any, session: Session) -> None:
    """Decide the picture on screen from an empty memory, and from the one of the moment looked at."""
    story = session.story
    if story is None or engine.info.name != story.backbone.name:
        return
    if session.bare is None or session.bare[0] is not story:
        session.bare = (story, _decided(engine, story, story.attacked, None))
    entry, seen = recall.entry(session), session.recalled
    if entry is not None and (seen is None or seen[0] is not story or seen[1] is not entry):
        shelf = session.history.without(story.clean.picture.key, recall.moment(session))
        state = None if shelf is None else shelf.state()
        session.recalled = (story, entry, _decided(engine, story, story.attacked, state))


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
