"""User input in figures, and the colours."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from rita_demo.figures import class_style, css_variables
from rita_demo.figures.attack import MIN_LABEL_GAP, _spread_labels
from rita_demo.figures.figure import Figure
from rita_demo.figures.labels import escaped, percent, printable
from rita_demo.figures.theme import CLASS_STYLES, DARK_COLOURS, PALETTE


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
    assert len({class_style(k)[1:3] for k in range(100)}) == 100, "no two of a hundred classes look alike"
    css = css_variables()
    for role in PALETTE:
        assert css.count(f"--rita-{role}:") == 2


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


def test_labels_that_would_overlap_are_moved_apart_in_their_order() -> None:
    placed = _spread_labels({"clip": (7, 50.0), "rita": (7, 52.0), "ensemble": (7, 51.0)})
    assert np.diff([placed[m] for m in ("clip", "ensemble", "rita")]) == pytest.approx([MIN_LABEL_GAP, MIN_LABEL_GAP])
    assert max(_spread_labels({"a": (0, 100.0), "b": (0, 100.0)}).values()) <= 100


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
