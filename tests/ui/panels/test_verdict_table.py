"""The first line of the tab, and the line below the verdicts: device and times."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from rita_demo.process import graphics_card
from rita_demo.records import Run
from rita_demo.ui.panels.verdict_table import says, times


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
    monkeypatch.setattr(graphics_card, "CARDS", tmp_path)
    monkeypatch.setenv("RITA_DEVICE", chosen)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: works)
    if works is None:
        monkeypatch.delitem(sys.modules, "torch")
    run = replace(example_run, backbone=replace(example_run.backbone, device=device))
    assert ("torch cannot use this machine&#39;s graphics card" in times(run)) == said


def test_the_first_line_counts_who_is_right_on_both_pictures(example_run: Run, failed_run: Run) -> None:
    for run in (example_run, failed_run):
        right = {
            side: sum(getattr(run, side).verdicts[name].label == run.label for name in run.answered)
            for side in ("clean", "attacked")
        }
        found = (
            f"{right['attacked']} of {len(run.answered)} methods have the attacked picture right, {right['clean']} the"
        )
        assert f"One picture among 4 class names; attack: PGD 4/255. {found} clean one." in says(run)


def test_without_a_true_class_the_first_line_counts_answers(example_run: Run, defend_only_run: Run) -> None:
    run = replace(example_run, label_given=False)
    changed = [run.clean.verdicts[name].label != run.attacked.verdicts[name].label for name in run.answered]
    assert f"{sum(changed)} of {len(changed)} methods change their answer." in says(run)
    assert "right" not in says(run)
    answers = {verdict.label for verdict in defend_only_run.attacked.verdicts.values()}
    assert f"{len(defend_only_run.answered)} methods give {len(answers)} answer" in says(defend_only_run)
    assert "attack" not in says(defend_only_run)
