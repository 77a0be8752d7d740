from dataclasses import replace

import pytest

from rita_demo.cli import text_tables
from rita_demo.figures.analysis.crop_field import view_labels
from rita_demo.records import Run
from rita_demo.ui.inside.cache_used import class_cards
from rita_demo.ui.inside.headline import headline
from rita_demo.ui.panels import verdict_table
from rita_demo.ui.session.session import Session
from rita_demo.ui.story.sentences import knew
from rita_demo.ui.widgets import wording


def test_the_table_says_who_is_right(example_run: Run, defend_only_run: Run) -> None:
    table = verdict_table.table(example_run)
    for text in ("CLIP", "average of crops", "RITA", "fooled", "holds", "Right means the true class"):
        assert text in table
    assert "not known which answer is right" in verdict_table.table(defend_only_run)


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


def answering(run: Run, side: str, **labels: int) -> Run:
    """The run with other answers of these methods on one side."""
    one = getattr(run, side)
    verdicts = {name: replace(verdict, label=labels.get(name, verdict.label)) for name, verdict in one.verdicts.items()}
    return replace(run, **{side: replace(one, verdicts=verdicts)})


def test_a_method_that_is_wrong_on_the_clean_picture_is_no_success_of_the_attack(failed_run: Run) -> None:
    run = answering(answering(failed_run, "clean", rita=2, ensemble=1), "attacked", rita=1, ensemble=1)
    session = Session()
    session.show(run)
    said = "RITA answers <b class='wrong'>crab ✗</b>, and <b class='wrong'>cup ✗</b> without an attack."
    assert said in headline(session)
    knowing = replace(run, settings=run.settings.replace(attack="adaptive", **{"adaptive.against": "rita"}))
    assert knew(knowing) == ("The attacker knew RITA: RITA now says crab. It was wrong before the attack.")


def test_the_numbers_behind_the_answer_are_costs_or_votes(failed_run: Run, defend_only_run: Run) -> None:
    total, before = failed_run.attacked.trace.total, failed_run.clean.trace.total
    said = wording.explanation(failed_run)
    assert said.endswith(f"Now crab is cheaper, by {total[0] - total[1]:.4f}.")
    assert f"crab {before[1] - total[1]:.4f} cheaper" in said
    votes = view_labels(defend_only_run.attacked).tolist()
    told = answering(defend_only_run, "attacked", rita=1)
    counts = f"{votes.count(0)} of 64 crops say motorbike on their own, {votes.count(1)} say crab."
    assert wording.explanation(told).startswith(counts)


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


def test_a_term_without_an_explanation_raises_an_error() -> None:
    with pytest.raises(KeyError):
        wording.term_html("nonsense")


def test_without_a_label_the_page_does_not_state_a_true_class(example_run: Run, failed_run: Run) -> None:
    for run in (replace(example_run, label_given=False), replace(failed_run, label_given=False)):
        for text in (verdict_table.table(run), text_tables.run_table(run, "a picture")):
            assert "changed" in text
            assert not any(word in text for word in ("holds", "fooled", "answer wrong", "right means"))
