"""The command ``figures``: every figure and table of the paper as files, from a real small measurement."""

import csv
import re
from argparse import Namespace
from pathlib import Path

import pytest

from rita_demo import stored_views
from rita_demo.cli import main as cli
from rita_demo.evaluation.paper import catalogue
from rita_demo.evaluation.paper.catalogue import _run_times
from rita_demo.evaluation.streams import stream_runs
from rita_demo.scripting import figures as files
from tests.browser import find_browser
from tests.evaluation.frames import cell, table

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def browser(monkeypatch) -> None:
    monkeypatch.setenv("RITA_BROWSER", find_browser() or "")


def words(text: str) -> str:
    """The letters and figures alone: a printed line is broken anywhere."""
    return "".join(sign for sign in text if sign.isalnum())


def test_one_command_writes_what_was_measured_and_lists_what_is_missing(measured: Path, tmp_path, capsys) -> None:
    out, chosen = tmp_path / "paper", "budget-by-steps,ablation-views,run-time,accuracies"
    assert cli.main(["figures", str(measured.parent), "--only", chosen, "--out", str(out)]) == 0
    assert "2 figures, 1 tables, 1 missing" in capsys.readouterr().out
    index = (out / "index.md").read_text("utf-8")
    for name in ("budget-by-steps", "run-time"):
        caption = (out / f"{name}.txt").read_text("utf-8").strip()
        assert (out / f"{name}.pdf").is_file()
        assert caption in index
        assert "n = 4" in caption or "RITA 4" in caption
        assert "caltech101" in caption
    assert "**ablation-views**: missing. No run varies it: evaluate --sweep views=32,64,96." in index
    linked = re.findall(r"\]\(([^)]+)\)", index)
    assert [(out / name).is_file() for name in linked] == [True] * 3
    rows = list(csv.reader((out / "accuracies.csv").open(encoding="utf-8")))
    assert any(row[0].startswith("RITA") for row in rows)
    assert r"\begin{tabular}" in (out / "accuracies.tex").read_text("utf-8")


def test_the_memory_of_every_stream_is_drawn_and_listed(measured: Path, tmp_path: Path, monkeypatch) -> None:
    out = tmp_path / "memory"
    monkeypatch.setattr(catalogue, "MAX_DRAWN", 2)
    given = ["--only", "memory-purity,memory-streams", "--format", "svg", "--out", str(out)]
    assert cli.main(["figures", str(measured), *given]) == 0
    streams = list(stream_runs(measured, measured))
    assert len(streams) > 2 == len(list(out.glob("memory-purity*.svg")))
    for file in out.glob("memory-purity*.svg"):
        stream = file.with_suffix(".txt").read_text("utf-8").partition("true class. ")[2]
        attack = "PGD 4/255" if "PGD" in stream else "clean"
        svg = words(re.sub("<[^>]*>", "", file.read_text("utf-8")))
        assert words(f"caltech101 val, 4 pictures, {attack}, seed 0") in svg, "the figure says which stream it is"
    captions = {path.read_text("utf-8") for path in out.glob("memory-purity*.txt")}
    assert len(captions) == 2, "each says which stream it is"
    head, *rows = csv.reader((out / "memory-streams.csv").open(encoding="utf-8"))
    assert [len(row) for row in rows] == [len(head)] * len(streams)
    frame = stored_views(measured)
    for row in (dict(zip(head, row)) for row in rows):
        mine = frame[frame.stream == row["stream"]]
        held = mine[mine.left_at.isna()]
        assert (int(row["entered"]), int(row["views held"])) == (len(mine), len(held))
        right = held.true_class == held.stored_as
        assert row["under their true class, %"] == (f"{100 * right.mean():.1f}" if len(held) else "–")
        assert row["mean entropy, nats"] == (f"{held.entropy.mean():.3f}" if len(held) else "–")
    assert r"\begin{tabular}" in (out / "memory-streams.tex").read_text("utf-8")


