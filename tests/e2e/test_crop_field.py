"""The crop field in a browser: it plays, it follows the page and the page follows it."""

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.e2e

POSITIONS = "() => [...document.querySelectorAll('#field circle[data-index]')].map(c => Number(c.getAttribute('cx')))"
# Seconds of script for sixty moves of the control: at 30 frames per second there are two.
SIXTY_MOVES = """() => { const slider = document.querySelector('#field input[type=range]'); const begin = performance.now();
  for (let n = 0; n < 60; n++) { slider.value = 7 * (n / 59); slider.dispatchEvent(new Event('input')); }
  return (performance.now() - begin) / 1000; }"""


@pytest.fixture
def field(page: Page) -> Page:
    """The page, once every step that is kept has arrived."""
    expect(page.locator("#field circle[data-index]")).to_have_count(64)
    page.locator("#along-fold > button").click()
    expect(page.locator("#steps-note")).to_contain_text("Stored: steps 0, 1, 2, 3, 5 and 7 of 7.", timeout=60_000)
    return page


def test_playing_moves_the_dots_at_thirty_frames_per_second_and_says_how_many_crossed(field: Page) -> None:
    delivered = field.evaluate(POSITIONS)
    field.get_by_role("button", name="Play the attack").click()
    field.wait_for_function("document.querySelector('#field output').textContent === 'step 2 of 7'")
    assert field.evaluate(POSITIONS) != delivered
    expect(field.get_by_role("button", name="Play the attack")).to_be_visible()
    expect(field.locator("#field output")).to_have_text("step 7 of 7")
    assert field.evaluate(POSITIONS) == pytest.approx(delivered)
    expect(field.locator(".field-says")).to_contain_text(
        "of 64) fit motorbike better than wheelchair; 13 crossed the line"
    )
    assert field.evaluate(SIXTY_MOVES) < 2


def test_a_dot_selects_its_crop_and_ritas_weights_change_the_size_of_the_dots(field: Page) -> None:
    field.locator("#field circle[data-index='9']").dispatch_event("click")
    expect(field.locator("#view-detail")).to_contain_text("View 9:")
    expect(field.locator("#field circle[data-index='9']")).to_have_class("on-reference chosen")
    sizes = POSITIONS.replace("cx", "r")
    before = field.evaluate(sizes)
    assert len(set(before)) == 1
    field.get_by_role("button", name="RITA's weights").click()
    field.wait_for_timeout(1000)
    after = field.evaluate(sizes)
    assert max(after) > before[0] > min(after), after


def test_boxes_and_heat_map_are_painted_on_the_attacked_picture(field: Page) -> None:
    painted = """() => { const c = document.querySelector('.pic.attacked canvas'); if (!c) return 0;
      return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.filter((v, i) => i % 4 === 3 && v).length; }"""
    assert field.evaluate(painted) == 0
    field.get_by_role("button", name="boxes").click()
    boxes = field.evaluate(painted)
    field.get_by_role("button", name="heat map").click()
    expect(field.get_by_role("button", name="boxes")).to_have_attribute("aria-pressed", "false")
    assert field.evaluate(painted) > boxes > 0
    field.get_by_role("button", name="heat map").click()
    assert field.evaluate(painted) == 0


def test_with_reduced_motion_the_dots_jump_from_step_to_step(field: Page) -> None:
    field.emulate_media(reduced_motion="reduce")
    field.reload()
    expect(field.locator("#field circle[data-index]")).to_have_count(64, timeout=60_000)
    expect(field.locator("#verdicts table")).to_be_visible()
    field.get_by_role("button", name="Play the attack").click()
    seen = field.evaluate(
        """() => new Promise((done) => { const seen = new Set(); const begin = performance.now();
        const look = (now) => { seen.add(document.querySelector('#field circle[data-index="5"]').getAttribute('cx'));
          now < begin + 3000 ? requestAnimationFrame(look) : done(seen.size); }; requestAnimationFrame(look); })"""
    )
    assert 1 < seen <= 8, seen
