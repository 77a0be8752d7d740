"""A full disk while rows are written: an error message, and with more room the same command ends with the numbers of
an uninterrupted run."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rita_demo.cli import main as cli
from rita_demo.data import download
from rita_demo.data.download import download_steps
from rita_demo.records.errors import DataError
from tests.data.test_download import PICTURE, Server, tar_of
from tests.evaluation.conftest import stored_rows

pytestmark = pytest.mark.slow


@contextmanager
def limited_disk(place: Path, kilobytes: int) -> Iterator[Callable[[int], None]]:
    """A file system of that size; yields a function that changes the size. Skips where mounting is not allowed."""

    def mount(options: str) -> int:
        words = ["mount", "-t", "tmpfs", "-o", options, "none", str(place)]
        return subprocess.run(words, capture_output=True, check=False).returncode

    place.mkdir()
    try:
        mounted = mount(f"size={kilobytes}k") == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        pytest.skip(
            "mounting a file system is not allowed here; tests/evaluation/test_rows.py has the limit on a file's size"
        )
    try:
        yield lambda now: mount(f"remount,size={now}k") and pytest.fail("cannot be made larger")
    finally:
        subprocess.run(["umount", str(place)], check=True)


def archive_server(each: int) -> Server:
    """Serves DTD with two classes of so many pictures."""
    names = [f"dtd/images/{c}/{c}_{n}.png" for c in ("dotted", "striped") for n in range(each)]
    return Server(tar_of({name: PICTURE + bytes(range(256)) * 40 for name in names}))


def test_a_full_disk_loses_no_row_and_the_same_command_resumes(command_line, run_evaluate, rows_of, tmp_path, capsys):
    whole = run_evaluate(tmp_path / "whole")
    stops, had = 0, 0
    with limited_disk(tmp_path / "disk", 48) as resize:
        out = tmp_path / "disk" / "runs"
        for kilobytes in (48, 64, 80, 112, 160, 224, 4_096):
            resize(kilobytes)
            capsys.readouterr()
            status = cli.main(command_line(out))
            now = stored_rows(out)
            assert now >= had, "a written row is lost"
            had = now
            if status == 0:
                break
            said = capsys.readouterr().err.strip().splitlines()[-1]
            assert said.startswith("The results cannot be written: no space left on the device.")
            stops += 1
        assert stops >= 3
        assert rows_of(out) == rows_of(whole)


def test_a_download_reports_a_full_disk_and_resumes_with_more_space(tmp_path, monkeypatch) -> None:
    server = archive_server(10)
    monkeypatch.setattr(download, "CHUNK", 512)
    with limited_disk(tmp_path / "disk", 8) as resize:
        root = tmp_path / "disk" / "data"
        dataset = server.dataset("dtd", "dtd.tar.gz")
        with pytest.raises(DataError, match=r"cannot be stored: No space left on device.*Make room"):
            list(download_steps(dataset, root))
        came = (root / "dtd.tar.gz.part").stat().st_size
        assert came > 0
        resize(4_096)
        list(download_steps(dataset, root))
        assert server.ranges == [None, f"bytes={came}-"]
        assert len(list((root / "dtd").rglob("*.png"))) == 20
    server.http.shutdown()
    server.http.server_close()


def test_a_disk_that_fills_while_unpacking_keeps_the_archive(tmp_path: Path) -> None:
    server = archive_server(40)
    dataset, size = server.dataset("dtd", "dtd.tar.gz"), len(server.data)
    with limited_disk(tmp_path / "disk", size // 1024 + 200) as resize:
        root = tmp_path / "disk" / "data"
        for _ in range(2):
            with pytest.raises(DataError, match=r"No space left on device.*Make room"):
                list(download_steps(dataset, root))
            assert [(p.name, p.stat().st_size) for p in root.iterdir()] == [("dtd.tar.gz.part", size)]
        resize(8_192)
        list(download_steps(dataset, root))
        assert server.ranges == [None, *[f"bytes={size}-"] * 2]
        assert len(list((root / "dtd").rglob("*.png"))) == 80
        assert [p.name for p in root.iterdir()] == ["dtd"]
    server.http.shutdown()
    server.http.server_close()
