from __future__ import annotations

import numpy as np
import pytest

from rita_demo import table
from rita_demo.records import Verdict
from rita_demo.story import OUTCOMES
from rita_demo.ui import touched, verdicts, words
from rita_demo.ui.sessions import Session


def verdict(label: int) -> Verdict:
    return Verdict(label, np.full(3, 1 / 3), 0.1, "probability")


@pytest.mark.parametrize(
    ("clean", "attacked", "word"),
    [
        (0, 0, "holds"),
        (0, 1, "fooled"),
        (1, 1, "was already wrong"),
        (1, 2, "was already wrong, now another"),
        (1, 0, "was wrong, now right"),
    ],
)
def test_every_pair_of_answers_has_its_word(clean: int, attacked: int, word: str) -> None:
    assert words.outcome(verdict(clean), verdict(attacked), 0)[0] == word


def test_every_outcome_has_a_mark_and_a_colour() -> None:
    assert set(words.MARKS) == set(OUTCOMES)
    missed = words.outcome(verdict(0), verdict(1), 0, 2)
    assert missed == ("wrong now, but not the target", "bad", "≠")


@pytest.mark.parametrize(
    ("share", "decimals", "text"),
    [
        (0.914, 0, "91 %"),
        (0.914, 1, "91.4 %"),
        (0.9999, 0, "> 99 %"),
        (0.0001, 0, "< 1 %"),
        (1.0, 0, "100 %"),
        (0.0, 1, "0.0 %"),
    ],
)
def test_percentages_never_claim_certainty_that_is_not_there(share, decimals, text) -> None:
    assert words.percent(share, decimals) == text


def test_the_headings_alone_tell_the_story(story) -> None:
    assert str(words.heading_clean(story)).endswith("The model says: motorbike.")
    assert str(words.heading_attacked(story)).endswith("The model says: crab, and it is sure.")
    assert words.heading_views(story).startswith("Here are 64 crops of the attacked picture. Most")
    assert words.heading_costs(story).endswith("costs least for motorbike.")
    assert words.heading_memory(story).startswith("One reliable view goes into a memory")
    assert words.heading_memory(story).endswith("so it did not change this answer.")
    assert words.summary(story) == (
        "CLIP was fooled. RITA's answer is restored: motorbike.",
        "good",
    )


def test_a_defence_that_fails_is_said_as_clearly(lost) -> None:
    sentence, kind = words.summary(lost)
    assert sentence == "The defence fails on this picture: RITA says crab, not motorbike."
    assert kind == "bad"
    assert words.heading_costs(lost).endswith("crab: here the defence fails.")
    assert "crab is cheaper by" in words.why(lost)


def test_a_picture_that_was_only_defended_claims_nothing(defended) -> None:
    assert words.summary(defended)[1] == "dim"
    assert "nobody can say" in words.right_means(defended)
    assert "may have been attacked before" in str(words.heading_attacked(defended))


def test_the_table_has_both_pictures_and_an_outcome_for_every_method(session) -> None:
    table = verdicts.table(session)
    for text in ("CLIP", "Ensemble", "RITA", "fooled", "holds", "Right means the true class"):
        assert text in table


def test_an_attack_that_missed_its_target_is_said_to_have_missed_it(story) -> None:
    from dataclasses import replace

    names, attack = story.bank.names, story.attack
    clip = story.attacked.verdicts["clip"].label
    other = next(k for k in range(len(names)) if k not in (clip, story.label))
    for aim, word in ((clip, "fooled"), (other, "wrong now, but not the target")):
        aimed = replace(story, attack=replace(attack, target=aim, fooled=aim == clip))
        visitor = Session()
        visitor.show(aimed)
        printed = table.render(aimed, "a picture")
        for text in (verdicts.table(visitor), printed):
            assert ("but not the target" in text) == (aim == other)
            assert word in text
        assert f"and now {names[aim]}, the attack's target" in printed
        sentence, kind = words.summary(aimed)
        assert kind == "good"  # RITA is right both times
        assert ("CLIP was fooled" in sentence) == (aim == clip)
        for given in (True, False):
            sentence, _ = words.summary(replace(aimed, label_given=given))
            missed = f"CLIP now says {names[clip]}, but the attack was to make it say {names[aim]}."
            assert (missed in sentence) == (aim == other)


def test_a_term_without_a_sentence_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        words.term("nonsense")


def test_names_cannot_become_markup(story) -> None:
    from dataclasses import replace

    evil = "<img src=x onerror=alert(1)>"
    names = (evil, *story.bank.names[1:])
    prompts = ((evil,) * len(story.bank.prompts[0]), *story.bank.prompts[1:])
    visitor = Session()
    visitor.show(replace(story, bank=replace(story.bank, names=names, prompts=prompts)))
    visitor.selection = replace(visitor.selection, k=0, view=3, atom=0)
    drawn = [
        verdicts.banner(visitor), verdicts.table(visitor), verdicts.memory(visitor),
        verdicts.threat(visitor), touched.view_detail(visitor), touched.cell_detail(visitor),
        verdicts.headline(4, words.heading_costs, "")(visitor),
    ]  # fmt: skip
    assert not any("<img src=x" in html for html in drawn)


def test_without_a_true_class_the_page_does_not_claim_to_know_it(story, lost, defended) -> None:
    from dataclasses import replace

    nobody, gone = replace(story, label_given=False), replace(lost, label_given=False)
    assert words.summary(nobody) == ("CLIP was fooled. RITA still says motorbike.", "good")
    sentence = "The defence fails on this picture: RITA said motorbike before the attack and says crab now."
    assert words.summary(gone) == (sentence, "bad")
    assert words.heading_costs(gone).endswith("crab.")
    rival = replace(defended.attacked.verdicts["rita"], label=1)
    restored = replace(
        defended, attacked=replace(defended.attacked, verdicts=defended.attacked.verdicts | {"rita": rival})
    )  # fmt: skip
    assert words.summary(restored) == ("CLIP says motorbike. RITA says crab.", "dim")
    assert "fails" not in words.heading_costs(restored)
    assert "on their own" in words.why(restored)
    visitor = Session()
    visitor.show(replace(restored, clean=restored.attacked))
    assert "answer wrong" not in verdicts.table(visitor)
