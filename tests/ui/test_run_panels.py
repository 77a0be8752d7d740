"""What the page and the terminal say of a run: who is right, and unknown words."""

import re
from dataclasses import replace

from rita_demo.cli.text_tables import run_table
from rita_demo.data.samples import SAMPLES
from rita_demo.pipeline.run import run_picture
from rita_demo.records import Run
from rita_demo.settings import RECOMMENDED
from rita_demo.ui import run_panels
from rita_demo.ui.inside import details, headline
from rita_demo.ui.run_panels import summary_bar
from rita_demo.ui.story.sentences import knew, threat
from rita_demo.vlm.words import word_list
from tests.toy_model import ToyEngine
from tests.ui.conftest import shown


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


SEEN = frozenset(word_list(["motorbike", "crab", "cup", "piano"]))


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
