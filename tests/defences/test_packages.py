"""Defences of installed packages: evaluated as one of a file, and again when the package is edited."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rita_demo.data.pictures import png_bytes
from tests.textures import texture

DEFENCE = """\
from rita_demo.defences.contract import Defence, answer_of
{logits}
DEFENCE = Defence(name="{name}", title="Packed", sentence="CLIP again.", answer=answer_of(logits))
"""
LOGITS = """
def logits(inputs):
    return {factor} * inputs.views[0] @ inputs.template_features.T / inputs.temperature
"""


def install(site: Path, **factors: object) -> None:
    """What pip leaves of a package "packed" of one module and of "parted", which has the function in a module of its own."""
    for name, factor in factors.items():
        info = site / f"{name}-1.0.dist-info"
        info.mkdir(parents=True, exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[rita_demo.defences]\n{name} = {name}:DEFENCE\n")
        logits = LOGITS.format(factor=factor)
        if name == "parted":
            (site / name).mkdir(exist_ok=True)
            (site / name / "part.py").write_text(logits)
            logits = "from parted.part import logits"
        place = site / name / "__init__.py" if name == "parted" else site / f"{name}.py"
        place.write_text(DEFENCE.format(name=name, logits=logits))


@pytest.mark.nightly
@pytest.mark.slow
def test_an_edited_package_is_measured_again_and_the_same_one_is_not(tmp_path: Path, tiny_model_dir: Path) -> None:
    for name in ("cup", "crab"):
        (tmp_path / "toys" / name).mkdir(parents=True)
        (tmp_path / "toys" / name / "1.png").write_bytes(png_bytes(texture("dotted", len(name), 64)))

    def evaluate(methods: str, **edited: object) -> subprocess.CompletedProcess[str]:
        install(tmp_path / "site", **edited)
        words = ["--data-root", ".", "--dataset", "toys", "--split", "all", "--methods", methods, "--attack", "none"]
        words += ["--budget", "4", "--set", "views=2", "--backbone", f"local-dir:{tiny_model_dir}", "--out", "runs"]
        command, path = [sys.executable, "-m", "rita_demo", "evaluate", *words], f"{tmp_path / 'site'}:{os.getcwd()}"
        more = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(command, cwd=tmp_path, env=os.environ | more, capture_output=True, text=True)

    for edited, new in (({"packed": 1, "parted": 1}, 4), ({"parted": 3}, 2)):
        done = evaluate("packed,parted", **edited)
        assert done.returncode == 0, done.stderr
        assert f"4 rows, {new} of them new" in done.stdout
    failed = evaluate("packed,parted", packed="nothing", parted="nothing")
    assert failed.returncode == 1
    for place in ("packed.py, line 4", "part.py, line 3"):
        assert f"{place}: NameError: name 'nothing' is not defined" in failed.stderr
