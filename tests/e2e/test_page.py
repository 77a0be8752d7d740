"""What a visitor does with a run, in the form, the Story and *This run*, on the real server with the embedded model."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from rita_demo.data.samples import SAMPLES
from tests.e2e.conftest import (
    TOLD_JS,
    new_visitor,
    open_lab,
    open_settings,
    open_story,
    saved,
    saved_square,
    story_shown,
    unfold,
    upload,
)
from tests.live_server import wait_until

pytestmark = pytest.mark.e2e

#: Every sentence of the Story that is in sight for a frame.
CLAIMS_JS = """window.seen = new Set(); (function look() {
  const claim = document.querySelector(".story .headline");
  if (claim?.checkVisibility({ visibilityProperty: true })) window.seen.add(claim.textContent);
  requestAnimationFrame(look);
})()"""
#: Whether the text of an element is inside it, and nothing of it is cut.
WHOLE_JS = """(node) => { const text = node.getBoundingClientRect(), pill = node.closest(".block").getBoundingClientRect();
  return text.width > 20 && text.left >= pill.left && text.right <= pill.right && text.top >= pill.top && text.bottom <= pill.bottom && node.scrollWidth <= node.clientWidth + 1; }"""


def press_and_wait(page: Page, name: str) -> None:
    """Press a button and wait until everything is done."""
    status = "document.querySelector('#status').textContent"
    before = page.evaluate(status)
    page.get_by_role("button", name=name, exact=True).click()
    page.wait_for_function(f"before => {status} !== before", arg=before)
    expect(page.locator("#status")).to_contain_text("Done in")
    expect(page.locator("#stop")).to_be_hidden()


def test_the_page_opens_with_a_worked_example_whose_figures_can_be_saved(story: Page, tmp_path: Path) -> None:
    expect(story.get_by_role("alert")).to_be_hidden()
    open_lab(story, "Inside")
    unfold(story, "The attack and all answers")
    rows = story.locator("#verdicts tbody tr")
    expect(rows).to_have_count(3)
    assert [r.split()[0] for r in rows.all_inner_texts()] == ["CLIP", "average", "RITA"]
    expect(story.locator("#threat")).to_contain_text("no pixel value moves by more than")
    unfold(story, "How sure is each crop?")
    for figure in ("steps", "in-entropies", "in-costs", "in-plan"):
        expect(story.locator(f"#{figure} .js-plotly-plot svg").first).to_be_visible()
    costs = story.locator("#in-costs .rita-figure")
    costs.focus()
    path = saved(story, tmp_path, lambda: story.keyboard.press("s"))
    assert path.suffix == ".svg"
    words = " ".join(re.findall(r">([^<>]+)<", path.read_text(encoding="utf-8")))
    name = costs.get_attribute("aria-label") or "?"
    for part in (name, "Embedded model", "motorbike", "4/255", "7 steps", "settings: recommended"):
        assert part in words, part


def test_the_example_stands_there_before_the_page_is_built_and_nothing_of_it_stays(
    browser: Browser, address: str
) -> None:
    with new_visitor(browser) as page:
        page.goto(address, wait_until="commit")
        opening = page.locator("#opening")
        expect(opening.locator("img")).to_have_count(1)
        claim = opening.locator(".says").inner_text()
        expect(opening).to_have_count(0)
        assert page.locator(".story .headline").inner_text() == claim
    with new_visitor(browser) as page:
        page.add_init_script(CLAIMS_JS)
        page.goto(f"{address}?sample=coffee", wait_until="commit")
        opening = page.locator("#opening")
        expect(opening).to_contain_text("The picture of this link is being opened")
        expect(opening).to_have_count(0)
        expect(page.locator(".story .headline")).to_contain_text("This is a cup.")
        assert "motorbike" not in "".join(page.evaluate("[...window.seen]")), "the sentence of the worked example"


def test_in_a_frame_whose_sandbox_refuses_its_scripts_the_opening_links_to_the_page(
    browser: Browser, address: str
) -> None:
    page = browser.new_page()
    page.set_content(f'<iframe sandbox="allow-scripts allow-popups" src="{address}"></iframe>')
    opening = page.frame_locator("iframe").locator("#opening")
    expect(opening).to_contain_text("This frame does not let the page start.")
    expect(opening.get_by_role("link", name="Open it in a tab of its own.")).to_have_attribute("href", address)
    page.close()


def test_an_uploaded_picture_with_custom_classes_is_attacked_and_defended(page: Page) -> None:
    path = SAMPLES["cat"].path
    assert path is not None
    upload(page, path)
    expect(page.locator("#status")).to_contain_text("Done in")  # it runs by itself
    expect(page.locator("#chosen")).to_contain_text("Your picture.")
    page.locator("#vocabulary input").click()
    page.get_by_role("option", name="My own list").click()
    page.locator("#own-names textarea").fill("cat")
    page.get_by_role("button", name="Attack", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("At least 2 different class names")
    page.locator("#own-names textarea").fill("cat, crab, <b>camera</b>, piano")
    press_and_wait(page, "Attack")
    expect(page.locator(".story .headline")).to_contain_text("CLIP says ")
    clean, attacked = story_shown(page, "clean"), story_shown(page, "attacked")
    assert clean.shape == attacked.shape
    assert 0 < np.abs(clean.astype(int) - attacked).max() <= 4
    open_lab(page, "Inside")
    unfold(page, "The attack and all answers")
    expect(page.locator("#verdicts")).to_contain_text("among all 4 classes")
    page.locator("#in-note").get_by_role("button", name="Choose the true class").click()
    expect(page.locator("#truth input")).to_be_focused()
    page.get_by_role("option", name="cat", exact=True).click()
    expect(page.locator(".story .headline")).to_contain_text("This is a cat.")  # again by itself
    open_lab(page, "Inside")
    expect(page.locator("#verdicts")).to_contain_text("Right means the true class, cat")


def test_an_own_list_starts_with_the_answer_on_screen_and_marks_words_while_one_types_and_in_the_verdict(
    page: Page,
) -> None:
    note, names = page.locator("#names-note"), page.locator("#own-names textarea")
    expect(page.locator(".story .answers")).to_contain_text("%")
    page.locator("#vocabulary input").click()
    page.get_by_role("option", name="My own list").click()
    expect(names).to_have_value("motorbike, ")
    expect(note).to_have_text("")
    names.focus()
    page.keyboard.press("End")
    page.keyboard.type("cow, Pferd")  # “Pferd” is spelt with pieces that training met
    expect(note).to_contain_text("the words “cow”, “Pferd”")
    expect(names).to_be_focused()
    press_and_wait(page, "Attack")
    expect(page.locator(".story .headline")).to_contain_text("This is a motorbike.")
    assert not re.search(r"\d %", page.locator(".story .hero").inner_text())
    open_lab(page, "Inside")
    expect(page.locator("#in-note")).to_contain_text("not trained with the words “cow”, “Pferd”")
    unfold(page, "The attack and all answers")
    for place in ("#verdicts", "#inside-headline", "#in-note", "#inside-strip"):
        shown = page.locator(place).inner_text()
        assert not re.search(r"\d %", shown), (place, shown)
    open_story(page)
    names.fill("cat, crab, piano")
    expect(note).to_have_text("")


@pytest.mark.nightly
def test_a_saved_attacked_picture_comes_back_bit_for_bit(page: Page, tmp_path: Path) -> None:
    shown, path = story_shown(page, "attacked"), tmp_path / "attacked.png"
    open_lab(page, "Inside")
    Image.fromarray(saved_square(page, tmp_path, "attacked")).save(path)
    open_story(page)
    upload(page, path)
    expect(page.locator("#chosen")).to_contain_text("pixel for pixel")
    expect(page.locator("#status")).to_contain_text("Done in")
    open_settings(page)
    press_and_wait(page, "Only defend")
    expect(page.locator(".story .headline")).to_contain_text("Nothing was changed yet.")
    expect(page.locator(".story .play")).to_be_hidden()
    assert np.array_equal(story_shown(page, "attacked"), shown)


def test_a_form_that_differs_from_the_run_says_so_until_it_is_the_run_again(story: Page) -> None:
    box, note = story.locator("#setting-budget input[type=number]"), story.locator("#changed")
    asked = box.input_value()
    box.fill("6")
    box.press("Tab")
    expect(note).to_contain_text("Settings changed. Run it again.")
    open_lab(story, "Inside")
    story.locator("#in-views button").first.click()
    expect(story.locator("#in-crop")).to_contain_text("Alone it says")
    open_story(story)
    expect(note).to_contain_text("Settings changed")
    box.fill(asked)
    box.press("Tab")
    expect(note).not_to_contain_text("Settings changed")


@pytest.mark.nightly
def test_a_reload_at_any_moment_leaves_no_error_in_the_console(page: Page) -> None:
    """The page's fixture fails on every error in the console."""
    for moment in ("#opening", ".story .answers", "#stop:visible", "#status .done"):
        page.reload(wait_until="commit")
        if moment == "#stop:visible":
            page.locator("#samples [data-sample=coffee]").click()
        page.wait_for_selector(moment, state="attached")
    page.reload(wait_until="commit")
    page.wait_for_function(TOLD_JS)
    page.wait_for_timeout(1000)
    page.reload()  # while the other steps are computed
    page.wait_for_function(TOLD_JS)


