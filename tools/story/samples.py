"""Measure every sample: ``python -m tools.story.samples`` writes the table of outcomes, the worked example and its checks. The
page shows beside each sample whether RITA recovers, and opens with the worked example; tests measure both again."""

import argparse
from collections.abc import Sequence

from rita_demo.data import samples, shipped_results
from rita_demo.engine.engine import Engine
from rita_demo.pipeline import example, story
from rita_demo.pipeline import run as run_module
from rita_demo.process.generators import run_to_end
from rita_demo.records import SampleOutcome
from rita_demo.settings import RECOMMENDED


def measure_sample(engine: Engine, key: str) -> SampleOutcome:
    """Attack and defend one sample with an empty memory. Raises PictureError: there is no such sample, or its file is
    missing."""
    one = samples.sample(key)
    run = run_module.run_picture(engine, one.load(), one.names, RECOMMENDED, label=one.names.index(one.label))
    assert run.attack is not None
    answer = {m: run.class_prompts.names[v.label] for m, v in run.attacked.verdicts.items()}
    return SampleOutcome(
        sample=key,
        label=one.label,
        clip_clean=run.class_prompts.names[run.clean.verdicts["clip"].label],
        clip_attacked=answer["clip"],
        ensemble_attacked=answer["ensemble"],
        rita_attacked=answer["rita"],
        rita_margin=round(float(run.attacked.verdicts["rita"].margin), 5),
        attack=RECOMMENDED.attack,
        budget=RECOMMENDED.budget,
        steps=RECOMMENDED.steps,
        weights=engine.weights_key()[:8],
    )


def main(args: Sequence[str] | None = None) -> None:
    """Measure all samples that are here with the embedded model, print and store them, choose and check the worked
    example."""
    argparse.ArgumentParser(prog="python -m tools.story.samples", description=__doc__).parse_args(args)
    engine = Engine("embedded")
    found = [measure_sample(engine, key) for key in samples.available()]
    shipped_results.write_records(shipped_results.EXAMPLES, found)
    for one in found:
        print(one.kind, one)
    chosen = run_to_end(example.choose_steps(engine))
    assert chosen is not None
    key, run = chosen
    example.STORED.write_bytes(example.pack(key, run))
    story.write(run_to_end(story.story_steps(engine, run)))


if __name__ == "__main__":
    main()
