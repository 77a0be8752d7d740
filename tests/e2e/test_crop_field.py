"""The crop field in a browser: it plays, it follows the page and the page follows it."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import TOLD_JS, open_lab, unfold
from tools.bench.page import FIELD_FRAMES_JS, FRAMES, main_thread_seconds

pytestmark = pytest.mark.e2e

POSITIONS = "() => [...document.querySelectorAll('#field circle[data-index]')].map(c => Number(c.getAttribute('cx')))"


@pytest.fixture(scope="module")
def visited(shared_page: Page) -> Page:
    """*Inside*, once every step that is kept has arrived."""
    open_lab(shared_page, "Inside")
    unfold(shared_page, "The attack and all answers")
    expect(shared_page.locator("#field circle[data-index]")).to_have_count(64)
    expect(shared_page.locator("#steps-note")).to_contain_text("Stored: steps 0, 1, 2, 3, 5 and 7 of 7.")
    return shared_page


@pytest.fixture
def field(visited: Page) -> Page:
    """The same at its last step, on a wide screen."""
    visited.set_viewport_size({"width": 1440, "height": 900})
    visited.locator("#field input[type=range]").press("End")
    expect(visited.locator("#field output")).to_have_text("step 7 of 7")
    return visited


def test_playing_moves_the_dots_at_thirty_frames_per_second_and_says_how_many_crossed(field: Page) -> None:
    delivered = field.evaluate(POSITIONS)
    field.get_by_role("button", name="Play the attack").click()
    expect(field.locator("#field output")).to_have_text(re.compile("step [0-5] of 7"))
    assert field.evaluate(POSITIONS) != delivered
    expect(field.get_by_role("button", name="Play the attack")).to_be_visible()
    expect(field.locator("#field output")).to_have_text("step 7 of 7")
    assert field.evaluate(POSITIONS) == pytest.approx(delivered)
    slider = field.locator("#field input[type=range]")
    assert main_thread_seconds(slider, FIELD_FRAMES_JS, FRAMES) < FRAMES / 30


def test_the_counts_of_every_step_subtract(field: Page) -> None:
    says, slider, left = field.locator(".field-says"), field.locator("#field input[type=range]"), []
    for step in (7, 5, 3, 2, 1):
        expect(field.locator("#field output")).to_have_text(f"step {step} of 7")
        text = says.inner_text()
        right, total, before = map(int, re.search(r"(\d+) of (\d+) crops fit .*\((\d+) before", text).groups())
        lost, won = (
            sum(map(int, re.findall(rf"(\d+) to {name}", text.split(")")[0]))) for name in ("wheelchair", "motorbike")
        )
        assert before - lost + won == right <= total == 64
        say, pale = (int(n[1]) if (n := re.search(p, text)) else 0 for p in (r"(\d+) say motorbike", r"(\d+) \(pale\)"))
        assert right - pale <= say <= right
        left.append(right)
        slider.press("ArrowLeft")
    expect(field.locator("#field output")).to_have_text("step 0 of 7")
    expect(says).to_contain_text(f"{before} of 64 crops fit motorbike better than wheelchair. ")
    assert len(set(left)) > 1


def test_a_dot_selects_its_crop_and_ritas_weights_change_the_size_of_the_dots(field: Page) -> None:
    field.locator("#field circle[data-index='9']").dispatch_event("click")
    expect(field.locator("#in-crop")).to_contain_text("Crop 9")
    expect(field.locator("#field circle[data-index='9']")).to_have_class("on-reference chosen")
    sizes = POSITIONS.replace("cx", "r")
    before = field.evaluate(sizes)
    assert len(set(before)) == 1
    field.get_by_role("button", name="RITA's weights").click()
    field.wait_for_timeout(1000)
    after = field.evaluate(sizes)
    assert max(after) > before[0] > min(after), after
    field.locator("#field circle[data-index='9']").dispatch_event("click")
    expect(field.locator("#in-crop")).not_to_contain_text("Crop 9")
    expect(field.locator("#field circle[data-index='9']")).to_have_class("on-reference")


@pytest.mark.parametrize("page", ["?sample=coffee&budget=4"], indirect=True)
def test_a_method_that_answers_a_third_class_is_pale_and_says_which(page: Page) -> None:
    open_lab(page, "Inside")
    unfold(page, "The attack and all answers")
    expect(page.locator("#verdicts tbody tr")).to_have_count(3)
    answers = {
        row.locator("th").inner_text().split()[0]: row.locator("td b").nth(1).inner_text()
        for row in page.locator("#verdicts tbody tr").all()
    }
    sides = [
        re.sub("[◀▶ ]", "", page.locator(f"#field .side-{side}").text_content() or "")
        for side in ("rival", "reference")
    ]
    third = {method: name for method, name in answers.items() if name not in sides}
    assert third, "choose another sample: no method says a third class here"
    told = ", ".join(f"{method} says {name}" for method, name in third.items())
    expect(page.locator(".field-says")).to_contain_text(f"Neither of the two: {told} (pale).")
    expect(page.locator("#field :is(.whole, .marker).other")).to_have_count(len(third))
    for name in third.values():
        expect(page.locator("#field text.name", has_text=f"says {name}")).to_have_count(1)


#: Labels beside a marker that cover the line between the two sides.
CROSSING = """() => { const svg = document.querySelector('#field svg'), line = svg.querySelector('.line').getBoundingClientRect();
  return [...svg.querySelectorAll('.name, .note')].filter((label) => { const box = label.getBoundingClientRect();
    return box.left < line.left && box.right > line.right; }).map((label) => label.textContent); }"""


def test_at_no_step_does_a_label_cross_the_line(field: Page) -> None:
    for width in (1440, 390):
        field.set_viewport_size({"width": width, "height": 844})
        field.wait_for_timeout(500)
        for step in range(0, 71):
            field.locator("#field input[type=range]").evaluate(
                "(slider, at) => { slider.value = at; slider.dispatchEvent(new Event('input')); }", step / 10
            )
            assert field.evaluate(CROSSING) == [], (width, step / 10)


def test_on_a_phone_a_tapped_crop_is_outlined_and_answered_beside_the_dots(field: Page) -> None:
    canvas, picked = field.locator("#field .look canvas"), field.locator("#field .picked")
    expect(canvas).to_be_hidden()
    expect(picked).to_be_hidden()
    field.set_viewport_size({"width": 390, "height": 844})
    expect(picked).to_have_text("Tap a dot to see its crop.")
    pixels = "(canvas) => [...canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data].join()"
    field.locator("#field svg").scroll_into_view_if_needed()
    field.wait_for_timeout(500)
    shown = [canvas.evaluate(pixels)]
    dot = field.locator("#field circle[data-index='9']").bounding_box()
    field.mouse.click(dot["x"] + dot["width"] / 2, dot["y"] + dot["height"] / 2)
    expect(picked).to_have_text(re.compile(r"^Crop \d+ \(\d+ % of the picture\) says .+\.$"))
    shown.append(canvas.evaluate(pixels))
    scrolled = field.evaluate("scrollY")
    assert len(set(shown)) == 2
    assert field.evaluate("scrollY") == scrolled
    crop = re.search(r"\d+", picked.inner_text())[0]
    expect(field.locator("#in-crop")).to_contain_text(f"Crop {crop}")


def test_a_finger_that_moves_down_over_the_slider_scrolls_and_sideways_it_moves_the_step(field: Page) -> None:
    field.set_viewport_size({"width": 390, "height": 844})
    client = field.context.new_cdp_session(field)
    client.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    slider, output = field.locator("#field input[type=range]"), field.locator("#field output")

    def swipe(right: int, down: int) -> float:
        """How far the slider moved up in the window: where a text above it grows, the browser scrolls to keep its place."""
        slider.evaluate("(slider) => slider.scrollIntoView({ block: 'center' })")
        field.wait_for_timeout(500)
        box = slider.bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        moves = [("touchMove", [{"x": x + right * n / 10, "y": y + down * n / 10}]) for n in range(1, 11)]
        for kind, points in (("touchStart", [{"x": x, "y": y}]), *moves, ("touchEnd", [])):
            client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
            field.wait_for_timeout(16)
        field.wait_for_timeout(500)
        return box["y"] - slider.bounding_box()["y"]

    assert swipe(0, -150) > 80
    expect(output).to_have_text("step 7 of 7")
    assert abs(swipe(-60, 3)) < 1
    expect(output).to_have_text(re.compile("step [12] of 7"))


def test_with_reduced_motion_the_dots_jump_from_step_to_step(field: Page) -> None:
    field.emulate_media(reduced_motion="reduce")
    field.reload()
    field.wait_for_function(TOLD_JS)
    open_lab(field, "Inside")
    unfold(field, "The attack and all answers")
    expect(field.locator("#field circle[data-index]")).to_have_count(64, timeout=60_000)
    expect(field.locator("#verdicts table")).to_be_visible()
    field.get_by_role("button", name="Play the attack").click()
    seen = field.evaluate(
        """() => new Promise((done) => { const seen = new Set(); const begin = performance.now();
        const look = (now) => { seen.add(document.querySelector('#field circle[data-index="5"]').getAttribute('cx'));
          now < begin + 3000 ? requestAnimationFrame(look) : done(seen.size); }; requestAnimationFrame(look); })"""
    )
    assert 1 < seen <= 8, seen
