"""Single attacks against second implementations: AutoAttack and PGD pixel for pixel against their packages, goals, input diversity
and the loop of CW L2 against slow ones; the patch and the written word."""

import sys

import numpy as np
import pyautoattack
import pytest
import torch
import torchattack
from torch import Tensor, nn

from rita_demo.attacks.cw_l2 import carlini_wagner_l2
from rita_demo.attacks.di import input_diversity_logits, resized_and_padded
from rita_demo.attacks.loop import components
from rita_demo.attacks.loop.request import AttackRequest
from rita_demo.attacks.loop.run import attack_steps
from rita_demo.process.generators import run_to_end
from rita_demo.records import AttackTrace
from rita_demo.records.errors import DemoError, SettingError
from rita_demo.settings import RECOMMENDED
from tests.attacks.test_attacks import MODEL, SIDE, TinyModel, noisy, picture, run
from tests.oracles import attack_goals as slow


@pytest.mark.parametrize("budget", [pytest.param(2, marks=pytest.mark.nightly), 8])
def test_pixels_equal_the_autoattack_package(budget: int) -> None:
    """With 2/255 nothing succeeds before the last part, so that all four are run; with channels last, as from the engine."""
    label = MODEL(picture()[None]).argmax(1)
    theirs = pyautoattack.AutoAttack(MODEL, eps=budget / 255, seed=3, version="standard")
    theirs.apgd_targeted.n_target_classes = theirs.fab.n_target_classes = 4  # five classes
    expected, _ = theirs.run_standard_evaluation(picture()[None], label)
    square = picture()[None].to(memory_format=torch.channels_last)
    assert not square.is_contiguous()
    settings, parts = RECOMMENDED.replace(attack="autoattack", budget=budget), []
    (trace,) = run_to_end(attack_steps(MODEL, square, settings, [None], [3]), parts.append)
    # the lock of the model is free between two parts, and the first that succeeds is the last
    assert parts == ([(1, 4), (2, 4), (3, 4), (4, 4)] if budget == 2 else [(1, 4)])
    assert torch.equal(trace.pixels.permute(2, 0, 1), (expected[0] * 255).round().to(torch.uint8))


@pytest.mark.nightly
def test_with_sampled_logits_the_version_is_rand() -> None:
    queries = []

    def counted(pixels: Tensor, seeds: object) -> Tensor:
        queries.append(tuple(seeds))  # type: ignore[arg-type]
        return noisy(MODEL)(pixels, seeds)  # type: ignore[arg-type]

    _, trace = run(MODEL, "autoattack", budget=8, sampled_logits=counted)
    assert trace.fooled
    assert len(queries) >= 2000  # 100 steps with 20 gradients each
    assert len(set(queries)) == len(queries)  # never the same draw twice


def test_four_classes_are_enough_and_fewer_give_an_error_message() -> None:
    torch.manual_seed(0)
    three, four = (nn.Sequential(nn.Flatten(), nn.Linear(432, k), nn.Tanh()).requires_grad_(False) for k in (3, 4))
    assert run(four, "autoattack", budget=16)[1].fooled
    with pytest.raises(SettingError, match="at least 4 classes; got 3"):
        run(three, "autoattack")


def test_a_missing_package_gives_an_error_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyautoattack", None)
    with pytest.raises(DemoError, match="needs the package pyautoattack") as caught:
        run(MODEL, "autoattack")
    assert "pip install" in caught.value.hint


NAMES = ("cup", "crab", "dog")
WEIGHT = torch.randn(3 * 96 * 96, 3, generator=torch.manual_seed(1)) / 30
PICTURE = (torch.rand(1, 3, 96, 96, generator=torch.manual_seed(2)) * 255).round() / 255


def attacked(name: str, target: int | None = None, **own: object) -> AttackTrace:
    settings = RECOMMENDED.replace(attack=name, **{f"{name}.{key}": value for key, value in own.items()})
    logits = lambda pixels: (pixels.flatten(1) - 0.5) @ WEIGHT  # noqa: E731
    return run_to_end(attack_steps(logits, PICTURE, settings, [0], [5], [target], names=NAMES))[0]


