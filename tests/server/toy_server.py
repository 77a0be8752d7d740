"""``python -m tests.server.toy_server``: the page with the toy engine as ``app.py`` serves it, open in a few seconds."""

import signal
import sys

from rita_demo.evaluation.page import DataFolders
from rita_demo.process import environment
from rita_demo.process import logging as process_logging
from rita_demo.server.launch import PageServer
from tests.toy_model import ToyEngine
from tests.ui.http_client import build_toy_page

if __name__ == "__main__":
    get_variable = environment.value
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    process_logging.configure()
    engine = ToyEngine(spread=0.2)
    page = build_toy_page(engine, folders=DataFolders(get_variable("RITA_DATA"), get_variable("RITA_RUNS")))
    engine.step_seconds = 0.05  # seconds a step of an attack
    port, accounts, grace = map(get_variable, ("RITA_PORT", "RITA_AUTH", "RITA_GRACE"))
    PageServer(page, "127.0.0.1", port, accounts, grace=grace).run()
