"""How the room *Figures* is laid out: its components and panels, without events."""

from collections.abc import Sequence
from typing import Any

import gradio as gr

from rita_demo.data.datasets import DATASETS
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders, small_ablations
from rita_demo.settings import SETTINGS
from rita_demo.ui.figures import feature_cloud, measurements, run_figures, won_pictures
from rita_demo.ui.figures.jobs import DATASET_PREFIX, EXAMPLE_PREFIX
from rita_demo.ui.framework.chosen_buttons import Choice, ChosenButtons
from rita_demo.ui.framework.context import AppContext
from rita_demo.ui.framework.panels import PanelRegistry, PanelValue, Parts, Updates
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.blocks import build_fold, build_heading, build_menu
from rita_demo.ui.widgets.html_buttons import HtmlButtons, MarkButtons
from rita_demo.ui.widgets.plotly_view import PlotlyView
from rita_demo.ui.widgets.setting_controls import attack_choices, setting_title
from rita_demo.vlm.catalogue import NOT_ZERO_SHOT

TEXTURES_CHOICE = ("Drawn textures, attacked now", DATASET_PREFIX + evaluation_page.TEXTURES)  # always here
EXAMPLE_CHOICES = [
    (f"Stored example: {DATASETS[name].title}", EXAMPLE_PREFIX + name) for name in evaluation_page.EXAMPLES
]
LIVE_CONTROLS = ("names", "classes", "each", "attack", "budget", "views")
STRENGTH_INFO = "0 is no attack"
POINT_TEXT = (
    "<p class='empty'>Point at or tap a mark<span class='keys'>, or select it with the arrow keys and Enter,</span> to see its "
    "picture.</p>"
)
SHIPPED_RUN = ("measured for this copy: DTD and Caltech101, val", evaluation_page.SHIPPED)
NO_RUN = "Attack a picture in the Story."


def build(context: AppContext, folders: DataFolders) -> Parts:
    """All sections in the order of the paper; their components by name."""
    panels = context.panels
    with gr.Column(elem_id="figures"):
        parts = _build_cloud(context, folders) | won_pictures.build(context, folders)
        _build_overview(panels)
        parts |= {"one_hot": _build_kl_to_one_hot(panels), "brackets": _build_theorem(panels)}
        return parts | _build_ablations(panels) | _build_tables(panels)


def class_choices(folders: DataFolders, source: str) -> list[tuple[str, str]]:
    """(text, name) of the classes of a dataset; none of a source that is not attacked now."""
    counts = evaluation_page.class_counts(folders, source.removeprefix(DATASET_PREFIX))
    return [(f"{name} ({count})", name) for name, count in counts.items()]


def run_lists(parts: Parts, folders: DataFolders, chosen: str) -> Updates:
    """The run folders and stored streams that are on the server now."""
    runs = [SHIPPED_RUN, *((name, name) for name in evaluation_page.run_names(folders))]
    streams = evaluation_page.stream_choices(evaluation_page.stored_streams(folders))
    datasets = [
        (f"{one.name}, attacked now. {one.skipped}".removesuffix(". "), DATASET_PREFIX + one.name)
        for one in evaluation_page.available(folders)
        if one.name != evaluation_page.TEXTURES
    ]
    value = chosen if (chosen, chosen) in runs else evaluation_page.SHIPPED
    return {
        parts["source"]: gr.update(choices=[TEXTURES_CHOICE, *datasets, *EXAMPLE_CHOICES, *streams]),
        parts["run"]: gr.update(choices=runs, value=value),
    }


def _menu(
    name: str, label: str, choices: Sequence[str | tuple[str, str]], value: str, info: str | None = None
) -> gr.Dropdown:
    return build_menu(choices, value=value, label=label, filterable=False, info=info, elem_id=f"fig-{name}")


def _slider(name: str, label: str, low: int, high: int, value: int, info: str, step: int = 1) -> gr.Slider:
    return gr.Slider(low, high, value, step=step, label=label, info=info, elem_id=f"fig-{name}")


def _button(name: str, text: str, **more: Any) -> gr.Button:
    return gr.Button(text, size="sm", elem_id=f"fig-{name}", **more)


