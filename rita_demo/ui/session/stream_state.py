"""What the part *Stream* of *Memory* shows to one visitor."""

from dataclasses import dataclass, field

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
    """``recording`` is the stream on screen (this visitor's or a stored one) and ``trajectory`` what it measured;
    ``selected`` is the number of the selected picture, from 1 (None: always the newest). ``request`` is the stream that
    this visitor started and can resume; ``running``, ``time_left`` and ``pause_requested`` belong to it. ``thumbnails``: picture -> data URI, "" for one that cannot be shown. Of the list of remembered views:
    ``search`` (words that a row must have), ``order`` and ``listed`` (which rows); ``outcome``: which pictures the gallery of
    right and wrong answers shows."""

    recording: StreamRun | None = None
    trajectory: StreamTrajectory | None = None
    selected: int | None = None
    request: Request | None = None
    running: bool = False
    time_left: TimeLeft = field(default_factory=TimeLeft)
    pause_requested: bool = False
    thumbnails: dict[str, str] = field(default_factory=dict)
    search: str = ""
    order: str = "class"
    listed: str = "held"
    outcome: str = "rita"

    def show(self, recording: StreamRun) -> None:
        """Show a stream as far as it is written, and its newest picture if another stream was shown."""
        if self.recording is None or self.recording.name != recording.name:
            self.selected, self.thumbnails = None, {}
        self.trajectory = evaluation_page.trajectory_of(recording)
        self.recording = recording

    def end(self) -> None:
        """End this visitor's stream; what is decided stays on screen."""
        self.request, self.pause_requested = None, True

    def close(self) -> None:
        """Show nothing."""
        self.recording = self.trajectory = self.selected = self.request = None
        self.thumbnails = {}

    @property
    def decided(self) -> int:
        """How many pictures are decided."""
        return 0 if self.trajectory is None else len(self.trajectory.pictures)

    @property
    def shown_picture(self) -> int:
        """The number of the shown picture, from 1; 0 when there is none."""
        return self.decided if self.selected is None else min(max(self.selected, 1), self.decided)

    @property
    def unfinished(self) -> bool:
        """Whether this visitor's own run has pictures left."""
        wanted = 1 if self.trajectory is None else self.trajectory.expected_pictures
        return self.request is not None and self.decided < wanted

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
