"""The page's sentences about a run, and one sentence for every term."""

from dataclasses import dataclass
from html import escape

import numpy as np

from rita_demo.analysis.crop_field import view_labels
from rita_demo.attacks import get_attack
from rita_demo.attacks.adaptive import attacked_defence
from rita_demo.defences.registry import DEFENCES
from rita_demo.pipeline import run as run_module
from rita_demo.plots.labels import percent as percent  # the page writes shares like the figures
from rita_demo.records import ImageResult, Run, Verdict
from rita_demo.records.errors import SettingError

#: Term -> one sentence, shown when the term is pointed at, focused or touched.
TERMS: dict[str, str] = {
    "view": "One random crop of the picture, sometimes mirrored, at the model's input size.",
    "step back": "An attack on the whole picture moves that one view away from its own crops. With κ above 0 (experimental) "
    "RITA moves every view the other way, by κ times the third power of that distance.",
    "margin": "How far the answer is ahead of the second best. For CLIP and Ensemble in percentage "
    "points of probability, for RITA in cosine distance.",
    "probability": "The probability that a method gives to this class; those of all classes in the list "
    "add up to 100 %.",
    "transport cost": "What it costs to move the crops onto a class's sentences: the mean cosine "
    "distance (0 = same direction, 2 = opposite) along the cheapest plan.",
    "transport plan": "Which share of each crop is moved onto which sentence. 1 means no preference; "
    "above 1 a crop and a sentence fit better than chance.",
    "confident view": "A crop whose answer has an entropy below the limit γ: the model is sure.",
    "entropy": "How unsure an answer is, in nats: 0 means certain, log K means all K classes alike.",
    "pseudo-label": "The class a single crop would answer with.",
    "memory (cache)": "The crops of lowest entropy of earlier pictures, a few per class; a new picture is compared with them too.",
    "agreement": "How much the stored views of a class agree: the length of their mean, 1 when all are alike.",
    "budget": "The strength of the attack: no pixel value (0 to 255) moves by more than this. Only CW L2 "
    "has no such limit.",
    "loss": "What the attack maximises: in nats, the error on the right class (CLIP's, or RITA's when the "
    "attack goes through the defence) or, with a target, the logarithm of the target's probability; the "
    "attacks on the margin maximise the lead of the best wrong class, in logits.",
}

VISIBLE_CHANGE = 8  # of 255 levels; a larger change of many pixels is seen
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


def terms() -> dict[str, str]:
    """Every defence and every term of the page -> one sentence."""
    return {defence.title: defence.sentence for defence in DEFENCES.values()} | TERMS


def attacker_html(name: str) -> str:
    """HTML: what this attack does, knows and does not know; an error message for an unknown name."""
    try:
        row = get_attack(name)
    except SettingError as error:
        return f'<p class="bad small" role="alert">{escape(str(error))}</p>'
    limit = "" if row.bounded else " The strength above does not limit it."
    return f'<p class="quiet small">{escape(f"{row.sentence} {row.knowledge_sentence}{limit}")}</p>'


def outcome(clean: Verdict, attacked: Verdict, label: int | None, target: int | None = None) -> tuple[str, str, str]:
    """The outcome of the attack for one method: (word, css class, mark)."""
    word = run_module.outcome(clean, attacked, label, target)
    return word, *OUTCOME_MARKS[word]


def margin(verdict: Verdict) -> str:
    if "distance" in verdict.margin_unit:
        return f"ahead by {verdict.margin:.4f} cosine distance"
    return f"ahead by {100 * verdict.margin:.1f} points"


def signed(value: float) -> str:
    """A change in cosine distance, with a real minus sign."""
    return f"{value:+.4f}".replace("-", "−")


def format_seconds(value: float) -> str:
    """0.0312 -> "31 ms", 12.3 -> "12 s"."""
    if value < 1:
        return f"{1000 * value:.0f} ms"
    return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"


