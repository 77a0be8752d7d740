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
        page.goto(f"{address}?sample=coffee", wait_until="commit")
        opening = page.locator("#opening")
        expect(opening).to_contain_text("The picture of this link is being opened")
        expect(opening).to_have_count(0)
        expect(page.locator(".story .headline")).to_contain_text("This is a cup.")


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


@pytest.mark.parametrize("page", ["?sample=cat&classes=cat,crab,piano"], indirect=True)
def test_a_word_that_the_model_was_not_trained_with_is_marked_while_it_is_typed_and_in_the_verdict(page: Page) -> None:
    note, names = page.locator("#names-note"), page.locator("#own-names textarea")
    expect(page.locator(".story .answers")).to_contain_text("%")
    expect(note).to_have_text("")
    names.fill("Cat, Pferd, cow, yxcv")  # “Pferd” is spelt with pieces that training met
    expect(note).to_contain_text("not trained with the words “Pferd”, “cow”, “yxcv”")
    press_and_wait(page, "Attack")
    expect(page.locator(".story .answers")).to_contain_text("(unknown word)")
    assert not re.search(r"\d %", page.locator(".story .hero").inner_text())
    open_lab(page, "Inside")
    expect(page.locator("#in-note")).to_contain_text("not trained with the words “Pferd”, “cow”, “yxcv”")
    unfold(page, "The attack and all answers")
    expect(page.locator("#verdicts")).to_contain_text("(unknown word)")
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


@pytest.mark.nightly
def test_the_last_of_two_quickly_chosen_samples_runs_with_its_attack_steps(page: Page) -> None:
    page.locator("#samples [data-sample=coffee]").click()
    expect(page.locator("#stop")).to_be_visible()
    page.locator("#samples [data-sample=brick]").click()
    expect(page.locator(".story .headline")).to_contain_text("This texture is grid.")
    expect(page.locator("#samples [data-sample=brick]")).to_have_attribute("aria-pressed", "true")
    open_lab(page, "Inside")
    unfold(page, "The attack and all answers")
    note = page.locator("#steps-note")
    expect(note).to_contain_text("Stored: steps 0, 1, 2, 3, 5 and 7 of 7.", timeout=120_000)


def test_a_cell_of_the_plan_of_a_selected_class_shows_crop_and_prompt(story: Page) -> None:
    name = "anchor"
    open_lab(story, "Inside")
    story.locator("#in-class input").fill(name)
    story.get_by_role("option", name=name, exact=True).click()
    expect(story.locator("#in-plan .rita-alt")).to_contain_text(name)
    area = story.locator("#in-plan .nsewdrag").first.bounding_box()
    assert area is not None
    story.mouse.click(area["x"] + area["width"] * 0.3, area["y"] + area["height"] * 0.4)
    detail = story.locator("#in-cell")
    expect(detail).to_contain_text(re.compile(r"Crop \d+ → “.*anchor"))
    expect(detail).to_contain_text("cosine distance")


@pytest.mark.nightly
def test_another_attack_step_is_shown_in_both_tabs(story: Page) -> None:
    open_lab(story, "Inside")
    caption, plan = story.locator("#in-scrubber-note"), story.locator("#in-plan")
    expect(plan.locator(".heatmaplayer image").first).to_be_visible()
    unfold(story, "The attack and all answers")
    expect(story.locator("#steps-note")).to_contain_text("Stored: steps 0, 1, 2, 3, 5 and 7 of 7.")
    before = plan.inner_html()
    story.locator("#in-scrubber input[type=range]").fill("5")
    expect(caption).to_contain_text("step 5 of 7")
    expect(plan).not_to_have_js_property("innerHTML", before)
    story.locator("#in-scrubber input[type=range]").fill("2")
    expect(caption).to_contain_text("step 2 of 7")
    expect(story.locator("#verdicts")).to_contain_text("attacked, step 2 of 7", ignore_case=True)


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


@pytest.mark.nightly
def test_the_strength_rests_where_it_limits_nothing_and_keeps_its_value(page: Page) -> None:
    strength, kind = page.locator("#setting-budget"), page.locator("#setting-attack input")
    for name, usable in (("A patch", False), ("One step (FGSM)", True), ("A wrong word on the picture", False)):
        kind.click()
        page.get_by_role("option", name=f"{name}: ").click()
        for box in strength.locator("input").all():
            expect(box).to_be_enabled() if usable else expect(box).to_be_disabled()
        said = expect(strength).not_to_contain_text if usable else expect(strength).to_contain_text
        said("This attack has no such limit.")
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
    story.wait_for_selector("#inside-strip table")
    before = story.locator("#inside-strip").inner_text()
    story.get_by_role("button", name="Model: Embedded model").click()
    story.get_by_role("radio", name="CLIP ViT-B/32 (OpenAI)").check()
    story.get_by_role("button", name="Use this model").click()
    expect(story.get_by_role("alert")).to_contain_text("ViT-B-32")
    assert story.locator("#inside-strip").inner_text() == before
    story.get_by_role("button", name="Dismiss this message").click()
    story.get_by_role("button", name="Model: Embedded model").click()
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
    page.locator("#stop").dispatch_event("click")  # at once: a run takes little more than a second
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


@pytest.mark.parametrize("page", ["?sample=motorcycle&step=0&tab=run"], indirect=True)
def test_every_part_of_inside_shows_the_step_of_the_link(page: Page) -> None:
    expect(page.locator("#inside-headline")).to_contain_text("RITA agrees")
    expect(page.locator("#in-scrubber-note")).to_contain_text("step 0 of 7")
    unfold(page, "The attack and all answers")
    expect(page.locator("#verdicts")).to_contain_text("step 0 of 7", ignore_case=True)
