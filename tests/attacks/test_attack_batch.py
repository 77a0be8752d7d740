"""Several squares attacked as one batch: each gets what it gets alone."""

from __future__ import annotations

import pytest
import torch

from rita_demo.attacks import ATTACKS
from rita_demo.attacks.run import attack_batch
from rita_demo.records.errors import SettingError
from rita_demo.settings import RECOMMENDED
from tests.attacks.test_attacks import QUICK, TinyModel, model, picture, run

__all__ = ["model"]  # the fixture
BATCHABLE = [name for name, row in ATTACKS.items() if not row.access_with(RECOMMENDED)]


@pytest.mark.parametrize("name", BATCHABLE)
def test_batch_results_equal_single_picture_results(model: TinyModel, name: str) -> None:
    pictures, labels, seeds = [picture(n) for n in range(3)], [0, 3, 4], [5, 6, 7]
    asked = {"name": name, "budget": 8, "steps": 4, "own": QUICK.get(name)}
    found = attack_batch(model, torch.stack(pictures), labels, seeds=seeds, **asked)
    for one, pixels, label, seed in zip(found, pictures, labels, seeds, strict=True):
        given = {"pixels": pixels, "label": label, "seed": seed, "budget": 8, "steps": 4}
        alone = run(model, **{"name": name} | given)[1]
        assert (one.label, one.fooled, one.already_wrong) == (label, alone.fooled, alone.already_wrong)
        # an iterate on the edge between two levels may fall to the other side in a batch
        assert (one.pixels != alone.pixels).float().mean() < 0.02
        assert one.linf == pytest.approx(alone.linf, abs=1)
        torch.testing.assert_close(one.probability[-1], alone.probability[-1], atol=0.02, rtol=0)


def test_a_batch_accepts_targets_and_is_validated(model: TinyModel) -> None:
    squares = torch.stack([picture(0), picture(1)])
    asked = {"name": "pgd", "budget": 16, "steps": 10, "seeds": [0, 1]}
    aimed = attack_batch(model, squares, [0, 1], targets=[2, 3], **asked)
    assert [trace.target for trace in aimed] == [2, 3]
    with pytest.raises(SettingError, match="budget"):
        attack_batch(model, squares, [0, 1], **asked | {"budget": 300})
    with pytest.raises(ValueError, match="sampled_logits"):
        attack_batch(model, squares, [0, 1], **asked | {"name": "eot"})
