"""LaTeX from ``tables``: plain pdflatex compiles it, with any characters."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from rita_demo.evaluation.report.comparisons import PairedComparison
from rita_demo.evaluation.report.render import as_latex, escape
from rita_demo.evaluation.report.tables import measured_tables
from tests.evaluation.conftest import result_row

SPECIAL_CHARACTERS = 'a\\b {c} [d] *e ~f ^g <h> |i| "j" 100% & $k #l _m ’n’ “o” –p− ∞ ≤ ≥ × λ ρ é ç ł 猫 \u202f. …'
ROW = result_row(
    backbone=f"mine:{SPECIAL_CHARACTERS}",
    non_default="max_entropy=0.4, λ=1",
    threat_model=(SPECIAL_CHARACTERS, "no more than 4/255 ≤ ∞"),
    expected_answers=160,
    answers=100,
    seeds="0 1",
    accuracy_range=(60.0, 62.5),
    vs_plain=PairedComparison(80, 1, 9),
    vs_matching=PairedComparison(80, 3, 2),
)
ROWS = [ROW, replace(ROW, dataset="dtd", answers=160), replace(ROW, answers=160)]


def unescaped(text: str) -> str:
    """The text without escaped characters: the braces that are left are LaTeX's own."""
    return re.sub(r"\\[&%$#_{}\\]", "", text)


@pytest.mark.parametrize("text", [as_latex(ROWS), escape(SPECIAL_CHARACTERS)])
def test_output_is_ascii_with_balanced_braces(text: str) -> None:
    assert text.isascii()
    depth = 0
    for sign in unescaped(text):
        depth += (sign == "{") - (sign == "}")
        assert depth >= 0
    assert depth == 0
    assert unescaped(text).count("$") % 2 == 0
    for name in ("table", "tabular"):
        assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}")


def test_every_row_has_as_many_cells_as_its_head() -> None:
    for table in measured_tables(ROWS):
        assert {len(row) for row in table.rows} == {len(table.head)}


def test_captions_are_short_and_the_threat_model_is_a_note_below() -> None:
    text = as_latex([result_row(threat_model=("No more than 1/255.",))])
    captions = re.findall(r"\\caption\{(.*)\}\n", text)
    assert captions
    assert all(len(caption) < 120 for caption in captions)
    assert "No more than" not in "".join(captions)
    assert re.search(r"\\end\{tabular\}\}\n\\par\\footnotesize No more than 1/255\.", text)


def test_no_character_is_escaped_twice() -> None:
    assert escape(r"\_") == r"\textbackslash{}\_"
    assert escape("~^<>") == r"\textasciitilde{}\textasciicircum{}\textless{}\textgreater{}"
    assert escape("−4 ≤ ∞, λ’s ρ – é 猫") == r"$-$4 $\leq$ $\infty$, $\lambda$'s $\rho$ -- \'{e} U+732B"
    assert escape("[1]") == "{[}1]", "after a line end it would be an option"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no LaTeX on this machine")
def test_plain_pdflatex_compiles_the_output(tmp_path: Path) -> None:
    many = [replace(ROW, dataset=f"set {n}", settings=str(n)) for n in range(60)]
    body = as_latex([*ROWS, *many])
    document = rf"\documentclass{{article}}\begin{{document}}{body}\end{{document}}"
    (tmp_path / "tables.tex").write_text(document, encoding="ascii")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-3000:]
    assert (tmp_path / "tables.pdf").stat().st_size > 1000
