"""A Plotly figure as plain data.

``plotly.graph_objects`` checks and copies every value as it is set, which took two thirds of the time of a
redraw of *Inside RITA*; what is drawn here is ours and is checked by the tests instead (:attr:`Figure.checked`).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import plotly.graph_objects as go
from plotly.io.json import to_json_plotly


class Figure:
    """Traces and a layout, in the words of Plotly's own reference (no ``_`` shorthand for nested names)."""

    def __init__(self) -> None:
        self.traces: list[dict[str, Any]] = []
        self.layers: dict[str, Any] = {}

    def add_trace(self, trace: dict[str, Any]) -> None:
        """Add a trace, its ``type`` among its keys."""
        self.traces.append(trace)

    def add_scatter(self, **trace: Any) -> None:
        """Add points or lines."""
        self.traces.append({"type": "scatter"} | trace)

    def add_bar(self, **trace: Any) -> None:
        """Add bars."""
        self.traces.append({"type": "bar"} | trace)

    def add_heatmap(self, **trace: Any) -> None:
        """Add a heatmap."""
        self.traces.append({"type": "heatmap"} | trace)

    @property
    def meta(self) -> dict[str, Any]:
        """What ``PlotlyView`` reads beside the figure itself."""
        return self.layers["meta"]

    def to_json(self) -> str:
        """The figure as ``Plotly.react`` takes it; NaN becomes null."""
        return to_json_plotly({"data": self.traces, "layout": self.layers})

    def __repr__(self) -> str:
        """All that is drawn: two figures that draw the same read the same."""
        return f"Figure({self.to_json()})"

    @cached_property
    def checked(self) -> go.Figure:
        """The finished figure with every value checked by plotly.py; ValueError names what it does not know."""
        return go.Figure({"data": self.traces, "layout": self.layers})

    @property
    def data(self) -> Any:
        """The checked traces."""
        return self.checked.data

    @property
    def layout(self) -> Any:
        """The checked layout."""
        return self.checked.layout