@pytest.mark.parametrize("width", [1440, 390])
def test_where_the_strength_rests_a_word_says_so_in_full_and_its_value_is_kept(story: Page, width: int) -> None:
    story.set_viewport_size({"width": width, "height": 900})
    if width == 390:
        story.locator("#settings > button").click()
    strength, kind = story.locator("#setting-budget"), story.locator("#setting-attack input")
    word = strength.get_by_text("This attack has no such limit.")
    for name, rests in (
        ("A patch", True),
        ("One step (FGSM)", False),
        ("A wrong word", True),
        ("Many steps (PGD)", False),
    ):
        kind.click()
        story.get_by_role("option", name=name).click()
        for box in strength.locator("input").all():
            expect(box).to_be_disabled() if rests else expect(box).to_be_enabled()
        expect(word).to_be_visible() if rests else expect(word).to_be_hidden()
        if rests:
            assert word.evaluate(WHOLE_JS)
            number = strength.locator("input[type=number]")
            assert number.evaluate("(one) => getComputedStyle(one.parentElement).clipPath") != "none"
    expect(strength.locator("input[type=number]")).to_have_value("4")


@pytest.mark.nightly
def test_every_picture_has_an_edge_that_is_seen_on_the_page(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "white.png"
    Image.new("RGB", (96, 96), "white").save(path)
    upload(page, path)
    expect(page.locator("#status")).to_contain_text("Done in")
    edges = """() => [...document.querySelectorAll("img, .story :is(canvas, .cell):not(.inset)")].filter((one) => one.checkVisibility()).map((one) => {
      const edge = getComputedStyle(one.closest(".photo, .drag") || one).boxShadow;
      return edge.replace(getComputedStyle(document.body).backgroundColor, "none") || "none";
    })"""
    for tab in ("Story", "Inside", "Memory"):
        if tab != "Story":
            open_lab(page, tab)
        first = {"Story": ".story .dot", "Inside": "#in-crop img", "Memory": "#memory-effect img"}[tab]
        expect(page.locator(first).first).to_be_visible()
        page.wait_for_timeout(1500)
        found = page.evaluate(edges)
        assert found
        assert [edge for edge in found if "none" in edge or not edge.endswith("0px 0px 0px 1px")] == []


def test_an_unavailable_model_gives_an_error_message_and_resets_the_menu(story: Page) -> None:
    open_lab(story, "Inside")
    strip, menu = story.locator("#inside-strip"), story.get_by_role("button", name="Model: Embedded model")
    story.wait_for_selector("#inside-strip table")
    before = strip.inner_text()
    menu.click()
    story.get_by_role("radio", name="CLIP ViT-B/32 (OpenAI)").check()
    story.get_by_role("button", name="Use this model").click()
    expect(story.get_by_role("alert")).to_contain_text("ViT-B-32")
    assert strip.inner_text() == before
    story.get_by_role("button", name="Dismiss this message").click()
    menu.click()
    expect(story.get_by_role("radio", name="Embedded model: 15 M")).to_be_checked()


@pytest.mark.parametrize(
    "page", ["?sample=cat&classes=cat%2Ccrab%2Cpiano&budget=2&steps=3&view=5&tab=inside"], indirect=True
)
def test_a_share_link_restores_the_page(page: Page) -> None:
    expect(page.get_by_role("tab", name="Inside")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#in-views button[aria-pressed=true]")).to_have_attribute("data-view", "5")
    open_story(page)
    expect(page.locator(".story .claim")).to_contain_text("at most 2 of 255")
    open_lab(page, "Inside")
    unfold(page, "The attack and all answers")
    expect(page.locator("#threat")).to_contain_text("more than 2/255, in 3 steps")
    expect(page.locator("#verdicts")).to_contain_text("among all 3 classes")
    expect(page.locator("#own-names textarea")).to_have_value("cat,crab,piano")
    assert "budget=2" in page.url
    page.wait_for_url(re.compile("tab=inside"))
    page.get_by_label("The attacker knows").click()
    page.get_by_role("option", name="CLIP", exact=True).click()
    press_and_wait(page, "Attack that defence")
    page.wait_for_url(re.compile(r"\?sample=cat&.*attack=adaptive"))
    expect(page.locator("#inside-strip tr").first).to_contain_text(re.compile("cat .*→"))


def test_an_attack_can_be_stopped_and_restarted(page: Page) -> None:
    claim, square = page.locator(".story .headline"), np.empty(0)
    while not np.array_equal(square, shown := story_shown(page, "attacked")):  # until it stands still
        square = shown
        page.wait_for_timeout(500)
    before = claim.inner_text()
    page.locator("#samples [data-sample=coffee]").click()
    expect(page.locator("#stop")).to_be_visible()
    page.evaluate("document.querySelector('#stop')?.click()")  # at once: a run takes little more than a second
    status = page.locator("#status")
    expect(status).to_contain_text(re.compile("Stopped. Nothing was lost|Done in"))
    expect(page.locator("#stop")).to_be_hidden()
    if "Nothing was lost" in status.inner_text():
        expect(claim).to_have_text(before, use_inner_text=True)
        assert wait_until(lambda: np.array_equal(story_shown(page, "attacked"), square)), (
            "not the cup without an answer"
        )
    page.locator("#go").click()
    expect(page.locator("#status")).to_contain_text("Done in")
    expect(claim).not_to_have_text(before, use_inner_text=True)


@pytest.mark.parametrize("page", ["?sample=motorcycle&budget=4&step=3"], indirect=True)
def test_a_link_to_a_step_opens_every_room_at_it_until_a_person_moves_on_also_at_200_percent(page: Page) -> None:
    page.set_viewport_size({"width": 720, "height": 450})
    slider, output = page.locator(".story input.step"), page.locator(".story .scrub output").first
    expect(output).to_have_text("step 3 of 7")
    expect(page.locator(".story .hero .scrub")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    open_lab(page, "Inside")
    expect(page.locator("#in-scrubber-note")).to_contain_text("step 3 of 7")
    unfold(page, "The attack and all answers")
    expect(page.locator("#verdicts")).to_contain_text("step 3 of 7", ignore_case=True)
    open_story(page)
    expect(output).to_have_text("step 3 of 7")
    slider.press("End")
    expect(page.locator(".story .hero .scrub")).to_be_hidden()
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(output).to_have_text("all 7 steps")
    page.locator("#samples [data-sample=coffee]").click()
    expect(page.locator(".story .headline")).to_contain_text("This is a cup.")
    expect(output).to_have_text("all 7 steps")
