"""Back undoes what was run last, and a reload keeps a picture of one's own; the progress of a run covers no heading."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from rita_demo.data.samples import SAMPLES
from tests.e2e.conftest import TOLD_JS, story_shown, upload
from tests.live_server import wait_until

pytestmark = pytest.mark.e2e


def own_picture(path: Path) -> np.ndarray:
    """A picture of one's own, saved there."""
    pixels = np.ascontiguousarray(SAMPLES["coffee"].load().pixels[:, ::-1])
    Image.fromarray(pixels).save(path)
    return pixels


def expect_run(page: Page, pixels: np.ndarray, attack: str) -> None:
    """The page shows the run of this picture, and the form asks for it with this attack."""
    assert wait_until(lambda: np.array_equal(story_shown(page, "clean"), pixels), 90)
    expect(page.locator("#setting-attack input")).to_have_value(attack)
    page.wait_for_function(TOLD_JS)  # until then it is the picture of a run that has just begun
    expect(page.locator("#status progress")).to_have_count(0)


def run_recorded(page: Page, text: str) -> None:
    """Until the history has a run with this text."""
    page.wait_for_function(
        "(text) => history.state?.run?.includes(text) && !document.querySelector('#status progress')", arg=text
    )


def test_back_undoes_a_change_of_picture_and_of_attack_also_of_an_upload(page: Page, tmp_path: Path) -> None:
    own, kind = own_picture(tmp_path / "own.png"), page.locator("#setting-attack input")
    first, pgd = story_shown(page, "clean"), kind.input_value()
    upload(page, tmp_path / "own.png")
    run_recorded(page, "own=")
    assert "own" not in page.url, "an upload is never part of a link"
    kind.click()
    page.get_by_role("option", name="One step (FGSM): ").click()
    page.locator("#go").click()
    run_recorded(page, "attack=fgsm")
    page.go_back()
    expect_run(page, own, pgd)
    page.go_back()
    expect_run(page, first, pgd)
    expect(page).to_have_url(re.compile("sample=motorcycle"))
    page.go_forward()
    expect_run(page, own, pgd)


def test_a_reload_keeps_an_upload_or_says_that_it_is_gone(page: Page, tmp_path: Path) -> None:
    own, pgd = own_picture(tmp_path / "own.png"), page.locator("#setting-attack input").input_value()
    upload(page, tmp_path / "own.png")
    run_recorded(page, "own=")
    page.reload()
    expect(page.locator("#chosen")).to_contain_text("Your picture.")
    expect_run(page, own, pgd)
    expect(page.get_by_role("alert")).to_have_count(0)
    page.evaluate("sessionStorage.clear()")
    page.reload()
    page.wait_for_function(TOLD_JS)
    expect(page.get_by_role("alert")).to_contain_text("Your picture was not kept in this browser.")


#: The headings of the Story that are under the status line while each of them is at the top of the screen.
COVERED_JS = """async () => {
  const status = document.querySelector("#status");
  const kept = [...status.childNodes]; // what was done last
  status.replaceChildren();
  status.insertAdjacentHTML("beforeend", "<div class='progress'><progress></progress><span>A step of a long attack, about 25 s left</span></div>");
  const found = [];
  for (const heading of [...document.querySelectorAll(".story h2")].filter((one) => one.checkVisibility())) {
    scrollTo({ top: heading.getBoundingClientRect().top + scrollY - 12, behavior: "instant" });
    const [a, b] = [status.getBoundingClientRect(), heading.getBoundingClientRect()];
    if (a.bottom > innerHeight || !a.height) found.push("the status line is not seen");
    if (a.left < b.right && a.right > b.left && a.top < b.bottom && a.bottom > b.top) found.push(heading.textContent);
  }
  status.replaceChildren(...kept);
  return found;
}"""


@pytest.mark.parametrize("width", [1440, 1920, 390])
def test_the_progress_of_a_run_covers_no_heading_that_is_read(story: Page, width: int) -> None:
    story.set_viewport_size({"width": width, "height": 900})
    assert story.evaluate(COVERED_JS) == []
