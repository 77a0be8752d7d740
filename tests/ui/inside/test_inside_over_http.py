"""Forged events of *Inside RITA* over real HTTP: a sentence or nothing, never a traceback, the page lives on."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.ui.http_client import serve_toy_page
from tools.bench.http_client import HttpClient

pytestmark = pytest.mark.slow

NAN = float("nan")
MARK = {"curve": 0, "index": 99}  # its index is no view's
FORGED: tuple[Any, ...] = (
    None,
    "abc",
    [0, 0],
    {},
    NAN,
    MARK,
    *(MARK | {"data": data} for data in ([10**30, -1], ["0", "1"], [NAN, NAN], [[0], {}], [1.5, 0.5], [None, True])),
    {"curve": -1, "index": "x", "data": "abc"},
    *({"index": index} for index in (-1, 64, "3", NAN, [1])),
    *({"k": k, "slot": slot} for k, slot in ((0, 0), ("0", 0), (NAN, NAN), (None, 0))),
)


@pytest.fixture(scope="module")
def inside_client() -> Iterator[HttpClient]:
    with serve_toy_page() as local:
        visitor = HttpClient(local)
        visitor.open()
        visitor.choose_tab("inside")
        yield visitor


def assert_harmless(answer: str, *unwanted: str) -> None:
    """No traceback, no generic error message."""
    for text in ("Traceback", "Something went wrong", *unwanted):
        assert text not in answer, answer[:500]


@pytest.mark.parametrize(
    "element",
    [
        "entropies-clean",
        "plan-attacked",
        "mass-attacked",
        "prompts",
        "costs",
        "all-views-clean",
        "views-clean",
        "items",
    ],
)
def test_a_forged_click_does_nothing_and_the_next_click_works(inside_client: HttpClient, element: str) -> None:
    for data in FORGED:
        assert_harmless(inside_client.press(f"in-{element}", data=data), "rita-views", '"success":false')
    assert "No stored view is chosen" in inside_client.press("whatif-item")
    assert "class_costs" in inside_client.press("in-costs", data=MARK | {"data": [1]})
    assert "rita-views" in inside_client.press("in-views-attacked", data={"index": 3, "data": [3]})


@pytest.mark.parametrize("setting", ["entropy_weight", "slots", "order", "tuning_steps"])
def test_a_forged_setting_changes_nothing_and_the_next_one_works(inside_client: HttpClient, setting: str) -> None:
    for value in ("abc", None, NAN, [1, 2], True, {"x": 1}):
        answer = inside_client.press(f"whatif-{setting}", "input", **{f"whatif_{setting}": value})
        assert_harmless(answer, "What if:")
    assert "What if:" in inside_client.press("whatif-cache_weight", "input", whatif_cache_weight=0.7)
    assert "the run as it was made" in inside_client.press("whatif-back")


@pytest.mark.parametrize("menu", ["in-class", "in-prompt", "whatif-truth"])
def test_a_forged_name_in_a_menu_does_nothing(inside_client: HttpClient, menu: str) -> None:
    for name in ("<script>", ["crab"], None, 7, {"x": 1}):
        answer = inside_client.press(menu, "input", **{menu.replace("-", "_"): name})
        assert_harmless(answer, "<script>", "class_costs")
