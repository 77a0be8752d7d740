"""The Story's sentence in every case: what is claimed is what the run says."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rita_demo.attacks import ATTACKS
from rita_demo.data import vocabularies
from rita_demo.records import Run
from rita_demo.ui.story.sentences import claim, does, doubt, threat
from tests.toy_model import ToyEngine
from tests.ui.conftest import completed_run

CHANGE = "Change every pixel by at most 4 of 255, and CLIP"


def says(run: Run) -> str:
    return "".join(words for words, _ in claim(run))


def marked(run: Run) -> list[tuple[str, str]]:
    """The words of the sentence that have a colour."""
    return [part for part in claim(run) if part[1]]


def named(run: Run, *names: str) -> Run:
    """The run with other class names."""
    return replace(run, class_prompts=replace(run.class_prompts, names=names))


def answering(run: Run, side: str, label: int, method: str = "clip") -> Run:
    """The run with another answer of CLIP, or of another method, on one side."""
    one = getattr(run, side)
    verdicts = one.verdicts | {method: replace(one.verdicts[method], label=label)}
    return replace(run, **{side: replace(one, verdicts=verdicts)})


def aimed(run: Run, target: int) -> Run:
    assert run.attack is not None
    return replace(run, attack=replace(run.attack, target=target))


def asking(run: Run, **settings: Any) -> Run:
    return replace(run, settings=run.settings.replace(**settings))


def surer(run: Run) -> Run:
    """The run under an attack that CLIP withstands, with all of the probability at its answer."""
    clip = run.clean.verdicts["clip"]
    sure = replace(clip, probability=np.eye(len(clip.probability))[clip.label])
    return replace(run, attacked=replace(run.clean, verdicts=run.clean.verdicts | {"clip": sure}))


def held(run: Run) -> Run:
    """The run whose attack changed no answer."""
    return replace(run, attacked=run.clean)


TRUE, CRAB = "This is a motorbike. ", ("a crab", "attack")
BOTH_WRONG = " The average and RITA are wrong even without an attack."


@pytest.mark.parametrize(
    ("change", "said", "colours"),
    [
        (lambda run: run, f"{TRUE}{CHANGE} sees a crab.", [CRAB]),
        (lambda run: asking(run, budget=8), f"{TRUE}{CHANGE.replace('4', '8')} sees a crab.", [CRAB]),
        (lambda run: replace(run, label_given=False), f"CLIP says motorbike. {CHANGE} sees a crab.", [CRAB]),
        (lambda run: aimed(run, 1), f"{TRUE}{CHANGE} sees a crab, which the attacker chose.", [CRAB]),
        (lambda run: answering(aimed(run, 1), "attacked", 2), f"{TRUE}{CHANGE} sees a cup.", [("a cup", "attack")]),
        (held, f"{TRUE}{CHANGE} still says motorbike.", [("motorbike", "clean")]),
        (  # wrong from the start: not the attacker's doing
            lambda run: answering(replace(run, label=2), "attacked", 0),
            f"This is a cup. CLIP says motorbike from the start. {CHANGE} still says motorbike.{BOTH_WRONG}",
            [("motorbike", "attack")] * 2,
        ),
        (
            lambda run: answering(replace(run, label=1), "attacked", 1),
            f"This is a crab. CLIP says motorbike from the start. {CHANGE} sees a crab.{BOTH_WRONG}",
            [("motorbike", "attack"), ("a crab", "clean")],
        ),
        (
            lambda run: answering(run, "clean", 2, "rita"),
            f"{TRUE}{CHANGE} sees a crab. RITA is wrong even without an attack.",
            [CRAB],
        ),
        (
            lambda run: answering(replace(run, label_given=False), "clean", 2, "rita"),
            f"CLIP says motorbike. {CHANGE} sees a crab.",
            [CRAB],
        ),
        (  # an attack that makes CLIP surer is not told as one that failed
            lambda run: surer(asking(run, attack="reverse")),
            f"{TRUE}{CHANGE.replace(', and', ' towards the true class, and')} is even surer of a motorbike.",
            [("a motorbike", "clean")],
        ),
        (
            lambda run: held(asking(replace(run, label_given=False), attack="reverse")),
            f"CLIP says motorbike. {CHANGE.replace(', and', ' towards CLIP’s own answer, and')} still says motorbike.",
            [("motorbike", "clean")],
        ),
        (
            lambda run: held(asking(run, attack="noise")),
            f"{TRUE}Add random noise of at most 4 of 255, and CLIP still says motorbike.",
            [("motorbike", "clean")],
        ),
        (  # a word that the model does not know is said as it is written
            lambda run: named(run, "yxcv", "Pferd", "cup", "piano"),
            f"This is a yxcv. {CHANGE} sees Pferd.",
            [("Pferd", "attack")],
        ),
        (
            lambda run: named(run, *vocabularies.vocabulary("dtd").names),
            f"This texture is banded. {CHANGE} sees blotchy.",
            [("blotchy", "attack")],
        ),
    ],
)
def test_the_claim_says_what_the_run_says(
    example_run: Run, change: Callable[[Run], Run], said: str, colours: list[tuple[str, str]]
) -> None:
    run = change(example_run)
    assert says(run) == said
    assert marked(run) == colours


def test_without_an_attack_nothing_was_changed(engine: ToyEngine, defend_only_run: Run) -> None:
    assert says(defend_only_run) == "CLIP says motorbike. Nothing was changed yet."
    assert says(completed_run(engine, attack="none", views=8)) == f"{TRUE}Nothing was changed yet."


@pytest.mark.parametrize("attack", ["patch", "typographic", "cw_l2"])
def test_an_attack_that_limits_no_pixel_claims_no_limit(example_run: Run, attack: str) -> None:
    text, title = says(asking(example_run, attack=attack)), ATTACKS[attack].title
    assert f"{TRUE}Attacked with {title[0].lower()}{title[1:]}, CLIP " in text
    assert "of 255" not in text


def test_a_class_name_has_the_article_that_belongs_to_it(example_run: Run) -> None:
    table = "an anchor, an umbrella, a unicycle, a euphonium, a one-piece bathing suit, an hourglass, a horse, an ibis, an octopus"
    table += ", an albatross, scissors, Pferd, 3d printer, <b>cup</b>, "
    sentences = {re.sub("^an? ", "", said): said for said in table.split(", ")} | {"x" * 60: f"a {'x' * 29}…"}
    assert len(sentences) == 16
    for name, said in sentences.items():
        assert says(named(example_run, name, "crab", "cup", "piano")).startswith(f"This is {said}. ")


def test_every_name_of_every_list_makes_a_sentence(example_run: Run) -> None:
    for key in vocabularies.VOCABULARIES:
        for name in vocabularies.vocabulary(key).names:
            text = says(named(example_run, name, "crab", "cup", "piano"))
            assert text.count(".") == 2 + name.count("."), text
            assert "  " not in text


@pytest.mark.parametrize(
    ("name", "title"), [("rita", "RITA"), ("ensemble", "the average of the crops"), ("clip", "CLIP")]
)
def test_of_an_attacker_who_knew_a_defence_the_sentence_is_about_that_defence(
    example_run: Run, name: str, title: str
) -> None:
    known = asking(replace(example_run, label_given=False), attack="adaptive", **{"adaptive.against": name})
    for now, end in ((0, "still says motorbike."), (2, "sees a cup.")):
        said = says(answering(known, "attacked", now, name))
        assert said.startswith(f"{title[0].upper()}{title[1:]} says motorbike. ")
        assert said.endswith(f"and {title} {end}")


@pytest.mark.parametrize(
    ("attack", "said"),
    [
        ("pgd", "all the changes push one way."),
        ("noise", "in no special direction."),
        ("reverse", "push towards the true class."),
        ("patch", "the pixels of one patch by any amount"),
        ("typographic", "It writes a wrong word on the picture."),
    ],
)
def test_what_an_attack_does_is_said_of_that_attack(example_run: Run, attack: str, said: str) -> None:
    run = asking(example_run, attack=attack)
    assert said in does(run)
    assert ("gradient" in does(run)) == (attack in ("pgd", "patch"))
    assert attack != "reverse" or does(replace(run, label_given=False)).endswith("push towards CLIP’s own answer.")


def test_the_threat_names_attack_steps_knowledge_and_n(
    example_run: Run, engine: ToyEngine, defend_only_run: Run
) -> None:
    assert threat(example_run) == "Many steps (PGD), 7 steps; the attacker knows CLIP, not the crops. n = 1."
    assert threat(defend_only_run) == "Not attacked."
    knowing = completed_run(engine, attack="adaptive", views=8, **{"adaptive.steps": 2})
    assert threat(knowing).endswith("2 steps; the attacker knows the defence. n = 1.")
    one = completed_run(engine, attack="fgsm", views=8)
    assert "steps" not in threat(one)


def test_a_picture_that_no_name_fits_is_said_to_be_so(example_run: Run) -> None:
    assert not doubt(example_run)
    clip = example_run.clean.verdicts["clip"]
    unsure = replace(clip, probability=np.array([0.3, 0.25, 0.25, 0.2]))
    clean = replace(example_run.clean, verdicts=example_run.clean.verdicts | {"clip": unsure})
    assert doubt(replace(example_run, clean=clean)).startswith("None of the names fits this picture well")
