"""The command ``evaluate``."""

import argparse
import shlex
from pathlib import Path

from rita_demo.attacks import registry as attacks
from rita_demo.attacks.registry import ATTACKS
from rita_demo.cli import options
from rita_demo.cli.terminal import Commands, ProgressLog, add_command, print_progress, print_warning, program
from rita_demo.defences import registry as defences
from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation.chosen import ChosenPictures, read_pictures
from rita_demo.evaluation.request import EXECUTORS, ORDERS, Request, Traffic, parse_request
from rita_demo.process.environment import data_folder
from rita_demo.records.errors import SettingError
from rita_demo.scripting.own import attack_names, defence_names
from rita_demo.settings import SETTINGS


def add_evaluate(commands: Commands) -> None:
    about = "Measure methods on a dataset. Killed at any moment and started again with the same command, it goes on "
    about += "and ends with the same numbers."
    parser = add_command(
        commands,
        "evaluate",
        _evaluate,
        "measure methods on a dataset; started again, it goes on",
        "evaluate --dataset textures --methods clip,rita --attack none,pgd --budget 4 --limit 20 --out runs/textures",
        "evaluate --data-root DIR --dataset dtd:present --methods clip,ensemble,rita --attack adaptive --budget 4 "
        "--out runs/dtd",
        "evaluate --dataset textures --methods clip,rita --attack pgd --budget 2 --pictures won.csv --out runs/won",
        "evaluate --dataset FOLDER --split all --methods clip,rita --attack pgd --budget 2,4 --out runs/mine",
        description=about,
    )
    add = parser.add_argument
    add("--data-root", metavar="DIR", type=Path, help="the folder that holds the datasets")
    help = "names (see the command datasets), or folders with a folder per class; D:present asks only about the "
    help += "classes that have pictures"
    add("--dataset", metavar="D[,D]", required=True, help=help)
    add("--split", default="test", help="test (default), val, train, or all for a folder without splits")
    add("--methods", metavar="M[,M]", required=True, help=f"{', '.join(DEFENCES)}; or FILE.py:NAME, your own")
    help = f"{', '.join(ATTACKS)} (every method by an attacker who knows it; adaptive:METHOD: by one who knows that "
    help += "method); or FILE.py:NAME, your own; may be repeated"
    add("--attack", metavar="A[,A]", action="append", required=True, help=help)
    add("--budget", metavar="N[,N]", required=True, help="strength in 1/255, always written down")
    help = "aim every attack at this class and leave its own pictures out, also of the clean numbers; or next: at the "
    help += "class after each picture's own in the list (default: away from the true class)"
    add("--target", metavar="NAME", default="", help=help)
    add("--steps", metavar="N[,N]", help=f"gradient steps (default {SETTINGS['steps'].default})")
    add("--square", help="model (default) or picture: which square is attacked")
    help = "the memory is off, reset before every picture, or kept (default: all three)"
    add("--protocols", metavar="P[,P]", help=help)
    options.add_defence(parser)
    options.add_settings(parser)
    help = "measure every value of a setting; may be repeated"
    add("--sweep", metavar="NAME=V1,V2", action="append", default=[], help=help)
    options.add_backbone(parser)
    add("--seeds", metavar="S[,S]", default="0", help="views, attacks and order of the stream (default 0)")
    help = "attack only P percent of the pictures, drawn from the seed"
    add("--attacked-share", metavar="P", type=options.whole_number(1, 100), default=100, help=help)
    help = "how the pictures arrive: mixed, or one class after the other"
    add("--stream-order", choices=ORDERS, default="random", help=help)
    add("--limit", metavar="N", type=options.whole_number(1), help="measure N pictures, spread over the classes")
    help = "measure these pictures alone: a CSV file of the page or of compare (column file or picture), also "
    help += "as a spreadsheet saved it, or a name per line"
    add("--pictures", metavar="FILE", type=Path, help=help)
    help = "measure a dataset that lacks classes or pictures, and leave out pictures that cannot be opened; all class "
    help += "names stay prompts"
    add("--allow-partial", action="store_true", help=help)
    help = "begin every kept memory with one that the page or rows --memory exported"
    add("--memory", metavar="FILE", type=Path, help=help)
    help = "where the work is done: local, in this process (default), or ray, by a Ray cluster (RAY_ADDRESS, else one "
    help += "that is started here)"
    add("--executor", choices=EXECUTORS, default="local", help=help)
    add("--out", metavar="RUNS", type=Path, required=True, help="the folder that keeps the results")


def request_of(args: argparse.Namespace) -> Request:
    """The options as a request. Raises SettingError: a name or number that is not allowed."""
    methods = defence_names(args.methods)  # own code first: settings may be its own, and the attacker may know it
    attack = attack_names(",".join(args.attack))
    saved = options.saved_settings(args)
    asked = {
        "start": args.preset,
        "attacks": attack,
        "budget": args.budget,
        "steps": args.steps,
        "square": args.square or saved.get("square", "model"),
        "protocols": args.protocols or saved.get("protocol", "off,reset,stream"),
        "saved": saved,
        "assignments": args.assignments,
        "sweeps": args.sweep,
    }
    same = ("split", "out", "limit", "allow_partial", "backbone", "memory")
    return parse_request(
        *(args.dataset, methods, args.seeds, asked),
        data_root=args.data_root or data_folder(),
        target=args.target.strip(),
        traffic=Traffic(args.attacked_share, args.stream_order),
        chosen=None if args.pictures is None else ChosenPictures(read_pictures(args.pictures)),
        **{name: getattr(args, name) for name in same},
    )


def _evaluate(args: argparse.Namespace) -> int:
    try:
        request = request_of(args)
    except SettingError as error:
        args.usage_error(str(error))  # prints and exits with 2
    if args.executor == "ray" and (attacks.plugin_specs() or defences.plugin_specs()):
        args.usage_error("Methods and attacks of a file need --executor local.")
    from rita_demo.evaluation.planned_cells import dataset_defaults
    from rita_demo.evaluation.run import evaluate

    for name in request.datasets:
        if own := dataset_defaults(request, name):
            said = ", ".join(f"{setting}={value}" for setting, value in own.items())
            print(f"{name}, as in the paper: {said} (--set wins).")
    try:
        done = evaluate(request, ProgressLog(), args.executor, _print_line, print_warning)
    finally:
        print_progress("")
    print(f"{done.cells} cells, {done.rows} rows, {done.new_rows} of them new, in {done.seconds:.0f} s.")
    if done.meanwhile:
        print(f"Another process wrote {done.meanwhile} of these rows meanwhile; they are the same.")
    if done.square:
        print(f"Attacked: {done.square}.")
    print(f"The results are in {request.out}. Next: {program()} tables {shlex.quote(str(request.out))}")
    for line in done.failures:
        print_warning(line)
    return 1 if done.failures else 0


def _print_line(sentence: str) -> None:
    print_progress("")
    print(sentence, flush=True)
