"""The Story on the real server with the embedded model: every figure follows one state, and says what the run says."""

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from rita_demo.pipeline.story import CHANGES
from tests.e2e.conftest import (
    TOLD_JS,
    canvas_shown,
    new_visitor,
    open_lab,
    saved_square,
    severe_findings,
    story_shown,
    wait_for_steps,
    wait_until_painted,
)
from tests.live_server import wait_until

pytestmark = pytest.mark.e2e

#: What the Story shows of the attack: step, the picture and the noise (a sample of their pixels), each answer, each crop.
STATE_JS = """() => {
  const one = (query) => document.querySelector(`.story ${query}`);
  const sum = (canvas) => canvas.width && canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data
    .reduce((found, v, i) => i % 53 ? found : (31 * found + v) % 1000003, 0);
  return { step: Number(one("input.step").value), picture: sum(one(".photo .now")), noise: sum(one(".attack .noise")),
    seen: sum(one(".attack .seen")), clip: one(".answers .clip").innerText, curve: one(".curve .cursor").getAttribute("x1"),
    crops: [...document.querySelectorAll(".story .push .dot")].map((dot) => dot.style.transform).join(),
    sides: one(".push .field-says").innerText, fell: one(".fell").textContent, time: performance.now() };
}"""
#: The states of a whole play, from the first frame that it moved to the frame after its end.
PLAY_JS = f"""() => new Promise((done) => {{
  const seen = [], state = {STATE_JS}, play = document.querySelector(".story .play");
  const look = () => {{
    const now = state();
    if (seen.length || now.step < 1) seen.push(now);
    if (play.textContent.includes("Pause")) return requestAnimationFrame(look);
    requestAnimationFrame(() => requestAnimationFrame(() => (seen.push(state()), done(seen))));
  }};
  play.click();
  requestAnimationFrame(look);
}})"""


def shown_answers(page: Page) -> dict[str, str]:
    return {
        str(row.get_attribute("class")): row.locator(".answer").inner_text()
        for row in page.locator(".story .answers tbody tr").all()
    }


def push_of(page: Page) -> str:
    return page.locator(".story .push .bar-row .value").nth(2).inner_text()


def reveal(page: Page, about: str, choice: int = 0) -> Locator:
    """Answer a prediction; returns its box."""
    box = page.locator(f".story .predict[data-about={about}]")
    box.locator(".choices button").nth(choice).click()
    return box


def test_the_first_screen_shows_and_says_what_the_run_has_and_the_lab_follows_its_steps(
    story: Page, tmp_path: Path
) -> None:
    clean, attacked = story_shown(story, "clean"), story_shown(story, "attacked")
    change, seen = canvas_shown(story, ".attack .noise"), canvas_shown(story, ".attack .seen")
    moved = attacked.astype(int) - clean
    assert np.abs(moved).max() == 4
    assert np.array_equal(change, np.clip(128 + 20 * moved, 0, 255))
    assert np.array_equal(seen, attacked)
    claim = story.locator(".story .headline")
    expect(claim).to_have_text(
        "This is a motorbike. Change every pixel by at most 4 of 255, and CLIP sees a wheelchair."
    )
    assert "wheelchair" in claim.locator(".attack").inner_text()
    answers = shown_answers(story)
    assert list(answers) == ["clip", "ensemble", "rita"]
    survive = story.locator(".story .survive")
    survive.locator("summary").click()
    expect(survive.locator("tbody th")).to_have_text(["as it is", *(title for title, _ in CHANGES.values())])
    as_it_is = survive.locator("tbody tr").first.locator("td").all()
    for cell, answer in zip(as_it_is, answers.values(), strict=True):
        assert cell.inner_text().startswith(answer.removesuffix(" ✗"))
        expect(cell).to_have_class("wrong" if answer.endswith("✗") else "right")
    slider, output = story.locator(".story input.step"), story.locator(".story .scrub output").first
    pictures = {attacked.tobytes()}
    for step in (5, 3, 2):
        slider.press("ArrowLeft")
        expect(output).to_have_text(f"step {step} of 7")
        wait_until_painted(story)
        pictures.add(story_shown(story, "attacked").tobytes())
    assert len(pictures) == 4
    earlier = shown_answers(story)
    open_lab(story, "Inside")
    rows = story.locator("#inside-strip tr")
    expect(story.locator("#in-steps")).to_contain_text("step 2 of 7")
    expect(rows.first.locator("td b")).to_have_text(earlier["clip"].removesuffix(" ✗"))
    story.locator("#in-scrubber input[type=range]").press("End")
    expect(story.locator("#in-steps")).to_contain_text("step 7 of 7")
    for method, title in (("clip", "CLIP"), ("ensemble", "average"), ("rita", "RITA")):
        said = rows.filter(has_text=title).first.locator("td b").inner_text()
        assert answers[method] == f"{said}{'' if said == 'motorbike' else ' ✗'}"
    assert np.array_equal(clean, saved_square(story, tmp_path, "clean"))
    assert np.array_equal(attacked, saved_square(story, tmp_path, "attacked"))


