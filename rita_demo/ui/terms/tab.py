"""The Lab's page of formulas, with the numbers on screen, a plan to drag, and every term in a sentence."""

import math
from html import escape

import gradio as gr
import numpy as np

from rita_demo.records import ImageResult, Run
from rita_demo.ui.framework.context import AppContext
from rita_demo.ui.panels.transport_toy import MADE_UP, TransportToy
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import build_heading


def build_terms(context: AppContext) -> None:
    """The tab's content; build it inside its ``gr.Tab``."""
    with gr.Column(elem_id="terms"):
        build_heading("The formulas, with the numbers on screen")
        context.panels.add(gr.HTML(elem_id="formulas"), formulas, "class", "view", "step", "inside")
        build_heading("A plan moves crops onto sentences")
        TransportToy(MADE_UP, elem_id="toy-terms")
        build_heading("Every term in a sentence")
        terms = "".join(f"<dt>{escape(t)}</dt><dd>{escape(said)}</dd>" for t, said in wording.terms().items())
        gr.HTML(f"<dl class='terms'>{terms}</dl>")


def formulas(session: Session) -> str:
    """HTML: cost, plan, confidence and decision of the delivered picture, in symbols and in numbers."""
    run = session.displayed_run
    if run is None:
        return "<p class='empty'>The formulas appear here with numbers once there is a picture.</p>"
    at, side = session.selection, run.attacked
    k = at.k if at.k is not None else side.verdicts["rita"].label
    n = at.view if at.view is not None else int(np.argmin(side.trace.confidence.entropy))
    rows = "".join(
        f"<dt>{title}</dt><dd><p class='formula'>{symbols}</p><p class='formula numbers'>{numbers}</p></dd>"
        for title, symbols, numbers in (*_view(run, side, n), *_class(run, side, k, n), _decision(run, side))
    )
    which = "the attacked picture" if run.attack is not None else "the picture"
    name = escape(run.class_prompts.names[k])
    return (
        f"<p class='quiet small'>Of {which}{wording.step_suffix(run)}: class <b>{name}</b>, view {n}. "
        f"Choose others on the other tabs.</p><dl class='formulas'>{rows}</dl>"
    )


def _view(run: Run, side: ImageResult, n: int) -> list[tuple[str, str, str]]:
    confidence, offset, weight = side.trace.confidence, side.trace.crop_offset, run.settings.step_back
    entropy, limit = float(confidence.entropy[n]), float(confidence.limit)
    probability = np.asarray(confidence.probability, float)[n]
    best = int(probability.argmax())
    compared, kept = ("≤", "confident") if entropy <= limit else ("&gt;", "not confident")
    step = (
        "The step back: away from the features of the whole picture",
        "d = ∑<sub>n</sub> a<sub>n</sub> x<sub>n</sub> − x<sub>0</sub>, then x<sub>n</sub> + κ |d|² d, scaled to length 1",
        f"|d| = {offset:.3f}, so that every view moves by {weight:g} · {offset:.3f}³ = {side.trace.step_back_distance:.3f}",
    )
    entropies = (
        "Entropy of a view",
        "H<sub>n</sub> = −∑<sub>k</sub> p<sub>n</sub>(k) log p<sub>n</sub>(k), kept when H<sub>n</sub> ≤ γ",
        f"p<sub>{n}</sub>({escape(run.class_prompts.names[best])}) = {probability[best]:.3f}, H<sub>{n}</sub> = {entropy:.3f} "
        f"nats {compared} γ = {limit:.3f} nats: {kept}",
    )
    return [step, entropies] if weight else [entropies]


def _class(run: Run, side: ImageResult, k: int, n: int) -> list[tuple[str, str, str]]:
    moved, weight = side.trace.prompt_transport, run.settings.entropy_weight
    cost, mass = float(moved.cost[k, n, 0]), float(moved.mass)
    plan, costs = (np.asarray(array, float)[k] for array in (moved.plan, moved.cost))
    paid = float((plan * costs).sum())
    flat = np.asarray(side.trace.view_weight, float)[:, None] * np.asarray(side.trace.prompt_weight, float)[k]
    symbols, numbers = "1 − cos(x<sub>n</sub>, z<sub>km</sub>)", f"1 − {1 - cost:.4f}"
    if run.settings.cost == "loglik":
        tau = run.class_prompts.temperature
        symbols, numbers = "−τ log p<sub>n</sub>(k)", f"−{tau:.4g} · log {math.exp(-cost / tau):.4g}"
    return [
        (
            "What moving a view onto a sentence costs",
            f"C<sub>k</sub>[n,m] = {symbols}",
            f"C[{n},1] = {numbers} = {cost:.4f}",
        ),
        (
            "The transport cost of a class",
            "d<sub>OT</sub>(k) = ∑<sub>n,m</sub> T<sub>k</sub>[n,m] C<sub>k</sub>[n,m] / ρ, "
            "T<sub>k</sub> = argmin ⟨T, C<sub>k</sub>⟩ − λ h(T)",
            f"{paid:.4f} / {mass:g} = {paid / mass:.4f}, with λ = {weight:g}; the plain mean of the distances is "
            f"{float((flat * costs).sum()):.4f}",
        ),
    ]


def _decision(run: Run, side: ImageResult) -> tuple[str, str, str]:
    total = np.asarray(side.trace.total, float)
    prompt, names = np.asarray(side.trace.prompt_transport.distance, float), run.class_prompts.names
    first, second = (int(k) for k in np.argsort(total, kind="stable")[:2])
    costs = "; ".join(
        f"{escape(names[k])}: {prompt[k]:.4f} {'+' if total[k] >= prompt[k] else '−'} "
        f"{abs(total[k] - prompt[k]):.4f} = {total[k]:.4f}"
        for k in (first, second)
    )
    lead, weight = total[second] - total[first], run.settings.cache_weight
    return (
        "The decision",
        "argmin<sub>k</sub> d<sub>OT</sub>(k) + α d<sub>cOT</sub>(k)",
        f"{costs}, with α = {weight:g}: <b>{escape(names[first])}</b>, ahead by {lead:.4f}",
    )
