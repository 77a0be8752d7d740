"""The Story's sentence in every case: what is claimed is what the run says."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rita_demo.records import Run
from rita_demo.ui.story.sentences import claim, threat
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
            lambda run: answering(run, "clean", 2, "rita"),
            f"{TRUE}{CHANGE} sees a crab. RITA is wrong even without an attack.",
            [CRAB],
        ),
        (  # an attack that makes CLIP surer is not told as one that failed
            lambda run: surer(asking(run, attack="reverse")),
            f"{TRUE}{CHANGE.replace(', and', ' towards the true class, and')} is even surer of a motorbike.",
            [("a motorbike", "clean")],
        ),
        (  # a word that the model does not know is said as it is written
            lambda run: named(run, "yxcv", "Pferd", "cup", "piano"),
            f"This is a yxcv. {CHANGE} sees Pferd.",
            [("Pferd", "attack")],
        ),
    ],
)
def test_the_claim_says_what_the_run_says(
    example_run: Run, change: Callable[[Run], Run], said: str, colours: list[tuple[str, str]]
) -> None:
    run = change(example_run)
    assert says(run) == said
    assert marked(run) == colours


def test_of_an_attacker_who_knew_a_defence_the_sentence_is_about_that_defence(example_run: Run) -> None:
    known = asking(replace(example_run, label_given=False), attack="adaptive", **{"adaptive.against": "rita"})
    for now, end in ((0, "still says motorbike."), (2, "sees a cup.")):
        said = says(answering(known, "attacked", now, "rita"))
        assert said.startswith("RITA says motorbike. ")
        assert said.endswith(f"and RITA {end}")


def test_the_threat_names_attack_steps_knowledge_and_n(
    example_run: Run, engine: ToyEngine, defend_only_run: Run
) -> None:
    assert threat(example_run) == "Many steps (PGD), 7 steps; the attacker knows CLIP, not the crops. n = 1."
    assert threat(defend_only_run) == "Not attacked."
    knowing = completed_run(engine, attack="adaptive", views=8, **{"adaptive.steps": 2})
    assert threat(knowing).endswith("2 steps; the attacker knows the defence. n = 1.")
    one = completed_run(engine, attack="fgsm", views=8)
    assert "steps" not in threat(one)
