"""How the tab *Stream* is laid out: its components and panels, without events."""

from __future__ import annotations

from typing import Any

import gradio as gr

from rita_demo.evaluation.page import MAX_PICTURES, MIN_PICTURES, DataFolders
from rita_demo.ui.framework.panels import PanelRegistry
from rita_demo.ui.stream import panels as stream_panels
from rita_demo.ui.stream.dataset_download import dataset_choices
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import build_columns, build_heading
from rita_demo.ui.widgets.html_buttons import DownloadButtons, HtmlButtons
from rita_demo.ui.widgets.plotly_view import PlotlyView
from rita_demo.vlm.catalogue import NOT_ZERO_SHOT

TRAFFIC_TEXT = {"clean": "clean", "mixed": "mixed: half of them attacked", "attacked": "attacked"}
ORDER_TEXT = {"random": "mixed at random", "classes": "one class after the other"}


def build_request_form(folders: DataFolders) -> dict[str, Any]:
    """The form, by the parameters of :func:`rita_demo.evaluation.page.request_for`."""
    build_heading(
        "A stream of pictures",
        f"One picture after the other, with the {wording.term_html('memory (cache)')} kept between them and the true "
        "classes known: does the memory help, and is what it holds right? Attack, strength, views, memory and the "
        "methods to compare are those chosen on the first tab; the square is the model’s input, as in all tables. "
        f"{NOT_ZERO_SHOT}",
    )
    listed = dataset_choices(folders)
    with gr.Row(elem_classes="stream-form"):
        dataset = gr.Dropdown(
            listed, value=listed[0][1], label="Pictures", filterable=False, scale=3, elem_id="stream-dataset"
        )
        pictures = gr.Slider(
            MIN_PICTURES, MAX_PICTURES, value=50, step=1, label="How many", scale=2, elem_id="stream-pictures"
        )
    with gr.Row(elem_classes="stream-form"):
        traffic = gr.Radio(
            [(w, n) for n, w in TRAFFIC_TEXT.items()], value="mixed", label="They arrive", elem_id="stream-traffic"
        )
        order = gr.Radio(
            [(w, n) for n, w in ORDER_TEXT.items()], value="random", label="In which order", elem_id="stream-order"
        )
        seed = gr.Number(0, label="Seed", precision=0, minimum=0, elem_id="stream-seed")
    return {"dataset": dataset, "pictures": pictures, "traffic": traffic, "order": order, "seed": seed}


def build_stored_runs() -> tuple[gr.Dropdown, gr.Button]:
    """The list of stored runs, and the button that opens one."""
    with gr.Accordion("Open a stored run", open=False, elem_classes="fold", elem_id="stored"):
        gr.HTML(
            "<p class='quiet small'>Runs of this page, and of the command <code>evaluate</code> where "
            "RITA was measured with the protocol <code>stream</code> into the server’s runs folder.</p>"
        )
        listed = gr.Dropdown([], label="Run", show_label=False, elem_id="stored-run")
        with gr.Row(elem_classes="whatif-row"):
            button = gr.Button("Open it", size="sm", elem_id="open-run")
    return listed, button


def build_buttons(panels: PanelRegistry) -> dict[str, Any]:
    """The buttons that start and stop a stream, by name."""
    with gr.Row(elem_id="stream-buttons"):
        found: dict[str, Any] = {
            "start": gr.Button("Start the stream", variant="primary", elem_id="stream-start"),
            "pause": gr.Button("Pause", visible=False, elem_id="stream-pause"),
            "resume": gr.Button("Resume", visible=False, elem_id="stream-resume"),
            "step": gr.Button("One picture", visible=False, elem_id="stream-step"),
            "cancel": gr.Button("Cancel", visible=False, elem_id="stream-cancel"),
        }
    panels.add(gr.HTML(elem_id="stream-status"), stream_panels.status)
    return found


def build_result(
    panels: PanelRegistry, folders: DataFolders
) -> tuple[gr.Slider, HtmlButtons, list[PlotlyView], PlotlyView, dict[str, Any]]:
    """Accuracy over the stream, and what entered the cache. The parts that have events: the time slider, thumbnails, the
    figures whose points are pictures, the one whose points are classes, and buttons by name."""
    add, p = panels.add, stream_panels
    add(gr.HTML(elem_id="stream-heading"), p.heading)
    slider = gr.Slider(
        1,
        2,
        value=1,
        step=1,
        label="After picture",
        visible=False,
        elem_id="stream-time",
        info="Accuracy and memory as they were then; all the way to the right follows the stream.",
    )
    add(slider, p.slider)
    left, right = build_columns(2, 3)
    with left:
        add(gr.HTML(elem_id="stream-standings"), p.accuracy_table)
    with right:
        accuracy = _build_figure(panels, "Accuracy over the stream", p.accuracy_figure, "accuracy")
    near = HtmlButtons(elem_id="stream-pictures-near")
    add(near, lambda session: p.thumbnails(session, folders))
    with gr.Row(elem_id="stream-open"):
        pressed = {
            "inside": gr.Button("Open in Inside RITA", size="sm", visible=False, elem_id="stream-inside"),
            "export": DownloadButtons(
                {"jsonl": "Export the rows (JSON lines)"}, visible=False, elem_id="stream-export"
            ),
        }
    build_heading("What entered the memory")
    add(gr.HTML(elem_id="stream-memory"), p.cache_text)
    left, right = build_columns(1, 1)
    with left:
        gr.HTML("<h3>Fill and purity</h3>")
        growth = _build_figure(panels, "How full and how pure the memory is", p.fill_and_purity, "growth")
    with right:
        gr.HTML("<h3>Views that entered</h3>")
        entered = _build_figure(panels, "Entropy of the views that entered", p.insertions, "entered")
    gr.HTML("<h3>Class by class</h3>")
    classes = _build_figure(panels, "The memory per class", p.class_cache, "classes", "class")
    return slider, near, [accuracy, growth, entered], classes, pressed


def _build_figure(panels: PanelRegistry, aria: str, draw: Any, name: str, *needs: str) -> PlotlyView:
    figure = PlotlyView(aria=aria, height=300, empty="Nothing was streamed yet.", elem_id=f"stream-{name}")
    panels.add(figure, draw, *needs)
    return figure
