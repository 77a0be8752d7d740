"""Outputs that a person names are replaced whole or not at all, uploads go to this user's folder, and an error is one sentence."""

import os
import resource
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rita_demo.process import output_file
from rita_demo.process.output_file import check_output, choose_upload_folder, own_temp_folder, write_output
from rita_demo.records.errors import DataError

OLD, NEW = b"before", b"after" * 1000


@contextmanager
def full_disk() -> Iterator[None]:
    """No file of this process grows beyond 1000 bytes: the same kind of error as on a full disk. Only around the call that is
    tested: what pytest writes may go into a file, too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_on_a_full_disk_the_earlier_file_is_as_it_was_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "run.zip"
    path.write_bytes(OLD)
    for one in (path, tmp_path / "new.zip"):
        with full_disk(), pytest.raises(DataError) as error:
            write_output(one, NEW)
        assert str(error.value) == f"{one} could not be written: File too large."
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("run.zip", OLD)]


def test_ctrl_c_while_it_is_written_leaves_the_earlier_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.json").write_bytes(OLD)
    monkeypatch.setattr(output_file.Path, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_output(tmp_path / "a.json", NEW)
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("a.json", OLD)]


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_stays_a_link(is_there: bool, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "a.csv", tmp_path / "link.csv"
    link.symlink_to("elsewhere/a.csv")
    if is_there:
        target.write_bytes(OLD)
    check_output(link)
    write_output(link, NEW)
    assert link.is_symlink()
    assert target.read_bytes() == NEW
    assert not target.is_symlink()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (".", "Is a directory"),
        ("gone/a.json", "No such file or directory"),
        ("n" * 256, "File name too long"),
        ("loop", "Too many levels of symbolic links"),
    ],
)
def test_what_cannot_be_written_is_named_with_the_systems_reason_before_the_work_and_after(name, reason, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    path = tmp_path / name
    for function, what in (
        (check_output, "cannot be written"),
        (lambda p: write_output(p, NEW), "could not be written"),
    ):
        with pytest.raises(DataError) as error:
            function(path)
        assert str(error.value) == f"{path} {what}: {reason}."


# --- temporary folders, where the system's one is shared with other users or cannot be written


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


def test_a_folder_of_another_user_or_one_that_cannot_be_written_is_a_sentence(system_folder, monkeypatch) -> None:
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
