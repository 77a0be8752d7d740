"""What every registered attack promises, as one table, attacks x promises: a new file in the folder is tested by itself."""

from collections.abc import Callable, Sequence
from functools import cache

import pytest
import torch
from torch import Tensor, nn

from rita_demo.attacks import ATTACKS
from rita_demo.attacks.loop import components
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


CASES = []
MODEL = TinyModel().eval().requires_grad_(False)  # frozen, as every backbone is


def promise(names: Sequence[str]) -> Callable[[Callable[[str], None]], Callable[[str], None]]:
    """A function of an attack's name that asserts what these attacks promise: a column of the table."""

    def add(function: Callable[[str], None]) -> Callable[[str], None]:
        CASES.extend(pytest.param(function, name, id=f"{name}-{function.__name__}") for name in names)
        return function

    return add


@cache
def usual(name: str) -> AttackTrace:
    """One attack, kept for all promises that look at it."""
    return run(MODEL, name)[1]


@promise(ROWS)
def result_is_eight_bit_and_within_the_budget(name: str) -> None:
    for budget, roundtrip in ((0, "round"), (0, "truncate"), (3, "truncate"), (4, "round")):
        _, trace = run(MODEL, name, budget=budget, adversarial_roundtrip=roundtrip)
        moved, bounded = moved_levels(trace), ATTACKS[name].bounded
        assert trace.pixels.dtype == torch.uint8
        assert trace.budget == (budget if bounded else 0)
        lost = int(roundtrip == "truncate" and budget > 0)  # a level, and the trace says so
        assert not bounded or moved.abs().max() <= budget + lost
        assert trace.linf == moved.abs().max()
        assert trace.l2 == pytest.approx(float((moved / 255).norm()), rel=1e-6)
        assert budget or not bounded or not trace.fooled


@promise(ROWS)
def pixels_follow_the_seed_and_another_one_matters_only_to_stochastic_attacks(name: str) -> None:
    assert torch.equal(usual(name).frames, run(MODEL, name)[1].frames)
    assert torch.equal(usual(name).frames, run(MODEL, name, seed=4)[1].frames) == (not ATTACKS[name].stochastic)


@promise(STEPWISE)
def the_trace_has_one_entry_per_step_and_one_before(name: str) -> None:
    progress, trace = run(MODEL, name)
    steps = ATTACKS[name].step_count(RECOMMENDED.replace(steps=5, **QUICK.get(name, {})))
    assert [at[:2] for at in progress] == [(step, steps) for step in range(1, steps + 1)]
    told = [at[2] for at in progress[:-1]]  # cw_l2 delivers its best step as the last
    assert told == pytest.approx(trace.loss[1:-1].tolist())
    assert (trace.frames.shape, trace.loss.shape) == ((steps + 1, SIDE, SIDE, 3), (steps + 1,))
    assert torch.allclose(trace.probability.sum(1), torch.ones(steps + 1))


@cache
def leads(name: str) -> Tensor:
    """The lead of the best wrong class on eight pictures after the attack at 8/255; "": untouched."""
    clean = torch.stack([picture(seed) for seed in range(8)])
    after = [run(MODEL, name, pixels=picture(seed), budget=8, seed=seed)[1].pixels for seed in range(8) if name]
    seen = torch.stack(after).permute(0, 3, 1, 2).float() / 255 if name else clean
    return components.margin(MODEL(seen), MODEL(clean).argmax(1), None)


@promise([name for name in AIMED if name not in ("reverse", "typographic")])
def it_gains_more_than_random_noise_on_average(name: str) -> None:
    assert leads(name).mean() > max(leads("").mean(), leads("noise").mean()) + 1


@promise(["cw_linf", "cw_l2", "autoattack"])
def an_attack_on_the_margin_always_fools_a_weak_model(name: str) -> None:
    assert (leads(name) > 0).all()


@promise(["reverse"])
def it_makes_the_model_surer(name: str) -> None:
    assert (leads(name) < leads("") - 1).all()


@promise([name for name in TARGETED if ATTACKS[name].uses_gradient])
def aimed_at_a_class_it_raises_its_probability(name: str) -> None:
    order = MODEL(picture()[None])[0].argsort(descending=True)
    for target in order[[1, 3]].tolist():
        _, trace = run(MODEL, name, budget=16, target=target)
        assert trace.target == target
        assert trace.probability[-1, target] > 2 * trace.probability[0, target]
        assert trace.fooled == (int(trace.probability[-1].argmax()) == target)


@promise(ROWS)
def the_callers_grad_mode_neither_matters_nor_changes(name: str) -> None:
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            _, trace = run(MODEL, name)
            assert not torch.is_grad_enabled()
        assert torch.equal(trace.frames, usual(name).frames)
    next(attack_steps(MODEL, picture()[None], RECOMMENDED.replace(steps=3), [None], [0]))
    assert torch.is_grad_enabled()


@promise(ROWS)
def a_picture_gets_the_same_attack_alone_and_in_a_batch(name: str) -> None:
    pixels = torch.stack([picture(seed) for seed in range(3)])
    settings = RECOMMENDED.replace(attack=name, budget=8, steps=4, **QUICK.get(name, {}))
    sampled, labels, seeds = sampled_logits_of(MODEL, name), [0, 3, 4], [11, 12, 13]
    for targets in [None, [1, 2, 3]] if ATTACKS[name].targetable else [None]:
        traces = run_to_end(attack_steps(MODEL, pixels, settings, labels, seeds, targets, sampled))
        for i, trace in enumerate(traces):
            asked = {"pixels": picture(i), "label": labels[i], "seed": seeds[i], "target": targets and targets[i]}
            _, alone = run(MODEL, name, steps=4, budget=8, **asked)
            assert torch.equal(trace.pixels, alone.pixels)
            assert (trace.fooled, trace.target) == (alone.fooled, alone.target)


@pytest.mark.slow
@pytest.mark.parametrize(("kept", "name"), CASES)
def test_an_attack_keeps_its_promise(kept: Callable[[str], None], name: str) -> None:
    kept(name)


def test_without_a_label_the_answer_of_the_model_is_attacked_and_a_wrong_one_does_not_count() -> None:
    answer = int(MODEL(picture()[None]).argmax())
    _, trace = run(MODEL, "pgd", budget=32)
    assert (trace.label, trace.already_wrong, trace.fooled) == (answer, False, True)
    assert int(trace.probability[-1].argmax()) != answer
    _, trace = run(MODEL, "pgd", label=(answer + 1) % CLASSES, budget=32)
    assert (trace.already_wrong, trace.fooled) == (True, False)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "cw"}, "attack is one of none, noise, fgsm, pgd, cw_linf, cw_l2, di, patch, typographic"),
        ({"name": "noise", "target": 1}, "cannot be aimed"),
        ({"label": 9}, "label is a class number from 0 to 4"),
        ({"label": 2, "target": 2}, "target must differ"),
    ],
)
def test_invalid_attack_requests_give_an_error_message(changes: dict[str, object], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        run(MODEL, **({"name": "pgd"} | changes))  # type: ignore[arg-type]
