"""*Inside* with the toy engine: one selection, what is drawn, and its what-if."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from rita_demo.ui.inside import details, what_if
from rita_demo.ui.inside.crop_columns import columns_html
from rita_demo.ui.inside.tab import InsideTab
from rita_demo.ui.session.session import Session
from tests.ui.conftest import NAMES, chosen, drawn, open_room


@pytest.fixture
def tab(inside_tab: InsideTab) -> InsideTab:
    return inside_tab


@pytest.fixture
def visitor(tab: InsideTab) -> str:
    return tab.context.sessions.open()


@pytest.fixture
def session(tab: InsideTab, visitor: str, example_run) -> Session:
    """The visitor's, with the tab open."""
    session = tab.context.sessions.get(visitor)
    session.show(example_run)
    open_room(tab, visitor)
    return session


def test_every_figure_of_the_room_is_drawn_for_an_attacked_and_a_defended_picture(
    tab, visitor, session, defend_only_run
) -> None:
    session.inside.open_folds = frozenset(fold.name for fold in tab.folds)
    for shown, count in ((session.run, 6), (defend_only_run, 5)):
        session.show(shown)
        figures = [v for v in open_room(tab, visitor).values() if hasattr(v, "layout")]
        assert len(figures) == count


def test_the_price_of_the_chosen_class_is_a_sum_of_the_record_s_numbers(session) -> None:
    trace, pattern = session.run.attacked.trace, r"sum'>([\d.]+) \+ ([\d.]+) × ([\d.]+) = ([\d.]+)"
    for k in range(len(NAMES)):
        session.select(k=k)
        prompt, weight, memory, total = map(float, re.search(pattern, details.class_details(session)).groups())
        wanted = trace.prompt_transport.distance[k], trace.cache_distance[k], trace.total[k]
        assert (prompt, memory, total) == pytest.approx(wanted, abs=5e-5)
        assert prompt + weight * memory == pytest.approx(total, abs=2e-4)


def test_the_columns_hold_every_crop_at_its_place_and_count_both_sides(session, failed_run, defend_only_run) -> None:
    for run in (session.run, failed_run, defend_only_run):
        session.show(run)
        tiles = re.findall(r"class='(\w+)' data-view='(\d+)' data-at='([-.\de]+)'", columns_html(session))
        assert sorted(int(view) for _, view, _ in tiles) == list(range(64))
        at = [float(place) for *_, place in tiles]
        assert at == sorted(at)
        says = sum(kind == "reference" for kind, *_ in tiles)
        assert says == (run.attacked.trace.confidence.label == run.label).sum()
        assert f"{sum(place > 0 for place in at)} fit motorbike</b>" in columns_html(session)


def test_a_what_if_is_undone_and_redone_with_one_button_also_at_another_step(tab, visitor, session) -> None:
    tab.on_setting("cache_weight")(visitor, 1.5)
    button = tab.parts["back"]
    for step, name, weight in (
        (7, "Show the what-if again", 0.1),
        (7, "Back to the run", 1.5),
        (0, "Show", 0.1),
        (0, "Back", 1.5),
    ):
        chosen(tab, visitor, step=step)
        now = drawn(tab, session, tab.on_back(visitor))[button]
        assert now["value"].startswith(name)
        shown = session.displayed_run
        assert (shown.settings.cache_weight, shown.step) == (weight, None if step == 7 else step)
        assert shown.settings == what_if.settings_of(session)


@pytest.mark.slow
def test_concurrent_setting_changes_all_apply(tab, visitor, session) -> None:
    moved = {"cache_weight": 1.0, "transported_mass": 0.8, "max_entropy": 0.6}
    for _ in range(10):
        tab.on_back(visitor)
        with ThreadPoolExecutor(len(moved)) as hands:
            for name, value in moved.items():
                hands.submit(tab.on_setting(name), visitor, value)
        assert {name: getattr(session.inside.what_if.settings, name) for name in moved} == moved
