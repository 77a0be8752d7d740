"""PlotlyView in a small page of its own: what is drawn keeps its zoom, is saved, and swaps its colours."""

from collections.abc import Iterator

import gradio as gr
import numpy as np
import pytest
from playwright.sync_api import expect

from rita_demo.figures import class_costs, css_variables, plan_matrix
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.widgets.plotly_view import FIGURE_HEAD, PlotlyView, event_data
from tests.figures.synthetic import make_run

pytestmark = pytest.mark.e2e


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
            k = event_data(event)["k"]
            return f"class {k}", plan_matrix(run, k, order=np.arange(64), ends=("cat", "dog"))

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


def test_dark_swaps_the_colours_names_stay_text_and_a_missing_figure_is_said_to_be_missing(screen):
    plot = "document.querySelector('#costs .rita-plot')"
    screen.evaluate("document.body.classList.add('dark')")
    screen.wait_for_function(f"JSON.stringify({plot}.data).includes('#56b4e9')")
    labels = screen.locator("#costs .ytick").all_text_contents()
    assert any(text.startswith("<b>bold") for text in labels)
    assert screen.locator("#costs a[href]").count() == 0
    screen.get_by_role("tab", name="two").click()
    screen.locator("#plan .rita-figure").focus()
    screen.keyboard.press("s")
    expect(screen.locator("#plan .rita-said")).to_have_text("There is no figure to save yet.")
