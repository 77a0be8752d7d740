"""`train`, and the loop of both trainings: batches drawn ahead, running average, log and checkpoints."""

import copy
import math
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import torch
from open_clip import CLIP
from torch import Tensor

from rita_demo.records.errors import DemoError
from tools.train import evaluate, teacher
from tools.train.batches import Batch, Sampler
from tools.train.corpus import load_corpus, seen_words
from tools.train.model_config import build_model, export
from tools.train.recipe import Recipe, picture_size
from tools.train.steps import FILE, State, batch_losses, parameter_groups, resume_training, save_training, update

DRAWN_PER_CLASS = 5  # drawn textures of each class in the validation
SAVE_EVERY = 180.0  # seconds between checkpoints

Log = Callable[[str], None]
B = TypeVar("B")


@dataclass(frozen=True)
class Run:
    """The folder, length and log of a training; the arguments are those of :func:`train`. Raises DemoError: minutes not
    positive."""

    out: Path
    minutes: float
    steps: int | None
    save_every_steps: int | None
    print_line: Log

    def __post_init__(self) -> None:
        if self.minutes <= 0 and self.steps is None:
            raise DemoError(f"Training needs a positive number of minutes, not {self.minutes}.")
        self.out.mkdir(parents=True, exist_ok=True)

    def log(self, line: str) -> None:
        """Print a line with the time, and append it to log.txt."""
        stamped = f"{time.strftime('%H:%M:%S')} {line}"
        with (self.out / "log.txt").open("a", encoding="utf-8") as handle:
            handle.write(stamped + "\n")
        self.print_line(stamped)

    def first_state(self, model: CLIP, optimizer: torch.optim.Optimizer, seed: int, resume: bool) -> State:
        """The state of a new run, or that of the checkpoint."""
        if not resume or not (self.out / FILE).is_file():
            return State(seed=seed)
        state = resume_training(self.out, model, optimizer, seed)
        self.log(f"resumed at step {state.step}, {state.seconds / 60:.1f} minutes in")
        return state

    def loop(
        self,
        model: CLIP,
        optimizer: torch.optim.Optimizer,
        state: State,
        recipe: Recipe,
        draw: Callable[[int, float], B],
        losses_of: Callable[[B, float], Tensor],
        report: Callable[[CLIP], str],
    ) -> None:
        """Train to the end of the schedule. A thread draws the next batch during a step. ``draw``: (step, progress) -> its
        batch. ``losses_of``: (batch, progress) -> losses, weighted by the recipe. ``report``: called at every checkpoint
        with the averaged model; its sentence is logged."""
        clock = time.monotonic() - state.seconds
        saved_at, before, losses = state.seconds, (state.step, state.seconds), list[Tensor]()

        def progress_at(step: int) -> float:
            return step / self.steps if self.steps else (time.monotonic() - clock) / (60 * self.minutes)

        def save() -> None:
            save_training(self.out, model, optimizer, state)
            average = copy.deepcopy(model)
            average.load_state_dict(state.average, strict=False)
            self.log(f"step {state.step} saved after {state.seconds / 60:.1f} min; {report(average.eval())}")

        with ThreadPoolExecutor(1) as pool:
            progress = progress_at(state.step)
            waiting = pool.submit(draw, state.step, progress)
            while progress < 1:
                now, batch, progress = progress, waiting.result(), progress_at(state.step + 1)
                waiting = pool.submit(draw, state.step + 1, progress)
                found = losses_of(batch, now)
                update(model, optimizer, state, recipe, now, found)
                losses.append(found.detach())
                state.step += 1
                state.seconds = time.monotonic() - clock
                if state.step % 20 == 0:  # steps without texts have fewer losses
                    whole = [parts for parts in losses if len(parts) == max(map(len, losses))]
                    mean = torch.stack(whole).mean(0).tolist()
                    speed = (state.step - before[0]) * recipe.batch / (state.seconds - before[1])
                    left = (state.seconds / max(now, 1e-9) - state.seconds) / 60
                    self.log(
                        f"step {state.step} {100 * now:.1f} % {picture_size(recipe, now)} px "
                        f"loss {' + '.join(f'{part:.2f}' for part in mean)} "
                        f"scale {model.logit_scale.exp().item():.0f} {speed:.0f} images/s {left:.1f} min left"
                    )
                    before, losses = (state.step, state.seconds), []
                due = self.save_every_steps and state.step % self.save_every_steps == 0
                if due or state.seconds - saved_at > SAVE_EVERY:
                    save()
                    saved_at = state.seconds
        save()


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

    Raises DemoError: no pictures, minutes not positive, or a checkpoint of another seed."""
    recipe = recipe or Recipe()
    run = Run(out, minutes, steps, save_every_steps, print_line)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    pictures = load_corpus(data, out / "cache", recipe.drawn)
    run.log(f"{len(pictures.label)} pictures, {len(pictures.names)} names, {device.type}")
    vision = recipe.model_cfg["vision_cfg"]
    splits = evaluate.zero_shot_splits(data, "val", DRAWN_PER_CLASS, vision["image_size"])
    model = build_model(recipe.model_cfg, seed, pictures.classes)
    model = model.to(device, memory_format=torch.channels_last).train()
    model.logit_scale.data.fill_(math.log(recipe.first_scale))
    optimizer = torch.optim.AdamW(parameter_groups(model, recipe), betas=(0.9, 0.98), eps=1e-6, fused=True)
    state = run.first_state(model, optimizer, seed, resume)
    if not state.step:
        run.log(teacher.load_pretrained(model.visual, recipe.trunk_package))
    if recipe.compiled and shutil.which("g++") is None:
        run.log("no C++ compiler: training without compilation")
    elif recipe.compiled:
        model.visual.compile(dynamic=False)  # a third faster
    ambiguous = torch.from_numpy(pictures.ambiguous[: pictures.classes, : pictures.classes]).to(device)
    imagenet = torch.from_numpy(pictures.imagenet).to(device)
    answers = teacher.soft_labels(pictures, vision["timm_model_name"], recipe.trunk_package, out / "cache")

    def losses_of(batch: Batch, progress: float) -> Tensor:
        with_text = state.step % recipe.text_every == 0
        state.seen |= batch.seen if with_text else set()
        return batch_losses(model, batch, recipe, ambiguous, imagenet, with_text)

    def report(average: CLIP) -> str:
        """Write `out/model`; returns its accuracies."""
        scored = {name: (evaluate.cosines(average, split), split) for name, split in splits.items()}
        average.logit_scale.data.fill_(math.log(evaluate.calibrated_scale(list(scored.values()), recipe.last_scale)))
        words = seen_words((name for names in pictures.names[: pictures.classes] for name in names), state.seen)
        export(average.state_dict(), recipe.model_cfg, sorted(state.seen), words, out / "model")
        right = [f"{name} {evaluate.accuracy(cosine, split):.1f} %" for name, (cosine, split) in scored.items()]
        return "accuracy on val: " + " ".join(right)

    run.loop(model, optimizer, state, recipe, Sampler(pictures, recipe, seed, answers).draw, losses_of, report)
    return out / "model"
