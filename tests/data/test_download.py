"""A dataset fetched from a server of our own: progress, a cut, a wrong checksum, nobody there."""

from __future__ import annotations

import hashlib
import inspect
import io
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from torchvision.datasets import DTD, Caltech101

from rita_demo.data import download
from rita_demo.data.datasets import is_own_split, load_split, present
from rita_demo.data.download import ARCHIVES, Archive, fetching
from rita_demo.errors import DataError
from tests.server import ROOT

from .hostile import encoded, photo


class Server:
    """Serves one file; ``cut`` closes the connection after so many bytes, once; ``silent``: it stays open for so
    many seconds before that, without a byte."""

    def __init__(self, data: bytes) -> None:
        self.data, self.cut, self.ranges = data, None, []
        self.resumes, self.silent, self.tells_length = True, 0.0, True
        outer = self

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
                self.end_headers()
                end, outer.cut = outer.cut, None
                self.wfile.write(outer.data[begin:end])
                self.wfile.flush()
                silent, outer.silent = outer.silent, 0.0
                time.sleep(silent)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def archive(self, name: str, file: str) -> Archive:
        url = f"http://127.0.0.1:{self.http.server_port}/{file}"
        return replace(ARCHIVES[name], url=url, md5=hashlib.md5(self.data).hexdigest())


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
    server = Server(tar_of(dict.fromkeys([*names, "dtd/labels/train1.txt"], PICTURE)))
    yield server
    server.http.shutdown()
    server.http.server_close()


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "CHUNK", 512)


def test_addresses_and_checksums_are_those_of_torchvision() -> None:
    for kind, archive in ((DTD, ARCHIVES["dtd"]), (Caltech101, ARCHIVES["caltech101"])):
        assert archive.url in inspect.getsource(kind)
        assert archive.md5 in inspect.getsource(kind)


def test_progress_is_told_and_the_dataset_can_be_used_with_a_split_of_our_own(
    dtd: Server, tmp_path: Path
) -> None:
    told = list(fetching(dtd.archive("dtd", "dtd.tar.gz"), tmp_path))
    assert [t.done for t in told] == sorted(t.done for t in told)
    assert {t.total for t in told} == {len(dtd.data)}
    assert told[-1].sentence == "Describable Textures is here"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dtd"]
    assert is_own_split("dtd", tmp_path)
    row = next(row for row in present(tmp_path) if row.name == "dtd")
    assert row.usable
    assert "train 10, val 4, test 6. A split of our own (seed 0)" in row.sentence
    splits = {name: load_split("dtd", tmp_path, name) for name in ("train", "val", "test")}
    paths = [path for rows in splits.values() for path, _, _ in rows]
    assert len(set(paths)) == len(paths) == 20
    assert {(k, name) for _, k, name in splits["val"]} == {(0, "dotted"), (1, "striped")}
    assert splits["test"] == load_split("dtd", tmp_path, "test")


@pytest.mark.parametrize("resumes", [True, False], ids=["server resumes", "server starts again"])
def test_after_a_cut_it_goes_on_where_it_stopped(
    dtd: Server, tmp_path: Path, resumes: bool
) -> None:
    archive, dtd.cut, dtd.resumes = dtd.archive("dtd", "dtd.tar.gz"), 700, resumes
    with pytest.raises(DataError, match=r"broke after 0\.0 MB.*goes on where it stopped"):
        list(fetching(archive, tmp_path))
    assert (tmp_path / "dtd.tar.gz.part").stat().st_size == 700
    told = list(fetching(archive, tmp_path))
    assert dtd.ranges == [None, "bytes=700-"]
    assert (told[0].done > 700) is resumes
    assert told[-2].total == len(dtd.data)
    assert load_split("dtd", tmp_path, "train")


def test_a_rest_of_unknown_length_is_taken_to_its_end(dtd: Server, tmp_path: Path) -> None:
    dtd.cut = 700
    with pytest.raises(DataError, match="broke after"):
        list(fetching(dtd.archive("dtd", "dtd.tar.gz"), tmp_path))
    dtd.tells_length = False
    list(fetching(dtd.archive("dtd", "dtd.tar.gz"), tmp_path))
    assert dtd.ranges[-1] == "bytes=700-"
    assert load_split("dtd", tmp_path, "train")


def test_a_server_that_falls_silent_is_left_and_what_came_is_kept(
    dtd: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "PATIENCE", 0.5)
    archive, dtd.cut, dtd.silent = dtd.archive("dtd", "dtd.tar.gz"), 1024, 5.0
    begin = time.monotonic()
    with pytest.raises(DataError, match=r"broke after 0\.0 MB.*goes on where it stopped"):
        list(fetching(archive, tmp_path))
    assert time.monotonic() - begin < 4
    assert (tmp_path / "dtd.tar.gz.part").stat().st_size == 1024
    list(fetching(archive, tmp_path))
    assert dtd.ranges == [None, "bytes=1024-"]
    assert load_split("dtd", tmp_path, "test")


def test_leaving_it_keeps_what_has_come_and_lets_others_fetch(dtd: Server, tmp_path: Path) -> None:
    archive = dtd.archive("dtd", "dtd.tar.gz")
    first = fetching(archive, tmp_path)
    next(first)
    with pytest.raises(DataError, match="being fetched right now"):
        next(fetching(archive, tmp_path))
    first.close()
    assert (tmp_path / "dtd.tar.gz.part").stat().st_size >= 512
    list(fetching(archive, tmp_path))
    assert load_split("dtd", tmp_path, "test")


def test_a_complete_part_needs_no_byte_more(dtd: Server, tmp_path: Path) -> None:
    (tmp_path / "dtd.tar.gz.part").write_bytes(dtd.data)
    list(fetching(dtd.archive("dtd", "dtd.tar.gz"), tmp_path))
    assert load_split("dtd", tmp_path, "test")


