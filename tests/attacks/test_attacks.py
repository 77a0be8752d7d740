"""The contract that every attack keeps, as one table: each row is an attack, each test a promise."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn

from rita_demo.attacks import ATTACKS
from rita_demo.attacks.loop import components
from rita_demo.attacks.loop.gradient_loop import fresh_seed
from rita_demo.attacks.loop.request import AttackProgress, SampledLogits
from rita_demo.attacks.loop.run import attack_steps
from rita_demo.process.generators import run_to_end
from rita_demo.records import AttackTrace
from rita_demo.records.errors import SettingError
from rita_demo.settings import RECOMMENDED

CLASSES, SIDE = 5, 12
ROWS = sorted(ATTACKS)
AIMED = [name for name in ROWS if ATTACKS[name].victim]  # at a model, with knowledge of it
TARGETED = [name for name in ROWS if ATTACKS[name].targetable]
#: Own settings that make an attack quick, and let it write on small pictures.
QUICK = {
    "adaptive": {"adaptive.steps": 5, "adaptive.restarts": 1},
    "patch": {"patch.steps": 5},
    "typographic": {"typographic.word": "a"},
}
STEPWISE = [name for name in ROWS if name != "autoattack"]  # it counts queries and keeps no steps


class TinyModel(nn.Module):
    """A differentiable model with curvature: (B, 3, H, W) -> (B, 5)."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(7)
        self.first = nn.Linear(3 * SIDE * SIDE, 16)
        self.second = nn.Linear(16, CLASSES)

    def forward(self, pixels: Tensor) -> Tensor:
        return 20.0 * self.second(torch.tanh(self.first(pixels.flatten(1) - 0.5)))


@pytest.fixture(scope="module")
def model() -> TinyModel:
    return TinyModel().eval().requires_grad_(False)  # frozen, as every backbone is


def picture(seed: int = 0) -> Tensor:
    """(3, H, W) float on the 8-bit grid, black and white pixels included."""
    levels = torch.randint(0, 256, (3, SIDE, SIDE), generator=torch.Generator().manual_seed(seed))
    levels[:, 0], levels[:, 1] = 0, 255
    return levels.float() / 255


def noisy(model: nn.Module, samples: int = 3) -> SampledLogits:
    """A model on pictures with fresh noise: stands for random crops, and for a defence made of them."""

    def sampled_logits(pixels: Tensor, seeds: Sequence[int]) -> Tensor:
        rows = []
        for square, seed in zip(pixels, seeds):
            generator = torch.Generator().manual_seed(seed)
            noise = 0.02 * torch.randn(samples, *square.shape, generator=generator)
            rows.append(model(square + noise))
        return torch.stack(rows)

    return sampled_logits


def sampled_logits_of(model: nn.Module, name: str) -> SampledLogits | None:
    return noisy(model) if name in ATTACKS and ATTACKS[name].differentiated(RECOMMENDED) != "model" else None


def run(model: nn.Module, name: str, **changes: object) -> tuple[list[tuple[int, int]], AttackTrace]:
    progress: list[AttackProgress] = []
    asked = {"budget": 4, "steps": 5, "seed": 3, "label": None, "target": None, "pixels": picture()} | changes
    label, target, pixels, seed = (asked.pop(part) for part in ("label", "target", "pixels", "seed"))
    sampled = asked.pop("sampled_logits", sampled_logits_of(model, name))
    settings = RECOMMENDED.replace(attack=name, **QUICK.get(name, {}), **asked)
    steps = attack_steps(model, pixels[None], settings, [label], [seed], [target], sampled)
    return progress, run_to_end(steps, progress.append)[0]


def moved_levels(trace: AttackTrace) -> Tensor:
    """How many levels every value of the picture moved, (3, H, W)."""
    return trace.pixels.permute(2, 0, 1).float() - (picture() * 255).round()


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize(
    ("budget", "roundtrip"), [(0, "round"), (0, "truncate"), (1, "round"), (4, "round"), (16, "round")]
)
def test_result_is_eight_bit_and_within_the_budget(model: TinyModel, name: str, budget: int, roundtrip: str) -> None:
    _, trace = run(model, name, budget=budget, adversarial_roundtrip=roundtrip)
    moved, bounded = moved_levels(trace), ATTACKS[name].bounded
    assert trace.pixels.dtype == torch.uint8
    assert trace.budget == (budget if bounded else 0)
    assert not bounded or moved.abs().max() <= budget
    assert trace.linf == moved.abs().max()
    assert trace.l2 == pytest.approx(float((moved / 255).norm()), rel=1e-6)
    assert budget or not bounded or not trace.fooled


