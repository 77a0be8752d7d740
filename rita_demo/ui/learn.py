"""The tab *Learn*: the tour's start, the formulas with the numbers on screen, exercises, and every term."""

from __future__ import annotations

from html import escape

import gradio as gr
import numpy as np

from rita_demo.records import Side, Story
from rita_demo.ui import words
from rita_demo.ui.board import Board
from rita_demo.ui.sessions import Session
from rita_demo.ui.what_if import seen

#: Question and answer; what can be checked on the page says where.
EXERCISES = (
    (
        "The attack moves no pixel value by more than 4 of 255 levels. Why does CLIP fall for it, and why does noise of the same "
        "strength do nothing?",
        "Every pixel moves in the direction that raises the error, so thousands of tiny pushes add up; random ones cancel. "
        "Compare the kinds PGD and random noise at the same strength on the first tab.",
    ),
    (
        "Why do most crops of an attacked picture still name the right class?",
        "The pattern was made for one look at the whole square. A crop shifts, scales and cuts it, and the model's input is "
        "resampled: the pushes no longer add up. Sort the crops by entropy and look at what the attacker's crops have in common.",
    ),
    (
        "Set λ to 1 in Inside RITA. What happens to the plan, and what is the transport cost then?",
        "The plan becomes flat: every crop is spread evenly over the sentences, and the cost is the mean cosine distance. "
        "Transport decides something only where λ is small beside the differences in cost.",
    ),
    (
        "With ρ = 1 every crop has to be moved. What does ρ = 0.5 allow, and which crops does a class then leave out?",
        "Half of the mass may stay where it is: each class leaves out the crops that fit it worst, see “Who carries the mass”. "
        "That helps the true class against crops that were fooled, and every wrong class against crops that were not.",
    ),
    (
        "RITA moves every view away from where the whole picture lies off its crops (κ). Why does that help against this "
        "attacker, and whom does it not stop?",
        "The pattern was made for one look at the whole square: that view is far off, its crops only a little, all in the same "
        "direction. The way from the whole to its crops is the way back. An attacker who averages over crops leaves no such "
        "gap, one who attacks through RITA takes the step into account, and one who pulls towards a class of his choice leaves a way "
        "back from that class, which need not lead to the true one: choose them under “Kind” and “A target for the attack”. Set κ to 0 in Inside "
        "RITA to see the difference.",
    ),
    (
        "A memory that believes the model's own answers can be poisoned. How, and how do you see it?",
        "Confident wrong crops enter under a wrong class and pull later pictures towards it. Fill the memory with attacked samples "
        "and compare the distances with and without it; undo takes them out again.",
    ),
    (
        "RITA holds where CLIP falls. Is it robust?",
        "Only against the attacker stated beside the number. One who averages over crops, or attacks through RITA, does more harm: "
        "choose him under “Kind”. Most of the protection comes from the crops, which the plain ensemble has as well. The step back adds "
        "to it while the attacker pushes away from the true class and does not know of it; against one who goes through RITA the plain ensemble holds a little better.",
    ),
)  # fmt: skip


def draw_learn(board: Board) -> None:
    """Build it inside its ``gr.Tab``."""
    with gr.Column(elem_id="learn"):
        gr.HTML(
            "<h2 class='story'>Learn</h2><p class='lead'>A tour of nine stops leads through the page itself. Below it the "
            "formulas, with the numbers of what is on screen put in; exercises with answers; and every term in a sentence.</p>"
        )
        tour = gr.Button("Start the tour", variant="primary", elem_id="start-tour")
        tour.click(
            None, None, None, js="() => { document.querySelector('#tour button').click(); }",
            api_visibility="private",
        )  # fmt: skip
        with gr.Row(elem_classes="pair"):
            with gr.Column(scale=1, min_width=320):
                gr.HTML("<h3>The formulas, with the numbers on screen</h3>")
                board.add(gr.HTML(elem_id="formulas"), formulas, "class", "view", "step", "inside")
                gr.HTML(f"<h3>Exercises, with answers</h3>{_exercises()}")
            with gr.Column(scale=1, min_width=320):
                gr.HTML(f"<h3>Every term</h3>{_terms()}")