def test_play_drives_picture_noise_answers_crops_and_curve_together_and_pauses_where_clip_falls(story: Page) -> None:
    states = story.evaluate(PLAY_JS)
    assert states[0]["step"] < 0.5
    assert states[-1]["step"] == 7
    assert 5 < (states[-1]["time"] - states[0]["time"]) / 1000 < 25
    for part in ("picture", "noise", "seen", "clip", "crops", "curve", "sides"):
        assert len({state[part] for state in states}) >= 4, part
    for state in states:  # of one step, all in the same frame
        assert float(state["curve"]) == pytest.approx(at_curve(states, state["step"]), abs=1.5)
    falls = [state for state in states if "CLIP falls" in state["fell"]]
    places = [n for n, state in enumerate(states) if state in falls]
    rest = states[places[-1] + 1]["time"] - states[places[0] - 1]["time"]  # a busy machine draws few frames
    assert len({round(state["step"], 3) for state in falls}) == 1
    assert rest > 1_000
    before = next(state for state in states if state["step"] < falls[0]["step"] - 0.5)
    assert "wheelchair" in falls[0]["clip"]
    assert "motorbike" in before["clip"]
    assert states[-1]["fell"] == ""
    play, step = story.locator(".story .play"), story.locator(".story input.step")
    expect(play).to_have_text("▶ Play the attack")
    play.click()
    now = "Number(document.querySelector('.story input.step').value)"
    story.wait_for_function(f"{now} > 0.5 && {now} < 7")
    play.click()  # pauses
    expect(play).to_have_text("▶ Play the attack")
    wait_until_painted(story)  # the last step that was reached is drawn in the next frame
    at = float(step.input_value())
    assert 0.5 < at < 7
    story.wait_for_timeout(500)
    assert float(step.input_value()) == at
    play.click()
    story.wait_for_timeout(100)
    assert float(step.input_value()) >= at, "it goes on from there"
    play.click()


def at_curve(states: list[dict], step: float) -> float:
    """Where the curve's line stands at a step, by its ends."""
    first, last = states[0], states[-1]
    begin, end = float(first["curve"]), float(last["curve"])
    return begin + (end - begin) * (step - first["step"]) / (last["step"] - first["step"])


def test_a_crop_is_chosen_by_dragging_and_by_arrow_keys_and_every_figure_has_it(story: Page) -> None:
    reveal(story, "push")
    handle = story.locator(".story .drag")
    handle.scroll_into_view_if_needed()
    area = handle.bounding_box()
    seen = []
    for u, v in ((0.2, 0.2), (0.8, 0.75)):
        story.mouse.move(area["x"] + area["width"] * u, area["y"] + area["height"] * v)
        story.mouse.down() if not seen else None
        story.wait_for_timeout(300)
        seen.append((handle.get_attribute("aria-valuetext"), story.locator(".push .sees").inner_text(), push_of(story)))
    story.mouse.up()
    assert len(set(seen)) == 2
    said, sees, share = seen[-1]
    crop = re.search(r"\d+", said)[0]
    assert f"What crop {crop} sees: " in sees
    assert said == f"crop {crop}, {share} of the push"
    box = story.locator(".story .drag .box").bounding_box()
    middle = box["x"] + box["width"] / 2 - area["x"], box["y"] + box["height"] / 2 - area["y"]
    assert middle[0] > 0.45 * area["width"], "the box is where the pointer is"
    expect(story.locator(".story .push .dot.chosen")).to_have_attribute("title", f"crop {crop}")
    handle.focus()
    shares = []
    for _ in range(6):
        story.keyboard.press("ArrowRight")
        story.wait_for_timeout(60)
        shares.append(int(re.search(r"-?\d+", push_of(story))[0]))
    assert shares == sorted(shares), "the arrow keys go through the crops by how much is left"
    chosen = re.search(r"\d+", handle.get_attribute("aria-valuetext"))[0]
    assert chosen != crop
    pressed = "42"
    story.locator(f".story .push .dot[title='crop {pressed}']").dispatch_event("click")
    expect(handle).to_have_attribute("aria-valuenow", pressed)
    open_lab(story, "Inside")
    expect(story.locator("#in-crop")).to_contain_text(f"Crop {pressed}")


