"""All attacks by name. Every module of this folder with an ``ATTACK`` is one; a user's own comes from ``FILE.py:NAME``."""

from typing import Any, TypeVar

from rita_demo.attacks.contract import Attack, Differentiated
from rita_demo.records.errors import check_known, refuse_gone
from rita_demo.settings import Settings
from rita_demo.settings.registry import Registry

T = TypeVar("T", bound=Any)
#: The order of menus and tables; others follow in the order of the alphabet.
ORDER = "none noise fgsm pgd cw_linf cw_l2 di patch typographic reverse autoattack eot adaptive"
ATTACKS: dict[str, Attack] = {}


_registry = Registry(Attack, ATTACKS, "attack")
add_plugin, remove, plugin_specs = _registry.add_plugin, _registry.remove, _registry.plugin_specs
add_object = _registry.add_object


def get_attack(name: str) -> Attack:
    """The attack of that name, or a :class:`SettingError` that lists the valid ones."""
    if name not in ATTACKS:
        refuse_gone(name)
    check_known("attack", name, ATTACKS)
    return ATTACKS[name]


def differentiated(settings: Settings) -> Differentiated:
    """What the attack of these settings differentiates."""
    return get_attack(settings.attack).differentiated(settings)


_registry.discover(__name__, ORDER.split())
