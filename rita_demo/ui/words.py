"""What the page says: plain words for results, and one sentence for every term."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np

from rita_demo import story as telling
from rita_demo.attacks import attack_row, knowledge
from rita_demo.errors import SettingError
from rita_demo.methods import METHODS
from rita_demo.plots.names import percent as percent  # how the page writes a share, too
from rita_demo.records import Side, Story, Verdict

#: term -> one sentence.  Shown when the term is pointed at, focused or touched.
TERMS: dict[str, str] = {method.title: method.sentence for method in METHODS.values()} | {
    "view": "One random crop of the picture, sometimes mirrored, at the model's input size.",
    "step back": "An attack on the whole picture moves that one view away from its own crops. RITA moves every view the "
    "other way, by κ times the third power of that distance.",
    "margin": "How far the answer is ahead of the second best. For CLIP and Ensemble in percentage "
    "points of probability, for RITA in cosine distance.",
    "probability": "The share of belief a method gives to this class, out of all classes in the list "
    "(they add up to 100 %).",
    "transport cost": "What it costs to move the crops onto a class's sentences: the mean cosine "
    "distance (0 = same direction, 2 = opposite) along the cheapest plan.",
    "transport plan": "Which share of each crop is moved onto which sentence. 1 means no preference; "
    "above 1 a crop and a sentence fit better than chance.",
    "confident view": "A crop whose answer has an entropy below the limit γ: the model is sure.",
    "entropy": "How unsure an answer is, in nats: 0 means certain, log K means all K classes alike.",
    "pseudo-label": "The class a single crop would answer with.",
    "memory (cache)": "The surest crops of earlier pictures, a few per class; a new picture is "
    "compared with them too.",
    "agreement": "How much the remembered views of a class agree: the length of their mean, 1 when all "
    "are alike.",
    "budget": "The strength of the attack: no pixel value (0 to 255) moves by more than this. Only CW L2 "
    "has no such limit.",
    "loss": "What the attacker drives up: in nats, the error on the right class (CLIP's, or RITA's when the "
    "attack goes through the defence) or, with a target, the logarithm of the target's probability; the "
    "attacks on the margin drive up the lead of the best wrong class, in logits.",
}

#: The story's word for an outcome -> css class and mark. The mark is the second cue beside the colour.
MARKS: dict[str, tuple[str, str]] = {
    "holds": ("good", "✓"),
    "fooled": ("bad", "✗"),
    "wrong now, but not the target": ("bad", "≠"),
    "was already wrong": ("dim", "–"),
    "was already wrong, now another": ("dim", "~"),
    "was already wrong, now the target": ("dim", "~"),
    "was wrong, now right": ("dim", "~"),
}


def attacker(name: str) -> str:
    """HTML: what the attacker of this name knows and does not; a name that is no attack says so."""
    try:
        row = attack_row(name)
    except SettingError as error:
        return f'<p class="bad small" role="alert">{escape(str(error))}</p>'
    limit = "" if row.bounded else " The strength above does not limit it."
    return f'<p class="quiet small">{escape(knowledge(row) + limit)}</p>'


def outcome(
    clean: Verdict, attacked: Verdict, label: int, target: int | None = None
) -> tuple[str, str, str]:
    """What the attack did to one method's answer: (word, css class, mark)."""
    word = telling.outcome(clean, attacked, label, target)
    return word, *MARKS[word]


def margin(verdict: Verdict) -> str:
    """How far the answer is ahead, with its unit."""
    if "distance" in verdict.margin_unit:
        return f"ahead by {verdict.margin:.4f} cosine distance"
    return f"ahead by {100 * verdict.margin:.1f} points"


def signed(value: float) -> str:
    """A change in cosine distance, with a real minus sign."""
    return f"{value:+.4f}".replace("-", "−")


def seconds(value: float) -> str:
    """0.0312 -> "31 ms", 12.3 -> "12 s"."""
    if value < 1:
        return f"{1000 * value:.0f} ms"
    return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"


def term(word: str, shown: str | None = None) -> str:
    """HTML: a word that explains itself when pointed at, focused or touched."""
    sentence = escape(TERMS[word])
    return (
        f'<span class="term" tabindex="0" role="note" aria-label="{escape(word)}: {sentence}">'
        f'{escape(shown or word)}<span class="tip" aria-hidden="true">{sentence}</span></span>'
    )


def _name(story: Story, k: int) -> str:
    return story.bank.names[k]


def votes(side: Side, label: int) -> int:
    """How many views answer with this class on their own."""
    return int(np.sum(np.asarray(side.trace.confidence.label) == label))


@dataclass(frozen=True)
class Says:
    """A headline in three parts: what leads to the answer, the answer, and what follows it."""

    lead: str
    answer: str = ""
    tail: str = ""

    def __str__(self) -> str:
        return f"{self.lead} {self.answer}{self.tail}".strip()


def heading_clean(story: Story) -> Says:
    """1. This is a photograph."""
    said = story.clean.verdicts["clip"].label
    wrong = story.label_given and said != story.label
    tail = f". That is wrong: it is {_name(story, story.label)}." if wrong else "."
    return Says("This is a photograph. The model says:", _name(story, said), tail)


