"""The engine and the story it tells, on the embedded model and a real photograph."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

from rita_demo.data.pictures import picture_of
from rita_demo.data.samples import SAMPLES
from rita_demo.engine import Engine
from rita_demo.errors import SettingError
from rita_demo.exports import to_arrays, to_json
from rita_demo.methods import ALWAYS, METHODS
from rita_demo.records import Picture, Story, Verdict
from rita_demo.retelling import draws, rescore
from rita_demo.settings import PAPER, RECOMMENDED, Settings
from rita_demo.story import OUTCOMES, outcome, tell, telling
from tests.oracles.transport import cost_matrix, solve

NAMES = ("cup", "crab", "cat", "dog", "face", "rocket")
QUICK = RECOMMENDED.but(views=16, steps=3, square="model")


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine()


@pytest.fixture(scope="module")
def coffee(engine: Engine) -> Picture:
    return SAMPLES["coffee"].load(square="model", side=engine.info.side)


@pytest.fixture(scope="module")
def story(engine: Engine, coffee: Picture) -> Story:
    return tell(engine, coffee, NAMES, QUICK, label=0)


def test_both_visitors_are_decided_from_the_same_memory_and_one_is_committed(story: Story) -> None:
    assert story.clean.trace.cache.pictures == story.attacked.trace.cache.pictures == 0
    assert story.cache_before.pictures == 0
    assert story.cache_after.pictures == 1


def test_trying_again_on_the_same_picture_commits_nothing_twice(
    engine: Engine, coffee: Picture, story: Story
) -> None:
    again = tell(engine, coffee, NAMES, QUICK.but(budget=8), label=0, previous=story)
    assert again.cache_after.pictures == 1
    other = Picture(coffee.pixels[::-1].copy(), "upside down")
    assert tell(engine, other, NAMES, QUICK, previous=again).cache_after.pictures == 2


def test_a_memory_of_another_vocabulary_is_not_used(
    engine: Engine, coffee: Picture, story: Story
) -> None:
    other = tell(engine, coffee, ("dotted", "banded"), QUICK, cache=story.cache_after)
    assert other.cache_before.pictures == 0
    assert other.cache_before.features.shape[0] == 2


def test_the_attack_stays_within_its_budget_and_both_sides_differ(story: Story) -> None:
    assert story.attack is not None
    moved = np.abs(story.attacked.picture.pixels.astype(int) - story.clean.picture.pixels)
    assert 0 < moved.max() <= QUICK.budget
    assert story.attack.linf == moved.max()


def test_defend_only_leaves_the_picture_alone(engine: Engine, coffee: Picture) -> None:
    story = tell(engine, coffee, NAMES, QUICK.but(attack="none"))
    assert story.attack is None
    assert story.attacked is story.clean
    assert story.cache_after.pictures == 1
    assert "No attack" in story.threat.sentences[0]


def test_without_a_true_class_clip_s_own_answer_counts_as_right(
    engine: Engine, coffee: Picture
) -> None:
    story = tell(engine, coffee, NAMES, QUICK)
    assert not story.label_given
    assert story.label == story.clean.verdicts["clip"].label


def test_the_attack_sees_what_clip_answers_on_view_zero(story: Story) -> None:
    assert story.attack is not None
    np.testing.assert_allclose(
        story.attack.probability[-1], story.attacked.verdicts["clip"].probability, atol=2e-2
    )


@pytest.mark.parametrize("settings", [QUICK, PAPER.but(views=16, steps=3, budget=4)])
def test_the_json_keeps_the_contract(engine: Engine, coffee: Picture, settings) -> None:
    exported = to_json(tell(engine, coffee, NAMES, settings, label=0))
    assert exported["classes"] == list(NAMES)
    assert set(exported) >= {"settings", "threat_model", "device", "timings", "clean", "attacked"}
    assert {"linf", "l2", "fooled"} <= set(exported["attacked"])
    for side in ("clean", "attacked"):
        methods = exported[side]["methods"]
        assert tuple(methods) == ALWAYS
        assert all({"label", "probability", "margin"} <= set(m) for m in methods.values())
        rita = {k: np.array(v) for k, v in methods["rita"].items() if isinstance(v, list)}
        weight = exported["settings"]["cache_weight"]
        np.testing.assert_allclose(
            rita["total"], rita["prompt_distance"] + weight * rita["cache_distance"], atol=1e-6
        )


def test_numpy_recomputes_the_decision_from_the_arrays_alone(story: Story) -> None:
    arrays, s = to_arrays(story), story.settings
    cost = 1 - np.einsum("nd,kmd->knm", arrays["view_features"], arrays["prompt_features"])
    rows = arrays["prompt_plan"].sum(2)
    assert (rows <= arrays["view_weight"] + 1e-5).all()
    np.testing.assert_allclose(rows.sum(1), s.transported_mass, atol=1e-5)
    columns = arrays["prompt_plan"].sum(1) / s.transported_mass
    np.testing.assert_allclose(columns, arrays["prompt_weight"], atol=1e-5)
    distance = (arrays["prompt_plan"] * cost).sum((1, 2)) / s.transported_mass
    np.testing.assert_allclose(distance, arrays["prompt_distance"], atol=1e-5)
    total = distance + s.cache_weight * arrays["cache_distance"]
    assert total.argmin() == story.attacked.verdicts["rita"].label


@pytest.mark.slow
@pytest.mark.parametrize("settings", [QUICK, PAPER.but(views=16, steps=3)])
def test_numpy_recomputes_both_transports_once_the_memory_is_filled(
    engine: Engine, coffee: Picture, settings: Settings
) -> None:
    settings = settings.but(views_per_image=0, max_entropy=1.5, cache_weight=1.0)
    first = tell(engine, coffee, NAMES, settings)
    other = picture_of(coffee.pixels[::-1])
    second = tell(engine, other, NAMES, settings, previous=first)
    arrays, s = to_arrays(second), second.settings
    x, a = (arrays[name].astype(float) for name in ("view_features", "view_weight"))
    total = []
    for k, count in enumerate(arrays["cache_count"]):
        clouds = [(arrays["prompt_features"][k], arrays["prompt_weight"][k].astype(float), 1.0)]
        if count:
            atoms = arrays["cache_aligned"][k, :count]
            clouds.append((atoms, np.full(count, 1 / count), s.cache_weight))
        elif s.empty_class == "text_mean":
            clouds.append((arrays["text_mean"][k : k + 1], np.ones(1), s.cache_weight))
        total.append(
            sum(
                share * solve(cost_matrix(x, z), a, b, s.entropy_weight, s.transported_mass).value
                for z, b, share in clouds
            )
        )
    assert (arrays["cache_count"] > 0).any()
    np.testing.assert_allclose(total, second.attacked.trace.total, atol=1e-5)


@pytest.mark.parametrize("roundtrip", ["round", "truncate"])
def test_the_printed_strength_holds_for_what_was_delivered(
    engine: Engine, coffee: Picture, roundtrip: str
) -> None:
    settings = QUICK.but(views=1, attack="pgd", steps=7, adversarial_roundtrip=roundtrip)
    told = tell(engine, coffee, NAMES, settings)
    assert told.attack is not None
    said = "may add one more" in " ".join(told.threat.sentences)
    assert said == (roundtrip == "truncate")
    assert told.attack.linf <= settings.budget + said


def test_a_draw_with_the_story_s_seed_repeats_the_story(engine: Engine, story: Story) -> None:
    first, second = list(draws(engine, story, 2))
    want = story.attacked.verdicts["rita"].probability
    np.testing.assert_array_equal(first.verdicts["rita"].probability, want)
    assert not np.array_equal(second.verdicts["rita"].probability, want)


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
def test_an_outcome_is_a_word(clean: int, attacked: int, word: str) -> None:
    before, after = (Verdict(k, np.ones(3) / 3, 0.0, "probability") for k in (clean, attacked))
    assert outcome(before, after, 0) == word
    assert word in OUTCOMES


@pytest.mark.parametrize(
    ("clean", "attacked", "word"),
    [
        (0, 0, "holds"),
        (0, 2, "fooled"),
        (0, 1, "wrong now, but not the target"),
        (1, 1, "was already wrong"),
        (2, 2, "was already wrong"),
        (1, 2, "was already wrong, now the target"),
        (2, 1, "was already wrong, now another"),
        (1, 0, "was wrong, now right"),
    ],
)
def test_with_a_target_only_the_target_is_fooled(clean: int, attacked: int, word: str) -> None:
    before, after = (Verdict(k, np.ones(3) / 3, 0.0, "probability") for k in (clean, attacked))
    assert outcome(before, after, 0, 2) == word
    assert word in OUTCOMES
    fooled = clean == 0 and attacked == 2  # as AttackTrace says it of CLIP
    assert (word == "fooled") == fooled


@pytest.mark.parametrize(("label", "target"), [(6, None), (-1, None), (0, 9), (0, 0)])
def test_a_class_outside_the_vocabulary_is_a_sentence(
    engine: Engine, coffee: Picture, label: int, target: int | None
) -> None:
    with pytest.raises(SettingError):
        tell(engine, coffee, NAMES, QUICK, label=label, target=target)


def test_a_targeted_attack_lowers_its_own_loss(engine: Engine, coffee: Picture) -> None:
    story = tell(engine, coffee, NAMES, QUICK.but(steps=7), label=0, target=3)
    assert story.attack is not None
    assert story.attack.probability[-1, 3] > story.attack.probability[0, 3]
    assert "dog" in story.threat.goal


def test_a_picture_is_encoded_once(engine: Engine, coffee: Picture) -> None:
    assert engine.look(coffee, QUICK) is engine.look(coffee, QUICK.but(entropy_weight=1.0))


@pytest.mark.slow
def test_every_method_answers_from_one_encoding_and_ablations_are_parts_of_rita(
    engine: Engine, coffee: Picture, story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine._backbone, "encode_views", None)  # the views are known by now
    told = tell(engine, coffee, NAMES, QUICK, label=0, methods=tuple(METHODS))
    for side in (told.clean, told.attacked):
        assert tuple(side.verdicts) == tuple(METHODS)
        trace, said = side.trace, side.verdicts
        for name in ALWAYS:
            np.testing.assert_array_equal(
                said[name].probability,
                getattr(story, _side_of(told, side)).verdicts[name].probability,
            )
        prompts, memory = np.sort(trace.prompt.distance)[:2], np.sort(trace.cache_distance)[:2]
        assert said["rita_prompts"].label == trace.prompt.distance.argmin()
        assert np.isclose(said["rita_prompts"].margin, prompts[1] - prompts[0], atol=1e-6)
        assert said["rita_memory"].label == trace.cache_distance.argmin()
        assert np.isclose(said["rita_memory"].margin, memory[1] - memory[0], atol=1e-6)
        untuned, _ = engine.decide(side.glance, told.bank, None, QUICK.but(tuning_steps=0))
        assert np.isclose(said["rita_untuned"].margin, untuned.verdict.margin)
        # the memory was empty before: kept or emptied is the same
        assert np.isclose(said["rita_reset"].margin, said["rita"].margin, atol=1e-6)
    changed = rescore(engine, told, QUICK.but(protocol="off", entropy_weight=0.1))
    assert "rita_memory" not in changed.clean.verdicts  # there is no memory any more
    now = changed.attacked.verdicts
    assert np.isclose(now["rita_prompts"].margin, now["rita"].margin)
    assert not np.isclose(now["rita_prompts"].margin, told.attacked.verdicts["rita_prompts"].margin)


def _side_of(story: Story, side) -> str:
    return "clean" if side is story.clean else "attacked"


def test_descriptions_of_unequal_number_are_prompts_and_padding_moves_nothing(
    engine: Engine, coffee: Picture, tmp_path: Path
) -> None:
    path = tmp_path / "mine.json"
    path.write_text('{"cup": ["a mug with a handle", "tea on a saucer"], "crab": ["claws"]}')
    settings = QUICK.but(descriptions=str(path), attack="none")
    story = tell(engine, coffee, ("cup", "crab"), settings)
    arrays = to_arrays(story)
    assert arrays["prompt_features"].shape[:2] == (2, 4 + 2)
    np.testing.assert_allclose(arrays["prompt_weight"][1], [0.2] * 5 + [0])
    moved = arrays["prompt_plan"].sum((1, 2))
    np.testing.assert_allclose(moved, settings.transported_mass, atol=1e-5)
    assert not arrays["prompt_plan"][1, :, 5].any()
    for k in range(2):
        atoms = arrays["prompt_weight"][k] > 0
        cost = cost_matrix(arrays["view_features"], arrays["prompt_features"][k, atoms])
        weight = arrays["prompt_weight"][k, atoms]
        slow = solve(cost.astype(float), arrays["view_weight"].astype(float), weight.astype(float),
            settings.entropy_weight, settings.transported_mass, settings.objective)  # fmt: skip
        assert np.isclose(arrays["prompt_distance"][k], slow.value, atol=1e-4)


def test_an_abandoned_attack_blocks_nobody(engine: Engine, coffee: Picture) -> None:
    steps = telling(engine, coffee, NAMES, QUICK.but(attack_seed=5), label=0)
    next(steps), next(steps)  # the visitor leaves in the middle of the attack
    finished = threading.Event()

    def another_visitor() -> None:
        tell(engine, coffee, NAMES, QUICK.but(attack_seed=6), label=0)
        finished.set()

    threading.Thread(target=another_visitor, daemon=True).start()
    assert finished.wait(60)


def test_two_visitors_at_once_get_their_own_vocabulary(engine: Engine, coffee: Picture) -> None:
    wanted = [("cup", "cat"), ("crab", "dog", "face"), ("rocket", "cup", "chair", "tree")]
    got: dict[int, Story] = {}

    def visit(number: int) -> None:
        got[number] = tell(engine, coffee, wanted[number], QUICK)

    threads = [threading.Thread(target=visit, args=(i,)) for i in range(3)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert [got[i].bank.names for i in range(3)] == wanted
    for i, names in enumerate(wanted):
        assert got[i].attacked.verdicts["rita"].probability.shape == (len(names),)


def test_features_of_another_model_are_refused_even_where_they_would_fit(
    tiny_model_dir: Path, tmp_path: Path, coffee: Picture
) -> None:
    """A visitor may choose another model while a picture of the first is on screen."""
    shutil.copytree(tiny_model_dir, tmp_path / "other")
    first, other = (Engine(f"local-dir:{d}", "cpu") for d in (tiny_model_dir, tmp_path / "other"))
    told = tell(first, coffee, ("cat", "dog"), QUICK.but(attack="none", views=4))
    assert rescore(first, told, told.settings.but(cache_weight=1.0)).settings.cache_weight == 1.0
    for ask in (
        lambda: rescore(other, told, told.settings.but(cache_weight=1.0)),
        lambda: rescore(other, told, told.settings.but(tuning_steps=2)),
        lambda: next(draws(other, told)),
        lambda: other.compare(told.clean.glance, told.bank, told.settings),
    ):
        with pytest.raises(SettingError, match="Another model was chosen"):
            ask()


def test_the_crossing_has_one_place() -> None:
    """The method and the attacks stay in torch: their records become numpy in crossing.py."""
    package = Path(__file__).resolve().parents[1] / "rita_demo"
    below = [p for d in ("method", "attacks") for p in (package / d).rglob("*.py")]
    offenders = [p.name for p in below if ".numpy()" in p.read_text()]
    assert not offenders
