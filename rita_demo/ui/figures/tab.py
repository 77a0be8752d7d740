"""The room *Figures*: a wall of the paper's figures, one of them large.

Its panels share the selection of all rooms; they are drawn only while the room is in sight.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import gradio as gr

from rita_demo.data.datasets import DATASETS
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders
from rita_demo.figures.labels import sides_of
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.records.errors import DataError
from rita_demo.records.json_value import JsonValue
from rita_demo.settings import SETTINGS
from rita_demo.ui.figures import feature_cloud, measurements, run_figures, wall, won_pictures
from rita_demo.ui.figures.jobs import DATASET_PREFIX, EXAMPLE_PREFIX, FigureJobs, is_stored, with_cloud
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import AppContext, immediate_event, queued_event
from rita_demo.ui.framework.open_run import RunOpener
from rita_demo.ui.framework.panels import PanelValue, Parts, Updates
from rita_demo.ui.framework.room_layout import build_drawer, build_room
from rita_demo.ui.framework.selection import bind_selection
from rita_demo.ui.framework.stoppable import StoppableJob
from rita_demo.ui.run_panels import run_pills
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.blocks import build_fold, build_menu
from rita_demo.ui.widgets.html_buttons import DownloadButtons, HtmlButtons, MarkButtons, download_value
from rita_demo.ui.widgets.plotly_view import PlotlyView, event_data, parse_int, selected_points
from rita_demo.ui.widgets.setting_controls import attack_choices, strength_update

#: Long jobs of this room wait only for each other: they use the engine for one step at a time.
LONG_EVENT, UMAP_EVENT = queued_event("figures"), queued_event("umap")
#: What a change of the wall may change.
TOPICS = ("class", "step", "cloud", "figures")
TEXTURES = DATASET_PREFIX + evaluation_page.TEXTURES
EXAMPLES = [(f"{DATASETS[name].title}, stored", EXAMPLE_PREFIX + name) for name in evaluation_page.EXAMPLES]
COLLECTED = "collected"  # the choice that stands for pictures that are no stored example
LIVE_CONTROLS = ("names", "each", "attack", "budget", "views")
STRENGTH_INFO = "0 is no attack"
SHIPPED_RUN = ("measured for this copy", evaluation_page.SHIPPED)


def source_choices(folders: DataFolders) -> list[tuple[str, str]]:
    """(text, name) of the datasets and stored streams whose pictures can be collected."""
    datasets = [
        (f"{one.name}. {one.skipped}".removesuffix(". "), DATASET_PREFIX + one.name)
        for one in evaluation_page.available(folders)
        if one.name != evaluation_page.TEXTURES
    ]
    streams = evaluation_page.stream_choices(evaluation_page.stored_streams(folders))
    return [("Drawn textures", TEXTURES), *datasets, *streams]


class FiguresTab:
    """The room. Build it inside ``gr.Tab``; ``parts`` holds its components by name."""

    room = "figures"

    def __init__(self, context: AppContext, folders: DataFolders, opener: RunOpener) -> None:
        self.context, self.folders, self.opener = context, folders, opener
        self.jobs = FigureJobs(context, folders)
        self.sources: list[tuple[str, str]] = []  # that pictures can be collected from now
        self.parts: Parts = {}
        self.export_count = 0
        panels = context.panels
        layout = build_room(panels, self.room, wall.headline, *TOPICS)
        with layout.pills:
            self._build_pills()
            with build_drawer(self.room) as self.parts["drawer"]:
                self._build_drawer()
        p = self.parts
        with layout.figure:
            large = PlotlyView(elem_id="fig-large", aria="The large figure of the wall", height=610)
            p["large"] = panels.add(large, wall.draw, *TOPICS, first=True)
            panels.add(MarkButtons(elem_id="fig-chips"), feature_cloud.class_chips, "class", "cloud", first=True)
            panels.add(gr.HTML(elem_id="fig-caption"), wall.caption, *TOPICS, first=True)
        with layout.details:
            details = HtmlButtons(elem_id="fig-details")
            p["details"] = panels.add(details, lambda session: wall.details(session, folders), *TOPICS, first=True)
            p["lassoed"] = panels.add(gr.HTML(elem_id="fig-lassoed"), feature_cloud.lasso_says, "cloud")
            with gr.Row(elem_classes="chosen-row"):
                button = DownloadButtons({"csv": "Selected points as CSV"}, visible=False, elem_id="fig-export")
                p["lasso_table"] = panels.add(
                    button, lambda session: gr.update(visible=bool(feature_cloud.lassoed_pictures(session))), "cloud"
                )
            panels.add(MarkButtons(elem_id="fig-tiles"), wall.tiles, "figures")
        with layout.folds:
            with build_fold("How separability is measured", elem_id="fig-separability"):
                panels.add(gr.HTML(elem_id="fig-separation"), feature_cloud.separability_table, "cloud")
            p |= won_pictures.build(context)
            with build_fold("What each part adds", elem_id="fig-parts"):
                panels.add(gr.HTML(elem_id="fig-components"), measurements.component_table, "figures")
            with build_fold("Every accuracy the paper prints", elem_id="fig-tables"):
                shown: dict[str, Any] = {"show_search": "filter", "show_label": False, "max_height": 420}
                titles = list(measurements.SHOWN.values())
                printed = gr.Dataframe(headers=titles, interactive=False, elem_id="fig-printed", **shown)
                p["printed"] = panels.add(printed, measurements.paper_table, "printed")
        panels.prepare(self.room, self._prepare)
        panels.on_open(self.room, self.on_open)

    # --- layout
    def _build_pills(self) -> None:
        """A pill is in sight while a figure is large that it is of (the ``of-`` classes, style sheet)."""
        p, panels, at = self.parts, self.context.panels, Session().figures

        def menu(name: str, label: str, choices: Sequence[Any], value: str, of: str) -> Any:
            more: dict[str, Any] = {"label": label, "filterable": False, "elem_id": f"fig-{name}", "elem_classes": of}
            return build_menu(choices, value=value, **more)

        p["shown"] = menu("shown", "Pictures", EXAMPLES, EXAMPLES[0][1], "of-cloud of-kl")
        panels.add(p["shown"], self._shown, "cloud")
        how: dict[str, Any] = {"elem_id": "fig-how", "elem_classes": "switch of-cloud"}
        p["how"] = gr.Radio(["UMAP", "PCA"], value="UMAP", label="Projection", **how)
        panels.add(HtmlButtons(elem_id="fig-run-pills", elem_classes="of-theorem of-overview"), run_pills, "run")
        p["setting"] = menu("setting", "Setting", measurements.setting_choices(), at.setting, "of-settings")
        p["run"] = menu("run", "Run", [SHIPPED_RUN], SHIPPED_RUN[1], "of-settings")
        p["dataset"] = menu("dataset", "Dataset", measurements.dataset_choices(), at.dataset, "of-paper")

    def _build_drawer(self) -> None:
        """What is collected for the feature cloud."""
        p = self.parts

        def slider(name: str, label: str, low: int, high: int, value: int, info: str = "", step: int = 1) -> gr.Slider:
            return gr.Slider(low, high, value, step=step, label=label, info=info or None, elem_id=f"fig-{name}")

        choices = [("Drawn textures", TEXTURES)]
        p["source"] = build_menu(choices, value=TEXTURES, label="Pictures of", filterable=False, elem_id="fig-source")
        more: dict[str, Any] = {"label": "Classes by name", "info": "none: six of them", "elem_id": "fig-names"}
        p["names"] = build_menu(self.class_choices(TEXTURES), value=[], multiselect=True, **more)
        p["each"] = slider("each", "Pictures of each", 2, 20, 6)
        attack, budget = SETTINGS["attack"].default, SETTINGS["budget"].default
        p["attack"] = build_menu(attack_choices(), value=attack, label="Attack", filterable=False, elem_id="fig-attack")
        p["budget"] = slider("budget", "Strength (/255)", 0, 16, budget, STRENGTH_INFO)
        p["views"] = slider("views", "Crops of each picture", 16, 64, 32, step=16)
        p["gather"] = gr.Button("Collect pictures", size="sm", variant="primary", elem_id="fig-gather")
        p["stop"] = gr.Button("Stop", size="sm", visible=False, elem_id="fig-stop")

    def _shown(self, session: Session) -> PanelValue:
        """The menu of pictures: the stored examples, what was collected if it is on screen, and where more can be collected."""
        placed = session.figures.placed_cloud
        more = [(f"Collect: {text}", name) for text, name in self.sources]
        if placed is not None and not placed.stored:
            own = (placed.cloud.title.partition(", Many")[0][:60], COLLECTED)
            return gr.update(choices=[own, *EXAMPLES, *more], value=COLLECTED)
        dataset = evaluation_page.EXAMPLES[0] if placed is None else placed.cloud.dataset
        return gr.update(choices=[*EXAMPLES, *more], value=EXAMPLE_PREFIX + dataset)

    def class_choices(self, source: str) -> list[tuple[str, str]]:
        """(text, name) of the classes of a dataset; none of a source that is not attacked now."""
        counts = evaluation_page.class_counts(self.folders, source.removeprefix(DATASET_PREFIX))
        return [(f"{name} ({count})", name) for name, count in counts.items()]

    # --- events
    def bind_events(self, own_tab: gr.Tab) -> None:
        """Connect the events, after the panels of all rooms are registered."""
        p, context, visitor = self.parts, self.context, self.context.visitor
        said, status = context.error_banner, context.status
        of = partial(context.outputs_of, self.room)
        sources_chosen, runs_chosen = (
            partial(gr.on, [p[name].input for name in names]) for names in (("source", "attack"), ("first", "second"))
        )
        live = [p[name] for name in LIVE_CONTROLS]
        pictures = [*of("cloud", "figures"), p["drawer"], p["source"], *live]
        quick: list[tuple[Any, Any, list[Any], list[Any]]] = [
            (p["large"].select, self.on_lasso, [], [said, p["lassoed"], p["lasso_table"]]),
            (p["shown"].input, self.pick_pictures, [p["shown"]], pictures),
            (sources_chosen, self.pick_source, [p["source"], p["attack"]], live),
            (p["how"].input, self.pick_projection, [p["how"]], of("cloud")),
            (p["run"].input, self.pick_run, [p["run"]], of("figures", "printed")),
            (p["setting"].input, self.pick_setting, [p["setting"]], of("figures")),
            (p["dataset"].input, self.pick_dataset, [p["dataset"]], of("figures")),
            (runs_chosen, self.pick_compared, [p["first"], p["second"]], [said, p["won"], p["second"], p["won_table"]]),
            (p["lasso_table"].click, self.save_points, [], [said, status, p["lasso_table"]]),
            (p["won_table"].click, self.save_won, [], [said, status, p["won_table"]]),
        ]
        for event, handler, inputs, outputs in quick:
            event(notice.handle_errors(said)(handler), [visitor, *inputs], outputs, **immediate_event(handler))
        bind_selection(context, self.room)
        context.bind_room(own_tab, *(p[name] for name in ("source", "run", "first", "second")))
        self.opener.bind_event(p["details"].click, self.open_picture)
        self.opener.bind_event(p["won"].click, self.open_won)
        stopped = context.done("Stopped. What was there before is still shown.")
        job, outputs = StoppableJob(context, p["stop"], lambda _: stopped), context.outputs(p["stop"])
        asked = [visitor, *(p[name] for name in ("source", "each", "attack", "budget", "views", "names"))]
        gathers = job.bind_event(p["gather"].click, self.jobs.collect, asked, outputs, **LONG_EVENT)
        gathers.success(job.handler(self.jobs.run_umap, follows=True), visitor, outputs, **UMAP_EVENT)

    def _change(self, visitor: str, topic: str, **changes: Any) -> Updates:
        """Change what the room shows, and draw what depends on ``topic``."""
        session = self.context.sessions.get(visitor)
        session.figures = replace(session.figures, **changes)
        return self.context.answer(session, self.room, topic)

    # --- opening the room
    def on_open(self, session: Session) -> Updates:
        """The room is opened: warm up UMAP; the menus of the runs and of the pictures that are on the server now. The first
        time it shows a stored cloud."""
        self.jobs.worker.warm_up()
        if session.figures.placed_cloud is None:
            with suppress(DataError):
                self._show_example(session, evaluation_page.EXAMPLES[0])
        runs = [SHIPPED_RUN, *((name, name) for name in evaluation_page.run_names(self.folders))]
        self.sources = source_choices(self.folders)
        chosen = session.figures.run_folder
        chosen = chosen if (chosen, chosen) in runs else evaluation_page.SHIPPED
        lists: Updates = {
            self.parts["source"]: gr.update(choices=self.sources),
            self.parts["run"]: gr.update(choices=runs, value=chosen),
            **won_pictures.open_menus(self.parts, self.folders, session),
        }
        self._load_run_folder(session, chosen)  # it may have more rows than before
        session.touch("figures", "cloud")
        return lists

    def _show_example(self, session: Session, dataset: str) -> None:
        """A stored cloud. Raises DataError: its file is missing or damaged."""
        session.figures = with_cloud(session.figures, evaluation_page.shipped_cloud(self.folders, dataset))

    def _prepare(self, session: Session) -> None:
        """Compute what the large figure shows of the run on screen."""
        run, known = session.run, session.figures.theorem_bounds
        if run is None:
            return
        if session.figures.shown == "theorem" and (known is None or known[0] is not run):
            made = run_figures.bounds_by_side(self.context.engine_of(session), run)
            session.figures = replace(session.figures, theorem_bounds=(run, made))
        if session.figures.shown == "overview":
            self.context.crop_views(session, sides_of(run)[-1])

    def _load_run_folder(self, session: Session, run: str) -> None:
        """Read the measurements of a run folder; "" are those shipped with this copy."""
        points, times = evaluation_page.measured_points(self.folders, run)
        if session.figures.printed is None or points != session.figures.ablation_points:
            session.figures = replace(session.figures, printed=measurements.beside_paper(points))
            session.touch("printed")
        session.figures = replace(session.figures, run_folder=run, ablation_points=points, times=times)

    # --- the cloud
    def on_lasso(self, visitor: str, event: gr.EventData) -> Updates:
        """Points were surrounded."""
        session = self.context.sessions.get(visitor)
        placed = session.figures.placed_cloud
        if placed is None or session.figures.shown != "cloud":
            return {}
        points = selected_points(event, len(placed.points.kind))
        session.figures = replace(session.figures, lasso_points=points)
        return self.context.panels.draw_only(session, [self.parts["lassoed"], self.parts["lasso_table"]])

    def save_points(self, visitor: str) -> Updates:
        """The points inside the lasso as a CSV file."""
        return self._save("lasso_table", "points.csv", feature_cloud.points_table, visitor)

    def save_won(self, visitor: str) -> Updates:
        """The pictures that one run alone has right as a CSV file."""
        return self._save("won_table", "won.csv", won_pictures.pictures_table, visitor)

    def _save(self, button: str, name: str, make: Callable[[Session], bytes], visitor: str) -> Updates:
        said = f"Saved {name}: “evaluate --pictures {name}” measures these pictures in the terminal."
        self.export_count += 1
        with self.context.downloads:
            file = download_value(name, make(self.context.sessions.get(visitor)), self.export_count)
        return {self.parts[button]: file} | self.context.done(said)

    def open_picture(self, visitor: str, event: gr.EventData) -> Iterator[Updates]:
        """The chosen picture: attack it again as in the cloud, and show it in *Inside*."""
        session = self.context.sessions.get(visitor)
        placed = session.figures.placed_cloud
        n = None if placed is None else parse_int(event_data(event).get("picture"), 0, len(placed.cloud.ids))
        if placed is None or n is None:
            return
        cloud, side = placed.cloud, self.context.engine_of(session).info.side

        def find() -> RunRequest:
            picture = evaluation_page.cloud_picture(self.folders, cloud, n, side)
            settings = cloud.settings.replace(view_seed=cloud.seeds[n], attack_seed=cloud.seeds[n])
            return RunRequest(picture, cloud.names, settings, int(cloud.label[n]), None, cloud.ids[n])

        yield from self.opener.steps(session, find, "inside")

    def open_won(self, visitor: str, event: gr.EventData) -> Iterator[Updates]:
        """A picture that one run alone has right was pressed: show it in all rooms as that run had it."""
        session = self.context.sessions.get(visitor)
        compared, engine = session.figures.compared, self.context.engine_of(session)
        n = parse_int(event_data(event).get("picture"), 0, len(compared.found.won) if compared else 0)
        if n is not None:
            yield from self.opener.steps(session, lambda: won_pictures.request_of(session, engine, self.folders, n))

    def pick_pictures(self, visitor: str, name: JsonValue) -> Updates:
        """A stored example is shown at once; of a dataset or a stream the drawer opens, where its pictures are collected."""
        session = self.context.sessions.get(visitor)
        if isinstance(name, str) and name.startswith(EXAMPLE_PREFIX):
            self._show_example(session, name.removeprefix(EXAMPLE_PREFIX))
            return self.context.answer(session, self.room, "cloud", "figures")
        shown = {self.parts["shown"]: self._shown(session)}
        if name not in [known for _, known in self.sources]:
            return shown
        chosen = {self.parts["drawer"]: gr.update(open=True), self.parts["source"]: gr.update(value=name)}
        return shown | chosen | self.pick_source(visitor, name, SETTINGS["attack"].default)

    def pick_source(self, visitor: str, source: JsonValue, attack: JsonValue) -> Updates:
        """What is attacked now has controls; a stored stream has its own pictures, attack and views."""
        live = not is_stored(source)
        choices = self.class_choices(str(source)) if live else []
        updates: Updates = {self.parts[name]: gr.update(interactive=live) for name in LIVE_CONTROLS}
        updates[self.parts["names"]] = gr.update(interactive=live, value=[], choices=choices)
        return updates | {self.parts["budget"]: strength_update(attack, STRENGTH_INFO, usable=live)}

    def pick_projection(self, visitor: str, projection: JsonValue) -> Updates:
        return self._change(visitor, "cloud", projection=projection) if projection in ("PCA", "UMAP") else {}

    # --- measurements
    def pick_run(self, visitor: str, run: str | None) -> Updates:
        session = self.context.sessions.get(visitor)
        self._load_run_folder(session, run or "")
        return {self.context.error_banner: "", **self.context.answer(session, self.room, "figures", "printed")}

    def pick_setting(self, visitor: str, setting: JsonValue) -> Updates:
        known = setting in [name for _, name in measurements.setting_choices()]
        return self._change(visitor, "figures", setting=setting) if known else {}

    def pick_dataset(self, visitor: str, dataset: JsonValue) -> Updates:
        known = dataset in measurements.dataset_choices()
        return self._change(visitor, "figures", dataset=dataset) if known else {}

    def pick_compared(self, visitor: str, first: JsonValue, second: JsonValue) -> Updates:
        """Two measurements were chosen: the pictures that the first alone has right. A second one that is not of the same
        dataset makes room for one that is."""
        session = self.context.sessions.get(visitor)
        if first is None:
            return {}
        second = won_pictures.second_of(self.folders, first, second)
        won_pictures.compare(session, self.folders, first, second)
        drawn = self.context.panels.draw_only(session, [self.parts["won"], self.parts["won_table"]])
        return {self.context.error_banner: "", self.parts["second"]: gr.update(value=second)} | drawn
