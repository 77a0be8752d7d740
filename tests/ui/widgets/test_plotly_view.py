"""PlotlyView and ViewsGrid: malformed events, served files, and a real browser."""

import base64
import io
import json
import math
from collections.abc import Iterator

import gradio as gr
import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from rita_demo.plots import class_costs, css_variables, plan_heatmap
from rita_demo.plots.figure import PLOTLY_JS, Figure
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.widgets.plotly_view import FIGURE_HEAD, PlotlyView, clicked_integer, selected_points
from rita_demo.ui.widgets.views_grid import ViewsGrid, grid_value, magnified_perturbation, sprite_value
from tests.plots.synthetic import make_run

# --- malformed events


def test_only_a_whole_number_in_range_is_read_from_a_click():
    for data in ([2, 0.5, "cup"], [2.0]):
        assert clicked_integer(gr.EventData(None, {"data": data}), 3) == 2
    assert clicked_integer({"data": ["cup", 4]}, 5, 1) == 4
    for value in (3, -1, 0.5, math.nan, math.inf, "0", True, None, [], {}, 1e300, 10**400):
        assert clicked_integer({"data": [value]}, 3) is None, value
    for raw in (None, [], "x", 7, {}, {"data": "123"}, {"data": []}, {"data": {"0": 1}}):
        assert clicked_integer(gr.EventData(None, raw), 3) is None, raw


def test_a_selection_keeps_valid_points_once_and_in_order():
    assert selected_points({"points": [3, 1, 3, 99, "2", None, math.nan, -1, True]}, 5) == (1, 3)
    assert selected_points({"points": "123"}, 5) == selected_points(None, 5) == ()


# --- what is served


def test_a_figure_is_sent_as_json_and_never_read_back():
    view = PlotlyView(None)
    assert view.postprocess(None) is None
    drawn = Figure()
    drawn.add_bar(y=[1, float("nan")])
    assert json.loads(view.postprocess(drawn))["data"] == [{"type": "bar", "y": [1, None]}]
    assert drawn.data[0].y[0] == 1
    assert json.loads(view.postprocess({"data": [], "layout": {}})) == {"data": [], "layout": {}}
    assert view.preprocess("<script>") is None


def test_the_page_config_is_json_serialisable():
    """Else Gradio copies the whole page at every visit, which takes seconds."""
    with gr.Blocks() as page:
        PlotlyView(class_costs(make_run()), aria="costs")
        ViewsGrid(None, aria="views")
    json.dumps(page.config["components"])


def test_only_the_drawing_library_is_made_public():
    from gradio.data_classes import _StaticFiles

    assert PLOTLY_JS.name == "plotly.min.js"
    assert PLOTLY_JS in _StaticFiles.all_paths
    assert PLOTLY_JS.parent not in _StaticFiles.all_paths


# --- sprite and perturbation


def test_the_sprite_is_sent_apart_and_holds_every_view_at_its_position():
    assert sprite_value(None, "grid") == "", "no views, no rule"
    assert "data:image" not in grid_value(make_run(), "clean")
    views = np.repeat(np.arange(0, 250, 25, dtype=np.uint8), 16 * 16 * 3).reshape(10, 16, 16, 3)
    rule, _, code = sprite_value(views, "grid").partition("base64,")
    assert rule.startswith("<style>#grid { --sheet: url(data:image/jpeg")
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


def test_the_grid_has_text_labels_and_escapes_names():
    run = make_run()
    run.attacked.trace.confidence.label[5] = 1  # the name with markup in it
    markup = grid_value(run, "attacked", selected=5)
    assert markup.count("<button") == 64
    assert markup.count('aria-pressed="true"') == 1
    assert markup.count('tabindex="0"') == 1
    assert "<b>" not in markup
    assert "<a " not in markup
    assert "View 5: says &lt;b&gt;bold" in markup


