"""The line below the verdicts: device and times."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from rita_demo.process import environment
from rita_demo.records import Run
from rita_demo.ui.panels.verdict_table import times


@pytest.mark.parametrize(
    ("device", "chosen", "cards", "works", "said"),
    [
        ("cpu", "", 1, False, True),
        ("cpu", "cpu", 1, False, False),
        ("cuda", "", 1, True, False),
        ("cpu", "", 0, False, False),
        ("cpu", "", 1, True, False),  # a run from another machine, as the stored example
        ("cpu", "", 1, None, False),  # the same before torch is loaded
    ],
)
def test_a_graphics_card_that_torch_cannot_use_is_said_on_the_page(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    device: str,
    chosen: str,
    cards: int,
    works: bool | None,
    said: bool,
    example_run: Run,
) -> None:
    for number in range(cards):
        (tmp_path / f"card{number}").mkdir()
    monkeypatch.setattr(environment, "GRAPHICS_CARDS", tmp_path)
    monkeypatch.setenv("RITA_DEVICE", chosen)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: works)
    if works is None:
        monkeypatch.delitem(sys.modules, "torch")
    run = replace(example_run, backbone=replace(example_run.backbone, device=device))
    assert ("torch cannot use this machine&#39;s graphics card" in times(run)) == said