def _build_cloud(context: AppContext, folders: DataFolders) -> Parts:
    panels = context.panels
    build_heading(
        "Are the classes separated in the views?",
        "The paper’s motivation: an attack scatters the pictures’ features, and in the crops of the attacked pictures the "
        "classes separate again. Here both are drawn and measured.",
    )
    panels.add(gr.HTML(elem_id="fig-says"), feature_cloud.says, "cloud")
    parts: Parts = {}
    with gr.Row(elem_classes="ask-row"):
        info = "attacked now, or a stream that evaluate stored on the server"
        parts["source"] = _menu("source", "Pictures", [TEXTURES_CHOICE, *EXAMPLE_CHOICES], TEXTURES_CHOICE[1], info)
        parts["classes"] = _slider("classes", "Classes", 2, 20, 6, "those with most pictures, unless some are named")
        parts["each"] = _slider("each", "Pictures of each", 2, 20, 6, "all are attacked")
        attack, budget = SETTINGS["attack"].default, SETTINGS["budget"].default
        parts["attack"] = _menu("attack", "Attack", attack_choices(), attack, "with its usual steps")
        parts["budget"] = _slider("budget", "Strength (/255)", 0, 16, budget, STRENGTH_INFO)
        parts["views"] = _slider("views", "Views", 16, 64, 32, "crops of each picture", step=16)
        info = "few: small groups; many: the overall shape"
        parts["neighbours"] = _slider("neighbours", "UMAP’s neighbours", 2, 50, 15, info)
    parts["names"] = build_menu(
        class_choices(folders, TEXTURES_CHOICE[1]),
        value=[],
        multiselect=True,
        label="Classes by name",
        info="none: as many as the slider says",
        elem_id="fig-names",
    )
    with gr.Row(elem_classes="whatif-row"):
        parts["gather"] = _button("gather", "Collect pictures", variant="primary")
        parts["stop"] = _button("stop", "Stop", visible=False)
        parts["place"] = _button("place", "Run UMAP again")
        info = "PCA is shown until UMAP is ready"
        parts["how"] = gr.Radio(
            ["PCA", "UMAP"], value="UMAP", label="Projection", elem_id="fig-how", info=info, container=False
        )
        info = "where they are at hand"
        switch = gr.Checkbox(
            False, label="Pictures under the points", elem_id="fig-pictures", info=info, container=False
        )
        parts["switch"] = panels.add(switch, feature_cloud.picture_switch, "cloud")
    parts["chips"] = panels.add(MarkButtons(elem_id="fig-chips"), feature_cloud.class_chips, "class", "cloud")
    aria, empty = "Attacked pictures and their views in the plane, by true class", feature_cloud.EMPTY_TEXT
    cloud = PlotlyView(elem_id="fig-cloud", aria=aria, height=560, narrow_height=800, empty=empty)
    parts["cloud"] = panels.add(cloud, feature_cloud.draw_cloud, "class", "cloud")
    with gr.Row(elem_classes="pair"):
        parts["mark"] = panels.add(gr.HTML(elem_id="fig-mark"), _selected_point, "cloud")
        parts["mark"].value = POINT_TEXT
        with gr.Column():
            choice = Choice(
                *("fig", feature_cloud.chosen_pictures, feature_cloud.is_chosen, feature_cloud.points_table),
                *("points.csv", "Selected points as CSV"),
            )
            parts["lasso_buttons"] = ChosenButtons(context, folders, choice, "cloud")
            parts["lassoed"] = panels.add(HtmlButtons(elem_id="fig-lassoed"), feature_cloud.lasso_table, "cloud")
    panels.add(gr.HTML(elem_id="fig-separation"), feature_cloud.separability_table, "cloud")
    return parts


def _selected_point(session: Session) -> PanelValue:
    """The selected picture stays described until the pointer is over another one."""
    one, picture = session.figures.placed_cloud, session.figures.picture
    if one is None or picture is None:
        return gr.update()
    here = (one.points.kind == "attacked") & (one.points.picture == picture)
    return feature_cloud.point_html(session, int(here.argmax()))


def _build_overview(panels: PanelRegistry) -> None:
    lead = "Picture, crops, transport and costs of the run on screen, as one figure to save."
    with build_fold("What does the method do, in one figure?", lead):
        aria = "The method on the picture on screen"
        figure = PlotlyView(elem_id="fig-overview", aria=aria, height=300, narrow_height=560, empty=NO_RUN)
        panels.add(figure, run_figures.draw_overview, "step")


