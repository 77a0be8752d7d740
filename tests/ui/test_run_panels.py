"""What the page and the terminal say of a run: every method's answer, who is right, unknown words, costs, times."""

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from rita_demo.cli.text_tables import run_table
from rita_demo.data.samples import SAMPLES
from rita_demo.data.vocabularies import format_names
from rita_demo.figures.analysis.crop_field import view_labels
from rita_demo.pipeline.run import run_picture
from rita_demo.process import environment
from rita_demo.records import DefenceFault, Run
from rita_demo.settings import RECOMMENDED
from rita_demo.ui import run_panels
from rita_demo.ui.framework.form import names_note
from rita_demo.ui.inside import details, headline
from rita_demo.ui.inside.cache_used import class_cards
from rita_demo.ui.run_panels import clean_picture, summary_bar
from rita_demo.ui.session.run_request import OWN_CLASSES
from rita_demo.ui.session.session import Session
from rita_demo.ui.story.sentences import knew, threat
from rita_demo.ui.widgets import wording
from rita_demo.vlm.words import word_list
from tests.toy_model import ToyEngine
from tests.ui.conftest import shown


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


def test_the_table_says_who_is_right(example_run: Run, defend_only_run: Run) -> None:
    table = run_panels.verdict_table(example_run)
    for text in ("CLIP", "average of crops", "RITA", "fooled", "holds", "Right means the true class"):
        assert text in table
    assert "not known which answer is right" in run_panels.verdict_table(defend_only_run)


def test_an_empty_memory_says_what_stands_in_its_place_and_how_much_that_counts(example_run: Run) -> None:
    def said(**changes: Any) -> str:
        session = shown(replace(example_run, settings=example_run.settings.replace(**changes)))
        session.select(k=0)
        return class_cards(session)

    stands = "Where it holds nothing of a class, the mean of the class’s sentences stands in its place and makes {}."
    assert stands.format("9 % of the price (0.1 of 1.1)") in said(cache_weight=0.1)
    assert stands.format("50 % of the price (1 of 2)") in said(cache_weight=1.0)
    assert "it adds nothing to the price." in said(empty_class="zero")


def answering(run: Run, side: str, **labels: int) -> Run:
    """The run with other answers of these methods on one side."""
    one = getattr(run, side)
    verdicts = {name: replace(verdict, label=labels.get(name, verdict.label)) for name, verdict in one.verdicts.items()}
    return replace(run, **{side: replace(one, verdicts=verdicts)})


def test_a_method_that_is_wrong_on_the_clean_picture_is_no_success_of_the_attack(failed_run: Run) -> None:
    run = answering(answering(failed_run, "clean", rita=2, ensemble=1), "attacked", rita=1, ensemble=1)
    session = shown(run)
    said = "RITA answers <b class='wrong'>crab ✗</b>, and <b class='wrong'>cup ✗</b> without an attack."
    assert said in headline.headline(session)
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
        printed = run_table(aimed, "a picture")
        for text in (run_panels.verdict_table(aimed), printed):
            assert ("but not the target" in text) == (aim == other)
            assert word in text
        assert f"and now {names[aim]}, the attack's target" in printed


def test_without_a_label_the_page_does_not_state_a_true_class(example_run: Run, failed_run: Run) -> None:
    for run in (replace(example_run, label_given=False), replace(failed_run, label_given=False)):
        for text in (run_panels.verdict_table(run), run_table(run, "a picture")):
            assert "changed" in text
            assert not any(word in text for word in ("holds", "fooled", "answer wrong", "right means"))


def test_a_graphics_card_that_torch_cannot_use_is_said_on_the_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, example_run: Run
) -> None:
    def said(works: bool | None, chosen: str = "", device: str = "cpu") -> bool:
        monkeypatch.setenv("RITA_DEVICE", chosen)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: works)
        run = replace(example_run, backbone=replace(example_run.backbone, device=device))
        return "torch cannot use this machine&#39;s graphics card" in run_panels.times(run)

    monkeypatch.setattr(environment, "GRAPHICS_CARDS", tmp_path)
    assert not said(False), "there is none"
    (tmp_path / "card0").mkdir()
    assert said(False)
    assert not said(False, chosen="cpu")
    assert not said(True, device="cuda")
    assert not said(True), "a run from another machine, as the stored example"
    monkeypatch.delitem(sys.modules, "torch")
    assert not said(None), "the same before torch is loaded"


LONG = "ꙮ" * 25 + " "  # 75 tokens
SEEN = frozenset(word_list(["motorbike", "crab", "cup", "piano", LONG, "first second"]))


def run_of(*names: str) -> Run:
    engine = ToyEngine(spread=0.2, wrong=names[1], seen_words=SEEN)
    return run_picture(engine, SAMPLES["motorcycle"].load(), names, RECOMMENDED, label=0)


def verdicts_of(run: Run) -> dict[str, str]:
    """What the page and the terminal say about the answers, by the place where they say it."""
    session = shown(run)
    session.select(view=3)
    return {
        "table": re.sub("<span class=.tip.*?</span>", "", run_panels.verdict_table(run)),
        "headline": headline.headline(session) + headline.notes(session),
        "strip": summary_bar(session),
        "answers of a view": re.sub("What it counts.*", "", re.sub("style='[^']*'", "", details.crop_details(session))),
        "terminal": run_table(run, "A picture"),
        "Story": threat(run),
    }


def test_no_answer_has_a_percentage_and_the_unknown_word_stands_in_its_place() -> None:
    known, unknown = (verdicts_of(run_of("motorbike", rival, "cup", "piano")) for rival in ("crab", "Pferd"))
    for place, text in unknown.items():
        assert "%" not in text, place
        assert not re.search(r"\d points", text), place
    assert all("%" in known[place] for place in known if place not in ("headline", "Story"))
    for place in ("table", "strip"):
        assert "(unknown word)" in unknown[place], place
        assert "unknown" not in known[place], place
    for place in ("headline", "terminal", "Story"):
        assert "Pferd" in unknown[place]
        assert "not trained with" in unknown[place], place
        assert "not trained with" not in known[place], place


def test_names_that_are_cut_to_the_same_prompt_are_said_to_be_where_they_are_typed_and_in_the_room() -> None:
    names = ("motorbike", f"{LONG}first", f"{LONG}second", "cup")
    sentence = "are cut at 77 tokens, and their prompts are the same"
    session = shown(run_of(*names))
    assert sentence in headline.notes(session)
    assert sentence in names_note(ToyEngine(seen_words=SEEN), OWN_CLASSES, format_names(names))
    session.show(run_of("motorbike", "crab"))
    assert headline.notes(session) == ""


def test_an_unknown_word_is_marked_where_it_is_typed() -> None:
    engine = ToyEngine(seen_words=SEEN)
    assert "the word “Pferd”" in names_note(engine, OWN_CLASSES, "cup, Pferd, crab")
    for listed in ((OWN_CLASSES, "cup, crab"), (OWN_CLASSES, "Pferd"), ("caltech101", "cup, Pferd")):
        assert names_note(engine, *listed) == ""
