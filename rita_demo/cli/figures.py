"""The command ``figures``: the paper's figures and tables as files."""

import argparse
from pathlib import Path

from rita_demo.cli import options
from rita_demo.cli.terminal import Commands, ProgressLog, add_command, print_progress
from rita_demo.data.vocabularies import parse_names


def add_figures(commands: Commands) -> None:
    about = "Draws every figure and table of the paper that the runs have the measurements for: figures as PDF (or "
    about += "SVG), 88 mm wide (or 180), each with its caption and settings in a text file beside it (Chromium draws "
    about += "them); tables as markdown, CSV and LaTeX; index.md lists all, and what is missing."
    parser = add_command(
        commands,
        "figures",
        _figures,
        "the paper's figures and tables, from what evaluate has stored",
        "figures runs/dtd --all --out paper",
        "figures runs --all --out paper --dataset dtd --data-root data",
        "figures runs/dtd --only feature-cloud,backbones --out paper",
        "figures runs/dtd --only memory-purity,memory-entropy,memory-timeline,memory-streams --out paper",
        "figures runs/dtd --only feature-cloud --classes banded,dotted,striped --out paper",
        description=about,
    )
    add, help = parser.add_argument, "folders that evaluate wrote to, or a folder of such folders"
    add("runs", metavar="RUNS", type=Path, nargs="*", help=help)
    which = parser.add_mutually_exclusive_group(required=True)
    help_all = "every figure and table of the paper, and the memory of every stream"
    which.add_argument("--all", action="store_true", help=help_all)
    which.add_argument("--only", metavar="NAME[,NAME]", help="some of them, by their names in index.md")
    add("--out", metavar="DIR", type=Path, required=True, help="where the files go; made if it is missing")
    add(
        "--width",
        type=int,
        choices=(88, 180),
        default=88,
        help="of a figure in millimetres: a column, a page (default: 88)",
    )
    add("--format", choices=("pdf", "svg"), default="pdf", help="of a figure (default: pdf)")
    help = "attack pictures of this dataset for feature-cloud and kl-to-one-hot, instead of those that the streams in RUNS "
    help += "have stored (without RUNS: drawn textures, always val)"
    add("--dataset", help=help)
    add("--split", default="test", help="of that dataset (default: test)")
    add("--data-root", metavar="DIR", type=Path, help="the folder of the datasets (default: RITA_DATA)")
    help = "classes drawn in them, by their names or so many of those with most pictures (default: all of a stream, 6 of a dataset)"
    add("--classes", metavar="N|a,b,c", type=_classes, help=help)
    add("--each", metavar="N", type=int, default=6, help="pictures of each class of that dataset (default: 6)")
    add("--neighbours", metavar="N", type=int, default=15, help="of UMAP (default: 15)")
    options.add_backbone(parser)


def _classes(text: str) -> int | tuple[str, ...]:
    return int(text) if text.strip().isdecimal() else parse_names(text)


def _figures(args: argparse.Namespace) -> int:
    from rita_demo.evaluation.paper import catalogue
    from rita_demo.scripting.figures import INDEX, write

    asked = catalogue.names() if args.all else (args.only or "").split(",")
    clouds = [name for name in (catalogue.CLOUD, catalogue.KL) if name in asked]
    if clouds and (args.dataset == "textures" or not (args.dataset or args.runs)):
        print(f"{' and '.join(clouds)}: of drawn textures. For pictures: --dataset dtd --data-root DIR.")
    figures, tables, missing = write(args, ProgressLog())
    print_progress("")
    print(f"{figures} figures, {tables} tables, {missing} missing: {args.out / INDEX}")
    return 0
