"""``judge``: one's own defence beside CLIP, Ensemble, RITA and the best measured one, as one page and one JSON."""

import json
import re
import warnings
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

import rita_demo
from rita_demo.data import shipped_results
from rita_demo.defences.registry import DEFENCES
from rita_demo.process.output_file import make_output_folder, write_output
from rita_demo.process.templates import html
from rita_demo.process.time_left import TimeLeft
from rita_demo.records import MeasuredCell
from rita_demo.records.errors import DataError, SettingError
from rita_demo.records.intervals import mcnemar, wilson
from rita_demo.records.masking_signs import (
    FEWER_STEPS,
    LARGE_BUDGET,
    QUESTIONS,
    JudgedCell,
    masking_sentence,
    masking_signs,
)
from rita_demo.scripting.own import OwnDefence, defence_names
from rita_demo.ui.header.standalone_page import style_sheet

BESIDE, TOWERS = ["clip", "ensemble", "rita"], ("embedded", "embedded-robust")
BUDGET, LEVEL, BY_QUERIES = 4, 0.05, 0
#: Pictures, and steps, starts and queries of the attacker who knows the defence: of a quick judgement, and of one.
EFFORT = {True: (4, 8, 1, 100), False: (50, 30, 2, 1000)}
#: What is measured, in the page's order, and all of it together.
WAYS = {"none": "no attack", "adaptive": "knows the row", "pgd": "PGD", "reverse": "reverse"}
WAYS |= {"autoattack": "AutoAttack", "all": "kept under all"}
COLUMNS = ["dataset", "backbone", "method", "attack", "budget", "steps", "protocol", "split"]


