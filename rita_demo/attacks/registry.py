"""All attacks by name. Every module of this folder with an ``ATTACK`` is one; a user's own comes from ``FILE.py:NAME``."""

import importlib
import pkgutil
from dataclasses import replace
from pathlib import Path

from rita_demo import attacks as package
from rita_demo.attacks.contract import Attack
from rita_demo.process.guest_file import GuestError, load_guest, place
from rita_demo.records.errors import SettingError, did_you_mean
from rita_demo.settings import Settings, register, register_choices

NO_ATTACKS = {"contract", "loop", "registry"}
#: The order of menus and tables; others follow in the order of the alphabet.
ORDER = "none noise fgsm pgd cw_linf cw_l2 di patch typographic reverse autoattack eot defence adaptive".split()  # noqa: SIM905
ATTACKS: dict[str, Attack] = {}


def discover() -> None:
    """Register the attack of every module of this folder."""
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)} - NO_ATTACKS
    found = [importlib.import_module(f"rita_demo.attacks.{name}").ATTACK for name in sorted(modules)]
    found.sort(key=lambda attack: ORDER.index(attack.name) if attack.name in ORDER else len(ORDER))
    for attack in found:
        _add(attack)


def _add(attack: Attack) -> None:
    ATTACKS[attack.name] = attack
    register_choices("attack", tuple(ATTACKS))
    for setting in attack.settings:
        register(attack.name, setting)


def add_guest(spec: str) -> Attack:
    """Register the attack ``FILE.py:NAME`` of the command line; a second time it is returned as it is.

    Raises:
        GuestError: the file or the attack cannot be used, or its name is taken.
    """
    attack = replace(load_guest(spec, Attack), guest=spec)
    known = ATTACKS.get(attack.name)
    if known is not None and Path(known.guest).absolute() != Path(spec).absolute():
        raise GuestError(f"{place(spec)}: there is already an attack named {attack.name!r}.", "Choose another name.")
    if known is None:
        _add(attack)
    return ATTACKS[attack.name]


def guest_specs() -> tuple[str, ...]:
    """``FILE.py:NAME`` of every attack that came from a file."""
    return tuple(attack.guest for attack in ATTACKS.values() if attack.guest)


def get_attack(name: str) -> Attack:
    """The attack of that name, or a :class:`SettingError` that lists the valid ones."""
    if name not in ATTACKS:
        raise SettingError(
            f"The attack is one of {', '.join(ATTACKS)}; got {str(name)[:60]!r}.", did_you_mean(name, ATTACKS)
        )
    return ATTACKS[name]


def access_of(settings: Settings) -> str:
    """What the attack of these settings differentiates: "" the model, "crops" or "defence"."""
    return get_attack(settings.attack).access_with(settings)


discover()
