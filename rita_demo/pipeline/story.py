"""What the Story asks the engine about a finished run: random noise of the same size, and changes that pictures go
through."""

import io
from collections.abc import Callable, Generator

import numpy as np
from PIL import Image

from rita_demo.data import record_file
from rita_demo.data.pictures import picture_of
from rita_demo.engine.protocol import Engine
from rita_demo.pipeline.run import RunProgress, defend
from rita_demo.process.assets import ASSETS, reading_asset
from rita_demo.records import CheckedAnswer, CheckedAnswers, Picture, PictureChange, Run, StoryChecks
from rita_demo.settings import SETTINGS

#: The checks of the worked example, written by ``python -m tools.story.samples``.
STORED = ASSETS / "measured" / "story.zip"
SCREEN = 1.25  # size on the screen, in pixels of the picture
DEFENCES = ("clip", "ensemble", "rita")


def jpeg(pixels: np.ndarray, quality: int) -> np.ndarray:
    """(H, W, 3) uint8 after JPEG with half the resolution in colour (4:2:0)."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=quality, subsampling=2)
    return np.array(Image.open(io.BytesIO(buffer.getvalue())).convert("RGB"))


def there_and_back(pixels: np.ndarray, factor: float) -> np.ndarray:
    """(H, W, 3) uint8 resized by ``factor``, rounded to 8 bit, and resized to its own size (bicubic, antialiased)."""
    image = Image.fromarray(pixels)
    there = image.resize([round(factor * side) for side in image.size], Image.Resampling.BICUBIC)
    return np.array(there.resize(image.size, Image.Resampling.BICUBIC))


#: name -> title, and the change of pixels (H, W, 3) uint8
CHANGES: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "jpeg_90": ("saved as JPEG, quality 90", lambda pixels: jpeg(pixels, 90)),
    "jpeg_75": ("saved as JPEG, quality 75", lambda pixels: jpeg(pixels, 75)),
    "half": ("made half as large and enlarged again", lambda pixels: there_and_back(pixels, 0.5)),
    "screenshot": ("a screenshot at 125 %, made small again", lambda pixels: there_and_back(pixels, SCREEN)),
}


def story_steps(engine: Engine, run: Run) -> Generator[RunProgress, None, StoryChecks]:
    """The checks of a run, on its clean and on its delivered picture, with its settings and the memory it was decided
    from; nothing enters the memory. Yields its progress before every answer. A run without an attack has checks of the
    clean picture alone."""
    delivered = None if run.attack is None else run.delivered or run.attacked
    size = 0 if run.attack is None else round(run.attack.linf)
    parts = (delivered is not None) + 1
    total, done = len(CHANGES) * parts + 1, 0

    def progress(sentence: str) -> RunProgress:
        nonlocal done
        done += 1
        return RunProgress(sentence, (done - 1) / total, run.class_prompts)

    noise = None
    if 0 < size <= SETTINGS["budget"].high:
        yield progress(f"Asking about random noise of {size}/255")
        signs = run.settings.replace(attack="noise", budget=size)
        noisy = engine.attack(run.clean.picture, run.class_prompts, signs, run.label)
        noise = _answers(engine, run, picture_of(noisy.pixels))
    changes = []
    for name, (title, change) in CHANGES.items():
        answers = []
        for side in (run.clean, delivered)[:parts]:
            assert side is not None
            yield progress(f"Asking again: {title}")
            answers.append(_answers(engine, run, picture_of(change(side.picture.pixels))))
        changes.append(PictureChange(name, title, answers[0], answers[1] if delivered else None))
    return StoryChecks(noise_size=size, noise=noise, changes=tuple(changes))


def stored() -> StoryChecks:
    """The checks of the worked example. Raises DataError: the file is missing or damaged."""
    with reading_asset("The stored checks of the example", "measured/story.zip"):
        return record_file.unpack(STORED.read_bytes())


def write(checks: StoryChecks) -> None:
    """Write the checks of the worked example as :func:`stored` reads them."""
    STORED.write_bytes(record_file.pack(checks))


def _answers(engine: Engine, run: Run, picture: Picture) -> CheckedAnswers:
    side, _ = defend(engine, picture, run.class_prompts, run.cache_before, run.settings, methods=DEFENCES)

    def answer(name: str) -> CheckedAnswer:
        verdict = side.verdicts[name]
        shares = (round(float(verdict.probability[k]), 6) for k in (verdict.label, run.label))
        return CheckedAnswer(int(verdict.label), *shares)

    return CheckedAnswers(*map(answer, DEFENCES))
