"""The stream that *Memory* shows to one visitor, and the one that they run."""

from dataclasses import dataclass, field
from typing import Any

from rita_demo.data.memory import MemoryTable
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders, Request, StreamRun
from rita_demo.process.time_left import TimeLeft
from rita_demo.records.errors import DemoError
from rita_demo.records.measurement import StreamTrajectory
from rita_demo.ui.widgets.data_uri import jpeg_uri

THUMBNAIL_SIZE = 64  # pixels
MAX_THUMBNAILS = 96


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
