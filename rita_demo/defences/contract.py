"""What a defence is. Each file of this folder holds one, in the variable ``DEFENCE``. Loads no torch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal

from rita_demo.process.lazy import LazyModule, Tensor
from rita_demo.records import CacheState, Trace, Verdict
from rita_demo.records.errors import SettingError
from rita_demo.settings import Settings, shared_in_groups
from rita_demo.settings.declared import Declared, whole
from rita_demo.settings.registry import WithSettings
from rita_demo.settings.setting import Setting

if TYPE_CHECKING:
    from rita_demo import method
else:
    method = LazyModule("rita_demo.method")

TUNING_SENTENCE = (
    "The prompts are tuned for each draw of crops and held fixed in the gradient: the first step of AdamW is a sign, "
    "whose derivative is zero almost everywhere."
)
GROUPS_OF_RITA = frozenset({"attack", "views", "prompts", "tuning", "transport", "cache"})


def _no_decision(settings: Settings) -> Trace:
    raise TypeError("only a Defence with uses_decision=True may call decide")


def _no_pixels(_: int | Tensor) -> Tensor:
    raise TypeError("only a Defence with reads_pixels=True may ask for pixels")


@dataclass(frozen=True)
class DefenceInput:
    """One picture's encoded views and the classes, as tensors. N views, K classes, D dimensions.

    ``views`` (N, D) unit length, row 0 the whole picture; ``area_fraction`` (N,) the share of the picture's area that
    each view shows, in (0, 1]; ``template_features`` (K, D) plain CLIP's prompt of every class;
    ``description_features`` (K, D) the mean direction of each class's descriptions, None without any;
    ``each_description`` (K, S, D) the descriptions one by one, unit length, zeros where a class has fewer; ``context``
    (1, L, E) the token embeddings of "a photo of a"; ``encode_prompts`` turns contexts (1, L, E) into prompts (K, 1, D)
    and is differentiable; ``temperature`` = 1 / CLIP's logit scale. ``params``: the values of the defence's own
    settings. ``settings``: those that it declares; reading another raises. ``decide``: RITA's decision (numpy arrays) under the given settings, for a defence with ``uses_decision``.
    ``draw_views``: a number n -> the first n views (n, 3, S, S) in [0, 1], without AugMix; ``encode_images``: such
    pixels -> unit features (n, D), differentiable; both for a defence with ``reads_pixels``. ``seed``: of its own
    random draws; an attacker, who does not know it, has another one in every step. ``memory``: for a defence with
    ``memory_shape``, its own memory before this picture, on the CPU; None where the memory is off. ``prompts``,
    ``cache``: RITA's prompts and cache, only there for an attacker (:class:`Adaptive`)."""

    views: Tensor
    area_fraction: Tensor
    template_features: Tensor
    description_features: Tensor | None
    context: Tensor
    encode_prompts: Callable[[Tensor], Tensor]
    temperature: float
    settings: Settings
    params: Mapping[str, Any] = field(default_factory=dict)
    decide: Callable[[Settings], Trace] = _no_decision
    draw_views: Callable[[int], Tensor] = _no_pixels
    encode_images: Callable[[Tensor], Tensor] = _no_pixels
    seed: int = 0
    each_description: Tensor | None = None
    memory: CacheState | None = None
    prompts: "method.Prompts | None" = None
    cache: CacheState | None = None


@dataclass(frozen=True)
class Adaptive:
    """What an attacker who knows the defence differentiates.

    ``kind``: the gradient is exact, straight-through (a step without gradient is passed as if it did nothing), or
    identity (the whole defence is; Athalye et al. 2018, BPDA), or automatic (whatever autograd finds in the answer).
    ``logits``: an input whose ``views`` carry a gradient -> logits (K,), with the label of the defence's own answer.
    ``sentence``: what is differentiated and what is held fixed. ``second``: another surrogate, which every second
    restart climbs instead; the delivered picture is the one that is stronger against ``logits``."""

    kind: Literal["exact", "straight-through", "identity", "automatic"]
    logits: Callable[[DefenceInput], Tensor]
    sentence: str = ""
    second: Callable[[DefenceInput], Tensor] | None = None