def test_a_patch_changes_one_square_and_nothing_else() -> None:
    area = 0.1
    trace = attacked("patch", area=area, steps=10)
    moved = (np.asarray(trace.pixels) != np.asarray(trace.frames[0])).any(-1)
    rows, columns = np.flatnonzero(moved.any(1)), np.flatnonzero(moved.any(0))
    height, width = rows[-1] - rows[0] + 1, columns[-1] - columns[0] + 1
    side = round((area * 96 * 96) ** 0.5)
    assert max(height, width) <= side
    assert moved.mean() == pytest.approx(area, rel=0.15)
    assert trace.loss[-1] > trace.loss[0] + 1
    assert trace.budget == 0


def test_without_a_word_the_target_or_the_most_probable_wrong_class_is_written() -> None:
    wrong = 1 + int(attacked("typographic", word="x").probability[0][1:].argmax())
    for target in (None, 1, 2):
        name = NAMES[wrong if target is None else target]
        chosen = np.asarray(attacked("typographic", target).pixels)
        assert np.array_equal(chosen, np.asarray(attacked("typographic", target, word=name).pixels))


@pytest.mark.parametrize(
    ("word", "says"), [("ꙮ漢", "cannot be drawn"), ("W" * 40, "does not fit on 96 × 96 pixels"), ("a\nb", "word")]
)
def test_a_word_that_cannot_be_drawn_is_an_error_message(word: str, says: str) -> None:
    with pytest.raises(SettingError, match=says):
        attacked("typographic", word=word)


K = 6


