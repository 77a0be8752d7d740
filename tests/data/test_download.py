"""Downloads from a local server: progress, interruptions, a wrong checksum, no server."""

import hashlib
import io
import re
import socket
import tarfile
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rita_demo.data import download
from rita_demo.data.datasets import DATASETS, Dataset, dataset_status, load_split, uses_random_split
from rita_demo.data.download import DownloadProgress, download_steps
from rita_demo.records.errors import DataError
from tests.data.hostile import encoded, photo


class Server:
    """Serves one file. Once, ``cut`` closes the connection after that many bytes, and ``silent`` keeps it open
    without a byte for that many seconds before."""

    def __init__(self, data: bytes) -> None:
        self.data, self.cut, self.ranges = data, None, []
        self.resumes, self.silent, self.tells_length, self.encoding, outer = True, 0.0, True, "", self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked = self.headers.get("Range")
                outer.ranges.append(asked)
                begin = int(re.findall(r"bytes=(\d+)-", asked)[0]) if asked and outer.resumes else 0
                if begin >= len(outer.data):
                    self.send_error(416)
                    return
                self.send_response(206 if begin else 200)
                if outer.tells_length:
                    self.send_header("Content-Length", str(len(outer.data) - begin))
                if outer.encoding:
                    self.send_header("Content-Encoding", outer.encoding)
                self.end_headers()
                end, outer.cut = outer.cut, None
                self.wfile.write(outer.data[begin:end])
                self.wfile.flush()
                silent, outer.silent = outer.silent, 0.0
                time.sleep(silent)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, args=[0.01], daemon=True).start()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.http.shutdown()
        self.http.server_close()

    def dataset(self, name: str, file: str, **changes: Any) -> Dataset:
        """A dataset whose archive is this server's file, with ``changes`` of it."""
        row, url = DATASETS[name], f"http://127.0.0.1:{self.http.server_port}/{file}"
        known: dict[str, Any] = {"url": url, "md5": hashlib.md5(self.data).hexdigest()}
        return replace(row, archive=replace(row.archive, **known | changes))


def tar_of(pictures: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, data in pictures.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


PICTURE = encoded(photo(48, 48))


@pytest.fixture
def dtd() -> Iterator[Server]:
    names = [f"dtd/images/{c}/{c}_{n}.png" for c in ("dotted", "striped") for n in range(10)]
    with Server(tar_of(dict.fromkeys([*names, "dtd/labels/train1.txt"], PICTURE))) as server:
        yield server


def fetch(server: Server, root: Path, **changes: object) -> list[DownloadProgress]:
    """Every progress of a download of DTD; ``changes`` of its archive."""
    return list(download_steps(server.dataset("dtd", "dtd.tar.gz", **changes), root))


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "CHUNK", 512)
    monkeypatch.setattr(download, "PROGRESS_SECONDS", 0.01)


def test_download_reports_progress_and_gives_a_usable_dataset_with_a_random_split(dtd: Server, tmp_path: Path) -> None:
    dtd.encoding = "x-gzip"  # as some servers call a .tar.gz, which browsers unpack
    steps = fetch(dtd, tmp_path)
    assert [s.done for s in steps] == sorted(s.done for s in steps)
    assert {s.total for s in steps} - {0} == {len(dtd.data)}
    assert steps[-1].sentence == "Describable Textures is here"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dtd"]
    assert uses_random_split("dtd", tmp_path)
    row = next(row for row in dataset_status(tmp_path) if row.name == "dtd")
    assert row.usable
    assert "train 10, val 4, test 6. A random split (seed 0)" in row.sentence
    splits = {name: load_split("dtd", tmp_path, name) for name in ("train", "val", "test")}
    paths = [path for rows in splits.values() for path, _, _ in rows]
    assert len(set(paths)) == len(paths) == 20
    assert {(k, name) for _, k, name in splits["val"]} == {(0, "dotted"), (1, "striped")}
    assert splits["test"] == load_split("dtd", tmp_path, "test")


