"""A defence of an installed package: evaluated as one of a file, and again when the package is edited."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rita_demo.data import textures
from rita_demo.data.pictures import png_bytes

FIRST = """\
from rita_demo.defences.contract import Defence, answer_of
{imports}
{logits}
DEFENCE = Defence(name="packed", title="Packed", sentence="CLIP again.", answer=answer_of(logits))
"""
LOGITS = """
def logits(inputs):
    return {factor} * inputs.views[0] @ inputs.template_features.T / inputs.temperature
"""


def install(site: Path, factor: float, parts: bool) -> None:
    """What pip leaves of a package "packed": one module, or a package with the function in a module of its own."""
    info = site / "packed-1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: packed\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rita_demo.defences]\npacked = packed:DEFENCE\n")
    logits = LOGITS.format(factor=factor)
    if parts:
        (site / "packed").mkdir(exist_ok=True)
        (site / "packed" / "__init__.py").write_text(FIRST.format(imports="from packed.part import logits", logits=""))
        (site / "packed" / "part.py").write_text(logits)
    else:
        (site / "packed.py").write_text(FIRST.format(imports="", logits=logits))


@pytest.mark.slow
@pytest.mark.parametrize("parts", [False, True])
def test_an_edited_package_is_measured_again_and_the_same_one_is_not(tmp_path, tiny_model_dir, parts) -> None:
    for name in ("cup", "crab"):
        (tmp_path / "toys" / name).mkdir(parents=True)
        (tmp_path / "toys" / name / "1.png").write_bytes(png_bytes(textures.draw("dotted", len(name), 64)))

    def evaluate() -> subprocess.CompletedProcess[str]:
        words = ["--data-root", ".", "--dataset", "toys", "--split", "all", "--methods", "packed", "--attack", "none"]
        words += ["--budget", "4", "--set", "views=2", "--backbone", f"local-dir:{tiny_model_dir}", "--out", "runs"]
        command, path = [sys.executable, "-m", "rita_demo", "evaluate", *words], f"{tmp_path / 'site'}:{os.getcwd()}"
        more = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(command, cwd=tmp_path, env=os.environ | more, capture_output=True, text=True)

    new = []
    for factor in (1, 1, 3):
        install(tmp_path / "site", factor, parts)
        done = evaluate()
        assert done.returncode == 0, done.stderr
        new.append(done.stdout.partition(" rows, ")[2].partition(" of them")[0])
    assert new == ["2", "0", "2"]
    install(tmp_path / "site", "nothing", parts)
    failed = evaluate()
    assert failed.returncode == 1
    name = "part.py, line 3" if parts else "packed.py, line 5"
    assert f"{name}: NameError: name 'nothing' is not defined" in failed.stderr