def term_html(word: str, shown: str | None = None) -> str:
    """HTML: a word with its explanation, shown when pointed at, focused or touched."""
    sentence = escape(terms()[word])
    return (
        f'<span class="term" tabindex="0" role="note" aria-label="{escape(word)}: {sentence}">'
        f'{escape(shown or word)}<span class="tip" aria-hidden="true">{sentence}</span></span>'
    )


def _name(run: Run, k: int) -> str:
    return run.class_prompts.names[k]


def votes(side: ImageResult, label: int) -> int:
    """How many views answer with the class, as the model sees them: before any step back."""
    return int(np.sum(view_labels(side) == label))


def _votes_after_step(side: ImageResult, label: int) -> str:
    """ " (57 after the step back)"; "" where there is no step."""
    if side.trace.label_before_step is None:
        return ""
    return f" ({int(np.sum(np.asarray(side.trace.confidence.label) == label))} after the step back)"


@dataclass(frozen=True)
class Headline:
    """A headline in three parts: what leads to the answer, the answer, and what follows it."""

    lead: str
    answer: str = ""
    tail: str = ""

    def __str__(self) -> str:
        return f"{self.lead} {self.answer}{self.tail}".strip()


def heading_clean(run: Run) -> Headline:
    said = run.clean.verdicts["clip"].label
    wrong = run.label_given and said != run.label
    tail = f". That is wrong: it is {_name(run, run.label)}." if wrong else "."
    return Headline("This is a photograph. The model says:", _name(run, said), tail)


def heading_attacked(run: Run) -> Headline:
    before, after = run.clean.verdicts["clip"], run.attacked.verdicts["clip"]
    said = _name(run, after.label)
    if run.attack is None:
        return Headline("It was not attacked here; it may have been attacked before.")
    seen = "This is the same photograph to you." if run.attack.linf <= VISIBLE_CHANGE else "The change can be seen."
    if before.label == after.label:
        return Headline(f"{seen} The model still says:", said, ".")
    sure = float(after.probability[after.label])
    tail = ", and it is sure." if sure >= 0.8 else "." if sure >= 0.5 else ", but it is not sure."
    return Headline(f"{seen} The model says:", said, tail)


def step_suffix(run: Run) -> str:
    """ ", step 3 of 7" if the attacked picture is that of an earlier step, else ""."""
    if run.step is None or run.attack is None:
        return ""
    return f", step {run.step} of {len(run.attack.frames) - 1}"


def heading_views(run: Run) -> str:
    n = len(run.attacked.encoded_views.features)
    truth, count = _name(run, run.label), votes(run.attacked, run.label)
    kind = "the picture" if run.attack is None else "the attacked picture" + step_suffix(run)
    still = "say" if run.attack is None else "still say"
    start = f"Here are {n} crops of {kind}."
    after = _votes_after_step(run.attacked, run.label)
    if 2 * count > n:
        return f"{start} Most of them ({count}) {still} {truth}{after}."
    if count and count == np.bincount(view_labels(run.attacked)).max():
        return f"{start} More of them {still} {truth} ({count}) than anything else{after}."
    if count:
        return f"{start} Only {count} of them {still} {truth}{after}."
    return f"{start} None of them says {truth}{after}."


def heading_costs(run: Run) -> str:
    winner = run.attacked.verdicts["rita"].label
    at = "" if run.step is None else f" of step {run.step}"
    start = f"Moving this cloud of crops{at} onto each class's prompts costs least for "
    if winner == run.label or not run.label_given:
        return f"{start}{_name(run, winner)}."
    if run.clean.verdicts["rita"].label != run.label:
        return f"{start}{_name(run, winner)}: that is wrong."
    return f"{start}{_name(run, winner)}: here the defence fails."


