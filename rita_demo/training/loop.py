"""The training loop: `train` and its parts."""

import math
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from open_clip import CLIP
from torch import Tensor

from rita_demo.records.errors import DemoError
from rita_demo.training import corpus, evaluate, teacher
from rita_demo.training.batches import Batch, Sampler
from rita_demo.training.model_config import build_model, export
from rita_demo.training.recipe import Recipe, average_rate, picture_size
from rita_demo.training.steps import (
    FILE,
    State,
    averaged_model,
    parameter_groups,
    resume_training,
    save_training,
    train_step,
    update_average,
)

DRAWN_PER_CLASS = 5  # drawn textures of each class in the validation
SAVE_EVERY = 180.0  # seconds between checkpoints

Log = Callable[[str], None]


def train(
    data: Path,
    out: Path,
    minutes: float,
    resume: bool = False,
    seed: int = 0,
    *,
    steps: int | None = None,
    recipe: Recipe | None = None,
    save_every_steps: int | None = None,
    print_line: Log = print,
) -> Path:
    """Train the embedded model and return the folder with the result, `out/model`.

    Args:
        data: folder with caltech-101/, dtd/ and the other sets (each may be missing).
        out: receives checkpoint.pt, log.txt, model/ (renewed at every checkpoint) and cache/, the decoded pictures
            (several GB). resume: continue from its checkpoint, if there is one.
        minutes: length of the schedule. steps: its length in steps instead, for runs that are reproducible bit by bit.
        seed: of the weights and of every batch. recipe: by default that of the embedded model.
        save_every_steps: steps between checkpoints, besides those of every 3 minutes.

    Raises:
        DemoError: no pictures, minutes not positive, or a checkpoint of another seed.
    """
    if minutes <= 0 and steps is None:
        raise DemoError(f"Training needs a positive number of minutes, not {minutes}.")
    recipe = recipe or Recipe()
    out.mkdir(parents=True, exist_ok=True)
    log, cache = make_logger(out / "log.txt", print_line), out / "cache"
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    pictures = corpus.load_corpus(data, cache, recipe.drawn)
    log(f"{len(pictures.label)} pictures, {len(pictures.names)} names, {device.type}")
    vision = recipe.model_cfg["vision_cfg"]
    splits = evaluate.zero_shot_splits(data, "val", DRAWN_PER_CLASS, vision["image_size"])
    model, optimizer, state = initial_state(out, recipe, pictures.classes, seed, device, resume, log)
    ambiguous = torch.from_numpy(pictures.ambiguous[: pictures.classes, : pictures.classes]).to(device)
    imagenet = torch.from_numpy(pictures.imagenet).to(device)
    answers = teacher.soft_labels(pictures, vision["timm_model_name"], recipe.trunk_package, cache)
    clock = time.monotonic() - state.seconds
    saved_at, before, losses = state.seconds, (state.step, state.seconds), list[Tensor]()

    def progress_at(step: int) -> float:
        return step / steps if steps else (time.monotonic() - clock) / (60 * minutes)

    for progress, size, batch in batches(Sampler(pictures, recipe, seed, answers), recipe, state, progress_at):
        with_text = state.step % recipe.text_every == 0
        found = train_step(model, optimizer, batch, recipe, progress, ambiguous, imagenet, with_text)
        losses += [found] if with_text else []
        update_average(state, model, average_rate(recipe, state.step))
        state.seen |= batch.seen if with_text else set()
        state.step += 1
        state.seconds = time.monotonic() - clock
        if state.step % 20 == 0:
            log(progress_line(state, before, losses, progress, size, recipe.batch, model))
            before, losses = (state.step, state.seconds), []
        due = save_every_steps and state.step % save_every_steps == 0
        if due or state.seconds - saved_at > SAVE_EVERY:
            log(save_and_report(out, model, optimizer, state, recipe, splits))
            saved_at = state.seconds
    log(save_and_report(out, model, optimizer, state, recipe, splits))
    return out / "model"


