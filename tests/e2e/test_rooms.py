"""A room draws itself when it comes to sight and when something changes while it is, whatever else happens meanwhile.

The tests share a page, and each leaves it as the next one needs it."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import TOLD_JS, open_lab, open_story, unfold
from tests.e2e.test_order import answer_held_back, open_what_if

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def page(shared_page: Page) -> Page:
    return shared_page


def draws(page: Page, room: str) -> set[int]:
    """The numbers of the events that draw a room."""
    found: list[int] = page.evaluate(
        """(room) => {
          const tab = gradio_config.components.find((one) => one.props.id === room).id;
          return gradio_config.dependencies.filter((event) => event.targets.some(([id]) => id === tab)).map((event) => event.id);
        }""",
        room,
    )
    return set(found)


def test_of_two_quick_changes_of_room_the_later_one_wins(page: Page) -> None:
    memory = draws(page, "memory")
    with answer_held_back(page, lambda event: event["fn_index"] in memory):
        open_lab(page, "Memory")
        open_lab(page, "Inside")
        expect(page.locator("#in-plan .heatmaplayer image").first).to_be_visible()
    crop = page.locator("#in-views [data-view='5']")
    crop.click()
    expect(page.locator("#in-crop")).to_contain_text("Crop 5")
    open_lab(page, "Memory")
    expect(page.locator("#memory-shelf button").first).to_be_visible()


def test_a_press_during_a_run_is_answered_before_it_ends(page: Page) -> None:
    open_lab(page, "Inside")
    expect(page.locator("#in-plan .heatmaplayer image").first).to_be_visible()
    unfold(page, "The attack and all answers")
    page.locator("#know").click()  # half a minute
    expect(page.locator("#status progress")).to_be_visible()
    page.locator("#in-views [data-view='7']").click()
    expect(page.locator("#in-crop")).to_contain_text("Crop 7")
    expect(page.locator("#status progress")).to_be_visible()
    page.evaluate("document.querySelector('#stop').click()")  # it stands in the Story
    expect(page.locator("#status")).to_contain_text("Stopped. Nothing was lost.")
    expect(page.locator("#in-crop")).to_contain_text("Crop 7")


#: The next quick event is answered with an error.
FAIL_ONCE_JS = """() => {
  const send = window.fetch;
  window.failed = 0;
  window.fetch = (address, options) => {
    if (!String(address?.url ?? address).includes("/run/predict") || window.failed) return send(address, options);
    window.failed++;
    const headers = { "content-type": "application/json" };
    return Promise.resolve(new Response(JSON.stringify({ error: "no answer" }), { status: 502, headers }));
  };
}"""


def test_an_event_that_fails_costs_itself_alone(page: Page) -> None:
    open_what_if(page)
    page.evaluate(FAIL_ONCE_JS)
    page.locator("#in-views [data-view='3']").click()
    page.wait_for_function("window.failed")
    page.locator("#in-views [data-view='4']").click()
    expect(page.locator("#in-crop")).to_contain_text("Crop 4")
    box = page.locator("#whatif-max_entropy input[type=number]")
    box.fill("0.6")
    box.press("Enter")
    expect(page.locator("#whatif-differs")).to_contain_text("γ 0.6 instead")


def test_a_run_that_ends_while_the_visitor_changes_rooms_is_in_every_room_and_a_reload_shows_the_same(
    page: Page,
) -> None:
    open_story(page)
    page.locator("#samples [data-sample=coffee]").click()
    open_lab(page, "Inside")
    open_lab(page, "Memory")
    expect(page.locator("#status")).to_contain_text("Done in")
    expect(page.locator("#happened")).to_contain_text("A cup of coffee")
    open_lab(page, "Inside")
    expect(page.locator("#inside-strip")).to_contain_text("cup")
    open_story(page)
    expect(page.locator(".story .headline")).to_contain_text("cup")
    expect(page.locator("html.stale")).to_have_count(0)
    open_lab(page, "Inside")
    page.locator("#in-views [data-view='9']").click()
    expect(page).to_have_url(re.compile("view=9.*tab=inside"))
    page.reload()
    page.wait_for_function(TOLD_JS)
    expect(page.get_by_role("tab", name="Inside", exact=True)).to_have_attribute("aria-selected", "true")
    expect(page.locator("#inside-strip")).to_contain_text("cup")
    expect(page.locator("#in-crop")).to_contain_text("Crop 9")


@pytest.mark.parametrize(
    ("width", "height", "story", "inside"),
    [(390, 844, 9_000, 6_500), pytest.param(1440, 900, 6_000, 3_500, marks=pytest.mark.nightly)],
)
def test_story_and_inside_are_short_and_no_room_is_wider_than_the_window(
    page: Page, width: int, height: int, story: int, inside: int
) -> None:
    page.set_viewport_size({"width": width, "height": height})
    for name, most in {"Story": story, "Inside": inside, "Arena": 99_999, "Memory": 99_999, "Figures": 99_999}.items():
        if name == "Story":
            open_story(page)
        else:
            assert open_lab(page, name).is_visible(), "a tab hides behind a menu"
        page.wait_for_timeout(1_500)  # its figures are drawn when it is first seen
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.evaluate("document.documentElement.scrollHeight") <= most, name