@pytest.mark.parametrize(
    ("resumes", "tells_length", "silent"),
    [(True, True, 0), (False, True, 0), (True, False, 0), (True, True, 30)],
    ids=["server resumes", "server starts again", "length is unknown", "server stalls"],
)
def test_an_interrupted_download_resumes_where_it_stopped(
    dtd: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resumes: bool, tells_length: bool, silent: float
) -> None:
    monkeypatch.setattr(download, "TIMEOUT_SECONDS", 0.5)
    dtd.cut, dtd.resumes, dtd.silent, begin = 1024, resumes, silent, time.monotonic()
    with pytest.raises(DataError, match=r"broke after 0\.0 MB.*goes on where it stopped"):
        fetch(dtd, tmp_path)
    assert time.monotonic() - begin < 25
    assert (tmp_path / "dtd.tar.gz.part").stat().st_size == 1024
    dtd.tells_length = tells_length
    steps = fetch(dtd, tmp_path)
    assert dtd.ranges == [None, "bytes=1024-"]
    assert steps[-2].total == len(dtd.data)
    assert load_split("dtd", tmp_path, "train")


@pytest.mark.slow
def test_cancelling_keeps_the_partial_file_and_releases_the_lock(dtd: Server, tmp_path: Path) -> None:
    dtd.cut, dtd.silent = 1024, 1.0
    first = download_steps(dtd.dataset("dtd", "dtd.tar.gz"), tmp_path)
    next(first)
    with pytest.raises(DataError, match="being fetched right now"):
        fetch(dtd, tmp_path)
    first.close()
    came = (tmp_path / "dtd.tar.gz.part").stat().st_size
    fetch(dtd, tmp_path)
    assert dtd.ranges == [None, f"bytes={came}-"]
    assert came in (512, 1024)
    assert load_split("dtd", tmp_path, "test")


def test_a_wrong_checksum_gives_an_error_message_and_deletes_the_file(dtd: Server, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"not dtd\.tar\.gz: its checksum is another one"):
        fetch(dtd, tmp_path, md5="0" * 32)
    assert list(tmp_path.iterdir()) == []


def test_unreachable_server_and_not_found_give_error_messages(dtd: Server, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/dtd.tar.gz"
        with pytest.raises(DataError, match="cannot be reached from here"):
            fetch(dtd, tmp_path, url=url)
    dtd.data = b""
    with pytest.raises(DataError, match="answers 416"):
        fetch(dtd, tmp_path)


def test_a_complete_archive_is_not_fetched_again_and_complete_pictures_stay(dtd: Server, tmp_path: Path) -> None:
    (tmp_path / ".unpacking-dtd/dtd/images/dotted").mkdir(parents=True)  # as a kill while unpacking leaves it
    (tmp_path / ".unpacking-dtd/dtd/images/dotted/half.png").write_bytes(b"half")
    for _ in range(2):
        (tmp_path / "dtd.tar.gz.part").write_bytes(dtd.data)
        fetch(dtd, tmp_path)
        assert sorted(p.name for p in tmp_path.iterdir()) == ["dtd"]
        assert len(list((tmp_path / "dtd").rglob("*.png"))) == 20
    assert dtd.ranges == [f"bytes={len(dtd.data)}-"] * 2


@pytest.mark.parametrize("tells_length", [True, False])
def test_a_server_that_sends_too_much_is_disconnected(dtd: Server, tmp_path: Path, tells_length: bool) -> None:
    dtd.data, dtd.tells_length = bytes(4 << 20), tells_length
    with pytest.raises(DataError, match=r"sends more than dtd\.tar\.gz can hold \(1 MB\)"):
        fetch(dtd, tmp_path, megabytes=1)
    assert list(tmp_path.iterdir()) == []


def test_caltech101_is_unpacked_from_the_archive_inside_and_named_as_in_coop(tmp_path: Path) -> None:
    names = ["Faces", "Faces_easy", "BACKGROUND_Google", "wild_cat", "airplanes"]
    inner = tar_of({f"101_ObjectCategories/{n}/image_{i}.jpg": PICTURE for n in names for i in range(4)})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        packed.writestr("caltech-101/101_ObjectCategories.tar.gz", inner)
        packed.writestr("caltech-101/Annotations.tar", b"")
    with Server(buffer.getvalue()) as server:
        list(download_steps(server.dataset("caltech101", "caltech-101.zip"), tmp_path))
    rows = load_split("caltech101", tmp_path, "train")
    assert {name for _, _, name in rows} == {"face", "wild cat", "airplane"}
