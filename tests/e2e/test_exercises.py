"""An exercise on the real page, from its set-up to the number that the first tab shows as well."""

import re

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.e2e


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
        expect(page.locator("#status")).to_contain_text("Attack")
        expect(page.locator("#status")).to_contain_text("Done in")
    prediction.get_by_role("radio", name="a third or fewer").check()
    page.get_by_role("button", name="Reveal").click()
    expect(answer).to_contain_text("crops still say motorbike")
    count = re.search(r"(\d+) of 64 crops", answer.inner_text())[1]
    page.get_by_role("tab", name="Attack & defend").click()
    expect(page.locator("#heading-views")).to_contain_text(count)


def test_learn_says_at_most_500_words_before_a_fold_is_opened(page: Page) -> None:
    page.get_by_role("tab", name="Learn").click()
    expect(page.locator("#toy-learn .result")).to_contain_text("costs least")
    assert len(page.locator("#learn").inner_text().split()) <= 500
