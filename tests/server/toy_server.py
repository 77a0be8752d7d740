"""``python -m tests.server.toy_server``: the page with the toy engine as ``app.py`` serves it, open in a few seconds."""

from rita_demo.evaluation.page import DataFolders
from rita_demo.process import environment
from rita_demo.process import logging as process_logging
from rita_demo.process.shutdown import SignalHandler
from rita_demo.server import launch
from tests.toy_model import ToyEngine
from tests.ui.http_client import build_toy_page

if __name__ == "__main__":
    signal_handler, get_variable = SignalHandler(), environment.value
    signal_handler.install()
    process_logging.configure()
    engine = ToyEngine(spread=0.2)
    page = build_toy_page(engine, folders=DataFolders(get_variable("RITA_DATA"), get_variable("RITA_RUNS")))
    engine.step_seconds = 0.05  # seconds a step of an attack
    launch.launch_page(page, "127.0.0.1", get_variable("RITA_PORT"), get_variable("RITA_AUTH"))
    launch.serve(page, signal_handler, get_variable("RITA_GRACE"))
