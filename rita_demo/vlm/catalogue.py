"""The models that the page and the command ``models`` offer. This module loads neither torch nor open_clip."""

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


BACKBONES: dict[str, ModelEntry] = {
    EMBEDDED: ModelEntry(
        "Embedded model",
        0,
        15_028_801,
        "Small and trained for this demo: knows everyday objects and textures, nothing to download; "
        f"under 2 seconds per picture on two CPU cores. {NOT_ZERO_SHOT}",
        "MIT",
    ),
    EMBEDDED_ROBUST: ModelEntry(
        "Embedded model, robust",
        0,
        15_028_801,
        "The embedded model with a vision tower that was fine-tuned on attacked pictures (TeCoA and FARE, 4/255): "
        "an attack that empties the other model leaves it part of its answers.",
        "MIT",
    ),
    "ViT-B-16-quickgelu:openai": ModelEntry(
        "CLIP ViT-B/16 (OpenAI)",
        599,
        149_620_737,
        "The model of most of the paper's tables; quick-GELU; about half a minute per picture on two CPU cores; "
        "0.036 seconds on an H100, measured with random weights.",
        "Apache 2.0; MIT in OpenAI’s repository",
        tables=("main", "budget 4", "imagenet", "attack type", "other attacks"),
    ),
    "ViT-B-32-quickgelu:openai": ModelEntry(
        "CLIP ViT-B/32 (OpenAI)",
        605,
        151_277_313,
        "The fastest of the real CLIP models; quick-GELU; about 10 seconds per picture on two CPU cores; "
        "not measured on a GPU yet.",
        "Apache 2.0; MIT in OpenAI’s repository",
        tables=("main", "budget 4", "imagenet", "components"),
    ),
    "RN50-quickgelu:openai": ModelEntry(
        "CLIP ResNet-50 (OpenAI)",
        408,
        102_007_137,
        "The convolutional CLIP of the paper; quick-GELU in its text tower; about 10 seconds per picture "
        "on two CPU cores; not measured on a GPU yet.",
        "MIT",
        tables=("RN50",),
    ),
    "ViT-B-32:laion2b_s34b_b79k": ModelEntry(
        "OpenCLIP ViT-B/32 (LAION-2B)",
        605,
        151_277_313,
        "The same shape as CLIP ViT-B/32, trained on open data; plain GELU; about 10 seconds per picture "
        "on two CPU cores; not measured on a GPU yet.",
        "MIT",
        tables=("other backbones",),
    ),
    "EVA02-B-16:merged2b_s8b_b131k": ModelEntry(
        "EVA-02 CLIP B/16",
        299,
        149_691_137,
        "More accurate at the size of ViT-B/16; plain GELU in its text tower; about half a minute per picture "
        "on two CPU cores; not measured on a GPU yet.",
        "MIT",
        tables=("other backbones",),
    ),
    "PE-Core-T-16-384:meta": ModelEntry(
        "Perception Encoder T/16",
        278,
        69_546_113,
        "The smallest download here; plain GELU in its text tower; 6 M parameters for pictures of 384 pixels; prompts of 32 tokens.",
        "Apache 2.0",
    ),
    "MobileCLIP2-S0:dfndr2b": ModelEntry(
        "MobileCLIP2 S0",
        299,
        74_835_073,
        "A small convolutional CLIP, made for phones; plain GELU in its text tower; 11 M parameters for pictures of 256 pixels.",
        "Apple’s, for research that is not commercial",
    ),
    "PE-Core-S-16-384:meta": ModelEntry(
        "Perception Encoder S/16",
        349,
        87_188_225,
        "A small CLIP; plain GELU in its text tower; 24 M parameters for pictures of 384 pixels; prompts of 32 tokens.",
        "Apache 2.0",
    ),
    "ViT-B-32:datacomp_xl_s13b_b90k": ModelEntry(
        "OpenCLIP ViT-B/32 (DataComp-XL)",
        605,
        151_277_313,
        "The same shape as CLIP ViT-B/32, trained on filtered open data; plain GELU; as fast as that.",
        "MIT",
    ),
}


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
