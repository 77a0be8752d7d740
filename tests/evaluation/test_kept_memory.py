"""A kept memory: begun with an exported one (``evaluate --memory``), and a defence's own beside RITA's, also after a cut."""

import shutil
from pathlib import Path

import numpy as np
import pandas
import pytest

from rita_demo import load_runs, save_memory, stored_views
from rita_demo.cli import main as cli
from rita_demo.data import memory_file
from rita_demo.data.memory import MemoryTable
from rita_demo.engine.engine import Engine
from rita_demo.evaluation.evaluate_picture import cache_after
from rita_demo.evaluation.report.cells import cells
from rita_demo.evaluation.report.paper_table import PaperTable
from rita_demo.evaluation.rows import read_stream
from rita_demo.pipeline.run import run_picture
from rita_demo.records import Picture
from rita_demo.records.errors import DataError
from rita_demo.settings import RECOMMENDED
from tests.evaluation.conftest import cut, headers, stored_rows
from tests.evaluation.frames import markdown_tables

NAMES = ("cat", "dog", "cup")
MORE = ("--methods", "clip,rita", "--attack", "none", "--protocols", "off,stream")
SETTINGS = RECOMMENDED.replace(views=6, prompts=2, max_entropy=9, attack="none")


def exported(engine: Engine, path: Path, seed: int, **changes: int) -> Path:
    """A memory with the views of one picture, as the page exports it."""
    settings = SETTINGS.replace(**changes)
    picture = Picture(np.random.default_rng(seed).integers(0, 256, (64, 64, 3)).astype(np.uint8), str(seed))
    done = run_picture(engine, picture, NAMES, settings)
    table = MemoryTable().with_picture("one", picture.key, done, engine.view_pixels(picture, settings))
    path.write_bytes(memory_file.pack(table, engine.info.name, settings))
    return path


@pytest.mark.slow
def test_streams_begin_with_the_exported_memory_and_are_measurements_of_their_own(
    engine: Engine, command_line, rows_of, tmp_path: Path, capsys
) -> None:
    one, other = (exported(engine, tmp_path / f"{seed}.zip", seed) for seed in (1, 2))
    out, said = tmp_path / "runs", []
    for more in ((), ("--memory", str(one)), ("--memory", str(one)), ("--memory", str(other))):
        assert cli.main(command_line(out, *MORE, *more)) == 0
        said.append(capsys.readouterr().out)
    for sentence, new in zip(said, (36, 12, 0, 12), strict=True):
        assert f"3 cells, 36 rows, {new} of them new" in sentence, "only the stream begins with it"
    streams = [rows for name, rows in rows_of(out).items() if "_stream_" in name]
    assert len({str([row["entered"] for row in rows]) for rows in streams}) == 3
    assert [rows[0]["entered"][0][1] for rows in streams] == [0, 1, 1], "one view of its class was there already"
    with pytest.warns(UserWarning, match="memory begins with 1.zip"):
        assert set(load_runs(out).non_default.str.contains("memory begins with 1.zip")) == {True, False}
    rows = [row[0] for row in markdown_tables(PaperTable(cells(out)).markdown())[0]]
    plain, *begun = [name for name in rows if "memory kept" in name]
    assert "begins" not in plain
    assert [name.partition("memory begins with ")[2][:5] for name in sorted(begun)] == ["1.zip", "2.zip"]
    part = Path(shutil.copytree(out, tmp_path / "part"))
    cut(part, 5, "protocol = 'stream'")
    assert cli.main(command_line(part, *MORE, "--memory", str(one))) == 0
    assert "7 of them new" in capsys.readouterr().out
    assert rows_of(part).items() >= {n: r for n, r in rows_of(out).items() if r == streams[1]}.items()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--protocols", "off,reset"), "A memory to begin with is kept."),
        (("--dataset", "dtd:present"), "belongs to other class names than those in use"),
        (("--set", "slots=2"), "has 3 places per class; got slots=2. Measure with --set slots=3."),
    ],
)
def test_a_memory_that_does_not_fit_is_refused_before_anything_is_measured(
    engine: Engine, command_line, tmp_path: Path, capsys, more: tuple[str, ...], sentence: str
) -> None:
    path = exported(engine, tmp_path / "memory.zip", 1)
    assert cli.main(command_line(tmp_path / "runs", *MORE, "--memory", str(path), *more)) in (1, 2)
    assert sentence in capsys.readouterr().err
    assert stored_rows(tmp_path / "runs") == 0


