"""A defence that is broken on purpose, so that its gradient is zero: the tables say so, and not of an honest one."""

from pathlib import Path

import pytest

from rita_demo.cli.main import main
from rita_demo.defences.registry import DEFENCES

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
def test_a_masked_gradient_is_flagged_and_an_honest_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("masked.py").write_text(MASKED)
    few = [
        "--dataset",
        "textures",
        "--split",
        "test",
        "--limit",
        "5",
        "--budget",
        "4",
        "--set",
        "views=8",
        "--set",
        "attack_views=4",
        "--out",
        "runs",
    ]
    methods = ["--methods", "clip,ensemble,masked", "--defence", "masked.py:MASKED", "--protocols", "off"]
    try:
        for more in (["none,pgd"], ["adaptive", "--steps", "8", "--set", "adaptive.restarts=1"]):
            assert main(["evaluate", *few, *methods, "--attack", *more]) == 0
        capsys.readouterr()
        assert main(["tables", "runs"]) == 0
        said = capsys.readouterr().out
    finally:
        DEFENCES.pop("masked", None)
    told = {line.partition(",")[0]: line for line in said.splitlines() if "masking" in line}
    assert "Signs of masking" in told["Masked"]
    assert "is its gradient far smaller than CLIP's?" in told["Masked"].partition("Yes.")[0]
    assert "No sign of masking was found" in told["Ensemble"]
    assert "No sign of masking was found" in told["CLIP (1 view)"]
    assert "Not checked: do queries alone" in told["Ensemble"]
