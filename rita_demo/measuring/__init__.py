"""The page's one door to measurements: streams, stored runs, clouds of pictures, small ablations.

It is ``evaluate`` underneath: what the page measures is a run folder with the same rows. A visitor
chooses from what the server's owner offers and never names a path.
"""

from rita_demo.evaluation.course import course_of, held_after, pace, standings
from rita_demo.evaluation.points import special_of
from rita_demo.evaluation.printed import beside, indexed, same_backbone
from rita_demo.evaluation.recordings import Recording, recording, recordings
from rita_demo.evaluation.request import ORDERS
from rita_demo.measuring import ablations
from rita_demo.measuring.gather import drawn, gathering
from rita_demo.measuring.places import Places, offered
from rita_demo.measuring.stored import SHIPPED, clouds, points, reading, runs
from rita_demo.measuring.streams import (
    FEWEST,
    MOST,
    TRAFFIC,
    Arrival,
    arrival,
    picture_of,
    recording_of,
    request_for,
    rows_text,
    running,
)

__all__ = [
    "FEWEST",
    "MOST",
    "ORDERS",
    "SHIPPED",
    "TRAFFIC",
    "Arrival",
    "Places",
    "Recording",
    "ablations",
    "arrival",
    "beside",
    "clouds",
    "course_of",
    "drawn",
    "gathering",
    "held_after",
    "indexed",
    "offered",
    "pace",
    "picture_of",
    "points",
    "reading",
    "recording",
    "recording_of",
    "recordings",
    "request_for",
    "rows_text",
    "running",
    "runs",
    "same_backbone",
    "special_of",
    "standings",
]
