"""How the tab *Stream* is laid out: components and panels, no events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from rita_demo.measuring import FEWEST, MOST, Places
from rita_demo.ui import stream_panels, words
from rita_demo.ui.board import Board
from rita_demo.ui.plotly_view import PlotlyView
from rita_demo.ui.shelf import Export
from rita_demo.ui.stream_fetch import choices
from rita_demo.ui.stream_panels import Pictures

TRAFFIC_WORDS = {
    "clean": "clean",
    "mixed": "mixed: half of them attacked",
    "attacked": "attacked",
}
ORDER_WORDS = {"random": "mixed at random", "classes": "one class after the other"}


def asking(places: Places) -> dict[str, Any]:
    """What is streamed, by the names of :func:`rita_demo.measuring.request_for`."""
    gr.HTML(
        "<h2 class='story'>A stream of pictures</h2><p class='lead'>One picture after the other, "
        f"with the {words.term('memory (cache)')} kept between them, and true classes known: does what "
        "is remembered help, and is it right? Attack, strength, views, memory and the methods to compare "
        "are those chosen on the first tab; the square is the model’s input, as in all tables.</p>"
    )
    listed = choices(places)
    with gr.Row(elem_classes="stream-form"):
        dataset = gr.Dropdown(
            listed, value=listed[0][1], label="Pictures", filterable=False, scale=3,
            elem_id="stream-dataset",
        )  # fmt: skip
        pictures = gr.Slider(
            FEWEST, MOST, value=50, step=1, label="How many", scale=2, elem_id="stream-pictures"
        )
    with gr.Row(elem_classes="stream-form"):
        traffic = gr.Radio(
            [(w, n) for n, w in TRAFFIC_WORDS.items()], value="mixed", label="They arrive",
            elem_id="stream-traffic",
        )  # fmt: skip
        order = gr.Radio(
            [(w, n) for n, w in ORDER_WORDS.items()], value="random", label="In which order",
            elem_id="stream-order",
        )  # fmt: skip
        seed = gr.Number(0, label="Seed", precision=0, minimum=0, elem_id="stream-seed")
    return {
        "dataset": dataset, "pictures": pictures, "traffic": traffic, "order": order, "seed": seed,
    }  # fmt: skip


def stored() -> tuple[gr.Dropdown, gr.Button]:
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


def buttons(board: Board) -> dict[str, Any]:
    """What starts and stops a stream, by name."""
    with gr.Row(elem_id="stream-buttons"):
        found: dict[str, Any] = {
            "start": gr.Button("Start the stream", variant="primary", elem_id="stream-start"),
            "pause": gr.Button("Pause", visible=False, elem_id="stream-pause"),
            "resume": gr.Button("Resume", visible=False, elem_id="stream-resume"),
            "step": gr.Button("One picture", visible=False, elem_id="stream-step"),
            "cancel": gr.Button("Cancel", visible=False, elem_id="stream-cancel"),
        }
    board.add(gr.HTML(elem_id="stream-status"), stream_panels.status)
    return found


@dataclass(frozen=True)
class Shown:
    """The parts of the result that a visitor can touch; ``pressed`` are buttons by name."""

    slider: gr.Slider
    near: Pictures
    figures: tuple[PlotlyView, ...]  # whose marks are pictures
    classes: PlotlyView  # whose marks are classes
    pressed: dict[str, Any]


def result(board: Board, places: Places) -> Shown:
    """How the stream went, and what the memory made of it."""
    add, p = board.add, stream_panels
    add(gr.HTML(elem_id="stream-heading"), p.heading)
    slider = gr.Slider(
        1, 2, value=1, step=1, label="After picture", visible=False, elem_id="stream-time",
        info="Accuracy and memory as they were then; all the way to the right follows the stream.",
    )  # fmt: skip
    add(slider, p.slider)
    with gr.Row(elem_classes="pair"):
        with gr.Column(scale=2, min_width=320):
            add(gr.HTML(elem_id="stream-standings"), p.standings)
        with gr.Column(scale=3, min_width=320):
            accuracy = _figure(board, "Accuracy over the stream", p.accuracy, "accuracy")
    near = Pictures(elem_id="stream-pictures-near")
    add(near, p.near(places))
    with gr.Row(elem_id="stream-open"):
        pressed = {
            "inside": gr.Button(
                "Open in Inside RITA", size="sm", visible=False, elem_id="stream-inside"
            ),
            "export": Export(
                {"jsonl": "Export the rows (JSON lines)"}, visible=False, elem_id="stream-export"
            ),
        }
    gr.HTML("<h2 class='story'>What the memory made of it</h2>")
    add(gr.HTML(elem_id="stream-memory"), p.memory_words)
    with gr.Row(elem_classes="pair"):
        with gr.Column(scale=1, min_width=320):
            gr.HTML("<h3>Full and pure</h3>")
            growth = _figure(board, "How full and how pure the memory is", p.growth, "growth")
        with gr.Column(scale=1, min_width=320):
            gr.HTML("<h3>What entered</h3>")
            entered = _figure(board, "Entropy of the views that entered", p.entering, "entered")
    gr.HTML("<h3>Class by class</h3>")
    classes = _figure(board, "The memory per class", p.classes, "classes", "class")
    return Shown(slider, near, (accuracy, growth, entered), classes, pressed)


def _figure(board: Board, aria: str, draw: Any, name: str, *needs: str) -> PlotlyView:
    figure = PlotlyView(
        aria=aria, height=300, empty="Nothing was streamed yet.", elem_id=f"stream-{name}"
    )
    board.add(figure, draw, *needs)
    return figure
