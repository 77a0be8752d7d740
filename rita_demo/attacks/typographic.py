"""A typographic attack: the name of a wrong class, written on the picture (Goh et al. 2021)."""

from rita_demo.attacks.contract import DEFENCE_UNKNOWN, Attack
from rita_demo.attacks.loop.components import margin, quantise
from rita_demo.attacks.loop.gradient_loop import as_batch, loss_and_gradient, prepare
from rita_demo.attacks.loop.request import AttackRequest, AttackSteps, Logits
from rita_demo.process.lazy import Tensor, torch
from rita_demo.records.errors import SettingError
from rita_demo.settings.setting import Setting

WRONG_CLASS = "wrong_class"
WIDTH, HEIGHT = 0.9, 0.25  # of the picture, at most, for the label
BOTTOM = 0.06  # of the picture's height below the label
SMALLEST_FONT = 6  # px; smaller letters cannot be read


def typographic(logits: Logits, pixels: Tensor, request: AttackRequest) -> AttackSteps:
    """An ``AttackLoop`` with one step: black letters on a white label at the bottom. The word is the setting ``word``,
    or the name of the target, or that of the most probable wrong class. ``loss`` is the margin in logits. Raises
    SettingError: the word has a character that the font does not have, or does not fit."""

    def measure(at: Tensor) -> tuple[Tensor, Tensor]:
        answer, loss, _ = loss_and_gradient(logits, at, lambda a: margin(a, leave, reach), False)
        return answer, loss

    clean, answer, leave, reach = prepare(logits, pixels, request)
    wrong = answer.scatter(1, leave[:, None], -torch.inf).argmax(1) if reach is None else reach
    word = request.params["word"]
    words = [
        word if word != WRONG_CLASS else request.names[k] if request.names else f"class {k}" for k in wrong.tolist()
    ]
    written = [write_word(square, word) for square, word in zip(quantise(clean), words)]
    frames = [quantise(clean), torch.stack(written)]
    after, loss = measure(frames[1].float() / 255)
    yield 1, 1
    return as_batch(frames, [measure(clean)[1], loss], [answer, after], leave)


def write_word(levels: Tensor, word: str) -> Tensor:
    """A picture (3, H, W) uint8 with the word on a label. Raises SettingError: see :func:`typographic`."""
    from PIL import ImageDraw, ImageFont
    from torchvision.transforms.functional import pil_to_tensor, to_pil_image

    def load(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
        return ImageFont.load_default(size)

    missing = bytes(load(20).getmask("\uffff"))
    unknown = [letter for letter in word if not letter.isspace() and bytes(load(20).getmask(letter)) == missing]
    if unknown or not word.strip() or not word.isprintable():
        raise SettingError(
            f"The word {word[:40]!r} cannot be drawn: the font has no {unknown[0] if unknown else 'letters'!r}.",
            "Write it with Latin letters.",
        )
    _, height, width = levels.shape
    size = max(SMALLEST_FONT, round(HEIGHT * height * 0.7))
    while size > SMALLEST_FONT and load(size).getlength(word) > WIDTH * width * 0.94:
        size -= 1
    font = load(size)
    if font.getlength(word) > width:
        raise SettingError(
            f"The word {word[:40]!r} does not fit on {width} × {height} pixels.", "Choose a shorter one."
        )
    picture = to_pil_image(levels.cpu())
    draw = ImageDraw.Draw(picture)
    centre, middle = width / 2, height * (1 - BOTTOM) - size * 0.7
    left, top, right, bottom = draw.textbbox((centre, middle), word, font, anchor="mm")
    pad = size * 0.25
    draw.rectangle((left - pad, top - pad, right + pad, bottom + pad), fill="white")
    draw.text((centre, middle), word, fill="black", font=font, anchor="mm")
    return pil_to_tensor(picture).to(levels.device)


WORD_HELP = "What is written on the picture: a text, or the target (without one the most probable wrong class)."
ATTACK = Attack(
    name="typographic",
    title="A wrong word on the picture",
    short_title="wrong word",
    menu_note="the name of another class",
    sentence="The name of a wrong class is written on the picture; CLIP reads it.",
    cites="Goh et al. 2021",
    url="https://distill.pub/2021/multimodal-neurons",
    knows=("the class names",),
    does_not_know=("the model and its weights", *DEFENCE_UNKNOWN),
    caveat="Everybody sees the word. A model that was trained on few pictures with text cannot read it.",
    loop=typographic,
    uses_gradient=False,
    stochastic=False,
    bounded=False,
    loss_unit="logits",
    settings=(Setting("word", "word", WRONG_CLASS, "Written word", WORD_HELP, choices=(WRONG_CLASS,)),),
)
