"""The contract that every attack keeps, as one table: each row is an attack, each test a promise."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from rita_demo.attacks import ATTACKS, Progress, ascend, attack, attack_row
from rita_demo.errors import SettingError
from rita_demo.records import AttackTrace
from rita_demo.settings import KNOBS

CLASSES, SIDE = 5, 12
ROWS = sorted(ATTACKS)
GRADIENT = [name for name in ROWS if ATTACKS[name].uses_gradient]


class Tiny(nn.Module):
    """A differentiable model with curvature: (B, 3, H, W) -> (B, 5)."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(7)
        self.first = nn.Linear(3 * SIDE * SIDE, 16)
        self.second = nn.Linear(16, CLASSES)

    def forward(self, pixels: Tensor) -> Tensor:
        return 20.0 * self.second(torch.tanh(self.first(pixels.flatten(1) - 0.5)))


@pytest.fixture(scope="module")
def model() -> Tiny:
    return Tiny().eval()


def picture(seed: int = 0) -> Tensor:
    """(3, H, W) float on the 8-bit grid, black and white pixels included."""
    levels = torch.randint(0, 256, (3, SIDE, SIDE), generator=torch.Generator().manual_seed(seed))
    levels[:, 0], levels[:, 1] = 0, 255
    return levels.float() / 255


def run(model: nn.Module, name: str, **changes: object) -> tuple[list[Progress], AttackTrace]:
    settings = {"budget": 4, "steps": 5, "seed": 3, "label": None} | changes
    label = settings.pop("label")
    pixels = settings.pop("pixels", picture())
    loop = attack(model, pixels, label, name=name, **settings)  # type: ignore[arg-type]
    progress = []
    while True:
        try:
            progress.append(next(loop))
        except StopIteration as end:
            return progress, end.value


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("budget", [0, 1, 4, 16])
def test_the_result_stays_in_the_ball_and_is_eight_bit(model: Tiny, name: str, budget: int) -> None:
    _, trace = run(model, name, budget=budget)
    clean = (picture() * 255).round()
    moved = trace.pixels.permute(2, 0, 1).float() - clean
    assert trace.pixels.dtype == torch.uint8
    assert moved.abs().max() <= budget
    assert trace.linf == moved.abs().max()
    assert trace.l2 == pytest.approx(float((moved / 255).norm()), rel=1e-6)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("roundtrip", ["round", "truncate"])
def test_budget_zero_is_the_identity(model: Tiny, name: str, roundtrip: str) -> None:
    _, trace = run(model, name, budget=0, roundtrip=roundtrip)
    assert torch.equal(trace.pixels.permute(2, 0, 1).float(), (picture() * 255).round())
    assert trace.linf == trace.l2 == 0
    assert not trace.fooled


@pytest.mark.parametrize("name", ROWS)
def test_the_same_seed_gives_the_same_pixels(model: Tiny, name: str) -> None:
    assert torch.equal(run(model, name)[1].frames, run(model, name)[1].frames)


@pytest.mark.parametrize("name", ["noise", "pgd"])
def test_another_seed_gives_other_pixels(model: Tiny, name: str) -> None:
    assert not torch.equal(run(model, name)[1].frames, run(model, name, seed=4)[1].frames)


@pytest.mark.parametrize("name", ROWS)
def test_the_trace_has_one_entry_per_step_and_one_before(model: Tiny, name: str) -> None:
    progress, trace = run(model, name)
    steps = ATTACKS[name].steps(5)
    assert [p.step for p in progress] == list(range(1, steps + 1))
    assert trace.frames.shape == (steps + 1, SIDE, SIDE, 3)
    assert trace.loss.shape == (steps + 1,)
    assert trace.probability.shape == (steps + 1, CLASSES)
    assert torch.allclose(trace.probability.sum(1), torch.ones(steps + 1))
    for at in progress:
        assert at.steps == steps
        assert torch.equal(at.frame, trace.frames[at.step])
        assert at.loss == pytest.approx(float(trace.loss[at.step]))


@pytest.mark.parametrize("name", ROWS)
def test_first_and_last_measurement_belong_to_the_pixels_on_disk(model: Tiny, name: str) -> None:
    _, trace = run(model, name)
    for at in (0, -1):
        pixels = trace.frames[at].permute(2, 0, 1)[None].float() / 255
        assert torch.allclose(trace.probability[at], model(pixels)[0].softmax(0), atol=1e-6)
        assert float(trace.loss[at]) == pytest.approx(
            -float(trace.probability[at, trace.label].log()), abs=1e-4
        )


@pytest.mark.parametrize("name", GRADIENT)
def test_a_gradient_attack_beats_random_noise(model: Tiny, name: str) -> None:
    losses = {n: float(run(model, n, budget=8)[1].loss[-1]) for n in ("noise", name)}
    assert losses[name] > losses["noise"]


def test_more_steps_fool_at_least_as_well_as_one(model: Tiny) -> None:
    _, one = run(model, "fgsm", budget=8)
    _, many = run(model, "pgd", budget=8, steps=40)
    assert float(many.loss[-1]) >= float(one.loss[-1]) - 1e-3


@pytest.mark.parametrize("name", GRADIENT)
def test_a_target_comes_nearer(model: Tiny, name: str) -> None:
    order = model(picture()[None])[0].argsort(descending=True)
    target = int(order[1])
    _, trace = run(model, name, budget=16, target=target)
    assert trace.target == target
    assert trace.probability[-1, target] > trace.probability[0, target]
    assert trace.loss[-1] == pytest.approx(float(trace.probability[-1, target].log()), abs=1e-4)
    assert trace.fooled == (int(trace.probability[-1].argmax()) == target)


