"""Writes the paper's figures and tables into a folder, with an index."""

from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rita_demo import figures
from rita_demo.data.samples import SAMPLES
from rita_demo.data.vocabularies import index_of
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page.clouds import attack_text
from rita_demo.evaluation.paper import catalogue
from rita_demo.evaluation.paper.catalogue import MAX_DRAWN, Item, longest_streams, memory_items
from rita_demo.evaluation.report.cells import cells
from rita_demo.evaluation.rows import run_folders
from rita_demo.figures import analysis
from rita_demo.figures.printing import print_figure, require_chromium
from rita_demo.process.environment import data_folder, value
from rita_demo.process.generators import run_to_end
from rita_demo.process.output_file import make_output_folder, write_output
from rita_demo.records.errors import DataError, DemoError, join_names
from rita_demo.records.measurement import FeatureCloud
from rita_demo.settings import RECOMMENDED

INDEX = "index.md"
SAMPLE = "motorcycle"  # the picture of the overview: the page's worked example
NEED_NO_RUNS = (catalogue.CLOUD, catalogue.KL, catalogue.OVERVIEW)
Report = Callable[[str], object]


def write(asked: Namespace, report: Report) -> tuple[int, int, int]:
    """Write what the options of ``figures`` ask for; returns the numbers of figures, of tables and of missing ones.
    Raises DataError: no run folder, no such name, no Chromium, a file that cannot be written."""
    wanted = catalogue.checked(asked.only.split(",")) if asked.only else (*catalogue.names(), *catalogue.OF_STREAMS)
    if any(name not in (catalogue.TABLE, catalogue.MEMORY_TABLE) for name in wanted):
        require_chromium()
    folders = run_folders(asked.runs)
    if not folders and (measured := [name for name in wanted if name not in NEED_NO_RUNS]):
        text = f"{join_names(measured, 3)}: drawn from runs, and no run folder was named."
        raise DataError(text, "Name the folder that evaluate wrote to.")
    items: list[Item] = []
    if {catalogue.CLOUD, catalogue.KL} & set(wanted):
        items += _cloud_figures(asked, folders, report)
    if catalogue.OVERVIEW in wanted:
        items.append(_overview(asked, report))
    items += catalogue.measured_items(cells(*folders)) if folders else []
    if set(catalogue.OF_STREAMS) & set(wanted):
        items += memory_items(folders)
    items = [item for item in items if any(item.name == name or item.name.startswith(f"{name}-") for name in wanted)]
    make_output_folder(asked.out)
    lines = ["# Figures and tables", "", f"From {len(folders)} run folders: {', '.join(f.name for f in folders)}.", ""]
    for number, item in enumerate(items, start=1):
        report(f"Writing {item.name}, {number} of {len(items)}")
        lines.append(_write_item(asked.out, item, asked.width, asked.format))
    write_output(asked.out / INDEX, ("\n".join(lines) + "\n").encode())
    figures, tables = sum(item.figure is not None for item in items), sum(bool(item.files) for item in items)
    return figures, tables, len(items) - figures - tables


