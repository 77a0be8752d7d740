"""Tiny generated datasets in CoOp's layout, measured with a tiny random model."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from rita_demo.cli import main as cli
from rita_demo.data.pictures import png_bytes
from rita_demo.engine.engine import Engine
from rita_demo.evaluation import rows as store
from rita_demo.evaluation.measurement import Measurement

Run = Callable[..., Path]


def draw_dataset(root: Path, folder: str, pictures: str, listing: str, names: Sequence[str], each: int) -> None:
    """``each`` noisy pictures of every class, all of them in every split."""
    rows = []
    for label, name in enumerate(names):
        for number in range(each):
            path = root / folder / pictures / name / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            rng = np.random.default_rng([label, number])
            colour = np.random.default_rng(label).integers(40, 200, 3)
            pixels = np.clip(colour + rng.normal(0, 40, (48, 56, 3)), 0, 255).astype(np.uint8)
            path.write_bytes(png_bytes(pixels))
            rows.append([f"{name}/{number}.png", label, name])
    splits = dict.fromkeys(("train", "val", "test"), rows)
    (root / folder / listing).write_text(json.dumps(splits))


@pytest.fixture(scope="session")
def engine(tiny_model_dir: Path) -> Engine:
    """The tiny random model."""
    return Engine(f"local-dir:{tiny_model_dir}", "cpu")


@pytest.fixture(autouse=True, scope="module")  # "package" may end after the files of other folders
def single_threaded() -> Iterator[None]:
    """One thread: faster for layers this small, and sums keep one order."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def data_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Caltech101's layout with three classes of its own; DTD's with two of DTD's 47."""
    root = tmp_path_factory.mktemp("data")
    draw_dataset(root, "caltech-101", "101_ObjectCategories", "split_zhou_Caltech101.json", ["cat", "dog", "cup"], 4)
    draw_dataset(root, "dtd", "images", "split_zhou_DescribableTextures.json", ["dotted", "striped"], 2)
    return root


@pytest.fixture(scope="session")
def command_line(data_root: Path, tiny_model_dir: Path) -> Callable[..., list[str]]:
    """The command line of a small measurement into ``out``; later words override."""

    def make(out: Path, *more: str) -> list[str]:
        given = ["--data-root", data_root, "--dataset", "caltech101", "--split", "val"]
        given += ["--methods", "clip,ensemble,rita"]
        given += ["--budget", "4", "--steps", "1", "--protocols", "stream"]
        given += ["--backbone", f"local-dir:{tiny_model_dir}", "--out", out]
        given += ["--set", "views=6", "--set", "prompts=2", "--set", "max_entropy=9"]
        given += [] if "--attack" in more else ["--attack", "pgd"]  # attacks are taken together
        return ["evaluate", *map(str, given), *more]

    return make


@pytest.fixture(scope="session")
def run_evaluate(command_line: Callable[..., list[str]]) -> Run:
    """Run the command and return the folder."""

    def run(out: Path, *more: str) -> Path:
        assert cli.main(command_line(out, *more)) == 0
        return out

    return run


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory, run_evaluate: Run) -> Path:
    """Measured once: two seeds, clean and attacked, two cache protocols, five pictures. Only copies are changed."""
    more = ["--attack", "none,pgd", "--seeds", "0,1", "--protocols", "off,stream", "--limit", "5"]
    return run_evaluate(tmp_path_factory.mktemp("measured") / "runs", *more)


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory, run_evaluate: Run) -> Path:
    """For figures: clean and PGD at two budgets, without and with a step of the prompt update. Only read."""
    more = ["--attack", "none,pgd", "--budget", "1,4", "--sweep", "tuning_steps=0,1", "--limit", "4"]
    return run_evaluate(tmp_path_factory.mktemp("measured") / "runs" / "small", *more)


def headers(out: Path) -> list[Measurement]:
    """What was measured in a run folder."""
    return [Measurement.of(one) for one in store.stored_measurements(out)]


def cells(out: Path) -> dict[str, list[dict[str, Any]]]:
    """Measurement -> its rows without seconds, in the order of the run, with the columns of the tables."""
    found: dict[str, list[dict[str, Any]]] = {}
    for one in headers(out):
        about = one.columns | {"seed": one.key["seed"]}
        names = ("dataset", "method", "attack", "protocol", "seed", "budget", "steps", "settings")
        rows = found.setdefault("_".join(str(about[n]) for n in names), [])
        assert not rows
        for row in store.read_stream(out, one.id):
            hit = {"attack": one.key["attack"]} if row["attacked"] else store.NOT_ATTACKED
            rows.append(one.columns | hit | {n: v for n, v in row.items() if "seconds" not in n and n != "measurement"})
    return found


def cut(out: Path, first: int, condition: str = "1") -> None:
    """Forget the rows from place ``first`` on, as if the run had been killed there; ``condition``: on ``measurements``."""
    with sqlite3.connect(out / store.FILE) as db:
        some = f"SELECT id FROM measurements WHERE {condition}"
        assert db.execute(f'DELETE FROM "rows" WHERE place >= ? AND measurement IN ({some})', (first,)).rowcount


def places(out: Path, kind: str) -> int:
    """How many places of one kind have artifacts: ``views``, ``attacked`` or ``tuned``."""
    with sqlite3.connect(out / "artifacts.sqlite") as db:
        sql = "SELECT count(DISTINCT place) FROM artifacts WHERE place LIKE ?"
        return int(db.execute(sql, (f"{kind}/%",)).fetchone()[0])


def stored_rows(out: Path) -> int:
    """Number of stored answers."""
    if not (out / store.FILE).is_file():
        return 0
    return sum(one["answers"] for one in store.stored_measurements(out))


@pytest.fixture(scope="session")
def rows_of() -> Callable[[Path], dict[str, list[dict[str, Any]]]]:
    return cells
