"""The attacker who sends pictures before: what the memory can change, on two drawn textures."""

import pytest

from rita_demo.bench import poisoned_memory
from rita_demo.bench.poisoned_memory import CHOICES, Experiment, table
from rita_demo.engine.engine import Engine

pytestmark = pytest.mark.slow


def test_poisons_are_remembered_and_with_one_place_per_class_they_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One remembered view is turned onto its class's mean prompt, whichever view it is (definition 10)."""
    monkeypatch.setattr(poisoned_memory, "HONEST", 4)
    monkeypatch.setattr(poisoned_memory, "POISONS", 2)
    experiment = Experiment(Engine("embedded"), "textures", None, "test", 2, 16)
    assert all(cache.pictures == 4 for cache in experiment.honest.values())
    found = experiment.outcomes()
    assert {name for _, name in found} == set(CHOICES)
    assert any(one.entered for outcomes in found.values() for one in outcomes)
    for (kind, name), outcomes in found.items():
        for one in outcomes:
            assert all(margin > 0 for margin, right in zip((one.honest, one.poisoned), one.right) if right)
            if "J 1" in name:
                assert one.poisoned == pytest.approx(one.honest, abs=1e-4), kind
    monkeypatch.setattr(experiment, "outcomes", lambda: found)
    assert table(experiment).count("\n| ") == len(found)
