"""What is set is applied, what was pressed last is shown, and a room draws itself when it comes to sight and when something
changes while it is, in whatever order the server's answers would come.

The tests share a page, and each leaves it as the next one needs it."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Page, Request, Route, expect

from tests.e2e.conftest import TIMEOUT_MS, TOLD_JS, open_lab, open_settings, open_story, unfold, wait_until_painted

pytestmark = pytest.mark.e2e

PATIENCE_MS = 2000  # ms for later events to overtake one whose answer is held back
SETTINGS = {"cache_weight": "1", "transported_mass": "0.8", "max_entropy": "0.6"}


@pytest.fixture(scope="module")
def page(shared_page: Page) -> Page:
    return shared_page


@contextmanager
def answer_held_back(page: Page, wanted: Callable[[dict[str, Any]], bool]) -> Iterator[None]:
    """The server's answer to the first quick event that is ``wanted`` arrives at the end of the block and not before."""
    held: list[Route] = []
    answers: list[Any] = []

    def handle(route: Route, request: Request) -> None:
        if held or not wanted(request.post_data_json):
            return route.continue_()
        held.append(route)
        answers.append(route.fetch())

    page.route("**/run/predict*", handle)
    yield
    for _ in range(TIMEOUT_MS // 100):  # it is sent when the event before it is answered
        if held:
            break
        page.wait_for_timeout(100)
    assert held
    page.wait_for_timeout(PATIENCE_MS)
    for route, answer in zip(held, answers):
        route.fulfill(response=answer)  # the route stays: what is sent now may be on its way to it


def open_what_if(page: Page) -> None:
    """Open the what-if settings once the tab is drawn."""
    open_lab(page, "Inside")
    expect(page.locator("#in-plan .heatmaplayer image").first).to_be_visible()
    drawer = page.locator("#inside-drawer > button:not(.open)")
    if drawer.count():
        drawer.click()
    wait_until_painted(page)


def test_the_last_of_several_crops_pressed_at_once_is_chosen(page: Page) -> None:
    open_lab(page, "Inside")
    crops = page.locator("#in-views button")
    with answer_held_back(page, lambda event: event["event_data"] == {"view": 5}):
        for number in (5, 6, 7):
            crops.and_(page.locator(f"[data-view='{number}']")).click()
    expect(page.locator("#in-crop")).to_contain_text("Crop 7")
    expect(page.locator("#in-views button[aria-pressed=true]")).to_have_attribute("data-view", "7")


def test_a_message_stays_when_the_answer_of_an_earlier_press_comes_after_it(page: Page) -> None:
    message, box = page.get_by_role("alert"), page.locator("#whatif-max_entropy input[type=number]")

    def open_tab(name: str) -> None:
        if page.locator("html.on-story").count():
            page.locator("[data-level=lab]").click()
        page.get_by_role("tab", name=name, exact=True).click()

    def set_limit(value: str) -> None:
        open_tab("Inside")
        box.fill(value)
        box.press("Enter")

    open_what_if(page)
    open_tab("Memory")
    page.locator("#memory-drawer > button").click()
    page.get_by_role("button", name="Download a public dataset").click()
    wait_until_painted(page)
    for limit in ("0.6", "0.7"):  # without an earlier message on screen, and with one
        before = message.get_attribute("data-number") if message.count() else ""
        with answer_held_back(page, lambda event, limit=limit: event["data"][1:] == [float(limit)]):
            set_limit(limit)
            open_tab("Memory")
            page.get_by_role("button", name="Download it").click()
            expect(message).not_to_have_attribute("data-number", before or "")
        expect(page.locator("#inside-headline")).to_contain_text(f"γ {limit} instead")
        page.wait_for_timeout(PATIENCE_MS)
        expect(message).to_contain_text("No dataset is chosen")
    set_limit("0.8")
    expect(message).to_have_count(0)


def test_no_setting_is_lost_when_an_older_answer_comes_last(page: Page) -> None:
    open_what_if(page)
    with answer_held_back(page, lambda event: event["data"][1:] == [0.8]):
        for name, value in SETTINGS.items():
            box = page.locator(f"#whatif-{name} input[type=number]")
            box.fill(value)
            box.press("Enter")
    for words in ("α 1 instead", "ρ 0.8 instead", "γ 0.6 instead"):
        expect(page.locator("#whatif-differs")).to_contain_text(words)


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
    box.fill("0.5")
    box.press("Enter")
    expect(page.locator("#whatif-differs")).to_contain_text("γ 0.5 instead")


@pytest.mark.nightly  # the preset of the paper takes half a minute
def test_a_setting_of_the_methods_that_is_changed_after_a_preset_stays_as_it_was_changed(page: Page) -> None:
    weight, differs = page.locator("#method-fields [name=cache_weight]"), page.locator("#differs")
    open_story(page)
    open_settings(page)
    page.get_by_role("radio", name="as in the paper").check()
    expect(differs).to_contain_text("settings differ")
    page.get_by_role("button", name="Settings of the methods").click()  # leads to the drawer of Inside
    of_memory = page.locator("#method-fields summary", has_text="The memory")
    of_memory.click()
    before = weight.input_value()
    weight.fill("99")
    weight.press("Tab")
    expect(page.get_by_role("alert")).to_contain_text("cache_weight is a number from 0 to 10; got '99'.")
    expect(weight).to_have_value(before)
    of_memory.click()  # it is drawn anew
    weight.fill("1.5")
    weight.press("Tab")
    page.locator("#method-fields [name=slots]").fill("4")
    page.locator("#method-settings [data-press]").click()
    expect(page.locator("#status")).to_contain_text("Done in")
    for now in ("now 1.5", "now 4"):  # what was edited right before the press, too
        expect(page.locator("#whatif-differs")).to_contain_text(now)
    open_story(page)
    expect(differs).to_contain_text("1.5 instead of")
    page.get_by_role("radio", name="recommended").check()
    expect(differs).to_have_text("")
    open_lab(page, "Inside")
    expect(weight).to_have_value(before)


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


def test_the_last_of_two_samples_pressed_at_once_runs(page: Page) -> None:
    open_story(page)
    with answer_held_back(page, lambda event: event["event_data"] == {"sample": "coffee"}):
        page.locator("#samples [data-sample=coffee]").click()
        page.locator("#samples [data-sample=brick]").click()
    expect(page.locator(".story .headline")).to_contain_text("This texture is grid.")
    expect(page.locator("#samples [data-sample=brick]")).to_have_attribute("aria-pressed", "true")
    open_settings(page)
    expect(page.locator("#truth input")).to_have_value("grid")


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
    page.set_viewport_size({"width": 1440, "height": 900})


def test_what_is_done_before_the_server_knows_the_page_is_kept_and_answered_when_it_does(
    page: Page, address: str
) -> None:
    held: list[Route] = []  # what the page asks of the queue, its opening first
    page.route("**/queue/join*", lambda route: held.append(route))
    page.goto(address, wait_until="commit")
    box, sample = page.locator("#setting-budget input[type=number]"), page.locator("#samples [data-sample=coffee]")
    box.fill("6")
    box.press("Tab")
    sample.click()
    open_lab(page, "Memory")
    page.wait_for_timeout(PATIENCE_MS)
    for route in held:
        route.continue_()
    page.unroute("**/queue/join*")
    expect(page.locator("#memory-headline")).to_contain_text("After 40 pictures")
    expect(page.get_by_role("tab", name="Memory", exact=True)).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("alert")).to_have_count(0)
    open_story(page)
    expect(page.locator(".story .headline")).to_contain_text("This is a cup.")
    expect(sample).to_have_attribute("aria-pressed", "true")
    expect(box).to_have_value("6")


#: The end of the stream of answers arrives late, as over a slow connection: after the answers to what was asked meanwhile.
LATE_END_JS = """const send = window.fetch.bind(window);
window.fetch = async (address, options) => {
  const answer = await send(address, options);
  if (!new URL(address?.url ?? address, location).pathname.endsWith("/queue/data")) return answer;
  const late = new TransformStream({ async transform(chunk, to) {
    if (new TextDecoder().decode(chunk).includes("close_stream")) await new Promise((wake) => setTimeout(wake, 1500));
    to.enqueue(chunk);
  } });
  return new Response(answer.body.pipeThrough(late), answer);
};"""


def test_a_page_is_answered_although_the_end_of_its_stream_of_answers_comes_late(page: Page) -> None:
    page.add_init_script(LATE_END_JS)
    page.reload()
    page.wait_for_function(TOLD_JS)
    page.locator("#samples [data-sample=brick]").click()
    expect(page.locator(".story .headline")).to_contain_text("This texture is grid.")
    expect(page.locator("#status")).to_contain_text("Done in")
