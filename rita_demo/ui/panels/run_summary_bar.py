"""The bar on top of the other tabs: small pictures of the displayed run, and every method's answer."""

from functools import partial

import numpy as np
from markupsafe import Markup

from rita_demo.defences.registry import DEFENCES
from rita_demo.pipeline.outcome import outcome
from rita_demo.process.templates import html
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.data_uri import jpeg_uri
from rita_demo.ui.widgets.views_grid import magnified_perturbation

PIXELS = 96  # edge of a small picture as sent; shown at 64


def summary_bar(session: Session) -> str:
    """HTML: the clean picture, the perturbation, the attacked picture, and the answers on both."""
    run, added = session.displayed_run, ""
    if run is None:
        return "<p class='empty'>There is no run yet: run a picture in the Story.</p>"
    if run.attack is not None:
        # single pixels of it, not a smaller picture, which would average the perturbation to grey
        before, after = run.clean.picture.pixels, run.attacked.picture.pixels
        step = -(-min(before.shape[:2]) // PIXELS)
        added = jpeg_uri(magnified_perturbation(before[::step, ::step], after[::step, ::step]))
    said = {"outcomes": outcome(run), "defences": DEFENCES, "wording": wording}
    shown = {"added": added, "what_if": session.inside.what_if.run, "thumbnail": partial(jpeg_uri, side=PIXELS)}
    return html("summary_bar", run=run, **said, **shown)


def says(session: Session) -> str:
    """HTML: which decision is on screen, and what it says, in two sentences with numbers."""
    run = session.displayed_run
    if run is None:
        return ""
    names, trace, verdict = run.class_prompts.names, run.attacked.trace, run.attacked.verdicts["rita"]
    kind = "attacked" if run.attack is not None else "clean"
    crops, what_if = len(run.attacked.encoded_views.features), session.inside.what_if
    crops -= len(what_if.exclusions.views) if what_if.run else 0
    what = (
        f"One decision of RITA, step by step: {crops} crops of the {kind} picture against {len(names)} class names"
        f"{', what if' if what_if.run else ''}."
    )
    second = int(np.argsort(np.asarray(trace.total), kind="stable")[1])
    found = f"It answers {names[verdict.label]}, {verdict.margin:.4f} cosine distance ahead of {names[second]}"
    if run.label_given:
        rita = outcome(run)["rita"]
        found += f", which is {'right' if rita.right else f'wrong: it is {names[run.label]}'}"
        if run.attack is not None and rita.wrong_before:
            found += "; before the attack it was wrong" + ("" if rita.right else ", too")
    return Markup("<p class='says'>{} {}.</p>").format(what, found)
