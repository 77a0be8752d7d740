"""Sentences of the Story, made of a run."""

import re

from rita_demo.attacks import ATTACKS, differentiated
from rita_demo.attacks.contract import KNOWS_MODEL
from rita_demo.data import vocabularies
from rita_demo.defences.registry import DEFENCES
from rita_demo.figures.labels import truncated
from rita_demo.pipeline.outcome import Outcome, outcome
from rita_demo.records import Run
from rita_demo.settings.models import EMBEDDED
from rita_demo.ui.widgets import wording

#: What the attacker differentiates -> what they know.
KNOWS = {"model": "CLIP, not the crops", "crops": "CLIP and that there are crops", "defence": "the defence"}
WRONG = {"ensemble": "the average", "rita": "RITA"}
AIMED = {"clip": "CLIP", "ensemble": "the average of the crops"}
#: Attack -> what it does, where that is something else than most do.
DOES = {
    "noise": "It changes every pixel a little, in no special direction.",
    "reverse": "It changes every pixel a little, and all the changes push towards {label}.",
    "patch": "It changes the pixels of one patch by any amount, and all the changes push one way.",
    "typographic": "It writes a wrong word on the picture.",
}
DOUBT = 1 / 3  # CLIP's probability below which no name fits well
Part = tuple[str, str]  # words and their css class
#: How a name begins that sounds like a vowel: not as "unicycle", "euphonium" and "one-way street" do.
VOWEL = re.compile(r"(?!eu|uni|one\b)[aeiou]|hour|heir")
SINGULAR = ("us", "ss", "is")  # ends of names that are no plurals


def claim(run: Run) -> list[Part]:
    """The sentence of the first screen: what the picture is, what the attack may do, what CLIP sees then, or the defence
    that the attacker knew."""
    outcomes, names = outcome(run), run.class_prompts.names
    # whose answer the attacker wanted to turn
    aimed_at = next((name for name, one in outcomes.items() if one.known), "clip")
    found, title = outcomes[aimed_at], AIMED.get(aimed_at, DEFENCES[aimed_at].title)
    before, after = names[found.before], names[found.now]
    first: list[Part] = [(f"{title[0].upper()}{title[1:]} says ", ""), (_name(before), ""), (".", "")]
    if run.label_given:
        lead = "This texture is " if _textures(run) else "This is "
        first = [(lead, ""), (_noun(run, names[run.label]), ""), (".", "")]
    if run.attack is None:
        return [*first, (" Nothing was changed yet.", "")]
    if found.before != run.label:  # wrong from the start
        first = [*first[:-1], (f". {title} says ", ""), (_name(before), "attack"), (" from the start.", "")]
    cause, kind = f" {_changed(run)} {title} ", "clean" if found.now == run.label else "attack"
    wrong = _wrong_before(outcomes, aimed_at)
    if found.now == found.before == run.label and ATTACKS[run.settings.attack].direction == "towards":
        sure = [float(side.verdicts[aimed_at].probability[run.label]) for side in (run.clean, run.attacked)]
        if sure[0] < sure[1]:
            return [*first, (f"{cause}is even surer of ", ""), (_noun(run, after), kind), (f".{wrong}", "")]
    if found.now == found.before:
        return [*first, (f"{cause}still says ", ""), (_name(after), kind), (f".{wrong}", "")]
    end = ", which the attacker chose." if found.reached else "."
    return [*first, (f"{cause}sees ", ""), (_noun(run, after), kind), (f"{end}{wrong}", "")]


def _wrong_before(outcomes: dict[str, Outcome], aimed_at: str) -> str:
    """Which defences of the first screen, beside the one that the sentence is about, are wrong without an attack."""
    wrong = [
        title for name, title in WRONG.items() if name != aimed_at and name in outcomes and outcomes[name].wrong_before
    ]
    if not wrong:
        return ""
    said = " and ".join(wrong)
    return f" {said[0].upper()}{said[1:]} {'are' if len(wrong) > 1 else 'is'} wrong even without an attack."


