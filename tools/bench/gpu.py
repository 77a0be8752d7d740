"""Speed on a GPU: ``python -m tools.bench gpu [--backbone NAME] [--json F]``, in minutes on one card. 47 classes and ViT-B/16 with random weights (speed does not depend on them), or another model: the stages of an image, one
picture, PGD with seven steps, the attacker who knows RITA, a stream of attacked pictures one by one and in groups, and
eight visitors at once. Beside every row stand its goal and what takes the time; labels and costs are compared with float32
on the CPU."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from rita_demo.data.pictures import picture_of
from rita_demo.data.samples import available
from rita_demo.engine.engine import Engine
from rita_demo.records import EncodedViews, Picture, Trace
from rita_demo.records.spreadsheet import align_columns
from rita_demo.settings import RECOMMENDED, Settings
from rita_demo.settings.attack_name import AGAINST
from rita_demo.settings.models import BACKBONES
from rita_demo.vlm.backbone import Backbone
from rita_demo.vlm.registry import load, untrained
from tools.bench.stages import BenchFixture, Work, machine_of, medians, method_stages, model_stages, synchronise

ARCHITECTURE, CLASSES, STEPS, VISITORS = "ViT-B-16", 47, 7, 8
GROUPS = (1, 4, 16, 64)  # pictures of a stream that are attacked and encoded together
#: Seconds; of a stream the seconds of one picture.
GOALS = {"image": 0.040, "PGD-7": 0.060, "adaptive, one restart": 3.0, "eight visitors, an image each": 0.2}
STREAM_GOAL = 1 / 60
COMPARED = 8  # pictures on which the answers are compared with float32 on the CPU
CLEAR_MARGIN, COST_GOAL = 1e-3, 1e-3  # of the float32 answer; relative difference of a cost
ROUNDS, KERNELS = 7, 20  # kernels in a table
ON_A_CPU: dict[str, Any] = {"groups": (1, 4), "rounds": 3, "compared": 2}  # else it takes a quarter of an hour
SETTINGS = RECOMMENDED.replace(attack="pgd", steps=STEPS, square="model")
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Timed:
    """What is timed: ``pictures`` of them in one ``call``; ``profiled``: a shorter call of the same kind, with
    ``profiled_pictures``."""

    name: str
    goal: float
    call: Callable[[], Any]
    pictures: int = 1
    profiled: Callable[[], Any] | None = None
    profiled_pictures: int = 1


def run(name: str, device: str | None, on_progress: Progress) -> dict[str, Any]:
    """:func:`measure` of a model, by its name or by an architecture's, which gets random weights; ``device``: None: the
    fastest here."""
    make = load if ":" in name or name in BACKBONES else untrained
    backbone, exact = make(name, device), make(name, "cpu", "float32")
    return measure(backbone, exact, on_progress, **(ON_A_CPU if backbone.device.type == "cpu" else {}))


def measure(
    backbone: Backbone,
    exact: Backbone,
    on_progress: Progress = lambda _: None,
    *,
    groups: Sequence[int] = GROUPS,
    rounds: int = ROUNDS,
    compared: int = COMPARED,
    settings: Settings = SETTINGS,
) -> dict[str, Any]:
    """The content of ``bench gpu --json``: ``machine``, ``config``; ``stages``: seconds of each; ``rows``: see :func:`row_of`;
    ``agreement``: with ``exact``, the same weights in float32 on the CPU; ``peak_bytes`` of the device's memory (None on a CPU).
    ``groups``: numbers of pictures of a stream that are attacked and encoded together; ``rounds``: calls whose median is taken;
    ``compared``: pictures whose answers are compared."""
    scene = BenchFixture(backbone, Engine(backbone), settings, CLASSES, backbone.side)
    device = backbone.device
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    parts = {**model_stages(scene), **method_stages(scene)}
    parts["prompt update"] = lambda: scene.engine.tune(scene.encoded_views, scene.class_prompts, settings)
    stages = medians(parts, rounds, warm_up=2, device=device)
    for name, seconds in stages.items():
        on_progress(f"{name}: {_ms(seconds)} ms")
    rows = []
    for work in timed_work(scene, groups):
        rows.append(row := row_of(work, rounds, device))
        on_progress(f"{work.name}: {_ms(row['seconds'])} ms, goal {_ms(work.goal)}; {row['in_the_way']}")
    peak = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None
    return {
        "machine": machine_of(device),
        "config": {"backbone": backbone.info.name, "precision": backbone.info.precision}
        | {"K": CLASSES, "N": settings.views, "rounds": rounds, "settings": settings.as_dict()},
        "stages": stages,
        "rows": rows,
        "agreement": agreement(scene, replace(scene, backbone=exact, engine=Engine(exact)), compared),
        "peak_bytes": peak,
    }


def timed_work(scene: BenchFixture, groups: Sequence[int]) -> list[Timed]:
    """Everything that is timed, in the order of the table."""
    engine, prompts, settings = scene.engine, scene.class_prompts, scene.settings
    knows = settings.replace(attack="adaptive", **{AGAINST: "rita", "adaptive.restarts": 1})
    briefly = knows.replace(**{"adaptive.steps": 2})
    pool = ThreadPoolExecutor(VISITORS)  # kept, as a server keeps its threads

    def visitors() -> None:
        """An image of each visitor at the same time, until the last one is decided."""
        for waiting in [pool.submit(scene.image) for _ in range(VISITORS)]:
            waiting.result()

    calls: Work = {
        "image": scene.image,
        "PGD-7": lambda: engine.attack(scene.picture, prompts, settings, 0),
        "adaptive, one restart": lambda: engine.attack(scene.picture, prompts, knows, 0),
        "eight visitors, an image each": visitors,
    }
    found = [Timed(name, GOALS[name], call) for name, call in calls.items()]
    found[2] = replace(found[2], profiled=lambda: engine.attack(scene.picture, prompts, briefly, 0))
    for group in groups:
        pictures = shifted(scene.picture, range(max(group, min(max(groups), 16))))
        whole, part = stream(scene, pictures, group), stream(scene, pictures[: min(group, 4)], min(group, 4))
        found.append(Timed(f"stream, groups of {group}", STREAM_GOAL, whole, len(pictures), part, min(group, 4)))
    return found


def row_of(work: Timed, rounds: int, device: torch.device) -> dict[str, Any]:
    """``work`` timed and profiled: its ``name``, ``seconds`` of a picture (median, wall), ``goal``, ``profile`` of one call, or
    of a shorter one, of that many ``pictures``, and what stands ``in_the_way``. A long one is called twice, on a CPU once."""
    long = work.pictures > 1 or work.goal == GOALS["adaptive, one restart"]
    turns = {"rounds": 1, "warm_up": int(device.type != "cpu")} if long else {"rounds": rounds, "warm_up": 2}
    seconds = medians({work.name: work.call}, device=device, **turns)[work.name] / work.pictures
    seen, pictures = profiled(work.profiled or work.call, device), work.profiled_pictures
    if seconds <= work.goal:
        way = "met"
    elif not seen["kernels"]:
        way = "a CPU's profiler sees one thread only"
    else:
        dearest = seen["kernels"][0]
        way = f"dearest: {dearest['name'][:48]} {_ms(dearest['seconds'] / pictures)} ms"
    if way != "met" and device.type == "cuda":
        busy, wall = seen["busy"] / pictures, seen["wall"] / pictures
        launched = f"{seen['launched'] / pictures:.0f} kernels, {seen['copies'] / pictures:.0f} copies"
        way = f"{launched} run for {_ms(busy)} ms, the card waits {_ms(max(wall - busy, 0))} ms; {way}"
    timed = {"name": work.name, "seconds": seconds, "goal": work.goal}
    return timed | {"profile": seen, "pictures": pictures, "in_the_way": way}


def profiled(work: Callable[[], Any], device: torch.device) -> dict[str, Any]:
    """One call, after one that is not counted: ``wall``, its seconds without the profiler; ``busy``, those of all kernels (on a
    CPU: operators, each with those that it calls); ``launched`` kernels; ``copies`` between device and host; the dearest
    ``kernels``, dearest first."""
    cuda = device.type == "cuda"
    wall = medians({"": work}, 1, device=device)[""]
    with profile(activities=[ProfilerActivity.CUDA if cuda else ProfilerActivity.CPU]) as recorded:
        work()
        synchronise(device)
    results: Any = recorded.profiler  # torch's own list of events takes minutes for what a stream starts
    events = [e for e in results.kineto_results.events() if (e.device_type() == DeviceType.CUDA) == cuda]
    total, calls = dict[str, float](), Counter(event.name() for event in events)
    for event in events:
        total[event.name()] = total.get(event.name(), 0) + event.duration_ns() / 1e9
    dearest = sorted(total, key=lambda name: -total[name])[:KERNELS]
    return {
        "wall": wall,
        "busy": sum(total.values()),
        "launched": len(events),
        "copies": sum(count for name, count in calls.items() if "Memcpy" in name and "DtoD" not in name),
        "kernels": [{"name": name[:90], "seconds": total[name], "calls": calls[name]} for name in dearest],
    }


def shifted(picture: Picture, numbers: Iterable[int]) -> list[Picture]:
    """Pictures that differ: the same one, rolled by seven pixels times each number."""
    return [picture_of(np.roll(picture.pixels, 7 * n, axis=(0, 1))) for n in numbers]


def stream(scene: BenchFixture, pictures: Sequence[Picture], group: int) -> Callable[[], list[Trace]]:
    """Attack, encode and decide all pictures, ``group`` of them at a time, with one cache."""

    if group == 1:
        return lambda: decisions(scene, one_by_one(scene, pictures))
    parts = [pictures[first : first + group] for first in range(0, len(pictures), group)]
    return lambda: decisions(scene, (in_one_batch(scene, part) for part in parts))


def one_by_one(
    scene: BenchFixture, pictures: Sequence[Picture], attacked: bool = True
) -> Iterator[Sequence[EncodedViews]]:
    """Attack (if ``attacked``) and encode picture after picture."""
    for number, picture in enumerate(pictures):
        if attacked:
            settings = scene.settings.replace(attack_seed=number)
            picture = picture_of(scene.engine.attack(picture, scene.class_prompts, settings, 0).pixels)
        yield [scene.engine.encode_views(replace(picture, key=scene.new_picture().key), scene.settings)]


def in_one_batch(scene: BenchFixture, pictures: Sequence[Picture]) -> Sequence[EncodedViews]:
    """The same with one batch of attacks and one batch of views."""
    engine, settings, count = scene.engine, scene.settings, len(pictures)
    attacks = engine.attack_batch(pictures, scene.class_prompts, settings, [0] * count, range(count))
    delivered = [picture_of(trace.pixels) for trace in attacks]
    return engine.encode_views_batch(delivered, settings, [settings.view_seed] * count)


def decisions(scene: BenchFixture, parts: Iterable[Sequence[EncodedViews]]) -> list[Trace]:
    """Decide all pictures with one cache, those of each part at once."""
    cache, traces = scene.engine.empty_cache(scene.class_prompts, scene.settings), list[Trace]()
    for part in parts:
        nothing = [None] * len(part)
        decided = scene.engine.decide_in_turn(part, scene.class_prompts, cache, scene.settings, nothing)
        traces, cache = [*traces, *(trace for trace, _ in decided)], decided[-1][1]
    return traces


def agreement(scene: BenchFixture, exact: BenchFixture, count: int) -> dict[str, float]:
    """The answers of ``scene`` beside those of ``exact`` on ``count`` pictures, clean and attacked by ``scene``; the
    pictures are the samples, and these rolled by some pixels."""
    samples = [one.load(square="model", side=scene.side) for one in available().values()]
    clean = [picture for n in range(-(-count // len(samples))) for one in samples for picture in shifted(one, [n])]
    attack = [scene.engine.attack(one, scene.class_prompts, scene.settings, 0).pixels for one in clean[:count]]
    shown = [*clean[:count], *map(picture_of, attack)]
    return compare(*(decisions(one, one_by_one(one, shown, attacked=False)) for one in (exact, scene)))


def compare(exact: Sequence[Trace], fast: Sequence[Trace]) -> dict[str, float]:
    """``pictures``; ``other_labels`` where the margin of ``exact`` is at least 1e-3, and ``unclear`` ones, where it is
    not; ``largest_relative_gap`` of a total cost."""
    same = np.array([a.verdict.label == b.verdict.label for a, b in zip(exact, fast)])
    clear = np.array([a.verdict.margin >= CLEAR_MARGIN for a in exact])
    gap = max(float(np.max(np.abs(a.total - b.total) / np.abs(a.total))) for a, b in zip(exact, fast))
    found = {"pictures": len(same), "other_labels": int((clear & ~same).sum()), "unclear": int((~clear).sum())}
    return found | {"largest_relative_gap": gap}


def as_text(found: dict[str, Any]) -> str:
    """The tables of ``bench gpu``: stages; rows with goals and what stands in the way; the kernels of two rows."""
    machine, agree, peak = found["machine"], found["agreement"], found["peak_bytes"]
    rows = [[row["name"], _ms(row["seconds"]), _ms(row["goal"]), row["in_the_way"]] for row in found["rows"]]
    tables = [[["stage", "ms"], *([name, _ms(seconds)] for name, seconds in found["stages"].items())]]
    tables.append([["row", "ms", "goal", "in the way"], *rows])
    for row in found["rows"][:2]:
        kernels = [[one["name"], _ms(one["seconds"]), str(one["calls"])] for one in row["profile"]["kernels"]]
        tables.append([["dearest of: " + row["name"], "ms", "calls"], *kernels])
    lines = [f"{found['config']['backbone']} on {machine['gpu'] or machine['processor']}, torch {machine['torch']}"]
    for table in tables:
        lines += ["", *align_columns(table)]
    beside = f"Beside float32 on the CPU, {agree['pictures']} pictures: {agree['other_labels']} other labels"
    beside += f" where the margin is at least {CLEAR_MARGIN:g} ({agree['unclear']} have a smaller one),"
    beside += f" largest relative gap of a cost {agree['largest_relative_gap']:.1e} (goal {COST_GOAL:g})."
    lines += ["", beside, *([] if peak is None else [f"Peak memory of the device: {peak / (1 << 30):.2f} GiB."])]
    return "\n".join(lines)


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.2f}"
