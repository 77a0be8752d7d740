"""The Story as one component: the browser draws it from a few JSON values."""

from pathlib import Path

from rita_demo.ui.framework.panels import PanelRegistry
from rita_demo.ui.session.session import Session
from rita_demo.ui.story.checks import story_checks
from rita_demo.ui.story.measured import measured
from rita_demo.ui.story.record import story_crops, story_steps, story_value
from rita_demo.ui.widgets.html_buttons import JsonWidget
from rita_demo.ui.widgets.plotly_view import with_constants

_FOLDER = Path(__file__).parent
TEMPLATE = (_FOLDER / "story.html").read_text(encoding="utf-8")
#: In this order: the last one starts.
PARTS = ("core", "hero", "attack", "push", "rules", "checks", "predict", "measured")
