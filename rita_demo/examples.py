"""What happens to every worked example, measured: ``python -m rita_demo.examples`` writes the table.

The page says beside each example whether RITA gets it back or fails; that is a measurement like any
other, so it comes from a file that this command made, and a test makes it again.
"""

from __future__ import annotations

from rita_demo import story
from rita_demo.data import measured, samples
from rita_demo.engine import Engine
from rita_demo.records import SampleOutcome
from rita_demo.settings import RECOMMENDED, Settings


def outcome(engine: Engine, key: str, settings: Settings = RECOMMENDED) -> SampleOutcome:
    """Attack and defend one sample with an empty memory.

    Args:
        engine: holds the model.  key: of the sample.  settings: attack and defence.

    Raises:
        PictureError: there is no such sample, or its file is missing.
    """
    one = samples.sample(key)
    told = story.tell(engine, one.load(), one.names, settings, label=one.names.index(one.label))
    assert told.attack is not None
    answer = {m: told.bank.names[v.label] for m, v in told.attacked.verdicts.items()}
    return SampleOutcome(
        sample=key,
        label=one.label,
        clip_clean=told.bank.names[told.clean.verdicts["clip"].label],
        clip_attacked=answer["clip"],
        ensemble_attacked=answer["ensemble"],
        rita_attacked=answer["rita"],
        rita_margin=round(float(told.attacked.verdicts["rita"].margin), 5),
        attack=settings.attack,
        budget=settings.budget,
        steps=settings.steps,
        weights=engine.weights_key()[:8],
    )


def main() -> None:
    """Measure all samples that are here with the embedded model, print and store them."""

    engine = Engine("embedded")
    found = [outcome(engine, key) for key in samples.available()]
    measured.write_outcomes(found)
    for one in found:
        print(
            f"{one.sample}: {one.kind}. CLIP {one.clip_clean}, attacked {one.clip_attacked}; "
            f"Ensemble {one.ensemble_attacked}; RITA {one.rita_attacked} ({one.rita_margin:.4f})"
        )


if __name__ == "__main__":
    main()