def threat(run: Run) -> str:
    """The threat model in one line, beside the answers."""
    if run.attack is None:
        return f"Not attacked.{_notes(run)}"
    steps = f", {run.threat_model.steps} steps" if run.threat_model.steps > 1 else ""
    return f"{ATTACKS[run.settings.attack].title}{steps}; the attacker knows {_knows(run)}. n = 1.{_notes(run)}"


def _knows(run: Run) -> str:
    attack = ATTACKS[run.settings.attack]
    if attack.knows[:1] == KNOWS_MODEL[:1]:
        return KNOWS[differentiated(run.settings)]
    return f"only {' and '.join(attack.knows)}" if attack.knows else "nothing of CLIP"


def does(run: Run) -> str:
    """What the attack changes, and which way."""
    attack = run.settings.attack
    said = DOES.get(attack, "It changes every pixel a little, and all the changes push one way.")
    computed = attack not in ("noise", "typographic", "reverse") and ATTACKS[attack].knows[:1] == KNOWS_MODEL[:1]
    return said.format(label=_label(run)) + " CLIP’s gradient says which way, pixel by pixel." * computed


def doubt(run: Run) -> str:
    """A word of warning where CLIP is sure of no name before the attack, else empty."""
    if run.clean.verdicts["clip"].probability.max() >= DOUBT:
        return ""
    return "None of the names fits this picture well: the answers are guesses. Choose other names."


def which(run: Run) -> str:
    """The question for the true class, where none is given; else empty."""
    if run.label_given:
        return ""
    return f"CLIP must choose one of {len(run.class_prompts.names)} names, even if none fits. Which answer is right?"


def knew(run: Run) -> str:
    """What the attacker who knew a defence did to it; of RITA also whether that is the rule (for the model whose share is
    measured)."""
    outcomes = outcome(run)
    aimed = next((name for name, found in outcomes.items() if found.known), None)
    if aimed is None:
        return "What if the attacker knows the defence?" if run.settings.attack == "adaptive" else ""
    title, found = DEFENCES[aimed].title, outcomes[aimed]
    now = f"{'still' if found.now == found.before else 'now'} says {run.class_prompts.names[found.now]}."
    kept = aimed == "rita" and found.word == "holds" and run.backbone.name == EMBEDDED
    wrong = " It was wrong before the attack." * found.wrong_before
    rule = " Few pictures are kept like this one: see the share below." * kept
    return f"The attacker knew {title}: {title} {now}{wrong}{rule}"


def _notes(run: Run) -> str:
    """Words that the model does not know, names that it cannot tell apart, defences without an answer."""
    prompts = run.class_prompts
    unknown = wording.unknown_words(prompts.unknown)
    guess = f"{unknown} No percentages are shown." if unknown else ""
    faults = [f"{DEFENCES[name].title}: No answer. {fault.sentence}." for name, fault in run.faults.items()]
    return "".join(f" {said}" for said in (guess, prompts.warning, *faults) if said)


def _changed(run: Run) -> str:
    kind, size = ATTACKS[run.settings.attack], f"at most {run.settings.budget} of 255"
    if not kind.bounded:
        return f"Attacked with {kind.title[0].lower()}{kind.title[1:]},"
    if run.settings.attack == "noise":
        return f"Add random noise of {size}, and"
    towards = f" towards {_label(run)}" if kind.direction == "towards" else ""
    return f"Change every pixel by {size}{towards}, and"


def _label(run: Run) -> str:
    return "the true class" if run.label_given else "CLIP’s own answer"


def _textures(run: Run) -> bool:
    return run.class_prompts.names == vocabularies.vocabulary("dtd").names


def _noun(run: Run, name: str) -> str:
    """A class name with its article: none before a name of its own, a plural, or the word for a texture."""
    if _textures(run) or not name[:1].islower() or (name.endswith("s") and not name.endswith(SINGULAR)):
        return _name(name)
    return f"{'an' if VOWEL.match(name) else 'a'} {_name(name)}"


def _name(name: str) -> str:
    return truncated(name, 30)
