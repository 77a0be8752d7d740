import torch

from rita_demo.method import transport


def cost(K=3, N=8, M=4, seed=0):
    return torch.rand(K, N, M, generator=torch.Generator().manual_seed(seed))


def test_class_without_mass_gets_an_empty_plan_and_distance_zero():
    column = torch.tensor([[1.0, 1], [0, 0]])
    result = transport(cost(2, 4, 2), torch.ones(4), column, entropy_weight=0.1, objective="entropic")
    assert result.distance[1] == 0
    assert (result.plan[1] == 0).all()
    assert result.distance[0] != 0
    nothing = transport(cost(2, 4, 2), torch.ones(4), torch.zeros(2, 2), entropy_weight=0.1)
    assert (nothing.distance == 0).all()
    assert "no class has any mass" in nothing.outcome


def test_half_precision_comes_out_as_float32_and_float64_stays():
    for given, got in ((torch.float16, torch.float32), (torch.float64, torch.float64)):
        result = transport(cost().to(given), torch.ones(8), torch.ones(3, 4), entropy_weight=0.05)
        assert result.plan.dtype == result.distance.dtype == result.residual.dtype == got


def test_potentials_rebuild_the_plan():
    result = transport(
        cost().double(), torch.ones(8), torch.ones(3, 4), entropy_weight=0.02, transported_mass=0.5, tolerance=1e-12
    )
    f, g = result.potentials
    kernel = ((f[:, :, None] + g[:, None] - result.cost) / 0.02).exp()
    plan = result.row_weight[:, :, None] * result.column_weight[:, None] * kernel
    torch.testing.assert_close(plan, result.plan)


def test_outcome_reports_missing_convergence():
    hard = {"row_weight": torch.ones(8), "column_weight": torch.ones(3, 4), "entropy_weight": 0.001}
    short = transport(cost(), **hard, max_iterations=1)
    assert not short.converged
    assert "limit was reached" in short.outcome
    fine = transport(cost(9, 64, 4), torch.ones(64), torch.ones(9, 4), entropy_weight=0.02, tolerance=1e-12)
    assert fine.converged != ("limit of rounding" in fine.outcome)
    assert fine.checks[-1] < 300
    assert fine.residual[-1] < 1e-5
