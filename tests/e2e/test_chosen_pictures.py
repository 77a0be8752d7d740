"""Pictures inside a lasso leave as a list; two runs are compared; on the real server, each by one press."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.conftest import open_lab, saved
from tests.e2e.scan import severe_findings

pytestmark = pytest.mark.e2e
LONG_TIMEOUT_MS = 240_000  # ms: a few pictures are attacked and answered by every method
#: The middle of every mark of the cloud.
MARKS_JS = """() => {
  const area = document.querySelector("#fig-large .nsewdrag").getBoundingClientRect();
  return [...document.querySelectorAll("#fig-large .scatterlayer path.point")].map((mark) => mark.getBoundingClientRect())
    .map((box) => [box.x + box.width / 2, box.y + box.height / 2])
    .filter(([x, y]) => x > area.left && x < area.right && y > area.top && y < area.bottom);
}"""


@pytest.fixture
def figures_page(shared_page: Page) -> Page:
    """The tab with its stored cloud of drawn textures."""
    open_lab(shared_page, "Figures")
    expect(shared_page.locator("#fig-large .scatterlayer path.point").first).to_be_visible(timeout=LONG_TIMEOUT_MS)
    return shared_page


def lasso_leftmost(page: Page, count: int) -> int:
    """Draw a loop around the leftmost marks of the cloud; how many pictures they are of."""
    page.locator("#fig-large").scroll_into_view_if_needed()
    page.locator("#fig-large .nsewdrag").first.hover()
    page.locator('#fig-large .modebar-btn[data-title="Lasso Select"]').click()
    area = page.locator("#fig-large .nsewdrag").first.bounding_box()
    assert area is not None
    across = sorted(x for x, _ in page.evaluate(MARKS_JS))
    left, top, bottom = area["x"] + 2, area["y"] + 2, area["y"] + area["height"] - 2
    right = (across[count - 1] + across[count]) / 2
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in ((right, top), (right, bottom), (left, bottom), (left, top)):
        page.mouse.move(x, y, steps=8)
    page.mouse.up()
    chosen = page.locator("#fig-lassoed")
    expect(chosen).to_contain_text(re.compile(r"[1-9]\d* points of \d+ pictures are inside the lasso"))
    return int(re.search(r"of (\d+) pictures", chosen.inner_text())[1])


def test_two_runs_are_compared_picture_by_picture(figures_page: Page, tmp_path: Path) -> None:
    page, shown = figures_page, figures_page.locator("#fig-won-pictures")
    page.get_by_role("button", name="Which pictures does one run win?").click()
    expect(shown).to_contain_text(re.compile(r"RITA \(.*\) has \d+ of 40 pictures right that CLIP"))
    count = int(re.search(r"has (\d+) of", shown.inner_text())[1])
    expect(shown.locator("tbody img")).to_have_count(count)
    page.locator("#fig-second input").click()
    page.get_by_role("option", name="textures test: Ensemble (PGD 4/255 on 50 %); stored example").click()
    expect(shown).to_contain_text(re.compile(r"pictures right that Ensemble"))
    findings = severe_findings(page)
    assert not findings, "\n".join(findings)
    rows = shown.locator("tbody tr").count()
    if rows:
        button = page.locator("#fig-won-export").get_by_role("button", name="Pictures as CSV")
        lines = saved(page, tmp_path, button.click).read_text().splitlines()
        assert len(lines) == rows + 1
    else:
        expect(page.locator("#fig-won-export")).to_be_hidden()
    page.locator("#fig-first input").click()
    page.get_by_role("option", name="dtd test: RITA (PGD 4/255 on 50 %, memory kept); stored example").click()
    expect(shown).to_contain_text("dtd/images")  # CLIP on the same pictures takes the other's place
    expect(page.locator("#fig-second input")).to_have_value("dtd test: CLIP (PGD 4/255 on 50 %); stored example")
    expect(page.locator("#notice .notice")).to_have_count(0)


@pytest.mark.nightly
def test_pictures_inside_the_lasso_leave_as_a_list(figures_page: Page, tmp_path: Path) -> None:
    page, status = figures_page, figures_page.locator("#status")
    expect(page.locator("#fig-export")).to_be_hidden()
    count = lasso_leftmost(page, 60)
    assert count > 1
    button: Locator = page.locator("#fig-export").get_by_role("button", name="Selected points as CSV")
    rows = list(csv.DictReader(saved(page, tmp_path, button.click).open(encoding="utf-8")))
    assert len({row["file"] for row in rows}) == count
    expect(status).to_contain_text("Saved points.csv: “evaluate --pictures points.csv” measures these pictures")
    findings = severe_findings(page)
    assert not findings, "\n".join(findings)


def test_the_classes_of_the_cloud_are_chosen_by_name(figures_page: Page) -> None:
    page, chosen = figures_page, figures_page.locator("#fig-names")
    page.locator("#figures-drawer > button").click()
    for name in ("zigzagged", "banded"):
        chosen.locator("input").fill(name)
        page.get_by_role("option", name=f"{name} (10)", exact=True).click()
        expect(chosen).to_contain_text(name)
    chosen.locator("input").blur()
    for name, value in (("each", 2), ("views", 16)):
        number = page.locator(f"#fig-{name} input[type=number]")
        number.fill(str(value))
        number.press("Enter")
        expect(page.locator(f"#fig-{name} input[type=range]")).to_have_value(str(value))
    page.get_by_role("button", name="Collect pictures", exact=True).click()
    expect(page.locator("#fig-caption")).to_contain_text("4 drawn textures, 2 classes", timeout=LONG_TIMEOUT_MS)
    expect(page.locator("#fig-chips button")).to_have_text([re.compile("banded"), re.compile("zigzagged")])
