"""Reverse: make CLIP surer of the right answer, so that a defence that steps away from the whole picture errs."""

from rita_demo.attacks.contract import KNOWS_MODEL, Attack
from rita_demo.process.lazy import Tensor, torch


def reverse_margin(answer: Tensor, label: Tensor, target: Tensor | None) -> Tensor:
    """``correct - best other`` (B,) of logits (B, K): the margin with the opposite sign, without a limit."""
    own = answer.gather(1, label[:, None])[:, 0]
    return own - answer.scatter(1, label[:, None], -torch.inf).amax(1)


ATTACK = Attack(
    name="reverse",
    title="Make CLIP surer (reverse)",
    short_title="reverse",
    menu_note="pushes towards the right answer",
    sentence="Small steps that make CLIP surer of the right class. A defence that moves its features away from "
    "the whole picture then moves away from the right class.",
    knows=(*KNOWS_MODEL, "that a defence may step back from the whole picture"),
    does_not_know=("the crops of the defence", "the transport and the tuning", "the memory", "the view seed"),
    caveat="CLIP alone stays right under this attack. It shows what a step away from the whole picture costs.",
    goal=reverse_margin,
    direction="towards",
    relative_step_size=0.25,
    targetable=False,
    stochastic=False,
    default_steps=20,
    loss_unit="logits",
)
