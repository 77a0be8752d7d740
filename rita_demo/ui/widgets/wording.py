"""The page's sentences about a run, and one sentence for every term."""

from collections.abc import Sequence
from html import escape

from markupsafe import Markup

from rita_demo.attacks import get_attack
from rita_demo.defences.registry import DEFENCES
from rita_demo.figures.analysis.crop_field import view_labels
from rita_demo.figures.labels import percent as percent  # the page writes shares like the figures
from rita_demo.figures.labels import truncated
from rita_demo.pipeline.attack_steps import last_step
from rita_demo.process import templates
from rita_demo.records import ClassPrompts, Run, Verdict
from rita_demo.records.errors import SettingError
from rita_demo.settings import Settings

UNKNOWN_WORD = "(unknown word)"  # in place of a probability
#: HTML in front of what comes with this project, until the visitor's own takes its place.
STORED_MARK = "<b class='stored'>Stored example.</b> "
MAX_WORDS, MAX_WORD_LENGTH = 6, 24  # unknown words that are listed, and letters of each

#: Defences that the page calls otherwise than their papers.
PLAIN_TITLES = {"ensemble": "average of crops", "ensemble_area": "average, weighted", "clipure": "CLIPure"}
#: Term -> one sentence, shown when the term is pointed at, focused or touched. So has every defence.
TERMS: dict[str, str] = {
    "cosine distance": "1 minus the cosine of the angle between two directions: 0 where they are the same, 1 where they have "
    "nothing in common.",
    "margin": "How far the answer is ahead of the second best: in percentage points of probability; for RITA in cosine "
    "distance.",
    "probability": "The probability that a method gives to this class. All classes of the list add up to 100 %.",
    "transport cost": "What it costs to move the crops onto a class's sentences: the mean cosine distance (0 = same "
    "direction, 2 = opposite) along the cheapest plan.",
    "transport plan": "How much of each crop is moved onto each sentence, as a multiple of an even share: 1 means no "
    "preference, more than 1 that the two fit well.",
    "mass": "What a plan moves: all crops together have 1, shared out by their weights. RITA moves the cheapest part, ρ of "
    "it, and leaves the rest where it is.",
    "entropy": "How unsure an answer is, in nats: 0 means certain, log K means all K classes alike.",
    "pseudo-label": "The class that a single crop answers with.",
    "memory (cache)": "The crops of lowest entropy of earlier pictures, a few per class; a new picture is compared with "
    "them too.",
}

ASK = "Choose the true class"
EARLIER_MARK = "‡"  # behind a number that was measured with an attack that was replaced since
EARLIER_NOTE = (
    f" {EARLIER_MARK} Measured with an earlier form of the attack (starts judged on 16 crops, no target class): the share may be too "
    "high."
)
MIN_CHANGE = 5e-5  # a smaller change of a cosine distance rounds to nothing
#: Outcome -> css class and mark. The mark repeats what the colour says.
OUTCOME_MARKS: dict[str, tuple[str, str]] = {
    "holds": ("good", "✓"),
    "fooled": ("bad", "✗"),
    "wrong now, but not the target": ("bad", "≠"),
    "was already wrong": ("dim", "–"),
    "was already wrong, now another": ("dim", "~"),
    "was already wrong, now the target": ("dim", "~"),
    "was wrong, now right": ("dim", "~"),
    "unchanged": ("dim", "="),
    "changed": ("dim", "≠"),
    "changed to the target": ("dim", "≠"),
}


def title_of(name: str) -> str:
    """What the page calls a defence; the name of the papers is in its explanation."""
    return PLAIN_TITLES.get(name) or DEFENCES[name].title


def terms() -> dict[str, str]:
    """Every defence and every term of the page -> one sentence."""
    return TERMS | {defence.title: defence.sentence for defence in DEFENCES.values()}


def attacker_html(name: str) -> str:
    """HTML: what this attack does, knows and does not know; an error message for an unknown name."""
    try:
        row = get_attack(name)
    except SettingError as error:
        return f'<p class="bad small" role="alert">{escape(str(error))}</p>'
    return f'<p class="quiet small">{escape(f"{row.sentence} {row.knowledge_sentence}")}</p>'


