"""Measuring under attacks through crops, by an attacker who knows the defence, and by AutoAttack."""

from pathlib import Path

import pytest

from rita_demo.cli import main as cli
from rita_demo.evaluation.report.cells import as_csv, cells
from tests.evaluation.conftest import headers
from tests.evaluation.frames import overview

MASKED = """
from rita_demo.defences.contract import Adaptive, Defence, verdict_of

def logits(inputs):
    return (inputs.views.mul(8).round().div(8) @ inputs.template_features.T / inputs.temperature).mean(0)

MASKED = Defence(
    name="masked", title="Masked", sentence="Rounds the features, so that no gradient passes.",
    answer=lambda inputs: verdict_of(logits(inputs).softmax(-1)), adaptive=Adaptive("exact", logits),
)
"""


@pytest.mark.slow
def test_measured_under_the_attack_through_the_defence_with_its_threat_model(run_evaluate, rows_of, tmp_path) -> None:
    more = ("--attack", "adaptive:rita", "--protocols", "off,stream", "--set", "attack_views=3", "--limit", "4")
    out = run_evaluate(tmp_path / "runs", *more, "--set", "adaptive.steps=2", "--set", "adaptive.restarts=1")
    found = rows_of(out).values()
    assert [len(rows) for rows in found] == [4] * 4  # clip, ensemble, rita off and stream
    assert all(0 < row["linf"] <= 4 for rows in found for row in rows)
    for header in headers(out):
        threat = " ".join(header.facts["threat"])
        assert all(words in threat for words in ("The attacker knows RITA", "with 3 fresh views each", "held fixed"))
        empty = "The attack uses an empty memory for every picture." in threat
        assert empty == (header.columns["protocol"] == "off")


def test_autoattack_counts_untouched_pictures(run_evaluate, rows_of, tmp_path: Path) -> None:
    pytest.importorskip("pyautoattack")
    more = ("--attack", "autoattack", "--budget", "16", "--dataset", "dtd", "--methods", "clip")
    out = run_evaluate(tmp_path / "runs", *more, "--limit", "3", "--allow-partial")
    (rows,) = rows_of(out).values()
    left = [row for row in rows if row["already_wrong"]]
    assert left
    assert all(row["linf"] == 0 and not row["right"] for row in left)
    text = overview(out)
    assert f"already wrong, so left untouched: {len(left)} of 3 pictures." in text
    assert ",autoattack,16,100,off," in as_csv(cells(out))


@pytest.mark.nightly
@pytest.mark.usefixtures("no_plugins_afterwards")
def test_a_masked_gradient_is_flagged_and_an_honest_one_is_not(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("masked.py").write_text(MASKED)
    few = "evaluate --dataset textures --split test --limit 5 --budget 4 --set views=8 --set attack_views=4 --out runs"
    few += " --methods clip,ensemble,masked.py:MASKED --protocols off --attack "
    for attack in ("none,pgd", "adaptive --steps 8 --set adaptive.restarts=1"):
        assert cli.main((few + attack).split()) == 0
    capsys.readouterr()
    assert cli.main(["tables", "runs"]) == 0
    said = capsys.readouterr().out
    told = {line.partition(",")[0]: line for line in said.splitlines() if "masking" in line}
    assert "Signs of masking" in told["Masked"]
    assert "is its gradient far smaller than CLIP's?" in told["Masked"].partition("Yes.")[0]
    assert "No sign of masking was found" in told["Ensemble"]
    assert "No sign of masking was found" in told["CLIP (1 view)"]
    assert "Not checked: do queries alone" in told["Ensemble"]
