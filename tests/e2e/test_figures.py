"""The paper's figures on the real server with the embedded model: gather, place, select, stop, filter."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.scan import grave

pytestmark = pytest.mark.e2e
LONG = 240_000  # ms: a few pictures are attacked, and UMAP starts its process


@pytest.fixture
def figures(page: Page) -> Page:
    """The tab, opened on the worked example."""
    page.get_by_role("tab", name="Figures of the paper").click()
    expect(page.locator("#fig-brackets .js-plotly-plot svg").first).to_be_visible(timeout=LONG)
    return page


def fill(page: Page, element: str, value: int) -> None:
    number = page.locator(f"#{element} input[type=number]")
    number.fill(str(value))
    number.press("Enter")


def gather(page: Page, classes: int, each: int) -> None:
    for element, value in (("fig-classes", classes), ("fig-each", each), ("fig-views", 16)):
        fill(page, element, value)
    page.get_by_role("button", name="Gather", exact=True).click()


@pytest.mark.nightly
def test_pictures_are_gathered_placed_and_selected_across_tabs(figures: Page) -> None:
    gather(figures, 3, 2)
    expect(figures.locator("#fig-chips button")).to_have_count(3, timeout=LONG)
    points = figures.locator("#fig-cloud .scatterlayer path.point")
    expect(points.first).to_be_visible()
    expect(figures.locator("#fig-separation")).to_contain_text("silhouette", timeout=LONG)
    expect(figures.locator("#fig-one-hot-words")).to_contain_text("KL to one-hot")
    expect(figures.locator("#fig-cloud")).to_contain_text("approximate placement", timeout=LONG)
    chip = figures.locator("#fig-chips button").nth(1)
    chip.click()
    expect(figures.locator("#fig-chips button").nth(1)).to_have_attribute("aria-pressed", "true")
    cloud = figures.locator("#fig-cloud .rita-figure")
    cloud.focus()
    cloud.press("ArrowRight")
    cloud.press("Enter")  # the keyboard chooses a point as a click does
    expect(figures.locator("#fig-mark img")).to_be_visible()
    expect(figures.locator("#fig-mark")).to_contain_text("the picture as it was delivered")
    figures.mouse.move(0, 0)
    where = points.first.bounding_box()
    assert where is not None
    shown = figures.locator("#fig-mark").inner_text()
    figures.mouse.move(where["x"] + where["width"] / 2, where["y"] + where["height"] / 2, steps=4)
    expect(figures.locator("#fig-mark")).not_to_have_text(shown)
    expect(figures.locator("#fig-mark img")).to_be_visible()
    lasso(figures)
    expect(figures.locator("#fig-lassoed")).to_contain_text(
        re.compile(r"Gathered: [1-9]\d* points")
    )
    findings = grave(figures)
    assert not findings, "\n".join(findings)


def lasso(page: Page) -> None:
    """Draw a loop around the first of the two clouds."""
    page.locator('#fig-cloud .modebar-btn[data-title="Lasso Select"]').click()
    area = page.locator("#fig-cloud .nsewdrag").first.bounding_box()
    assert area is not None
    left, top, right = area["x"] + 3, area["y"] + 3, area["x"] + area["width"] - 3
    bottom = area["y"] + area["height"] - 3
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in ((right, top), (right, bottom), (left, bottom), (left, top)):
        page.mouse.move(x, y, steps=8)
    page.mouse.up()


@pytest.mark.nightly
def test_a_measurement_can_be_stopped_and_the_page_lives_on(figures: Page) -> None:
    figures.get_by_role("button", name="Measure this setting").click()
    expect(figures.locator("#status")).to_contain_text(re.compile(r"of \d+"), timeout=LONG)
    figures.locator("#fig-stop-measuring").click()
    expect(figures.locator("#status")).to_contain_text("Stopped", timeout=LONG)
    expect(figures.locator("#fig-stop-measuring")).to_be_hidden()
    figures.get_by_role("tab", name="Attack & defend").click()
    figures.locator("#samples button").nth(1).click()
    expect(figures.locator("#status")).to_contain_text("Done in", timeout=LONG)


def test_gathering_can_be_stopped_and_the_page_lives_on(figures: Page) -> None:
    gather(figures, 20, 20)
    expect(figures.locator("#status")).to_contain_text("of 400", timeout=LONG)
    figures.locator("#fig-stop").click()
    expect(figures.locator("#status")).to_contain_text("Stopped", timeout=LONG)
    expect(figures.locator("#fig-stop")).to_be_hidden()
    expect(figures.locator("#fig-cloud")).to_contain_text("Nothing is gathered yet")


def test_a_class_of_the_bracket_is_chosen_in_every_tab(figures: Page) -> None:
    figure = figures.locator("#fig-brackets .rita-figure")
    figure.focus()
    for _ in range(3):
        figure.press("ArrowRight")
    figures.wait_for_timeout(500)  # what a screen reader is told follows the last step
    name = figures.locator("#fig-brackets .rita-said").inner_text().split(",")[0]
    figure.press("Enter")
    figures.get_by_role("tab", name="Inside RITA").click()
    expect(figures.locator("#in-class input")).to_have_value(name)


def test_the_printed_table_answers_to_its_filters_and_marks_misprints(figures: Page) -> None:
    table = figures.locator("#fig-printed")
    expect(table).to_contain_text("printed cells")
    for element, value in (("fig-table", "RN50"), ("fig-backbone", "RN50"), ("fig-dataset", "Avg")):
        figures.locator(f"#{element} input").click()
        shown = figures.locator(f"#{element}").get_by_role("option", name=value, exact=True)
        shown.or_(figures.get_by_role("option", name=value, exact=True)).last.click()
    expect(table).to_contain_text(re.compile(r"its row averages 44\.06"))


@pytest.mark.parametrize(
    ("tab", "panel", "says"),
    [("Figures of the paper", "#fig-brackets", "Theorem 1’s bracket"),
     ("Memory (cache)", "#compared", "With an empty one")],
)  # fmt: skip
def test_a_picture_that_finishes_while_the_tab_is_in_sight_is_shown_there(
    page: Page, tab: str, panel: str, says: str
) -> None:
    page.locator("#samples button").nth(4).click()
    page.get_by_role("tab", name=tab).click()
    expect(page.locator("#status")).to_contain_text("Done in", timeout=LONG)
    expect(page.locator(panel)).to_contain_text(says)
