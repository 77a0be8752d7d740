"""``serve`` and ``open`` from a terminal; the page itself is not started here (tests/e2e/test_zip.py does)."""

from __future__ import annotations

import types
import zipfile
from pathlib import Path

import pytest

from rita_demo import bundle, cli, serving
from tests.ui.conftest import told
from tests.ui.fake import FakeEngine


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """What ``app.serve`` was asked for."""
    calls: list[dict] = []
    app = types.SimpleNamespace(serve=lambda **options: calls.append(options) or 0)
    monkeypatch.setattr(serving, "app", lambda: app)
    return calls


def test_open_reads_the_run_and_serves_it(served: list[dict], tmp_path: Path) -> None:
    story, path = told(FakeEngine()), tmp_path / "run.zip"
    path.write_bytes(bundle.pack(story, "page"))
    assert cli.main(["open", str(path), "--port", "9000", "--backbone", "A:b"]) == 0
    (asked,) = served
    assert (asked["port"], asked["backbone"]) == (9000, "A:b")
    assert asked["run"] == bundle.read(path.read_bytes())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.zip"]  # nothing was unpacked


def test_a_bad_file_ends_with_1_and_one_line(
    served: list[dict], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    no_zip, no_run = tmp_path / "no.zip", tmp_path / "other.zip"
    no_zip.write_bytes(b"hello")
    with zipfile.ZipFile(no_run, "w") as file:
        file.writestr("../evil", b"x")
    for path, sentence in (
        (tmp_path / "gone.zip", "'gone.zip' cannot be read"),
        (tmp_path, "cannot be read"),
        (no_zip, "not a zip file"),
        (no_run, "no such member"),
    ):
        assert cli.main(["open", str(path)]) == 1
        out, err = capsys.readouterr()
        assert sentence in err
        assert (out, err.count("\n")) == ("", 1)
    assert served == []


def test_open_wants_a_file(served: list[dict], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["open"]) == 2
    assert "FILE.zip" in capsys.readouterr().err
    assert cli.main(["open", "x.zip", "--port", "0"]) == 2
    assert served == []
