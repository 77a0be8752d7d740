"""User input in figures, and the colours."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from rita_demo.figures import attack_steps, class_costs, css_variables, plan_matrix, view_entropies
from rita_demo.figures.figure import Figure
from rita_demo.figures.labels import escaped, percent, printable
from rita_demo.figures.theme import CLASS_STYLES, DARK_COLOURS, PALETTE
from rita_demo.records import Run
from tests.figures.synthetic import make_attack_steps

OWN_MARKUP = re.compile(r"</?(b|br|sub|span|extra)( style=\"color:#[0-9a-f]{6}\")?>|< [0-9.]+ %")


def _figures(run: Run):
    return [
        attack_steps(run, make_attack_steps(run), 2),
        class_costs(run, 8),
        *(plan_matrix(run, k, order=np.arange(64), ends=("cat", "dog")) for k in range(len(run.class_prompts.names))),
        view_entropies(run, "attacked"),
    ]


def _strings(node) -> list[str]:
    """All texts but the text alternative, which is plain text, set as textContent."""
    if isinstance(node, dict):
        node = [value for key, value in node.items() if key != "alt"]
    if isinstance(node, list):
        return [text for value in node for text in _strings(value)]
    return [node] if isinstance(node, str) else []


def test_figures_hold_only_our_own_markup_and_no_name_reaches_a_hover_template(example_run: Run):
    for figure in _figures(example_run):
        for text in _strings(json.loads(figure.to_json())):
            assert "<" not in OWN_MARKUP.sub("", text), text
        assert not any("alert" in str(trace.hovertemplate) for trace in figure.data)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("<" * 300, "&lt;" * 119 + "…"),
        ("<b>x</b>", "&lt;b&gt;x&lt;/b&gt;"),
        ("a & b", "a &amp; b"),
        ("two\nlines\t here", "two lines here"),
        ("right\u202eleft", "rightleft"),
        ("lone \ud800 half", "lone  half"),
        ("🦀", "🦀"),
        ("", ""),
    ],
)
def test_names_are_cut_escaped_and_made_one_line(name, shown):
    assert escaped(name) == shown
    printable(name).encode("utf-8")


@pytest.mark.parametrize(
    ("share", "digits", "words"),
    [
        (0.912, 0, "91 %"),
        (0.999, 0, "> 99 %"),
        (1.0, 0, "100 %"),
        (0.001, 0, "< 1 %"),
        (0.0, 0, "0 %"),
        (0.12345, 1, "12.3 %"),
        (0.99999, 1, "> 99.9 %"),
    ],
)
def test_percentages_never_round_to_0_or_100(share, digits, words):
    assert percent(share, digits) == words


def test_every_light_colour_has_one_dark_partner_and_css_has_both():
    assert len(DARK_COLOURS) == len(PALETTE) + len(CLASS_STYLES)
    for light, dark in PALETTE.values():
        assert re.fullmatch(r"#[0-9a-f]{6}", light)
        assert re.fullmatch(r"#[0-9a-f]{6}", dark)
    css = css_variables()
    for role in PALETTE:
        assert css.count(f"--rita-{role}:") == 2


def test_every_figure_has_colours_of_the_palette_alt_text_and_a_fixed_size(example_run: Run):
    for figure in _figures(example_run):
        used = {c.lower() for c in re.findall(r"#[0-9a-fA-F]{6}\b", figure.to_json())}
        assert used <= set(DARK_COLOURS)
        assert len(figure.layout.meta["alt"]) > 20
        assert figure.layout.uirevision == figure.layout.meta["kind"]
        for axis in figure.checked.select_xaxes():
            assert axis.range is not None


def _contrast(one: str, other: str) -> float:
    """WCAG 2.2's contrast ratio of two colours #rrggbb."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("shade", [0, 1], ids=["light", "dark"])
def test_text_and_class_marks_have_enough_contrast_to_the_background(shade):
    for role in ("clean", "attack", "defence", "cache", "text", "quiet"):
        assert _contrast(PALETTE[role][shade], PALETTE["surface"][shade]) >= 4.5, role  # AA for words
    for style in CLASS_STYLES:
        assert _contrast(style[shade], PALETTE["surface"][shade]) >= 3  # AA for graphics


def test_what_is_sent_is_what_was_added_and_checking_finds_a_value_unknown_to_plotly() -> None:
    figure = Figure()
    figure.add_scatter(x=np.array([1.0, np.nan]), y=[2, 3])
    figure.layers = {"meta": {"alt": "two"}}
    sent = json.loads(figure.to_json())
    assert sent == {"data": [{"type": "scatter", "x": [1.0, None], "y": [2, 3]}], "layout": {"meta": {"alt": "two"}}}
    figure.add_bar(y=[1], colour="red")
    with pytest.raises(ValueError, match="colour"):
        _ = figure.checked


def test_the_figures_of_the_documents_have_the_colours_of_today() -> None:
    """Plotly writes black and white, and each colour as hex or as decimal numbers."""
    known = {*DARK_COLOURS, "#000000", "#ffffff"}
    figures = sorted((Path(__file__).parents[2] / "docs/figures").glob("*.svg"))
    assert figures
    for figure in figures:
        text = re.sub(r"base64,[^)\"]*", "", figure.read_text(encoding="utf-8"))
        decimal = re.findall(r"rgb\((\d+), (\d+), (\d+)\)", text)
        used = {*re.findall(r"#[0-9a-f]{6}\b", text), *(f"#{bytes(map(int, one)).hex()}" for one in decimal)}
        assert used <= known, (figure.name, used - known)
        assert PALETTE["right"][0] not in used, f"{figure.name}: green means right, and RITA is violet"
