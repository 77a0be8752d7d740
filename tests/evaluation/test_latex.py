"""LaTeX from ``tables``: plain pdflatex takes it, whatever the text says."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from rita_demo.evaluation.latex import tex
from rita_demo.evaluation.lines import Line
from rita_demo.evaluation.paired import Paired
from rita_demo.evaluation.tables import as_latex

ODD = 'a\\b {c} [d] *e ~f ^g <h> |i| "j" 100% & $k #l _m ’n’ “o” –p− ∞ ≤ ≥ × λ ρ é ç ł 猫 \u202f. …'
LINE = Line(
    "caltech101", f"mine:{ODD}", "rita", "pgd", 4, 7, "off", "val", 61.25, 80, 50.3, 71.2, "0 1", "abc",
    160, 0.5, "max_entropy=0.4, λ=1", (ODD, "no more than 4/255 ≤ ∞"), "Accuracy on 80 pictures.",
    against=Paired(80, 1, 9), against_alike=Paired(80, 3, 2), answers=100, looking=0.9, views=64,
    spread=(60.0, 62.5),
)  # fmt: skip
LINES = [LINE, replace(LINE, dataset="dtd", answers=160), replace(LINE, answers=160)]


def unescaped(text: str) -> str:
    """Without what is escaped, so that the braces that are left are LaTeX's own."""
    return re.sub(r"\\[&%$#_{}\\]", "", text)


@pytest.mark.parametrize("text", [as_latex(LINES), tex(ODD)])
def test_it_is_ascii_and_everything_closes(text: str) -> None:
    assert text.isascii()
    depth = 0
    for sign in unescaped(text):
        depth += (sign == "{") - (sign == "}")
        assert depth >= 0
    assert depth == 0
    assert unescaped(text).count("$") % 2 == 0
    opened: list[str] = []
    for what, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if what == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert not opened


def test_every_row_has_as_many_cells_as_its_head() -> None:
    for body in re.findall(
        r"\\begin\{tabular\}\{(l+)\}\n(.*?)\\end\{tabular\}", as_latex(LINES), re.S
    ):
        columns, rows = body
        for row in rows.strip().splitlines():
            assert row.replace(r"\&", "").count("&") == len(columns) - 1


def test_nothing_that_was_escaped_is_escaped_again() -> None:
    assert tex(r"\_") == r"\textbackslash{}\_"
    assert tex("~^<>") == r"\textasciitilde{}\textasciicircum{}\textless{}\textgreater{}"
    assert (
        tex("−4 ≤ ∞, λ’s ρ – é 猫") == r"$-$4 $\leq$ $\infty$, $\lambda$'s $\rho$ -- \'{e} U+732B"
    )
    assert tex("[1]") == "{[}1]", "after a line's end it would be read as its height"


def test_all_datasets_together_are_there_against_both_ensembles() -> None:
    captions = re.findall(r"\\caption\{(All datasets together[^.]*)\.", as_latex(LINES[1:]))
    assert captions == [
        "All datasets together, against Ensemble",
        "All datasets together, against Ensemble, views as RITA's",
    ]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no LaTeX on this machine")
def test_plain_pdflatex_takes_it(tmp_path: Path) -> None:
    many = [replace(LINE, dataset=f"set {n}", settings=str(n)) for n in range(60)]
    body = as_latex([*LINES, *many])
    document = rf"\documentclass{{article}}\begin{{document}}{body}\end{{document}}"
    (tmp_path / "tables.tex").write_text(document, encoding="ascii")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-3000:]
    assert (tmp_path / "tables.pdf").stat().st_size > 1000
