"""The caller's torch: in every state of it, run, evaluate, smallest_budget, Engine and own_model give the numbers of a plain call."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from rita_demo import Engine, evaluate, own_model, run, smallest_budget
from rita_demo.defences.registry import DEFENCES
from rita_demo.process.generators import run_to_end
from rita_demo.records import Picture
from rita_demo.scripting.explain import load_engine
from rita_demo.settings import RECOMMENDED
from rita_demo.vlm.backbone import Backbone
from tests.toy_model import SIDE, TEMPERATURE, TOKENIZER, ToyModel

NAMES = ["cat", "crab", "cup", "dog"]
PIXELS = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
QUICK = {"views": 8, "adaptive.steps": 2, "adaptive.restarts": 1, "attack_views": 2}
SETTINGS = RECOMMENDED.replace(views=8, steps=2, attack="pgd")
OWN: Any = {"name": "toy", "side": SIDE, "temperature": TEMPERATURE, "mean": (0.0,) * 3, "std": (1.0,) * 3}
OWN["device"] = "cpu"
Door = Callable[[], Any]


@contextmanager
def changed(set_to: Callable[[Any], object], value: Any, plain: Any) -> Iterator[None]:
    set_to(value)
    try:
        yield
    finally:
        set_to(plain)


CONTEXTS: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "inference_mode": torch.inference_mode,
    "no_grad": torch.no_grad,
    "autocast": partial(torch.autocast, "cpu", dtype=torch.bfloat16),
    "float64": partial(changed, torch.set_default_dtype, torch.float64, torch.float32),
    "bfloat16": partial(changed, torch.set_default_dtype, torch.bfloat16, torch.float32),
    "set_default_device": partial(changed, torch.set_default_device, "meta", None),
    "deterministic": partial(changed, torch.use_deterministic_algorithms, True, False),
}


@pytest.fixture(autouse=True)
def nothing_loaded() -> Iterator[None]:
    """Every context loads its models itself, and leaves none."""
    load_engine.cache_clear()
    yield
    load_engine.cache_clear()


def toy() -> Backbone:
    return own_model(model_of_the_caller(), TOKENIZER, **OWN)


@cache
def model_of_the_caller() -> ToyModel:
    return ToyModel("cat", "crab", 0.3)


def of_run(backbone: str, **asked: Any) -> Any:
    found = run(PIXELS, NAMES, seed=1, settings=QUICK, backbone=backbone, **asked)
    return found.to_frame().to_csv(), found.run.attacked.picture.pixels.tobytes()


def of_evaluate(backbone: str, folder: Path) -> Any:
    asked = {"split": "all", "methods": "clip,ensemble,rita", "attack": "none,pgd", "budget": 4, "steps": 2}
    rows = evaluate(folder, **asked, settings=QUICK, backbone=backbone)
    return rows[["method", "attack", "protocol", "margin"]].to_csv()


def of_smallest_budget(backbone: str) -> Any:
    rows = smallest_budget(PIXELS, NAMES, methods="ensemble", most=8, settings=QUICK, backbone=backbone)
    return rows[["budget", "linf", "l2", "tried"]].to_csv()


def of_engine(model: str | Backbone) -> Any:
    engine = Engine(model, device="cpu")
    side = engine.info.side
    picture = Picture(np.array(Image.fromarray(PIXELS).resize((side, side))), "p")
    prompts = engine.encode_classes(NAMES, SETTINGS)
    attack = run_to_end(engine.attack_steps(picture, prompts, SETTINGS, 0))
    views = engine.encode_views(picture, SETTINGS)
    trace, memory = engine.decide(views, prompts, None, SETTINGS)
    bounds = engine.theorem_bounds(trace)
    parts = attack.frames, attack.loss, views.features, prompts.features, trace.verdict.probability, memory.entropy
    divergence = engine.kl_to_one_hot(views.features, np.arange(len(views.features)) % len(NAMES), prompts)
    more = bounds.lower, divergence, engine.view_pixels(picture, SETTINGS)
    return [part.tobytes() for part in (*parts, *more)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("set") / "pets"
    for number, name in enumerate(["cat", "crab"]):
        (root / name).mkdir(parents=True)
        Image.fromarray(np.roll(PIXELS, 9 * number, 0)).save(root / name / f"{number}.png")
    return root


@pytest.fixture(scope="module")
def doors(tiny_model_dir: Path, folder: Path) -> dict[str, Door]:
    name = f"local-dir:{tiny_model_dir}"
    return {
        "run": partial(of_run, name, attack="pgd", steps=2, methods=list(DEFENCES)),
        "adaptive": partial(of_run, name, attack="adaptive:rita", methods="clip,rita"),
        "evaluate": partial(of_evaluate, name, folder),
        "smallest_budget": partial(of_smallest_budget, name),
        "Engine": partial(of_engine, name),
        "own_model": lambda: of_engine(toy()),
    }


@pytest.fixture(scope="module")
def plain(doors: dict[str, Door]) -> dict[str, Any]:
    """The values of every door, by calls in torch as it starts."""
    return {name: door() for name, door in doors.items()}


DOORS = ["run", "adaptive", "evaluate", "smallest_budget", "Engine", "own_model"]
#: The doors with less behind them are tried in all contexts, the others in those that failed in their own ways.
QUICK_DOORS, DISTINCT = {"Engine", "own_model"}, {"inference_mode", "autocast", "bfloat16", "set_default_device"}


def quick(context: str, door: str) -> bool:
    return door in QUICK_DOORS or (context in DISTINCT and door == "run")


BOTH = [pytest.param(*both, marks=() if quick(*both) else pytest.mark.slow) for both in product(CONTEXTS, DOORS)]


@pytest.mark.slow
@pytest.mark.parametrize(("context", "door"), BOTH)
def test_a_call_in_any_state_of_torch_gives_the_numbers_of_a_plain_call_and_so_does_every_later_one(
    context: str, door: str, doors: dict[str, Door], plain: dict[str, Any]
) -> None:
    with CONTEXTS[context]():
        inside = doors[door]()
    assert inside == plain[door]
    assert doors[door]() == plain[door], "what was loaded inside is used outside"


def test_a_model_that_was_made_in_inference_mode_is_attacked_as_any_other(plain: dict[str, Any]) -> None:
    with torch.inference_mode():
        made = ToyModel("cat", "crab", 0.3)
        inside = own_model(made, TOKENIZER, **OWN)
    assert of_engine(inside) == plain["own_model"]
