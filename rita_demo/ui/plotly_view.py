"""One Plotly renderer for the whole page, which keeps its zoom and reports clicks.

``gr.Plot`` has no click and replaces its node at every update, and Gradio bundles another
plotly.js than plotly.py does.  :class:`PlotlyView` is a ``gr.HTML`` whose script calls
``Plotly.react`` of the one plotly.js that comes with plotly.py, served from this machine.

What a browser reports is written by strangers: handlers pass their ``gr.EventData`` through
:func:`clicked` or :func:`picked`, which never raise and return nothing that is not a finite
number or a short string.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import gradio as gr
import plotly

from rita_demo.plots.figure import Figure
from rita_demo.plots.theme import DARK_FOR

LIBRARY = Path(plotly.__file__).resolve().parent / "package_data" / "plotly.min.js"
SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
MOST_NUMBERS = 8  # of one click's data
MOST_LETTERS = 200  # of one string in an event
MOST_POINTS = 4096  # of one selection

gr.set_static_paths([LIBRARY])

_TEMPLATE = """<div class="rita-figure" role="figure" tabindex="0" style="--high: {}px; --narrow-high: {}px">
<div class="rita-empty"></div><div class="rita-plot" aria-hidden="true"></div>
<p class="rita-alt"></p><p class="rita-said" role="status"></p></div>"""


def figure_html(height: int, narrow_height: int) -> str:
    """The element of one figure, of the class ``rita-view``'s only child. Its look is in the page's style sheet: one
    of its own Gradio would write anew with every figure, and the browser would look at the whole page again.
    """
    return _TEMPLATE.format(height, narrow_height)


def with_fixed(script: str, **fixed: Any) -> str:
    """The script with what never changes before it, as ``fixed``.

    The properties of a ``gr.HTML`` would not do: Gradio copies them for every event, and one that arrives
    before the tab was ever opened replaces them.
    """
    code = json.dumps(fixed).replace("<", "\\u003c")
    return f"const fixed = {code};\n{script}"


def figure_script(aria: str, height: int, narrow_height: int, empty: str) -> str:
    """What draws one figure; :class:`PlotlyView` says what the arguments mean."""
    return with_fixed(
        SCRIPT,
        aria=aria,
        height=height,
        narrow_height=narrow_height,
        empty=empty,
        dark_for=DARK_FOR,
    )


class PlotlyView(gr.HTML):
    """A Plotly figure that reports ``click``, ``hover`` and ``select`` to Python.

    Args:
        value: a :class:`Figure`, its dict or JSON, or None (then ``empty`` is shown).
        aria: what the figure shows, its accessible name.
        height: pixels, reserved before there is a figure, so that nothing jumps.
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
        # Gradio reads every argument back as an attribute; what it misses, gr.HTML takes for an
        # event when the name stands quoted in the script, and copies the whole page per visit.
        self.aria, self.empty = aria, empty
        self.height, self.narrow_height = int(height), int(narrow_height or height)
        super().__init__(
            value,
            html_template=figure_html(self.height, self.narrow_height),
            js_on_load=figure_script(aria, self.height, self.narrow_height, empty),
            head=f'<script src="gradio_api/file={quote(str(LIBRARY))}"></script>',
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
        """A browser's figure is never read: what was drawn is known on the server."""
        return None

    def get_block_name(self) -> str:
        """Gradio's own ``html`` component draws this one."""
        return "html"


@dataclass(frozen=True)
class Click:
    """One mark of a figure: trace number, number of the mark in it, its place, and its data.

    ``x`` and ``y`` are finite floats, strings of at most 200 letters, or None;
    ``data`` is the mark's ``customdata``, at most 8 of the same.
    """

    curve: int
    index: int
    x: float | str | None
    y: float | str | None
    data: tuple[float | str, ...]

    def integer(self, position: int, size: int) -> int | None:
        """``data[position]`` as a whole number in ``range(size)``, else None."""
        if not 0 <= position < len(self.data):
            return None
        return whole(self.data[position], 0, size)


def clicked(event: Any) -> Click | None:
    """What was clicked or hovered, from a ``gr.EventData`` written by a stranger; None if it is not one."""
    raw = getattr(event, "_data", event)
    if not isinstance(raw, dict):
        return None
    curve, index = whole(raw.get("curve"), 0, 1000), whole(raw.get("index"), 0, 1_000_000)
    if curve is None or index is None:
        return None
    data = raw.get("data")
    values = [_plain(v) for v in data[:MOST_NUMBERS]] if isinstance(data, list) else []
    if any(v is None for v in values):
        return None
    kept = tuple(v for v in values if v is not None)
    return Click(curve, index, _plain(raw.get("x")), _plain(raw.get("y")), kept)


def picked(event: Any, size: int) -> tuple[int, ...]:
    """The selected marks' first datum, each in ``range(size)``, sorted and unique."""
    raw = getattr(event, "_data", event)
    points = raw.get("points") if isinstance(raw, dict) else None
    if not isinstance(points, list):
        return ()
    numbers = (whole(p, 0, size) for p in points[:MOST_POINTS])
    return tuple(sorted({n for n in numbers if n is not None}))


def _plain(value: Any) -> float | str | None:
    if isinstance(value, str):
        return value[:MOST_LETTERS]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def whole(value: Any, low: int, high: int) -> int | None:
    """``value`` as an int in ``range(low, high)``; strings, booleans, fractions and NaN are none."""
    number = _plain(value)
    if not isinstance(number, float) or number != int(number) or not low <= number < high:
        return None
    return int(number)