def heading_attacked(story: Story) -> Says:
    """2. The same photograph, attacked."""
    before, after = story.clean.verdicts["clip"], story.attacked.verdicts["clip"]
    said = _name(story, after.label)
    if story.attack is None:
        return Says("It was not attacked here; it may have been attacked before.")
    if before.label == after.label:
        return Says("This is the same photograph to you. The model still says:", said, ".")
    sure = float(after.probability[after.label])
    tail = ", and it is sure." if sure >= 0.8 else "." if sure >= 0.5 else ", but it is not sure."
    return Says("This is the same photograph to you. The model says:", said, tail)


def at_step(story: Story) -> str:
    """ ", step 3 of 7" where the attacked side is that of an earlier step, else nothing."""
    if story.step is None or story.attack is None:
        return ""
    return f", step {story.step} of {len(story.attack.frames) - 1}"


def heading_views(story: Story) -> str:
    """3. The cloud of crops."""
    n = len(story.attacked.glance.features)
    truth, count = _name(story, story.label), votes(story.attacked, story.label)
    kind = "the picture" if story.attack is None else "the attacked picture" + at_step(story)
    still = "say" if story.attack is None else "still say"
    start = f"Here are {n} crops of {kind}."
    labels = np.asarray(story.attacked.trace.confidence.label)
    if 2 * count > n:
        return f"{start} Most of them ({count}) {still} {truth}."
    if count and count == np.bincount(labels).max():
        return f"{start} More of them {still} {truth} ({count}) than anything else."
    if count:
        return f"{start} Only {count} of them {still} {truth}."
    return f"{start} None of them says {truth}."


def heading_costs(story: Story) -> str:
    """4. The transport."""
    winner = story.attacked.verdicts["rita"].label
    at = "" if story.step is None else f" of step {story.step}"
    start = f"Moving this cloud of crops{at} onto each class's prompts costs least for "
    if winner == story.label or not story.label_given:
        return f"{start}{_name(story, winner)}."
    if story.clean.verdicts["rita"].label != story.label:
        return f"{start}{_name(story, winner)}: that is wrong."
    return f"{start}{_name(story, winner)}: here the defence fails."


def heading_memory(story: Story) -> str:
    """5. What is remembered, and whether the memory helped."""
    if story.settings.protocol == "off":
        return "The memory is switched off: every picture is judged on its own."
    events = story.attacked.trace.change.events
    if events:
        names = sorted({_name(story, e.label) for e in events})
        count = "One reliable view goes" if len(events) == 1 else f"{len(events)} reliable views go"
        start = f"{count} into a memory, under {' and '.join(names[:3])}, for the next picture."
    elif story.attacked.trace.change.offered:
        start = "Reliable views were found, but the memory already holds surer ones."
    else:
        limit = story.attacked.trace.confidence.limit
        start = f"No view was reliable enough for the memory (entropy at most {limit:.2f} nats)."
    return f"{start} {memory_effect(story)}"


def memory_effect(story: Story) -> str:
    """Whether the memory changed this picture's answer."""
    held = int(np.sum(story.cache_before.count))
    if held == 0:
        return "It was empty until now, so it did not change this answer."
    without = int(np.argmin(story.attacked.trace.prompt.distance))
    used = story.attacked.verdicts["rita"].label
    if without == used:
        return f"The {views(held)} it held did not change this answer."
    helped = "helped" if used == story.label else "misled" if without == story.label else "changed"
    helped = helped if story.label_given else "changed the answer"
    return (
        f"The {views(held)} it held {helped}: {_name(story, without)} became {_name(story, used)}."
    )


def heading_stronger(story: Story) -> str:
    """6. The next attacker."""
    return "And an attacker who knows all this? Stronger. Try."


def summary(story: Story) -> tuple[str, str]:
    """The whole result in one sentence, and its css class: good, bad or dim."""
    clip, rita = story.attacked.verdicts["clip"].label, story.attacked.verdicts["rita"].label
    truth = _name(story, story.label)
    if story.attack is None:
        if clip == rita:
            return f"CLIP and RITA agree: {_name(story, rita)}.", "dim"
        return f"CLIP says {_name(story, clip)}. RITA says {_name(story, rita)}.", "dim"
    aim, first = story.attack.target, story.clean.verdicts["clip"].label
    fooled = first == story.label and (clip != story.label if aim is None else clip == aim)
    if not story.label_given:
        return _summary_without_truth(story)
    if fooled and rita == story.label:
        return f"CLIP was fooled. RITA's answer is restored: {truth}.", "good"
    if (missed := _missed(story)) and rita == story.label:
        return f"{missed} RITA says {truth}.", "good"
    if rita != story.label and story.clean.verdicts["rita"].label == story.label:
        return (
            f"The defence fails on this picture: RITA says {_name(story, rita)}, not {truth}.",
            "bad",
        )
    if story.attack.already_wrong and clip != story.label:
        return f"CLIP was already wrong before the attack: it is {truth}.", "dim"
    if rita != story.label:
        return f"RITA was wrong before the attack and is wrong now: it is {truth}.", "bad"
    return f"The attack did not fool CLIP: it still says {_name(story, clip)}.", "dim"