def heading_cache(run: Run) -> str:
    """5. What entered the cache, and whether the cache changed the answer."""
    if run.settings.protocol == "off":
        return "The memory is switched off: every picture is decided on its own."
    events = run.attacked.trace.cache_update.events
    if events:
        names = sorted({_name(run, e.label) for e in events})
        count = "One reliable view goes" if len(events) == 1 else f"{len(events)} reliable views go"
        start = f"{count} into a memory, under {' and '.join(names[:3])}, for the next picture."
    elif run.attacked.trace.cache_update.candidates:
        start = "Reliable views were found, but the memory already holds views of lower entropy."
    else:
        limit = run.attacked.trace.confidence.limit
        start = f"No view was reliable enough for the memory (entropy at most {limit:.2f} nats)."
    return f"{start} {cache_effect(run)}"


def cache_effect(run: Run) -> str:
    held = int(np.sum(run.cache_before.count))
    if held == 0:
        return "It was empty until now, so it did not change this answer."
    without = int(np.argmin(run.attacked.trace.prompt_transport.distance))
    used = run.attacked.verdicts["rita"].label
    if without == used:
        return f"The {view_count(held)} it held did not change this answer."
    helped = "helped" if used == run.label else "misled" if without == run.label else "changed"
    helped = helped if run.label_given else "changed the answer"
    return f"The {view_count(held)} it held {helped}: {_name(run, without)} became {_name(run, used)}."


def heading_knowing_attacker(run: Run) -> str:
    name = attacked_defence(run.settings)
    answer = run.attacked.verdicts.get(name)
    if run.settings.attack != "adaptive" or answer is None:
        return "What if the attacker knows the defence?"
    says = "still says" if answer.label == run.clean.verdicts[name].label else "now says"
    return f"The attacker knew {DEFENCES[name].title}: it {says} {_name(run, answer.label)}."


def summary(run: Run) -> tuple[str, str]:
    """The whole result in one sentence, and its css class: good, bad or dim."""
    clip, rita = run.attacked.verdicts["clip"].label, run.attacked.verdicts["rita"].label
    truth = _name(run, run.label)
    if run.attack is None:
        if clip == rita:
            return f"CLIP and RITA agree: {_name(run, rita)}.", "dim"
        return f"CLIP says {_name(run, clip)}. RITA says {_name(run, rita)}.", "dim"
    aim, first = run.attack.target, run.clean.verdicts["clip"].label
    fooled = first == run.label and (clip != run.label if aim is None else clip == aim)
    if not run.label_given:
        return _summary_without_truth(run)
    if fooled and rita == run.label:
        return f"CLIP was fooled. {_credit(run, truth)}", "good"
    if (missed := _missed_target(run)) and rita == run.label:
        return f"{missed} RITA says {truth}.", "good"
    if rita != run.label and run.clean.verdicts["rita"].label == run.label:
        return (f"The defence fails on this picture: RITA says {_name(run, rita)}, not {truth}.", "bad")
    if run.attack.already_wrong and clip != run.label:
        return f"CLIP was already wrong before the attack: it is {truth}.", "dim"
    if rita != run.label:
        return f"RITA was wrong before the attack and is wrong now: it is {truth}.", "bad"
    return f"The attack did not fool CLIP: it still says {_name(run, clip)}.", "dim"


def _credit(run: Run, truth: str) -> str:
    """RITA's right answer, and whether the plain average of the same crops gives it as well."""
    rita = "RITA, with the step back," if run.settings.step_back else "RITA"
    average = _name(run, run.attacked.verdicts["ensemble"].label)
    if average == truth:
        return f"{rita} says {truth}, and so does the plain average of its crops."
    return f"{rita} says {truth}; the plain average of its crops says {average}."


def _missed_target(run: Run) -> str:
    """A sentence if an attack with a target made CLIP wrong, but with another class; else ""."""
    aim = None if run.attack is None else run.attack.target
    first, clip = (side.verdicts["clip"].label for side in (run.clean, run.attacked))
    if aim is None or first != run.label or clip in (run.label, aim):
        return ""
    return f"CLIP now says {_name(run, clip)}, but the attack was to make it say {_name(run, aim)}."


