"""The words of the form and of the Story in a real browser: the own list, what rests, links to a step, the lecture."""

import pytest
from playwright.sync_api import Page, expect

from rita_demo.ui.story.notes import lecture
from tests.e2e.conftest import open_lab, open_story, wait_for_steps

pytestmark = pytest.mark.e2e

#: Whether the text of an element is inside it, and nothing of it is cut.
WHOLE_JS = """(node) => { const text = node.getBoundingClientRect(), pill = node.closest(".block").getBoundingClientRect();
  return text.width > 20 && text.left >= pill.left && text.right <= pill.right && text.top >= pill.top && text.bottom <= pill.bottom && node.scrollWidth <= node.clientWidth + 1; }"""

#: What of a slide is outside the screen, or reaches into the slide's number.
CUT_JS = """() => [...document.querySelectorAll(".story section.shown *")].filter((one) => one.checkVisibility()).filter((one) => {
  const box = one.getBoundingClientRect();
  return box.width && (box.bottom > innerHeight || box.right > innerWidth || box.left < 0 || box.top < 0);
}).map((one) => one.outerHTML.slice(0, 80))"""


def choose(page: Page, menu: str, option: str) -> None:
    page.locator(f"{menu} input").click()
    page.get_by_role("option", name=option).click()


def test_an_own_list_starts_with_the_answer_on_screen_and_marks_words_while_one_types(page: Page) -> None:
    choose(page, "#vocabulary", "My own list")
    names, note = page.locator("#own-names textarea"), page.locator("#names-note")
    expect(names).to_have_value("motorbike, ")
    names.focus()
    page.keyboard.press("End")
    page.keyboard.type("cow, Pferd")
    expect(note).to_contain_text("the words “cow”, “Pferd”")
    expect(names).to_be_focused()
    page.get_by_role("button", name="Attack", exact=True).click()
    expect(page.locator("#status")).to_contain_text("Done in")
    expect(page.locator(".story .headline")).to_contain_text("This is a motorbike.")
    expect(page.locator(".story .answers")).not_to_contain_text("%")


@pytest.mark.parametrize("width", [1440, 390])
def test_where_the_strength_rests_a_word_says_so_in_full_and_no_number_stands_beside_it(
    story: Page, width: int
) -> None:
    story.set_viewport_size({"width": width, "height": 900})
    if width == 390:
        story.locator("#settings > button").click()
    choose(story, "#setting-attack", "A patch")
    strength = story.locator("#setting-budget")
    word = strength.get_by_text("This attack has no such limit.")
    expect(word).to_be_visible()
    assert word.evaluate(WHOLE_JS)
    clip = strength.locator("input[type=number]").evaluate("(one) => getComputedStyle(one.parentElement).clipPath")
    assert clip != "none"
    choose(story, "#setting-attack", "Many steps (PGD)")
    expect(word).to_be_hidden()
    expect(strength.locator("input[type=number]")).to_have_value("4")


@pytest.mark.parametrize("page", ["?sample=motorcycle&budget=4&step=3"], indirect=True)
def test_a_link_to_a_step_opens_the_story_at_it_until_a_person_moves_on(page: Page) -> None:
    slider, output = page.locator(".story input.step"), page.locator(".story .scrub output").first
    expect(output).to_have_text("step 3 of 7")
    open_lab(page, "Inside")
    expect(page.locator("#in-steps")).to_contain_text("step 3 of 7")
    open_story(page)
    expect(output).to_have_text("step 3 of 7")
    slider.press("End")
    expect(output).to_have_text("all 7 steps")
    page.locator("#samples [data-sample=coffee]").click()
    expect(page.locator(".story .headline")).to_contain_text("This is a cup.")
    expect(output).to_have_text("all 7 steps")


#: The words in sight of a slide that stand in no figure and on no button.
SLIDE_WORDS_JS = """() => { const figures = "svg, canvas, table, figure, button, [role=img], [role=group], .field, .shares, .prices, .progress-note";
  const texts = document.createTreeWalker(document.querySelector(".story section.shown"), NodeFilter.SHOW_TEXT), words = [];
  for (let one; (one = texts.nextNode());) if (one.parentElement.checkVisibility({ visibilityProperty: true })
    && !one.parentElement.closest(figures)) words.push(...(one.textContent.match(/[A-Za-z’]+/g) ?? []));
  return words.length; }"""
#: How much of the screen is between a slide's first and last letter or picture.
FILLED_JS = """() => { const { height } = document.querySelector(".story section.shown").getBoundingClientRect(); return height / innerHeight; }"""


@pytest.mark.parametrize("page", ["?lecture"], indirect=True)
@pytest.mark.parametrize(("width", "height"), [(1920, 1080), (1440, 900)])
def test_every_slide_fits_with_its_answer_and_the_notes_window_follows_and_turns_it(
    page: Page, width: int, height: int
) -> None:
    page.set_viewport_size({"width": width, "height": height})
    count, shown = page.locator(".story .slide-count"), page.locator(".story section:visible")
    expect(page.locator(".story .awaited")).to_have_count(0)
    expect(page.locator(".story .predict[data-about=noise] .choices button")).to_have_count(2)
    notes = {note.title: note for note in lecture()}
    with page.expect_popup() as popup:
        page.keyboard.press("w")
    desk, slides = popup.value, int(count.inner_text().split(" of ")[1])
    for number in range(1, slides + 1):
        expect(count).to_have_text(f"{number} of {slides}")
        title = shown.locator("h2").inner_text()
        if note := lecture()[0] if number == 1 else notes.get(title):
            expect(desk.locator("h1")).to_have_text(title)
            expect(desk.locator("p")).to_have_text(note.says)
            expect(desk.locator("em")).to_contain_text(note.does)
        expect(desk.locator("small")).to_have_text(f"{number} of {slides}")
        for _ in range(1 + shown.locator(".because").count()):
            assert page.evaluate(CUT_JS) == [], number
            assert page.evaluate(SLIDE_WORDS_JS) <= 40, number
            desk.keyboard.press("PageDown")
        assert note is None or page.evaluate(FILLED_JS) > 0.5, number
    desk.keyboard.press("PageUp")
    expect(count).to_have_text(f"{slides - 1} of {slides}")


@pytest.mark.parametrize("page", ["?lecture"], indirect=True)
def test_page_keys_turn_a_slide_while_a_slider_has_the_focus_and_arrows_move_the_slider(page: Page) -> None:
    count, slider = page.locator(".story .slide-count"), page.locator(".story input.wipe")
    expect(count).to_contain_text("1 of ")
    slider.focus()
    page.keyboard.press("Home")  # and the wipe no longer moves by itself
    expect(slider).to_have_value("0")
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_value("0.5")
    expect(count).to_contain_text("1 of ")
    page.keyboard.press("PageDown")
    expect(count).to_contain_text("2 of ")


def test_the_unread_story_is_short(page: Page) -> None:
    wait_for_steps(page)
    assert page.evaluate("document.documentElement.scrollHeight") <= 4_300


@pytest.mark.parametrize("page", ["?sample=motorcycle&budget=4&step=3"], indirect=True)
def test_at_200_percent_nothing_is_cut_and_a_step_on_the_way_is_named(page: Page) -> None:
    page.set_viewport_size({"width": 720, "height": 450})
    expect(page.locator(".story .scrub output").first).to_have_text("step 3 of 7")
    expect(page.locator(".story .hero .scrub")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    page.locator(".story input.step").press("End")
    expect(page.locator(".story .hero .scrub")).to_be_hidden()
