"""Pictures on which an attack leaves only RITA right, or only the average of the crops: how they are looked for, and the
stored ones."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from itertools import islice, product

import numpy as np

from rita_demo.analysis.crop_field import margins
from rita_demo.analysis.rules import rules
from rita_demo.data import samples, textures
from rita_demo.data.pictures import open_picture
from rita_demo.data.vocabularies import VOCABULARIES
from rita_demo.engine.protocol import Engine
from rita_demo.pipeline.run import run_picture
from rita_demo.process.assets import ASSETS
from rita_demo.records import Picture, Run
from rita_demo.records.errors import DataError
from rita_demo.settings import RECOMMENDED

#: Written by ``python -m tools.story.differing``.
STORED = ASSETS / "measured" / "differing.json"
BUDGETS = (4, 3, 5, 2, 6, 1, 7, 8)  # in 1/255: those nearest to the page's own first
CLEAR = {"average": 0.02, "rita": 0.002}  # the least lead that another processor's rounding does not turn


@dataclass(frozen=True)
class Source:
    """A picture that may be shipped: a sample, or a drawn texture of the class ``label``."""

    sample: str  # a key of SAMPLES; "": a texture
    label: str
    seed: int | None  # of the texture

    def open(self, engine: Engine) -> tuple[Picture, tuple[str, ...]]:
        """The picture and its class names."""
        if self.sample:
            one = samples.sample(self.sample)
            return one.load(square=RECOMMENDED.square, side=engine.info.side), one.names
        assert self.seed is not None
        return open_picture(textures.draw(self.label, self.seed)), VOCABULARIES["dtd"].names


@dataclass(frozen=True)
class Differing:
    """One picture on which only one of the two is right: what the page shows of it. Names, not indices, of classes."""

    right: str  # "rita" or "average"
    source: Source
    budget: int  # in 1/255
    rival: str  # the wrong class of the other one
    answers: dict[str, str]  # average, balanced, rita -> its answer on the attacked picture
    leads: dict[str, float]  # each in its own unit
    clean: tuple[float, ...]  # (N,) the crops' margins between the true class and the rival, without the attack
    attacked: tuple[float, ...]  # (N,) with it
    weight: dict[str, tuple[float, ...]]  # rule -> (N,) the crops' shares in its answer
    drop: float | None  # the law's terms; None: no crop is turned
    rise: float | None
    weights: str  # the first digits of the hash of the model's weights


def sources(texture_seeds: int) -> Iterator[Source]:
    """The samples in their order, then textures of the split ``test``, seed after seed, of every class."""
    for key, one in samples.available().items():
        yield Source(key, one.label, None)
    for seed in textures.seeds("test")[:texture_seeds]:
        for name in textures.CLASSES:
            yield Source("", name, seed)


def differing(engine: Engine, run: Run, source: Source) -> Differing | None:
    """What a run shows, if without the attack CLIP, average and RITA are right, and with it CLIP is wrong and one of the
    other two, both by a clear lead (:data:`CLEAR`). None: it is not so."""
    label, names = run.label, run.class_prompts.names
    clean, attacked = (
        {n: side.verdicts[n].label == label for n in ("clip", "ensemble", "rita")} for side in (run.clean, run.attacked)
    )
    if not all(clean.values()) or attacked["clip"] or attacked["ensemble"] == attacked["rita"]:
        return None
    compared = rules(run, run.attacked)
    three = {rule.name: rule for rule in (compared.average, compared.balanced, compared.rita)}
    if any(three[name].lead < least for name, least in CLEAR.items()):
        return None
    right, wrong = ("rita", "average") if attacked["rita"] else ("average", "rita")
    rival = three[wrong].label
    before, after = (margins(run, side, (label, rival)) for side in (run.clean, run.attacked))
    return Differing(
        right,
        source,
        run.settings.budget,
        names[rival],
        {name: names[rule.label] for name, rule in three.items()},
        {name: round(rule.lead, 4) for name, rule in three.items()},
        _rounded(before),
        _rounded(after),
        {name: _rounded(rule.weight) for name, rule in three.items()},
        None if compared.law is None else round(compared.law.drop, 4),
        None if compared.law is None else round(compared.law.rise, 4),
        engine.weights_key()[:8],
    )


def search(engine: Engine, texture_seeds: int, skip: int = 0) -> Iterator[tuple[Source, int, Differing | None]]:
    """Every picture at the strength of the page, then every picture at the next one: what was tried and found. The first
    ``skip`` are left out."""
    for budget, source in islice(product(BUDGETS, sources(texture_seeds)), skip, None):
        picture, names = source.open(engine)
        settings = RECOMMENDED.replace(budget=budget)
        run = run_picture(engine, picture, names, settings, label=names.index(source.label))
        yield source, budget, differing(engine, run, source)


def stored() -> tuple[Differing, ...]:
    """The stored pictures, one of each kind that was found. Raises DataError: the file is missing or damaged."""
    try:
        return tuple(_read(one) for one in json.loads(STORED.read_text("utf-8"))["pictures"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        message = "The stored pictures on which the methods differ cannot be read."
        raise DataError(message, "Restore assets/measured/differing.json.") from error


def tried() -> int:
    """How many pictures and strengths were looked at for the stored ones."""
    return int(json.loads(STORED.read_text("utf-8"))["tried"])


def write(found: list[Differing], looked_at: int) -> None:
    """Write them as :func:`stored` and :func:`tried` read them."""
    text = json.dumps({"tried": looked_at, "pictures": [asdict(one) for one in found]}, separators=(",", ":"))
    STORED.write_text(text + "\n", "utf-8")


def _read(given: dict) -> Differing:
    parts = {field.name: given[field.name] for field in fields(Differing)}
    parts |= {name: tuple(parts[name]) for name in ("clean", "attacked")}
    parts |= {"source": Source(**parts["source"]), "weight": {n: tuple(w) for n, w in parts["weight"].items()}}
    return Differing(**parts)


def _rounded(values: np.ndarray) -> tuple[float, ...]:
    return tuple(round(float(value), 4) for value in values)
