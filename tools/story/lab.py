"""Measure what the Lab shows when it is opened: ``python -m tools.story.lab streams|clouds|arena``. ``streams`` and ``clouds``
take ``--data-root DIR`` with DTD and Caltech101; a part that is missing there is left as it is."""

import argparse
import shutil
import tempfile
from collections import deque
from dataclasses import replace
from pathlib import Path

from rita_demo.defences.registry import compared
from rita_demo.engine.engine import Engine
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.artifacts import features_data, features_of
from rita_demo.evaluation.page import DataFolders, clouds, streams
from rita_demo.evaluation.request import Request, Traffic, points
from rita_demo.evaluation.rows import FILE
from rita_demo.evaluation.run import evaluate_steps
from rita_demo.figures import analysis
from rita_demo.pipeline import arena, arena_file, example
from rita_demo.process.environment import data_folder
from rita_demo.process.generators import run_to_end
from rita_demo.records.measurement import PlacedCloud
from rita_demo.settings import RECOMMENDED
from rita_demo.settings.models import EMBEDDED

PICTURES, SHARE = 40, 50  # of a stream, and percent of them attacked
#: The first from 0 whose stream has a view that replaces another; with 40 pictures among 100 names there may be none.
SEEDS = {"textures": 4, "dtd": 0, "caltech101": 0}
METHODS = ("clip", "ensemble", "rita")
CLASSES, EACH, NEIGHBOURS = 6, 6, 15  # of a cloud: what the page asks for at first


def stream_request(dataset: str, root: Path | None, out: Path) -> Request:
    """The stream that is stored for a dataset: ``test``, all class names, PGD under the recommended settings."""
    chosen, _ = points(attacks="pgd", budget=str(RECOMMENDED.budget), protocols="stream,off")
    return Request(
        datasets=(dataset,),
        split="test",
        methods=METHODS,
        points=chosen,
        out=out,
        data_root=root,
        seeds=(SEEDS[dataset],),
        limit=PICTURES,
        allow_partial=True,
        traffic=Traffic(SHARE),
    )


def measure_cloud(engine: Engine, dataset: str, root: Path | None) -> PlacedCloud:
    """The cloud that the page collects at first, placed and measured, from features in half precision."""
    settings = RECOMMENDED.replace(square="model", views=32)
    pictures = evaluation_page.live_set(DataFolders(root or Path()), dataset, CLASSES, EACH)
    cloud = run_to_end(evaluation_page.collect_steps(engine, pictures, settings))
    clean, attacked, views = (
        features_of(features_data(x), x.shape)  # as half precision holds them, of unit length again
        for x in (cloud.clean, cloud.attacked, cloud.views)
    )
    drawn = dataset == evaluation_page.TEXTURES  # no photograph of a dataset comes with this project
    cloud = replace(cloud, clean=clean, attacked=attacked, views=views, thumbs=cloud.thumbs if drawn else None)
    placed = analysis.placed_cloud(cloud, engine.kl_to_one_hot)
    umap = analysis.umap(analysis.centre_by_kind(placed.points), NEIGHBOURS, placed.points.picture)
    return replace(
        placed,
        coordinates=placed.coordinates | {"UMAP": umap},
        captions=placed.captions | {"UMAP": analysis.umap_caption(NEIGHBOURS)},
        separability=analysis.separabilities(cloud),
    )


def main() -> None:
    """Measure one part and store it."""
    parser = argparse.ArgumentParser(prog="python -m tools.story.lab", description=__doc__)
    parser.add_argument("part", choices=("streams", "clouds", "arena"))
    parser.add_argument("--data-root", metavar="DIR", type=Path, default=data_folder())
    asked, engine = parser.parse_args(), Engine(EMBEDDED)
    if asked.part == "arena":  # every defence against every attacker on the worked example, on both embedded towers
        _, run = example.stored()
        steps = arena.arena_steps([engine, Engine(arena.TOWERS[1])], run, compared())
        arena_file.STORED.write_bytes(arena_file.pack(run_to_end(steps, lambda at: print(at.sentence, flush=True))))
        return
    here = {row.name for row in evaluation_page.available(DataFolders(asked.data_root or Path()))}
    for dataset in (name for name in streams.EXAMPLES if name in here):
        print(f"{asked.part}: {dataset}", flush=True)
        if asked.part == "clouds":
            placed = measure_cloud(engine, dataset, asked.data_root)
            clouds.cloud_path(dataset).write_bytes(clouds.pack_cloud(placed))
            continue
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / dataset
            deque(evaluate_steps(stream_request(dataset, asked.data_root, out), engine), maxlen=0)
            shutil.copy(out / FILE, streams.STREAMS / dataset / FILE)


if __name__ == "__main__":
    main()
