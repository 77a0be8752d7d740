"""Writes the paper's figures and tables into a folder, with an index."""

import csv
import io
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rita_demo import analysis, plots
from rita_demo.data.feature_file import read_features
from rita_demo.data.samples import SAMPLES
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page.feature_cloud import attack_text
from rita_demo.evaluation.report.render import latex_body, table_body
from rita_demo.evaluation.report.results import ResultRow, ablation_points, result_rows
from rita_demo.evaluation.store.cell_file import run_folders
from rita_demo.paper import catalogue
from rita_demo.paper.catalogue import Item
from rita_demo.paper.memory import memory_items
from rita_demo.paper.printing import WIDTHS_MM, print_figure, require_chromium
from rita_demo.process.environment import data_folder
from rita_demo.process.generators import run_to_end
from rita_demo.process.output_file import make_output_folder, write_output
from rita_demo.records.errors import DataError, join_names
from rita_demo.settings import RECOMMENDED

INDEX = "index.md"
SAMPLE = "motorcycle"  # the picture of the overview: the page's worked example
NEED_NO_RUNS = (catalogue.CLOUD, catalogue.KL, catalogue.OVERVIEW)
Report = Callable[[str], object]


def write(asked: Namespace, report: Report, rows: Sequence[ResultRow] | None = None) -> tuple[int, int, int]:
    """Write what the options of ``figures`` ask for; returns the numbers of figures, of tables and of missing ones.
    ``rows``: those of the tables and run times; None: all of the runs.

    Raises:
        DataError: no run folder, no such name, no Chromium, a file that cannot be written.
    """
    if asked.features is not None:
        require_chromium()
        return _write_all(asked.out, report, f"From {asked.features.name}.", [_own_cloud(asked, report)])
    wanted = catalogue.checked(asked.only.split(",")) if asked.only else (*catalogue.names(), *catalogue.OF_STREAMS)
    if any(not name.startswith(catalogue.TABLE) and name != catalogue.MEMORY_TABLE for name in wanted):
        require_chromium()
    folders = run_folders(asked.runs)
    if not folders and (measured := [name for name in wanted if name not in NEED_NO_RUNS]):
        text = f"{join_names(measured, 3)}: drawn from runs, and no run folder was named."
        raise DataError(text, "Name the folder that evaluate wrote to.")
    if rows is None:
        rows = result_rows(*folders)
    points = ablation_points(*folders)
    found: list[Item] = []
    if {catalogue.CLOUD, catalogue.KL} & set(wanted):
        found += _cloud_figures(asked, report)
    if catalogue.OVERVIEW in wanted:
        found.append(_overview(asked, report))
    found += catalogue.measured_items(rows, points)
    if set(catalogue.OF_STREAMS) & set(wanted):
        found += memory_items(folders)
    found = [one for one in found if any(one.name == name or one.name.startswith(f"{name}-") for name in wanted)]
    about = f"From {len(folders)} run folders: {', '.join(f.name for f in folders)}."
    return _write_all(asked.out, report, about, found)


def _write_all(out: Path, report: Report, about: str, found: Sequence[Item]) -> tuple[int, int, int]:
    """Write the items and their index; returns the numbers of figures, of tables and of missing ones."""
    make_output_folder(out)
    lines = ["# Figures and tables", "", about, ""]
    for number, one in enumerate(found, start=1):
        report(f"Writing {one.name}, {number} of {len(found)}")
        lines.append(_write_item(out, one))
    write_output(out / INDEX, ("\n".join(lines) + "\n").encode())
    figures, tables = sum(one.figure is not None for one in found), sum(bool(one.parts) for one in found)
    return figures, tables, len(found) - figures - tables


def _cloud_figures(asked: Namespace, report: Report) -> Iterator[Item]:
    """Pictures and their views in the plane, and their KL to one-hot."""
    from rita_demo.scripting.explain import load_engine

    engine, root = load_engine(asked.backbone), asked.data_root or data_folder()
    pictures = evaluation_page.cloud_set(asked.dataset, root, asked.split, asked.classes, asked.each)
    steps = evaluation_page.collect_steps(engine, pictures, RECOMMENDED.replace(square="model"))
    cloud = run_to_end(steps, lambda at: report(f"Attacking and deciding picture {at[0] + 1} of {at[1]}"))
    report("UMAP is placing the points")
    points, projection = analysis.to_points(cloud), analysis.umap_caption(asked.neighbours)
    placed = analysis.umap(analysis.centre_by_kind(points), asked.neighbours, points.picture)
    names = cloud.class_prompts.names
    figure = plots.feature_cloud(points, placed, names, projection=projection, ids=cloud.ids)
    yield Item(catalogue.CLOUD, f"Features of {cloud.title}, by true class. {projection}", figure, 480, 760)
    figure = plots.kl_to_one_hot(analysis.kl_to_one_hot(cloud, engine.kl_to_one_hot), analysis.density)
    caption = "KL divergence from the one-hot answer of a class to the mean answer of its features, in nats; "
    yield Item(catalogue.KL, f"{caption}{cloud.title}.", figure, 420, 700)


def _own_cloud(asked: Namespace, report: Report) -> Item:
    """The features of a person's own file in the plane."""
    own = read_features(asked.features)
    report("UMAP is placing the points")
    points, projection = analysis.own_points(own), analysis.umap_caption(asked.neighbours, own=True)
    placed = analysis.umap(analysis.centre_by_kind(points), asked.neighbours, points.picture)
    figure = plots.feature_cloud(points, placed, own.names, projection=projection)
    return Item(catalogue.CLOUD, f"{own.title}, by class. {projection}", figure, 480, 480)


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
    return Item(catalogue.OVERVIEW, f"{caption}{run.backbone.title}.", figure, 300, 560)


def _write_item(out: Path, one: Item) -> str:
    """Write a figure or a table; returns its line of the index."""
    if one.figure is not None:
        for width in WIDTHS_MM:
            svg, pdf = print_figure(one.figure, width, one.height, one.narrow_height)
            write_output(out / f"{one.name}-{width}mm.svg", svg.encode())
            write_output(out / f"{one.name}-{width}mm.pdf", pdf)
        write_output(out / f"{one.name}.txt", f"{one.text}\n".encode())
        links = ", ".join(f"[{w} mm]({one.name}-{w}mm.svg) ([PDF]({one.name}-{w}mm.pdf))" for w in WIDTHS_MM)
        return f"- **{one.name}**: {links}. {one.text}"
    if not one.parts:
        return f"- **{one.name}**: missing. {one.text}"
    text = "\n\n".join(f"**{part.title}**\n\n{table_body(part)}" for part in one.parts)
    write_output(out / f"{one.name}.md", f"{text}\n".encode())
    write_output(out / f"{one.name}.tex", latex_body(one.parts, ()).encode())
    cells = io.StringIO()
    for part in one.parts:
        csv.writer(cells, lineterminator="\n").writerows([[part.title], part.head, *part.rows])
    write_output(out / f"{one.name}.csv", cells.getvalue().encode())
    return f"- [{one.name}]({one.name}.md), also as .csv and .tex: {one.text}."
