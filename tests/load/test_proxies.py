"""Two processes behind a real HAProxy and a real nginx with TLS, with the very lines that docs/deployment.md gives."""

import re
import shutil
import ssl
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from rita_demo.engine.engine import Engine
from rita_demo.pipeline import bundle_read
from tests.data.hostile import encoded, photo
from tests.live_server import ROOT, free_port, start_server
from tests.load.clients import ClientRequest, LoadClient

CLIENTS = 6
#: Configuration around the documented lines: paths and timeouts.
CONFIG_FRAMES = {
    "haproxy": "defaults\n    mode http\n    timeout connect 5s\n    timeout client 1h\n    timeout server 1m\n{lines}",
    "nginx": "user root;\ndaemon off;\npid {folder}/pid;\nerror_log {folder}/errors.txt;\nevents {{}}\nhttp {{\n    access_log off;\n"
    "    client_body_temp_path {folder}/body;\n    proxy_temp_path {folder}/proxy;\n"
    "    fastcgi_temp_path {folder}/f;\n    uwsgi_temp_path {folder}/u;\n    scgi_temp_path {folder}/s;\n{lines}\n}}\n",
}
COMMANDS = {"haproxy": ("haproxy", "-db", "-f"), "nginx": ("nginx", "-c")}

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Two processes of the page, which know nothing of each other: their addresses and logs."""
    logs = [tmp_path_factory.mktemp(name) / "log.txt" for name in ("one", "two")]
    with start_server(logs[0]) as one, start_server(logs[1]) as two:
        yield dict(zip((one, two), logs, strict=True))


@dataclass(frozen=True)
class Proxy:
    """Where it answers, with TLS, and the certificate it shows."""

    address: str
    trust: ssl.SSLContext

    def client(self, number: int) -> LoadClient:
        """A visitor with an address of their own."""
        there = httpx.HTTPTransport(verify=self.trust, local_address=f"127.{number}.{7 * number}.9")
        return LoadClient(self.address, ClientRequest(number), transport=there)

    def get(self, path: str) -> httpx.Response:
        return httpx.get(self.address + path, verify=self.trust)


@pytest.fixture(scope="module", params=list(COMMANDS))
def proxy(request, servers, tmp_path_factory) -> Iterator[Proxy]:
    """The documented lines with these servers, a certificate of our own and a free port."""
    name, folder = request.param, tmp_path_factory.mktemp(request.param)
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed (apt-get install {name})")
    port, pem = free_port(), folder / "page.pem"
    key, certificate = folder / "key", folder / "certificate"
    asked = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    asked += ["-subj", "/CN=localhost", "-addext"]
    files = ["subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate]
    subprocess.run([*asked, *files], check=True, capture_output=True)
    pem.write_text(certificate.read_text() + key.read_text())
    lines = documented_config(name).replace("/etc/ssl/private/page.pem", str(pem))
    lines = lines.replace("bind :443", f"bind 127.0.0.1:{port}").replace("listen 443", f"listen 127.0.0.1:{port}")
    for number, server in zip((7861, 7862), servers, strict=True):
        assert f"127.0.0.1:{number}" in lines
        lines = lines.replace(f"127.0.0.1:{number}", server.removeprefix("http://").rstrip("/"))
    configuration = folder / "configuration"
    configuration.write_text(CONFIG_FRAMES[name].format(lines=lines, folder=folder))
    with (folder / "log.txt").open("w") as log:
        running = subprocess.Popen([*COMMANDS[name], configuration], stdout=log, stderr=log)
    try:
        trust = ssl.create_default_context(cafile=certificate)
        found = Proxy(f"https://127.0.0.1:{port}/", trust)
        for _ in range(100):
            assert running.poll() is None, (folder / "log.txt").read_text()
            with suppress(httpx.HTTPError):
                if found.get("health").status_code == 200:
                    break
            time.sleep(0.2)
        yield found
    finally:
        running.terminate()
        running.wait(20)


def documented_config(name: str) -> str:
    text = (ROOT / "docs/deployment.md").read_text(encoding="utf-8")
    return re.findall(rf"```{name}\n(.*?)```", text, re.DOTALL)[0]


def test_every_client_stays_with_one_process_uploads_and_gets_its_own_answers(proxy, servers) -> None:
    engine = Engine()
    people = [proxy.client(number) for number in range(CLIENTS)]
    expected = {one.request.number: one.request.expected_run(engine) for one in people}

    picture = encoded(photo(1600, 1200, seed=0))
    assert len(picture) > 2_000_000

    def visit(one: LoadClient) -> list[str]:
        large = one.http.post("gradio_api/upload", files={"files": ("large.png", picture)})
        assert large.status_code == 200, large.text
        assert '"success":true' in one.run()
        one.select_view(3)
        assert one.exported_memory().names == one.request.names
        return bundle_read.differences(one.saved_run(), expected[one.request.number])

    before = [attacks_in(log) for log in servers.values()]
    with ThreadPoolExecutor(CLIENTS) as pool:
        assert list(pool.map(visit, people)) == [[]] * CLIENTS
    after = [attacks_in(log) for log in servers.values()]
    assert all(now > then for now, then in zip(after, before, strict=True))  # both had visitors
    assert sum(after) == sum(before) + CLIENTS


def test_answers_are_streamed_through_the_proxy(proxy: Proxy) -> None:
    came = [time.perf_counter() for _ in proxy.client(1).stream_run(steps=30, views=64)]
    assert came[-1] - came[0] > 0.3  # a proxy that collects them hands all over at once
    assert sum(later - sooner > 0.02 for sooner, later in pairwise(came)) > 5


def attacks_in(log: Path) -> int:
    """How many pictures a process has attacked, by its log."""
    return log.read_text().count("attack_and_defend")