def judge(
    defence: OwnDefence,
    *,
    backbone: str | None = None,
    quick: bool = False,
    out: str | Path | None = None,
    report: Callable[[str], object] = lambda _: None,
    **options: Any,
) -> dict[str, Any]:
    """Judge a defence by all its attacks: ``rita judge`` in Python. :func:`outcome` has the rule of the verdict.

    Args:
        defence: as :func:`rita_demo.evaluate` takes one, and the options ``dataset`` (here the textures that ship), ``limit``
            (here 50), ``split``, ``data_root``, ``seeds``, ``settings``. backbone: one model (None: both embedded towers).
        quick: 4 pictures, few steps, no AutoAttack, no further attackers in search of signs of masking: to see that all runs.
        out: the folder of ``judge.html``, ``judge.json`` and the rows (None: named after the defence). Killed and called
            again it goes on, and ends with the same files. report: gets a sentence after every picture.

    Returns:
        What ``judge.json`` holds. Raises DemoError: an input that cannot be used, in one sentence.
    """
    names = defence_names(defence)
    if len(names) != 1 or names[0] in BESIDE or names[0] not in DEFENCES:
        raise SettingError(f"One defence is judged; got {', '.join(names) or 'none'}.", "Give yours as FILE.py:NAME.")
    mine, own, out = names[0], DEFENCES[names[0]], Path(out or names[0])
    choice = pd.read_csv(shipped_results.CHOICE).groupby("method")["accuracy"].mean()  # under PGD, on val
    methods = [mine, *BESIDE, choice.drop([*BESIDE, mine], errors="ignore").idxmax()]
    pictures, steps, starts, queries = EFFORT[quick]
    asked: dict[str, Any] = {"dataset": "textures", "limit": pictures, "settings": {}, "allow_partial": True}
    asked |= {"protocols": "stream" if own.uses_cache else "off"} | options
    about: dict[str, Any] = json.loads(json.dumps(asked, default=str))  # a path, pictures or an engine as text
    if isinstance(seeds := about.get("seeds"), str):
        about["seeds"] = [int(one) if one.strip().isdecimal() else one for one in seeds.split(",")]
    about |= {"quick": quick, "budget": BUDGET, "steps": steps, "starts": starts, "version": rita_demo.__version__}
    folder = out / "rows" / sha256(json.dumps([about, backbone, own.digest], sort_keys=True).encode()).hexdigest()[:12]
    make_output_folder(folder)
    with suppress(DataError), warnings.catch_warnings(action="ignore"):  # there are none yet; of several attackers
        report(f"{len(rita_demo.load_runs(folder))} rows were found in {folder}.")
    # who is attacked, how, at which strength, by how many steps; the last three look for signs of masking
    exact = ",autoattack" * (not quick and find_spec("pyautoattack") is not None)
    parts = [(methods, "adaptive", BUDGET, steps), (methods, f"none,pgd,reverse{exact}", BUDGET, steps)]
    if not quick:
        further = (BUDGET, steps // FEWER_STEPS), (LARGE_BUDGET, steps), (BUDGET, BY_QUERIES)
        parts += [([mine], "adaptive", *one) for one in further]
    models, clock, measured = [backbone] if backbone else TOWERS, TimeLeft(), list[pd.DataFrame]()

    def step(sentence: str) -> object:
        at = re.search(r", part (\d+) of (\d+): picture (\d+) of (\d+)$", sentence)
        if not at:  # pictures are being opened, or rows are there already
            return report(f"{model}: {sentence}")
        part, of, picture, pictures = map(int, at.groups())
        share = (len(measured) + (part - 1 + picture / pictures) / of) / (len(models) * len(parts))
        return report(", ".join(filter(None, (f"{100 * share:.0f} %", clock.say(share), f"{model}: {sentence}"))))

    def measure(model: str, against: list[str], attack: str, budget: int, many: int, main: bool) -> pd.DataFrame:
        known = {"steps": many or steps, "restarts": starts, "search": "gradient" if many else "square"}
        given = asked | {"methods": against, "attack": attack, "budget": budget, "backbone": model}
        given["settings"] = {"adaptive.queries": queries} | asked["settings"]
        given["settings"] |= {f"adaptive.{name}": value for name, value in known.items()}
        place = str(len(measured)) if many else f"queries{models.index(model)}"
        rows = rita_demo.evaluate(**given, out=folder / place, report=step)
        return rows.assign(model=model, main=main, queries=many == BY_QUERIES)

    for model, (against, attack, budget, many) in product(models, parts):
        rows = measure(model, against, attack, budget, many, against is methods)
        if attack == "adaptive" and against is methods and mine not in set(rows["method"]):
            rows = pd.concat([rows, measure(model, [mine], attack, budget, BY_QUERIES, True)])
        measured.append(rows)
    rows, level = pd.concat(measured).astype({"right": float, "gradient": float}), LEVEL / len(models)
    found = {model: judged(rows[rows["model"] == model], mine, level) for model in models}
    verdict = "; ".join(f"{one['outcome']} on {model}: {one['said']}" for model, one in found.items())
    numbers = [number for one in found.values() for number in one["shares"][mine].values()]
    cells = ["{percent:.0f} ({low:.0f}--{high:.0f})".format(**one) if one["n"] else "--" for one in numbers]
    latex = pd.DataFrame([cells], index=[own.title]).to_latex(header=False, escape=True).splitlines()[3]
    about |= {"defence": mine, "titles": {name: DEFENCES[name].title for name in methods}}
    about |= {"verdict": f"{own.title}{', at a quick look, which is no judgement' * quick}: {verdict}."}
    about |= {"rule": " ".join(str(outcome.__doc__).partition("\n\n")[0].split()), "models": found, "latex": latex}
    data = json.dumps(about, indent=1, ensure_ascii=False)
    write_output(out / "judge.json", data.encode())
    write_output(out / "judge.html", html("judge", **about, ways=WAYS, style=Markup(style_sheet()), data=data).encode())
    return about


def outcome(rows: pd.DataFrame, mine: str, level: float, masked: bool) -> tuple[str, pd.DataFrame, dict[str, Any]]:
    """A picture is kept if its answer is right without an attack and under every attack of this page, the attacker who knows
    the defence first; with several seeds, the share of them counts that the worst attack leaves. On a model the defence gains
    if it keeps more than CLIP and more than Ensemble on the same pictures, each by McNemar's exact test with p below 0.05 over
    the number of models; it loses if it keeps fewer than one of the two at that level; otherwise no gain shows. A gain beside
    a sign of masking is not counted. Pictures without an answer are left out, and said; where none is left, the defence cannot
    be judged. A defence that gives no gradient is attacked by queries.

    ``rows``: columns ``method``, ``attack``, ``picture``, ``right``. Returns the outcome in words; what is kept, a row for every
    picture that all methods answer under every attack and a column for each of them; and the two tests."""
    worst = rows.groupby(["method", "picture", "attack"])["right"].mean().unstack().min(axis=1, skipna=False)
    kept, tests = worst.unstack("method").reindex(columns=dict.fromkeys([mine, *rows["method"]])).dropna(), {}
    if kept.empty:
        return "cannot be judged", kept, {}
    for other in BESIDE[:2]:
        gained, lost = (int((sign * (kept[mine] - kept[other]) > 0).sum()) for sign in (1, -1))
        tests[other] = {"gained": gained, "lost": lost, "p": mcnemar(gained, lost)}
    signs = [(one["p"] < level) * (one["gained"] - one["lost"]) for one in tests.values()]
    if min(signs) > 0:
        return "a gain is not counted (its gradient may be hidden)" if masked else "a gain shows", kept, tests
    return "a loss shows" if min(signs) < 0 else "no gain shows", kept, tests


def judged(rows: pd.DataFrame, mine: str, level: float) -> dict[str, Any]:
    """What the page shows of one model, from its rows; those of the verdict are ``main``."""
    main, knows = rows[rows["main"]], rows[rows["attack"] == "adaptive"]
    measured = dict(list(main.groupby(["method", "attack"])))
    others = [_cell(found) for _, found in knows.groupby(["method", "budget", "steps", "queries"])]
    asked, static = (mine, "adaptive"), [_cell(found) for (name, _), found in measured.items() if name == mine]
    by_queries = asked in measured and bool(measured[asked]["queries"].any())
    signs: tuple[bool | None, ...] = (None,) * len(QUESTIONS)
    if asked in measured and not by_queries:
        signs = masking_signs(_cell(measured[asked]), others, static)
    words, kept, tests = outcome(main, mine, level, True in signs)
    numbers = {key: _share(found["right"], found["picture"]) for key, found in measured.items()}
    numbers |= {(name, "all"): _share(kept[name], kept.index) for name in kept}
    none, ways = _share(main["right"][:0], main["picture"][:0]), [way for way in WAYS if ("clip", way) in numbers]
    shares = {name: {way: numbers.get((name, way), none) for way in ways} for name in kept}
    beside = ", ".join(f"{DEFENCES[o].title} {kept[o].sum():g} (p {one['p']:.2g})" for o, one in tests.items())
    said, left = "no picture has an answer under every attack", main["picture"].nunique() - len(kept)
    if len(kept):
        said = f"it keeps {kept[mine].sum():g} of {len(kept)} pictures, {beside}"
        said += f", and {left} without an answer are left out" * (left > 0)
        said += ", attacked by queries as it gives no gradient" * by_queries
        if (least := mcnemar(len(kept), 0)) >= level:
            said += f"; so few pictures cannot show a gain (p is at least {least:.2g}, and has to be below {level:g})"
    return {"outcome": words, "said": said, "shares": shares, "tests": tests, "masking": masking_sentence(signs)}


def _share(right: pd.Series, pictures: Any) -> dict[str, Any]:
    """Percent right with its interval, of different pictures; None where there are none."""
    if not (n := pictures.nunique()):
        return {"percent": None, "low": None, "high": None, "n": 0}
    share = right.mean()
    low, high = wilson(share * n, n)
    return {"percent": 100 * share, "low": 100 * low, "high": 100 * high, "n": n}


def _cell(rows: pd.DataFrame) -> JudgedCell:
    numbers, first, gradient = _share(rows["right"], rows["picture"]), rows.iloc[0], rows["gradient"].median()
    cell = MeasuredCell(**dict(first[COLUMNS]), accuracy=numbers.pop("percent"), **numbers, seeds="", settings="")
    return JudgedCell(cell, None if pd.isna(gradient) else gradient, first["queries"], "", frozenset(rows["picture"]))
