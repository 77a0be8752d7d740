"""The commands ``models`` and ``datasets``: what can be used here and now, and what is missing."""

import argparse
from pathlib import Path

from rita_demo.cli.terminal import Commands, add_command
from rita_demo.process.environment import data_folder
from rita_demo.records.spreadsheet import align_columns


def add_models(commands: Commands) -> None:
    add_command(commands, _models, "the models that can be used here and now", "models")


def add_datasets(commands: Commands) -> None:
    about, example = "the datasets that are here, and what is missing", "datasets --data-root DIR"
    parser = add_command(commands, _datasets, about, example)
    help = "the folder that holds them (default: RITA_DATA, else ./data where it exists)"
    parser.add_argument("--data-root", metavar="DIR", type=Path, help=help)


def _models(_: argparse.Namespace) -> int:
    """Print name, whether it can be used now, parameters and one sentence of every model, and the paper's names."""
    from rita_demo.data.paper_results import BACKBONES
    from rita_demo.vlm.backbone import pick_device
    from rita_demo.vlm.catalogue import model_status

    rows = model_status()
    sizes = [f"{row.entry.parameters / 1e6:.0f} M parameters" for row in rows]
    lines = [["*" if row.ready else "", row.name, row.state, size] for row, size in zip(rows, sizes)]
    print(f"Device: {pick_device()}. Models (* can be used now):")
    for line, row in zip(align_columns(lines), rows):
        print(f"{line}\n     {row.entry.note} {row.entry.about}")
    print(
        """\
Any other open_clip model: --backbone ARCHITECTURE:TAG, or ARCHITECTURE:path/to/checkpoint, where the name decides the
activation: weights that come from OpenAI's want ViT-B-32-quickgelu, not ViT-B-32.
TeCoA, PMG-AFT, FARE: --backbone ViT-B-32-quickgelu:openai+path/to/vision_tower.pt; keys that may be missing or left
over in it are named behind: +except=KEY,KEY.
TinyCLIP, and any CLIP of Hugging Face's transformers: python -m tools.convert_clip DOWNLOADED FOLDER makes the folder of
--backbone local-dir:FOLDER.
The paper's names (--backbone understands them too; of a fine-tuned vision tower, put the path of your file in the \
place of its name):"""
    )
    print("\n".join(align_columns([["", *both] for both in BACKBONES.items()])))
    return 0


def _datasets(args: argparse.Namespace) -> int:
    """Print each dataset's own sentence for a class name, what is here and what is missing."""
    from rita_demo.data.datasets import dataset_status

    root = args.data_root or data_folder()
    where = f"below {root}" if root else "(no data folder: say where with --data-root)"
    rows = [
        ["*" if row.usable else "", row.name, row.template, f"{row.sentence} {row.skipped}".rstrip()]
        for row in dataset_status(root, look=True)
    ]
    note = "The sentence of each is what --set hand_prompt=dataset uses for CLIP."
    print("\n".join([f"Datasets {where} (* can be used now):", *align_columns(rows), note]))
    return 0
