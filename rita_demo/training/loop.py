"""The training loop: one function to call, `train`, and the steps it is made of."""

import math
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from open_clip import CLIP

from rita_demo.errors import DemoError
from rita_demo.training import checkpoint, corpus, evaluate, teacher, trunk_weights
from rita_demo.training.batches import Batch, Sampler
from rita_demo.training.checkpoint import State
from rita_demo.training.model_config import (
    Tower,
    build_model,
    export,
    tower,
)
from rita_demo.training.names import DTD_NAMES
from rita_demo.training.recipe import Recipe, average_rate, picture_size
from rita_demo.training.steps import averaged, parameter_groups, train_step, update_average

DRAWN_PER_CLASS = 5  # drawn textures of each class in the validation


def train(
    data: Path,
    out: Path,
    minutes: float,
    resume: bool = False,
    seed: int = 0,
    *,
    steps: int | None = None,
    recipe: Recipe | None = None,
    cache: Path | None = None,
    save_every: float = 180.0,
    save_every_steps: int | None = None,
    say: Callable[[str], None] = print,
) -> Path:
    """Train the embedded model and return the folder with the result, `out/model`.

    Args:
        data: folder with caltech-101/, dtd/ and the other sets (each may be missing).
        out: receives checkpoint.pt, log.txt and model/ (renewed at every checkpoint).
        minutes: length of the schedule; ignored when `steps` is given.
        resume: go on from `out/checkpoint.pt` when it exists.
        seed: of the weights and of every batch.
        steps: length of the schedule in steps, for runs that must be reproducible bit by bit.
        recipe: the numbers; the shipped model's by default.
        cache: where decoded pictures are kept (several GB); `out/cache` by default.
        save_every, save_every_steps: seconds (or steps) between checkpoints.
        say: receives each log line.

    Raises:
        DemoError: no pictures, minutes not positive, or a checkpoint of another seed.
    """
    if minutes <= 0 and steps is None:
        raise DemoError(f"Training needs a positive number of minutes, not {minutes}.")
    recipe = recipe or Recipe()
    out.mkdir(parents=True, exist_ok=True)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    log = logger(out / "log.txt", say)
    pictures = corpus.load_corpus(data, cache or out / "cache", recipe.drawn)
    log(f"{len(pictures.label)} pictures, {len(pictures.names)} names, {device.type}")
    splits = validation(data, recipe.model_cfg["vision_cfg"]["image_size"])
    model, optimizer, state = beginning(out, recipe, pictures.classes, seed, device, resume, log)
    conflict = torch.from_numpy(pictures.conflict[: pictures.classes, : pictures.classes])
    run_tower = compiled(recipe, log)
    imagenet = torch.from_numpy(pictures.imagenet).to(device)
    taught = teacher.soft_labels(
        pictures,
        recipe.model_cfg["vision_cfg"]["timm_model_name"],
        recipe.trunk_package,
        cache or out / "cache",
    )
    sampler = Sampler(pictures, recipe, seed, taught)
    clock = time.monotonic() - state.seconds
    saved_at, losses, shown_at, shown_step = state.seconds, [], state.seconds, state.step

    def progress_at(step: int) -> float:
        return step / steps if steps else (time.monotonic() - clock) / (60 * minutes)

    for progress, size, batch in batches(sampler, recipe, state, progress_at):
        with_text = state.step % recipe.text_every == 0
        parts = train_step(
            model, optimizer, batch, recipe, progress, run_tower, conflict, imagenet, with_text
        )
        losses += [parts] if with_text else []
        update_average(state, model, average_rate(recipe, state.step))
        state.seen |= batch.seen if with_text else set()
        state.step += 1
        state.seconds = time.monotonic() - clock
        if state.step % 20 == 0:
            speed = (state.step - shown_step) * recipe.batch / (state.seconds - shown_at)
            left = (state.seconds / max(progress, 1e-9) - state.seconds) / 60
            scale = model.logit_scale.exp().item()
            told = " + ".join(f"{part:.2f}" for part in torch.stack(losses).mean(0).tolist())
            log(
                f"step {state.step} {100 * progress:.1f} % {size} px loss {told} "
                f"scale {scale:.0f} {speed:.0f} images/s {left:.1f} min left"
            )
            losses, shown_at, shown_step = [], state.seconds, state.step
        due = save_every_steps and state.step % save_every_steps == 0
        if due or state.seconds - saved_at > save_every:
            log(keep(out, model, optimizer, state, recipe, splits))
            saved_at = state.seconds
    log(keep(out, model, optimizer, state, recipe, splits))
    return out / "model"