def _cloud_figures(asked: Namespace, folders: Sequence[Path], report: Report) -> Iterator[Item]:
    """Pictures and their views in the plane, and their KL to one-hot: of a dataset that is named or, without one, of the
    longest streams in the run folders; without run folders of drawn textures."""
    from rita_demo.scripting.explain import load_engine

    root = asked.data_root or data_folder()
    if asked.dataset or not folders:
        dataset = asked.dataset or evaluation_page.TEXTURES
        engine = load_engine(asked.backbone)
        pictures = evaluation_page.cloud_set(dataset, root, asked.split, asked.classes or 6, asked.each)
        steps = evaluation_page.collect_steps(engine, pictures, RECOMMENDED.replace(square="model"))
        cloud = run_to_end(steps, lambda at: report(f"Attacking and deciding picture {at[0] + 1} of {at[1]}"))
        yield from _drawn(cloud, engine, asked, report, "")
        return
    # what a stream whose attack uses the memory has stored is found by the memory's state alone
    streams = [stream for stream in longest_streams(folders) if not stream.attack_uses_cache]
    if not streams:
        text = "No stream was measured: evaluate --methods rita --protocols stream, or name a --dataset."
        yield from (Item(name, text) for name in (catalogue.CLOUD, catalogue.KL))
        return
    engine = load_engine(asked.backbone)
    for number, stream in enumerate(streams[:MAX_DRAWN], start=1):
        end = f"-{number}" if len(streams) > 1 else ""
        here = evaluation_page.DataFolders(asked.data_root or value("RITA_DATA"), stream.folder)
        steps = evaluation_page.load_cloud_steps(here, stream.name, engine)
        try:
            cloud = run_to_end(steps, lambda at: report(f"Encoding clean picture {at[0] + 1} of {at[1]}"))
            yield from _drawn(cloud, engine, asked, report, end)
        except DemoError as error:  # the other streams are drawn
            yield from (Item(f"{name}{end}", f"{stream.title}. {error}") for name in (catalogue.CLOUD, catalogue.KL))


def _drawn(cloud: FeatureCloud, engine: Engine, asked: Namespace, report: Report, end: str) -> Iterator[Item]:
    """The figures of one cloud: by UMAP, by PCA, and the KL to one-hot."""
    points, names = analysis.to_points(cloud), cloud.class_prompts.names
    asked_for = asked.classes
    if not (asked_for is None or isinstance(asked_for, int)):
        asked_for = [index_of(names, name) for name in asked_for]
    points = analysis.of_classes(points, asked_for)
    centred = analysis.centre_by_kind(points)
    report("UMAP is placing the points")
    by_umap = analysis.umap(centred, asked.neighbours, points.picture), analysis.umap_caption(asked.neighbours)
    for part, (placed, projection) in (("", by_umap), ("-pca", analysis.captioned_pca(centred))):
        figure = figures.feature_cloud(points, placed, names, projection=projection, ids=cloud.ids)
        text = f"Features of {cloud.title}, by true class. {projection}"
        figure.meta["square"] = True  # in print it is no higher than wide
        yield Item(f"{catalogue.CLOUD}{end}{part}", text, figure, 480)
    figure = figures.kl_to_one_hot(analysis.kl_to_one_hot(cloud, engine.kl_to_one_hot))
    caption = "KL divergence from the one-hot answer of a class to the mean answer of its features, in nats; "
    yield Item(f"{catalogue.KL}{end}", f"{caption}{cloud.title}.", figure, 420)


def _overview(asked: Namespace, report: Report) -> Item:
    """The method on one attacked picture."""
    from rita_demo.pipeline.run_request import RunRequest
    from rita_demo.scripting.explain import explain
    from rita_demo.ui.figures.run_figures import overview_of

    sample = SAMPLES[SAMPLE]
    report(f"Attacking and defending {sample.title}")
    label = sample.names.index(sample.label)
    engine, run = explain(RunRequest(sample.load().pixels, sample.names, RECOMMENDED, label), asked.backbone)
    figure = overview_of(run, engine.view_pixels(run.attacked.picture, run.settings))
    caption = f"The method on one picture: {sample.title} ({sample.credit}), {attack_text(run.settings)}; "
    return Item(catalogue.OVERVIEW, f"{caption}{run.backbone.title}.", figure, 560)


def _write_item(out: Path, item: Item, width: int, kind: str) -> str:
    """Write a figure or a table; returns its line of the index."""
    if item.figure is not None:
        svg, pdf = print_figure(item.figure, width, item.height)
        write_output(out / f"{item.name}.{kind}", pdf if kind == "pdf" else svg.encode())
        write_output(out / f"{item.name}.txt", f"{item.text}\n".encode())
        return f"- [{item.name}]({item.name}.{kind}): {item.text}"
    if not item.files:
        return f"- **{item.name}**: missing. {item.text}"
    for ending, text in item.files.items():
        write_output(out / f"{item.name}.{ending}", text.encode())
    return f"- [{item.name}]({item.name}.md), also as .csv and .tex: {item.text}"
