"""How *Figures of the paper* is laid out: components by name, panels on the board, no events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

from rita_demo import measuring
from rita_demo.measuring import Places, ablations
from rita_demo.settings import KNOBS
from rita_demo.ui import figures_cloud, figures_measured, figures_theorem
from rita_demo.ui.board import Board, Updates
from rita_demo.ui.controls import ATTACK_CHOICES, title
from rita_demo.ui.plotly_view import PlotlyView
from rita_demo.ui.sessions import Session

DRAWN = ("Drawn textures, attacked now", "textures")
_CLICK = """
element.addEventListener('click', (e) => {
  const chosen = e.target.closest('button[data-k]');
  if (chosen) trigger('click', { k: Number(chosen.dataset.k) });
});
"""


class Chips(gr.HTML):
    """Buttons; ``click`` reports the class ``k``."""

    def __init__(self, **html: Any) -> None:
        super().__init__("", js_on_load=_CLICK, apply_default_css=False, **html)

    def get_block_name(self) -> str:
        """Gradio's own ``html`` component draws this one."""
        return "html"


def when_open(draw: Callable[[Session], Any]) -> Callable[[Session], Any]:
    """Draw only while the tab is in sight; otherwise the panel keeps what it shows."""
    return lambda session: draw(session) if session.figures.open else gr.update()


def draw(board: Board) -> dict[str, Any]:
    """All panels in the order of the paper."""
    with gr.Column(elem_id="figures"):
        return {
            **_cloud(board),
            **_one_hot(board),
            **_theorem(board),
            **_ablations(board),
            **_tables(board),
        }


SHIPPED_TITLE = "measured for this copy: drawn textures"


def run_lists(parts: dict[str, Any], places: Places, chosen: str) -> Updates:
    """The runs and their streams as they lie on the server now."""
    names = [(SHIPPED_TITLE, measuring.SHIPPED), *((name, name) for name in measuring.runs(places))]
    known = [name for _, name in names]
    streams = [(one.title, one.name) for one in measuring.clouds(places)]
    return {
        parts["source"]: gr.update(choices=[DRAWN, *streams]),
        parts["run"]: gr.update(
            choices=names,
            value=chosen if chosen in known else measuring.SHIPPED,
        ),
    }


def _story(heading: str, lead: str) -> None:
    gr.HTML(f"<h2 class='story'>{heading}</h2><p class='lead'>{lead}</p>")


def _cloud(board: Board) -> dict[str, Any]:
    _story(
        "Do the classes come back in the views?",
        "The paper’s motivation: an attack scatters the pictures’ features, and in the crops of the attacked "
        "pictures the classes are to come apart again. Here both are drawn, and measured.",
    )
    with gr.Row(elem_classes="ask-row"):
        source = gr.Dropdown(
            [DRAWN], value=DRAWN[1], label="Pictures", filterable=False, elem_id="fig-source",
            info="drawn and attacked now, or a stream that evaluate stored on the server",
        )  # fmt: skip
        classes = gr.Slider(
            2, 20, 6, step=1, label="Classes", info="of drawn textures", elem_id="fig-classes"
        )
        each = gr.Slider(
            2, 20, 6, step=1, label="Pictures of each", info="all are attacked", elem_id="fig-each"
        )
        attack = gr.Dropdown(
            ATTACK_CHOICES, value=KNOBS["attack"].default, label="Attack", filterable=False,
            info="with its usual steps", elem_id="fig-attack",
        )  # fmt: skip
        budget = gr.Slider(
            0, 16, KNOBS["budget"].default, step=1, label=title(KNOBS["budget"]), elem_id="fig-budget",
            info="1/255; 0 is no attack",
        )  # fmt: skip
        views = gr.Slider(
            16, 64, 32, step=16, label=title(KNOBS["views"]), info="crops of each picture",
            elem_id="fig-views",
        )  # fmt: skip
        neighbours = gr.Slider(
            2, 50, 15, step=1, label="UMAP’s neighbours", info="few: fine groups; many: the whole",
            elem_id="fig-neighbours",
        )  # fmt: skip
    with gr.Row(elem_classes="whatif-row"):
        start = gr.Button("Gather", size="sm", variant="primary", elem_id="fig-gather")
        stop = gr.Button("Stop", size="sm", visible=False, elem_id="fig-stop")
        place = gr.Button("Place again by UMAP", size="sm", elem_id="fig-place")
        how = gr.Radio(["PCA", "UMAP"], value="UMAP", label="Placed by", elem_id="fig-how",
                       info="PCA is shown until UMAP is ready", container=False)  # fmt: skip
    chips = Chips(elem_id="fig-chips")
    cloud = PlotlyView(
        aria="Attacked pictures and their views in the plane, by true class", height=560,
        narrow_height=800, empty=figures_cloud.EMPTY, elem_id="fig-cloud",
    )  # fmt: skip
    with gr.Row(elem_classes="pair"):
        mark = gr.HTML(
            "<p class='empty'>Point at a mark, or walk to it with the arrow keys and press Enter, to "
            "see its picture.</p>", elem_id="fig-mark",
        )  # fmt: skip
        lassoed = gr.HTML(elem_id="fig-lassoed")
    numbers = gr.HTML(elem_id="fig-separation")
    board.add(chips, when_open(figures_cloud.chips), "class", "cloud")
    board.add(cloud, when_open(figures_cloud.draw_cloud), "class", "cloud")
    board.add(mark, when_open(_chosen), "cloud")
    board.add(lassoed, when_open(figures_cloud.lasso_words), "cloud")
    board.add(numbers, when_open(figures_cloud.separation_table), "cloud")
    return {
        "source": source, "classes": classes, "each": each, "attack": attack, "budget": budget,
        "views": views,
        "neighbours": neighbours, "gather": start, "stop": stop, "place": place, "how": how,
        "chips": chips, "cloud": cloud, "mark": mark, "lassoed": lassoed,
    }  # fmt: skip


