"""The line below the verdicts: device and times."""

from dataclasses import replace
from pathlib import Path

import pytest

from rita_demo.process import graphics_card
from rita_demo.records import Run
from rita_demo.ui.panels.verdict_table import times


@pytest.mark.parametrize(
    ("device", "chosen", "cards", "said"),
    [("cpu", "", 1, True), ("cpu", "cpu", 1, False), ("cuda", "", 1, False), ("cpu", "", 0, False)],
)
def test_a_graphics_card_that_torch_cannot_use_is_said_on_the_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, device: str, chosen: str, cards: int, said: bool, example_run: Run
) -> None:
    for number in range(cards):
        (tmp_path / f"card{number}").mkdir()
    monkeypatch.setattr(graphics_card, "CARDS", tmp_path)
    monkeypatch.setenv("RITA_DEVICE", chosen)
    run = replace(example_run, backbone=replace(example_run.backbone, device=device))
    assert ("graphics card that torch cannot use" in times(run)) == said
