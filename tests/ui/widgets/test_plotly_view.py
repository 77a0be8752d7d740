"""PlotlyView and the sprite of the views: malformed events and served files."""

import base64
import io
import json
import math

import gradio as gr
import numpy as np
from PIL import Image

from rita_demo.figures import class_costs
from rita_demo.figures.figure import PLOTLY_JS
from rita_demo.ui.inside.crop_columns import CropColumns
from rita_demo.ui.widgets.data_uri import magnified_perturbation, sprite_value
from rita_demo.ui.widgets.plotly_view import PlotlyView, parse_int, selected_points
from tests.figures.synthetic import make_run

# --- malformed events


def test_only_a_whole_number_in_range_is_read_from_an_event():
    assert parse_int(2, 0, 3) == parse_int(2.0, 0, 3) == 2
    for value in (3, -1, 0.5, math.nan, math.inf, "0", True, None, [], {}, 1e300, 10**400):
        assert parse_int(value, 0, 3) is None, value


def test_a_selection_keeps_valid_points_once_and_in_order():
    assert selected_points({"points": [3, 1, 3, 99, "2", None, math.nan, -1, True]}, 5) == (1, 3)
    assert selected_points({"points": "123"}, 5) == selected_points(None, 5) == ()


# --- what is served


def test_the_page_config_is_json_serialisable():
    """Else Gradio copies the whole page at every visit, which takes seconds."""
    with gr.Blocks() as page:
        PlotlyView(class_costs(make_run()), aria="costs")
        CropColumns("", view=-1)
    json.dumps(page.config["components"])


def test_only_the_drawing_library_is_made_public():
    from gradio.data_classes import _StaticFiles

    assert PLOTLY_JS.name == "plotly.min.js"
    assert PLOTLY_JS in _StaticFiles.all_paths
    assert PLOTLY_JS.parent not in _StaticFiles.all_paths


# --- sprite and perturbation


def test_the_sprite_is_sent_apart_and_holds_every_view_at_its_position():
    assert sprite_value(None, "grid") == "", "no views, no rule"
    views = np.repeat(np.arange(0, 250, 25, dtype=np.uint8), 16 * 16 * 3).reshape(10, 16, 16, 3)
    rule, _, code = sprite_value(views, "grid").partition("base64,")
    assert rule.startswith("<style>#grid .crop { background-image: url(data:image/jpeg")
    sheet = np.asarray(Image.open(io.BytesIO(base64.b64decode(code.partition(")")[0]))))
    assert sheet.shape == (32, 128, 3)
    for n in range(10):
        middle = sheet[16 * (n // 8) + 8, 16 * (n % 8) + 8]
        assert np.abs(middle.astype(int) - 25 * n).max() <= 3


def test_the_perturbation_is_signed_and_centred_on_mid_grey():
    clean = np.full((2, 2, 3), 100, np.uint8)
    attacked = clean.copy()
    attacked[0, 0], attacked[0, 1], attacked[1, 0] = 104, 96, 255
    shown = magnified_perturbation(clean, attacked, 20)
    assert shown[:, :, 0].tolist() == [[208, 48], [255, 128]]
