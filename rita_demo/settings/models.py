"""The models that the page and the command ``models`` offer, as ``models.toml`` lists them."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from rita_demo.process.assets import ASSETS

EMBEDDED, EMBEDDED_ROBUST = "embedded", "embedded-robust"
NOT_ZERO_SHOT = "The embedded model is trained on the training splits of Caltech101 and DTD: nothing here is zero-shot."
EMBEDDED_DIR = ASSETS / "model"
ROBUST_TOWER = EMBEDDED_DIR / "robust_vision.safetensors"
WEIGHTS_FILE = "open_clip_model.safetensors"  # of a model folder, and of open_clip's repositories on the hub


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
