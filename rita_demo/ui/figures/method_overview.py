"""The method on the picture on screen, as one figure."""

import numpy as np

from rita_demo.plots.figure import Figure
from rita_demo.plots.paper.method_overview import CROPS_SHOWN, method_overview, shown_views
from rita_demo.records import Run
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.data_uri import jpeg_uri
from rita_demo.ui.widgets.views_grid import tiled

EDGE = ((0, 0), (6, 6), (6, 6), (0, 0))  # white pixels around a crop


def draw_overview(session: Session) -> Figure | None:
    """The run at the step on screen, or None before there is one."""
    run = session.run_at_step
    if run is None:
        return None
    side = "clean" if run.attack is None else "attacked"
    crops = session.crops_of(side)
    return None if crops is None else overview_of(run, side, crops)


def overview_of(run: Run, side: str, crops: np.ndarray) -> Figure:
    """The overview of one side. ``crops`` (N, s, s, 3) uint8 of all its views."""
    shown = np.pad(crops[shown_views(run, side)], EDGE, constant_values=255)
    sheet = tiled(shown, round(CROPS_SHOWN**0.5))
    picture = jpeg_uri(getattr(run, side).picture.pixels, 256)
    return method_overview(run, side, picture, jpeg_uri(sheet, 512))
