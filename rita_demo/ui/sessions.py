"""What the server remembers of each visitor, behind an opaque id.

The browser never holds more than the id (inside ``gr.State``): pictures, stories and memories stay
here, under a byte budget, dropped when unused for a while or when room is needed (least recently
used first), and deleted when the page is closed.  Nobody reaches another visitor's session: ids are
random and never leave the server.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np

from rita_demo import film as filming
from rita_demo.errors import DemoError
from rita_demo.records import Draw, FilmFrame, LeftOut, Plane, Side, Story, Trace
from rita_demo.settings import Settings
from rita_demo.ui.figures_state import Figures
from rita_demo.ui.history import Entry, History, Item
from rita_demo.ui.stream_state import Streaming

SIDES = ("attacked", "clean")
NOTHING = LeftOut()


@dataclass(frozen=True)
class Selection:
    """What is looked at, in every tab alike: ``k`` class, ``view``, ``atom`` prompt of that class,
    ``step`` of the attack asked for (``Session.now`` has the nearest one that is kept), ``side`` of the
    picture. None: nothing chosen."""

    k: int | None = None
    view: int | None = None
    atom: int | None = None
    step: int | None = None
    side: str = "attacked"
    item: tuple[int, int] | None = None  # class and slot of the memory
    moment: int | None = None  # of the memory's history; None: now


@dataclass(frozen=True)
class WhatIf:
    """What *Inside RITA* shows instead of the run: the ``story`` decided again with other
    ``settings``, without some views and prompts, or with another true class. All None: the run."""

    settings: Settings | None = None
    left_out: LeftOut = NOTHING
    label: int | None = None
    story: Story | None = None


@dataclass(frozen=True)
class Reel:
    """The picture on screen, attacked with one strength: fields as of :class:`Session`."""

    story: Story
    film: tuple[FilmFrame, ...] = ()
    crops: dict[str, np.ndarray] = field(default_factory=dict)
    shown: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Pinned:
    """The one state kept to compare with: a title in plain words, and the story."""

    title: str
    story: Story


@dataclass
class Session:
    """One visitor. ``source`` are the bytes of the uploaded file, ``sample`` the sample's name: what
    the next press of the button takes; ``told`` is the sample that ``story`` is of, if it is one. ``film`` are the kept steps of the attack, ``filming`` how many
    there will be while more are on their way, else 0. ``reels`` maps the other strengths of the attack that
    are kept (1/255) to what is shown of each. ``crops`` maps a side (or "step 3") to its views
    for the screen (N, s, s, 3) uint8, ``shown`` the pictures already made for the screen.
    ``borrowed`` is a story shared with everybody (the worked example). ``history`` is the memory through
    time; while its tab is in sight (``recalling``) ``bare`` holds the story decided from an empty memory,
    ``recalled`` from that of the moment looked at, ``turned`` the plane of the class looked at, and
    ``lesson`` the HTML of what the last filling changed. ``inside``: the tab *Inside
    RITA* is the one in sight; its figures are drawn only then, those of all classes at once only
    while their fold is open (``overview``); ``behind``: the first tab's may still show what was
    chosen before; ``owed``: what has changed there and is drawn in the first place only (``InTurn``). By name of their stop button: ``jobs`` counts the long jobs that run, ``stops`` how often
    they were asked to stop, and in ``cut`` are those whose last job did. ``stream`` and ``figures``: what the tabs
    *Stream* and *Figures of the paper* show."""

    model: str = ""
    source: bytes | None = None
    sample: str | None = None
    story: Story | None = None
    told: str | None = None
    film: tuple[FilmFrame, ...] = ()
    filming: int = 0
    reels: dict[int, Reel] = field(default_factory=dict)
    draws: tuple[Draw, ...] = ()
    crops: dict[str, np.ndarray] = field(default_factory=dict)
    shown: dict[str, dict[str, Any]] = field(default_factory=dict)
    selection: Selection = Selection()
    borrowed: Story | None = None
    history: History = field(default_factory=History)
    recalling: bool = False
    bare: tuple[Story, Trace] | None = None
    recalled: tuple[Story, Entry, Trace] | None = None
    turned: tuple[Story, tuple[Item, ...], int, Plane | None] | None = None
    lesson: str = ""
    what_if: WhatIf = WhatIf()
    pinned: Pinned | None = None
    inside: bool = False
    jobs: Counter[str] = field(default_factory=Counter)
    stops: Counter[str] = field(default_factory=Counter)
    cut: set[str] = field(default_factory=set)
    behind: bool = False
    owed: frozenset[str] = frozenset()
    overview: bool = False
    stream: Streaming = field(default_factory=Streaming)
    figures: Figures = field(default_factory=Figures)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def show(self, story: Story, *, borrowed: bool = False, sample: str | None = None) -> None:
        """Make ``story`` (of that ``sample``) the one on screen and look at what it decided."""
        with self.lock:
            self.told = sample
            self.story, self.film, self.draws, self.crops, self.shown = story, (), (), {}, {}
            self.borrowed = story if borrowed else None
            self.what_if, self.filming, self.reels = WhatIf(), 0, {}
            last = None if story.attack is None else filming.last_step(story)
            k, side = story.attacked.verdicts["rita"].label, "attacked" if story.attack else "clean"
            self.selection = Selection(k=k, step=last, side=side)

    def select(self, **changes: Any) -> None:
        """Look at something else."""
        self.selection = replace(self.selection, **changes)

    def keep_strength(self, budget: int, reel: Reel) -> None:
        """Add another strength. What may be added to is this visitor's own."""
        self.reels[budget] = replace(reel, crops=dict(reel.crops), shown=dict(reel.shown))

    def look_at_strength(self, budget: int) -> None:
        """Change to one of ``reels``; the one on screen takes its place among them. Class, view, prompt
        and attack step that are looked at stay, and so does a what-if."""
        with self.lock:
            story, reels = self.story, self.reels  # `Sessions.fit` may replace the latter meanwhile
            if story is None or budget not in reels:
                return
            reel = reels.pop(budget)
            reels[story.settings.budget] = Reel(story, self.film, self.crops, self.shown)
            if "clean" in self.crops:  # the same at every strength
                reel.crops["clean"] = self.crops["clean"]
            self.story, self.film, self.crops, self.shown = (
                reel.story, reel.film, reel.crops, reel.shown,
            )  # fmt: skip
            self.draws = ()
            if self.what_if.settings is not None:
                settings = self.what_if.settings.but(budget=budget)
                self.what_if = replace(self.what_if, settings=settings)

    def same_picture(self, story: Story | None) -> bool:
        """Whether ``story`` is what is on screen, under whatever strength."""
        return story is not None and self.story is not None and self.story.clean is story.clean

    @property
    def now(self) -> Story | None:
        """The story at the kept attack step that is looked at: what every panel draws."""
        story = self.story
        return story and filming.at_step(story, self.film, self.selection.step)

    @property
    def along(self) -> tuple[Side, ...]:
        """The attacked side at every kept step, as delivered last."""
        if self.story is None:
            return ()
        return (*(frame.side for frame in self.film), self.story.attacked)

    def keep(self, frame: FilmFrame, crops: np.ndarray) -> None:
        """Add the film's next step, and its views for the screen."""
        self.film = (*self.film, frame)
        self.crops.setdefault(self.views_of(frame.step), crops)
        if len(self.film) == self.filming:
            self.filming = 0

    def crops_of(self, side: str) -> np.ndarray | None:
        """The views of a side of :attr:`now` for the screen, if they have been cut."""
        return self.crops.get(self.crops_name(side))

    def crops_name(self, side: str) -> str:
        """Under which name ``crops`` holds them."""
        return side if side == "clean" or self.now is None else self.views_of(self.now.step)

    def views_of(self, step: int | None) -> str:
        """Under which name ``crops`` holds the views of an attack step: both ends are the sides."""
        last = 0 if self.story is None else filming.last_step(self.story)
        if step is None or step == last:
            return "attacked"
        return f"step {step}" if step else "clean"

    def remember(self, story: Story, title: str) -> None:
        """Note in the history what the story's delivered picture did to the memory; its views must be
        in ``crops`` already, for the thumbnails."""
        with self.lock:
            self.history = self.history.committed(
                title if story.attack is None else f"{title}, attacked",
                story.clean.picture.key,
                story.bank,
                story.cache_before,
                story.cache_after,
                story.attacked.trace.change.events,
                self.crops.get("attacked"),
            )

    def bytes(self) -> int:
        """How much memory only this visitor needs. (Asked from outside: each field may change meanwhile, and is read once.)"""
        bare, recalled = self.bare, self.recalled
        own = (
            () if self.same_picture(self.borrowed) else self._kept(),
            self.draws,
            self.history,
            bare[1] if bare else None,
            recalled[2] if recalled else None,
            self.what_if.story,
            self.pinned,
            self.stream.course,
            self.figures,
        )
        all_shown = (self.shown, *(reel.shown for reel in tuple(self.reels.values())))
        parts = [part for shown in all_shown for part in tuple(shown.values())]
        text = sum(len(part.get("src") or "") for part in parts)
        return len(self.source or b"") + text + self.stream.weight() + measured(own)

    def _kept(self) -> tuple[Any, ...]:
        return self.story, self.film, self.crops, self.reels