def batches(
    sampler: Sampler, recipe: Recipe, state: State, progress_at: Callable[[int], float]
) -> Iterator[tuple[float, int, Batch]]:
    """(progress, picture size, batch) until the end; the next batch is drawn while one is used."""

    def order(pool: ThreadPoolExecutor, step: int):
        progress = progress_at(step)
        size = picture_size(recipe, progress)
        return progress, size, pool.submit(sampler.draw, step, progress, size)

    with ThreadPoolExecutor(1) as pool:
        waiting = order(pool, state.step)
        while waiting[0] < 1:
            progress, size, future = waiting
            batch = future.result()
            waiting = order(pool, state.step + 1)
            yield progress, size, batch


def beginning(
    out: Path,
    recipe: Recipe,
    classes: int,
    seed: int,
    device: torch.device,
    resume: bool,
    log: Callable[[str], None],
) -> tuple[CLIP, torch.optim.Optimizer, State]:
    """Model, optimizer and state of a new or a resumed run."""
    model = build_model(recipe.model_cfg, seed, classes)
    model = model.to(device, memory_format=torch.channels_last).train()
    with torch.no_grad():
        model.logit_scale.fill_(math.log(recipe.first_scale))
    optimizer = torch.optim.AdamW(
        parameter_groups(model, recipe), betas=(0.9, 0.98), eps=1e-6, fused=True
    )
    if resume and (out / checkpoint.FILE).is_file():
        state = checkpoint.load(out, model, optimizer, seed)
        log(f"resumed at step {state.step}, {state.seconds / 60:.1f} minutes in")
        return model, optimizer, state
    log(trunk_weights.adopt(model.visual, recipe.trunk_package))
    return model, optimizer, State(seed=seed)


def compiled(recipe: Recipe, log: Callable[[str], None]) -> Tower:
    """The image tower, compiled when the recipe wants it and a C++ compiler is here (a third faster)."""
    if not recipe.compiled:
        return tower
    if shutil.which("g++") is None:
        log("no C++ compiler: training without compilation")
        return tower
    return torch.compile(tower, dynamic=False)


def validation(data: Path, size: int) -> dict[str, evaluate.Split]:
    """The validation splits that are present, DTD also among all 47 words, and drawn textures."""
    rows = {"Caltech101": corpus.caltech(data, "val"), "DTD": corpus.dtd(data, "val")}
    splits = {name: evaluate.load_split(found, size) for name, found in rows.items() if found}
    if "DTD" in splits:
        splits["DTD among 47"] = evaluate.load_split(rows["DTD"], size, tuple(DTD_NAMES))
    splits["drawn textures"] = evaluate.drawn_split("val", DRAWN_PER_CLASS, size)
    return splits


def keep(
    out: Path,
    model: CLIP,
    optimizer: torch.optim.Optimizer,
    state: State,
    recipe: Recipe,
    splits: dict[str, evaluate.Split],
) -> str:
    """Write the checkpoint and `out/model`, and report the averaged model's accuracies in a line."""
    checkpoint.save(out, model, optimizer, state)
    average = averaged(model, state)
    judged = {name: (evaluate.cosines(average, split), split) for name, split in splits.items()}
    if judged:
        scale = evaluate.calibrated_scale(list(judged.values()), recipe.last_scale)
        average.logit_scale.data.fill_(math.log(scale))
    export(average.state_dict(), recipe.model_cfg, sorted(state.seen), out / "model")
    told = " ".join(
        f"{name} {evaluate.accuracy(cosine, split):.1f} %"
        for name, (cosine, split) in judged.items()
    )
    return f"step {state.step} kept after {state.seconds / 60:.1f} min; zero-shot on val: {told}"


def logger(path: Path, say: Callable[[str], None]) -> Callable[[str], None]:
    """A function that writes a line with the time to a file and passes it on."""

    def log(line: str) -> None:
        stamped = f"{time.strftime('%H:%M:%S')} {line}"
        with path.open("a", encoding="utf-8") as handle:
            handle.write(stamped + "\n")
        say(stamped)

    return log
