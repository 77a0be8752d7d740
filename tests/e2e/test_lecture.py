"""The lecture (``?lecture``): every slide fits, questions are revealed, keys turn, the notes follow on the slide and in a window."""

import pytest
from playwright.sync_api import Page, expect

from rita_demo.ui.story.notes import lecture
from tests.e2e.conftest import wait_until_painted

pytestmark = pytest.mark.e2e

#: What of a slide is outside the screen, or reaches into the slide's number.
CUT_JS = """() => [...document.querySelectorAll(".story section.shown *")].filter((one) => one.checkVisibility()).filter((one) => {
  const box = one.getBoundingClientRect();
  return box.width && (box.bottom > innerHeight || box.right > innerWidth || box.left < 0 || box.top < 0);
}).map((one) => one.outerHTML.slice(0, 80))"""
#: The words in sight of a slide that stand in no figure and on no button.
WORDS_JS = """() => { const figures = "svg, canvas, table, figure, button, [role=img], [role=group], .field, .shares, .prices, .progress-note";
  const texts = document.createTreeWalker(document.querySelector(".story section.shown"), NodeFilter.SHOW_TEXT), words = [];
  for (let one; (one = texts.nextNode());) if (one.parentElement.checkVisibility({ visibilityProperty: true })
    && !one.parentElement.closest(figures)) words.push(...(one.textContent.match(/[A-Za-z’]+/g) ?? []));
  return words.length; }"""
#: How much of the screen's height a slide fills.
FILLED_JS = "() => document.querySelector('.story section.shown').getBoundingClientRect().height / innerHeight"
#: The smallest letters in sight, in pixels of the screen.
LETTERS_JS = """() => Math.min(...[...document.querySelectorAll(".story *")].filter((node) => node.checkVisibility() && [...node.childNodes]
  .some((child) => child.nodeType === 3 && child.textContent.trim())).map((node) => parseFloat(getComputedStyle(node).fontSize) * node.currentCSSZoom))"""


SCREENS = ((1440, 900), (1920, 1080))


def expect_slide_fits(page: Page, number: int) -> None:
    """On both screens nothing is cut and there are few words; on the larger one letters are seen from afar."""
    for width, height in SCREENS:
        page.set_viewport_size({"width": width, "height": height})
        wait_until_painted(page)
        assert page.evaluate(CUT_JS) == [], (number, width)
        assert page.evaluate(WORDS_JS) <= 40, number
    assert page.evaluate(LETTERS_JS) >= 20, number


@pytest.mark.parametrize("page", ["?lecture"], indirect=True)
def test_every_slide_fits_and_is_turned_revealed_annotated_and_darkened_with_keys(page: Page) -> None:
    count, shown = page.locator(".story .slide-count"), page.locator(".story section:visible")
    expect(page.locator(":is(#header, #ask)").first).to_be_hidden()
    expect(page.locator(".story .survive table")).to_be_attached()
    expect(page.locator(".story .predict[data-about=noise] .choices button")).to_have_count(2)
    with page.expect_popup() as popup:
        page.keyboard.press("w")
    desk, slides = popup.value, int(count.inner_text().split(" of ")[1])
    notes = {note.title: note for note in lecture()}
    for number in range(1, slides + 1):
        expect(count).to_have_text(f"{number} of {slides}")
        expect(shown).to_have_count(1)
        title = shown.locator("h2").inner_text()
        note = lecture()[0] if number == 1 else notes.get(title)
        if note:
            for tag, text in (("h1", title), ("p", note.says)):
                expect(desk.locator(tag)).to_have_text(text)
            expect(desk.locator("em")).to_contain_text(note.does)
        expect(desk.locator("small")).to_have_text(f"{number} of {slides}")
        page.keyboard.press("n")
        expect(page.locator(".story .slide-notes")).to_have_text(note.says if note else "")
        page.keyboard.press("n")
        because = shown.locator(".because")
        for answered in range(1 + because.count()):
            if because.count():  # the first press reveals the answer
                expect(because).to_have_text("") if not answered else expect(because).not_to_have_text("")
                expect(count).to_have_text(f"{number} of {slides}")
            expect_slide_fits(page, number)
            desk.keyboard.press("PageDown")
        assert note is None or page.evaluate(FILLED_JS) > 0.5, number
    desk.keyboard.press("PageUp")
    expect(count).to_have_text(f"{slides - 1} of {slides}")
    page.reload()
    expect(count).to_have_text(f"{slides - 1} of {slides}")
    expect(shown).to_have_count(1)
    for sees in (expect(page.locator("body")).to_be_hidden, expect(shown).to_be_visible):
        page.keyboard.press("b")
        sees()
    page.keyboard.press("Home")
    slider = page.locator(".story input.wipe")
    slider.focus()
    page.keyboard.press("Home")  # of the slider, which arrows move; page keys turn the slide
    expect(slider).to_have_value("0")
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_value("0.5")
    expect(count).to_have_text(f"1 of {slides}")
    page.keyboard.press("PageDown")
    expect(count).to_have_text(f"2 of {slides}")
