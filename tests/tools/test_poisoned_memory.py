"""The attacker who sends pictures before: what the memory can change, on two drawn textures."""

import pytest

from rita_demo.engine.engine import Engine
from rita_demo.evaluation.pictures import collect
from tools.bench import poisoned_memory
from tools.bench.poisoned_memory import CHOICES, measure, table

pytestmark = pytest.mark.nightly


def test_poisons_are_remembered_and_with_one_place_per_class_they_change_nothing(monkeypatch) -> None:
    """One remembered view is turned onto its class's mean prompt, whichever view it is (definition 10)."""
    monkeypatch.setattr(poisoned_memory, "POISONS", 2)
    later, honest = (
        collect("textures", None, split, limit=n, allow_partial=True) for split, n in (("test", 2), ("val", 4))
    )
    found = measure(Engine("embedded"), later, honest, 16)
    assert {name for _, name in found} == set(CHOICES)
    assert any(one.entered for outcomes in found.values() for one in outcomes)
    for (kind, name), outcomes in found.items():
        for one in outcomes:
            assert all(margin > 0 for margin, right in zip(one.margins[1:], one.right) if right)
            if "J 1" in name:
                assert one.margins[2] == pytest.approx(one.margins[1], abs=1e-4), kind
    assert table(found).count("\n| ") == len(found)
