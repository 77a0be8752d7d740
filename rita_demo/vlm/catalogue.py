"""Whether a model's weights are on this machine. This module loads neither torch nor open_clip."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rita_demo.settings.models import BACKBONES, EMBEDDED, EMBEDDED_DIR, ROBUST_TOWER, WEIGHTS_FILE, ModelEntry

OpenClipRecord = dict[str, Any]  # how open_clip describes an architecture, or weights to download


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
