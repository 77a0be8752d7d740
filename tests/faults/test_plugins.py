"""A defence of a user's own file that would end the process is a sentence, and everything goes on."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from rita_demo.defences import registry as defences
from rita_demo.pipeline.run import run_picture, run_picture_steps
from rita_demo.process.generators import contained_steps
from rita_demo.process.plugin_file import plugin_errors
from rita_demo.records import Picture
from rita_demo.settings import RECOMMENDED
from tests.toy_model import ToyEngine

pytestmark = pytest.mark.usefixtures("no_plugins_afterwards")
DEFENCE = """\
import asyncio, sys
from rita_demo.defences.contract import Defence

class Own(BaseException):
    pass

def answer(inputs):
    {end}

DEFENCE = Defence(name="mine", title="Mine", sentence="It ends.", answer=answer)
"""
ENDS = {
    "raise SystemExit": "SystemExit",
    "sys.exit(3)": "SystemExit",
    "raise KeyboardInterrupt": "KeyboardInterrupt",
    "raise GeneratorExit": "GeneratorExit",
    "raise asyncio.CancelledError": "CancelledError",
    "raise Own": "Own",
    "return next(iter(()))": "StopIteration",
    "return answer(inputs)": "RecursionError",
}
NAMES = ("motorbike", "crab", "cup")
PICTURE = Picture(np.full((32, 32, 3), 90, np.uint8), "grey")
QUICK = RECOMMENDED.replace(views=8, steps=2, tuning_steps=0)


def defence(folder: Path, end: str) -> str:
    (folder / "mine.py").write_text(DEFENCE.format(end=end))
    return f"{folder / 'mine.py'}:DEFENCE"


def in_a_thread(work, *arguments):
    """As the server does it."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work, *arguments).result()


@pytest.mark.parametrize("end", ENDS)
def test_a_defence_that_ends_in_any_way_is_a_sentence(tmp_path: Path, end: str) -> None:
    defences.add_plugin(defence(tmp_path, end))
    run = in_a_thread(run_picture, ToyEngine(), PICTURE, NAMES, QUICK)
    assert run.answered == ("clip", "ensemble", "rita")
    assert str(run.faults["mine"]).startswith(f"mine.py, line 8: {ENDS[end]}")


def test_ctrl_c_and_a_closed_generator_are_no_fault_of_the_file(tmp_path: Path) -> None:
    spec = defence(tmp_path, "raise KeyboardInterrupt")
    one = defences.add_plugin(spec)
    assert threading.current_thread() is threading.main_thread()
    with pytest.raises(KeyboardInterrupt):
        run_picture(ToyEngine(), PICTURE, NAMES, QUICK)

    def steps() -> Iterator[int]:
        with plugin_errors(one.plugin):
            yield 1

    running = contained_steps(steps())
    assert next(running) == 1
    running.close()  # raises nothing
    run_picture_steps(ToyEngine(), PICTURE, NAMES, QUICK).close()