def _chosen(session: Session) -> Any:
    """The chosen picture stays described until the pointer is over another one."""
    one, picture = session.figures.gathered, session.figures.picture
    if one is None or picture is None:
        return gr.update()
    here = (one.marks.kind == "attacked") & (one.marks.picture == picture)
    return figures_cloud.about_mark(session, int(here.argmax()))


def _one_hot(board: Board) -> dict[str, Any]:
    _story(
        "Are remembered views closer to a one-hot answer?",
        "KL divergence from the one-hot answer of a class to the mean answer of its features, in nats: the "
        "pictures above against what the memory kept of them.",
    )
    figure = PlotlyView(
        aria="KL to one-hot of the pictures and of the memory", height=380, narrow_height=680,
        empty=figures_cloud.EMPTY, elem_id="fig-one-hot",
    )  # fmt: skip
    said = gr.HTML(elem_id="fig-one-hot-words")
    board.add(figure, when_open(figures_cloud.draw_one_hot), "class", "cloud")
    board.add(said, when_open(figures_cloud.one_hot_words), "cloud")
    return {"one_hot": figure}


def _theorem(board: Board) -> dict[str, Any]:
    _story(
        "Theorem 1 on the picture on screen",
        "For every class two bounds around twice the transport cost of the picture’s views: below, the "
        "distance of means and covariances; above, with both spreads in full.",
    )
    figure = PlotlyView(
        aria="Theorem 1's bracket per class, clean and attacked", height=460, narrow_height=560,
        empty="Attack and defend a picture on the first tab.", elem_id="fig-brackets",
    )  # fmt: skip
    said = gr.HTML(elem_id="fig-theorem-words")
    board.add(figure, when_open(figures_theorem.draw_brackets), "class", "figures")
    board.add(said, when_open(figures_theorem.words), "figures")
    return {"brackets": figure}


def _ablations(board: Board) -> dict[str, Any]:
    _story(
        "Ablations",
        "Accuracy against one setting, everything else alike, from runs of <code>evaluate</code> on this "
        "server. A small one can be measured here: drawn textures among all 47 names, clean and under PGD.",
    )
    knobs = [(title(KNOBS[name]), name) for name in ablations.VALUES]
    with gr.Row(elem_classes="ask-row"):
        run = gr.Dropdown([(SHIPPED_TITLE, measuring.SHIPPED)], value=measuring.SHIPPED, label="Run", filterable=False,
                          info="folders on the server", elem_id="fig-run")  # fmt: skip
        knob = gr.Dropdown(knobs, value="transported_mass", label="Setting", filterable=False,
                           info="what is varied", elem_id="fig-knob")  # fmt: skip
        pictures = gr.Slider(4, ablations.MOST, 24, step=1, label="Pictures to measure",
                             info="24 say little: the intervals are wide", elem_id="fig-pictures")  # fmt: skip
        strength = gr.Slider(1, 16, KNOBS["budget"].default, step=1, label=title(KNOBS["budget"]),
                             info="of the measurement; PGD, 7 steps", elem_id="fig-strength")  # fmt: skip
    with gr.Row(elem_classes="whatif-row"):
        measure = gr.Button("Measure this setting", size="sm", elem_id="fig-measure")
        stop = gr.Button("Stop", size="sm", visible=False, elem_id="fig-stop-measuring")
    figure = PlotlyView(aria="Accuracy against one setting", height=420, narrow_height=420,
                        elem_id="fig-sweep")  # fmt: skip
    table = gr.HTML(elem_id="fig-components")
    board.add(figure, when_open(figures_measured.draw_sweep), "figures")
    board.add(table, when_open(figures_measured.component_table), "figures")
    return {
        "run": run, "knob": knob, "pictures": pictures, "strength": strength, "measure": measure,
        "stop_measuring": stop,
    }  # fmt: skip


def _tables(board: Board) -> dict[str, Any]:
    _story(
        "Printed and measured",
        "Every accuracy that the paper prints, with what is known to be wrong with some cells, beside what "
        "was measured with this program. Another model, fewer pictures or other class lists do not "
        "reproduce a cell: what was measured says what it is.",
    )
    menus = {}
    with gr.Row(elem_classes="ask-row"):
        for name, choices in figures_measured.filters().items():
            menus[name] = gr.Dropdown(
                choices,
                value=figures_measured.FIRST_FILTERS[name],
                label=name.capitalize(),
                filterable=False,
                elem_id=f"fig-{name}",
            )
    table = gr.HTML(elem_id="fig-printed")
    board.add(table, when_open(figures_measured.paper_table), "figures")
    return {"filters": menus, "printed": table}