def _missed(story: Story) -> str:
    """A sentence where an attack with a target made CLIP wrong, but with another class; else nothing."""
    aim = None if story.attack is None else story.attack.target
    first, clip = (side.verdicts["clip"].label for side in (story.clean, story.attacked))
    if aim is None or first != story.label or clip in (story.label, aim):
        return ""
    return f"CLIP now says {_name(story, clip)}, but the attack was to make it say {_name(story, aim)}."


def _summary_without_truth(story: Story) -> tuple[str, str]:
    """What the attack changed, where nobody said what the picture shows."""
    assert story.attack is not None
    first, clip = (side.verdicts["clip"].label for side in (story.clean, story.attacked))
    before, rita = (side.verdicts["rita"].label for side in (story.clean, story.attacked))
    if before != rita:
        return (
            f"The defence fails on this picture: RITA said {_name(story, before)} before the attack and "
            f"says {_name(story, rita)} now.",
            "bad",
        )
    if before != first:
        return (
            f"Already on the clean picture RITA says {_name(story, rita)} and CLIP {_name(story, first)}: "
            "choose the true class to see who is right.",
            "dim",
        )
    if missed := _missed(story):
        return f"{missed} RITA still says {_name(story, rita)}.", "good"
    if clip != first:
        return f"CLIP was fooled. RITA still says {_name(story, rita)}.", "good"
    return f"The attack did not fool CLIP: it still says {_name(story, clip)}.", "dim"


def stepped(story: Story) -> str:
    """How far the whole picture lies off its crops on both sides, and how far RITA moves every view for that."""
    trace = story.attacked.trace
    if not trace.stepped:
        return ""
    before = f" ({story.clean.trace.off_crops:.2f} before the attack)" if story.attack else ""
    return (
        f" In the model's space the whole picture lies {trace.off_crops:.2f} off the mean of its crops{before}: "
        f"RITA moved every view {trace.stepped:.2f} the other way."
    )


def why(story: Story) -> str:
    """What made the difference, in numbers: the step back, the crops' votes and the two classes' costs."""
    return _difference(story) + stepped(story)


def _difference(story: Story) -> str:
    attacked, clean, n = story.attacked, story.clean, len(story.attacked.glance.features)
    rita, clip = attacked.verdicts["rita"].label, attacked.verdicts["clip"].label
    rival = rita if rita != story.label else clip
    truth = _name(story, story.label)
    total = attacked.trace.total
    if rival == story.label:
        return f"{votes(attacked, story.label)} of {n} crops say {truth} on their own."
    if story.attack is None:
        return (
            f"{votes(attacked, story.label)} of {n} crops say {truth} on their own, "
            f"{votes(attacked, rival)} say {_name(story, rival)}."
        )
    wrong = _name(story, rival)
    fell = float(total[rival] - clean.trace.total[rival])
    rose = float(total[story.label] - clean.trace.total[story.label])
    gap = float(total[rival] - total[story.label])
    cheaper = truth if gap > 0 else wrong
    return (
        f"{votes(attacked, story.label)} of {n} crops say {truth}, {votes(attacked, rival)} say "
        f"{wrong} (clean: {votes(clean, story.label)} and {votes(clean, rival)}). The attack moved "
        f"the cost of {wrong} by {signed(fell)} and of {truth} by {signed(rose)}; "
        f"{cheaper} is cheaper by {abs(gap):.4f} in cosine distance."
    )


def right_means(story: Story) -> str:
    """What counts as right in the table."""
    truth = _name(story, story.label)
    if story.label_given:
        return f"Right means the true class, {truth}."
    if story.attack is None:
        return "No true class was given, so nobody can say here who is right."
    return f"No true class was given: right means CLIP's own answer on the clean picture, {truth}."


def stages(story: Story) -> str:
    """Device and stage times on one line."""
    info = story.backbone
    parts = ", ".join(f"{name} {seconds(value)}" for name, value in story.seconds.items())
    return (
        f"{info.title}, {info.parameters / 1e6:.0f} M parameters, input {info.side} px, on "
        f"{info.device} in {info.precision}. Time: {parts}; total {seconds(sum(story.seconds.values()))}."
    )


def views(count: int) -> str:
    """1 -> "1 view", 3 -> "3 views"."""
    return "1 view" if count == 1 else f"{count} views"


def memory_holds(story: Story) -> str:
    """What the memory holds now, in words."""
    counts = np.asarray(story.cache_after.count)
    held = [(int(counts[k]), _name(story, int(k))) for k in np.flatnonzero(counts)]
    if not held:
        return "The memory is empty."
    listed = ", ".join(f"{name} ({count})" for count, name in sorted(held, reverse=True)[:8])
    classes = "1 class" if len(held) == 1 else f"{len(held)} classes"
    return f"The memory now holds {views(int(counts.sum()))} of {classes}: {listed}."
