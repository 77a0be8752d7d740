"""A saved run instead of the worked example: run again, and compared with the file."""

from dataclasses import replace

from rita_demo.data import memory_file
from rita_demo.engine.protocol import Engine
from rita_demo.pipeline import bundle_read
from rita_demo.process.generators import run_to_end
from rita_demo.records import Run
from rita_demo.records.errors import DemoError
from rita_demo.ui.background.worked_example import WorkedExample
from rita_demo.ui.session.session import Session

MAX_LISTED_DIFFERENCES = 5


def reopened(engine: Engine, saved: bundle_read.SavedRun) -> WorkedExample:
    """A saved run, run again with the stored settings and the stored cache. Raises DemoError: the cache in the file is
    damaged or not of this run. (One of another model is ignored, with a message.)"""
    session, request = Session(), saved.opened(engine.info.side)
    session.attack_defend.source = saved.picture
    if saved.cache_file is not None and engine.info.name == saved.backbone:
        class_prompts = engine.encode_classes(saved.names, saved.settings)
        memory = memory_file.unpack(saved.cache_file, class_prompts, saved.backbone)
        session.history = memory.with_moments((replace(memory.moments[-1], title="As it was saved"),))

    def compute() -> None:
        run = run_to_end(request.run_steps(engine, session.history.cache_before("")), example.report)
        example.message, example.warning = comparison(saved, run)
        example.finish(session, run, "The saved picture")

    example = WorkedExample(engine, saved.settings, (), compute)
    example.sentence, example.failure = "Opening the saved run", "The saved run could not be computed."
    example.picture = request.picture
    return example


def comparison(saved: bundle_read.SavedRun, run: Run) -> tuple[str, DemoError | None]:
    """The page's message, and an error with the differences between the run and the file, if there are any."""
    found = bundle_read.differences(saved, run)
    answers = len(saved.methods) * (1 if saved.attacked is None else 2)
    pixels = "" if saved.attacked is None else " and every pixel"
    same = f"A saved run, made again: all {answers} answers{pixels} are those in the file."
    if saved.backbone != run.backbone.name:
        left = " Its memory belongs to that model and was left out." if saved.cache_file else ""
        found.insert(0, f"It was made with the model {saved.backbone}; this page uses {run.backbone.name}.{left}")
    elif not found:
        return same, None
    more = len(found) - MAX_LISTED_DIFFERENCES
    listed = found[:MAX_LISTED_DIFFERENCES] + ([f"There are {more} more differences."] if more > 0 else [])
    return "A saved run, made again.", DemoError("It is not quite as in the file.", " ".join(listed))
