"""What the server keeps for one visitor.

The browser holds only an opaque id (in ``gr.State``): pictures, runs and caches stay on the server. What all tabs
share stands in :class:`Session` itself; what belongs to one tab stands in that tab's record.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rita_demo.data.memory import MemoryTable, Moment
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders, OnlyRight, Request, StreamRun
from rita_demo.pipeline.arena import ArenaTable
from rita_demo.pipeline.attack_steps import last_step, run_at_step
from rita_demo.process.time_left import TimeLeft
from rita_demo.records import AttackStepResult, Exclusions, ImageResult, Run, StoryChecks, TheoremBounds, Trace
from rita_demo.records.errors import DemoError
from rita_demo.records.json_value import JsonValue
from rita_demo.records.measurement import AblationPoint, PlacedCloud, RunTime, StreamTrajectory
from rita_demo.settings import Settings
from rita_demo.ui.widgets.data_uri import jpeg_uri

if TYPE_CHECKING:
    from pandas import DataFrame

SIDES = ("attacked", "clean")
NO_EXCLUSIONS = Exclusions()
MAX_MEMORIES = 32  # of one visitor
THUMBNAIL_SIZE = 64  # pixels of a picture of a stream
MAX_THUMBNAILS = 96
#: Id of the first room, which is in sight when the page opens.
STORY = "story"


@dataclass(frozen=True)
class Memories:
    """``histories`` in the order in which they came; the first is the visitor's own. The next picture is decided from the one
    ``in_use``, a place in them. ``opened``: what that one was when a picture of a stream was opened with it, which opening
    the picture again brings back."""

    histories: tuple[MemoryTable, ...] = (MemoryTable(),)
    in_use: int = 0
    opened: MemoryTable | None = None

    @property
    def current(self) -> MemoryTable:
        return self.histories[self.in_use]

    def changed(self, history: MemoryTable) -> Memories:
        """The one in use goes on as ``history``."""
        n = self.in_use
        return replace(self, histories=(*self.histories[:n], history, *self.histories[n + 1 :]))

    def another(self, history: MemoryTable, *, opened: bool = False) -> Memories:
        """From now on ``history`` is in use. The earlier one stays, unless it never held anything, or opening a stream's
        picture again brings it back; ``opened``: that is so of this one. Over the limit the oldest of the others leaves."""
        before, new = self.current, history if opened else None
        own = not self.in_use
        if not len(before.label) and (not own or not history.origin):
            return replace(self.changed(history), opened=new)
        if self.opened is not None and len(set(before.moments) - set(self.opened.moments)) <= 1:
            return replace(self.changed(history), opened=new)
        full = len(self.histories) >= MAX_MEMORIES
        gone = next(n for n in range(1, len(self.histories)) if n != self.in_use) if full else None
        kept = tuple(one for n, one in enumerate(self.histories) if n != gone)
        return Memories((*kept, history), len(kept), new)

    def using(self, n: int) -> Memories:
        """The one at place ``n`` is in use; the others stay as they are."""
        return Memories(self.histories, n)


@dataclass(frozen=True)
class Selection:
    """What is selected, in every tab alike; None: nothing. ``k`` is a class, ``atom`` one of its prompts, ``view`` a
    view, ``step`` an attack step (:attr:`Session.run_at_step` has the nearest one that is
    stored), ``item`` class and slot of a cached view at ``moment`` of the cache history (None: the latest)."""

    k: int | None = None
    view: int | None = None
    atom: int | None = None
    step: int | None = None
    item: tuple[int, int] | None = None
    moment: int | None = None


@dataclass
class AttackDefendState:
    """The form: ``filled``: what its components are to show; ``settings``: of the methods, by name, as *Inside*'s drawer has them
    (a missing one is at its default); the picture of the next run, either the bytes ``source`` of an upload or the name of a
    ``sample``; ``choice``: how many were chosen so far; ``attack_before``: the attack that the form had before a
    knowing attacker took its place; and whether the form asks for another run. ``shown_choice``: the choice that the run on screen is of; ``list_begun``: the own list was opened and has its
    first name. ``told``: what was said of the size of uploads."""

    source: bytes | None = None
    sample: str | None = None
    choice: int = 0
    shown_choice: int = 0
    attack_before: str = ""
    form_differs: bool = False
    filled: dict[Any, Any] = field(default_factory=dict)
    settings: dict[str, JsonValue] = field(default_factory=dict)
    list_begun: bool = False
    told: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class WhatIf:
    """What *Inside* shows instead of the run: ``run`` is decided again with other ``settings``, with
    ``exclusions``, or with another true class ``label``. All None: the run itself."""

    settings: Settings | None = None
    exclusions: Exclusions = NO_EXCLUSIONS
    label: int | None = None
    run: Run | None = None


@dataclass
class InsideState:
    """*Inside*; ``undone``: the what-if that was left for the run; ``open_folds``: names of the open
    folds, whose figures are drawn; ``awaited``: what *Inside* says is being computed, "" for nothing."""

    what_if: WhatIf = WhatIf()
    undone: WhatIf = WhatIf()
    open_folds: frozenset[str] = frozenset()
    awaited: str = ""


@dataclass
class MemoryState:
    """*Memory*: the run on screen decided from an empty cache and from the cache of the selected moment; ``chosen``: the visitor
    has chosen what is shown."""

    chosen: bool = False
    empty_cache_result: tuple[Run, Trace] | None = None
    cache_result: tuple[Run, Moment, Trace] | None = None


@dataclass
class ArenaView:
    """What *Arena* shows. ``model``: of the switch, "" before it was used; the chosen cell, row (no column) or column (no
    method); ``methods``, ``columns``, ``models``: what was not left out, None for all; ``running``: the cells (model, defence,
    column) that are measured now; ``asked`` counts the cells that a click asked to fill."""

    model: str = ""
    method: str = "rita"
    column: str = "adaptive"
    methods: tuple[str, ...] | None = None
    columns: tuple[str, ...] | None = None
    models: tuple[str, ...] | None = None
    running: frozenset[tuple[str, str, str]] = frozenset()
    asked: int = 0


@dataclass
class StreamState:
    """``recording`` is the stream on screen (this visitor's or a stored one; None: a memory of their own is), ``trajectory``
    what it measured, ``history`` its memory before the first and after each picture. ``request`` is the stream that this
    visitor started last; ``running``, ``time_left`` and ``stop_requested`` belong to it, and while ``following`` it is on
    screen as it grows. ``known``: the streams of the menu. ``views``: id of a view -> its row, made once; ``thumbnails``:
    picture -> data URI, "" for one that cannot be shown."""

    recording: StreamRun | None = None
    trajectory: StreamTrajectory | None = None
    history: MemoryTable | None = None
    request: Request | None = None
    running: bool = False
    following: bool = False
    time_left: TimeLeft = field(default_factory=TimeLeft)
    stop_requested: bool = False
    known: tuple[StreamRun, ...] = ()
    views: dict[int, dict[str, Any]] = field(default_factory=dict)
    thumbnails: dict[str, str] = field(default_factory=dict)

    def show(self, recording: StreamRun, trajectory: StreamTrajectory, history: MemoryTable) -> None:
        """Show a stream as far as it is written."""
        self.recording, self.trajectory, self.history = recording, trajectory, history

    def close(self) -> None:
        """Show no stream; one that runs goes on."""
        self.recording = self.trajectory = self.history = None
        self.following, self.views, self.thumbnails = False, {}, {}

    @property
    def decided(self) -> int:
        """How many pictures are decided."""
        return 0 if self.trajectory is None else len(self.trajectory.pictures)

    def thumbnail(self, folders: DataFolders, picture: str) -> str:
        """A small clean picture as data URI, made once; "" when its file is not here."""
        if picture not in self.thumbnails and self.recording is not None:
            while len(self.thumbnails) >= MAX_THUMBNAILS:
                self.thumbnails.pop(next(iter(self.thumbnails)))
            try:
                square = evaluation_page.picture_of(folders, self.recording, picture)
                self.thumbnails[picture] = jpeg_uri(square.pixels, THUMBNAIL_SIZE)
            except DemoError:
                self.thumbnails[picture] = ""
        return self.thumbnails.get(picture, "")


@dataclass(frozen=True)
class Compared:
    """Two measurements by their names, the pictures that the first alone has right, and small ones of the first of these as
    data URIs, "" where a file is not here."""

    first: str
    second: str
    found: OnlyRight
    images: tuple[str, ...]


#: The figures of the wall, in the order of their tiles.
FIGURES = ("cloud", "kl", "theorem", "settings", "paper", "overview")


@dataclass(frozen=True)
class FiguresState:
    """``shown``: one of ``FIGURES``. ``projection`` is "PCA" or "UMAP"; ``k`` the selected class of the cloud, ``picture`` one
    of its pictures, ``point`` one of its points, ``lasso_points`` those inside the lasso; ``released_class``: the class of the selection
    of all rooms that was deselected here. ``theorem_bounds``: Theorem 1 on a run; ``ablation_points`` and ``times``: the measurements of
    ``run_folder`` ("": those shipped with this copy). ``printed``: the paper's accuracies beside them. ``compared``: two runs, picture by picture. ``setting`` and ``dataset``: of the
    figures of measurements."""

    shown: str = FIGURES[0]
    placed_cloud: PlacedCloud | None = None
    projection: str = "UMAP"
    k: int | None = None
    picture: int | None = None
    point: int | None = None
    lasso_points: tuple[int, ...] = ()
    released_class: int | None = None
    theorem_bounds: tuple[Run, dict[str, TheoremBounds]] | None = None
    run_folder: str = ""
    ablation_points: tuple[AblationPoint, ...] = ()
    times: tuple[RunTime, ...] = ()
    printed: DataFrame | None = field(default=None, compare=False)
    compared: Compared | None = None
    setting: str = "step_back"
    dataset: str = "DTD"


@dataclass
class JobState:
    """Long jobs by the name of their stop button: how many run, how often the button was pressed, and which were stopped."""

    running: Counter[str] = field(default_factory=Counter)
    stop_requests: Counter[str] = field(default_factory=Counter)
    stopped: set[str] = field(default_factory=set)


@dataclass
class Session:
    """One visitor.

    ``run`` is on screen, of the sample ``run_sample`` if it is one; ``shared_run`` is a run that all visitors share
    (the worked example). ``attack_steps`` are the stored steps of its attack; while more are computed,
    ``pending_steps`` is how many there will be, else 0. ``checks``: what the Story asks of its
    pictures. ``crops`` maps "clean", "attacked" or "step 3" to views for the screen, (N, s, s, 3) uint8; ``image_cache``
    holds pictures already encoded for the screen. ``memories`` has the cache over time.
    ``room`` is the id of the one in sight. ``changes`` counts what happened; ``changed_at`` has for each topic the latest that
    changed it, and ``drawn_at`` for each panel, by its number, the latest that it shows. ``said_when_drawn``: HTML that the status
    line shows as soon as the room in sight is drawn. ``arena`` is the last table of *Arena*.
    """

    model: str = ""
    run: Run | None = None
    run_sample: str | None = None
    shared_run: Run | None = None
    attack_steps: tuple[AttackStepResult, ...] = ()
    pending_steps: int = 0
    checks: StoryChecks | None = None
    crops: dict[str, np.ndarray] = field(default_factory=dict)
    image_cache: dict[str, dict[str, JsonValue]] = field(default_factory=dict)
    selection: Selection = Selection()
    memories: Memories = field(default_factory=Memories)
    room: str = STORY
    changes: int = 0
    changed_at: dict[str, int] = field(default_factory=dict)
    drawn_at: dict[int, int] = field(default_factory=dict)
    said_when_drawn: str = ""
    jobs: JobState = field(default_factory=JobState)
    attack_defend: AttackDefendState = field(default_factory=AttackDefendState)
    inside: InsideState = field(default_factory=InsideState)
    arena: ArenaTable | None = None
    arena_view: ArenaView = field(default_factory=ArenaView)
    memory: MemoryState = field(default_factory=MemoryState)
    stream: StreamState = field(default_factory=StreamState)
    figures: FiguresState = field(default_factory=FiguresState)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def show(self, run: Run, *, shared: bool = False, sample: str | None = None) -> None:
        """Put ``run`` (of that ``sample``) on screen and select the class that RITA answers."""
        with self.lock:
            self.run, self.run_sample, self.shared_run = run, sample, run if shared else None
            self.attack_steps, self.pending_steps, self.checks = (), 0, None
            self.crops, self.image_cache = {}, {}
            self.inside.what_if, self.inside.undone, self.inside.awaited = WhatIf(), WhatIf(), ""
            self.attack_defend.form_differs = False
            other = self.stream.history is not None and self.stream.history.key != run.class_prompts.key
            if not shared and other:
                self.stream.close()
            self.selection = Selection(
                k=run.attacked.verdicts["rita"].label, step=last_step(run) if run.attack else None
            )

    @property
    def history(self) -> MemoryTable:
        """The cache over time: of the memory in use."""
        return self.memories.current

    @history.setter
    def history(self, history: MemoryTable) -> None:
        self.memories = self.memories.changed(history)

    def touch(self, *topics: str) -> None:
        """These topics changed: what shows them is stale."""
        with self.lock:
            self.changes += 1
            self.changed_at |= dict.fromkeys(topics, self.changes)

    def select(self, **changes: Any) -> None:
        self.selection = replace(self.selection, **changes)

    @property
    def run_at_step(self) -> Run | None:
        """The run at the stored attack step nearest to the selected one: what every panel draws."""
        return self.run and run_at_step(self.run, self.attack_steps, self.selection.step)

    @property
    def displayed_run(self) -> Run | None:
        """What *Inside* draws: the what-if if there is one, else the run at the selected attack step."""
        return self.inside.what_if.run or self.run_at_step

    @property
    def attacked_by_step(self) -> tuple[ImageResult, ...]:
        """The attacked picture's result at every stored step, the delivered one last."""
        delivered = () if self.run is None else (self.run.attacked,)
        return (*(result.image_result for result in self.attack_steps), *delivered)

    def selected_class_in(self, names: Sequence[str]) -> int | None:
        """The selected class as another list of ``names`` numbers it; None if the list does not have it."""
        if self.run is None or self.selection.k is None:
            return None
        name = self.run.class_prompts.names[self.selection.k]
        return names.index(name) if name in names else None

    @property
    def shown_history(self) -> MemoryTable:
        """The cache history that *Memory* shows: that of the stream on screen, or of the memory in use."""
        return self.history if self.stream.history is None else self.stream.history

    @property
    def selected_moment(self) -> int:
        """Number of the selected moment of the cache history; of a stream it is the number of the selected picture."""
        last, at = max(len(self.shown_history.moments) - 1, 0), self.selection.moment
        return last if at is None else min(max(at, int(self.stream.history is not None)), last)

    @property
    def selected_entry(self) -> Moment | None:
        """The selected moment of the cache history; None before the first run."""
        moments = self.shown_history.moments
        return moments[self.selected_moment] if moments else None

    @property
    def selected_item(self) -> int | None:
        """The row of the selected cached view, if the selected moment has it."""
        place, shown = self.selection.item, self.shown_history
        return shown.row(place, self.selected_moment) if shown.moments and place is not None else None

    @property
    def at_latest_moment(self) -> bool:
        return self.selected_moment == len(self.shown_history.moments) - 1

    def store_attack_step(self, result: AttackStepResult, crops: np.ndarray) -> None:
        """Add the next attack step, and its views for the screen."""
        self.attack_steps = (*self.attack_steps, result)
        self.crops.setdefault(self.step_key(result.step), crops)
        if len(self.attack_steps) == self.pending_steps:
            self.pending_steps = 0

    def crops_of(self, side: str) -> np.ndarray | None:
        """The views of a side of :attr:`run_at_step` for the screen, if they are there."""
        return self.crops.get(self.crops_key(side))

    def crops_key(self, side: str) -> str:
        """The crops' key in ``crops``."""
        return side if side == "clean" or self.run_at_step is None else self.step_key(self.run_at_step.step)

    def step_key(self, step: int | None) -> str:
        """The key in ``crops`` of an attack step: the first is the clean picture, the last the attacked one."""
        if step is None or step == (0 if self.run is None else last_step(self.run)):
            return "attacked"
        return f"step {step}" if step else "clean"

    def add_to_history(self, run: Run, title: str) -> None:
        """Add what the run's delivered picture changed in the cache; its thumbnails come from ``crops``. A memory of other class
        names is another one."""
        title = title if run.attack is None else f"{title}, attacked"
        with self.lock:
            before = self.history
            after = before.with_picture(title, run.clean.picture.key, run, self.crops.get("attacked"))
            same = before.current is None or before.key == run.class_prompts.key
            self.memories = self.memories.changed(after) if same else self.memories.another(after)

    def replace_history(self, history: MemoryTable, *, opened: bool = False) -> None:
        """Another memory is in use from now on; see :meth:`Memories.another`."""
        with self.lock:
            self.memories = self.memories.another(history, opened=opened)

    def size_bytes(self) -> int:
        """Bytes that only this visitor needs. Called from other threads: each field may change meanwhile, and is read
        once."""
        shared, known = {"shared_run"}, set[Any]()
        if self.run is not None and self.run is self.shared_run:
            shared |= {"run", "attack_steps", "crops"}
            array_bytes(self.shared_run, known)  # other results may refer to it
        stream = self.stream
        if stream.recording is not None and stream.recording.stored:  # all visitors share stored examples
            array_bytes((stream.trajectory, stream.history), known)
        if self.figures.placed_cloud is not None and self.figures.placed_cloud.stored:
            array_bytes(self.figures.placed_cloud, known)
        return array_bytes([getattr(self, one.name) for one in fields(self) if one.name not in shared], known)


def selected_class(session: Session) -> int | None:
    """The selected class of the cloud: that of the selection of all tabs if the cloud has it, else the one chosen here."""
    figures = session.figures
    if figures.placed_cloud is None:
        return None
    k = session.selected_class_in(figures.placed_cloud.cloud.names)
    return figures.k if k is None or session.selection.k == figures.released_class else k


def array_bytes(value: Any, seen: set[Any] | None = None) -> int:
    """Bytes of the arrays, files and pictures (long strings) inside a record; what they share is counted once."""
    seen = set() if seen is None else seen
    array = isinstance(value, np.ndarray)
    name = (value.ctypes.data, value.nbytes) if array else id(value)
    if name in seen:
        return 0
    seen.add(name)
    if array:
        return value.nbytes
    if isinstance(value, str | bytes):
        return len(value) if len(value) > 500 else 0
    if is_dataclass(value) and not isinstance(value, type):
        return sum(array_bytes(getattr(value, f.name), seen) for f in fields(value))
    if isinstance(value, dict):
        return sum(array_bytes(v, seen) for v in tuple(value.values()))  # others may add to it
    if isinstance(value, tuple | list):
        return sum(array_bytes(v, seen) for v in value)
    return 0
