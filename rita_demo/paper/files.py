"""Writes the paper's figures and tables into a folder, with an index."""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rita_demo import analysis
from rita_demo.data.samples import SAMPLES
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.report import latex
from rita_demo.evaluation.report.ablation_points import ablation_points
from rita_demo.evaluation.report.render import table_body
from rita_demo.evaluation.report.results import result_rows
from rita_demo.paper import catalogue
from rita_demo.paper.catalogue import Drawn, MeasuredTable, Missing
from rita_demo.paper.printing import WIDTHS_MM, print_figure, require_chromium
from rita_demo.process.generators import run_to_end
from rita_demo.records.errors import DataError, did_you_mean
from rita_demo.settings import RECOMMENDED

TEXTURES = "textures"
INDEX = "index.md"
SAMPLE = "motorcycle"  # the picture of the overview: the page's worked example
Report = Callable[[str], object]


@dataclass(frozen=True)
class Request:
    """What to write. ``runs``: run folders or folders of them; ``names``: some of :func:`catalogue.names`, all if empty;
    ``dataset``, ``split``, ``data_root``, ``classes``, ``each``: the pictures of the feature cloud; ``neighbours`` of
    UMAP; ``backbone``: of what is computed here."""

    runs: tuple[Path, ...]
    names: tuple[str, ...]
    out: Path
    dataset: str
    split: str
    data_root: Path | None
    classes: int
    each: int
    neighbours: int
    backbone: str


@dataclass(frozen=True)
class Written:
    """How many figures and tables were written, and how many could not be."""

    figures: int
    tables: int
    missing: int


def write(asked: Request, report: Report) -> Written:
    """Write everything that was asked for into ``asked.out``.

    Raises:
        DataError: no run folder, no such name, no Chromium. OSError: the files cannot be written.
    """
    known = catalogue.names()
    for name in asked.names:
        if name not in known:
            raise DataError(
                f"There is no figure or table {name[:60]!r}.", did_you_mean(name, known) or ", ".join(known)
            )
    wanted = asked.names or known
    if any(not name.startswith(catalogue.TABLE) for name in wanted):
        require_chromium()
    folders = run_folders(asked.runs)
    rows = [row for folder in folders for row in result_rows(folder)]
    points = [point for folder in folders for point in ablation_points(folder)]
    asked.out.mkdir(parents=True, exist_ok=True)
    found: list[Drawn | Missing | MeasuredTable] = []
    if {catalogue.CLOUD, catalogue.KL} & set(wanted):
        found += _cloud_figures(asked, report)
    if catalogue.OVERVIEW in wanted:
        found.append(_overview(asked, report))
    found += [*catalogue.measured_figures(rows, points), *catalogue.measured_tables(rows)]
    found = [one for one in found if any(one.name == name or one.name.startswith(f"{name}-") for name in wanted)]
    for number, one in enumerate(found, start=1):
        report(f"Writing {one.name}, {number} of {len(found)}")
        if isinstance(one, Drawn):
            _write_figure(asked.out, one)
        elif isinstance(one, MeasuredTable):
            _write_table(asked.out, one)
    (asked.out / INDEX).write_text(_index(found, folders), encoding="utf-8")
    kinds = [sum(isinstance(one, kind) for one in found) for kind in (Drawn, MeasuredTable, Missing)]
    return Written(*kinds)


def run_folders(paths: Iterable[Path]) -> list[Path]:
    """The run folders among ``paths`` and directly below them.

    Raises:
        DataError: a path is neither.
    """
    found: list[Path] = []
    for path in paths:
        below = [place.parent for place in sorted(path.glob("*/cells"))]
        if not (path / "cells").is_dir() and not below:
            raise DataError(f"There are no measurements in {path}.", "Name the folder that evaluate wrote to.")
        found += [path] if (path / "cells").is_dir() else below
    return list(dict.fromkeys(found))


def _cloud_figures(asked: Request, report: Report) -> list[Drawn]:
    engine = _engine(asked.backbone)
    if asked.dataset == TEXTURES:
        pictures = evaluation_page.texture_set(asked.classes, asked.each)
    else:
        pictures = evaluation_page.dataset_set(asked.dataset, asked.data_root, asked.split, asked.classes, asked.each)
    steps = evaluation_page.collect_steps(engine, pictures, RECOMMENDED.replace(square="model"))
    cloud = run_to_end(steps, lambda at: report(f"Attacking and deciding picture {at[0] + 1} of {at[1]}"))
    report("UMAP is placing the points")
    points = analysis.to_points(cloud)
    placed = analysis.umap(analysis.centre_by_kind(points), asked.neighbours, points.picture)
    kl = analysis.kl_to_one_hot(cloud, engine.kl_to_one_hot)
    projection = analysis.umap_caption(asked.neighbours)
    return catalogue.cloud_figures(cloud.title, points, placed, cloud.class_prompts.names, cloud.ids, projection, kl)


def _overview(asked: Request, report: Report) -> Drawn:
    from rita_demo.scripting.explain import explain

    sample = SAMPLES[SAMPLE]
    report(f"Attacking and defending {sample.title}")
    label, settings = sample.names.index(sample.label), RECOMMENDED
    engine, run = explain(sample.load().pixels, sample.names, settings, _engine(asked.backbone), label=label)
    crops = engine.view_pixels(run.attacked.picture, run.settings)
    return catalogue.overview_figure(run, crops, f"{sample.title} ({sample.credit})")


def _engine(backbone: str) -> Engine:
    from rita_demo.scripting.explain import load_engine

    return load_engine(backbone)


def _write_figure(out: Path, one: Drawn) -> None:
    for width in WIDTHS_MM:
        printed = print_figure(one.figure, width, one.height, one.narrow_height)
        (out / f"{one.name}-{width}mm.svg").write_text(printed.svg, encoding="utf-8")
        (out / f"{one.name}-{width}mm.pdf").write_bytes(printed.pdf)
    (out / f"{one.name}.txt").write_text(one.caption + "\n", encoding="utf-8")


def _write_table(out: Path, one: MeasuredTable) -> None:
    text = "\n\n".join(f"**{part.title}**\n\n{table_body(part)}" for part in one.parts)
    (out / f"{one.name}.md").write_text(text + "\n", encoding="utf-8")
    (out / f"{one.name}.tex").write_text(latex.latex_body(one.parts, ()), encoding="utf-8")
    cells = io.StringIO()
    for part in one.parts:
        csv.writer(cells, lineterminator="\n").writerows([[part.title], part.head, *part.rows])
    (out / f"{one.name}.csv").write_text(cells.getvalue(), encoding="utf-8")


def _index(found: Sequence[Drawn | Missing | MeasuredTable], folders: Sequence[Path]) -> str:
    lines = ["# Figures and tables", "", f"From {len(folders)} run folders: {', '.join(f.name for f in folders)}.", ""]
    for one in found:
        if isinstance(one, Missing):
            lines.append(f"- **{one.name}**: missing. {one.sentence}")
        elif isinstance(one, MeasuredTable):
            titles = "; ".join(part.title for part in one.parts)
            lines.append(f"- [{one.name}]({one.name}.md), also as .csv and .tex: {titles}.")
        else:
            links = ", ".join(f"[{w} mm]({one.name}-{w}mm.svg) ([PDF]({one.name}-{w}mm.pdf))" for w in WIDTHS_MM)
            lines.append(f"- **{one.name}**: {links}. {one.caption}")
    return "\n".join(lines) + "\n"