@pytest.mark.nightly
def test_the_cloud_is_of_the_dataset_classes_and_pictures_asked_for(measured, tmp_path, data_root, tiny_model_dir):
    out = tmp_path / "paper"
    given = ["--dataset", "caltech101", "--data-root", data_root, "--classes", "2", "--each", "2", "--neighbours", "5"]
    given += ["--backbone", f"local-dir:{tiny_model_dir}", "--only", "feature-cloud,kl-to-one-hot", "--out", out]
    given += ["--width", "180", "--format", "svg"]
    assert cli.main(["figures", str(measured), *map(str, given)]) == 0
    caption = (out / "feature-cloud.txt").read_text("utf-8")
    assert "4 pictures of caltech101 (test), 2 classes" in caption
    assert "UMAP, 5 neighbours, points of the same picture not among them" in caption
    svg = (out / "feature-cloud.svg").read_text("utf-8")
    assert 'width="180.00mm"' in svg
    assert all(name in svg for name in ("cat", "dog"))  # the legend; no sentence stands in the plot
    assert (out / "kl-to-one-hot.svg").is_file()


@pytest.mark.nightly
def test_the_cloud_of_a_run_is_of_the_pictures_that_its_streams_have_stored(measured, tmp_path, tiny_model_dir, capsys):
    out = tmp_path / "paper"
    given = ["--backbone", f"local-dir:{tiny_model_dir}", "--only", "feature-cloud,kl-to-one-hot", "--out", str(out)]
    assert cli.main(["figures", str(measured), *given]) == 0
    capsys.readouterr()
    one = max(stream_runs(measured, measured), key=lambda one: one.decided)
    caption = (out / "feature-cloud-1.txt").read_text("utf-8")
    assert f"{one.decided} pictures of {one.columns['dataset']}" in caption
    assert "UMAP" in caption
    assert "PCA: these two directions show" in (out / "feature-cloud-1-pca.txt").read_text("utf-8")
    for name in ("feature-cloud-1", "feature-cloud-1-pca", "kl-to-one-hot-1"):
        assert (out / f"{name}.pdf").read_bytes().startswith(b"%PDF")


def test_a_run_without_a_stream_says_what_to_measure_for_its_cloud(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(files, "longest_streams", lambda folders: [])
    asked = Namespace(data_root=None, dataset=None)
    found = list(files._cloud_figures(asked, [tmp_path], print))
    assert [one.name for one in found] == ["feature-cloud", "kl-to-one-hot"]
    assert all("evaluate --methods rita --protocols stream" in one.text for one in found)


def test_the_option_of_own_features_is_gone_and_says_what_to_use(tmp_path, capsys) -> None:
    for words in (["--features", "mine.npz"], ["--features=mine.npz"]):
        assert cli.main(["figures", *words, "--out", str(tmp_path / "x")]) == 2
        assert "The option --features is gone; numpy and umap draw your own features" in capsys.readouterr().err


def test_a_cloud_of_drawn_textures_is_said_to_be_one_before_it_is_drawn(tmp_path, capsys) -> None:
    words = ["figures", "--only", "feature-cloud,kl-to-one-hot", "--classes", "1", "--out", str(tmp_path / "x")]
    assert cli.main(words) == 1
    said = "feature-cloud and kl-to-one-hot: of drawn textures. For pictures: --dataset dtd --data-root DIR.\n"
    assert capsys.readouterr().out == said
    assert cli.main([*words, "--dataset", "dtd", "--data-root", str(tmp_path)]) == 1
    assert "textures" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--only", "budget-by-step"], "budget-by-steps"),
        (["--only", "table-main"], "reproduce --table measures and compares it"),
        (["--only", "feature-cloud", "--dataset", "textures", "--classes", "1"], "A cloud has 2 to 47 classes"),
        (["--only", "feature-cloud,backbones"], "backbones: drawn from runs, and no run folder was named."),
    ],
)
def test_a_wrong_name_or_number_is_a_sentence(measured: Path, tmp_path, capsys, words, sentence: str) -> None:
    runs = [] if "backbones" in words[1] else [str(measured)]
    assert cli.main(["figures", *runs, "--out", str(tmp_path / "x"), *words]) == 1
    assert sentence in capsys.readouterr().err


def test_the_caption_of_run_times_says_where_methods_got_different_numbers_of_views() -> None:
    clip, same, other = cell("clip"), cell("ensemble"), cell("ensemble", requested={"views": 16})
    assert _run_times(table(clip, same)).text.endswith("pictures: CLIP (1 view) 8, Ensemble 8.")
    assert _run_times(table(clip, other)).text.endswith("CLIP (1 view) 8 of 64 views, Ensemble 8 of 16 views.")
