"""Temporary folders where the system's one is shared with other users, or cannot be written."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from rita_demo.process.output_file import choose_upload_folder, own_temp_folder
from rita_demo.records.errors import DataError
from tests.live_server import ROOT


@pytest.fixture
def system_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's temporary folder; another program or user has taken Gradio's name in it."""
    (tmp_path / "gradio").write_text("not a folder")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv("GRADIO_TEMP_DIR", raising=False)
    return tmp_path


def test_uploads_go_to_a_folder_that_only_this_user_can_open(system_folder: Path) -> None:
    choose_upload_folder()
    folder = Path(os.environ.pop("GRADIO_TEMP_DIR"))
    assert folder.is_dir()
    assert folder.parent == system_folder / f"rita-{os.getuid()}"
    assert folder.parent.stat().st_mode & 0o777 == 0o700
    assert own_temp_folder("uploads") == folder, "the same at the next start"


def test_a_named_folder_is_used_and_made(system_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(system_folder / "a" / "b"))
    choose_upload_folder()
    assert os.environ["GRADIO_TEMP_DIR"] == str(system_folder / "a" / "b")
    assert (system_folder / "a" / "b").is_dir()
    assert not list((system_folder / "a" / "b").iterdir())


def test_a_folder_of_another_user_or_one_that_cannot_be_written_is_a_sentence(
    system_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_temp_folder("x")
    real = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: real + 1)
    (system_folder / f"rita-{real}").rename(system_folder / f"rita-{real + 1}")
    with pytest.raises(DataError, match=r"another user's") as caught:
        choose_upload_folder()
    assert caught.value.hint == "Set GRADIO_TEMP_DIR to a folder of your own."
    (system_folder / f"rita-{real + 1}").rmdir()
    (system_folder / f"rita-{real + 1}").symlink_to(system_folder / "nowhere")
    with pytest.raises(DataError, match="Nothing can be written"):
        choose_upload_folder()
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(system_folder / "gradio" / "uploads"))
    with pytest.raises(DataError, match="Uploads cannot be stored in"):
        choose_upload_folder()


@pytest.mark.slow
def test_the_start_ends_with_one_sentence_that_names_the_variable(tmp_path: Path) -> None:
    environment = os.environ | {"GRADIO_TEMP_DIR": "/dev/null/uploads"}
    run = subprocess.run([sys.executable, "app.py"], cwd=ROOT, env=environment, capture_output=True, text=True)
    last = run.stderr.splitlines()[-1]
    assert (run.returncode, "Traceback" in run.stderr) == (1, False)
    assert "/dev/null/uploads" in last
    assert "GRADIO_TEMP_DIR" in last
