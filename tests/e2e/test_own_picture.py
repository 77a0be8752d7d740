"""A picture of one's own on the real server: uploaded, named, shared, gone back to, reloaded, and with a list of one's own."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from rita_demo.data.samples import SAMPLES
from tests.e2e.conftest import TOLD_JS, expect_level, saved, severe_findings, story_shown, upload
from tests.live_server import wait_until

pytestmark = pytest.mark.e2e


def png_chunks(data: bytes) -> list[int]:
    """Where the chunks of a PNG begin."""
    at, found = 8, []
    while at < len(data):
        found.append(at)
        at += 12 + int.from_bytes(data[at : at + 4], "big")
    return found


def test_an_upload_on_a_phone_is_named_shared_without_metadata_and_found_again_by_back(
    page: Page, tmp_path: Path
) -> None:
    share, dialog = page.locator("#share button"), page.locator(".story dialog")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.wait_for_url(re.compile("sample=motorcycle"))
    share.click()
    dialog.get_by_role("button", name="Copy the link").click()
    expect(dialog).to_contain_text("The link is copied")
    assert "?sample=motorcycle" in page.evaluate("navigator.clipboard.readText()")
    page.keyboard.press("Escape")

    page.set_viewport_size({"width": 390, "height": 844})
    secret, exif = tmp_path / "secret-holiday.jpg", Image.Exif()
    exif[0x010E] = "home address"  # ImageDescription
    Image.fromarray(SAMPLES["coffee"].load(side=96, square="model").pixels).save(secret, exif=exif)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Try your own picture").click()
    chooser.value.set_files(secret)
    expect(page.locator("#status")).to_contain_text("Done in")
    assert wait_until(lambda: np.array_equal(story_shown(page, "clean"), np.asarray(Image.open(secret))))
    link, names = page.locator("button.place", has_text="class names").first, page.locator("#vocabulary input")
    expect(link).to_be_visible()
    expect(names).to_be_hidden()
    link.click()
    expect(names).to_be_focused()  # the drawer that they are in is opened

    page.set_viewport_size({"width": 1440, "height": 900})
    headline, which = page.locator(".story .headline"), page.locator(".story .which")
    expect(headline).to_have_text(re.compile("^CLIP says .+ Change every pixel"))
    expect(page.locator(".story .answers")).not_to_contain_text("✗")
    expect(which).to_contain_text("even if none fits. Which answer is right?")
    share.click()
    expect(dialog).to_contain_text("sent nowhere. “Save this run” in the Lab makes a file")
    assert "link" not in dialog.inner_text(), "an upload is never part of one"
    assert severe_findings(page, ".story dialog") == []
    path = saved(page, tmp_path, dialog.get_by_role("link", name="Save the picture").click)
    data = path.read_bytes()
    assert path.name == "rita.png"
    with Image.open(path) as picture:
        assert picture.size == (1200, 630)
        assert len(np.unique(np.asarray(picture.convert("L")))) > 20, "it is not empty"
    chunks = {data[at + 4 : at + 8] for at in png_chunks(data)}
    assert chunks <= {b"IHDR", b"IDAT", b"IEND", b"sRGB", b"gAMA", b"pHYs", b"sBIT"}
    for word in (b"secret", b"holiday", b"home address"):
        assert word not in data
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()

    which.locator("select").select_option("wheelchair")  # a class that nobody answered
    expect(which).to_be_hidden()
    expect(headline).to_contain_text("wheelchair")
    expect(page.locator("#truth input")).to_have_value("wheelchair")
    expect(page.locator("#status progress")).to_have_count(0)
    said = headline.inner_text()
    inside, figures = (page.get_by_role("tab", name=name, exact=True) for name in ("Inside", "Figures"))
    page.locator("[data-level=lab]").click()
    expect(page).to_have_url(re.compile("/$"))  # an own picture has no link
    for tab, press in ((inside, None), (figures, figures.click), (inside, page.go_back)):
        if press:
            page.wait_for_timeout(200)  # the page notes the tab that is open
            press()
        expect(tab).to_have_attribute("aria-selected", "true")
    page.go_back()
    expect_level(page, "story")
    expect(headline).to_have_text(said)
    page.go_forward()
    expect(inside).to_have_attribute("aria-selected", "true")


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


def test_back_undoes_a_change_of_picture_and_of_attack_and_a_reload_keeps_an_upload_or_says_that_it_is_gone(
    page: Page, tmp_path: Path
) -> None:
    own, kind = np.ascontiguousarray(SAMPLES["coffee"].load().pixels[:, ::-1]), page.locator("#setting-attack input")
    Image.fromarray(own).save(tmp_path / "own.png")
    first, pgd = story_shown(page, "clean"), kind.input_value()
    upload(page, tmp_path / "own.png")
    run_recorded(page, "own=")
    assert "own" not in page.url, "an upload is never part of a link"
    kind.click()
    page.get_by_role("option", name="One step (FGSM): ").click()
    page.locator("#go").click()
    run_recorded(page, "attack=fgsm")
    for go, picture in ((page.go_back, own), (page.go_back, first), (page.go_forward, own)):
        go()
        expect_run(page, picture, pgd)
        if picture is first:
            expect(page).to_have_url(re.compile("sample=motorcycle"))
    page.reload()
    expect(page.locator("#chosen")).to_contain_text("Your picture.")
    expect_run(page, own, pgd)
    expect(page.get_by_role("alert")).to_have_count(0)
    page.evaluate("sessionStorage.clear()")
    page.reload()
    page.wait_for_function(TOLD_JS)
    expect(page.get_by_role("alert")).to_contain_text("Your picture was not kept in this browser.")
