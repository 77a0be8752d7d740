"""The tab *Learn*: the tour's start, the formulas with the numbers on screen, exercises, and every term."""

from __future__ import annotations

from html import escape

import gradio as gr
import numpy as np

from rita_demo.records import ImageResult, Run
from rita_demo.ui.framework.panels import PanelRegistry
from rita_demo.ui.panels.transport_toy import MADE_UP, TransportToy
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording

#: Question and answer. Answers that can be checked on the page say where.
EXERCISES = (
    (
        "The attack changes no pixel value by more than 4 of 255 levels. Why does it fool CLIP, while noise of the same "
        "strength does nothing?",
        "Every pixel changes in the direction that raises the error, so thousands of tiny changes add up; random ones "
        "cancel. Compare the kinds PGD and random noise at the same strength on the first tab.",
    ),
    (
        "Why do most crops of an attacked picture still have the right class?",
        "The pattern was made for the whole square. A crop shifts, scales and cuts it, and the model's input is "
        "resampled: the changes no longer add up. Sort the crops by entropy and compare those that answer with the "
        "attacker's class.",
    ),
    (
        "Set λ to 1 in Inside RITA. What happens to the plan, and what is the transport cost then?",
        "The plan becomes flat: every crop is spread evenly over the sentences, and the cost is the mean cosine "
        "distance. The plan matters only where λ is small beside the differences in cost.",
    ),
    (
        "With ρ = 1 every crop has to be moved. What does ρ = 0.35 allow, and which crops does a class then leave out?",
        "65 % of the mass may stay where it is: each class leaves out the crops that fit it worst, see “Who carries "
        "the mass”. That helps the true class against crops that were fooled, and every wrong class against crops "
        "that were not.",
    ),
    (
        "Choose the preset “step back” and attack with PGD, then with “Make CLIP surer (reverse)”. What happens to the "
        "answers of CLIP and RITA, and why?",
        "The step moves every view away from the features of the whole picture. PGD pushes the whole picture away from "
        "the true class, so the opposite direction leads to it: the step reads the answer out of the attack. Reverse "
        "pushes the whole picture towards the true class. CLIP stays right, and the step leads to the runner-up. "
        "Set κ to 0 in Inside RITA to see the difference.",
    ),
    (
        "A memory filled with the model's own answers can be poisoned. How, and how do you see it?",
        "Confident wrong crops enter under a wrong class and pull later pictures towards it. Fill the memory with "
        "attacked samples and compare the distances with and without it; undo takes them out again.",
    ),
    (
        "RITA still has the right answer where CLIP is fooled. Is it robust?",
        "Only against the attacker named beside the number. One who averages over crops, or attacks through RITA, does "
        "more harm: choose such an attack under “Kind”. Most of the protection comes from the crops, which the plain "
        "ensemble has as well.",
    ),
)


def build_learn(panels: PanelRegistry) -> None:
    """Build it inside its ``gr.Tab``."""
    with gr.Column(elem_id="learn"):
        gr.HTML(
            "<h2 class='section-title'>Learn</h2><p class='lead'>A tour of nine stops leads through the page itself. Below it the "
            "formulas, with the numbers of what is on screen put in; exercises with answers; and every term in a sentence.</p>"
        )
        tour = gr.Button("Start the tour", variant="primary", elem_id="start-tour")
        tour.click(
            None, None, None, js="() => { document.querySelector('#tour button').click(); }", api_visibility="private"
        )
        gr.HTML("<h3>Drag a crop: the plan follows</h3>")
        TransportToy(MADE_UP, elem_id="toy-learn")
        exercises = "".join(
            f"<details class='exercise'><summary>{number}. {escape(question)}</summary><p>{escape(answer)}</p></details>"
            for number, (question, answer) in enumerate(EXERCISES, 1)
        )
        terms = "".join(f"<dt>{escape(term)}</dt><dd>{escape(said)}</dd>" for term, said in wording.terms().items())
        with gr.Row(elem_classes="pair"):
            with gr.Column(scale=1, min_width=320):
                gr.HTML("<h3>The formulas, with the numbers on screen</h3>")
                panels.add(gr.HTML(elem_id="formulas"), formulas, "class", "view", "step", "inside")
                gr.HTML(f"<h3>Exercises, with answers</h3>{exercises}")
            with gr.Column(scale=1, min_width=320):
                gr.HTML(f"<h3>Every term</h3><dl class='terms'>{terms}</dl>")


