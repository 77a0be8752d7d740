"""Forged events of *Inside RITA* over real HTTP: a sentence or nothing, never a traceback, the page lives on."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.ui.http_client import HttpClient, serve_fake_page

pytestmark = pytest.mark.slow

FIGURES = (
    "in-entropies-clean",
    "in-cost-clean",
    "in-plan-attacked",
    "in-mass-attacked",
    "in-prompts",
    "in-costs",
    "in-before-after",
    "in-all-views-clean",
    "in-all-prompts-attacked",
    "in-entropy-change",
)
NAN = float("nan")
FORGED: tuple[Any, ...] = (
    None,
    "abc",
    [],
    {},
    NAN,
    {"curve": 0},
    {"curve": 0, "index": 0},
    {"curve": 0, "index": 0, "data": [10**30, -1]},
    {"curve": 0, "index": 0, "data": ["0", "1"]},
    {"curve": 0, "index": 0, "data": [NAN, NAN]},
    {"curve": 0, "index": 0, "data": [[0], {}]},
    {"curve": -1, "index": "x", "data": "abc"},
    {"curve": 0, "index": 0, "data": [1.5, 0.5]},
    {"curve": 0, "index": 0, "data": [None, True]},
)


@pytest.fixture(scope="module")
def inside_client() -> Iterator[HttpClient]:
    with serve_fake_page() as local:
        visitor = HttpClient(local)
        visitor.open()
        visitor.choose_tab("inside")
        yield visitor


def assert_no_error(answer: str) -> bool:
    """No traceback, no failed call, no generic error message."""
    bad = ("Traceback", "Something went wrong", '"success":false', '"success": false')
    return bool(answer) and not any(text in answer for text in bad)


@pytest.mark.parametrize("element", FIGURES)
def test_a_forged_figure_click_does_nothing_and_the_next_click_works(inside_client: HttpClient, element: str) -> None:
    for data in FORGED:
        answer = inside_client.press(element, data=data)
        assert assert_no_error(answer), (data, answer[:500])
        assert "rita-views" not in answer, "nothing was chosen"
    answer = inside_client.press("in-costs", data={"curve": 0, "index": 0, "data": [1]})
    assert "class_costs" in answer


@pytest.mark.parametrize("element", ["in-views-clean", "in-views-attacked"])
@pytest.mark.parametrize(
    "data", [{"data": [-1]}, {"data": [64]}, {"data": ["3"]}, {"data": [NAN]}, {"data": [[1]]}, {"data": []}, None]
)
def test_a_forged_view_does_nothing(inside_client: HttpClient, element: str, data: Any) -> None:
    answer = inside_client.press(element, data=data)
    assert assert_no_error(answer)
    assert "view_entropies" not in answer
    assert "view_entropies" in inside_client.press(element, data={"data": [3]})


@pytest.mark.parametrize("data", [{"k": 0, "slot": 0}, {"k": "0"}, {"k": NAN, "slot": NAN}, {"slot": 0}, [0, 0], None])
def test_a_missing_cached_view_does_nothing(inside_client: HttpClient, data: Any) -> None:
    assert assert_no_error(inside_client.press("in-items", data=data))
    assert "No stored view is chosen" in inside_client.press("whatif-item")


@pytest.mark.parametrize("setting", ["entropy_weight", "slots", "order", "tuning_steps"])
def test_a_forged_setting_changes_nothing_and_the_next_one_works(inside_client: HttpClient, setting: str) -> None:
    for value in ("abc", None, NAN, [1, 2], True, {"x": 1}):
        answer = inside_client.press(f"whatif-{setting}", "input", **{f"whatif_{setting}": value})
        assert "Traceback" not in answer
        assert "Something went wrong" not in answer
        assert "What if:" not in answer, value
    assert "What if:" in inside_client.press("whatif-cache_weight", "input", whatif_cache_weight=0.7)
    assert "the run as it was made" in inside_client.press("whatif-back")


@pytest.mark.parametrize("menu", ["in-class", "in-prompt", "whatif-truth"])
def test_a_forged_name_in_a_menu_does_nothing(inside_client: HttpClient, menu: str) -> None:
    for name in ("<script>", ["crab"], None, 7, {"x": 1}):
        answer = inside_client.press(menu, "input", **{menu.replace("-", "_"): name})
        assert "Traceback" not in answer
        assert "Something went wrong" not in answer
        assert "<script>" not in answer
        assert "class_costs" not in answer
