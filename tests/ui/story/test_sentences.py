"""The Story's sentence in every case: what is claimed is what the run says."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rita_demo.attacks import ATTACKS
from rita_demo.data import vocabularies
from rita_demo.data.samples import SAMPLES
from rita_demo.pipeline.run import run_picture
from rita_demo.records import ImageResult, Run
from rita_demo.settings import RECOMMENDED
from rita_demo.ui.story.sentences import claim, does, doubt, threat
from rita_demo.ui.widgets import wording
from tests.toy_model import ToyEngine
from tests.ui.conftest import NAMES, completed_run


def says(run: Run) -> str:
    return "".join(words for words, _ in claim(run))


def marked(run: Run) -> list[tuple[str, str]]:
    """The words of the sentence that have a colour."""
    return [part for part in claim(run) if part[1]]


def named(run: Run, *names: str) -> Run:
    """The run with other class names."""
    return replace(run, class_prompts=replace(run.class_prompts, names=names))


def answering(side: ImageResult, label: int) -> ImageResult:
    """The side with another answer of CLIP."""
    return replace(side, verdicts=side.verdicts | {"clip": replace(side.verdicts["clip"], label=label)})


def attacked_run(engine: ToyEngine, **asked: Any) -> Run:
    """A motorbike as it is run with these arguments."""
    settings = RECOMMENDED.replace(views=8)
    return run_picture(engine, SAMPLES["motorcycle"].load(), NAMES, settings, **asked)


def test_of_a_sample_the_true_class_the_change_and_what_clip_sees_are_said(example_run: Run) -> None:
    assert says(example_run) == "This is a motorbike. Change every pixel by at most 4 of 255, and CLIP sees a crab."
    assert marked(example_run) == [("a crab", "attack")]
    stronger = replace(example_run, settings=example_run.settings.replace(budget=8))
    assert "by at most 8 of 255" in says(stronger)


def test_without_a_true_class_only_what_clip_says_is_claimed(engine: ToyEngine) -> None:
    run = attacked_run(engine)
    assert not run.label_given
    assert says(run) == "CLIP says motorbike. Change every pixel by at most 4 of 255, and CLIP sees a crab."


def test_of_a_target_that_is_reached_it_is_said_that_the_attacker_chose_it(engine: ToyEngine) -> None:
    run = attacked_run(engine, label=0, target=1)
    assert says(run).endswith("and CLIP sees a crab, which the attacker chose.")
    elsewhere = replace(run, attacked=answering(run.attacked, 2))
    assert says(elsewhere).endswith("and CLIP sees a cup.")


def test_a_wrong_answer_from_the_start_is_not_the_attackers_doing(example_run: Run) -> None:
    wrong = replace(example_run, label=2)
    assert says(wrong).startswith("This is a cup. CLIP says motorbike from the start. Change every pixel")
    assert ("motorbike", "attack") in marked(wrong)
    unmoved = replace(wrong, attacked=answering(wrong.attacked, 0))
    assert says(unmoved).endswith(
        "and CLIP still says motorbike. The average and RITA are wrong even without an attack."
    )
    assert ("motorbike", "clean") not in marked(unmoved), "it is wrong"


def test_a_defence_that_is_wrong_before_the_attack_is_said_to_be_so(example_run: Run) -> None:
    clean = example_run.clean
    other = replace(clean.verdicts["rita"], label=2)
    run = replace(example_run, clean=replace(clean, verdicts=clean.verdicts | {"rita": other}))
    assert says(run).endswith("and CLIP sees a crab. RITA is wrong even without an attack.")
    assert "wrong" not in says(replace(run, label_given=False)), "without a true class nothing is"


def test_an_attack_that_makes_clip_surer_is_not_told_as_one_that_failed(example_run: Run, engine: ToyEngine) -> None:
    run = replace(completed_run(engine, attack="reverse", views=8), attacked=example_run.clean)
    assert says(run).endswith(
        "Change every pixel by at most 4 of 255 towards the true class, and CLIP still says motorbike."
    )
    assert wording.verdict_sentence(run)[0].startswith("The attack pushed CLIP towards the right answer: it still says")
    clip = run.clean.verdicts["clip"]
    sure = replace(clip, probability=np.eye(len(clip.probability))[clip.label])
    surer = replace(run, attacked=replace(run.clean, verdicts=run.clean.verdicts | {"clip": sure}))
    assert says(surer).endswith("towards the true class, and CLIP is even surer of a motorbike.")
    own = replace(run, label_given=False)
    assert "towards CLIP’s own answer, and CLIP still says" in says(own)
    assert does(own).endswith("push towards CLIP’s own answer.")
    right = replace(run, label=1, attacked=answering(run.attacked, 1))
    assert marked(right) == [("motorbike", "attack"), ("a crab", "clean")], "right after it, wrong before"


def test_where_the_attack_fails_it_is_said_that_clip_still_says_so(example_run: Run, engine: ToyEngine) -> None:
    held = replace(example_run, attacked=example_run.clean)
    assert says(held).endswith("Change every pixel by at most 4 of 255, and CLIP still says motorbike.")
    assert marked(held) == [("motorbike", "clean")]
    noise = completed_run(engine, attack="noise", views=8)
    assert says(noise) == "This is a motorbike. Add random noise of at most 4 of 255, and CLIP still says motorbike."


def test_without_an_attack_nothing_was_changed(engine: ToyEngine, defend_only_run: Run) -> None:
    assert says(defend_only_run) == "CLIP says motorbike. Nothing was changed yet."
    given = completed_run(engine, attack="none", views=8)
    assert says(given) == "This is a motorbike. Nothing was changed yet."


def test_an_attack_that_limits_no_pixel_claims_no_limit(engine: ToyEngine) -> None:
    for attack in ("patch", "typographic", "cw_l2"):
        text = says(completed_run(engine, attack=attack, views=8))
        title = ATTACKS[attack].title
        assert f"This is a motorbike. Attacked with {title[0].lower()}{title[1:]}, CLIP " in text
        assert "of 255" not in text


def test_a_texture_is_an_adjective_and_gets_no_article(example_run: Run) -> None:
    names = vocabularies.vocabulary("dtd").names
    textures = named(example_run, *names)
    text = says(textures)
    assert text.startswith(f"This texture is {names[0]}. ")
    assert text.endswith(f"and CLIP sees {names[1]}.")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("crab", "a crab"),
        ("anchor", "an anchor"),
        ("umbrella", "an umbrella"),
        ("unicycle", "a unicycle"),
        ("euphonium", "a euphonium"),
        ("one-piece bathing suit", "a one-piece bathing suit"),
        ("hourglass", "an hourglass"),
        ("horse", "a horse"),
        ("ibis", "an ibis"),
        ("octopus", "an octopus"),
        ("albatross", "an albatross"),
        ("scissors", "scissors"),
        ("Pferd", "Pferd"),
        ("3d printer", "3d printer"),
        ("<b>cup</b>", "<b>cup</b>"),
        ("x" * 60, f"a {'x' * 29}…"),
        ("", ""),
    ],
)
def test_a_class_name_has_the_article_that_belongs_to_it(example_run: Run, name: str, said: str) -> None:
    assert says(named(example_run, name, "crab", "cup", "piano")).startswith(f"This is {said}. ")


def test_a_word_that_the_model_does_not_know_is_said_as_it_is_written(example_run: Run) -> None:
    run = named(example_run, "yxcv", "Pferd", "cup", "piano")
    run = replace(run, class_prompts=replace(run.class_prompts, unknown=(("yxcv",), ("Pferd",), (), ())))
    assert says(run) == "This is a yxcv. Change every pixel by at most 4 of 255, and CLIP sees Pferd."
    assert "%" not in says(run)


def test_every_name_of_every_list_makes_a_sentence(example_run: Run) -> None:
    for key in vocabularies.VOCABULARIES:
        for name in vocabularies.vocabulary(key).names:
            text = says(named(example_run, name, "crab", "cup", "piano"))
            assert text.count(".") == 2 + name.count("."), text
            assert "  " not in text


def test_of_an_attacker_who_knew_a_defence_the_sentence_is_about_that_defence(engine: ToyEngine) -> None:
    for name, title in (("rita", "RITA"), ("ensemble", "the average of the crops"), ("clip", "CLIP")):
        asked: dict[str, Any] = {"adaptive.steps": 2, "adaptive.against": name}
        run = completed_run(engine, attack="adaptive", label=None, views=8, **asked)
        names, said = run.class_prompts.names, says(run)
        before, after = (names[side.verdicts[name].label] for side in (run.clean, run.attacked))
        assert said.startswith(f"{title[0].upper()}{title[1:]} says {before}.")
        assert said.endswith(f" {title} still says {before}." if after == before else f"{after}.")
        assert f" {title} {'still says' if after == before else 'sees'} " in said


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
    told = does(replace(example_run, settings=example_run.settings.replace(attack=attack)))
    assert said in told
    assert ("gradient" in told) == (attack in ("pgd", "patch"))


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
