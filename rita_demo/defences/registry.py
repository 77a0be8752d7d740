"""All defences by name. Every module of this folder with a ``DEFENCE`` is one; a user's own comes from
``FILE.py:NAME``. Loads no torch."""

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from rita_demo.defences import rita
from rita_demo.defences.contract import Adaptive, Defence, DefenceInput
from rita_demo.process.lazy import Tensor
from rita_demo.process.plugin_file import NOTEBOOK, PluginError, file_name, place, plugin_errors
from rita_demo.records import CacheState, DefenceFault, Verdict
from rita_demo.records.errors import SettingError, did_you_mean, refuse_gone
from rita_demo.settings import Settings
from rita_demo.settings.attack_name import EACH, attacked_defence
from rita_demo.settings.registry import Registry

_NAMES = "clip ensemble ensemble_area tpt ctpt mta rtpt clipure ttc csr dbd sstpt cola agc tda rita"
#: The order of tables and figures; other defences follow.
ORDER = (*_NAMES.split(), *(part.name for part in rita.ABLATIONS))
DEFAULT_METHODS = ("clip", "ensemble", "rita")  # always shown
MAX_SUM_ERROR = 1e-3  # of the probabilities of a user's own defence

DEFENCES: dict[str, Defence] = {}
_registry = Registry(Defence, DEFENCES, "adaptive.against", (EACH,))
add_plugin, remove, plugin_specs = _registry.add_plugin, _registry.remove, _registry.plugin_specs
add_object = _registry.add_object


def known_defence(settings: Settings) -> Defence:
    """The defence that the attack ``adaptive`` knows; one that states no gradient gets that of its answer."""
    defence = DEFENCES[attacked_defence(settings)]
    if defence.adaptive is not None:
        return defence
    sentence = "Autograd finds it in the defence's own answer."
    return replace(defence, adaptive=Adaptive("automatic", partial(_answer_logits, defence), sentence))


def _answer_logits(defence: Defence, inputs: DefenceInput) -> Tensor:
    """``log p`` (K,) of the defence's answer. Raises PluginError: the answer is wrong, the file fails, or the answer
    does not depend on the views in a way that autograd can follow."""
    with plugin_errors(defence.plugin):
        verdict = defence.answer(inputs)
    wrong = _wrong_with(verdict, len(inputs.template_features))
    if wrong is not None or verdict is None:
        raise PluginError(f"{place(defence.plugin, defence.answer)}: {wrong}")
    if inputs.views.requires_grad and not verdict.probability.requires_grad:
        raise PluginError(
            f"{defence.title} gives an attacker who knows it no gradient.",
            "Mark the step that has none with straight_through, give it an Adaptive (docs/extending.md), or query it: "
            "adaptive.search=square.",
        )
    return verdict.probability.clamp(min=1e-30).log()


def attacker_sentences(settings: Settings) -> tuple[str, ...]:
    """Sentences of the threat model about the defence that the attacker knows, if the attack knows one."""
    if settings.attack != "adaptive":
        return ()
    defence = known_defence(settings)
    assert defence.adaptive is not None  # known_defence sees to it
    search = getattr(settings, "adaptive.search")
    if search == "square":
        queries = getattr(settings, "adaptive.queries")
        return (f"The attacker knows {defence.title} and uses no gradient: {queries} queries by Square.",)
    kind = f"The attacker knows {defence.title}. Its gradient is {defence.adaptive.kind}. {defence.adaptive.sentence}".strip()
    return (kind, "The steps are those of APGD in pyautoattack.") if search == "apgd" else (kind,)


def plugin_sentences(names: Iterable[str], settings: Settings) -> tuple[str, ...]:
    """Sentences of the threat model about those of the defences that came from a user's own file."""
    plugins = [DEFENCES[name] for name in names if DEFENCES[name].plugin]
    attacked = attacked_defence(settings) if settings.attack == "adaptive" else None
    return tuple(
        f"{plugin.title} is a defence from {'the file ' * ((name := file_name(plugin.plugin)) != NOTEBOOK)}{name}"
        + ("." if plugin.name == attacked else "; the attacker does not know it.")
        for plugin in plugins
    )