@pytest.mark.parametrize("name", ROWS)
def test_pixels_follow_the_seed_and_another_one_matters_only_to_stochastic_attacks(model: TinyModel, name: str) -> None:
    frames = run(model, name)[1].frames
    assert torch.equal(frames, run(model, name)[1].frames)
    assert torch.equal(frames, run(model, name, seed=4)[1].frames) == (not ATTACKS[name].stochastic)


@pytest.mark.parametrize("name", STEPWISE)
def test_the_trace_has_one_entry_per_step_and_one_before(model: TinyModel, name: str) -> None:
    progress, trace = run(model, name)
    steps = ATTACKS[name].step_count(RECOMMENDED.replace(steps=5, **QUICK.get(name, {})))
    assert [at[:2] for at in progress] == [(step, steps) for step in range(1, steps + 1)]
    told = [at[2] for at in progress[:-1]]  # cw_l2 delivers its best step as the last
    assert told == pytest.approx(trace.loss[1:-1].tolist())
    assert trace.frames.shape == (steps + 1, SIDE, SIDE, 3)
    assert trace.loss.shape == (steps + 1,)
    assert trace.probability.shape == (steps + 1, CLASSES)
    assert torch.allclose(trace.probability.sum(1), torch.ones(steps + 1))


@pytest.mark.parametrize("name", ROWS)
def test_first_and_last_loss_are_measured_on_the_8_bit_pixels(model: TinyModel, name: str) -> None:
    """The probability is the plain model's; the loss is the attacker's goal on its own samples."""
    _, trace = run(model, name)
    sampled, label = sampled_logits_of(model, name), torch.tensor([trace.label])
    sampled = ATTACKS[name].transform(model) if ATTACKS[name].transform else sampled
    for at, step in ((0, 0), (-1, len(trace.frames) - 1)):
        pixels = trace.frames[at].permute(2, 0, 1)[None].float() / 255
        assert torch.allclose(trace.probability[at], model(pixels)[0].softmax(0), atol=1e-6)
        answer = model(pixels) if sampled is None else sampled(pixels, [fresh_seed(3, step)])[0]
        if trace.loss_unit == "nats":
            expected = -answer.log_softmax(1)[:, trace.label].mean().item()
        elif trace.loss_unit == "logits":
            lead = components.margin(answer, label.expand(len(answer)), None).mean().item()
            expected = -lead if name == "reverse" else lead
        else:
            moved = pixels - trace.frames[0].permute(2, 0, 1)[None].float() / 255
            lead = components.margin(answer, label, None).clamp(max=0).item()
            expected = lead - float(moved.square().sum())
        assert float(trace.loss[at]) == pytest.approx(expected, abs=1e-4)


@pytest.fixture(scope="module")
def leads(model: TinyModel) -> dict[str, Tensor]:
    """For every attack at 8/255: the lead of the best wrong class on eight pictures, and untouched."""
    seen: dict[str, list[Tensor]] = {"nothing": [picture(seed) for seed in range(8)]}
    for name in ROWS:
        traces = [run(model, name, pixels=picture(seed), budget=8, seed=seed)[1] for seed in range(8)]
        seen[name] = [trace.pixels.permute(2, 0, 1).float() / 255 for trace in traces]
    label = model(torch.stack(seen["nothing"])).argmax(1)
    return {name: components.margin(model(torch.stack(shown)), label, None) for name, shown in seen.items()}


@pytest.mark.parametrize("name", [name for name in AIMED if name not in ("reverse", "typographic")])
def test_attacks_gain_more_than_random_noise_on_average(leads: dict[str, Tensor], name: str) -> None:
    assert leads[name].mean() > leads["nothing"].mean() + 1
    assert leads[name].mean() > leads["noise"].mean() + 1


def test_margin_attacks_always_fool_a_weak_model_and_reverse_makes_it_surer(leads: dict[str, Tensor]) -> None:
    assert all((leads[name] > 0).all() for name in ("cw_linf", "cw_l2", "autoattack"))
    assert (leads["reverse"] < leads["nothing"] - 1).all()


@pytest.mark.parametrize("name", [name for name in TARGETED if ATTACKS[name].uses_gradient])
@pytest.mark.parametrize("rank", [1, 3])
def test_targeted_attack_raises_the_target_logit(model: TinyModel, name: str, rank: int) -> None:
    order = model(picture()[None])[0].argsort(descending=True)
    target = int(order[rank])
    _, trace = run(model, name, budget=16, target=target)
    assert trace.target == target
    assert trace.probability[-1, target] > 2 * trace.probability[0, target]
    assert trace.fooled == (int(trace.probability[-1].argmax()) == target)