def formulas(session: Session) -> str:
    """HTML: cost, plan, confidence and decision of the delivered picture, in symbols and in numbers."""
    run = session.displayed_run
    if run is None:
        return "<p class='empty'>The formulas appear here with numbers once there is a picture.</p>"
    at, side = session.selection, run.attacked
    confidence = side.trace.confidence
    k = at.k if at.k is not None else side.verdicts["rita"].label
    n = at.view if at.view is not None else int(np.argmin(confidence.entropy))
    parts = (*_view(run, side, n), *_class(run, side, k, n), _decision(run, side))
    rows = "".join(
        f"<dt>{title}</dt><dd><p class='formula'>{symbols}</p><p class='formula numbers'>{numbers}</p></dd>"
        for title, symbols, numbers in parts
    )
    which = "the attacked picture" if run.attack is not None else "the picture"
    return (
        f"<p class='quiet small'>Of {which}{wording.step_suffix(run)}: class <b>{escape(run.class_prompts.names[k])}</b>, view {n}. "
        f"Choose others on the other tabs.</p><dl class='formulas'>{rows}</dl>"
    )


def _view(run: Run, side: ImageResult, n: int) -> list[tuple[str, str, str]]:
    confidence = side.trace.confidence
    entropy, limit = float(confidence.entropy[n]), float(confidence.limit)
    probability = np.asarray(confidence.probability, float)[n]
    best = int(probability.argmax())
    kept = "≤" if entropy <= limit else "&gt;"
    offset, weight = side.trace.crop_offset, run.settings.step_back
    step = (
        "The step back: away from the features of the whole picture",
        "d = ∑<sub>n</sub> a<sub>n</sub> x<sub>n</sub> − x<sub>0</sub>, then x<sub>n</sub> + κ |d|² d, scaled to length 1",
        f"|d| = {offset:.3f}, so that every view moves by {weight:g} · {offset:.3f}³ = {side.trace.step_back_distance:.3f}",
    )
    return [
        *([step] if weight else []),
        (
            "Entropy of a view",
            "H<sub>n</sub> = −∑<sub>k</sub> p<sub>n</sub>(k) log p<sub>n</sub>(k), kept when H<sub>n</sub> ≤ γ",
            f"p<sub>{n}</sub>({escape(run.class_prompts.names[best])}) = {probability[best]:.3f}, H<sub>{n}</sub> = {entropy:.3f} nats "
            f"{kept} γ = {limit:.3f} nats: {'confident' if entropy <= limit else 'not confident'}",
        ),
    ]


def _class(run: Run, side: ImageResult, k: int, n: int) -> list[tuple[str, str, str]]:
    moved, settings = side.trace.prompt_transport, run.settings
    cost = float(moved.cost[k, n, 0])
    mass = float(moved.mass)
    paid = float((np.asarray(moved.plan, float)[k] * np.asarray(moved.cost, float)[k]).sum())
    return [
        (
            "What moving a view onto a sentence costs",
            "C<sub>k</sub>[n,m] = 1 − cos(x<sub>n</sub>, z<sub>km</sub>)",
            f"C[{n},1] = 1 − {1 - cost:.4f} = {cost:.4f}",
        ),
        (
            "The transport cost of a class",
            "d<sub>OT</sub>(k) = ∑<sub>n,m</sub> T<sub>k</sub>[n,m] C<sub>k</sub>[n,m] / ρ, "
            "T<sub>k</sub> = argmin ⟨T, C<sub>k</sub>⟩ − λ h(T)",
            f"{paid:.4f} / {mass:g} = {paid / mass:.4f}, with λ = {settings.entropy_weight:g}",
        ),
    ]


def _decision(run: Run, side: ImageResult) -> tuple[str, str, str]:
    total = np.asarray(side.trace.total, float)
    prompt = np.asarray(side.trace.prompt_transport.distance, float)
    first, second = (int(k) for k in np.argsort(total, kind="stable")[:2])
    alpha = run.settings.cache_weight
    costs = "; ".join(
        f"{escape(run.class_prompts.names[k])}: {prompt[k]:.4f} {'+' if total[k] >= prompt[k] else '−'} "
        f"{abs(total[k] - prompt[k]):.4f} = {total[k]:.4f}"
        for k in (first, second)
    )
    return (
        "The decision",
        "argmin<sub>k</sub> d<sub>OT</sub>(k) + α d<sub>cOT</sub>(k)",
        f"{costs}, with α = {alpha:g}: <b>{escape(run.class_prompts.names[first])}</b>, ahead by {total[second] - total[first]:.4f}",
    )
