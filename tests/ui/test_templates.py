"""No template lets markup through, whatever a class, a method or a file is called."""

from dataclasses import replace

import numpy as np
import pytest

from rita_demo.defences.registry import DEFENCES
from rita_demo.process.templates import TEMPLATES
from rita_demo.records import DefenceFault, Run
from rita_demo.ui.panels import run_summary_bar, selection_details, verdict_table
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording

EVIL = "<script>alert('1')</script>\"'>"


@pytest.fixture
def evil_session(example_run: Run, monkeypatch: pytest.MonkeyPatch) -> Session:
    """Names of classes, sentences, a method, a file and the attacker's ignorance are markup."""
    evil = replace(DEFENCES["rita"], title=EVIL, input_description=EVIL, sentence=EVIL)
    monkeypatch.setitem(DEFENCES, "rita", evil)  # type: ignore[arg-type]
    fault = DefenceFault(*(EVIL if kind is str else 3 for kind in (str, str, str)))
    prompts = replace(
        example_run.class_prompts,
        names=tuple(f"{EVIL}{k}" for k in range(4)),
        prompts=tuple((EVIL,) * len(sentences) for sentences in example_run.class_prompts.prompts),
        unknown=((EVIL,), (), (), ()),
    )
    threat = replace(example_run.threat_model, does_not_know=(EVIL, EVIL), sentences=(EVIL,))
    session = Session()
    session.show(replace(example_run, class_prompts=prompts, threat_model=threat))
    session.crops = {"clean": np.zeros((64, 8, 8, 3), np.uint8)}
    session.select(k=0, view=3, atom=0)
    return session
