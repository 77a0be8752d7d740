"""The server behind a proxy that refuses this machine's own address, as an institute's does, and one that nothing can use."""

import os
import subprocess
import sys

import pytest

from tests.live_server import ROOT

SOCKS, REFUSES = "socks5://127.0.0.1:9", "http://127.0.0.1:9"
SETTINGS = [{"http_proxy": REFUSES, "HTTPS_PROXY": REFUSES, "RITA_HOST": "0.0.0.0"}]
SETTINGS += [{"all_proxy": SOCKS, "ALL_PROXY": SOCKS, "no_proxy": "localhost", "HTTP_PROXY": "no address::"}]
LAUNCH = """
import os, rita_demo.ui
from tests.ui.http_client import build_toy_page, launch_page
page = build_toy_page()
print(launch_page(page, host=os.environ.get("RITA_HOST", "127.0.0.1")))
page.close(verbose=False)
print({name: os.environ.get(name) for name in %r})
os._exit(0)
"""


@pytest.mark.slow
@pytest.mark.parametrize("variables", SETTINGS, ids=str)
def test_the_page_opens_under_any_proxy_which_stays_set_for_downloads(variables: dict[str, str]) -> None:
    code = f"import tests.conftest\nimport os\nos.environ.update({variables})" + LAUNCH % list(variables)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    address, kept = done.stdout.splitlines()[-2:]
    assert address.startswith("http://")
    assert kept == str(variables)


@pytest.mark.parametrize("name", ["rita_demo.ui.header.standalone_page", "rita_demo.server.pages"])
def test_gradio_is_imported_under_a_proxy_that_httpx_cannot_use(name: str) -> None:
    environment = os.environ | {"ALL_PROXY": SOCKS, "http_proxy": "no address::"}
    done = subprocess.run([sys.executable, "-c", f"import {name}"], cwd=ROOT, env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr[-2000:]
