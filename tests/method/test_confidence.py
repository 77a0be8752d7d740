import pytest
import torch

from rita_demo.method import assess, cosine_cost, view_weight
from rita_demo.settings import RECOMMENDED
from tests.method.toy_models import prompts, units


def confidence_of(x, p, **changes):
    return assess(x, p.features, p.weight, p.temperature, RECOMMENDED.replace(max_entropy=0.8, **changes))


def test_one_class_is_certain():
    c = confidence_of(units(0, 3, 16), prompts(K=1), entropy_unit="share_of_log_k")
    assert (c.entropy == 0).all()
    assert c.kept.all()


@pytest.mark.parametrize("kind", ["uniform", "confidence", "agreement"])
@pytest.mark.parametrize("N", [1, 2, 30])
def test_view_weights_sum_to_one(kind, N):
    p = prompts()
    x = units(0, N, 16)
    w = view_weight(x.half(), confidence_of(x, p), kind)
    assert w.shape == (N,)
    assert float(w.sum()) == pytest.approx(1, abs=1e-5)


def test_cost_of_half_precision_features_stays_in_range():
    x = units(0, 4, 64).half()
    cost = cosine_cost(x, x[None])
    assert cost.dtype == torch.float32
    assert cost.min() >= 0
    torch.testing.assert_close(cost[0].diagonal(), torch.zeros(4), atol=1e-6, rtol=0)
