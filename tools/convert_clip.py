"""A CLIP in the names of Hugging Face's transformers as a folder that ``--backbone local-dir:FOLDER`` loads.

For TinyCLIP (``wkcn/TinyCLIP-ViT-8M-16-Text-3M-YFCC15M``) and any other ``CLIPModel``: download its ``config.json`` and
``model.safetensors`` (or ``pytorch_model.bin``) into one folder, then

    python -m tools.convert_clip DOWNLOADED FOLDER

Neither transformers nor a network is needed."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from safetensors.torch import save

from rita_demo.process.output_file import make_output_folder, write_output
from rita_demo.process.text_file import read_text
from rita_demo.records.errors import BackboneError, DemoError
from rita_demo.settings.models import WEIGHTS_FILE
from rita_demo.vlm.checkpoint_file import read_checkpoint
from rita_demo.vlm.transformers_names import open_clip_weights

WEIGHTS = ("model.safetensors", "pytorch_model.bin")


def open_clip_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """``config.json`` of a ``CLIPModel`` as open_clip's ``model_cfg``. What a file leaves out has CLIP's value. Raises
    BackboneError: not a CLIP, or a form of it that open_clip does not have."""
    if config.get("model_type") != "clip":
        raise BackboneError(f"config.json is of a model of the kind {config.get('model_type')!r}, not of a clip.")
    defaults: dict[str, Any] = {"num_hidden_layers": 12, "hidden_act": "quick_gelu"}
    vision = defaults | {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}
    vision |= {"image_size": 224, "patch_size": 32, **config.get("vision_config", {})}
    text = defaults | {"hidden_size": 512, "num_attention_heads": 8, "intermediate_size": 2048}
    text |= {"vocab_size": 49408, "max_position_embeddings": 77, **config.get("text_config", {})}
    if vision["hidden_act"] != text["hidden_act"] or text["hidden_act"] not in ("quick_gelu", "gelu"):
        raise BackboneError(f"The towers have the activations {vision['hidden_act']} and {text['hidden_act']}.")
    quick = {"quick_gelu": True} if text["hidden_act"] == "quick_gelu" else {}
    vision_cfg = {"image_size": vision["image_size"], "patch_size": vision["patch_size"]}
    vision_cfg |= {"layers": vision["num_hidden_layers"], "width": vision["hidden_size"]}
    vision_cfg |= {"head_width": vision["hidden_size"] // vision["num_attention_heads"]}
    vision_cfg |= {"mlp_ratio": vision["intermediate_size"] / vision["hidden_size"]}
    text_cfg = {"context_length": text["max_position_embeddings"], "vocab_size": text["vocab_size"]}
    text_cfg |= {"width": text["hidden_size"], "heads": text["num_attention_heads"]}
    text_cfg |= {"layers": text["num_hidden_layers"], "mlp_ratio": text["intermediate_size"] / text["hidden_size"]}
    return quick | {"embed_dim": config.get("projection_dim", 512), "vision_cfg": vision_cfg, "text_cfg": text_cfg}


def convert(source: Path, folder: Path) -> None:
    """Write ``open_clip_config.json`` and the weights of the model in ``source`` into ``folder``. Raises BackboneError:
    ``source`` lacks a file, or is not a CLIP. DataError: ``folder`` cannot be written."""
    file = next((source / name for name in WEIGHTS if (source / name).is_file()), None)
    if file is None or not (source / "config.json").is_file():
        raise BackboneError(f"{source} should hold config.json and one of {', '.join(WEIGHTS)}.")
    config = open_clip_config(json.loads(read_text(source / "config.json")))
    converted = open_clip_weights(read_checkpoint(file))
    make_output_folder(folder)
    write_output(folder / "open_clip_config.json", json.dumps({"model_cfg": config}, indent=1).encode())
    write_output(folder / WEIGHTS_FILE, save(converted))


def main(argv: Sequence[str] | None = None) -> int:
    """Convert one model; 1 with a sentence where it cannot be."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("source", metavar="DOWNLOADED", type=Path, help="config.json and the weights")
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="what --backbone local-dir:FOLDER loads")
    args = parser.parse_args(argv)
    try:
        convert(args.source, args.folder)
    except DemoError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"Use it as --backbone local-dir:{args.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
