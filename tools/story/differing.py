"""Look for one picture on which an attack leaves only RITA right, and one on which it leaves only the average right.

``python -m tools.story.differing`` tries the samples and drawn textures in turn and writes the first of each kind to
``assets/measured/differing.json``; it ends when both are found, or after ``--minutes``, and the next call goes on from there.
Without the file it begins anew.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice, product

import numpy as np

from rita_demo.analysis.crop_field import margins
from rita_demo.analysis.rules import rules
from rita_demo.data import samples
from rita_demo.data.pictures import open_picture
from rita_demo.data.vocabularies import VOCABULARIES
from rita_demo.engine.engine import Engine
from rita_demo.pipeline.differing import STORED, Differing, Source, stored, tried
from rita_demo.pipeline.run import run_picture
from rita_demo.records import Picture, Run
from rita_demo.settings import RECOMMENDED
from tools import textures

BUDGETS = (4, 3, 5, 2, 6, 1, 7, 8)  # in 1/255: those nearest to the page's own first
CLEAR = {"average": 0.02, "rita": 0.002}  # the least lead that another processor's rounding does not turn


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
        picture, names = opened(source, engine)
        settings = RECOMMENDED.replace(budget=budget)
        run = run_picture(engine, picture, names, settings, label=names.index(source.label))
        yield source, budget, differing(engine, run, source)


def opened(source: Source, engine: Engine) -> tuple[Picture, tuple[str, ...]]:
    """The picture and its class names."""
    if source.sample:
        one = samples.sample(source.sample)
        return one.load(square=RECOMMENDED.square, side=engine.info.side), one.names
    assert source.seed is not None
    return open_picture(textures.draw(source.label, source.seed)), VOCABULARIES["dtd"].names


def write(found: list[Differing], looked_at: int) -> None:
    """Write them as ``rita_demo/pipeline/differing.py`` reads them."""
    text = json.dumps({"tried": looked_at, "pictures": [asdict(one) for one in found]}, separators=(",", ":"))
    STORED.write_text(text + "\n", "utf-8")


def _rounded(values: np.ndarray) -> tuple[float, ...]:
    return tuple(round(float(value), 4) for value in values)


def main() -> None:
    """Search, print, store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texture-seeds", type=int, default=4, help="pictures of each of the 47 textures")
    parser.add_argument("--minutes", type=float, default=60)
    asked, end = parser.parse_args(), time.monotonic()
    count, known = (tried(), stored()) if STORED.exists() else (0, ())
    found, end = {one.right: one for one in known}, end + 60 * asked.minutes
    for source, budget, one in search(Engine("embedded"), asked.texture_seeds, count):
        count += 1
        if one is not None:
            print(f"{count}: only {one.right} is right on {source} at {budget}/255, leads {one.leads}", flush=True)
            found.setdefault(one.right, one)
        if len(found) == 2 or time.monotonic() > end:
            break
    write([found[right] for right in ("rita", "average") if right in found], count)
    print(f"{count} pictures and strengths tried; found: {', '.join(found) or 'none'}")


if __name__ == "__main__":
    main()
