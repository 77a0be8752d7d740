"""What axe-core finds on the page as it stands."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

SEVERE_IMPACTS = ("serious", "critical")
#: Drawings are hidden from readers, who get their words instead; their colours are measured in tests/figures.
NOT_DRAWINGS = {"exclude": [".rita-plot svg"]}
#: Rules that every scan must have met something to check with: a scan of nothing finds nothing.
RULES_COVERED = {"color-contrast", "button-name", "aria-hidden-focus"}


def severe_findings(page: Page, where: str | dict | None = None) -> list[str]:
    """The serious and critical findings: impact, rule, selector and what to do; ``where`` narrows the scan."""
    found = Axe().run(page, where or NOT_DRAWINGS).response
    if where is None:
        kinds = ("passes", "violations", "incomplete")
        checked = {one["id"] for kind in kinds for one in found[kind]}
        assert checked >= RULES_COVERED, checked
    return [
        f"[{one['impact']}] {one['id']} at {node['target']}: {node['failureSummary']}"
        for one in found["violations"]
        if one["impact"] in SEVERE_IMPACTS
        for node in one["nodes"]
    ]
