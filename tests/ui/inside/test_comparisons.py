"""The paper's settings beside the recommended ones, and one pinned state."""

from rita_demo.pipeline import rerun
from rita_demo.settings import PAPER, PRESETS, RECOMMENDED, SETTINGS
from rita_demo.ui.inside import comparisons, what_if
from tests.toy_model import ToyEngine
from tests.ui.conftest import completed_run


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


def test_a_pinned_state_stands_beside_the_current_one_and_survives_a_picture_of_other_classes(engine, session) -> None:
    comparisons.pin(session)
    what_if.change(engine, session, settings=session.run.settings.replace(cache_weight=2.0))
    table = comparisons.pinned_table(session)
    for run in (session.run, session.displayed_run):
        assert f"margin {run.attacked.verdicts['rita'].margin:.4f}" in table
    comparisons.pin(session)
    margin = session.displayed_run.attacked.verdicts["rita"].margin
    for said in ("Weight of the memory α 2", f"margin {margin:.4f}"):
        assert said in comparisons.pinned_sentence(session)
    session.show(completed_run(ToyEngine(), attack="none", label=1))
    assert "motorbike, attacked at 4/255; Weight of the memory α 2" in comparisons.pinned_table(session)
