"""A figure as plain data: plotly.py itself knows every value of every figure, and says so when it does not."""

import json

import numpy as np
import pytest

from rita_demo.plots.figure import Figure


def test_what_is_sent_is_what_was_added_and_checking_finds_a_value_unknown_to_plotly() -> None:
    figure = Figure()
    figure.add_scatter(x=np.array([1.0, np.nan]), y=[2, 3])
    figure.layers = {"meta": {"alt": "two"}}
    sent = json.loads(figure.to_json())
    assert sent == {"data": [{"type": "scatter", "x": [1.0, None], "y": [2, 3]}], "layout": {"meta": {"alt": "two"}}}
    figure.add_bar(y=[1], colour="red")
    with pytest.raises(ValueError, match="colour"):
        _ = figure.checked
