"""The component that draws every Plotly figure of the page. It keeps its zoom and reports clicks.

``gr.Plot`` reports no clicks and replaces its node at every update, and Gradio bundles another plotly.js than
plotly.py does. :class:`PlotlyView` is a ``gr.HTML`` whose script calls ``Plotly.react`` of the plotly.js that comes
with plotly.py, served by this server.

Events are untrusted input: handlers pass their ``gr.EventData`` through :func:`clicked`, :func:`selected_points` or
:func:`event_data` with :func:`parse_int`. They never raise and return only finite numbers and short strings.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import gradio as gr

from rita_demo.plots.figure import FIT_SCRIPT, PLOTLY_JS, Figure
from rita_demo.plots.theme import DARK_COLOURS

SCRIPT = FIT_SCRIPT + Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
MAX_NUMBERS = 8  # of one click's data
MAX_TEXT_LENGTH = 200  # of one string in an event
MAX_POINTS = 4096  # of one selection

gr.set_static_paths([PLOTLY_JS])

_TEMPLATE = """<div class="rita-figure" role="figure" tabindex="0" style="--high: {}px; --narrow-high: {}px">
<div class="rita-empty"></div><div class="rita-plot" aria-hidden="true"></div>
<p class="rita-alt"></p><p class="rita-said" role="status"></p></div>"""


def figure_html(height: int, narrow_height: int) -> str:
    """The element of one figure. It is styled by the page's style sheet: with a style sheet per figure the browser
    would compute the styles of the whole page again for each."""
    return _TEMPLATE.format(height, narrow_height)


def with_constants(script: str, **constants: Any) -> str:
    """The script after a line that defines its constants as ``fixed``. Properties of the ``gr.HTML`` would not do:
    Gradio copies them for every event, and an event that arrives before the tab was opened replaces them."""
    code = json.dumps(constants).replace("<", "\\u003c")
    return f"const fixed = {code};\n{script}"


def figure_script(aria: str, height: int, narrow_height: int, empty: str) -> str:
    """The script of one figure; arguments as in :class:`PlotlyView`."""
    return with_constants(
        SCRIPT, aria=aria, height=height, narrow_height=narrow_height, empty=empty, dark_for=DARK_COLOURS
    )


class PlotlyView(gr.HTML):
    """A Plotly figure that reports ``click``, ``hover`` and ``select`` to Python.

    Args:
        value: a :class:`Figure`, its dict or JSON, or None (then ``empty`` is shown).
        aria: what the figure shows, its accessible name.
        height: pixels, reserved before there is a figure, so that the page does not jump.
        narrow_height: pixels when the view is narrower than 560; ``height`` if None.
        empty: the sentence shown while there is no figure.
        **html: any other argument of ``gr.HTML``.
    """

    def __init__(
        self,
        value: Figure | dict[str, Any] | str | None = None,
        *,
        aria: str = "Figure",
        height: int = 360,
        narrow_height: int | None = None,
        empty: str = "",
        **html: Any,
    ) -> None:
        # Gradio reads every argument back as an attribute. A missing one whose name is quoted in the script
        # would count as an event, and the whole page would be copied per visit.
        self.aria, self.empty = aria, empty
        self.height, self.narrow_height = int(height), int(narrow_height or height)
        super().__init__(
            value,
            html_template=figure_html(self.height, self.narrow_height),
            js_on_load=figure_script(aria, self.height, self.narrow_height, empty),
            head=f'<script src="gradio_api/file={quote(str(PLOTLY_JS))}"></script>',
            apply_default_css=False,
            elem_classes="rita-view",
            **html,
        )

    def postprocess(self, value: Any) -> str | None:
        """The figure as one JSON string; ``None`` stays ``None``."""
        if value is None or isinstance(value, str):
            return value or None
        if isinstance(value, Figure):
            return value.to_json()
        return json.dumps(value)

    def preprocess(self, payload: Any) -> None:
        return None

    def get_block_name(self) -> str:
        return "html"


@dataclass(frozen=True)
class Click:
    """One mark of a figure: number of its trace, its index there, its coordinates and its data. ``x`` and ``y`` are
    finite floats, strings of at most 200 letters, or None; ``data`` is the mark's ``customdata``, at most 8 of the
    same."""

    curve: int
    index: int
    x: float | str | None
    y: float | str | None
    data: tuple[float | str, ...]

    def integer(self, position: int, size: int) -> int | None:
        """``data[position]`` as a whole number in ``range(size)``, else None."""
        if not 0 <= position < len(self.data):
            return None
        return parse_int(self.data[position], 0, size)


def event_data(event: Any) -> dict[Any, Any]:
    """What a client sent with an event, untrusted; {} if that is no JSON object."""
    raw = getattr(event, "_data", event)
    return raw if isinstance(raw, dict) else {}


def clicked(event: Any) -> Click | None:
    """The mark that was clicked or pointed at, from an untrusted event; None if it names none."""
    raw = event_data(event)
    curve, index = parse_int(raw.get("curve"), 0, 1000), parse_int(raw.get("index"), 0, 1_000_000)
    if curve is None or index is None:
        return None
    data = raw.get("data")
    values = [_number_or_text(v) for v in data[:MAX_NUMBERS]] if isinstance(data, list) else []
    if any(v is None for v in values):
        return None
    kept = tuple(v for v in values if v is not None)
    return Click(curve, index, _number_or_text(raw.get("x")), _number_or_text(raw.get("y")), kept)


def clicked_integer(event: Any, size: int) -> int | None:
    """The first number of the mark that an untrusted event names, in ``range(size)``; else None."""
    click = clicked(event)
    return click.integer(0, size) if click else None


def selected_points(event: Any, size: int) -> tuple[int, ...]:
    """The selected marks' first datum, each in ``range(size)``, sorted and unique."""
    points = event_data(event).get("points")
    if not isinstance(points, list):
        return ()
    numbers = (parse_int(p, 0, size) for p in points[:MAX_POINTS])
    return tuple(sorted({n for n in numbers if n is not None}))


def _number_or_text(value: Any) -> float | str | None:
    if isinstance(value, str):
        return value[:MAX_TEXT_LENGTH]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def parse_int(value: Any, low: int, high: int) -> int | None:
    """``value`` as an int in ``range(low, high)``; strings, booleans, fractions and NaN are none."""
    number = _number_or_text(value)
    if not isinstance(number, float) or number != int(number) or not low <= number < high:
        return None
    return int(number)