def measured(value: Any, seen: set[Any] | None = None) -> int:
    """Bytes of the arrays inside a record; memory that several of them share is counted once."""
    seen = set() if seen is None else seen
    array = isinstance(value, np.ndarray)
    name = (value.ctypes.data, value.nbytes) if array else id(value)
    if name in seen:
        return 0
    seen.add(name)
    if array:
        return value.nbytes
    if is_dataclass(value) and not isinstance(value, type):
        return sum(measured(getattr(value, f.name), seen) for f in fields(value))
    if isinstance(value, dict):
        return sum(measured(v, seen) for v in tuple(value.values()))  # others may add to it
    if isinstance(value, tuple | list):
        return sum(measured(v, seen) for v in value)
    return 0


class SessionLost(DemoError):
    """The visitor's session was deleted."""


class Sessions:
    """All visitors. Thread-safe.

    Args:
        budget: bytes that all sessions together may hold.
        idle: seconds after which an unused session is deleted.
        clock: seconds, monotonic; tests bring their own.
    """

    def __init__(
        self,
        budget: int = 1 << 30,
        idle: float = 3600.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._budget, self._idle, self._clock = budget, idle, clock
        self._open: OrderedDict[str, tuple[Session, float]] = OrderedDict()
        self._of_page: dict[str, str] = {}
        self._lock = threading.Lock()

    def open(self, page: str | None = None, **first: Any) -> str:
        """A new session; ``page`` is the browser page (Gradio's session hash) that will close it."""
        name = secrets.token_urlsafe(24)
        with self._lock:
            self._sweep()
            self._open[name] = (Session(**first), self._clock())
            if page:
                self._open.pop(self._of_page.pop(page, ""), None)
                self._of_page[page] = name
        return name

    def get(self, name: object) -> Session:
        """The session of that id.

        Raises:
            SessionLost: when there is none (any more), with a sentence for the visitor.
        """
        with self._lock:
            self._sweep()
            if not isinstance(name, str) or name not in self._open:
                raise SessionLost(
                    "The server no longer has this page's pictures: it was unused for long, or the "
                    "connection broke.",
                    "Reload the page to start again.",
                )
            session, _ = self._open[name]
            self._open[name] = (session, self._clock())
            self._open.move_to_end(name)
            return session

    def close_page(self, page: str | None) -> None:
        """Delete everything of a page that was closed."""
        with self._lock:
            self._open.pop(self._of_page.pop(page or "", ""), None)

    def fit(self) -> None:
        """Make room until the budget holds, the least recently used first; the newest stays. What can be
        computed again (other strengths of an attack) goes before anybody's session does."""
        with self._lock:
            self._sweep()
            sizes = {name: session.bytes() for name, (session, _) in self._open.items()}
            total = sum(sizes.values())
            for name in list(self._open)[:-1]:
                session, _ = self._open[name]
                if total > self._budget and session.reels:
                    session.reels = {}
                    total, sizes[name] = total - sizes[name] + session.bytes(), session.bytes()
            for name in list(self._open)[:-1]:
                if total <= self._budget:
                    break
                total -= sizes[name]
                del self._open[name]

    def __len__(self) -> int:
        return len(self._open)

    def _sweep(self) -> None:
        now = self._clock()
        for name in [n for n, (_, used) in self._open.items() if now - used > self._idle]:
            del self._open[name]
        self._of_page = {p: n for p, n in self._of_page.items() if n in self._open}
