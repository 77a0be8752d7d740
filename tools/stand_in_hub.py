"""A local stand-in of the Hugging Face hub: it speaks the part of its protocol that downloads files, and serves random weights.

For machines that cannot reach the hub, and for what the hub rarely does: slow, cut and damaged downloads.

    python -m tools.stand_in_hub --model ViT-B-32-quickgelu:openai --folder DIR
    HF_ENDPOINT=http://127.0.0.1:8765 HF_HOME=DIR/cache python -m rita_demo explain ... --backbone ViT-B-32-quickgelu:openai
"""

import argparse
import hashlib
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CHUNK = 1 << 16
XET_ROUTE = "/api/xet-read-token"  # not served: who asks for it does not get the file
WEB_PAGE = b"<html><title>Log in to this network</title></html>"
PORT = 8765


@dataclass(frozen=True)
class Faults:
    """``bytes_per_second``: 0 for no limit. ``cut``: bytes after which every connection is closed, 0 for never.
    ``damaged``: the content is another one than its checksum says. ``web_page``: every answer is a page, as a proxy sends
    one. ``web_page_in_content``: the same for the content alone. ``status``: of every answer, 0 for the right one."""

    bytes_per_second: float = 0.0
    cut: int = 0
    damaged: bool = False
    web_page: bool = False
    web_page_in_content: bool = False
    status: int = 0


class StandInHub(ThreadingHTTPServer):
    """The server. ``files``: "organisation/name/file" -> its place; ``ranges``: the Range header of every GET of one, "" for none."""

    daemon_threads = True

    def __init__(self, files: Mapping[str, Path], port: int = 0, faults: Faults = Faults()) -> None:
        super().__init__(("127.0.0.1", port), _Answer)
        self.files, self.faults, self.ranges = dict(files), faults, list[str]()
        self.checksums = {name: _sha256(path) for name, path in self.files.items()}

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
        if faults.web_page or (faults.web_page_in_content and content):
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
        headers |= {
            "X-Xet-Hash": checksum,
            "X-Xet-Refresh-Route": XET_ROUTE,
        }  # the hub offers it for every file of weights
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


def weights_file(model: str, folder: Path) -> tuple[str, Path]:
    """Random weights of an open_clip model ``ARCHITECTURE:TAG`` in a file of ``folder``, made once; and the name that
    open_clip asks the hub for."""
    import open_clip
    import torch
    from open_clip.pretrained import get_pretrained_cfg
    from safetensors.torch import save_file

    architecture, _, tag = model.partition(":")
    repository, _, file = get_pretrained_cfg(architecture, tag)["hf_hub"].rpartition("/")
    name = str(Path(file).with_suffix(".safetensors")) if file else "open_clip_model.safetensors"
    path = folder / f"{architecture}-{tag}.safetensors"
    if not path.is_file():
        torch.manual_seed(0)
        weights = open_clip.create_model(architecture, pretrained=None, pretrained_image=False).state_dict()
        folder.mkdir(parents=True, exist_ok=True)
        save_file({key: value.contiguous().clone() for key, value in weights.items()}, path)
    return f"{repository}/{name}", path


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until it is interrupted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--model", action="append", required=True, help="ARCHITECTURE:TAG of open_clip; may be repeated")
    add("--folder", type=Path, required=True, help="where the random weights are kept")
    add("--port", type=int, default=PORT)
    add("--megabytes-per-second", type=float, default=0.0, help="a slow connection")
    add("--cut-after", metavar="MB", type=float, default=0.0, help="close every connection after so much")
    add("--damaged", action="store_true", help="the content does not have its checksum")
    add("--web-page", action="store_true", help="answer with a page, as a proxy does")
    args = parser.parse_args(argv)
    faults = Faults(args.megabytes_per_second * 1e6, int(args.cut_after * 1e6), args.damaged, args.web_page)
    files = dict(weights_file(model, args.folder) for model in args.model)
    with StandInHub(files, args.port, faults) as hub:
        print(f"HF_ENDPOINT={hub.endpoint} serves random weights: {', '.join(files)}", flush=True)
        try:
            hub.serve_forever()
        except KeyboardInterrupt:
            print("Stopped.", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
