"""The picture and the attack of the run on screen, as two pills that lead to where they are chosen."""

from functools import partial

from rita_demo.attacks import get_attack
from rita_demo.data.samples import SAMPLES
from rita_demo.process.templates import html
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets.data_uri import jpeg_uri


def run_pills(session: Session) -> str:
    """HTML: a picture with its name, and the attack with its strength; "" before there is a run."""
    run = session.run
    if run is None:
        return ""
    sample = SAMPLES.get(session.run_sample or "")
    attack = get_attack(run.settings.attack)
    strength = f", {run.settings.budget} of 255" if run.attack and attack.bounded else ""
    return html(
        "run_pills",
        name=sample.title if sample else "your picture",
        pixels=run.clean.picture.pixels,
        attack=f"{attack.column_title}{strength}",
        thumbnail=partial(jpeg_uri, side=48),
    )
