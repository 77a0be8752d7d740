"""The commands ``figures`` and ``reproduce``: the paper's figures and tables, and its numbers beside those measured here."""

import argparse
import shlex
from pathlib import Path

from rita_demo.cli import options
from rita_demo.cli.evaluate import add_evaluate
from rita_demo.cli.terminal import Commands, Parser, ProgressLog, add_command, print_progress, print_warning, program
from rita_demo.data.vocabularies import parse_names
from rita_demo.process.environment import data_folder
from rita_demo.process.output_file import make_output_folder, write_output
from rita_demo.records.errors import BackboneError, DemoError


def add_figures(commands: Commands) -> None:
    about = "Draws every figure and table of the paper that the runs have the measurements for: figures as PDF (or "
    about += "SVG), 88 mm wide (or 180), each with its caption and settings in a text file beside it (Chromium draws "
    about += "them); tables as markdown, CSV and LaTeX; index.md lists all, and what is missing."
    examples = ["figures runs/dtd --all --out paper", "figures runs --all --out paper --dataset dtd --data-root data"]
    examples += ["figures runs/dtd --only feature-cloud,backbones --out paper"]
    examples += ["figures runs/dtd --only memory-purity,memory-entropy,memory-timeline,memory-streams --out paper"]
    examples += ["figures runs/dtd --only feature-cloud --classes banded,dotted,striped --out paper"]
    help = "the paper's figures and tables, from what evaluate has stored"
    parser = add_command(commands, _figures, help, *examples, about=about)
    add, help = parser.add_argument, "folders that evaluate wrote to, or a folder of such folders"
    add("runs", metavar="RUNS", type=Path, nargs="*", help=help)
    which = parser.add_mutually_exclusive_group(required=True)
    help = "every figure and table of the paper, and the memory of every stream"
    which.add_argument("--all", action="store_true", help=help)
    which.add_argument("--only", metavar="NAME[,NAME]", help="some of them, by their names in index.md")
    add("--out", metavar="DIR", type=Path, required=True, help="where the files go; made if it is missing")
    help = "of a figure in millimetres: a column, a page (default: 88)"
    add("--width", type=int, choices=(88, 180), default=88, help=help)
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


QUICK = 20  # pictures of each dataset


def add_reproduce(commands: Commands) -> None:
    about = "Prints the evaluate commands of the paper's tables and ablations that the data allows, with the preset paper, runs "
    about += "them, and writes a report with the paper's cells beside the measured ones. Killed at any moment and started again "
    about += "with the same command, it goes on."
    examples = [
        "reproduce --backbone ViT-B-16-quickgelu:openai --data-root DIR --out reproduced",
        "reproduce --backbone ViT-B-32-quickgelu:openai --data-root DIR --table table-main --out reproduced --quick",
        "reproduce --dataset textures --table table-main --out rehearsal --quick",
    ]
    parser = add_command(commands, _reproduce, "the paper's tables, measured and compared", *examples, about=about)
    add = parser.add_argument
    options.add_backbone(parser)
    add("--data-root", metavar="DIR", type=Path, help="the folder that holds the datasets (default: RITA_DATA)")
    help = "of these datasets alone (default: those of the paper that are here); D:present and folders as in evaluate"
    add("--dataset", metavar="D[,D]", default="", help=help)
    help = "some of them: table-main, table-budget-4, ablation-views, ... (default: all)"
    add("--table", metavar="NAME[,NAME]", default="", help=help)
    add("--quick", action="store_true", help=f"the same with {QUICK} pictures of each dataset")
    add("--out", metavar="DIR", type=Path, required=True, help="the folder that keeps measurements and report")


def _reproduce(args: argparse.Namespace) -> int:
    from rita_demo.evaluation.paper import reproduce
    from rita_demo.evaluation.report import printed

    asked = reproduce.Asked(
        wanted=reproduce.checked(args.table.split(",")) if args.table else reproduce.names(),
        backbone=args.backbone,
        data_root=args.data_root or data_folder(),
        out=args.out,
        datasets=tuple(dict.fromkeys(name.strip() for name in args.dataset.split(",") if name.strip())),
        limit=QUICK if args.quick else None,
    )
    plan, failed, parser = reproduce.make_plan(asked), list[str](), Parser()
    add_evaluate(parser.add_subparsers())
    for words in plan.commands:
        print(f"{program()} {shlex.join(words)}")

    def write_report() -> None:
        lines, measured = reproduce.compared(asked)
        make_output_folder(args.out)
        write_output(args.out / reproduce.REPORT, reproduce.report_text(asked, plan, lines, measured, failed).encode())
        write_output(args.out / reproduce.CELLS, printed.as_csv(lines).encode())

    try:
        for number, words in enumerate(plan.commands, 1):
            write_report()
            print(f"\n{number} of {len(plan.commands)}: {program()} {shlex.join(words)}", flush=True)
            command = parser.parse_args(words)
            try:
                command.run(command)
            except BackboneError:
                raise
            except DemoError as error:  # a package that an attack needs, pictures that cannot be used: the rest goes on
                failed.append(f"{command.dataset}, {','.join(command.attack)}: {error}")
                print_warning(failed[-1])
    finally:
        write_report()
        print(f"The report is {args.out / reproduce.REPORT}. The same command goes on, and measures nothing again.")
    folders = map(asked.run_folder, (reproduce.TABLES, reproduce.FIGURES))
    runs = shlex.join(str(folder) for folder in folders if folder.is_dir())
    print(f"Figures: {program()} figures {runs} --all --out {shlex.quote(str(args.out / 'figures'))}")
    return 0
