"""The executor ``local``: picture by picture in this process, for all cells that share its views."""

from collections.abc import Iterator, Mapping
from itertools import chain

from rita_demo.evaluation.executors.evaluate_picture import PictureEvaluator
from rita_demo.evaluation.executors.prefetch import prepare_ahead
from rita_demo.evaluation.executors.registry import Report
from rita_demo.evaluation.pictures import PictureSet
from rita_demo.evaluation.request import Request
from rita_demo.evaluation.store.run_folder import CellGroup, EvaluationStep, RunFolder, dataset_runs


def measure(request: Request, picture_sets: Mapping[str, PictureSet], report: Report) -> int:
    """An :data:`rita_demo.evaluation.executors.registry.Executor`."""
    from rita_demo.engine.engine import Engine  # loads torch

    model = PictureEvaluator(Engine(request.backbone))
    run, new = RunFolder(request, picture_sets, model.facts), 0
    for task in dataset_runs(request):
        for step in chain.from_iterable(measure_steps(model, group) for group in run.groups(task)):
            report(f"{step.pace}; {step.sentence}")
            new += step.new
    return new


def measure_steps(model: PictureEvaluator, group: CellGroup) -> Iterator[EvaluationStep]:
    """Measure what the cells of a group lack, one picture at a time."""
    for index in range(group.first_pending, len(group.stream)):
        due = [(cell, file) for cell, file in zip(group.cells, group.files) if file.count == index]
        request = group.request(index)
        attacked = request.attacked
        # a cell whose attack uses the cache shares its views with no other cell
        cache = group.files[0].cache if attacked and group.cells[0].attack_uses_cache else None
        prepare_ahead(model, group, index)
        encoded = model.encode(request, group.views[attacked], group.attacks[attacked], cache)
        model.evaluate(request, encoded, due, group.prompt_stores[attacked])
        yield group.step(index, len(due))
