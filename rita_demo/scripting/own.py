"""Defences and attacks as a script or a terminal gives them: names, records, ``FILE.py:NAME`` or plain functions, which
then are known by name until the program ends. It is the owner's own code, and it is run as such; nothing of a visitor of
the page ever comes here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rita_demo.attacks import registry as attack_registry
from rita_demo.attacks.adaptive import ATTACK as ADAPTIVE
from rita_demo.attacks.contract import Attack
from rita_demo.defences import registry as defence_registry
from rita_demo.defences.contract import Defence, DefenceInput, verdict_of
from rita_demo.process.lazy import Tensor
from rita_demo.process.plugin_file import PluginError, is_plugin
from rita_demo.records import Verdict
from rita_demo.records.errors import SettingError

#: A name, a defence, FILE.py:NAME, or a function: DefenceInput -> probabilities (K,) or a Verdict.
OwnDefence = Defence | str | Callable[[DefenceInput], "Verdict | Tensor"]
#: A name, an attack, FILE.py:NAME, or a function: pixels (B, 3, H, W), their gradient, step size -> the next pixels.
OwnAttack = Attack | str | Callable[..., Any]


def defence_names(given: OwnDefence | Iterable[OwnDefence] | None) -> list[str]:
    """The names of defences: of one, of text with commas, or of several. Own ones are known from now on; a name stays as
    it is, known or not. Raises PluginError: one cannot be used, or its name is that of another."""
    return [_name(value, Defence, defence_registry, defence_of) for value in _listed(given)]


def attack_names(given: OwnAttack | Iterable[OwnAttack] | None) -> list[str]:
    """The names of attacks that are given as :func:`defence_names` takes defences; ``adaptive:METHOD`` takes a method of
    ``FILE.py:NAME`` as well."""
    names = []
    for value in _listed(given):
        prefix, colon, method = value.partition(":") if isinstance(value, str) else ("", "", "")
        if prefix == ADAPTIVE.name and colon:
            names.append(f"{prefix}:{_name(method, Defence, defence_registry, defence_of)}")
        else:
            names.append(_name(value, Attack, attack_registry, attack_of))
    return names


def attack_name(given: OwnAttack) -> str:
    """The name of one attack, as :func:`attack_names` has it. Raises SettingError: there are several, or none."""
    names = attack_names(given)
    if len(names) != 1:
        raise SettingError(f"One attack is needed; got {', '.join(names) or 'none'}.", "evaluate takes several.")
    return names[0]


def _listed(values: Any) -> list[Any]:
    if values is None:
        return []
    if isinstance(values, str):
        return [word.strip() for word in values.split(",") if word.strip()]
    if isinstance(values, Defence | Attack) or callable(values) or not isinstance(values, Iterable):
        return [values]
    return [word for value in values for word in (_listed(value) if isinstance(value, str) else [value])]


def _name(value: Any, kind: type, registry: Any, record_of: Callable[[Any], Any]) -> str:
    if isinstance(value, str):
        return registry.add_plugin(value, record_of).name if is_plugin(value) else value
    if not isinstance(value, kind) and not callable(value):
        raise PluginError(
            f"A {kind.__name__} was expected; got {type(value).__name__}.",
            f"Give a name, a {kind.__name__}, FILE.py:NAME or a function.",
        )
    return registry.add_object(value if isinstance(value, kind) else record_of(value)).name


def _about(function: Callable[..., Any]) -> dict[str, Any]:
    """Name, title and sentence of a plain function, from its name and the first line of its docstring."""
    name = getattr(function, "__name__", "")
    if not name.isidentifier():
        raise PluginError("A function without a name cannot be a row.", "Write it with def, or give it a __name__.")
    line = (function.__doc__ or "").strip().partition("\n")[0]
    return {"name": name, "title": name.replace("_", " ").capitalize(), "sentence": line or f"The function {name}."}


def defence_of(function: Callable[[DefenceInput], Verdict | Tensor]) -> Defence:
    """The defence of a plain function. Raises PluginError: it has no name."""
    from functools import wraps

    @wraps(function)  # errors and hashes are about the function itself
    def answer(inputs: DefenceInput) -> Verdict:
        result = function(inputs)
        return result if isinstance(result, Verdict) else verdict_of(result)

    return Defence(answer=answer, **_about(function))


def attack_of(step: Callable[..., Any]) -> Attack:
    """The attack of a plain function, one step. Raises PluginError: it has no name."""
    return Attack(
        **_about(step),
        start="uniform",
        goal="margin",
        step=step,
        relative_step_size=0.25,
        iterative=True,
        loss_unit="logits",
    )
