from dataclasses import replace

import pytest

from rita_demo.cli import text_tables
from rita_demo.records import Run
from rita_demo.ui.inside.cache_used import class_cards
from rita_demo.ui.inside.headline import headline
from rita_demo.ui.panels import verdict_table
from rita_demo.ui.session.session import Session
from rita_demo.ui.story.sentences import knew
from rita_demo.ui.widgets import wording


def test_the_verdict_and_its_table_say_who_is_right(example_run: Run) -> None:
    said = "CLIP was fooled. RITA says motorbike, and so does the average of crops."
    assert wording.verdict_sentence(example_run) == (said, "good")
    table = verdict_table.table(example_run)
    for text in ("CLIP", "average of crops", "RITA", "fooled", "holds", "Right means the true class"):
        assert text in table


@pytest.mark.parametrize(
    ("weight", "share"), [(0.1, "9 % of the price (0.1 of 1.1)"), (1.0, "50 % of the price (1 of 2)")]
)
def test_an_empty_memory_says_what_stands_in_its_place_and_how_much_that_counts(
    example_run: Run, weight: float, share: str
) -> None:
    run = replace(example_run, settings=example_run.settings.replace(cache_weight=weight))
    stands = (
        f"Where it holds nothing of a class, the mean of the class’s sentences stands in its place and makes {share}."
    )
    session = Session()
    session.show(run)
    session.select(k=0)
    assert stands in class_cards(session)
    session.show(replace(run, settings=run.settings.replace(empty_class="zero")))
    session.select(k=0)
    assert "it adds nothing to the price." in class_cards(session)


def test_before_the_first_step_the_verdict_says_what_every_method_answers(example_run: Run) -> None:
    start = replace(example_run, attacked=example_run.clean, step=0)
    assert wording.verdict_sentence(start)[0] == "Before the attack: CLIP, the average and RITA all say motorbike."


def test_where_clip_was_wrong_before_the_attack_the_verdict_says_what_everybody_answers(example_run: Run) -> None:
    label = example_run.attacked.verdicts["clip"].label  # then only CLIP on the attacked picture is right
    names = example_run.class_prompts.names
    said, kind = wording.verdict_sentence(replace(example_run, label=label))
    assert said.startswith(
        f"CLIP says motorbike without the attack and {names[label]} with it. RITA says motorbike, which is wrong"
    )
    assert kind == "dim"
    other = next(k for k in range(len(names)) if k not in (label, example_run.label))
    side = example_run.clean
    wrong = replace(side, verdicts=side.verdicts | {"clip": replace(side.verdicts["clip"], label=other)})
    said, kind = wording.verdict_sentence(replace(example_run, clean=wrong))
    assert (
        said
        == f"CLIP says {names[other]} without the attack and {names[label]} with it. RITA says motorbike, which is right."
    )
    assert kind == "good"


def answering(run: Run, side: str, **labels: int) -> Run:
    """The run with other answers of these methods on one side."""
    one = getattr(run, side)
    verdicts = {name: replace(verdict, label=labels.get(name, verdict.label)) for name, verdict in one.verdicts.items()}
    return replace(run, **{side: replace(one, verdicts=verdicts)})


def test_a_method_that_is_wrong_on_the_clean_picture_is_no_success_of_the_attack(failed_run: Run) -> None:
    run = answering(answering(failed_run, "clean", rita=2, ensemble=1), "attacked", rita=1, ensemble=1)
    said = "CLIP was fooled and says crab. RITA was wrong before the attack and is wrong now: it is motorbike."
    assert wording.verdict_sentence(run) == (said, "dim")
    session = Session()
    session.show(run)
    assert "RITA answers <b class='wrong'>crab ✗</b>, and <b class='wrong'>cup ✗</b> without an attack." in headline(
        session
    )
    knowing = replace(run, settings=run.settings.replace(attack="adaptive", **{"adaptive.against": "rita"}))
    assert knew(knowing) == ("The attacker knew RITA: RITA now says crab. It was wrong before the attack.")
    right = answering(run, "attacked", rita=0)
    assert "the average of crops, which was wrong before the attack, says crab." in wording.verdict_sentence(right)[0]


