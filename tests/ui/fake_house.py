"""``python -m tests.ui.fake_house``: the page with the fake engine as ``app.py`` serves it, open in two seconds."""

from __future__ import annotations

from rita_demo import environment, logs
from rita_demo.duty import Bell
from rita_demo.measuring import Places
from rita_demo.ui import server
from rita_demo.ui.example import WorkedExample
from rita_demo.ui.page import build
from tests.ui.fake import FakeEngine

if __name__ == "__main__":
    bell, asked = Bell(), environment.value
    bell.listen()
    logs.start(asked("RITA_LOG"))
    engine = FakeEngine(spread=0.2)
    example = WorkedExample(engine)
    page = build(engine, example=example, places=Places(asked("RITA_DATA"), asked("RITA_RUNS")))
    example.wait(120, film=True)
    engine.slow = 0.05  # seconds a step of an attack
    server.opened(page, "127.0.0.1", asked("RITA_PORT"), asked("RITA_AUTH"))
    server.serve(page, bell, asked("RITA_GRACE"))
