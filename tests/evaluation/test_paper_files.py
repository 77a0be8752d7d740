"""The command ``figures``: figures and tables of the paper as files, from a real small measurement, printed by a real Chromium."""

import csv
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rita_demo import figures
from rita_demo.cli import main as cli
from rita_demo.figures import printing
from rita_demo.figures.printing import print_figure
from rita_demo.records.errors import DataError
from rita_demo.records.measurement import AblationSweep
from tests.browser import find_browser
from tests.figures.synthetic import measured_cell

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def browser(monkeypatch) -> None:
    monkeypatch.setenv("RITA_BROWSER", find_browser() or "")


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


def test_the_option_of_own_features_is_gone_and_says_what_to_use(tmp_path, capsys) -> None:
    assert cli.main(["figures", "--features", "mine.npz", "--out", str(tmp_path / "x")]) == 2
    assert "The option --features is gone; numpy and umap draw your own features" in capsys.readouterr().err


POINTS_PER_MM = 72 / 25.4
LINES = [AblationSweep("slots", (1, 3, 16), (measured_cell(40), measured_cell(50), measured_cell(60)))]


@pytest.fixture
def figure(monkeypatch) -> figures.figure.Figure:
    monkeypatch.setenv("RITA_BROWSER", find_browser() or "")
    return figures.sweep_lines(LINES, "Slots per class J ⋈ ⬢", recommended=3)


def test_a_figure_is_as_wide_as_asked_with_letters_of_7_to_9_points_and_its_fonts(figure) -> None:
    width = 88
    drawn, pdf = print_figure(figure, width, 420)
    box = [float(x) for x in re.search(rb"/MediaBox \[([^\]]*)\]", pdf)[1].split()]
    assert box[2] / POINTS_PER_MM == pytest.approx(width, abs=0.5)
    assert b"/FontFile2" in pdf
    svg = ElementTree.fromstring(drawn)
    assert float(svg.get("width").removesuffix("mm")) == pytest.approx(width, abs=0.01)
    _, _, across, high = map(float, svg.get("viewBox").split())
    assert float(svg.get("height").removesuffix("mm")) == pytest.approx(width * high / across, rel=1e-3)
    assert box[3] / box[2] == pytest.approx(high / across, abs=0.01)
    points = [float(px) * box[2] / across for px in re.findall(r"font-size: ([\d.]+)px", drawn)]
    assert points
    assert min(points) >= 6.95
    assert max(points) <= 9.05
    assert drawn.count("@font-face") == 2
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", drawn), "it needs no other file"
    text = " ".join(svg.itertext()).replace("\u00a0", " ")
    assert "Slots per class J ⋈ ⬢" in text
    assert "memory kept" in text


def test_without_chromium_a_sentence_says_how_to_get_it(figure, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("RITA_BROWSER", str(tmp_path / "none"))
    with pytest.raises(DataError, match="apt install chromium"):
        print_figure(figure, 88, 420)
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\necho out of paper >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("RITA_BROWSER", str(broken))
    with pytest.raises(DataError, match=r"did not print the figure\. out of paper"):
        print_figure(figure, 88, 420)


def test_text_of_a_figure_cannot_end_the_script_that_draws_it() -> None:
    nasty = figures.message_figure("</script><script>alert(1)</script>")
    page = printing.page_html(nasty, 88, 374, 200)
    assert "</script><script>alert" not in page