def test_a_failed_defence_is_stated_as_clearly(failed_run: Run) -> None:
    said = "The defence fails on this picture: RITA says crab, not motorbike."
    assert wording.verdict_sentence(failed_run) == (said, "bad")
    verdicts = failed_run.attacked.verdicts
    right = verdicts | {"ensemble": replace(verdicts["ensemble"], label=failed_run.label)}
    rescued = replace(failed_run, attacked=replace(failed_run.attacked, verdicts=right))
    why = "; RITA counts for each class only the 35 % of the crops that fit it best"
    assert wording.verdict_sentence(rescued)[0] == f"{said} The average of crops is right{why}."
    assert "Now crab is cheaper, by" in wording.explanation(failed_run)


def test_a_defend_only_run_claims_no_recovery(defend_only_run: Run) -> None:
    assert wording.verdict_sentence(defend_only_run)[1] == "dim"
    assert "not known which answer is right" in verdict_table.table(defend_only_run)


def test_an_attack_that_missed_its_target_is_reported_as_missed(example_run: Run) -> None:
    names, attack = example_run.class_prompts.names, example_run.attack
    assert attack is not None
    clip = example_run.attacked.verdicts["clip"].label
    other = next(k for k in range(len(names)) if k not in (clip, example_run.label))
    for aim, word in ((clip, "fooled"), (other, "wrong now, but not the target")):
        aimed = replace(example_run, attack=replace(attack, target=aim, fooled=aim == clip))
        printed = text_tables.run_table(aimed, "a picture")
        for text in (verdict_table.table(aimed), printed):
            assert ("but not the target" in text) == (aim == other)
            assert word in text
        assert f"and now {names[aim]}, the attack's target" in printed
        sentence, kind = wording.verdict_sentence(aimed)
        assert kind == "good"  # RITA is right both times
        assert ("CLIP was fooled" in sentence) == (aim == clip)
        for given in (True, False):
            sentence, _ = wording.verdict_sentence(replace(aimed, label_given=given))
            missed = f"CLIP now says {names[clip]}, but the attack was to make it say {names[aim]}."
            assert (missed in sentence) == (aim == other)


def test_a_term_without_an_explanation_raises_an_error() -> None:
    with pytest.raises(KeyError):
        wording.term_html("nonsense")


def test_without_a_label_the_page_does_not_state_a_true_class(
    example_run: Run, failed_run: Run, defend_only_run: Run
) -> None:
    unlabelled, gone = replace(example_run, label_given=False), replace(failed_run, label_given=False)
    ask = "Choose the true class to see who is right."
    changed = "CLIP said motorbike and now says crab"
    assert wording.verdict_sentence(unlabelled) == (f"{changed}; RITA still says motorbike. {ask}", "dim")
    assert wording.verdict_sentence(gone) == (f"{changed}; RITA said motorbike and now says crab. {ask}", "dim")
    for run in (unlabelled, gone):
        for text in (verdict_table.table(run), text_tables.run_table(run, "a picture")):
            assert "changed" in text
            assert not any(word in text for word in ("holds", "fooled", "answer wrong", "right means"))
    verdicts = defend_only_run.attacked.verdicts
    rival = verdicts | {"rita": replace(verdicts["rita"], label=1)}
    restored = replace(defend_only_run, attacked=replace(defend_only_run.attacked, verdicts=rival))
    assert wording.verdict_sentence(restored) == ("CLIP says motorbike. RITA says crab.", "dim")
    assert "on their own" in wording.explanation(restored)
    assert "answer wrong" not in verdict_table.table(replace(restored, clean=restored.attacked))
