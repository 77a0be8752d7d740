"""Sentences of the Story, made of a run."""

from rita_demo.attacks import ATTACKS, access_of
from rita_demo.data import vocabularies
from rita_demo.plots.labels import truncated
from rita_demo.records import Run

#: What the attacker differentiates -> what they know.
KNOWS = {"": "CLIP, not the crops", "crops": "CLIP and that there are crops", "defence": "the defence"}
Part = tuple[str, str]  # words and their css class


def claim(run: Run) -> list[Part]:
    """The sentence of the first screen: what the picture is, what the attack may do, what CLIP sees then."""
    before, after = (_says(run, side) for side in ("clean", "attacked"))
    if run.attack is None:
        return [*_subject(run, before), (" Nothing was changed yet.", "")]
    changed = _changed(run)
    first = _subject(run, before)
    if before != run.class_prompts.names[run.label]:  # wrong from the start
        first = [*first[:-1], (". CLIP says ", ""), (_name(before), "attack"), (" from the start.", "")]
    if after == before:
        return [
            *first,
            (f" {changed}, and CLIP still says ", ""),
            (_name(after), "clean" if after == _truth(run) else "attack"),
            (".", ""),
        ]
    aim = run.attack.target
    aimed = " that the attacker chose" if aim is not None and after == run.class_prompts.names[aim] else ""
    return [*first, (f" {changed}, and CLIP sees ", ""), (_noun(run, after), "attack"), (f"{aimed}.", "")]


def threat(run: Run) -> str:
    """The threat model in one line, beside the answers."""
    if run.attack is None:
        return "Not attacked."
    steps = f", {run.threat_model.steps} steps" if run.threat_model.steps > 1 else ""
    return f"{ATTACKS[run.settings.attack].title}{steps}; the attacker knows {KNOWS[access_of(run.settings)]}. n = 1."


def _changed(run: Run) -> str:
    kind = ATTACKS[run.settings.attack]
    if kind.bounded:
        size = f"by at most {run.settings.budget} of 255"
        return f"Add random noise {size}" if run.settings.attack == "noise" else f"Change every pixel {size}"
    return f"Attack it ({kind.title})"


def _subject(run: Run, before: str) -> list[Part]:
    """ "This is a motorbike." where the true class is given, else what CLIP says."""
    if run.label_given:
        lead, noun = (
            ("This texture is ", _name(_truth(run))) if _textures(run) else ("This is ", _noun(run, _truth(run)))
        )
        return [(lead, ""), (noun, ""), (".", "")]
    return [("CLIP says ", ""), (_name(before), ""), (".", "")]


def _textures(run: Run) -> bool:
    return run.class_prompts.names == vocabularies.vocabulary("dtd").names


def _noun(run: Run, name: str) -> str:
    """A class name with its article: none before a name of its own, a plural, or the word for a texture."""
    if _textures(run) or not name[:1].islower() or (name.endswith("s") and not name.endswith(("us", "ss"))):
        return _name(name)
    return f"{'an' if name[0] in 'aeiou' else 'a'} {_name(name)}"


def _name(name: str) -> str:
    return truncated(name, 30)


def _truth(run: Run) -> str:
    return run.class_prompts.names[run.label]


def _says(run: Run, side: str) -> str:
    return run.class_prompts.names[getattr(run, side).verdicts["clip"].label]
