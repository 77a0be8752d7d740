"""The lecture (``?lecture``): what a presenter says and does on each slide, and how long it takes. docs/teaching.md has the
same, printed by ``python -m tools.story.lecture``."""

from dataclasses import dataclass
from itertools import accumulate

WORDS_PER_MINUTE = 100  # to a room
PAUSE = 25  # seconds of pauses on each slide


@dataclass(frozen=True)
class Note:
    """One slide. ``does``: (what is pressed or asked, seconds it takes); ``says``: the spoken words."""

    title: str
    does: tuple[tuple[str, int], ...]
    says: str

    @property
    def seconds(self) -> float:
        return PAUSE + 60 * len(self.says.split()) / WORDS_PER_MINUTE + sum(seconds for _, seconds in self.does)


HANDS, REVEAL = ("ask for hands", 30), ("reveal", 10)

#: Css class of a section -> its note, in the order of the slides.
LECTURE = {
    "hero": Note(
        "The photograph",
        (("drag the line", 15), ("press Play", 10)),
        "CLIP compares a picture with one sentence for each class, such as “a photo of a cup”, and answers with the sentence that "
        "fits best. Left of the line is the photograph, right of it the attacked one. Look for a difference. Every pixel changed by "
        "a few of 255 levels at most, and one sees nothing. The attacker has the weights of CLIP and computes the change in a few "
        "steps. I play these steps. Watch the answer, not the picture. Below CLIP stand two defences that ask it about many crops. "
        "When that helps, and when it does not, is what we look at now.",
    ),
    "attack": Note(
        "What does an attack do?",
        (HANDS, REVEAL),
        "This is the change, twenty times stronger. It looks like noise, but it is computed. For each pixel the gradient says "
        "whether brighter or darker raises CLIP's error, and the attack moves the pixel that way. One pixel does almost nothing, but "
        "thousands push in the same direction, and their pushes add up. Now take noise of the same size, with random signs. What does "
        "CLIP say? (Hands, then reveal.) As a rule random pushes cancel. So it is the direction that fools CLIP, not the size. The curve shows how few steps "
        "it takes.",
    ),
    "push": Note(
        "Why do crops help?",
        (HANDS, REVEAL, ("drag the crop", 20)),
        "Here is the same change, and a crop of the picture. The push is how far the right class falls against the wrong one. The whole "
        "picture feels all of it. Guess how much is left in a typical crop. (Hands, then reveal.) The reason is the grid. The attacker computed "
        "the pattern for the pixels of the whole picture. A crop shifts them, scales them and computes new ones, so the small pushes no "
        "longer line up. I drag the crop: look at the pattern that it gets, and at its bar. Some crops keep more of the push than "
        "others.",
    ),
    "adds": Note(
        "What does RITA add?",
        (("drag a crop up and down", 25), ("wait while the room reads the bars", 20)),
        "Here are three of the crops, and two sentences of each class. Area is weight: each crop gives a third, and each sentence receives a "
        "half. So one crop must be split. The plan does this as cheaply as it can, and the price of a class is the mean distance that it "
        "carries. The lower price is the answer. These places are made up, so that plan and plain mean disagree: both classes cost almost the "
        "same here. At their real places they agree, as on most pictures. Below you see what each part gives over many pictures, one added "
        "after the other, and the test behind each step. Nearly all of it comes from the crops. RITA also keeps its surest crops as a "
        "memory for later pictures. That could help, and it could also keep mistakes. So one measures before one praises.",
    ),
    "knows": Note(
        "An attacker who knows",
        (HANDS, REVEAL, ("press Attack RITA itself only if the room may wait for half a minute", 0)),
        "So far the attacker knew CLIP, but not the defence. Now they compute through the defence: crops, rule and all. Of a hundred "
        "pictures, how many does RITA keep? (Hands, then reveal.) The crops helped because the pattern was made for one grid. This pattern is made for many "
        "grids at once. The lower bar is another model, which was trained on attacked pictures. It keeps about half. Whenever you read that a model is robust, ask which attacker it was tested with.",
    ),
    "good": Note(
        "How good is it?",
        (("wait while the room reads the table", 30),),
        "One table at the end. Each column is one attacker, and only numbers of the same column may be compared. Point at a number for the "
        "interval. With two hundred pictures a difference of a few points can be chance. Take three things "
        "home. Many small changes that all push one way turn an answer. Crops help because the pattern was made for one grid. And a "
        "defence holds only against the attacker it was tested with. Now bring your own picture.",
    ),
}
#: What the slide itself can show.
NOTES = {section: note.says for section, note in LECTURE.items()}


def clock(seconds: float) -> str:
    """Minutes and seconds: 95 -> "1:35"."""
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02d}"


def told() -> dict[str, dict[str, str]]:
    """The same for the browser: what to do and to say, and when the slide ends if all of them are shown."""
    ends = accumulate(note.seconds for note in LECTURE.values())
    return {
        section: {"does": deeds(note), "says": note.says, "ends": clock(end)}
        for (section, note), end in zip(LECTURE.items(), ends, strict=True)
    }


def deeds(note: Note) -> str:
    """What is pressed or asked, as one sentence."""
    said = "; ".join(what for what, _ in note.does)
    return f"{said[0].upper()}{said[1:]}."