def _build_kl_to_one_hot(panels: PanelRegistry) -> PlotlyView:
    lead = (
        "KL divergence from the one-hot answer of a class to the mean answer of its features, in nats: the pictures above "
        "against their views in the memory."
    )
    with build_fold("Are stored views closer to a one-hot answer?", lead):
        aria, empty = "KL to one-hot of the pictures and of the memory", feature_cloud.EMPTY_TEXT
        figure = PlotlyView(elem_id="fig-one-hot", aria=aria, height=380, narrow_height=680, empty=empty)
        panels.add(figure, feature_cloud.draw_kl_to_one_hot, "class", "cloud")
        panels.add(gr.HTML(elem_id="fig-one-hot-words"), feature_cloud.kl_text, "cloud")
        return figure


def _build_theorem(panels: PanelRegistry) -> PlotlyView:
    build_heading(
        "Does Theorem 1 hold on the picture on screen?",
        "For every class two bounds around twice the transport cost of the picture’s views: below, the distance of means "
        "and covariances; above, with both spreads in full.",
    )
    aria = "Bounds of Theorem 1 per class, clean and attacked"
    figure = PlotlyView(elem_id="fig-brackets", aria=aria, height=460, narrow_height=560, empty=NO_RUN)
    panels.add(figure, run_figures.draw_bounds, "class", "figures")
    panels.add(gr.HTML(elem_id="fig-theorem-words"), run_figures.theorem_text, "figures")
    return figure


def _build_ablations(panels: PanelRegistry) -> Parts:
    lead = (
        "Accuracy against one setting, everything else alike, from runs of <code>evaluate</code> on this server. A small one "
        f"can be measured here: drawn textures among all 47 names, clean and under PGD. {NOT_ZERO_SHOT}"
    )
    parts: Parts = {}
    with build_fold("Which settings matter? Ablations", lead):
        with gr.Row(elem_classes="ask-row"):
            settings = [(setting_title(SETTINGS[name]), name) for name in small_ablations.VALUES]
            parts["run"] = _menu("run", "Run", [SHIPPED_RUN], SHIPPED_RUN[1], "folders on the server")
            parts["setting"] = _menu("setting", "Setting", settings, "transported_mass", "what is varied")
            most, info = small_ablations.MAX_PICTURES, "24 are few: the intervals are wide"
            parts["pictures"] = _slider("pictures", "Pictures to measure", 4, most, 24, info)
            budget, info = SETTINGS["budget"], "of the measurement; PGD, 7 steps"
            parts["measured_budget"] = _slider("measured-budget", setting_title(budget), 1, 16, budget.default, info)
        with gr.Row(elem_classes="whatif-row"):
            parts["measure"] = _button("measure", "Measure this setting")
            parts["stop_measuring"] = _button("stop-measuring", "Stop", visible=False)
        sweep = PlotlyView(elem_id="fig-sweep", aria="Accuracy against one setting", height=420)
        panels.add(sweep, measurements.draw_sweep, "figures")
        backbones = PlotlyView(elem_id="fig-backbones", aria="Accuracy by backbone and attack", height=380)
        panels.add(backbones, measurements.draw_backbones, "figures")
        panels.add(gr.HTML(elem_id="fig-left-out"), measurements.left_out, "figures")
        times = PlotlyView(elem_id="fig-times", aria="Seconds per picture of every method", height=320, visible=False)
        panels.add(times, measurements.draw_run_times, "figures")
        panels.add(gr.HTML(elem_id="fig-components"), measurements.component_table, "figures")
    return parts


def _build_tables(panels: PanelRegistry) -> Parts:
    lead = (
        "Every accuracy that the paper prints, with what is known to be wrong with some cells, beside what was measured with "
        "this program. Another model, fewer pictures or other class lists do not reproduce a cell: they are given with "
        f"each measurement. {NOT_ZERO_SHOT}"
    )
    with build_fold("What does the paper print, and what was measured?", lead):
        with gr.Row(elem_classes="ask-row"):
            menus = {
                name: _menu(name, name.capitalize(), choices, measurements.DEFAULT_FILTERS[name])
                for name, choices in measurements.filters().items()
            }
        printed = panels.add(gr.HTML(elem_id="fig-printed"), measurements.paper_table, "figures")
        return {"filters": menus, "printed": printed}