# --- a real browser


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    # with this share the class whose name is markup is among those that are shown
    run = make_run(settings=RECOMMENDED.replace(transported_mass=0.5))
    with gr.Blocks() as page:
        said = gr.Textbox(elem_id="said", label="said")
        again = gr.Button("again")
        with gr.Tab("one"):
            costs = PlotlyView(class_costs(run), aria="Costs", height=400, elem_id="costs")
        with gr.Tab("two"):
            plan = PlotlyView(None, aria="Plan", height=360, empty="No plan.", elem_id="plan")

        def pick(event: gr.EventData):
            k = clicked_integer(event, len(run.class_prompts.names))
            return f"class {k}", plan_heatmap(run, "attacked", k or 0)

        costs.click(pick, None, [said, plan], queue=False)
        again.click(lambda: class_costs(run, 5), None, costs)
    page.launch(prevent_thread_lock=True, quiet=True, css=css_variables(), head=FIGURE_HEAD)
    yield page.local_url
    page.close()


@pytest.fixture
def screen(server: str, browser) -> Iterator:
    """The page; no console errors and no requests to other hosts."""
    troubles: list[str] = []
    local = (server, "data:", "blob:")
    screen = browser.new_page(viewport={"width": 1200, "height": 900})
    screen.on("console", lambda m: troubles.append(m.text) if m.type == "error" else None)
    screen.on("pageerror", lambda e: troubles.append(str(e)))
    screen.on("request", lambda r: None if r.url.startswith(local) else troubles.append(r.url))
    screen.goto(server)
    screen.wait_for_selector("#costs .scatterlayer .point")
    yield screen
    screen.close()
    assert troubles == []


OPENED = """() => new Promise((answer) => {
  const press = () => {
    const figure = document.querySelector("#plan .rita-figure");
    if (!figure?.hasAttribute("aria-describedby")) return; // its script has not run
    watcher.disconnect();
    const drawn = !!figure.querySelector(".rita-plot")._fullLayout;
    figure.dispatchEvent(new KeyboardEvent("keydown", { key: "s" }));
    answer(!drawn);
  };
  const watcher = new MutationObserver(press);
  watcher.observe(document.body, { childList: true, subtree: true, attributes: true });
  [...document.querySelectorAll("[role=tab]")].find((tab) => tab.textContent.trim() === "two").click();
})"""


@pytest.mark.e2e
def test_an_update_keeps_zoom_and_handlers_and_a_figure_that_was_never_drawn_can_be_saved(screen):
    plot = "document.querySelector('#costs .rita-plot')"
    before = screen.evaluate(f"{plot}._fullLayout.xaxis.range")
    screen.locator("#costs .rita-figure").hover()
    screen.locator("#costs .modebar-btn[data-title='Zoom in']").click()
    zoomed = screen.evaluate(f"{plot}._fullLayout.xaxis.range")
    assert before[0] < zoomed[0] < zoomed[1] < before[1]
    screen.get_by_role("button", name="again").click()
    screen.wait_for_function(f"{plot}.layout.shapes.some((s) => s.layer === 'below')")
    assert screen.evaluate(f"{plot}._fullLayout.xaxis.range") == zoomed
    screen.locator("#costs .rita-figure").focus()
    screen.keyboard.press("ArrowDown")
    screen.keyboard.press("Enter")
    screen.wait_for_function("document.querySelector('#said textarea').value === 'class 0'")
    with screen.expect_download() as download:
        assert screen.evaluate(OPENED), "it was drawn already: nothing is tested here"
    assert download.value.suggested_filename == "rita-plan.svg"


@pytest.mark.e2e
def test_saving_a_missing_figure_gives_an_error_message(screen):
    screen.get_by_role("tab", name="two").click()
    screen.locator("#plan .rita-figure").focus()
    screen.keyboard.press("s")
    said = screen.locator("#plan .rita-said")
    expect(said).to_have_text("There is no figure to save yet.")


@pytest.mark.e2e
def test_dark_swaps_the_colours_and_names_stay_text(screen):
    plot = "document.querySelector('#costs .rita-plot')"
    screen.evaluate("document.body.classList.add('dark')")
    screen.wait_for_function(f"{plot}.data[2].marker.color === '#56b4e9'")
    labels = screen.locator("#costs .ytick").all_text_contents()
    assert any(text.startswith("<b>bold") for text in labels)
    assert screen.locator("#costs a[href]").count() == 0