def logits(rows: int = 200) -> Tensor:
    return 60 * torch.randn(rows, K, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("target", [None, 4])
@pytest.mark.parametrize("goal", ["cross_entropy", "margin"])
def test_goals_equal_the_reference_formulas(goal: str, target: int | None) -> None:
    answer = logits()
    label = torch.arange(len(answer)) % 4
    aim = None if target is None else torch.full_like(label, target)
    mine = getattr(components, goal)(answer, label, aim)
    extra = (components.KAPPA,) if goal == "margin" else ()
    written = getattr(slow, goal)
    theirs = [written(row, int(k), target, *extra) for row, k in zip(answer.double().numpy(), label)]
    assert mine.numpy() == pytest.approx(np.array(theirs), abs=1e-4)
    if goal == "margin":
        assert max(theirs) == components.KAPPA  # the cap was met, not only believed
        if target is None:  # above zero exactly where the model is fooled
            assert torch.equal(mine > 0, answer.argmax(1) != label)


@pytest.mark.parametrize(("small", "top", "left"), [(10, 0, 0), (8, 2, 1)])
def test_a_shrunk_picture_lies_on_black(small: int, top: int, left: int) -> None:
    picture = torch.rand(3, 10, 10, generator=torch.Generator().manual_seed(2))
    mine = resized_and_padded(picture, small, top, left)
    theirs = slow.shrunk_on_black(picture.numpy(), small, top, left)
    assert mine.numpy() == pytest.approx(theirs, abs=1e-6)


def test_half_of_the_pictures_are_shrunk_to_at_least_nine_tenths_of_their_side() -> None:
    shown: list[Tensor] = []

    def remember(pixels: Tensor) -> Tensor:
        shown.extend(pixels)
        return pixels.flatten(1)[:, :K]

    sampled = input_diversity_logits(remember)
    white = torch.ones(1, 3, 20, 20)
    seeds = range(400)
    assert sampled(white.expand(400, -1, -1, -1), seeds).shape == (400, 1, K)
    sizes = [int((p[0].sum(1) > 0).sum()) for p in shown]  # rows that are not black
    assert set(sizes) == {18, 19, 20}
    changed = np.mean([s < 20 for s in sizes])  # 2/3 of the changed half
    assert 0.27 < changed < 0.40
    places = {int((p[0].sum(1) > 0).int().argmax()) for p, s in zip(shown, sizes) if s == 18}
    assert places == {0, 1, 2}


@pytest.mark.parametrize(("gain", "ahead"), [(60.0, 0.0), (0.5, 5.0)])
def test_cw_l2_follows_the_reference_steps_and_returns_the_smallest_fooling_change(gain: float, ahead: float) -> None:
    """Where the right class is far ahead it does not fool the model and comes as near as it can."""
    rng = np.random.default_rng(1)
    picture = rng.integers(0, 256, (3, 8, 8)) / 255
    weights, bias = gain * rng.normal(size=(K, 192)) / 14, gain * rng.normal(size=K) / 14
    label = int((weights @ picture.ravel() + bias).argmax())
    bias[label] += ahead
    candidates, delivered = slow.cw_l2(weights, bias, picture, label, steps=50)
    table, shift = torch.tensor(weights).float(), torch.tensor(bias).float()
    loop = carlini_wagner_l2(
        lambda p: p.flatten(1) @ table.T + shift,
        torch.tensor(picture).float()[None],
        AttackRequest(budget=0, steps=50, seeds=[0], label=torch.tensor([label])),
    )
    found = run_to_end(loop)
    for mine, theirs in zip(found.frames[1:-1, 0].numpy(), candidates):
        # float32 may round to another level where float64 is within 1e-4 of the middle of two
        assert np.abs(mine - theirs).max() <= 1
        assert (mine != theirs).mean() < 0.02
    assert (found.frames[-1, 0].numpy() != delivered).mean() < 0.02
    fools = int(found.probability[-1, 0].argmax()) != label
    assert fools == (ahead == 0)


class RecordingModel(TinyModel):
    """It remembers every square it was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.eval().requires_grad_(False)
        self.seen: list[Tensor] = []

    def forward(self, pixels: Tensor) -> Tensor:
        self.seen.append(pixels.detach().clone())
        return super().forward(pixels)


def square(seed: int, kind: str) -> Tensor:
    """(3, SIDE, SIDE) on the 8-bit grid; ``edges`` has many pixels at 0 and 1, where clipping matters."""
    noise = torch.rand(3, SIDE, SIDE, generator=torch.manual_seed(seed))
    levels = noise if kind == "grey" else (2 * noise - 0.5).clamp(0, 1)
    return (levels * 255).round() / 255


def to_bytes(pixels: Tensor) -> Tensor:
    """(1, 3, H, W) floats -> (H, W, 3) whole levels."""
    return (pixels[0].detach() * 255).round().to(torch.uint8).permute(1, 2, 0)


@pytest.mark.parametrize("steps", [1, 7])
@pytest.mark.parametrize(("budget", "kind"), [(1, "grey"), (8, "edges")])
@pytest.mark.parametrize("target", [None, 3])
def test_pgd_pixels_equal_torchattack_from_the_same_start(monkeypatch, steps, budget, kind, target) -> None:
    model, pixels = RecordingModel(), square(4, kind)
    settings = RECOMMENDED.replace(budget=budget, steps=steps)
    (ours,) = run_to_end(attack_steps(model, pixels[None], settings, [2], [5], [target]))
    start = next(seen for seen in model.seen if not torch.equal(seen[0], pixels)) - pixels[None]
    assert float(start.abs().max()) <= budget / 255 + 1e-7
    monkeypatch.setattr(Tensor, "uniform_", lambda self, low, high: self.copy_(start))
    radius = {"eps": budget / 255, "alpha": budget / 255 / 4}
    theirs = torchattack.PGD(model, device=torch.device("cpu"), steps=steps, targeted=target is not None, **radius)
    expected = theirs(pixels[None], torch.tensor([2 if target is None else target]))
    assert torch.equal(ours.pixels, to_bytes(expected))
    moved = (ours.pixels.int() - to_bytes(pixels[None]).int()).abs().max()
    assert moved <= budget
    assert ours.linf == moved