@pytest.mark.parametrize("page", ["?sample=motorcycle&adaptive.steps=4&adaptive.restarts=1"], indirect=True)
def test_the_attacker_who_knows_is_asked_for_in_the_figure_stopped_asked_again_and_left(page: Page) -> None:
    wait_for_steps(page)
    know, halt, threat = (page.locator(f".story {query}") for query in (".know", ".halt", ".claim .threat"))
    headline, square = page.locator(".story .headline").inner_text(), story_shown(page, "attacked")
    expect(halt).to_be_hidden()
    know.click()
    expect(halt).to_be_visible()
    expect(know).to_be_disabled()
    expect(page.locator(".story .progress-note")).not_to_have_text("")
    places: set[str] = set()  # of the crops, which cross while the attack is computed
    where = "[...document.querySelectorAll('.story .crossing .dot')].map((dot) => dot.style.transform).join()"
    assert wait_until(lambda: places.add(page.evaluate(where)) or len(places - {""}) > 1, 120)
    expect(halt).to_be_visible()
    halt.click()
    expect(page.locator("#status")).to_contain_text("Stopped. Nothing was lost")
    expect(halt).to_be_hidden()
    expect(page.locator(".story .crossing")).to_have_count(0)
    expect(page.locator(".story .headline")).to_have_text(headline, use_inner_text=True)
    assert wait_until(lambda: np.array_equal(story_shown(page, "attacked"), square)), "the picture of before"
    expect(know).to_be_enabled()
    know.click()
    expect(threat).to_contain_text("the attacker knows the defence. n = 1.")
    expect(page.locator("#status")).to_contain_text("Done in")
    expect(know).to_be_hidden()
    page.get_by_role("button", name="Back to the attack before").click()
    expect(threat).to_contain_text("the attacker knows CLIP, not the crops. n = 1.")
    expect(know).to_be_visible()


def test_on_a_phone_answers_and_play_are_on_the_first_screen_and_crops_are_tapped(story: Page) -> None:
    story.set_viewport_size({"width": 390, "height": 844})
    story.wait_for_timeout(500)
    assert story.evaluate("document.documentElement.scrollWidth") <= 390
    header = story.locator("#header").bounding_box()
    assert header["height"] <= 60
    for query in (".play", ".answers tbody tr:last-child", ".own"):
        box = story.locator(f".story {query}").bounding_box()
        assert 0 < box["y"] < box["y"] + box["height"] <= 844, query
    expect(story.locator("#vocabulary")).to_be_hidden()
    story.locator("#settings > button").click()
    expect(story.locator("#vocabulary")).to_be_visible()
    story.locator("#settings > button").click()
    crop = story.locator(".story .plan .crop").nth(1)
    crop.scroll_into_view_if_needed()
    crop.click()
    expect(crop).to_be_focused()
    assert severe_findings(story) == []


def test_every_figure_has_words_and_axe_finds_nothing_serious_in_both_themes(story: Page) -> None:
    figures = story.locator(".story :is(canvas, svg, .ground, .plan, .bars, .cell, .drag)")
    missing = figures.evaluate_all("""all => all.filter((one) => one.checkVisibility() && !one.closest("[aria-hidden=true]")
      && !(one.getAttribute("aria-label") || "").trim()).map((one) => one.outerHTML.slice(0, 120))""")
    assert missing == []
    said = story.locator(".story .curve").get_attribute("aria-label")
    assert re.fullmatch(r"motorbike goes from \d+ % to \d+ %, wheelchair from \d+ % to \d+ %\.", said)
    for about in ("push", "knows"):
        reveal(story, about)
    story.locator(".story details:not([open])").evaluate_all("all => all.forEach((one) => (one.open = true))")
    assert severe_findings(story) == []
    story.evaluate("""() => { document.body.classList.add("dark");
      return Promise.all(document.getAnimations().filter((one) => one instanceof CSSTransition).map((one) => one.finished)); }""")
    assert severe_findings(story) == []
    story.evaluate("document.body.classList.remove('dark')")


