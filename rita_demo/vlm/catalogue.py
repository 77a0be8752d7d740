"""The models that the page and the command ``models`` offer, as ``models.toml`` lists them. This module loads neither torch nor
open_clip."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rita_demo.process.assets import ASSETS

EMBEDDED, EMBEDDED_ROBUST = "embedded", "embedded-robust"
NOT_ZERO_SHOT = "The embedded model is trained on the training splits of Caltech101 and DTD: nothing here is zero-shot."
EMBEDDED_DIR = ASSETS / "model"
ROBUST_TOWER = EMBEDDED_DIR / "robust_vision.safetensors"
WEIGHTS_FILE = "open_clip_model.safetensors"  # of a model folder, and of open_clip's repositories on the hub
OpenClipRecord = dict[str, Any]  # how open_clip describes an architecture, or weights to download


@dataclass(frozen=True)
class ModelEntry:
    """A model in the menu: size of the download in MB (0: part of this project; otherwise the parameters at the precision of
    the file), parameters, one sentence, the licence that the hub's page names (this project's own models: that of the project),
    and the paper's tables that are of it."""

    title: str
    megabytes: int
    parameters: int
    note: str
    licence: str
    tables: tuple[str, ...] = ()

    @property
    def about(self) -> str:
        """Licence, and what the paper uses the model for."""
        used = f"In the paper: tables {', '.join(self.tables)}." if self.tables else "Not in the paper."
        return f"Licence of the weights: {self.licence}. {used}"


_ROWS = tomllib.loads(Path(__file__).with_name("models.toml").read_text("utf-8"))
_ROWS[EMBEDDED]["note"] += f" {NOT_ZERO_SHOT}"
BACKBONES = {name: ModelEntry(**row | {"tables": tuple(row.get("tables", ()))}) for name, row in _ROWS.items()}


@dataclass(frozen=True)
class ModelStatus:
    """One row of the command ``models``: an entry by its name, and whether its weights are on this machine."""

    name: str
    entry: ModelEntry
    ready: bool

    @property
    def state(self) -> str:
        """Where the weights are, in a few words."""
        if not self.entry.megabytes:
            return "comes with the demo" if self.ready else "missing from this copy"
        return "on this machine" if self.ready else f"needs a download of {self.entry.megabytes} MB"


def model_status() -> tuple[ModelStatus, ...]:
    """Every model of :data:`BACKBONES` and whether its weights are on this machine. No network."""
    from open_clip.pretrained import get_pretrained_cfg  # loads torch

    rows = []
    for name, entry in BACKBONES.items():
        if not entry.megabytes:
            ready = (EMBEDDED_DIR / WEIGHTS_FILE).is_file() and (name == EMBEDDED or ROBUST_TOWER.is_file())
        else:
            architecture, _, tag = name.partition(":")
            ready = cached_weights(get_pretrained_cfg(architecture, tag)) is not None
        rows.append(ModelStatus(name, entry, ready))
    return tuple(rows)


def hub_files(hub: str) -> tuple[str, tuple[str, ...]]:
    """The repository of an entry ``hf_hub`` of open_clip, and the files that may hold the weights, best first."""
    repository, _, file = hub.rpartition("/")
    if not file:
        return repository, (WEIGHTS_FILE, "open_clip_pytorch_model.bin")
    return repository, tuple(dict.fromkeys((str(Path(file).with_suffix(".safetensors")), file)))


def cached_weights(pretrained: OpenClipRecord) -> Path | None:
    """The weights of an entry of open_clip's list of pretrained models if they are on this machine, else None."""
    from huggingface_hub import try_to_load_from_cache

    if hub := pretrained.get("hf_hub"):
        repository, names = hub_files(hub)
        for name in names:
            if isinstance(hit := try_to_load_from_cache(repository, name), str):
                return Path(hit)
    if url := pretrained.get("url"):
        path = Path("~/.cache/clip").expanduser() / url.rpartition("/")[2]
        return path if path.is_file() else None
    return None