def share(prompts: ClassPrompts, verdict: Verdict, digits: int = 0) -> str:
    """The probability of an answer in percent; none where the list has a word that the model was not trained with, which
    stands in its place beside that name."""
    if prompts.unknown[verdict.label]:
        return UNKNOWN_WORD
    return "" if prompts.unknown_names else percent(verdict.probability[verdict.label], digits)


def margin(verdict: Verdict, *, shares: bool = True) -> str:
    """How far an answer is ahead; without ``shares`` only in cosine distance, not in points of probability."""
    if "distance" in verdict.margin_unit:
        return f"ahead by {verdict.margin:.4f} cosine distance"
    return f"ahead by {100 * verdict.margin:.1f} points" if shares else ""


def unknown_words(unknown: Sequence[Sequence[str]]) -> str:
    """A sentence on the words that the model was not trained with, of every name; "" for none."""
    words = list(dict.fromkeys(f"“{truncated(word, MAX_WORD_LENGTH)}”" for of_name in unknown for word in of_name))
    if not words:
        return ""
    listed = ", ".join(words[:MAX_WORDS]) + (f" and {len(words) - MAX_WORDS} more" if len(words) > MAX_WORDS else "")
    word, a_name = ("word", "a name that has it") if len(words) == 1 else ("words", "names that have them")
    return f"This model was not trained with the {word} {listed}: it can only guess about {a_name}."


def signed(value: float) -> str:
    """A change in cosine distance, with a real minus sign."""
    return f"{value:+.4f}".replace("-", "−")


def format_seconds(value: float) -> str:
    """0.0312 -> "31 ms", 12.3 -> "12 s"."""
    if value < 1:
        return f"{1000 * value:.0f} ms"
    return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"


def view_count(count: int) -> str:
    """1 -> "1 view", 3 -> "3 views"."""
    return "1 view" if count == 1 else f"{count} views"


def empty_class(settings: Settings) -> str:
    """A sentence on what stands in place of a class of which the memory holds nothing, and how much it counts."""
    if settings.empty_class != "text_mean":
        return "Where it holds nothing of a class, it adds nothing to the price."
    weight = settings.cache_weight
    return (
        "Where it holds nothing of a class, the mean of the class’s sentences stands in its place and makes "
        f"{percent(weight / (1 + weight))} of the price ({weight:g} of {1 + weight:g})."
    )


def term_html(word: str, shown: str | None = None) -> Markup:
    """HTML: a word with its explanation, shown when pointed at, focused or touched."""
    return templates.html("term", word=word, sentence=terms()[word], shown=shown or word)


def step_suffix(run: Run) -> str:
    """ ", step 3 of 7" if the attacked picture is that of an earlier step, else ""."""
    return "" if run.step is None else f", step {run.step} of {last_step(run)}"


def explanation(run: Run) -> str:
    """The numbers behind the answer: votes of the crops or costs of the two classes, and the step back."""
    clean, attacked, truth, names = run.clean, run.attacked, run.label, run.class_prompts.names
    rita, clip, total = attacked.verdicts["rita"].label, attacked.verdicts["clip"].label, attacked.trace.total
    rival = rita if rita != truth else clip
    if rival == truth or run.attack is None:
        votes = view_labels(attacked).tolist()
        said = f"{votes.count(truth)} of {len(votes)} crops say {names[truth]} on their own"
        said += "." if rival == truth else f", {votes.count(rival)} say {names[rival]}."
    else:
        changes = {k: float(total[k] - clean.trace.total[k]) for k in (rival, truth)}
        moved = " and ".join(
            f"{names[k]} {abs(change):.4f} {'cheaper' if change < 0 else 'dearer'}" for k, change in changes.items()
        )
        gap = float(total[rival] - total[truth])
        said = f"The attack made {moved} for RITA (cosine distance). "
        cheaper, before = names[truth if gap > 0 else rival], float(clean.trace.total[rival] - clean.trace.total[truth])
        now = f"{cheaper} is still cheaper" if gap * before > 0 else f"Now {cheaper} is cheaper"
        said += f"{now}, by {abs(gap):.4f}."
    if attacked.trace.step_back_distance:
        before_it = f" ({clean.trace.crop_offset:.2f} before the attack)" if run.attack else ""
        said += (
            f" In feature space the whole picture is {attacked.trace.crop_offset:.2f} away from the mean of its crops"
            f"{before_it}: RITA moved every view by {attacked.trace.step_back_distance:.2f} in the other direction."
        )
    return said