@pytest.mark.parametrize("name", STEPWISE)
def test_the_model_is_left_as_it_was(name: str) -> None:
    model = TinyModel().eval()  # its parameters want gradients, and must not receive any
    before = [p.clone() for p in model.parameters()]
    run(model, name)
    assert all(p.grad is None for p in model.parameters())
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters()))


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_the_callers_grad_mode_neither_matters_nor_changes(model: TinyModel, name: str, mode: type) -> None:
    expected = run(model, name)[1].frames
    with mode():
        _, trace = run(model, name)
        assert not torch.is_grad_enabled()
    assert torch.equal(trace.frames, expected)
    loop = attack_steps(model, picture()[None], RECOMMENDED.replace(steps=3), [None], [0])
    next(loop)
    assert torch.is_grad_enabled()


def test_without_a_label_the_answer_of_the_model_is_attacked_and_a_wrong_one_does_not_count(model: TinyModel) -> None:
    answer = int(model(picture()[None]).argmax())
    _, trace = run(model, "pgd", budget=32)
    assert (trace.label, trace.already_wrong, trace.fooled) == (answer, False, True)
    assert int(trace.probability[-1].argmax()) != answer
    _, trace = run(model, "pgd", label=(answer + 1) % CLASSES, budget=32)
    assert (trace.already_wrong, trace.fooled) == (True, False)


def test_truncation_reports_the_level_it_loses(model: TinyModel) -> None:
    _, trace = run(model, "fgsm", budget=3, adversarial_roundtrip="truncate")
    assert trace.linf == moved_levels(trace).abs().max() <= 4


@pytest.mark.parametrize("name", ROWS)
def test_a_picture_gets_the_same_attack_alone_and_in_a_batch(model: TinyModel, name: str) -> None:
    pixels = torch.stack([picture(seed) for seed in range(3)])
    sampled = sampled_logits_of(model, name)
    settings = RECOMMENDED.replace(attack=name, budget=8, steps=4, **QUICK.get(name, {}))
    traces = run_to_end(attack_steps(model, pixels, settings, [0, 3, 4], [11, 12, 13], None, sampled))
    for i, label in enumerate((0, 3, 4)):
        _, alone = run(model, name, pixels=picture(i), label=label, seed=11 + i, steps=4, budget=8)
        assert torch.equal(traces[i].pixels, alone.pixels)
        assert traces[i].fooled == alone.fooled


def test_a_batch_accepts_one_target_per_picture(model: TinyModel) -> None:
    loop = attack_steps(model, torch.stack([picture(0), picture(1)]), RECOMMENDED, [0, 1], [0, 1], [2, 3])
    assert [trace.target for trace in run_to_end(loop)] == [2, 3]


def test_noise_moves_every_value_by_the_budget_unless_it_hits_black_or_white(model: TinyModel) -> None:
    clean, moved = (picture() * 255).round(), moved_levels(run(model, "noise", budget=4)[1]).abs()
    assert (moved[(clean >= 4) & (clean <= 251)] == 4).all()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "cw"}, "attack is one of none, noise, fgsm, pgd, cw_linf, cw_l2, di, patch, typographic"),
        ({"name": "noise", "target": 1}, "cannot be aimed"),
        ({"name": "autoattack", "target": 1}, "cannot be aimed"),
        ({"label": 9}, "label is a class number from 0 to 4"),
        ({"label": -1}, "label is a class number from 0 to 4"),
        ({"target": 5}, "target is a class number from 0 to 4"),
        ({"label": 2, "target": 2}, "target must differ"),
    ],
)
def test_invalid_attack_requests_give_an_error_message(
    model: TinyModel, changes: dict[str, object], words: str
) -> None:
    with pytest.raises(SettingError, match=words):
        run(model, **({"name": "pgd"} | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["eot", "adaptive"])
def test_attacks_with_sampled_logits_require_them(model: TinyModel, name: str) -> None:
    with pytest.raises(ValueError, match="needs sampled_logits"):
        run(model, name, sampled_logits=None)


@pytest.mark.parametrize("name", ["pgd", "fgsm"])
def test_threat_text_of_a_targeted_attack_names_the_target_goal(name: str) -> None:
    row = ATTACKS[name]
    assert row.sentence_for(None) == row.sentence
    assert "raises CLIP's probability of “dog” most" in row.sentence_for("dog")
    assert "error" not in row.sentence_for("dog")
