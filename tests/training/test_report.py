"""The numbers of the model card are printed by a function that runs on any open_clip folder."""

import json
import re
from pathlib import Path

import pytest

from rita_demo.training.model_config import build_model, export
from rita_demo.training.report import report
from tests.training.drawn_data import TINY, draw_data


@pytest.mark.slow
def test_the_report_lists_accuracies_with_n(tmp_path: Path) -> None:
    export(build_model(TINY, seed=0).state_dict(), TINY, [1, 2], tmp_path / "model")
    lines: list[str] = []
    report(tmp_path / "model", draw_data(tmp_path / "data"), "val", print_line=lines.append)
    text = "\n".join(lines)
    assert "val, Caltech101 (3 prompts): " in text
    assert "DTD, all 47 names (47 prompts)" in text
    assert len(re.findall(r"drawn textures \(47 prompts\): [\d.]+ % \(n = 470, [\d.]+ to [\d.]+\)", text)) == 1
    assert json.loads((tmp_path / "model" / "seen_tokens.json").read_text()) == [1, 2]
