"""Printed figures: their size in millimetres, the size of their letters, their fonts; drawn by a real Chromium."""

import re
import shutil
import subprocess
from xml.etree import ElementTree

import pytest

from rita_demo import figures
from rita_demo.figures import printing
from rita_demo.figures.printing import print_figure
from rita_demo.records.errors import DataError
from rita_demo.records.measurement import AblationSweep
from tests.browser import find_browser
from tests.figures.synthetic import measured_cell

POINTS_PER_MM = 72 / 25.4
LINES = [AblationSweep("slots", (1, 3, 16), (measured_cell(40), measured_cell(50), measured_cell(60)))]


@pytest.fixture
def figure(monkeypatch) -> figures.figure.Figure:
    monkeypatch.setenv("RITA_BROWSER", find_browser() or "")
    return figures.sweep_lines(LINES, "Slots per class J ⋈ ⬢", recommended=3)


@pytest.mark.slow
@pytest.mark.parametrize("width", [88, 180])
def test_a_figure_is_as_wide_as_asked_with_letters_of_7_to_9_points_and_its_fonts(figure, width: int) -> None:
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


@pytest.mark.slow
def test_no_font_of_a_pdf_is_of_type_3_also_where_letters_are_bold(figure, tmp_path) -> None:
    figure.layers["annotations"][0]["text"] = "<b>bold</b> and <i>slanted</i> letters"
    _, pdf = print_figure(figure, 180, 420)
    assert b"/Type0" in pdf
    assert b"/Type3" not in pdf
    if tool := shutil.which("pdffonts"):
        (tmp_path / "figure.pdf").write_bytes(pdf)
        listed = subprocess.run([tool, str(tmp_path / "figure.pdf")], capture_output=True, text=True, check=True).stdout
        assert "Inter" in listed
        assert "Type 3" not in listed


@pytest.mark.slow
def test_room_that_nothing_was_drawn_in_is_cut_off_above_and_below(figure) -> None:
    def rows(margin: int) -> tuple[float, float]:
        figure.layers["margin"] |= {"t": margin, "b": margin}
        drawn, pdf = print_figure(figure, 180, 420)
        _, top, _, high = map(float, ElementTree.fromstring(drawn).get("viewBox").split())
        assert pdf.count(b"/Type /Page\n") == 1
        return top, high

    (top, high), (wide_top, wide_high) = rows(66), rows(106)
    assert wide_top == pytest.approx(top + 40, abs=1)
    assert wide_high == pytest.approx(high - 80, abs=2)
    assert top < 66


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
