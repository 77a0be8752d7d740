"""The paper's settings beside the recommended ones, and one pinned state."""

from __future__ import annotations

from rita_demo import retelling
from rita_demo.settings import KNOBS, PAPER, RECOMMENDED
from rita_demo.ui import compare, what_if
from tests.ui.conftest import told
from tests.ui.fake import FakeEngine


def test_every_setting_in_which_the_presets_differ_is_listed_with_its_reason(engine, story) -> None:
    table = compare.preset_table(engine, story)
    assert table.count("<tr>") == 1 + len(compare.DIFFER) + 2
    attacks = [n for n in compare.DIFFER if KNOBS[n].group == "attack"]
    assert table.count("needs a new attack") == len(attacks) == 3
    assert table.count("costs ") >= len(compare.DIFFER) - len(attacks) + 2
    changed = retelling.rescore(engine, story, story.settings.but(entropy_weight=0.1))
    assert f"margin {changed.attacked.verdicts['rita'].margin:.4f}" in table


def test_the_papers_settings_follow_as_far_as_features_allow() -> None:
    settings = compare.as_preset(RECOMMENDED, PAPER)
    assert settings.entropy_weight == PAPER.entropy_weight
    assert settings.views_augmix == RECOMMENDED.views_augmix
    assert not retelling.needs_a_run(settings, RECOMMENDED)


def test_one_state_is_pinned_and_stands_beside_the_next(engine, session) -> None:
    compare.pin(session)
    what_if.change(engine, session, settings=session.story.settings.but(cache_weight=2.0))
    table = compare.pinned_table(session)
    old, new = (s.attacked.verdicts["rita"].margin for s in (session.story, what_if.seen(session)))
    assert f"margin {old:.4f}" in table
    assert f"margin {new:.4f}" in table
    compare.pin(session)
    assert "Weight of the memory α 2" in session.pinned.title
    said = compare.pinned_sentence(session)
    assert "Weight of the memory α 2" in said
    assert f"margin {new:.4f}" in said


def test_a_pinned_state_outlives_the_picture_and_another_vocabulary_is_said(session) -> None:
    compare.pin(session)
    other = told(FakeEngine(), attack="none", label=1)
    session.show(other)
    assert session.pinned is not None
    assert "motorbike" in compare.pinned_table(session)