def test_a_wrong_checksum_is_a_sentence_and_nothing_stays(dtd: Server, tmp_path: Path) -> None:
    archive = replace(dtd.archive("dtd", "dtd.tar.gz"), md5="0" * 32)
    with pytest.raises(DataError, match=r"not dtd\.tar\.gz: its checksum is another one"):
        list(fetching(archive, tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_nobody_there_and_not_found_are_sentences(dtd: Server, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/dtd.tar.gz"
        with pytest.raises(DataError, match="cannot be reached from here"):
            list(fetching(replace(ARCHIVES["dtd"], url=url), tmp_path))
    dtd.data = b""
    with pytest.raises(DataError, match="answers 416"):
        list(fetching(dtd.archive("dtd", "dtd.tar.gz"), tmp_path))


FETCH = """
import sys
from dataclasses import replace
from pathlib import Path
from rita_demo.data.download import ARCHIVES, fetching
for at in fetching(replace(ARCHIVES["dtd"], url=sys.argv[1], md5=sys.argv[2]), Path(sys.argv[3])):
    pass
"""


@pytest.mark.slow
def test_killed_while_it_unpacks_the_next_attempt_fetches_nothing(tmp_path: Path) -> None:
    names = [f"dtd/images/{c}/{c}_{n}.png" for c in ("dotted", "striped") for n in range(1_500)]
    server = Server(tar_of(dict.fromkeys(names, PICTURE)))
    archive = server.archive("dtd", "dtd.tar.gz")
    words = [sys.executable, "-c", FETCH, archive.url, archive.md5, str(tmp_path)]
    child = subprocess.Popen(words, cwd=ROOT)
    until = time.monotonic() + 120
    while not list(tmp_path.glob(".unpacking-dtd/dtd/images/dotted")) and time.monotonic() < until:
        time.sleep(0.005)
    child.kill()
    assert child.wait(20) == -9, "it was done before it could be killed"
    assert not (tmp_path / "dtd").exists()
    list(fetching(archive, tmp_path))
    server.http.shutdown()
    server.http.server_close()
    assert server.ranges == [None, f"bytes={len(server.data)}-"]
    assert len(list((tmp_path / "dtd").rglob("*.png"))) == 3_000
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dtd"]


def test_what_was_unpacked_but_not_cleared_away_is_taken_as_it_is(
    dtd: Server, tmp_path: Path
) -> None:
    archive = dtd.archive("dtd", "dtd.tar.gz")
    list(fetching(archive, tmp_path))
    (tmp_path / "dtd.tar.gz.part").write_bytes(dtd.data)
    list(fetching(archive, tmp_path))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["dtd"]


@pytest.mark.parametrize("claimed", [None, 10**12], ids=["no length", "a terabyte"])
def test_a_server_that_sends_for_ever_is_left(tmp_path: Path, claimed: int | None) -> None:
    sent = [0]

    class Endless(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            if claimed:
                self.send_header("Content-Length", str(claimed))
            self.end_headers()
            with suppress(OSError):
                while sent[0] < 64 << 20:
                    sent[0] += self.wfile.write(bytes(1 << 16))

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Endless)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{http.server_port}/dtd.tar.gz"
    with pytest.raises(DataError, match=r"sends more than dtd\.tar\.gz can hold \(1 MB\)"):
        list(fetching(replace(ARCHIVES["dtd"], url=url, megabytes=1), tmp_path))
    http.shutdown()
    http.server_close()
    assert sent[0] < 32 << 20
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not shutil.which("openssl"), reason="makes the server's certificate")
def test_a_broken_tls_connection_is_a_cut_and_no_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server answers over TLS, and then sends what is none."""
    key, cert, root = tmp_path / "key.pem", tmp_path / "cert.pem", tmp_path / "data"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)],
        check=True, capture_output=True,
    )  # fmt: skip
    monkeypatch.setenv("SSL_CERT_FILE", str(cert))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    listening = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        line, _ = listening.accept()
        with context.wrap_socket(line, server_side=True) as safe:
            safe.recv(9_999)
            safe.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 99999\r\n\r\n" + bytes(1024))
            time.sleep(0.2)
            os.write(safe.fileno(), b"no TLS at all" * 99)
            time.sleep(1)

    threading.Thread(target=answer, daemon=True).start()
    url = f"https://127.0.0.1:{listening.getsockname()[1]}/dtd.tar.gz"
    with pytest.raises(DataError, match=r"broke after 0\.0 MB.*goes on where it stopped") as said:
        list(fetching(replace(ARCHIVES["dtd"], url=url), root))
    listening.close()
    assert isinstance(said.value.__cause__, ssl.SSLError)
    assert (root / "dtd.tar.gz.part").stat().st_size == 1024


def test_caltech101_is_unpacked_from_the_archive_inside_and_named_as_in_coop(
    tmp_path: Path,
) -> None:
    names = ["Faces", "Faces_easy", "BACKGROUND_Google", "wild_cat", "airplanes"]
    inner = tar_of(
        {f"101_ObjectCategories/{n}/image_{i}.jpg": PICTURE for n in names for i in range(4)}
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        packed.writestr("caltech-101/101_ObjectCategories.tar.gz", inner)
        packed.writestr("caltech-101/Annotations.tar", b"")
    server = Server(buffer.getvalue())
    list(fetching(server.archive("caltech101", "caltech-101.zip"), tmp_path))
    server.http.shutdown()
    server.http.server_close()
    rows = load_split("caltech101", tmp_path, "train")
    assert {name for _, _, name in rows} == {"face", "wild cat", "airplane"}