#: Where the line of the first picture stood, until it rests for half a second.
CUTS_JS = """() => new Promise((done) => {
  const seen = new Set();
  let [last, rested] = ["", performance.now()];
  const look = (now) => {
    const at = document.querySelector(".photo .cut")?.style.left ?? "";
    seen.add(at);
    if (at !== last) [last, rested] = [at, now];
    at && now > rested + 500 ? done([...seen].filter(Boolean)) : requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})"""


def test_the_first_visit_opens_with_a_wipe_and_questions_which_a_new_picture_asks_anew(
    browser: Browser, address: str
) -> None:
    with new_visitor(browser) as page:
        page.goto(address, wait_until="commit")
        opening = page.locator("#opening")
        expect(opening.locator("img")).to_have_count(1)
        claim = opening.locator(".says").inner_text()
        expect(opening).to_have_count(0)
        assert page.locator(".story .headline").inner_text() == claim, "the example stood there before the page"
        assert len(page.evaluate(CUTS_JS)) > 5, "the wipe moves once by itself"
        page.wait_for_function(TOLD_JS)
        wipe = page.get_by_label("Left of the line the clean picture")
        assert float(wipe.input_value()) == 50
        wipe.focus()
        for _ in range(10):
            page.keyboard.press("ArrowRight")
        at = float(wipe.input_value())
        assert 50 < at == page.evaluate("parseFloat(document.querySelector('.photo .cut').style.left)")
        clip = page.locator(".photo .before").evaluate("(canvas) => canvas.style.clipPath")
        assert float(re.search(r"inset\(0(?:px)? ([\d.]+)%", clip)[1]) == pytest.approx(100 - at)
        wait_for_steps(page)
        expect_predictions(page)
        page.locator("#samples [data-sample=coffee]").click()
        expect(page.locator("#status")).to_contain_text("Done in")
        expect(page.locator(".story .headline")).to_contain_text("This is a cup.")
        expect(page.locator(".story .claim")).to_have_css("opacity", "1")
        expect(page.locator(".story .push .bars")).to_have_class(re.compile("veiled"))
        expect(page.locator(".story .prices .reference")).to_have_text(re.compile(r"^cup costs 0\.\d{4}"))


def expect_predictions(page: Page) -> None:
    """Each question hides its answer before, and says it after with a reason, also when the figures are laid out anew."""
    veiled = re.compile("veiled")
    for about, hidden in {
        "noise": (),
        "push": (".push .bars", ".push .lead"),
        "knows": (".shares", ".ladder .ends"),
    }.items():
        box = page.locator(f".story .predict[data-about={about}]")
        buttons = box.locator(".choices button")
        parts = [page.locator(f".story {query}") for query in hidden]
        expect(box.locator(".because")).to_have_text("")
        for part in parts:
            expect(part).to_have_class(veiled)
            assert part.evaluate("(node) => node.closest('[aria-hidden=true]') !== null"), f"{about} is read out before"
        for button in buttons.all():
            button.click()
            expect(button).to_have_attribute("aria-pressed", "true")
            right = box.locator("button.right").inner_text()
            start = "Yes. " if button.inner_text() == right else f"No: {right}. "
            expect(box.locator(".because")).to_have_text(re.compile(f"^{re.escape(start)}.+\\.$"))
        for part in parts:
            expect(part).not_to_have_class(veiled)
            assert part.evaluate("(node) => node.closest('[aria-hidden=true]') === null")
    typical = page.locator(".story .bar-row .value").nth(1)
    expect(typical).to_contain_text("%")
    share = int(re.search(r"\d+", typical.inner_text())[0])
    wanted = "less than a third" if share < 33 else "a third to two thirds" if share < 67 else "more"
    expect(page.locator(".predict[data-about=push] button.right")).to_have_text(wanted)
    last, because = buttons.last, box.locator(".because").inner_text()
    last.focus()
    page.set_viewport_size({"width": 1200, "height": 900})
    page.wait_for_timeout(500)
    expect(last).to_be_focused()
    expect(last).to_have_attribute("aria-pressed", "true")
    expect(box.locator(".because")).to_have_text(because)
