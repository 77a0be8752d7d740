"""A list with a word that the model was not trained with: the word is marked, and no answer has a percentage."""

import re

import pytest

from rita_demo.cli.text_tables import run_table
from rita_demo.data.samples import SAMPLES
from rita_demo.data.vocabularies import format_names
from rita_demo.pipeline.run import run_picture
from rita_demo.records import Run
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.framework.form import names_note
from rita_demo.ui.header.standalone_page import standalone
from rita_demo.ui.inside import details, headline
from rita_demo.ui.panels import run_summary_bar, verdict_table
from rita_demo.ui.session.run_request import OWN_CLASSES
from rita_demo.ui.session.session import Session
from rita_demo.vlm.words import word_list
from tests.toy_model import ToyEngine

LONG = "ꙮ" * 25 + " "  # 75 tokens
SEEN = frozenset(word_list(["motorbike", "crab", "cup", "piano", LONG, "first second"]))


def run_of(*names: str) -> Run:
    engine = ToyEngine(spread=0.2, wrong=names[1], seen_words=SEEN)
    return run_picture(engine, SAMPLES["motorcycle"].load(), names, RECOMMENDED, label=0)


def verdicts_of(run: Run) -> dict[str, str]:
    """What the page and the terminal say about the answers, by the place where they say it."""
    session = Session()
    session.show(run)
    session.select(view=3)
    return {
        "table": re.sub("<span class=.tip.*?</span>", "", verdict_table.table(run)),
        "headline": headline.headline(session) + headline.notes(session),
        "strip": run_summary_bar.summary_bar(session),
        "answers of a view": re.sub("What it counts.*", "", re.sub("style='[^']*'", "", details.crop_details(session))),
        "terminal": run_table(run, "A picture"),
    }


def test_no_answer_has_a_percentage_and_the_unknown_word_stands_in_its_place() -> None:
    known, unknown = (verdicts_of(run_of("motorbike", rival, "cup", "piano")) for rival in ("crab", "Pferd"))
    for place, text in unknown.items():
        assert "%" not in text, place
        assert not re.search(r"\d points", text), place
    assert all("%" in known[place] for place in known if place != "headline")
    for place in ("table", "strip"):
        assert "(unknown word)" in unknown[place], place
        assert "unknown" not in known[place], place
    for place in ("headline", "terminal"):
        assert "Pferd" in unknown[place]
        assert "not trained with" in unknown[place], place
        assert "not trained with" not in known[place], place


def test_names_that_are_cut_to_the_same_prompt_are_said_to_be_where_they_are_typed_and_in_the_room() -> None:
    names = ("motorbike", f"{LONG}first", f"{LONG}second", "cup")
    sentence = "are cut at 77 tokens, and their prompts are the same"
    session = Session()
    session.show(run_of(*names))
    assert sentence in headline.notes(session)
    assert sentence in names_note(ToyEngine(seen_words=SEEN), OWN_CLASSES, format_names(names))
    session.show(run_of("motorbike", "crab"))
    assert headline.notes(session) == ""


def test_the_saved_page_says_it_as_well() -> None:
    run = run_of("motorbike", "Pferd", "cup", "piano")
    views = ToyEngine().view_pixels(run.attacked.picture, run.settings)
    page = standalone(run, {"attacked": views, "clean": views})
    assert "This model was not trained with the word “Pferd”: it can only guess about a name that has it." in page
    assert "(unknown word)" in page


@pytest.mark.parametrize(
    ("vocabulary", "typed", "said"),
    [
        (OWN_CLASSES, "cup, Pferd, crab", "the word “Pferd”"),
        (OWN_CLASSES, "cup, crab", ""),
        (OWN_CLASSES, "Pferd", ""),
        ("caltech101", "cup, Pferd", ""),
    ],
)
def test_an_unknown_word_is_marked_where_it_is_typed(vocabulary: str, typed: str, said: str) -> None:
    note = names_note(ToyEngine(seen_words=SEEN), vocabulary, typed)
    assert (said in note) if said else note == ""
