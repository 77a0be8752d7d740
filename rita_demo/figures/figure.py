"""A Plotly figure as plain data.

``plotly.graph_objects`` checks and copies every value when it is set, two thirds of the time to draw *Inside*. Here
the tests check the values instead (:attr:`Figure.checked`).
"""

from __future__ import annotations

import importlib.util
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    import numpy as np
    import plotly.graph_objects as go

_PLOTLY = importlib.util.find_spec("plotly")  # finds it without importing it
assert _PLOTLY is not None
assert _PLOTLY.origin is not None
PLOTLY_JS = Path(_PLOTLY.origin).resolve().parent / "package_data" / "plotly.min.js"
FIT_SCRIPT = Path(__file__).with_name("fit.js").read_text(encoding="utf-8")
_UNSAFE_SIGNS = "<>/\u2028\u2029"  # JSON inside a page's script must not end it


#: A trace, a part of the layout or some of its keywords, with the names of Plotly's reference.
Spec = dict[str, Any]


class Figure:
    """Traces and a layout with the names of Plotly's reference, without its ``_`` shorthand for nested names."""

    def __init__(self) -> None:
        self.traces: list[Spec] = []
        self.layers: Spec = {}

    def add_scatter(self, **trace: Any) -> None:
        """Add points or lines."""
        self.traces.append({"type": "scatter"} | trace)

    def add_line(self, colour: str, width: float, dash: str = "solid", /, **trace: Any) -> None:
        """Add a line without hover text."""
        line = {"color": colour, "width": width, "dash": dash}
        self.add_scatter(**{"mode": "lines", "hoverinfo": "skip", "line": line} | trace)

    def add_marks(self, hover: str = "%{customdata[1]}", **trace: Any) -> None:
        """Add points with ``customdata``, by default the number of what a click selects and the hover text."""
        self.add_scatter(**{"mode": "markers", "hovertemplate": f"{hover}<extra></extra>"} | trace)

    def add_bar(self, **trace: Any) -> None:
        """Add bars."""
        self.traces.append({"type": "bar"} | trace)

    def add_heatmap(self, **trace: Any) -> None:
        """Add a heatmap."""
        self.traces.append({"type": "heatmap"} | trace)

    @property
    def meta(self) -> Spec:
        """Data for ``PlotlyView`` beside the figure."""
        return self.layers["meta"]

    def to_json(self) -> str:
        """The figure as JSON for ``Plotly.react``; NaN becomes null."""
        values = {"data": self.traces, "layout": self.layers}

        def default(value: np.generic | np.ndarray) -> object:
            return value.tolist()  # numpy's scalars, and arrays whose numbers are not side by side

        text = orjson.dumps(values, default, orjson.OPT_NON_STR_KEYS | orjson.OPT_SERIALIZE_NUMPY).decode()
        for sign in _UNSAFE_SIGNS:
            text = text.replace(sign, f"\\u{ord(sign):04x}")
        return text

    def __repr__(self) -> str:
        """The JSON; equal for equal figures."""
        return f"Figure({self.to_json()})"

    @cached_property
    def checked(self) -> go.Figure:
        """The figure with every value checked by plotly.py; ValueError names an unknown one."""
        import plotly.graph_objects as go

        return go.Figure({"data": self.traces, "layout": self.layers})

    @property
    def data(self) -> Any:
        """The checked traces."""
        return self.checked.data

    @property
    def layout(self) -> Any:
        """The checked layout."""
        return self.checked.layout
