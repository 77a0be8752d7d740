"""The fold that says where RITA is above a plain average of the same crops, and where it is not."""

from __future__ import annotations

from html import escape

import gradio as gr

from rita_demo import analysis
from rita_demo.attacks import ATTACKS
from rita_demo.data import measured
from rita_demo.errors import DataError
from rita_demo.methods import METHODS, NAMED
from rita_demo.records import MeasuredCell

_LEAD = """<p class="lead">Test pictures that every method still has right, in percent, all {datasets} sets together ({n} pictures per
cell, built-in model, its own square, 4/255 where a strength is asked for). The columns differ in what the attacker knows: most attack CLIP
with one view; the last two know the crops, or the whole of RITA, and take every method down.</p>"""
_NONE = "<p class='empty'>No measurements came with this copy; docs/results.md says how to make them.</p>"
_SHORT = {
    "none": "no attack", "noise": "noise", "fgsm": "FGSM", "pgd": "PGD", "cw_linf": "CW L∞", "di": "DI",
    "autoattack": "AutoAttack", "cw_l2": "CW L2", "eot": "EOT", "defence": "through RITA",
}  # fmt: skip


def draw_evidence() -> None:
    """Draw the fold; it never changes."""
    with gr.Accordion("Is RITA better than a plain average of the crops? Measured against nine attackers, and none", open=False,
                      elem_classes="fold", elem_id="evidence-fold"):  # fmt: skip
        gr.HTML(evidence(_cells()), elem_id="evidence")


def evidence(cells: tuple[MeasuredCell, ...]) -> str:
    """HTML: the table, and in words where RITA is above Ensemble, level, and below."""
    table = analysis.attackers(cells)
    if not table:
        return _NONE
    order = [name for name in _SHORT if name in table]
    n, sets = max((t.n, len(t.datasets)) for row in table.values() for t in row.values())
    head = "".join(
        f"<th scope='col' title='{escape(ATTACKS[name].title)}'>{escape(_SHORT[name])}</th>"
        for name in order
    )
    body = "".join(
        f"<tr><th scope='row'>{escape(METHODS[method].full)}</th>"
        + "".join(_cell(table[name].get(method), n) for name in order)
        + "</tr>"
        for method in NAMED
    )
    return (
        _LEAD.format(datasets=sets, n=n)
        + "<div class='wide' tabindex='0' role='region' aria-label='Every method against every attacker'>"
        f"<table class='verdicts'><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        f"<p>{_words(analysis.compared(table, 'rita', 'ensemble'), n)}</p>"
    )


def _cell(tally: analysis.Tally | None, n: int) -> str:
    if tally is None:
        return "<td>–</td>"
    fewer = f"<small>n = {tally.n}</small>" if tally.n != n else ""
    return f"<td><b>{tally.percent:.0f}</b>{fewer}</td>"


def _words(ahead: dict[str, int], n: int) -> str:
    parts = []
    for about, chosen in (
        ("above Ensemble", [a for a in ahead if ahead[a] > 0]),
        ("level with it", [a for a in ahead if ahead[a] == 0]),
        ("below it", [a for a in ahead if ahead[a] < 0]),
    ):
        told = ", ".join(
            f"{_SHORT[a]} ({ahead[a]:+d})".replace("-", "−") if ahead[a] else _SHORT[a]
            for a in sorted(chosen, key=lambda a: -abs(ahead[a]))
        )
        if told:
            parts.append(f"{about}: {told}")
    return (
        f"In pictures of {n}, RITA is {escape('; '.join(parts))}. Differences of a few pictures are within chance. "
        "Most of the protection comes from the crops, which Ensemble has as well; what RITA adds against attackers who "
        "push the whole picture away from its true class is the step back, and an average of crops moved back the same way gains as "
        "much. Against who pulls towards one wrong class it gains nothing, and who attacks through RITA turns it against RITA."
    )


def _cells() -> tuple[MeasuredCell, ...]:
    try:
        return measured.read(measured.ATTACKERS)
    except DataError:
        return ()
