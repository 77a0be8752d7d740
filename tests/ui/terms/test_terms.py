"""The page Terms: the formulas' numbers are the record's."""

import re

import numpy as np
import pytest

from rita_demo.records import Run
from rita_demo.ui.session.session import Session
from rita_demo.ui.terms.tab import formulas


def plain(html: str) -> str:
    return re.sub(r"<[^>]+>", "", html).replace("−", "-")


def test_the_formulas_have_the_numbers_of_the_record_and_their_terms_sum_to_the_total(
    session: Session, example_run: Run
) -> None:
    assert "once there is a picture" in formulas(Session())
    session.select(k=1, view=5)
    text, trace = plain(formulas(session)), example_run.attacked.trace
    moved = trace.prompt_transport
    assert f"H5 = {trace.confidence.entropy[5]:.3f} nats" in text
    assert f"C[5,1] = 1 - {1 - moved.cost[1, 5, 0]:.4f} = {moved.cost[1, 5, 0]:.4f}" in text
    paid = float((np.asarray(moved.plan[1], float) * moved.cost[1]).sum() / moved.mass)
    assert f"= {paid:.4f}, with λ" in text
    first, second = np.argsort(trace.total, kind="stable")[:2]
    assert f"{example_run.class_prompts.names[first]}: {moved.distance[first]:.4f}" in text
    assert f"ahead by {trace.total[second] - trace.total[first]:.4f}" in text
    sums = re.findall(r"(\d\.\d{4}) ([+-]) (\d\.\d{4}) = (\d\.\d{4})", text)
    assert len(sums) == 2
    for prompt, sign, memory, total in sums:
        assert float(prompt) + float(sign + memory) == pytest.approx(float(total), abs=2e-4)
