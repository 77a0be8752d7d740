"""*Inside* on the real server with the embedded model: a crop left out, undo, folds."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import open_lab, saved, severe_findings, unfold

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def opened(shared_page: Page) -> Page:
    open_lab(shared_page, "Inside")
    expect(shared_page.locator("#in-plan .heatmaplayer image").first).to_be_visible()
    expect(shared_page.locator("#in-views [data-view]")).to_have_count(64)
    return shared_page


@pytest.fixture
def room(opened: Page) -> Page:
    """*Inside* on a wide screen, at the last step."""
    opened.set_viewport_size({"width": 1440, "height": 900})
    opened.locator("#in-scrubber input[type=range]").press("End")
    expect(opened.locator("#in-scrubber-note")).to_contain_text("step 7 of 7")
    return opened


def test_a_crop_is_left_out_and_the_headline_says_what_that_changes(room: Page) -> None:
    headline, before = room.locator("#inside-headline"), room.locator("#inside-headline").inner_text()
    assert re.fullmatch(
        r"\d+ of 64 crops still fit motorbike better; RITA answers motorbike, ahead by 0\.\d{3}\.", before
    )
    room.locator("#in-views [data-view='42']").click()
    room.get_by_role("button", name="Leave out crop 42").click()
    expect(headline).to_contain_text(
        re.compile(r"Without crop 42 RITA still answers motorbike, ahead by 0\.\d+ instead of")
    )
    expect(room.locator("#in-views .out")).to_have_attribute("data-view", "42")
    expect(room.locator("#in-effect")).to_contain_text("The lead of the true class changes by −0.00")
    room.get_by_role("button", name="Back to the run").click()
    expect(headline).to_have_text(before, use_inner_text=True)
    room.get_by_role("button", name="Show the what-if again").click()
    expect(headline).to_contain_text("Without crop 42")
    room.get_by_role("button", name="Put back crop 42").click()
    expect(headline).to_have_text(before, use_inner_text=True)


def test_a_fold_shows_its_figures_which_can_be_saved_and_nothing_is_wrong_for_readers(
    room: Page, tmp_path: Path
) -> None:
    unfold(room, "How sure is each crop?")
    expect(room.locator("#in-entropies .barlayer path").first).to_be_visible()
    unfold(room, "The prompt update")
    expect(room.locator("#in-before-after .js-plotly-plot svg").first).to_be_visible()
    unfold(room, "The attack and all answers")
    expect(room.locator("#steps .js-plotly-plot svg").first).to_be_visible()
    costs = room.locator("#in-costs .rita-figure")
    costs.focus()
    path = saved(room, tmp_path, lambda: room.keyboard.press("s"))
    assert path.suffix == ".svg"
    words = " ".join(re.findall(r">([^<>]+)<", path.read_text(encoding="utf-8")))
    name = costs.get_attribute("aria-label") or "?"
    for part in (name, "Embedded model", "motorbike", "4/255", "7 steps", "settings: recommended"):
        assert part in words, part
    undo = room.get_by_role("button", name="Undo all")
    room.locator("#inside-drawer > button").click()
    expect(undo).to_be_visible()
    assert severe_findings(room) == []
    room.keyboard.press("Escape")
    expect(undo).to_be_hidden()
