"""A run saved by the button, and the file opened again by ``python -m rita_demo open``."""

import io
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from rita_demo.data.pictures import png_bytes
from rita_demo.data.samples import SAMPLES
from rita_demo.pipeline import bundle_read
from tests.e2e.conftest import open_lab, saved, unfold, upload
from tests.live_server import start_server

pytestmark = pytest.mark.e2e
#: Also of what a narrow view hides.
READ_ROW_JS = "(row) => [...row.cells].slice(0, 3).map((cell) => cell.textContent)"


def verdicts(page: Page) -> list[list[str]]:
    """Method, clean and attacked answer of every row, with probability and margin."""
    return [row.evaluate(READ_ROW_JS) for row in page.locator("#verdicts tbody tr").all()]


@pytest.mark.nightly
def test_a_saved_upload_run_reopens_with_the_same_verdicts(page: Page, browser: Browser, tmp_path: Path) -> None:
    picture = tmp_path / "mine.png"
    picture.write_bytes(png_bytes(SAMPLES["coffee"].load().pixels[:96, :96]))
    upload(page, picture)
    expect(page.locator("#status")).to_contain_text("Done in")
    open_lab(page, "Inside")
    expect(page.locator("#in-plan .js-plotly-plot svg").first).to_be_visible()
    unfold(page, "The attack and all answers")
    expect(page.locator("#verdicts tbody tr")).to_have_count(3)
    before = verdicts(page)
    path = saved(page, tmp_path, page.get_by_role("button", name="Save this run").click)
    assert path.name == "rita-run.zip"
    expect(page.locator("#status")).to_contain_text("Saved rita-run.zip")
    _check(path, picture)
    with start_server(tmp_path / "log.txt", "-m", "rita_demo", "open", str(path)) as address:
        context = browser.new_context(viewport={"width": 390, "height": 844})
        again = context.new_page()
        again.goto(address)
        expect(again.locator("#status")).to_contain_text("all 6 answers and every pixel are those in the file")
        expect(again.locator("#chosen")).to_contain_text("pixel for pixel")
        assert again.evaluate("document.documentElement.scrollWidth") <= 390
        open_lab(again, "Inside")
        unfold(again, "The attack and all answers")
        expect(again.locator("#verdicts tbody tr")).to_have_count(3)
        assert verdicts(again) == before
        assert again.evaluate("document.documentElement.scrollWidth") <= 390
        context.close()
    assert "Traceback" not in (tmp_path / "log.txt").read_text()


def _check(path: Path, picture: Path) -> None:
    """The square is the uploaded one, the memory is in the file, and the figures are drawings."""
    assert bundle_read.read_file(path).cache_file is not None
    with zipfile.ZipFile(path) as file:
        clean = np.asarray(Image.open(io.BytesIO(file.read("clean.png"))))
        assert np.array_equal(clean, np.asarray(Image.open(picture)))
        drawn = [name for name in file.namelist() if name.endswith(".svg")]
        assert len(drawn) >= 3, drawn
        for name in drawn:
            svg = ElementTree.fromstring(file.read(name))
            assert svg.tag.endswith("}svg")
            assert "RITA demo." in "".join(svg.itertext())  # its settings stand below it
