"""The commands ``explain``, attack one picture and defend it, and ``budget``, how much on one picture. Torch is imported when
the model is loaded."""

import argparse
import sys
from pathlib import Path

from rita_demo.attacks.registry import ATTACKS
from rita_demo.cli import options
from rita_demo.cli.terminal import Commands, ProgressLog, add_command, check_writable, print_progress, usage_errors
from rita_demo.cli.text_tables import run_table
from rita_demo.data.vocabularies import duplicates
from rita_demo.defences.registry import DEFENCES, usual
from rita_demo.pipeline.run_request import OWN_OPTIONS, RunRequest
from rita_demo.process.output_file import write_output
from rita_demo.records.errors import refuse_gone
from rita_demo.scripting.own import attack_name, defence_names
from rita_demo.settings import SETTINGS, parse_assignment

#: Options of the command line that are words of :meth:`RunRequest.parse` as they are.
WORDS = ("classes", "vocabulary", "label", "target", "methods", "attack", "budget", "steps", "square", "seed")


def add_explain(commands: Commands) -> None:
    examples = ["explain picture.jpg --classes cup,crab,cat --label cup"]
    examples += ["explain picture.jpg --vocabulary dtd --attack adaptive:rita --budget 2 --json result.json"]
    examples += ["explain other.jpg --vocabulary dtd --settings result.json --methods clip,rita"]
    parser = add_command(commands, _explain, "attack one picture and defend it", *examples)
    add = parser.add_argument
    options.add_picture(parser)
    options.add_backbone(parser)
    help = {name: SETTINGS[name].help.rstrip(".") for name in OWN_OPTIONS}
    low_high = {name: f"{SETTINGS[name].low:g} to {SETTINGS[name].high:g}" for name in ("budget", "steps")}
    default = {name: f"default {SETTINGS[name].default}" for name in OWN_OPTIONS}
    text = f"{help['attack']} ({default['attack']}); adaptive:METHOD, made by an attacker who knows that method; or "
    text += "FILE.py:NAME, your own"
    add("--attack", metavar=f"{{{','.join(ATTACKS)}}}", help=text)
    add("--budget", metavar="N", help=f"{help['budget']} ({low_high['budget']}, in 1/255; {default['budget']})")
    add("--steps", metavar="N", help=f"{help['steps']} ({low_high['steps']}; {default['steps']})")
    add("--square", choices=SETTINGS["square"].choices, help=f"{help['square']} ({default['square']})")
    add("--target", help="the class the attack aims at (default: away from the label)")
    add("--seed", metavar="N", help="both the attack's seed and the views' seed")
    names = ",".join(usual())
    text = f"who answers beside CLIP, Ensemble and RITA: {', '.join(DEFENCES)}; or FILE.py:NAME, your own (default: {names})"
    add("--methods", metavar="M[,M]", default=names, help=text)
    options.add_defence(parser)
    text = "begin with a memory that the page or rows --memory exported, of the same class names and model (default: an empty one)"
    add("--memory", metavar="FILE", type=Path, help=text)
    options.add_settings(parser)
    add("--json", metavar="F", type=Path, help="write the answers as JSON")
    add("--arrays", metavar="F", type=Path, help="write the arrays as safetensors")
    add("--html", metavar="F", type=Path, help="write one page that needs no server and no network")


def run_request_of(args: argparse.Namespace) -> RunRequest:
    """The request of a command line. Raises DemoError: as :meth:`RunRequest.parse`."""
    words = {name: getattr(args, name) for name in WORDS}
    # own code first: settings may be its own, and the attacker may know it
    words["methods"] = defence_names(args.methods)
    if args.attack is not None:
        words["attack"] = attack_name(args.attack)
    saved, changes = options.saved_settings(args), dict(map(parse_assignment, args.assignments))
    return RunRequest.parse(args.image, start=args.preset, saved=saved, changes=changes, **words)


def _explain(args: argparse.Namespace) -> int:
    with usage_errors(args):
        request = run_request_of(args)
    if again := duplicates(args.classes or ""):
        print(f"Named more than once, used once: {', '.join(again)}.", file=sys.stderr)
    check_writable(args.json, args.arrays, args.html)
    from rita_demo.pipeline.export import arrays_file, json_bytes, to_json
    from rita_demo.scripting import explain as scripting

    engine, run = scripting.explain(request, args.backbone, lambda now: print_progress(now.sentence), args.memory)
    print_progress("")
    if args.json:
        write_output(args.json, json_bytes(to_json(run)) + b"\n")
    if args.arrays:
        write_output(args.arrays, arrays_file(run))
    if args.html:
        write_output(args.html, scripting.page_html(engine, run).encode())
    print(run_table(run, Path(args.image).name))
    return 0


def add_budget(commands: Commands) -> None:
    about = (
        "Find the smallest strength at which an attacker who knows a defence makes its answer on a picture wrong, by "
    )
    about += "bisection. Beside it: the passes of the vision tower that all attacks took. A defence that stands may fall to a "
    about += "better attack."
    examples = ["budget picture.jpg --classes cup,crab,cat --label cup --methods clip,ensemble,rita"]
    examples += ["budget picture.jpg --vocabulary dtd --methods rita --backbone embedded-robust --csv budgets.csv"]
    help = "the smallest strength at which the attacker who knows breaks a defence"
    parser = add_command(commands, _budget, help, *examples, about=about)
    add = parser.add_argument
    options.add_picture(parser)
    help = f"{', '.join(DEFENCES)}; or FILE.py:NAME, your own"
    add("--methods", metavar="M[,M]", default="clip,ensemble,rita", help=help)
    add("--most", metavar="N", type=options.strength, default=32, help="the largest strength, in 1/255 (32)")
    options.add_backbone(parser)
    options.add_defence(parser)
    options.add_settings(parser)
    add("--out", help=argparse.SUPPRESS)
    add("--csv", metavar="F", type=Path, help="write the table as CSV")


def _budget(args: argparse.Namespace) -> int:
    from rita_demo.scripting.smallest_budget import smallest_budget

    methods = defence_names(args.methods)  # first: a setting may be its own
    with usage_errors(args):
        if args.out is not None:
            refuse_gone("out of smallest_budget")
        changes, saved = dict(map(parse_assignment, args.assignments)), options.saved_settings(args)
    check_writable(args.csv)
    same = {name: getattr(args, name) for name in ("classes", "vocabulary", "label", "most", "preset", "backbone")}
    table = smallest_budget(args.image, methods=methods, report=ProgressLog(), settings=changes, saved=saved, **same)
    print_progress("")
    if args.csv:
        write_output(args.csv, table.to_csv(lineterminator="\n").encode())
    print(table.round(3).astype(object).where(table.notna(), "–").to_string())
    return 0
