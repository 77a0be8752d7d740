"""A defence or an attack of a user's own file that would end the process is a sentence, and everything goes on."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pytest
from PIL import Image

from rita_demo.attacks import registry as attacks
from rita_demo.cli import main as cli
from rita_demo.defences import registry as defences
from rita_demo.pipeline.run import run_picture, run_picture_steps
from rita_demo.process.generators import EndedError, contained, contained_steps
from rita_demo.process.plugin_file import PluginError, plugin_errors
from rita_demo.records import Picture
from rita_demo.settings import RECOMMENDED
from tests.page_client import HttpClient
from tests.toy_model import ToyEngine
from tests.ui.http_client import ENGINE, build_toy_page, launch_page

pytestmark = pytest.mark.usefixtures("no_plugins_afterwards")
DEFENCE = """\
import asyncio, functools, sys
from rita_demo.defences.contract import Defence

class Own(BaseException):
    pass

def answer(inputs):
    {end}

DEFENCE = Defence(name="mine", title="Mine", sentence="It ends.", answer={answer})
"""
ATTACK = """\
from rita_demo.attacks.contract import Attack

def step(*_):
    {end}

def loop(*_):
    {end}
    yield

ATTACK = Attack(name="ends", title="Ends", sentence="It ends.", {part}={part}{more})
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


def defence(folder: Path, end: str, answer: str = "answer") -> str:
    (folder / "mine.py").write_text(DEFENCE.format(end=end, answer=answer))
    return f"{folder / 'mine.py'}:DEFENCE"


def attack(folder: Path, end: str, part: str) -> str:
    more = ", iterative=True" if part == "step" else ""
    (folder / "ends.py").write_text(ATTACK.format(end=end, part=part, more=more))
    return f"{folder / 'ends.py'}:ATTACK"


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


def test_an_answer_without_a_line_of_its_own_that_ends_the_process_is_a_sentence(tmp_path: Path) -> None:
    defences.add_plugin(defence(tmp_path, "pass", "functools.partial(sys.exit)"))
    run = in_a_thread(run_picture, ToyEngine(), PICTURE, NAMES, QUICK)
    assert str(run.faults["mine"]).startswith("mine.py: SystemExit")


@pytest.mark.parametrize("part", ["step", "loop"])
@pytest.mark.parametrize("end", ["raise SystemExit", "raise KeyboardInterrupt", "raise GeneratorExit"])
def test_an_attack_that_ends_in_any_way_is_a_sentence(tmp_path: Path, end: str, part: str) -> None:
    from rita_demo.attacks.loop.run import attack_steps
    from rita_demo.process.generators import run_to_end
    from rita_demo.process.lazy import torch

    attacks.add_plugin(attack(tmp_path, end, part))
    settings, grey = QUICK.replace(attack="ends"), torch.full((1, 3, 8, 8), 0.5)
    steps = attack_steps(lambda x: x.mean((2, 3)), grey, settings, [0], [0])
    with pytest.raises(PluginError, match=f"ends.py, line {4 if part == 'step' else 7}: {end.split()[-1]}"):
        in_a_thread(run_to_end, steps)


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


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_a_step_of_our_own_that_would_end_the_process_is_an_error(kind: type[BaseException]) -> None:
    def steps() -> Iterator[int]:
        yield 1
        raise kind

    running = contained_steps(steps())
    assert next(running) == 1
    with pytest.raises(EndedError, match=kind.__name__):
        next(running)
    with pytest.raises(EndedError, match=kind.__name__), contained():
        raise kind


@pytest.mark.nightly
@pytest.mark.slow
def test_the_server_goes_on_when_a_defence_or_a_function_of_its_own_ends(tmp_path, monkeypatch) -> None:
    how = tmp_path / "how.txt"
    defences.add_plugin(defence(tmp_path, f"exec(open({str(how)!r}).read())"))
    page = build_toy_page()
    address = launch_page(page)
    try:
        visitor, quick = HttpClient(address), {"setting_views": 8, "setting_steps": 2}
        visitor.open()
        visitor.press("samples", data={"sample": "coffee"})
        for end in ("raise SystemExit", "raise KeyboardInterrupt", "raise GeneratorExit"):
            how.write_text(end)
            answer = visitor.press("go", **quick)
            assert f"No answer. mine.py, line 8: {end.split()[-1]}" in answer
            assert "Done in" in answer

            def leave(*_: object, end: str = end, **__: object) -> None:
                exec(end)

            monkeypatch.setattr(ENGINE, "encode_views", leave)
            assert "Something went wrong on our side" in visitor.press("go", **quick)
            monkeypatch.undo()
            assert httpx.get(f"{address}health").json()["status"] == "ok"
            assert "Done in" in visitor.press("go", **quick)
    finally:
        page.close(verbose=False)


@pytest.mark.slow
def test_evaluate_says_which_line_ended_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("cup", "crab"):
        place = tmp_path / "data" / "toys" / name / "1.png"
        place.parent.mkdir(parents=True)
        Image.new("RGB", (40, 40), len(name) * 50).save(place)
    words = ["--data-root", str(tmp_path / "data"), "--dataset", "toys", "--split", "all"]
    words += ["--defence", defence(tmp_path, "sys.exit(0)"), "--methods", "mine,clip", "--attack", "none"]
    words += ["--out", str(tmp_path / "runs"), "--budget", "4", "--set", "views=4"]
    assert cli.main(["evaluate", *words]) == 1
    said = capsys.readouterr()
    assert "Failed: Mine: no answer to 2 of 2 pictures of toys without an attack, the first " in said.err
    failed = "mine.py, line 8: SystemExit: 0\n2 answers failed. They count neither as right nor as wrong."
    assert failed in said.err
    assert "2 cells, 2 rows, 2 of them new" in said.out, "the other defence goes on"
    assert cli.main(["tables", str(tmp_path / "runs")]) == 0
    assert "Failed: Mine: no answer to 2 of 2 pictures" in capsys.readouterr().err