def progress_line(
    state: State, before: tuple[int, float], losses: list[Tensor], progress: float, size: int, batch: int, model: CLIP
) -> str:
    """Mean losses, logit scale, speed since `before` (step, seconds) and minutes left; `size`: pictures' side in pixels."""
    speed = (state.step - before[0]) * batch / (state.seconds - before[1])
    left = (state.seconds / max(progress, 1e-9) - state.seconds) / 60
    mean = " + ".join(f"{part:.2f}" for part in torch.stack(losses).mean(0).tolist())
    return (
        f"step {state.step} {100 * progress:.1f} % {size} px loss {mean} "
        f"scale {model.logit_scale.exp().item():.0f} {speed:.0f} images/s {left:.1f} min left"
    )


def batches(
    sampler: Sampler, recipe: Recipe, state: State, progress_at: Callable[[int], float]
) -> Iterator[tuple[float, int, Batch]]:
    """(progress, picture size, batch) until the end. A thread draws the next batch during a training step."""

    def submit(pool: ThreadPoolExecutor, step: int):
        progress = progress_at(step)
        size = picture_size(recipe, progress)
        return progress, size, pool.submit(sampler.draw, step, progress, size)

    with ThreadPoolExecutor(1) as pool:
        waiting = submit(pool, state.step)
        while waiting[0] < 1:
            progress, size, future = waiting
            batch = future.result()
            waiting = submit(pool, state.step + 1)
            yield progress, size, batch


def initial_state(
    out: Path, recipe: Recipe, classes: int, seed: int, device: torch.device, resume: bool, log: Log
) -> tuple[CLIP, torch.optim.Optimizer, State]:
    """Model, optimizer and state of a new or a resumed run."""
    model = build_model(recipe.model_cfg, seed, classes)
    model = model.to(device, memory_format=torch.channels_last).train()
    with torch.no_grad():
        model.logit_scale.fill_(math.log(recipe.first_scale))
    optimizer = torch.optim.AdamW(parameter_groups(model, recipe), betas=(0.9, 0.98), eps=1e-6, fused=True)
    if resume and (out / FILE).is_file():
        state = resume_training(out, model, optimizer, seed)
        log(f"resumed at step {state.step}, {state.seconds / 60:.1f} minutes in")
    else:
        log(teacher.load_pretrained(model.visual, recipe.trunk_package))
        state = State(seed=seed)
    if recipe.compiled and shutil.which("g++") is None:
        log("no C++ compiler: training without compilation")
    elif recipe.compiled:
        model.visual.compile(dynamic=False)  # a third faster
    return model, optimizer, state


def save_and_report(
    out: Path,
    model: CLIP,
    optimizer: torch.optim.Optimizer,
    state: State,
    recipe: Recipe,
    splits: dict[str, evaluate.Split],
) -> str:
    """Write the checkpoint and `out/model`; returns a line with the accuracies of the averaged model."""
    save_training(out, model, optimizer, state)
    average = averaged_model(model, state)
    scored = {name: (evaluate.cosines(average, split), split) for name, split in splits.items()}
    scale = evaluate.calibrated_scale(list(scored.values()), recipe.last_scale)
    average.logit_scale.data.fill_(math.log(scale))
    export(average.state_dict(), recipe.model_cfg, sorted(state.seen), out / "model")
    accuracies = " ".join(
        f"{name} {evaluate.accuracy(cosine, split):.1f} %" for name, (cosine, split) in scored.items()
    )
    return f"step {state.step} saved after {state.seconds / 60:.1f} min; accuracy on val: {accuracies}"


def make_logger(path: Path, print_line: Log) -> Log:
    """A function that appends a line with the time to a file and passes it to `print_line`."""

    def log(line: str) -> None:
        stamped = f"{time.strftime('%H:%M:%S')} {line}"
        with path.open("a", encoding="utf-8") as handle:
            handle.write(stamped + "\n")
        print_line(stamped)

    return log
