"""The commands ``evaluate``, and ``judge``: one's own defence on one page."""

import argparse
import shlex
import warnings
from pathlib import Path

from rita_demo.attacks.registry import ATTACKS
from rita_demo.attacks.registry import plugin_specs as attack_specs
from rita_demo.cli import options
from rita_demo.cli.terminal import (
    Commands,
    ProgressLog,
    add_command,
    print_progress,
    print_warning,
    program,
    usage_errors,
)
from rita_demo.defences.registry import DEFENCES
from rita_demo.defences.registry import plugin_specs as defence_specs
from rita_demo.evaluation import request as requests
from rita_demo.process.environment import data_folder
from rita_demo.scripting.own import attack_names, defence_names
from rita_demo.settings import SETTINGS, parse_assignment


def add_evaluate(commands: Commands) -> None:
    about = "Measure methods on a dataset. Killed at any moment and started again with the same command, it goes on "
    about += "and ends with the same numbers."
    examples = [
        "--dataset textures --methods clip,rita --attack none,pgd --budget 4 --limit 20 --out runs/textures",
        "--data-root DIR --dataset dtd:present --methods clip,ensemble,rita --attack adaptive --budget 4 --out runs/dtd",
        "--dataset textures --methods clip,rita --attack pgd --budget 2 --pictures won.csv --out runs/won",
        "--dataset FOLDER --split all --methods clip,rita --attack pgd --budget 2,4 --out runs/mine",
    ]
    help = "measure methods on a dataset; started again, it goes on"
    parser = add_command(commands, _evaluate, help, *(f"evaluate {words}" for words in examples), about=about)
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
    add("--stream-order", choices=requests.ORDERS, default="random", help=help)
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
    add("--executor", choices=requests.EXECUTORS, default="local", help=help)
    add("--out", metavar="RUNS", type=Path, required=True, help="the folder that keeps the results")


def request_of(args: argparse.Namespace) -> requests.Request:
    """The options as a request. Raises SettingError: a name or number that is not allowed."""
    methods = defence_names(args.methods)  # own code first: settings may be its own, and the attacker may know it
    attacks, saved = attack_names(",".join(args.attack)), options.saved_settings(args)
    asked = {"start": args.preset, "attacks": attacks, "budget": args.budget, "steps": args.steps, "saved": saved}
    asked |= {"assignments": args.assignments, "sweeps": args.sweep}
    asked["square"] = args.square or saved.get("square", "model")
    asked["protocols"] = args.protocols or saved.get("protocol", "off,reset,stream")
    same = ("split", "out", "limit", "allow_partial", "backbone", "memory")
    return requests.parse_request(
        *(args.dataset, methods, args.seeds, asked),
        data_root=args.data_root or data_folder(),
        target=args.target.strip(),
        traffic=requests.Traffic(args.attacked_share, args.stream_order),
        chosen=None if args.pictures is None else requests.ChosenPictures(requests.read_pictures(args.pictures)),
        **{name: getattr(args, name) for name in same},
    )


def _evaluate(args: argparse.Namespace) -> int:
    with usage_errors(args):
        request = request_of(args)
    if args.executor == "ray" and (attack_specs() or defence_specs()):
        args.usage_error("Methods and attacks of a file need --executor local.")
    from rita_demo.evaluation.measurement import settings_text
    from rita_demo.evaluation.planned_cells import dataset_defaults
    from rita_demo.evaluation.run import evaluate

    for name in request.datasets:
        if defaults := dataset_defaults(request, name):
            print(f"{name}, as in the paper: {settings_text(defaults)} (--set wins).")

    def note(sentence: str) -> None:
        print_progress("")
        print(sentence, flush=True)

    try:
        done = evaluate(request, ProgressLog(), args.executor, note, print_warning)
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


def add_judge(commands: Commands) -> None:
    about = "Measures a defence beside others under every attack, and writes one page and one JSON with a verdict. Killed at any "
    about += "moment and started again with the same command, it goes on."
    examples = "judge mine.py:Mine --quick", "judge mine.py:Mine --data-root DIR --dataset dtd:present --limit 100"
    add = add_command(commands, _judge, "one page and a verdict on your own", *examples, about=about).add_argument
    add("defence", metavar="FILE.py:NAME", help="a Defence, or a plain function")
    add("--dataset", metavar="D", default="textures", help="as in evaluate (default: the textures that ship)")
    add("--data-root", metavar="DIR", type=Path, help="the folder that holds the datasets")
    add("--split", default="test", help="test (default), val, train, or all")
    add("--backbone", type=options.backbone, help="one model (default: both embedded towers)")
    add("--seeds", metavar="S[,S]", default="0", help="views and attacks (default 0)")
    add("--limit", metavar="N", type=options.whole_number(1), help="pictures (default 50; with --quick 4)")
    help = "any setting; may be repeated"
    add("--set", metavar="NAME=VALUE", action="append", default=[], dest="settings", help=help)
    add("--quick", action="store_true", help="few pictures and steps, to see that all runs: no judgement")
    add("--out", metavar="DIR", type=Path, help="the folder of page, JSON and rows (default: the defence's name)")


def _judge(args: argparse.Namespace) -> int:
    from rita_demo.scripting.judge import judge

    others = ("run", "usage_error", "defence")
    asked = {name: value for name, value in vars(args).items() if name not in others and value is not None}
    asked["settings"] = dict(map(parse_assignment, args.settings))
    # which pictures have no answer, and why
    warnings.showwarning = lambda message, *_, **__: print_warning(str(message))
    result = judge(args.defence, **asked, report=ProgressLog())
    print_progress("")
    print(f"{result['verdict']}\nThe page is {args.out or result['defence']}/judge.html.")
    return 0