def formulas(session: Session) -> str:
    """HTML: cost, plan, confidence and decision of the delivered picture, in symbols and in numbers."""
    story = seen(session)
    if story is None:
        return "<p class='empty'>The formulas will stand here with numbers once there is a picture.</p>"
    at, side = session.selection, story.attacked
    confidence = side.trace.confidence
    k = at.k if at.k is not None else side.verdicts["rita"].label
    n = at.view if at.view is not None else int(np.argmin(confidence.entropy))
    parts = (*_view(story, side, n), *_class(story, side, k, n), *_decision(story, side))
    rows = "".join(
        f"<dt>{title}</dt><dd><p class='formula'>{symbols}</p><p class='formula numbers'>{numbers}</p></dd>"
        for title, symbols, numbers in parts
    )
    which = "the attacked picture" if story.attack is not None else "the picture"
    return (
        f"<p class='quiet small'>Of {which}{words.at_step(story)}: class <b>{escape(story.bank.names[k])}</b>, view {n}. "
        f"Choose others on the other tabs.</p><dl class='formulas'>{rows}</dl>"
    )


def _view(story: Story, side: Side, n: int) -> list[tuple[str, str, str]]:
    confidence = side.trace.confidence
    entropy, limit = float(confidence.entropy[n]), float(confidence.limit)
    probability = np.asarray(confidence.probability, float)[n]
    best = int(probability.argmax())
    kept = "≤" if entropy <= limit else "&gt;"
    off, strength = side.trace.off_crops, story.settings.step_back
    return [
        (
            "The step back: away from where the whole picture lies off its crops",
            "d = ∑<sub>n</sub> a<sub>n</sub> x<sub>n</sub> − x<sub>0</sub>, then x<sub>n</sub> + κ |d|² d, scaled to length 1",
            f"|d| = {off:.3f}, so that every view moves by {strength:g} · {off:.3f}³ = {side.trace.stepped:.3f}",
        ),
        (
            "How sure a view is (entropy)",
            "H<sub>n</sub> = −∑<sub>k</sub> p<sub>n</sub>(k) log p<sub>n</sub>(k), kept when H<sub>n</sub> ≤ γ",
            f"p<sub>{n}</sub>({escape(story.bank.names[best])}) = {probability[best]:.3f}, H<sub>{n}</sub> = {entropy:.3f} nats "
            f"{kept} γ = {limit:.3f} nats: {'confident' if entropy <= limit else 'not confident'}",
        ),
    ]


def _class(story: Story, side: Side, k: int, n: int) -> list[tuple[str, str, str]]:
    moved, settings = side.trace.prompt, story.settings
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


def _decision(story: Story, side: Side) -> list[tuple[str, str, str]]:
    total = np.asarray(side.trace.total, float)
    prompt = np.asarray(side.trace.prompt.distance, float)
    first, second = (int(k) for k in np.argsort(total, kind="stable")[:2])
    alpha = story.settings.cache_weight
    said = "; ".join(
        f"{escape(story.bank.names[k])}: {prompt[k]:.4f} {'+' if total[k] >= prompt[k] else '−'} "
        f"{abs(total[k] - prompt[k]):.4f} = {total[k]:.4f}"
        for k in (first, second)
    )
    return [
        (
            "The decision",
            "argmin<sub>k</sub> d<sub>OT</sub>(k) + α d<sub>cOT</sub>(k)",
            f"{said}, with α = {alpha:g}: <b>{escape(story.bank.names[first])}</b>, ahead by {total[second] - total[first]:.4f}",
        )
    ]


def _exercises() -> str:
    return "".join(
        f"<details class='exercise'><summary>{number}. {escape(question)}</summary><p>{escape(answer)}</p></details>"
        for number, (question, answer) in enumerate(EXERCISES, 1)
    )


def _terms() -> str:
    rows = "".join(
        f"<dt>{escape(term)}</dt><dd>{escape(said)}</dd>" for term, said in words.TERMS.items()
    )
    return f"<dl class='terms'>{rows}</dl>"
