"""What the server remembers of the stream that one visitor looks at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rita_demo import measuring
from rita_demo.errors import DemoError
from rita_demo.measuring import Places, Recording
from rita_demo.surveys import Course
from rita_demo.ui.images import jpeg_uri

THUMB = 64  # pixels
MOST_THUMBS = 96


@dataclass
class Streaming:
    """``recording`` is the stream on screen (this visitor's or a stored one) and ``course`` how it went;
    ``at`` the picture looked at, from 1 (None: always the newest). ``request`` is the run that this
    visitor started and can go on with; ``running`` and ``stop`` (asked to pause) belong to it, ``stopping``
    to a download. ``thumbs``: picture -> data URI, "" for one that cannot be shown."""

    recording: Recording | None = None
    course: Course | None = None
    at: int | None = None
    request: Any = None
    running: bool = False
    stop: bool = False
    stopping: bool = False
    thumbs: dict[str, str] = field(default_factory=dict)

    def show(self, recording: Recording) -> None:
        """Look at a stream as far as it is written; its newest picture, if another one was shown."""
        if self.recording is None or self.recording.name != recording.name:
            self.at, self.thumbs = None, {}
        self.course = measuring.course_of(recording)
        self.recording = recording

    def close(self) -> None:
        """Nothing is shown any more."""
        self.recording = self.course = self.at = self.request = None
        self.thumbs = {}

    @property
    def t(self) -> int:
        """The picture looked at, from 1; 0 when there is none."""
        last = 0 if self.course is None else len(self.course.pictures)
        return last if self.at is None else min(max(self.at, 1), last)

    @property
    def unfinished(self) -> bool:
        """Whether this visitor's own run has pictures left."""
        if self.request is None:
            return False
        return self.course is None or len(self.course.pictures) < self.course.wanted

    def thumb(self, places: Places, picture: str) -> str:
        """A small clean picture as data URI, made once; "" when its file is not here."""
        if picture not in self.thumbs and self.recording is not None:
            while len(self.thumbs) >= MOST_THUMBS:
                self.thumbs.pop(next(iter(self.thumbs)))
            try:
                square = measuring.picture_of(places, self.recording, picture)
                self.thumbs[picture] = jpeg_uri(square.pixels, THUMB)
            except DemoError:
                self.thumbs[picture] = ""
        return self.thumbs.get(picture, "")

    def weight(self) -> int:
        """Bytes beside the arrays of the course."""
        return sum(map(len, self.thumbs.values()))
