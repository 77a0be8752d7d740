"""The tab Learn: the formulas' numbers are the record's, and the tour's stops are on the page."""

from __future__ import annotations

import re

import numpy as np
import pytest

from rita_demo.records import Story
from rita_demo.ui.example import WorkedExample
from rita_demo.ui.learn import formulas
from rita_demo.ui.page import build
from rita_demo.ui.sessions import Session, Sessions
from rita_demo.ui.tour import STOPS
from tests.ui.fake import FakeEngine


def plain(html: str) -> str:
    return re.sub(r"<[^>]+>", "", html).replace("−", "-")


def test_the_numbers_are_those_of_the_record(session: Session, story: Story) -> None:
    session.select(k=1, view=5)
    text, trace = plain(formulas(session)), story.attacked.trace
    moved = trace.prompt
    assert f"H5 = {trace.confidence.entropy[5]:.3f} nats" in text
    assert f"C[5,1] = 1 - {1 - moved.cost[1, 5, 0]:.4f} = {moved.cost[1, 5, 0]:.4f}" in text
    paid = float((np.asarray(moved.plan[1], float) * moved.cost[1]).sum() / moved.mass)
    assert f"= {paid:.4f}, with λ" in text
    first, second = np.argsort(trace.total, kind="stable")[:2]
    assert f"{story.bank.names[first]}: {moved.distance[first]:.4f}" in text
    assert f"ahead by {trace.total[second] - trace.total[first]:.4f}" in text


def test_what_a_decision_adds_up_to_is_what_is_printed(session: Session) -> None:
    sums = re.findall(r"(\d\.\d{4}) ([+-]) (\d\.\d{4}) = (\d\.\d{4})", plain(formulas(session)))
    assert len(sums) == 2
    for prompt, sign, memory, total in sums:
        found = float(prompt) + (1 if sign == "+" else -1) * float(memory)
        assert found == pytest.approx(float(total), abs=2e-4)


def test_before_there_is_a_picture_it_says_so() -> None:
    assert "once there is a picture" in formulas(Session())


def test_every_stop_is_on_a_tab_of_the_page_and_has_two_sentences_and_a_task() -> None:
    engine = FakeEngine()
    page = build(engine, example=WorkedExample(engine, candidates=()), sessions=Sessions())
    parts = page.get_config_file()["components"]
    tabs = {p["props"].get("label") for p in parts if p["type"] == "tabitem"}
    ids = {p["props"].get("elem_id") for p in parts}
    assert 8 <= len(STOPS) <= 10
    for stop in STOPS:
        assert stop.tab in tabs
        for selector in (stop.target, stop.control):
            assert selector.startswith(".pic") or selector.split()[0][1:] in ids, selector
        assert 1 <= len(re.findall(r"[.!?](?= |$)", stop.text)) <= 2, stop.title
        assert stop.task
    assert any("knows all this" in stop.title for stop in STOPS)
