"""Learn on the real page: the tour from its first to its last stop, an exercise, and how much each tab says."""

import re

import pytest
from playwright.sync_api import Page, expect

from rita_demo.ui.learn.tour import TOUR_STEPS
from tests.e2e.scan import severe_findings

pytestmark = pytest.mark.e2e
MAX_WORDS = 500  # of a tab before a fold is opened, figure labels counted

# Whether a click on the middle of an element reaches it.
UNCOVERED_JS = """(selector) => {
  const e = [...document.querySelectorAll(selector)].find((e) => e.getClientRects().length);
  const { left, top, width, height } = e.getBoundingClientRect();
  return e.contains(document.elementFromPoint(left + width / 2, top + height / 2));
}"""


@pytest.mark.parametrize(("width", "height"), [(1440, 900), pytest.param(390, 844, marks=pytest.mark.nightly)])
def test_the_tour_visits_all_steps_and_returns_to_the_start(page: Page, width: int, height: int) -> None:
    page.set_viewport_size({"width": width, "height": height})
    page.get_by_role("tab", name="Learn").click()
    page.get_by_role("button", name="The formulas, with the numbers on screen").click()
    expect(page.locator("#formulas")).to_contain_text("The decision")
    page.get_by_role("button", name="Start the tour").click()
    panel = page.locator(".tour")
    for number, stop in enumerate(TOUR_STEPS, 1):
        expect(panel).to_contain_text(f"{number} of {len(TOUR_STEPS)}")
        expect(panel.get_by_role("heading")).to_have_text(stop.title)
        expect(page.locator(".toured")).to_be_in_viewport()
        expect(page.get_by_role("tab", selected=True)).to_have_text(stop.tab)
        page.wait_for_timeout(1_500)  # the page glides to it
        beside = page.locator(f"{stop.target} {stop.control}").count() or stop.control == stop.target
        if not beside:  # it may be elsewhere on the tab
            panel.get_by_role("button", name="Show me").click()
        page.wait_for_function(UNCOVERED_JS, arg=stop.control)
        if number == 1:
            findings = severe_findings(page)
            assert not findings, "\n".join(findings)
        panel.get_by_role("button", name="Next" if number < len(TOUR_STEPS) else "Done").click()
    expect(panel).to_be_hidden()
    expect(page.locator(".toured")).to_have_count(0)
    page.get_by_role("button", name="Tour", exact=True).press("Enter")
    expect(panel).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()


@pytest.mark.parametrize("page", ["?lecture"], indirect=True)
def test_a_lecture_is_wide_and_large_and_led_by_a_presenters_keys(page: Page) -> None:
    page.set_viewport_size({"width": 1920, "height": 1080})
    assert page.evaluate("getComputedStyle(document.documentElement).fontSize") == "18px"
    assert page.locator(".gradio-container").bounding_box()["width"] >= 1900
    assert page.locator("#views .crop").first.bounding_box()["width"] >= 80
    assert page.evaluate("document.documentElement.scrollWidth") <= 1920
    for key, stop in (("PageDown", 1), ("PageDown", 2), ("PageUp", 1)):
        page.keyboard.press(key)
        expect(page.locator(".tour .count")).to_have_text(f"{stop} of {len(TOUR_STEPS)}")
    page.get_by_role("button", name="End the tour").click()
    page.keyboard.press("PageDown")
    expect(page.locator(".tour")).to_be_hidden()  # the key scrolls again
    assert "lecture" in page.url


def test_an_exercise_runs_asks_and_reveals_what_the_first_tab_shows(page: Page) -> None:
    page.get_by_role("tab", name="Learn").click()
    page.get_by_role("radio", name="The crops").check()
    answer, prediction = page.locator("#exercise-answer"), page.locator("#exercise-prediction")
    page.get_by_role("button", name="Reveal").click()
    expect(answer).to_contain_text("Predict first")  # the worked example is the same run
    page.get_by_role("radio", name="A small attack").check()
    expect(prediction).to_contain_text("CLIP hardly notices")
    page.get_by_role("button", name="Reveal").click()
    expect(answer).to_contain_text("Press “Set it up”")
    for _ in range(2):  # also when it was set up before
        page.get_by_role("radio", name="The crops").check()
        expect(prediction).to_contain_text("more than two thirds")
        page.get_by_role("button", name="Set it up").click()
        page.wait_for_selector("#status progress", state="attached")
        expect(page.locator("#status")).to_contain_text("Done in")
    prediction.get_by_role("radio", name="a third or fewer").check()
    page.get_by_role("button", name="Reveal").click()
    expect(answer).to_contain_text("crops still say motorbike")
    count = re.search(r"(\d+) of 64 crops", answer.inner_text())[1]
    answer.get_by_role("button", name="heading 3").click()  # leads to the first tab
    expect(page.locator("#heading-views")).to_be_in_viewport()
    expect(page.locator("#heading-views")).to_contain_text(count)


@pytest.mark.nightly
def test_no_tab_says_more_than_500_words_before_a_fold_is_opened(page: Page) -> None:
    for tab in page.get_by_role("tab").all()[1:]:
        tab.click()
        page.wait_for_timeout(1_500)
        page.mouse.wheel(0, 5_000)
        page.wait_for_timeout(1_500)  # its figures are drawn when they are first seen
        said = page.locator("[role=tabpanel]:visible").inner_text()
        assert len(said.split()) <= MAX_WORDS, tab.inner_text()
