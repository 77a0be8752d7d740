"""The command ``reproduce``: the paper's tables and ablations, measured here and put beside the paper's numbers."""

import argparse
import shlex
from pathlib import Path

from rita_demo.cli import options
from rita_demo.cli.evaluate import add_evaluate
from rita_demo.cli.terminal import Commands, Parser, add_command, print_warning, program
from rita_demo.process.environment import data_folder
from rita_demo.process.output_file import make_output_folder, write_output
from rita_demo.records.errors import BackboneError, DemoError

QUICK = 20  # pictures of each dataset


def add_reproduce(commands: Commands) -> None:
    about = (
        "Prints the evaluate commands of the paper's tables and ablations that the data allows, with the preset paper, runs "
        "them, and writes a report with the paper's cells beside the measured ones. Killed at any moment and started again "
        "with the same command, it goes on."
    )
    parser = add_command(
        commands,
        "reproduce",
        _reproduce,
        "the paper's tables, measured and compared",
        "reproduce --backbone ViT-B-16-quickgelu:openai --data-root DIR --out reproduced",
        "reproduce --backbone ViT-B-32-quickgelu:openai --data-root DIR --table table-main --out reproduced --quick",
        "reproduce --dataset textures --table table-main --out rehearsal --quick",
        description=about,
    )
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
    folders = [
        str(folder) for kind in (reproduce.TABLES, reproduce.FIGURES) if (folder := asked.run_folder(kind)).is_dir()
    ]
    print(f"Figures: {program()} figures {shlex.join(folders)} --all --out {shlex.quote(str(args.out / 'figures'))}")
    return 0
