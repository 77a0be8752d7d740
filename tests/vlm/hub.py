"""A hub cache in the hub's layout, small models under real names for it, and a local stand-in of the hub as the only one: it
speaks the part of its protocol that downloads files, also slow, cut and damaged."""

import hashlib
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import open_clip
import pytest
import torch
from open_clip.pretrained import get_pretrained_cfg

from tests.conftest import TINY_CONFIG

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CHUNK = 1 << 16
XET_ROUTE = "/api/xet-read-token"  # not served: who asks for it does not get the file
WEB_PAGE = b"<html><title>Log in to this network</title></html>"
VISION = {"image_size": 64, "layers": 2, "width": 64, "patch_size": 32}


@dataclass(frozen=True)
class Faults:
    """``bytes_per_second``: 0 for no limit. ``cut``: bytes after which every connection is closed, 0 for never.
    ``damaged``: the content is another one than its checksum says. ``web_page``: every answer is a page, as a proxy sends
    one. ``status``: of every answer, 0 for the right one."""

    bytes_per_second: float = 0.0
    cut: int = 0
    damaged: bool = False
    web_page: bool = False
    status: int = 0


class StandInHub(ThreadingHTTPServer):
    """The server. ``files``: "organisation/name/file" -> its place; ``ranges``: the Range header of every GET of one, "" for none."""

    daemon_threads = True

    def __init__(self, files: Mapping[str, Path]) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.files, self.faults, self.ranges = dict(files), Faults(), list[str]()
        self.checksums = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in self.files.items()}

    @property
    def endpoint(self) -> str:
        """The value of ``HF_ENDPOINT``."""
        return f"http://127.0.0.1:{self.server_port}"


class _Answer(BaseHTTPRequestHandler):
    """``/organisation/name/resolve/REVISION/FILE``: HEAD for size and checksum, GET for the content or a range of it."""

    protocol_version = "HTTP/1.1"
    server: StandInHub

    def do_HEAD(self) -> None:
        self._answer(content=False)

    def do_GET(self) -> None:
        self._answer(content=True)

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""

    def _answer(self, content: bool) -> None:
        faults = self.server.faults
        if content and "/resolve/" in self.path:
            self.server.ranges.append(self.headers.get("Range", ""))
        if faults.status:
            return self._send(faults.status, b"", {}, content)
        if faults.web_page:
            return self._send(200, WEB_PAGE, {"Content-Type": "text/html"}, content)
        repository, _, rest = self.path.strip("/").partition("/resolve/")
        name = f"{repository}/{rest.partition('/')[2]}"
        if name not in self.server.files:
            code = "EntryNotFound" if any(n.startswith(f"{repository}/") for n in self.server.files) else "RepoNotFound"
            return self._send(404, b"", {"X-Error-Code": code, "X-Repo-Commit": COMMIT}, content)
        return self._send_file(name, content)

    def _send(self, status: int, body: bytes, headers: Mapping[str, str], content: bool) -> None:
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(key, value)
        self.end_headers()
        if content:
            self.wfile.write(body)

    def _send_file(self, name: str, content: bool) -> None:
        path, faults = self.server.files[name], self.server.faults
        size, first = path.stat().st_size, 0
        if content and (asked := self.headers.get("Range", "")):
            first = int(asked.removeprefix("bytes=").partition("-")[0])
        self.send_response(206 if first else 200)
        checksum = self.server.checksums[name]
        headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{checksum}"', "X-Linked-Etag": f'"{checksum}"'}
        headers |= {"X-Linked-Size": str(size), "Accept-Ranges": "bytes", "Content-Length": str(size - first)}
        headers |= {"X-Xet-Hash": checksum, "X-Xet-Refresh-Route": XET_ROUTE}  # as the hub offers for all weights
        if first:
            headers["Content-Range"] = f"bytes {first}-{size - 1}/{size}"
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        if not content:
            return
        self.close_connection, sent = True, 0
        with path.open("rb") as file, suppress(ConnectionError):  # the client may go away
            file.seek(first)
            while chunk := file.read(CHUNK if not faults.cut else min(CHUNK, faults.cut - sent)):
                if faults.damaged and file.tell() == size:
                    chunk = chunk[:-1] + bytes([chunk[-1] ^ 1])
                self.wfile.write(chunk)
                sent += len(chunk)
                if faults.bytes_per_second:
                    time.sleep(len(chunk) / faults.bytes_per_second)


def shrink(monkeypatch: pytest.MonkeyPatch, architecture: str) -> dict[str, Any]:
    """Make open_clip's architecture a very small ViT with the same activation, and return its config."""
    config = deepcopy(TINY_CONFIG) | {"vision_cfg": dict(VISION)}
    if open_clip.get_model_config(architecture).get("quick_gelu"):
        config["quick_gelu"] = True
    monkeypatch.setitem(open_clip.factory._MODEL_CONFIGS, architecture, config)
    return config


def random_model(config: dict[str, Any], seed: int, **changes: Any) -> Any:
    """An open_clip model in which no weight is 0 or 1 by convention, which would hide mistakes."""
    torch.manual_seed(seed)
    model = open_clip.CLIP(**(deepcopy(config) | changes)).eval()
    for parameter in model.parameters():
        parameter.data += 0.05 * torch.randn(parameter.shape)
    return model


def put_in_cache(cache: Path, architecture: str, tag: str, file: str, content: bytes) -> Path:
    """Put ``file`` of the repository that open_clip asks for ``ARCHITECTURE:TAG`` into a hub cache.
    models--org--name/refs/main holds a commit, snapshots/<commit>/<file> is a link to blobs/<sha256>."""
    repository = get_pretrained_cfg(architecture, tag)["hf_hub"].rpartition("/")[0]
    folder = cache / f"models--{repository.replace('/', '--')}"
    blob = folder / "blobs" / hashlib.sha256(content).hexdigest()
    link = folder / "snapshots" / COMMIT / file
    for place in (blob, link, folder / "refs" / "main"):
        place.parent.mkdir(parents=True, exist_ok=True)
    blob.write_bytes(content)
    link.symlink_to(Path("../../blobs") / blob.name)
    (folder / "refs" / "main").write_text(COMMIT)
    return link


@contextmanager
def only_hub(name: str, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandInHub]:
    """A server with one file, "organisation/name/file", as the only hub there is, and an empty cache."""
    (tmp_path / "served").write_bytes(content)
    with serving(StandInHub({name: tmp_path / "served"})) as server:
        constants = "huggingface_hub.constants"
        template = server.endpoint + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(f"{constants}.HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(f"{constants}.ENDPOINT", server.endpoint)
        monkeypatch.setattr(f"{constants}.HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(f"{constants}.HF_HUB_OFFLINE", False)
        monkeypatch.setattr(f"{constants}.DOWNLOAD_CHUNK_SIZE", 1 << 16)
        between_tries = SimpleNamespace(sleep=lambda _: None)
        monkeypatch.setattr("huggingface_hub.utils._http.time", between_tries)
        yield server


@contextmanager
def serving(server: StandInHub) -> Iterator[StandInHub]:
    """The server, answering in a thread."""
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()
