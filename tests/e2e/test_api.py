"""The README's lines for programs, against the real server."""

import re
from pathlib import Path

import pytest

from rita_demo.data.pictures import png_bytes
from rita_demo.data.samples import SAMPLES
from tests.live_server import ROOT

pytestmark = pytest.mark.e2e


def test_the_lines_of_the_readme_print_answers_of_all_methods(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("## From a program")[2]
    lines = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert lines is not None
    monkeypatch.chdir(tmp_path)
    Path("picture.jpg").write_bytes(png_bytes(SAMPLES["coffee"].load(square="picture", side=128).pixels))
    exec(lines[1].replace("http://127.0.0.1:7860", address), {})
    assert "'ensemble': 'cup'" in capsys.readouterr().out