@dataclass(frozen=True)
class Defence(WithSettings):
    """One defence: what people read about it, how it is drawn, and how it answers.

    ``sees``: "picture" (view 0 only), "views", or "prompts" (views, and it may tune the prompts).
    ``input_description``: the same in words, ``{n}`` the number of views. ``uses``: names of shared settings that the
    answer depends on beside those of the attack and the views. ``settings``: its own settings. ``reads_pixels``: it
    asks for pixels, and has no answer where only features are known. ``answer``: a :class:`DefenceInput` ->
    :class:`Verdict`, or None for no answer under these settings. ``adaptive``: None means that an attacker who knows
    the defence uses autograd on its answer. ``role``: its colour in the palette of ``figures/theme.py``; "" takes the
    next free colour. ``dash``, ``symbol``: Plotly's names of its line and its marker. ``paper_name``: its name in the
    paper's tables. ``attack_seconds``: about the processor time of the attack that knows it, with the embedded model
    (docs/performance.md): the Arena makes cheap attacks first.

    ``uses_decision``: the answer is read from RITA's decision. Then ``uses_cache``: it depends on the cache;
    ``cache_only``: it has no answer without one; ``setting_changes``: it is RITA with these settings changed.
    ``memory_shape``: for a defence that remembers pictures by itself (then ``uses_cache`` and "protocol" among ``uses``):
    K classes -> rows and slots of its memory, a :class:`CacheState`. Its answer carries the memory after the picture
    (``Verdict.memory``); what keeps RITA's memory keeps this one beside it, for each visitor and each stream.
    ``on_request``: it answers only where it is named.
    ``ignored_settings``: names in ``uses`` that do not matter under the given settings. ``plugin``: "FILE:NAME" of a
    defence that was loaded from a file, else ""; ``digest``: a hash of its code then."""

    name: str
    title: str
    sentence: str
    answer: Callable[[DefenceInput], Verdict | None]
    cites: str = ""
    url: str = ""
    sees: Literal["picture", "views", "prompts"] = "views"
    input_description: str = "{n} views"
    uses: tuple[str, ...] = ("hand_prompt",)
    settings: tuple[Setting, ...] = ()
    adaptive: Adaptive | None = None
    role: str = ""
    dash: str = "solid"
    symbol: str = "circle"
    paper_name: str = ""
    attack_seconds: float = 14
    reads_pixels: bool = False
    uses_decision: bool = False
    uses_cache: bool = False
    cache_only: bool = False
    memory_shape: Callable[[int], tuple[int, int]] | None = None
    on_request: bool = False
    setting_changes: Mapping[str, Any] = field(default_factory=dict)
    ignored_settings: Callable[[Settings], frozenset[str]] = lambda settings: frozenset()
    plugin: str = ""
    digest: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.answer):
            raise ValueError("answer of a defence is a function: DefenceInput -> Verdict")

    @property
    def full_title(self) -> str:
        """The title where nothing else says what it sees: for CLIP, that it is one view."""
        return f"{self.title} ({self.input_description})" if self.name == "clip" else self.title

    @property
    def baseline(self) -> bool:
        """Whether the defence is neither RITA nor a part of RITA."""
        return not self.uses_decision

    @property
    def ablation(self) -> bool:
        """Whether the defence is a part of RITA."""
        return self.uses_decision and self.name != "rita"

    @property
    def groups(self) -> frozenset[str]:
        """Groups of settings that the answer depends on."""
        if self.uses_decision:
            return GROUPS_OF_RITA
        return frozenset({"attack"} if self.sees == "picture" else {"attack", "views"})

    @property
    def setting_names(self) -> frozenset[str]:
        """Names of all settings outside :attr:`groups` that may matter."""
        return frozenset({*self.uses, *self.param_names.values()})

    def used_settings(self, settings: Settings) -> frozenset[str]:
        """Names of the settings outside :attr:`groups` that matter under ``settings``."""
        return self.setting_names - self.ignored_settings(settings)

    def declared_settings(self, settings: Settings) -> frozenset[str]:
        """Names of all settings that the answer to the same picture may depend on under ``settings``; it can read no other."""
        return self.used_settings(settings).union(shared_in_groups(*(self.groups - {"attack"})))

    def run(self, inputs: DefenceInput) -> Verdict | None:
        """The answer, from what the defence sees and with its own settings."""
        return self.answer(self._own_inputs(inputs))

    def attacked_logits(self, inputs: DefenceInput, second: bool = False) -> Tensor:
        """Logits (K,) for an attacker who knows it, from what it sees and with its own settings; or the ``second``."""
        assert self.adaptive is not None, "registry.known_defence gives every defence one"
        logits = self.adaptive.second if second and self.adaptive.second else self.adaptive.logits
        return logits(self._own_inputs(inputs))

    def _own_inputs(self, inputs: DefenceInput) -> DefenceInput:
        settings = inputs.settings.replace(**self.setting_changes)
        params, n = self.param_values(settings), 1 if self.sees == "picture" else len(inputs.views)
        views, area_fraction = inputs.views[:n], inputs.area_fraction[:n]
        declared: Any = Declared(settings, self.declared_settings(settings), f"the defence {self.name!r}", "uses")
        return replace(
            inputs,
            views=views,
            area_fraction=area_fraction,
            settings=declared,
            params=params,
            decide=lambda chosen: inputs.decide(whole(chosen)),
        )


def answer_of(logits: Callable[[DefenceInput], Tensor]) -> Callable[[DefenceInput], Verdict]:
    """The answer of a defence whose probability is the softmax of ``logits`` (K,)."""

    @wraps(logits)  # errors and hashes are about the file of ``logits``
    def answer(inputs: DefenceInput) -> Verdict:
        return verdict_of(logits(inputs).softmax(-1))

    return answer


def straight_through(before: Tensor, after: Tensor) -> Tensor:
    """``after``, with the gradient of ``before``: to an attacker, the step between them is the identity."""
    return before + (after - before).detach()


def verdict_of(probability: Tensor) -> Verdict:
    """A :class:`Verdict` from probabilities (K,): margin = best minus second best (0 when K = 1). Raises SettingError: they
    are something else."""
    shape = tuple(getattr(probability, "shape", ()))
    if not hasattr(probability, "topk") or len(shape) != 1 or not shape[0]:  # a user's own defence may answer anything
        raise SettingError(
            f"the answer is a {type(probability).__name__} of shape {shape}; expected a tensor (K,), one probability per class."
        )
    best = probability.detach().topk(min(2, len(probability)))
    margin = float(best.values[0] - best.values[1]) if len(probability) > 1 else 0.0
    return Verdict(int(best.indices[0]), probability, margin, "probability")
