"""The bar on top of the other tabs: small pictures of the displayed run, and every method's answer."""

from html import escape

import numpy as np

from rita_demo.defences.registry import DEFENCES
from rita_demo.pipeline.outcome import outcome
from rita_demo.records import ImageResult, Run
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.data_uri import jpeg_uri
from rita_demo.ui.widgets.views_grid import magnified_perturbation

PIXELS = 96  # edge of a small picture as sent; shown at 64


def summary_bar(session: Session) -> str:
    """HTML: the clean picture, the perturbation, the attacked picture, and the answers on both."""
    run = session.displayed_run
    if run is None:
        return "<p class='empty'>There is no run yet: run a picture in the Story.</p>"
    what_if = ", what if" if session.inside.what_if.run else ""
    parts = _side_html(run, "clean", what_if)
    if run.attack is not None:
        # single pixels of it, not a smaller picture, which would average the perturbation to grey
        before, after = run.clean.picture.pixels, run.attacked.picture.pixels
        step = -(-min(before.shape[:2]) // PIXELS)
        pixels = magnified_perturbation(before[::step, ::step], after[::step, ::step])
        alt = "What the attack added, 20 times magnified"
        parts += f"<div class='added'><img src='{jpeg_uri(pixels)}' alt='{alt}' width='64' height='64'></div>"
        parts += _side_html(run, "attacked", what_if)
    return f"<div class='thread'>{parts}</div>"


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
    return f"<p class='says'>{escape(what)} {escape(found)}.</p>"


def _side_html(run: Run, side: str, what_if: str) -> str:
    one: ImageResult = getattr(run, side)
    said, step = "", wording.step_suffix(run) if side == "attacked" else ""
    for name, verdict in one.verdicts.items():
        kind, mark = ("right", " ✓") if verdict.label == run.label else ("wrong", " ✗")
        if not run.label_given:  # then nothing is right or wrong
            kind, mark = "", ""
        said += (
            f"<span class='{kind}'>{escape(DEFENCES[name].title)}{what_if * (name == 'rita')}: <b>"
            f"{escape(run.class_prompts.names[verdict.label])}</b> "
            f"{wording.share(run.class_prompts, verdict)}<span aria-hidden='true'>{mark}</span></span>"
        )
    return (
        f"<div class='{side}'><img src='{jpeg_uri(one.picture.pixels, PIXELS)}' alt='The {side} picture' "
        f"width='64' height='64'><p><span class='kind'>{side}{step}</span>{said}</p></div>"
    )