def run_defence(name: str, inputs: DefenceInput) -> Verdict | DefenceFault | None:
    """The answer of a defence; None: it has none under these settings. A user's own defence gets copies, and any error
    of it becomes a :class:`DefenceFault`."""
    defence = DEFENCES[name]
    if not defence.plugin:
        return defence.run(inputs)
    tensors = ("views", "area_fraction", "template_features", "context")
    copies = {part: getattr(inputs, part).clone() for part in tensors}
    if inputs.each_description is not None:
        copies["each_description"] = inputs.each_description.clone()
    try:
        with plugin_errors(defence.plugin):
            verdict = defence.run(replace(inputs, **copies))
            wrong = _wrong_with(verdict, len(inputs.template_features), inputs.memory)
            if wrong is not None:
                raise PluginError(f"{place(defence.plugin, defence.answer)}: {wrong}")
            return verdict
    except PluginError as error:
        return DefenceFault(str(error), error.detail)
    except SettingError as error:
        return DefenceFault(f"{place(defence.plugin, defence.answer)}: {error}")


def default_methods() -> tuple[str, ...]:
    """Names of the defences that are always shown: three, and the user's own."""
    return (*DEFAULT_METHODS, *(defence.name for defence in DEFENCES.values() if defence.plugin))


def compared() -> tuple[str, ...]:
    """Names of all defences but RITA's ablations."""
    return tuple(defence.name for defence in DEFENCES.values() if not defence.ablation)


def usual() -> tuple[str, ...]:
    """Names of the defences that are asked where none are named."""
    return tuple(name for name in compared() if not DEFENCES[name].on_request)


def with_defaults(names: Iterable[str]) -> tuple[str, ...]:
    """``names`` and :func:`default_methods`, in the order of ``DEFENCES``. Raises SettingError: a name that is not a
    defence, with the list of those that are."""
    wanted = {*validated(names), *default_methods()}
    return tuple(name for name in DEFENCES if name in wanted)


def validated(names: Iterable[str]) -> tuple[str, ...]:
    """The names unchanged, or a :class:`SettingError` about the first that is not a defence."""
    methods = tuple(names)
    for name in methods:
        if not isinstance(name, str) or name not in DEFENCES:
            refuse_gone(name)
            raise SettingError(
                f"There is no method {str(name)[:40]!r}.",
                did_you_mean(name, DEFENCES, f"Methods: {', '.join(DEFENCES)}."),
            )
    return methods


def _wrong_with(verdict: object, classes: int, before: CacheState | None = None) -> str | None:
    """What is wrong with the answer of a user's own defence, or with the memory that it keeps (``before``: the one that it
    got); None: nothing."""
    if not isinstance(verdict, Verdict):
        return f"the answer is a {type(verdict).__name__}; expected a Verdict."
    shape = tuple(getattr(verdict.probability, "shape", ()))
    if shape != (classes,):
        return f"the probability has the shape {shape}; expected ({classes},), one number per class."
    numbers = verdict.probability.tolist()
    if not all(math.isfinite(p) and p >= 0 for p in numbers):
        return "a probability is not a number, infinite or negative."
    if abs(sum(numbers) - 1) > MAX_SUM_ERROR:
        return f"the probabilities sum to {sum(numbers):.4f}; expected 1."
    if not isinstance(verdict.label, int) or not 0 <= verdict.label < classes:
        return f"the label is {verdict.label!r}; expected a whole number from 0 to {classes - 1}."
    if not math.isfinite(verdict.margin):
        return "the margin is not a finite number."
    memory = verdict.memory[0] if isinstance(verdict.memory, tuple) and len(verdict.memory) == 2 else None
    if before is None or (isinstance(memory, CacheState) and memory.features.shape == before.features.shape):
        return None
    return "a defence with memory_shape answers with Verdict.memory: its memory after the picture, and a CacheUpdate."


_registry.discover(__name__, ORDER, rita.ABLATIONS)