@pytest.mark.parametrize("name", ROWS)
def test_the_model_is_left_as_it_was(model: Tiny, name: str) -> None:
    before = [p.clone() for p in model.parameters()]
    run(model, name)
    assert all(p.grad is None for p in model.parameters())
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters()))


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_the_callers_grad_mode_neither_matters_nor_changes(
    model: Tiny, name: str, mode: type
) -> None:
    expected = run(model, name)[1].frames
    with mode():
        _, trace = run(model, name)
        assert not torch.is_grad_enabled()
    assert torch.equal(trace.frames, expected)
    loop = attack(model, picture(), None, name="pgd", budget=4, steps=3, seed=0)
    next(loop)
    assert torch.is_grad_enabled()
    assert not next(loop).probability.requires_grad


def test_without_a_label_the_attack_leaves_the_models_own_answer(model: Tiny) -> None:
    answer = int(model(picture()[None]).argmax())
    _, trace = run(model, "pgd", budget=32)
    assert trace.label == answer
    assert not trace.already_wrong
    assert trace.fooled == (int(trace.probability[-1].argmax()) != answer)
    assert trace.fooled


def test_a_model_that_was_already_wrong_is_not_called_fooled(model: Tiny) -> None:
    wrong = (int(model(picture()[None]).argmax()) + 1) % CLASSES
    _, trace = run(model, "pgd", label=wrong, budget=32)
    assert trace.already_wrong
    assert not trace.fooled


def test_truncation_reports_the_level_it_loses(model: Tiny) -> None:
    _, trace = run(model, "fgsm", budget=3, roundtrip="truncate")
    moved = trace.pixels.permute(2, 0, 1).float() - (picture() * 255).round()
    assert trace.linf == moved.abs().max()
    assert trace.linf <= 4


def test_a_picture_is_attacked_the_same_alone_and_in_a_batch(model: Tiny) -> None:
    pixels = torch.stack([picture(0), picture(1), picture(2)])
    loop = ascend(
        model, pixels, None, None, filling=ATTACKS["pgd"].filling, budget=4, steps=4,
        seeds=[11, 12, 13],
    )  # fmt: skip
    while True:
        try:
            next(loop)
        except StopIteration as end:
            batch = end.value
            break
    for i in range(3):
        _, alone = run(model, "pgd", pixels=picture(i), seed=11 + i, steps=4)
        assert torch.equal(batch.frames[-1, i].permute(1, 2, 0), alone.pixels)


def test_fgsm_is_one_signed_gradient_step(model: Tiny) -> None:
    pixels = picture()[None].requires_grad_()
    label = model(pixels).argmax(1)
    nn.functional.cross_entropy(model(pixels), label).backward()
    assert pixels.grad is not None
    expected = (pixels.detach() + 4 / 255 * pixels.grad.sign()).clamp(0, 1)
    model.zero_grad(set_to_none=True)
    _, trace = run(model, "fgsm")
    assert torch.equal(trace.pixels.permute(2, 0, 1), (expected[0] * 255).round().to(torch.uint8))


def test_noise_moves_every_value_by_the_budget_unless_it_hits_black_or_white(model: Tiny) -> None:
    _, trace = run(model, "noise", budget=4)
    clean = (picture() * 255).round()
    moved = (trace.pixels.permute(2, 0, 1).float() - clean).abs()
    inside = (clean >= 4) & (clean <= 251)
    assert (moved[inside] == 4).all()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "cw"}, "attack is one of none, noise, fgsm, pgd"),
        ({"budget": -1}, "budget is a whole number of 1/255 from 0"),
        ({"budget": 4.5}, "budget is a whole number"),
        ({"budget": True}, "budget is a whole number"),
        ({"steps": 0}, "steps is a whole number from 1"),
        ({"roundtrip": "floor"}, "roundtrip is round or truncate"),
        ({"name": "noise", "target": 1}, "cannot be aimed"),
        ({"label": 9}, "label is a class number from 0 to 4"),
        ({"label": -1}, "label is a class number from 0 to 4"),
        ({"target": 5}, "target is a class number from 0 to 4"),
        ({"label": 2, "target": 2}, "target must differ"),
    ],
)
def test_impossible_wishes_get_a_sentence(
    model: Tiny, changes: dict[str, object], words: str
) -> None:
    with pytest.raises(SettingError, match=words):
        run(model, **({"name": "pgd"} | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ROWS)
def test_every_row_tells_a_person_what_it_does_and_knows(name: str) -> None:
    row = attack_row(name)
    assert row.name == name
    assert row.title
    assert row.sentence.endswith(".")
    assert name == "none" or row.does_not_know
    assert not set(row.knows) & set(row.does_not_know)


def test_the_settings_offer_exactly_the_attacks_there_are() -> None:
    assert KNOBS["attack"].choices == tuple(ATTACKS)


@pytest.mark.parametrize("name", ["pgd", "fgsm"])
def test_an_attack_with_a_target_says_that_it_raises_the_target(name: str) -> None:
    row = ATTACKS[name]
    assert row.aimed_at(None) == row.sentence
    assert "raises CLIP's probability of “dog” most" in row.aimed_at("dog")
    assert "error" not in row.aimed_at("dog")
