"""A hub cache in the hub's layout, small models under real names for it, and the stand-in of the hub as the only one."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import open_clip
import pytest
import torch
from open_clip.pretrained import get_pretrained_cfg

from tests.conftest import TINY_CONFIG
from tools.stand_in_hub import StandInHub

COMMIT = "0123456789abcdef0123456789abcdef01234567"
VISION = {"image_size": 64, "layers": 2, "width": 64, "patch_size": 32}


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
        monkeypatch.setattr(
            "huggingface_hub.utils._http.time", SimpleNamespace(sleep=lambda _: None)
        )  # between its tries
        yield server


@contextmanager
def serving(server: StandInHub) -> Iterator[StandInHub]:
    """The server, answering in a thread."""
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()
