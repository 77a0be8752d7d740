"""*Inside* on the real server with the embedded model: the crops as a histogram, a crop left out, undo, folds, a phone."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import open_lab, saved, severe_findings, unfold

pytestmark = pytest.mark.e2e

#: Of every tile: its crop, the place of its middle as a share of the plot, whether it lies inside it, and what it fits.
TILES_JS = """() => { const plot = document.querySelector('#in-views .plot').getBoundingClientRect();
  return [...document.querySelectorAll('#in-views [data-view]')].map((tile) => { const box = tile.getBoundingClientRect();
    return { view: Number(tile.dataset.view), at: Number(tile.dataset.at), x: box.x, y: box.y, size: box.width,
      inside: box.left >= plot.left - 1 && box.right <= plot.right + 1 && box.top >= plot.top - 1 && box.bottom <= plot.bottom + 1 }; }); }"""


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


def test_every_tile_stands_at_its_place_and_none_on_another(room: Page) -> None:
    for width, step in ((1440, 7), (1440, 0), (390, 0), (390, 7)):
        room.set_viewport_size({"width": width, "height": 844})
        room.locator("#in-scrubber input[type=range]").fill(str(step))
        expect(room.locator("#in-scrubber-note")).to_contain_text(f"step {step} of 7")
        room.wait_for_timeout(500)
        tiles = room.evaluate(TILES_JS)
        assert all(tile["inside"] for tile in tiles)
        assert len({(round(tile["x"]), round(tile["y"])) for tile in tiles}) == len(tiles) == 64
        places = [tile["x"] for tile in sorted(tiles, key=lambda one: one["at"])]
        assert places == sorted(places), "further right fits the true class better"
        assert min(tile["size"] for tile in tiles) >= 12


def test_a_crop_is_chosen_from_the_start_and_the_arrow_keys_walk_from_column_to_column(room: Page) -> None:
    pressed, title = room.locator("#in-views [aria-pressed=true]"), room.locator("#in-crop h3").first
    expect(pressed).to_have_count(1)
    expect(title).to_have_text(f"Crop {pressed.get_attribute('data-view')}")
    room.locator("#in-views [data-view='5']").click()
    expect(title).to_have_text("Crop 5")
    expect(pressed).to_have_attribute("data-view", "5")
    assert room.locator("#in-views [tabindex='0']").count() == 1
    room.keyboard.press("Home")
    expect(room.locator(":focus")).to_have_attribute("data-view", "0")  # the whole picture fits the rival best
    room.keyboard.press("Enter")
    expect(title).to_have_text("The whole picture")
    for key in ("ArrowRight", "ArrowRight", "ArrowUp", "Enter"):
        room.keyboard.press(key)
    expect(title).not_to_have_text("The whole picture")
    view = room.locator(":focus").get_attribute("data-view")
    expect(title).to_have_text(f"Crop {view}")


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


def test_a_class_chosen_in_the_costs_shows_its_plan_and_its_sum_and_a_cell_its_crop_and_sentence(room: Page) -> None:
    point = room.locator("#in-costs .points path").nth(1).bounding_box()
    assert point is not None
    room.mouse.click(point["x"] + point["width"] / 2, point["y"] + point["height"] / 2)
    expect(room.locator("#in-class input")).to_have_value("wheelchair")
    room.locator("#in-class input").fill("anchor")
    room.get_by_role("option", name="anchor", exact=True).click()
    expect(room.locator("#in-plan .rita-alt")).to_contain_text("Plan of anchor")
    cell = room.locator("#in-cell")
    expect(cell).to_contain_text("What anchor costs")
    expect(cell).to_contain_text(re.compile(r"0\.\d{4} \+ 0\.1 × 0\.\d{4} = \d\.\d{4}"))
    area = room.locator("#in-plan .nsewdrag").first.bounding_box()
    assert area is not None
    room.mouse.click(area["x"] + area["width"] * 0.3, area["y"] + area["height"] * 0.4)
    expect(cell).to_contain_text(re.compile(r"Crop \d+ → “.*anchor"))
    expect(cell).to_contain_text("cosine distance")


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
