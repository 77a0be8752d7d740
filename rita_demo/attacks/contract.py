"""What an attack is: the record :class:`Attack`. Each file of this folder that holds an ``ATTACK`` is one attack.

Nothing here imports torch: names, titles and threat models are read without it. A component of the gradient
loop is a name from :mod:`rita_demo.attacks.loop.components` or a function of the attack's own file."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from rita_demo.attacks.loop.components import COMPONENTS, Goal, Projection, Start, Step, StepWithState
from rita_demo.attacks.loop.request import AttackLoop, Logits, SampledLogits
from rita_demo.settings import Settings, shared_in_groups
from rita_demo.settings.declared import Declared
from rita_demo.settings.registry import WithSettings
from rita_demo.settings.setting import Setting

Differentiated = Literal["model", "crops", "defence"]
KNOWS_MODEL = ("the model and its weights", "the class names", "the prompt", "the strength")
DEFENCE_UNKNOWN = ("the crops of the defence", "the memory", "the view seed")
RAISES_ERROR = "raises CLIP's error most"  # what the gradient's direction does without a target
DEFAULT_PROMPT = "a photo of a …"  # the prompt in the victim's text, unless the settings name another
CLIP_VICTIM = f"frozen CLIP with one view and the prompt “{DEFAULT_PROMPT}”"
STRONGER_CAVEAT = "An attacker who knows the defence as well is stronger than this one."


@dataclass(frozen=True)
class Attack(WithSettings):
    """An attack: what a person reads about it, and what runs.

    Texts: ``title``, ``short_title`` (heading of a narrow column; default: the title), ``menu_note`` (what it does in six
    words, behind the title in a menu) and ``sentence`` (what it does). ``cites`` and ``url``: its source. ``victim``: the model that is attacked, "" for none. ``knows``,
    ``does_not_know``: the attacker's knowledge. ``caveat``: what a reader of its numbers must know.

    Components of the gradient loop (array shapes in :mod:`rita_demo.attacks.loop.components`):

    - ``start``: "clean", "uniform", "signs", or ``(pixels, radius, seeds) -> pixels``.
    - ``goal``: the number to raise. "cross_entropy", "margin", "dlr", or ``(logits, label, target) -> (B,)``.
    - ``step``: "sign", "momentum", "none", or ``(pixels, gradient, step_size) -> pixels``. With a fourth parameter
      ``state``, which is None at the first step, it returns ``(pixels, state)``; the next step gets that state.
    - ``project``: "linf", or ``(pixels, clean pixels, radius) -> pixels``.
    - ``relative_step_size``: the step size as a fraction of the radius.
    - ``uses_gradient``: False where the step ignores the gradient, which is then not computed.
    - ``transform``: ``logits -> sampled logits``; the attacker differentiates the model behind a random transform.
    - ``loop``: a whole loop instead of the gradient loop (see ``AttackLoop``).

    Properties: ``targetable``: it can aim at a class; ``stochastic``: another seed gives another result;
    ``bounded``: it has a budget; ``iterative``: it takes the number of steps in the setting ``steps_setting``
    (otherwise ``default_steps``). ``loss_unit``: of its goal. ``steps_note`` and ``progress``: words for its steps.
    ``seconds``: about its processor time with the embedded model: the Arena makes cheap attacks first.

    ``differentiates``: what the attacker does. "model": the model with one view; "crops": the model on fresh random
    crops; "defence": a defence as a whole. A function of the settings where they decide it.

    ``settings``: settings that only this attack has, in the group "attack". ``details``: settings -> further sentences
    of the threat model.
    ``plugin``: "FILE:NAME" of an attack that was loaded from a file, else ""; ``digest``: a hash of its code then."""

    name: str
    title: str
    sentence: str
    short_title: str = ""
    menu_note: str = ""
    cites: str = ""
    url: str = ""
    victim: str = CLIP_VICTIM
    knows: tuple[str, ...] = KNOWS_MODEL
    does_not_know: tuple[str, ...] = DEFENCE_UNKNOWN
    caveat: str = STRONGER_CAVEAT
    start: str | Start = "clean"
    goal: str | Goal = "cross_entropy"
    step: str | Step | StepWithState = "sign"
    project: str | Projection = "linf"
    relative_step_size: float = 1.0
    uses_gradient: bool = True
    transform: Callable[[Logits], SampledLogits] | None = None
    loop: AttackLoop | None = None
    targetable: bool = True
    stochastic: bool = True
    bounded: bool = True
    iterative: bool = False
    default_steps: int = 1
    steps_setting: str = "steps"
    loss_unit: str = "nats"
    steps_note: str = ""
    progress: str = "step {} of {}"
    seconds: float = 1
    differentiates: Differentiated | Callable[[Settings], Differentiated] = "model"
    settings: tuple[Setting, ...] = ()
    details: Callable[[Settings], tuple[str, ...]] | None = None
    plugin: str = ""
    digest: str = ""
    direction: str = "away from"  # the label, where there is no target

    def __post_init__(self) -> None:
        super().__post_init__()
        for kind, names in COMPONENTS.items():
            component = getattr(self, kind)
            if not callable(component) and component not in names:
                raise ValueError(f"{kind} is a function or one of {', '.join(names)}; got {component!r}")
        grouped = (replace(own, group="attack") if own.group == "baselines" else own for own in self.settings)
        object.__setattr__(self, "settings", tuple(grouped))

    @property
    def column_title(self) -> str:
        """The heading of a narrow column."""
        return self.short_title or self.title

    @property
    def menu_title(self) -> str:
        """What a menu offers."""
        return f"{self.title}: {self.menu_note}" if self.menu_note else self.title

    @property
    def setting_names(self) -> tuple[str, ...]:
        """The full names of its own settings."""
        return tuple(self.param_names.values())

    @property
    def queries_clip(self) -> bool:
        """Whether the result depends on the prompt that plain CLIP has."""
        return bool(self.victim) and self.differentiates != "defence"

    def differentiated(self, settings: Settings) -> Differentiated:
        """What the attacker differentiates with these settings."""
        return (
            self.differentiates(self._declared(settings, "model"))
            if callable(self.differentiates)
            else self.differentiates
        )

    def _declared(self, settings: Settings, through: Differentiated) -> Any:
        """The settings that it declares: those of all attacks, and its own; those of views where it draws some."""
        groups = ("attack",) if through == "model" else ("attack", "views")
        return Declared(
            settings, {*shared_in_groups(*groups), *self.setting_names}, f"the attack {self.name!r}", "settings"
        )

    def sentence_for(self, target: str | None) -> str:
        """The sentence of an attack towards the class ``target``; None: away from the label."""
        if target is None:
            return self.sentence
        aimed = self.sentence.replace(RAISES_ERROR, f"raises CLIP's probability of “{target}” most")
        return aimed if aimed != self.sentence else f"{aimed} Here it aims at “{target}”."

    def step_count(self, settings: Settings) -> int:
        """How many steps it takes with these settings (AutoAttack: each of its parts)."""
        return getattr(settings, self.steps_setting) if self.iterative else self.default_steps

    def threat_sentences(self, settings: Settings, goal: str, where: str, aim: str | None = None) -> tuple[str, ...]:
        """The threat model in words: the attack, its victim, its strength, and the attacker's knowledge.

        Args:
            settings: budget, steps and the rest of the attack; ``hand_prompt`` as a sentence where it is not "a photo
                of a".
            goal: "away from the true class" or "towards ...".
            where: the end of the sentence on strength, such as "on the model's square of 224 × 224 pixels".
            aim: the name of the class a targeted attack moves towards."""
        victim = self.victim
        if "{}" in settings.hand_prompt:
            victim = victim.replace(DEFAULT_PROMPT, settings.hand_prompt.replace("{}", "…").rstrip("."))
        return (
            f"{self.title}: {self.sentence_for(aim)}",
            f"Attacked: {victim}; {goal}." if victim else "Attacked: no model; this attack is the control.",
            f"Strength: {self._strength(settings)}, {where}.",
            self.knowledge_sentence,
            *(self.details(self._declared(settings, self.differentiated(settings))) if self.details else ()),
            self.caveat,
        )

    @property
    def knowledge_sentence(self) -> str:
        """What the attacker knows and does not know."""
        sentence = f"The attacker knows {_join(self.knows)}" if self.knows else "The attacker knows nothing"
        return f"{sentence}, but not {_join(self.does_not_know, 'or')}." if self.does_not_know else f"{sentence}."

    def _strength(self, settings: Settings) -> str:
        steps = self.step_count(settings)
        taken = f"in {steps} step{'s' * (steps != 1)}{self.steps_note}"
        if self.differentiated(settings) != "model":
            crops = settings.attack_views
            taken += f" with {crops} fresh view{'s' * (crops != 1)} each"
        if not self.bounded:
            return f"no limit, {taken}"
        cut = settings.adversarial_roundtrip == "truncate"
        more = " (cutting to 8 bit may add one more)" if cut else ""
        return f"no pixel value moves by more than {settings.budget}/255{more}, {taken}"


def _join(parts: tuple[str, ...], last: str = "and") -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {last} {parts[-1]}"