def _summary_without_truth(run: Run) -> tuple[str, str]:
    """Without a true class no answer is right or wrong."""
    said = []
    for name in ("clip", "rita"):
        before, now = (_name(run, side.verdicts[name].label) for side in (run.clean, run.attacked))
        title = DEFENCES[name].title
        said.append(f"{title} still says {now}" if before == now else f"{title} said {before} and now says {now}")
    missed = _missed_target(run)
    return f"{missed + ' ' if missed else ''}{'; '.join(said)}. Choose the true class to see who is right.", "dim"


def step_back_text(run: Run) -> str:
    """Distance of the whole picture from the mean of its crops, and how far RITA moves every view because of it."""
    trace = run.attacked.trace
    if not trace.step_back_distance:
        return ""
    before = f" ({run.clean.trace.crop_offset:.2f} before the attack)" if run.attack else ""
    return (
        f" In feature space the whole picture is {trace.crop_offset:.2f} away from the mean of its crops{before}: "
        f"RITA moved every view by {trace.step_back_distance:.2f} in the other direction."
    )


def explanation(run: Run) -> str:
    """The numbers behind the answer: votes of the crops, costs of the two classes, and the step back."""
    return _difference(run) + step_back_text(run)


def _difference(run: Run) -> str:
    attacked, clean, n = run.attacked, run.clean, len(run.attacked.encoded_views.features)
    rita, clip = attacked.verdicts["rita"].label, attacked.verdicts["clip"].label
    rival = rita if rita != run.label else clip
    truth = _name(run, run.label)
    total = attacked.trace.total
    if rival == run.label:
        return f"{votes(attacked, run.label)} of {n} crops say {truth} on their own."
    if run.attack is None:
        return (
            f"{votes(attacked, run.label)} of {n} crops say {truth} on their own, "
            f"{votes(attacked, rival)} say {_name(run, rival)}."
        )
    wrong = _name(run, rival)
    fell = float(total[rival] - clean.trace.total[rival])
    rose = float(total[run.label] - clean.trace.total[run.label])
    gap = float(total[rival] - total[run.label])
    cheaper = truth if gap > 0 else wrong
    return (
        f"{votes(attacked, run.label)} of {n} crops say {truth}, {votes(attacked, rival)} say "
        f"{wrong} (clean: {votes(clean, run.label)} and {votes(clean, rival)}). The attack moved "
        f"the cost of {wrong} by {signed(fell)} and of {truth} by {signed(rose)}; "
        f"{cheaper} is cheaper by {abs(gap):.4f} in cosine distance."
    )


def right_definition(run: Run) -> str:
    truth = _name(run, run.label)
    if run.label_given:
        return f"Right means the true class, {truth}."
    if run.attack is None:
        return "No true class was given, so it is not known which answer is right."
    return f"No true class was given. The attack moves away from CLIP's own answer on the clean picture, {truth}."


def stage_times(run: Run) -> str:
    """Device and stage times on one line."""
    info = run.backbone
    parts = ", ".join(f"{name} {format_seconds(value)}" for name, value in run.seconds.items())
    return (
        f"{info.title}, {info.parameters / 1e6:.0f} M parameters, input {info.side} px, on "
        f"{info.device} in {info.precision}. Time: {parts}; total {format_seconds(sum(run.seconds.values()))}."
    )


def view_count(count: int) -> str:
    """1 -> "1 view", 3 -> "3 views"."""
    return "1 view" if count == 1 else f"{count} views"


def cache_contents(run: Run) -> str:
    counts = np.asarray(run.cache_after.count)
    held = [(int(counts[k]), _name(run, int(k))) for k in np.flatnonzero(counts)]
    if not held:
        return "The memory is empty."
    listed = ", ".join(f"{name} ({count})" for count, name in sorted(held, reverse=True)[:8])
    classes = "1 class" if len(held) == 1 else f"{len(held)} classes"
    return f"The memory now holds {view_count(int(counts.sum()))} of {classes}: {listed}."
