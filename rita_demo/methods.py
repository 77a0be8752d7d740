"""Every method that answers beside RITA, and RITA's ablations, once: names, titles, what each depends on.

The names are the command line's. Formulas: method, section 4; code: ``rita_demo/baselines``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from rita_demo.errors import SettingError

_RITA = frozenset({"attack", "views", "prompts", "tuning", "transport", "cache"})
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Method:
    """One method.

    ``title`` for people; ``sentence`` what it does; ``about`` what it looks at, ``{n}`` the number of
    views; ``groups`` of settings, and single ``knobs``, that its answer depends on; ``remembers``: it
    has a memory, so that protocol, order of the stream and cache settings matter; ``ablation``: it is
    RITA with ``changes`` to the settings; ``memory_alone``: it answers by d_cOT only.
    """

    name: str
    title: str
    sentence: str
    about: str
    groups: frozenset[str]
    knobs: frozenset[str] = frozenset()
    remembers: bool = False
    ablation: bool = False
    changes: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    memory_alone: bool = False

    @property
    def full(self) -> str:
        """The title where nothing else says what it looks at: CLIP's one view is worth a word."""
        return f"{self.title} ({self.about})" if self.name == "clip" else self.title

    @property
    def baseline(self) -> bool:
        """Whether it is neither RITA nor a part of RITA."""
        return self.name != "rita" and not self.ablation


def _baseline(name: str, title: str, about: str, sentence: str, *knobs: str) -> Method:
    groups = {"attack"} if name == "clip" else {"attack", "views"}
    return Method(name, title, sentence, about, frozenset(groups), frozenset(knobs))


def _ablation(name: str, title: str, about: str, sentence: str, **more: Any) -> Method:
    return Method(name, title, sentence, about, _RITA, ablation=True, **more)


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        _baseline(
            "clip", "CLIP", "1 view",
            "A model that compares a picture with sentences; the class whose sentence fits best wins.",
            "hand_prompt",
        ),
        _baseline(
            "ensemble", "Ensemble", "{n} views",
            "The same CLIP asked about 64 random crops of the picture; the answers are averaged.",
            "ensemble_average", "ensemble_weight", "ensemble_step_back", "ensemble_text", "descriptions", "hand_prompt",
        ),
        _baseline(
            "tpt", "TPT", "1 view, tuned on the surest of {n}",
            "Test-time prompt tuning: one step that makes the mean answer of the surest tenth of the "
            "crops more certain, then CLIP with the tuned prompt.",
        ),
        _baseline(
            "ctpt", "C-TPT", "1 view, tuned on the surest of {n}",
            "TPT that also keeps the classes' prompts apart, so that it does not become too sure of itself.",
            "ctpt_weight",
        ),
        _baseline(
            "mta", "MTA", "{n} views",
            "No tuning: a mean of the crops that moves to where most of them agree, weighted by how well "
            "each fits in.",
            "hand_prompt",
        ),
        _baseline(
            "rtpt", "R-TPT", "{n} views, tuned on the surest",
            "Prompt tuning against attacks: one step that makes each of the surest crops more certain, then "
            "an average in which crops that resemble others count more.",
        ),
        Method(
            "rita", "RITA",
            "The defence shown here: it asks which class's sentences the whole cloud of crops can be "
            "moved onto at the lowest cost.",
            "{n} views, transport", _RITA, remembers=True,
        ),
        _ablation(
            "rita_prompts", "RITA, prompts only", "{n} views, without the memory",
            "A part of RITA: the transport cost to the class's sentences alone.",
            changes=MappingProxyType({"protocol": "off"}),
        ),
        _ablation(
            "rita_memory", "RITA, memory only", "{n} views, without the sentences’ cost",
            "A part of RITA: the transport cost to the remembered views alone.",
            remembers=True, memory_alone=True,
        ),
        _ablation(
            "rita_reset", "RITA, fresh memory", "{n} views, memory of this picture only",
            "RITA with a memory that is emptied before every picture.",
            remembers=True, changes=MappingProxyType({"protocol": "reset"}),
        ),
        _ablation(
            "rita_untuned", "RITA, untuned", "{n} views, no prompt update",
            "RITA without the prompt update: views, transport and memory only.",
            remembers=True, changes=MappingProxyType({"tuning_steps": 0}),
        ),
    )
}  # fmt: skip
ALWAYS = ("clip", "ensemble", "rita")  # what the page shows unless asked for more
NAMED = ("clip", "ensemble", "tpt", "ctpt", "mta", "rtpt", "rita")  # all without the ablations


def chosen(names: Iterable[str]) -> tuple[str, ...]:
    """``names`` and the three that are always there, in the order of ``METHODS``.

    Raises:
        SettingError: a name that is not a method, with the list of those that are.
    """
    wanted = {*checked(names), *ALWAYS}
    return tuple(name for name in METHODS if name in wanted)


def checked(names: Iterable[str]) -> tuple[str, ...]:
    """The names as they came, or a :class:`SettingError` about the first that is not a method."""
    found = tuple(names)
    for name in found:
        if not isinstance(name, str) or name not in METHODS:
            raise SettingError(
                f"There is no method {str(name)[:40]!r}.", f"Methods: {', '.join(METHODS)}."
            )
    return found