def test_the_memory_after_a_stream_is_a_file_that_a_measurement_begins_with(engine, run_evaluate, tmp_path, capsys):
    few = ("--methods", "rita", "--attack", "none", "--protocols", "off,stream", "--limit", "5")
    file = tmp_path / "m.zip"
    out = run_evaluate(tmp_path / "runs", *few)
    capsys.readouterr()
    assert cli.main(["rows", str(out), "--memory", str(file)]) == 0
    said = capsys.readouterr().out
    assert "The memory after caltech101 val, 3 class names, 5 pictures" in said
    assert f" evaluate --memory {file} ..." in said
    (stream,) = (one for one in headers(out) if one.key["protocol"] == "stream")
    empty = engine.empty_cache(engine.encode_classes(NAMES, stream.requested), stream.requested)
    wanted = cache_after(empty, read_stream(out, stream.id))
    held = memory_file.unpack(file.read_bytes(), None, engine.info.name, engine.info.width).state_at()
    assert held.count.sum() > 2
    assert (held.pictures, held.key) == (wanted.pictures, wanted.key)
    for name in ("features", "entropy", "born", "view", "count"):
        assert np.array_equal(getattr(held, name), getattr(wanted, name)), name
    views = [stored_views(place).drop(columns="stream") for place in (file, out)]
    pandas.testing.assert_frame_equal(*views, check_dtype=False)
    run_evaluate(out, *few, "--memory", str(file))
    assert "5 of them new" in capsys.readouterr().out
    several = r"hold 2 streams: 1: caltech101 .*; 2: .*Choose one with"
    for number, sentence in ((None, several), (3, "2 streams"), (2, "m.zip")):
        with pytest.raises(DataError, match=sentence):
            save_memory(tmp_path / "again.zip", out, stream=number)
    save_memory(tmp_path / "again.zip", out, stream=1)
    assert (tmp_path / "again.zip").read_bytes() == file.read_bytes()


QUICK = RECOMMENDED.replace(views=4, tuning_steps=0, prompts=1, attack="fgsm", square="model")


@pytest.mark.slow
def test_a_stream_of_tda_that_was_cut_off_goes_on_with_its_memory(run_evaluate, command_line, rows_of, tmp_path):
    more = ["--methods", "clip,tda", "--attack", "none,fgsm", "--protocols", "reset,stream", "--set", "tda.alpha=30"]
    whole = run_evaluate(tmp_path / "whole", *more)
    part = Path(shutil.copytree(whole, tmp_path / "part"))
    cut(part, 5, "method = 'tda'")
    assert cli.main(command_line(part, *more)) == 0
    assert rows_of(part) == rows_of(whole), "the features that entered too"
    entered: dict[str, list[int]] = {}
    for rows in rows_of(whole).values():
        if rows[0]["method"] == "tda":
            assert len(rows) == 12
            entered.setdefault(rows[0]["protocol"], []).append(sum(len(row["entered"]) for row in rows))
    assert entered["reset"] == [0, 0], "without an attack and with one"
    assert len(entered["stream"]) == 2
    assert min(entered["stream"]) >= 3


@pytest.fixture
def pictures() -> list[Picture]:
    return [Picture(np.random.default_rng(n).integers(0, 256, (64, 64, 3)).astype(np.uint8), str(n)) for n in range(3)]


def test_the_memory_of_tda_travels_with_ritas_and_takes_the_delivered_picture_once(engine: Engine, pictures) -> None:
    first = run_picture(engine, pictures[0], NAMES, QUICK, methods=["tda"])
    assert not first.cache_before.others
    held = first.cache_after.others["tda"]
    assert (held.pictures, held.count.sum() >= 1) == (1, True)
    views = first.attacked.encoded_views.features[0]
    assert np.abs(held.features - views).sum(-1).min() < 1e-5, "the attacked picture, not the clean one"
    again = run_picture(engine, pictures[1], NAMES, QUICK, methods=["tda"], cache=first.cache_after)
    second = again.cache_after.others["tda"]
    assert second.pictures == 2
    assert held.count.sum() < second.count.sum()
    assert held.pictures == 1, "a memory is a value"
    without = run_picture(engine, pictures[2], NAMES, QUICK, cache=again.cache_after)
    kept = without.cache_after.others["tda"]
    assert (kept.pictures, kept.features.tolist()) == (2, second.features.tolist()), (
        "it did not answer: nothing entered"
    )
    other = run_picture(engine, pictures[2], NAMES[:2], QUICK, methods=["tda"], cache=again.cache_after)
    assert other.cache_after.others["tda"].pictures == 1, "other classes, another memory"
    off = run_picture(engine, pictures[2], NAMES, QUICK.replace(protocol="off"), methods=["tda"])
    assert "tda" not in off.attacked.verdicts
    assert not off.cache_after.others
