"""A picture dropped on the page, or pasted, is taken like an upload; nothing that is dropped replaces the page."""

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.e2e.conftest import expect_level, open_lab, story_shown
from tests.live_server import wait_until

pytestmark = pytest.mark.e2e

#: Drops files or a text on an element, or pastes them there; whether the page took each event.
GIVE_JS = """([kinds, query, files, text]) => {
  const data = new DataTransfer();
  for (const [name, type, content] of files)
    data.items.add(new File([Uint8Array.from(atob(content), (c) => c.charCodeAt())], name, { type }));
  if (text) data.setData("text/plain", text);
  const how = { dataTransfer: data, clipboardData: data, bubbles: true, cancelable: true };
  const made = (kind) => (kind === "paste" ? new ClipboardEvent(kind, how) : new DragEvent(kind, how));
  return kinds.map((kind) => !document.querySelector(query).dispatchEvent(made(kind)));
}"""
DROP, PASTE = ["dragenter", "dragover", "drop"], ["paste"]
File = tuple[str, str, str]


@pytest.fixture(scope="module")
def page(shared_page: Page) -> Page:
    return shared_page


def picture(seed: int) -> tuple[File, np.ndarray]:
    """A small picture as a file of the browser, and its pixels."""
    pixels = np.random.default_rng(seed).integers(0, 256, (96, 96, 3), np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return ("x.png", "image/png", base64.b64encode(buffer.getvalue()).decode()), pixels


def give(page: Page, how: list[str], query: str, files: list[File], text: str = "") -> bool:
    """Whether the page took what was dropped or pasted, and the browser did not."""
    taken = page.evaluate(GIVE_JS, [how, query, files, text])
    assert len(set(taken)) == 1, taken
    return bool(taken[0])


def expect_shown(page: Page, pixels: np.ndarray) -> None:
    """The page shows this picture, pixel for pixel, and takes it for an upload."""
    assert wait_until(lambda: np.array_equal(story_shown(page, "clean"), pixels), 60)
    expect(page.locator("#chosen")).to_contain_text("Your picture.")
    expect(page.locator("#status")).to_contain_text("Done in")


def test_what_is_no_picture_gets_a_sentence_and_the_page_stays(page: Page) -> None:
    expect(page.locator(".story .answers .number").last).to_contain_text("%")
    page.wait_for_url(re.compile("sample=motorcycle"))
    address, before = page.url, page.locator(".story .claim").inner_text()
    (one, _), alert = picture(1), page.get_by_role("alert")
    diary = ("diary.txt", "text/plain", base64.b64encode(b"Dear diary, this is not a picture.").decode())
    for files, text, sentence in (
        ([diary], "", "Expected a picture, but the file is plain text."),
        ([("empty.png", "image/png", "")], "", "Expected a picture, but the file is empty."),
        ([one, one], "", "Expected one picture, but 2 files were dropped."),
        ([], "https://example.org/fox.png", "Expected a picture, but what was dropped is text or a link."),
    ):
        assert give(page, DROP, "body", files, text)
        expect(alert).to_contain_text(sentence)
        page.get_by_role("button", name="Dismiss this message").click()
        expect(alert).to_be_hidden()
    assert give(page, PASTE, "body", [diary])
    expect(alert).to_contain_text("Expected a picture, but the file is plain text.")
    assert (page.url, page.locator(".story .claim").inner_text()) == (address, before)


def test_a_picture_dropped_anywhere_or_pasted_is_taken_like_an_upload_also_in_the_lab(page: Page) -> None:
    places = (PASTE, "#vocabulary input"), (DROP, "#memory-headline")
    for turn, (how, query) in enumerate(places):
        file, pixels = picture(turn)
        if query == "#memory-headline":
            open_lab(page, "Memory")
            expect(page.locator(query)).to_be_visible()
        assert give(page, how, query, [file]), "the browser itself would open the file"
        expect_level(page, "story")
        expect_shown(page, pixels)
