"""The component that draws every Plotly figure of the page. It keeps its zoom and reports clicks.

``gr.Plot`` reports no clicks and replaces its node at every update, and Gradio bundles another plotly.js than
plotly.py does. :class:`PlotlyView` is a ``gr.HTML`` whose script calls ``Plotly.react`` of the plotly.js that comes
with plotly.py, served by this server.

A click reports the mark as ``{name: number}``, with the names that the figure gives the first numbers of ``customdata``
(``marks`` of :func:`rita_demo.figures.theme.finalise`). Events are untrusted input: handlers pass them through
:class:`rita_demo.ui.session.mark.Mark` or :func:`selected_points`, which never raise.
"""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import gradio as gr

from rita_demo.figures.figure import FIT_SCRIPT, PLOTLY_JS, Figure
from rita_demo.figures.theme import DARK_COLOURS
from rita_demo.records.json_value import JsonValue
from rita_demo.ui.widgets.html_buttons import JsonWidget
from rita_demo.ui.widgets.html_buttons import event_data as event_data

_OWN_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
SCRIPT = f"const DARK_FOR = {json.dumps(DARK_COLOURS)};\n{FIT_SCRIPT}{_OWN_SCRIPT}"
MAX_POINTS = 4096  # of one selection

gr.set_static_paths([PLOTLY_JS])

#: The element of one figure, of its height. It is styled by the page's style sheet: with
#: a style sheet per figure the browser would compute the styles of the whole page again for each.
FIGURE = """<div class="rita-figure" role="figure" tabindex="0" style="--high: {}px">
<div class="rita-empty"></div><div class="rita-plot" aria-hidden="true"></div>
<p class="rita-alt"></p><p class="rita-said" role="status"></p></div>"""


def with_constants(script: str, **constants: Any) -> str:
    """The script after a line that defines its constants as ``fixed``. Properties of the ``gr.HTML`` would not do:
    Gradio copies them for every event, and an event that arrives before the tab was opened replaces them."""
    code = json.dumps(constants).replace("<", "\\u003c")
    return f"const fixed = {code};\n{script}"


#: The script of every figure, once in the page's head: with a copy for each of forty figures the page is a third larger.
FIGURE_HEAD = f"<script>window.ritaFigure = (element, props, trigger, watch, fixed) => {{{SCRIPT}}};</script>"


def figure_script(**constants: Any) -> str:
    """The script of one figure; ``aria``, ``height`` and ``empty`` as in :class:`PlotlyView`."""
    return with_constants("ritaFigure(element, props, trigger, watch, fixed);", **constants)


class PlotlyView(JsonWidget):
    """A Plotly figure that reports ``click`` and ``select`` to Python.

    Args:
        value: a :class:`Figure`, its dict or JSON, or None (then ``empty`` is shown).
        aria: what the figure shows, its accessible name; ``title`` of a figure's meta takes its place.
        height: pixels, reserved before there is a figure, so that the page does not jump; less on a phone, which is low.
        empty: the sentence shown while there is no figure.
        **html: any other argument of ``gr.HTML``.
    """

    selects = ("click",)

    def __init__(
        self,
        value: Figure | dict[str, Any] | str | None = None,
        *,
        aria: str = "Figure",
        height: int = 360,
        empty: str = "",
        **html: Any,
    ) -> None:
        # read back by Gradio, see HtmlWidget
        self.aria, self.empty = aria, empty
        self.height = height
        super().__init__(
            value,
            html_template=FIGURE.format(height),
            js_on_load=figure_script(aria=aria, height=height, empty=empty),
            head=f'<script src="gradio_api/file={quote(str(PLOTLY_JS))}"></script>',
            elem_classes="rita-view",
            **html,
        )

    def postprocess(self, value: JsonValue) -> str | None:
        """The figure as one JSON string; ``None`` stays ``None``."""
        return super().postprocess(value.to_json() if isinstance(value, Figure) else value or None)


def selected_points(event: gr.EventData, size: int) -> tuple[int, ...]:
    """The selected marks' first datum, each in ``range(size)``, sorted and unique."""
    points = event_data(event).get("points")
    numbers = {parse_int(p, 0, size) for p in points[:MAX_POINTS]} if isinstance(points, list) else set()
    return tuple(sorted(n for n in numbers if n is not None))


def parse_int(value: JsonValue, low: int, high: int) -> int | None:
    """``value`` as an int in ``range(low, high)``; strings, booleans, fractions and NaN are none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value < high:
        return None
    return int(value) if value == int(value) else None
