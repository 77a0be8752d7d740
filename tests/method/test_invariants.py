"""The invariants of section 6 of the method; quantified ones over random problems."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import orthogonal_procrustes

from rita_demo.method import cache as memory
from rita_demo.method.confidence import assess
from rita_demo.method.cost import cosine_cost
from rita_demo.method.procrustes import align
from rita_demo.method.rita import Prompts, decide
from rita_demo.method.sinkhorn import transport
from rita_demo.method.theorem import bracket
from rita_demo.records import Confidence, Trace, Transport
from rita_demo.settings import PRESETS, Settings
from tests.oracles import theorem
from tests.oracles.algorithm1 import plane_rotation
from tests.oracles.transport import cost_matrix, exact_value
from tests.oracles.world import TAU, D, K, make_world, unit

F = np.ndarray
quantified = settings(max_examples=25, deadline=None, derandomize=True)
seeds = st.integers(0, 10_000)
sizes = st.integers(1, 7)


def cloud(seed: int, *shape: int) -> torch.Tensor:
    """Unit vectors that lean one way, as features do."""
    rng = np.random.default_rng(seed)
    return torch.tensor(unit(rng.normal(size=shape) + 1.0), dtype=torch.float32)


def plan_of(cost: torch.Tensor, **settings_: object) -> Transport:
    classes, views, atoms = cost.shape
    options = {"entropy_weight": 0.05, "tolerance": 1e-6, "max_iterations": 20_000} | settings_
    return transport(
        cost, torch.full((views,), 1 / views), torch.full((classes, atoms), 1 / atoms), **options
    )


# --- transport


@quantified
@given(seeds, sizes, sizes, st.sampled_from([0.01, 0.1, 1.0]), st.sampled_from([1.0, 0.5, 0.1]))
def test_marginals_are_met(seed: int, views: int, atoms: int, blur: float, rho: float) -> None:
    cost = cosine_cost(cloud(seed, views, 8), cloud(seed + 1, 2, atoms, 8))
    solved = plan_of(cost, entropy_weight=blur, transported_mass=rho)
    columns, rows = solved.plan.sum(1), solved.plan.sum(2)
    assert (columns - rho / atoms).abs().max() < 1e-5
    assert (rows - 1 / views).max() < 1e-5
    if rho == 1.0:
        assert (rows - 1 / views).abs().max() < 1e-5
    assert float(solved.residual[-1]) < 1e-5
    assert (solved.plan >= 0).all()


@pytest.mark.parametrize("rho", [1.0, 0.5])
@pytest.mark.parametrize(
    ("dtype", "blur", "room"),
    # what lambda leaves is about var(C) / (rho lambda), var(C) = 0.02
    [(torch.float64, 1e5, 1e-6), (torch.float32, 1e3, 1e-4)],
    ids=str,
)
def test_large_lambda_gives_one_minus_the_mean_cosine(
    dtype: torch.dtype, blur: float, room: float, rho: float
) -> None:
    x, z = cloud(0, 6, 8).to(dtype), cloud(1, 3, 4, 8).to(dtype)
    solved = plan_of(cosine_cost(x, z), entropy_weight=blur, transported_mass=rho)
    expected = 1 - torch.einsum("nd,kmd->k", x, z) / 24
    torch.testing.assert_close(solved.distance, expected, atol=room, rtol=0)


@quantified
@given(seeds, st.sampled_from([0.01, 0.1, 1.0]))
def test_one_view_and_one_prompt_give_one_minus_their_cosine(seed: int, blur: float) -> None:
    x, z = cloud(seed, 1, 8), cloud(seed + 1, 3, 1, 8)
    solved = plan_of(cosine_cost(x, z), entropy_weight=blur)
    torch.testing.assert_close(solved.distance, 1 - z[:, 0] @ x[0], atol=1e-6, rtol=0)


@quantified
@given(seeds, st.floats(-0.5, 1.0), st.sampled_from([1.0, 0.4]))
def test_a_constant_added_to_the_cost_leaves_the_plan(
    seed: int, constant: float, rho: float
) -> None:
    cost = cosine_cost(cloud(seed, 5, 8), cloud(seed + 1, 2, 3, 8))
    plain = plan_of(cost, transported_mass=rho)
    moved = plan_of(cost + constant, transported_mass=rho)
    torch.testing.assert_close(moved.plan, plain.plan, atol=2e-5, rtol=0)
    torch.testing.assert_close(moved.distance, plain.distance + constant, atol=1e-4, rtol=0)


@quantified
@given(seeds, st.sampled_from([1.0, 0.4]), st.sampled_from(["linear", "entropic", "kl"]))
def test_permuting_views_or_prompts_permutes_the_plan_and_nothing_else(
    seed: int, rho: float, objective: str
) -> None:
    cost = cosine_cost(cloud(seed, 6, 8), cloud(seed + 1, 2, 4, 8))
    rng = np.random.default_rng(seed)
    rows, columns = torch.tensor(rng.permutation(6)), torch.tensor(rng.permutation(4))
    plain = plan_of(cost, transported_mass=rho, objective=objective)
    mixed = plan_of(cost[:, rows][:, :, columns], transported_mass=rho, objective=objective)
    torch.testing.assert_close(mixed.plan, plain.plan[:, rows][:, :, columns], atol=1e-5, rtol=0)
    torch.testing.assert_close(mixed.distance, plain.distance, atol=2e-5, rtol=0)


@quantified
@given(seeds, st.integers(1, 4), st.sampled_from([1.0, 0.5]))
def test_padding_carries_no_mass_and_changes_no_distance(seed: int, extra: int, rho: float) -> None:
    cost = cosine_cost(cloud(seed, 5, 8), cloud(seed + 1, 2, 3, 8))
    wide = torch.cat([cost, torch.rand(2, 5, extra, generator=torch.manual_seed(seed))], dim=2)
    weight = torch.cat([torch.full((2, 3), 1 / 3), torch.zeros(2, extra)], dim=1)
    options = {"entropy_weight": 0.05, "transported_mass": rho, "max_iterations": 20_000}
    padded = transport(wide, torch.full((5,), 0.2), weight, **options)
    plain = plan_of(cost, transported_mass=rho)
    assert torch.isfinite(padded.plan).all()
    assert float(padded.plan[:, :, 3:].abs().sum()) == 0.0
    torch.testing.assert_close(padded.plan[:, :, :3], plain.plan, atol=1e-5, rtol=0)
    torch.testing.assert_close(padded.distance, plain.distance, atol=1e-5, rtol=0)


def test_a_view_of_weight_zero_is_as_good_as_absent() -> None:
    cost = cosine_cost(cloud(3, 5, 8), cloud(4, 2, 3, 8))
    weight, columns = torch.tensor([0.25, 0.25, 0.0, 0.25, 0.25]), torch.full((2, 3), 1 / 3)
    with_it = transport(cost, weight, columns, entropy_weight=0.05)
    without = plan_of(cost[:, [0, 1, 3, 4]])
    assert float(with_it.plan[:, 2].abs().sum()) == 0.0
    torch.testing.assert_close(with_it.distance, without.distance, atol=1e-5, rtol=0)


def test_a_solver_stopped_early_says_so() -> None:
    cost = cosine_cost(cloud(0, 9, 8), cloud(1, 2, 4, 8))
    hurried = plan_of(cost, entropy_weight=1e-3, max_iterations=1, tolerance=1e-9)
    patient = plan_of(cost)
    assert not hurried.converged
    assert patient.converged
    assert hurried.outcome != patient.outcome


# --- confidence


@quantified
@given(seeds, st.floats(0.0, 2.0), st.sampled_from(["nats", "share_of_log_k"]))
def test_views_are_kept_exactly_up_to_the_limit(seed: int, limit: float, kind: str) -> None:
    x, z = cloud(seed, 12, 8), cloud(seed + 1, 4, 2, 8)
    seen = assess(
        x, z, torch.full((4, 2), 0.5), temperature=0.1, max_entropy=limit, entropy_unit=kind
    )
    in_nats = limit * (np.log(4) if kind == "share_of_log_k" else 1.0)
    assert seen.limit == pytest.approx(in_nats)
    assert torch.equal(seen.kept, seen.entropy <= seen.limit)
    logits = torch.einsum("nd,kmd->nk", x, z) / 2 / 0.1
    torch.testing.assert_close(seen.probability, logits.softmax(1), atol=1e-5, rtol=0)
    assert torch.equal(seen.label, seen.probability.argmax(1))


# --- Procrustes


def cached(
    seed: int, counts: list[int], slots: int, width: int
) -> tuple[torch.Tensor, torch.Tensor]:
    features = torch.zeros(len(counts), slots, width)
    for k, count in enumerate(counts):
        features[k, :count] = cloud(seed + k, count, width)
    return features, torch.tensor(counts)


@quantified
@given(seeds, st.integers(1, 5), st.sampled_from(["svd", "smallest_rotation"]))
def test_alignment_is_orthogonal_reaches_zbar_and_is_as_good_as_scipys(
    seed: int, count: int, completion: str
) -> None:
    features, counts = cached(seed, [count, 5], 5, 8)
    mean = cloud(seed + 50, 2, 8) * 0.9
    result = align(features, counts, mean, completion)
    for k, n in enumerate(counts.tolist()):
        before = features[k, :n].numpy().astype(float)
        after = result.aligned[k, :n].numpy().astype(float)
        zbar = mean[k].numpy().astype(float)
        np.testing.assert_allclose(after @ after.T, before @ before.T, atol=1e-5)
        reached = after.sum(0)
        np.testing.assert_allclose(unit(reached), unit(zbar), atol=1e-5)
        target = np.tile(zbar, (n, 1))
        best, _ = orthogonal_procrustes(before, target)
        ours = np.linalg.norm(after - target)
        assert ours == pytest.approx(np.linalg.norm(before @ best - target), abs=1e-5)
        assert float(result.strength[k]) == pytest.approx(
            np.linalg.norm(before.sum(0)) / n, abs=1e-5
        )
        cosine = float(unit(before.sum(0)) @ unit(zbar))
        assert float(result.angle[k]) == pytest.approx(np.arccos(cosine), abs=1e-3)
        assert float(result.aligned[k, n:].abs().sum()) == 0.0


@quantified
@given(seeds)
def test_the_smallest_rotation_is_the_rotation_in_one_plane(seed: int) -> None:
    features, counts = cached(seed, [3], 3, 8)
    mean = cloud(seed + 9, 1, 8) * 0.7
    x = features[0].numpy().astype(float)
    w = plane_rotation(unit(x.sum(0)), unit(mean[0].numpy().astype(float)))
    np.testing.assert_allclose(w @ w.T, np.eye(8), atol=1e-12)
    ours = align(features, counts, mean, "smallest_rotation").aligned[0].numpy()
    np.testing.assert_allclose(ours, x @ w, atol=1e-5)


@pytest.mark.parametrize("completion", ["svd", "smallest_rotation"])
def test_one_cached_view_becomes_the_mean_prompt(completion: str) -> None:
    features, counts = cached(5, [1, 1], 3, 8)
    mean = cloud(6, 2, 8) * 0.8
    result = align(features, counts, mean, completion)
    expected = torch.nn.functional.normalize(mean, dim=-1)
    torch.testing.assert_close(result.aligned[:, 0], expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("kind", ["opposite", "cancelling"])
def test_a_degenerate_alignment_keeps_the_identity_and_says_so(kind: str) -> None:
    mean = cloud(6, 1, 8)
    first = -mean[0] if kind == "opposite" else cloud(7, 1, 8)[0]
    features = torch.stack([first, first if kind == "opposite" else -first])[None]
    result = align(features, torch.tensor([2]), mean, "smallest_rotation")
    torch.testing.assert_close(result.aligned, features, atol=1e-6, rtol=0)
    assert result.notes[0]


def test_a_sound_alignment_says_nothing() -> None:
    features, counts = cached(5, [2, 0], 3, 8)
    assert align(features, counts, cloud(6, 2, 8), "smallest_rotation").notes[0] == ""


# --- cache


def random_confidence(rng: np.random.Generator, views: int, classes: int) -> Confidence:
    entropy = torch.tensor(rng.permutation(views) / views + rng.uniform(0, 0.5 / views))
    return Confidence(
        probability=torch.full((views, classes), 1 / classes),
        entropy=entropy.float(),
        label=torch.tensor(rng.integers(0, classes, size=views)),
        kept=entropy <= 0.8,
        limit=0.8,
    )


@quantified
@given(seeds, st.integers(1, 4), st.integers(1, 6), st.sampled_from([0, 1, 2]))
def test_the_cache_holds_at_most_j_views_and_the_surest_ones(
    seed: int, slots: int, pictures: int, limit: int
) -> None:
    rng = np.random.default_rng(seed)
    state = memory.empty(3, slots, 4, "key", torch.device("cpu"))
    offered: list[list[tuple[float, int, int]]] = [[], [], []]
    for picture in range(pictures):
        seen = random_confidence(rng, 10, 3)
        before = state
        kept_before = before.entropy.clone()
        state, change = memory.update(
            state, cloud(seed + picture, 10, 4), seen, views_per_image=limit
        )
        assert torch.equal(before.entropy, kept_before), "the old state is a value"
        assert limit == 0 or len(change.events) <= limit
        for n in range(10):
            if bool(seen.kept[n]):
                offered[int(seen.label[n])].append((float(seen.entropy[n]), picture, n))
    assert state.pictures == pictures
    for k in range(3):
        count = int(state.count[k])
        assert count <= slots
        held = [
            (float(state.entropy[k, j]), int(state.born[k, j]), int(state.view[k, j]))
            for j in range(count)
        ]
        assert set(held) <= set(offered[k])
        assert torch.isinf(state.entropy[k, count:]).all()
        assert (state.born[k, count:] == -1).all()
        assert float(state.features[k, count:].abs().sum()) == 0.0
        for entropy, picture, n in held:
            assert entropy <= 0.8
            kept_feature = state.features[k, held.index((entropy, picture, n))]
            given_feature = cloud(seed + picture, 10, 4)[n]
            torch.testing.assert_close(kept_feature, given_feature, atol=1e-6, rtol=0)
        if limit == 0:
            assert sorted(held) == sorted(offered[k])[:slots]


# --- the decision


def decided(settings_: Settings, pictures: int = 3) -> list[Trace]:
    """The last of a few pictures of the toy stream, decided twice from one and the same memory."""
    world = make_world()
    context = torch.tensor(world.context, dtype=torch.float32)
    before = context.clone()
    prompts = Prompts(
        encode=world.encode_torch,
        context=context,
        features=world.encode_torch(context),
        weight=torch.tensor(world.z_weight, dtype=torch.float32),
        temperature=TAU,
    )
    state = memory.empty(K, settings_.slots, D, "toy", torch.device("cpu"))
    for x in world.pictures[: pictures - 1]:
        _, state = decide(torch.tensor(x, dtype=torch.float32), prompts, state, settings_)
    last = torch.tensor(world.pictures[pictures - 1], dtype=torch.float32)
    traces = [decide(last, prompts, state, settings_)[0] for _ in range(2)]
    assert torch.equal(context, before), "the caller's contexts are left as they were"
    assert not context.requires_grad
    assert context.grad is None
    return traces


@pytest.mark.parametrize("preset", list(PRESETS))
@pytest.mark.parametrize("loss", ["marginal", "pointwise", "transport"])
def test_deciding_twice_gives_the_same_bits(preset: str, loss: str) -> None:
    first, second = decided(PRESETS[preset].but(tuning_loss=loss, tuning_steps=3))
    assert float(first.tuning.movement.min()) > 0
    for name in ("prompt_features", "cache_distance", "total", "view_weight"):
        assert torch.equal(getattr(first, name), getattr(second, name)), name
    assert torch.equal(first.prompt.plan, second.prompt.plan)
    assert torch.equal(first.tuning.loss, second.tuning.loss)
    assert first.verdict.label == second.verdict.label


@pytest.mark.parametrize("preset", list(PRESETS))
def test_a_memory_of_no_weight_is_no_memory(preset: str) -> None:
    weightless = decided(PRESETS[preset].but(cache_weight=0.0))[0]
    off = decided(PRESETS[preset].but(protocol="off"))[0]
    assert weightless.cache.count.sum() > 0
    assert float(weightless.cache_distance.abs().sum()) > 0
    assert float(off.cache_distance.abs().sum()) == 0
    assert torch.equal(weightless.total, off.total)
    assert torch.equal(weightless.verdict.probability, off.verdict.probability)
    assert weightless.verdict.label == off.verdict.label


@pytest.mark.parametrize("preset", list(PRESETS))
def test_the_order_of_the_views_changes_nothing(preset: str) -> None:
    world = make_world()
    context = torch.tensor(world.context)
    weight = torch.tensor(world.z_weight)
    prompts = Prompts(world.encode_torch, context, world.encode_torch(context), weight, TAU)
    state = memory.empty(K, 3, D, "toy", torch.device("cpu"), torch.float64)
    x = torch.tensor(world.pictures[0])
    mixed = torch.tensor(np.random.default_rng(2).permutation(len(x)))
    plain, after = decide(x, prompts, state, PRESETS[preset])
    other, after_mixed = decide(x[mixed], prompts, state, PRESETS[preset])
    torch.testing.assert_close(other.total, plain.total, atol=1e-5, rtol=0)
    torch.testing.assert_close(other.prompt.plan, plain.prompt.plan[:, mixed], atol=1e-5, rtol=0)
    torch.testing.assert_close(after_mixed.features, after.features, atol=0, rtol=0)


# --- theorem 1


@quantified
@given(seeds, st.integers(2, 8), st.integers(1, 4))
def test_theorem_one_brackets_twice_the_exact_distance(seed: int, views: int, atoms: int) -> None:
    x, z = cloud(seed, views, 6), cloud(seed + 1, 2, atoms, 6)
    lower, upper, gap, bures = bracket(x, z)
    for k in range(2):
        xx, zz = x.numpy().astype(float), z[k].numpy().astype(float)
        slow = theorem.bracket(xx, zz)
        fast = [float(part[k]) for part in (lower, upper, gap, bures)]
        # square roots of nearly singular covariances: sqrt(1e-8) in float32
        np.testing.assert_allclose(fast, slow, atol=5e-4)
        exact = exact_value(
            cost_matrix(xx, zz), np.full(views, 1 / views), np.full(atoms, 1 / atoms)
        )
        assert fast[0] <= 2 * exact + 5e-4
        assert 2 * exact <= fast[1] + 1e-5
