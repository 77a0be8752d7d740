"""The paper's settings beside the recommended ones, and one pinned state."""

from rita_demo.pipeline import rerun
from rita_demo.settings import PAPER, PRESETS, RECOMMENDED, SETTINGS
from rita_demo.ui.inside import comparisons, what_if
from tests.ui.conftest import completed_run
from tests.ui.fake_engine import FakeEngine


def test_every_setting_in_which_the_presets_differ_is_listed_with_its_reason(engine, example_run) -> None:
    table = comparisons.preset_table(engine, example_run)
    assert table.count("<tr>") == 1 + len(comparisons.PRESET_DIFFERENCES) + len(PRESETS)
    attacks = [n for n in comparisons.PRESET_DIFFERENCES if SETTINGS[n].group == "attack"]
    assert table.count("needs a new attack") == len(attacks) == 3
    assert table.count("costs ") >= len(comparisons.PRESET_DIFFERENCES) - len(attacks) + 2
    changed = rerun.rescore(engine, example_run, example_run.settings.replace(entropy_weight=0.1))
    assert f"margin {changed.attacked.verdicts['rita'].margin:.4f}" in table


def test_paper_settings_apply_as_far_as_the_features_allow() -> None:
    settings = comparisons.as_preset(RECOMMENDED, PAPER)
    assert settings.entropy_weight == PAPER.entropy_weight
    assert settings.views_augmix == RECOMMENDED.views_augmix
    assert not rerun.settings_needing_rerun(settings, RECOMMENDED)


def test_a_pinned_state_is_shown_beside_the_current_one(engine, session) -> None:
    comparisons.pin(session)
    what_if.change(engine, session, settings=session.run.settings.replace(cache_weight=2.0))
    table = comparisons.pinned_table(session)
    old, new = (s.attacked.verdicts["rita"].margin for s in (session.run, session.displayed_run))
    assert f"margin {old:.4f}" in table
    assert f"margin {new:.4f}" in table
    comparisons.pin(session)
    assert "Weight of the memory α 2" in session.inside.pinned.title
    said = comparisons.pinned_sentence(session)
    assert "Weight of the memory α 2" in said
    assert f"margin {new:.4f}" in said


def test_a_pinned_state_survives_a_new_picture_and_names_another_vocabulary(session) -> None:
    comparisons.pin(session)
    other = completed_run(FakeEngine(), attack="none", label=1)
    session.show(other)
    assert session.inside.pinned is not None
    assert "motorbike" in comparisons.pinned_table(session)
