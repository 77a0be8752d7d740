"""Fixtures every folder of tests may use."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import pytest
import torch
from playwright.sync_api import Browser, sync_playwright
from safetensors.torch import save_file

from rita_demo import settings
from rita_demo.attacks import ATTACKS
from rita_demo.attacks import registry as attacks
from rita_demo.defences import registry as defences
from rita_demo.defences.registry import DEFENCES
from rita_demo.process import environment
from rita_demo.process.environment import BROWSER_FLAGS
from rita_demo.settings.setting import Setting
from rita_demo.vlm.words import word_list
from tests.browser import find_browser

TINY_CONFIG = {
    "embed_dim": 32,
    "vision_cfg": {"image_size": 64, "layers": [1, 1, 1, 1], "width": 8, "patch_size": None},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 2},
}
SEEN_WORDS = "a photo of the picture an image showing rendering texture cat dog cup brick grass."


#: Only this machine is reached.
LOCAL_ONLY = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"


for proxy in [name for name in os.environ if name.lower() in environment.PROXIES]:
    del os.environ[proxy]  # the servers of the tests are on this machine


def pytest_runtest_setup() -> None:
    """What a test and its fixtures draw without a generator is the same in every run, whatever ran before."""
    torch.manual_seed(0)
    np.random.seed(0)


@pytest.fixture(scope="session")
def tiny_model_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder like assets/model with a very small model of random weights: loads in milliseconds.

    Load it with ``load(f"local-dir:{tiny_model_dir}", device="cpu", precision="float32")``.
    """
    folder = tmp_path_factory.mktemp("tiny") / "model"
    folder.mkdir()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = open_clip.CLIP(**TINY_CONFIG)
    weights = {k: v.half() if v.is_floating_point() else v for k, v in model.state_dict().items()}
    save_file(weights, folder / "open_clip_model.safetensors")
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": TINY_CONFIG}))
    (folder / "seen_words.json").write_text(json.dumps(word_list([SEEN_WORDS])))
    return folder


def forget_plugins() -> None:
    """Defences and attacks from a user's file are unknown again, with their settings, as to a new process."""
    for known, remove in ((DEFENCES, defences.remove), (ATTACKS, attacks.remove)):
        for name in [name for name, one in known.items() if one.plugin]:
            remove(name)


@pytest.fixture
def add_setting() -> Iterator[Callable[..., str]]:
    """Adds a number from 0 to 1 called ``margin`` (or, with ``stored_name=""``, ``later.margin``) to a group of settings for
    the time of a test; returns its name."""
    names = []

    def add(group: str, **more: Any) -> str:
        given = {"kind": "float", "default": 0.1, "low": 0, "high": 1, "stored_name": "margin"} | more
        names.append(settings.register("later", Setting("margin", label="Margin", help="Cut.", group=group, **given)))
        settings._OWN.discard(names[-1])  # as if it were shared
        return names[-1]

    yield add
    for name in names:
        settings.unregister(name)


@pytest.fixture
def no_plugins_afterwards() -> Iterator[None]:
    yield
    forget_plugins()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The system's Chromium; without one the tests are skipped at home and fail in CI."""
    path = find_browser()
    if path is None:
        message = "no Chromium: python -m tests.browser installs one"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=path, args=[*BROWSER_FLAGS, LOCAL_ONLY])
        yield chromium
        chromium.close()
