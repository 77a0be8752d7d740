"""``tables --paper``: one table, in three formats; LaTeX compiles it, with any characters."""

import re
from pathlib import Path

import pytest

from rita_demo.cli import main as cli
from rita_demo.evaluation.report.paper_table import PaperTable, select
from rita_demo.evaluation.report.render import escape
from rita_demo.records.errors import SettingError
from tests.evaluation.frames import cell, markdown_tables, table

SPECIAL_CHARACTERS = 'a\\b {c} [d] *e ~f ^g <h> |i| "j" 100% & $k #l _m ’n’ “o” –p− ∞ ≤ ≥ × λ ρ é ç ł 猫 \u202f. …'
BOTH = {"dataset": "dtd", "threat": ["About pgd.", "No more than 1/255."]}
CELLS = [
    *(cell("clip", "none", "yyyyyyyy"), cell("ensemble", "none", "yyyyyyyy"), cell("rita", "none", "yyyyyyyn")),
    *(
        cell("clip", "pgd", "nnnnnnnn"),
        cell("rita", "pgd", "yyyynnnn"),
        cell("rita", "pgd", "yyyyynnn", protocol="off"),
    ),
    *(cell("clip", "pgd", "nnnn", pictures=8, **BOTH), cell("ensemble", "pgd", "yyyynnnn", **BOTH)),
]


def test_methods_stand_in_rows_and_every_attack_on_a_dataset_in_a_column() -> None:
    text = PaperTable(table(*CELLS)).markdown()
    ((head, *rows),) = markdown_tables(text)
    assert head == ["method", "Caltech101, no attack", "Caltech101, PGD 1/255, 7 steps", "DTD, PGD 1/255, 7 steps"]
    cells = {row[0]: row[1:] for row in rows}
    assert list(cells) == ["CLIP (1 view)", "Ensemble", "RITA (memory kept)", "RITA (without memory)"]
    assert cells["CLIP (1 view)"] == ["**100.0** (67.6 to 100.0)", "0.0 (0.0 to 32.4)", "0.0* (0.0 to 49.0; n = 4)"]
    assert cells["Ensemble"] == ["**100.0** (67.6 to 100.0)", "–", "**50.0** (21.5 to 78.5; n = 8)"], (
        "ties are both best"
    )
    assert cells["RITA (memory kept)"] == ["87.5 (52.9 to 97.8)", "50.0 (21.5 to 78.5)", "–"]
    assert cells["RITA (without memory)"][1].startswith("**62.5**")
    missing = "Ensemble (Caltech101, PGD 1/255, 7 steps); RITA (memory kept) (DTD, PGD 1/255, 7 steps)"
    assert f"–: not measured: {missing}" in text
    assert "*: not every picture is measured yet." in text
    assert "claims no significance" in text
    assert text.count("About pgd.") == text.count("About none.") == 1, "each threat model once"
    assert "Caltech101: Accuracy on 8 pictures, among 2 prompts." in text


def test_rows_and_columns_are_chosen_in_their_order_and_what_is_not_measured_is_named() -> None:
    found = table(*CELLS)
    chosen = PaperTable(select(found, ("rita", "clip"), ("pgd",), ("stream",)))
    ((head, *rows),) = markdown_tables(chosen.markdown())
    assert [row[0] for row in rows] == ["RITA (memory kept)", "CLIP (1 view)"]
    assert all("PGD" in name for name in head[1:])
    with pytest.raises(SettingError, match=r"No cell of the method 'ensembel' was measured\. Did you mean ensemble"):
        select(found, ("ensembel",), (), ("stream",))
    with pytest.raises(SettingError, match=r"attack 'fgsm' was measured\. There is none, pgd"):
        select(found, (), ("fgsm",), ("stream",))


def test_models_splits_and_settings_are_told_apart() -> None:
    other = cell("clip", "pgd", "yyyyyyyy", backbone="ViT-B/16", weights="f" * 16, split="val")
    special = cell("clip", "pgd", "yynnnnnn", non_default={"views": 8}, method_settings={"views": 8}, settings="y")
    ((head, *rows),) = markdown_tables(PaperTable(table(CELLS[3], other, special)).markdown())
    assert head[1:] == [
        "Caltech101, test, embedded, PGD 1/255, 7 steps",
        "Caltech101, val, ViT-B/16, PGD 1/255, 7 steps",
    ]
    assert [row[0] for row in rows] == ["CLIP (1 view)", "CLIP (1 view) (views=8)"]


def special_latex() -> str:
    strange = cell(
        "rita",
        "pgd",
        backbone=f"mine:{SPECIAL_CHARACTERS}",
        dataset=SPECIAL_CHARACTERS,
        non_default={"view_weight": SPECIAL_CHARACTERS},
        method_settings={"view_weight": ""},
        threat=[SPECIAL_CHARACTERS, "no more than 4/255 ≤ ∞"],
        note=SPECIAL_CHARACTERS,
    )
    many = [cell("clip", "pgd", dataset=f"set {number}") for number in range(12)]
    return PaperTable(table(*CELLS, strange, *many)).latex()


def unescaped(text: str) -> str:
    """The text without escaped characters: the braces that are left are LaTeX's own."""
    return re.sub(r"\\[&%$#_{}\\]", "", text)


@pytest.mark.parametrize("text", [special_latex(), escape(SPECIAL_CHARACTERS)])
def test_latex_is_ascii_with_balanced_braces(text: str) -> None:
    assert text.isascii()
    depth = 0
    for sign in unescaped(text):
        depth += (sign == "{") - (sign == "}")
        assert depth >= 0
    assert depth == 0
    assert unescaped(text).count("$") % 2 == 0
    for name in ("table*", "tabular"):
        assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}") <= 1


def test_one_command_prints_it_and_wrong_words_are_refused(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tables", str(runs), "--paper", "--methods", "rita,clip", "--attacks", "pgd", "--protocol", "stream"]
    assert cli.main(words) == 0
    text = capsys.readouterr().out
    ((head, *rows),) = markdown_tables(text)
    assert head == ["method", "Caltech101, PGD 4/255"]
    assert [row[0].partition(" (")[0] for row in rows] == ["RITA", "CLIP"]
    assert "Attacked: frozen CLIP with one view" in text
    assert cli.main([*words, "--format", "latex"]) == 0
    assert r"\begin{tabular}" in capsys.readouterr().out
    assert cli.main(["tables", str(runs), "--paper", "--methods", "tpt"]) == 2
    assert cli.main(["tables", str(runs), "--methods", "rita"]) == 2
    assert cli.main(["tables", str(runs), "--paper", "--format", "points"]) == 2
