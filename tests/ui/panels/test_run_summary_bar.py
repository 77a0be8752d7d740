"""The strip of the run: what every method answers, before → after."""

import re
from dataclasses import replace

from rita_demo.records import DefenceFault, Run
from rita_demo.ui.panels.run_summary_bar import clean_picture, summary_bar
from rita_demo.ui.session.session import Session


def lines(session: Session) -> list[str]:
    """The answers in words, a line for each method."""
    rows = re.findall("<tr.*?</tr>", summary_bar(session))
    return [" ".join(re.sub("<[^>]*>|&gt;", " ", row).split()) for row in rows]


def test_every_method_has_a_line_with_its_answer_before_and_after(session: Session, example_run: Run) -> None:
    names, clip = example_run.class_prompts.names, example_run.attacked.verdicts["clip"]
    assert [line.split()[0] for line in lines(session)] == ["CLIP", "average", "RITA"]
    assert re.fullmatch(rf"CLIP motorbike \d+ % → {names[clip.label]} \d+ % ✗ wrong", lines(session)[0])
    assert re.fullmatch(r"RITA \d+ % → motorbike \d+ % ✓ right", lines(session)[2]), "the same class is said once"
    assert "tabindex" not in summary_bar(session)
    assert clean_picture(session).count("<img") == summary_bar(session).count("<img") == 1
    session.show(replace(example_run, label_given=False))
    assert not re.search("[✓✗]", summary_bar(session)), "nobody knows who is right"


def test_without_an_attack_there_is_one_answer_and_one_picture(defend_only_run: Run) -> None:
    session = Session()
    assert "There is no run yet" in summary_bar(session)
    assert clean_picture(session) == ""
    session.show(defend_only_run)
    assert "→" not in summary_bar(session)
    assert "<img" not in summary_bar(session)


def test_many_methods_are_scrolled_to_and_one_without_an_answer_says_so(session: Session, example_run: Run) -> None:
    fault = {"mta": DefenceFault("mine.py, line 3: ZeroDivisionError")}
    session.show(replace(example_run, attacked=replace(example_run.attacked, faults=fault)))
    assert lines(session)[3] == "MTA No answer. mine.py, line 3: ZeroDivisionError"
    assert "tabindex='0'" in summary_bar(session)
