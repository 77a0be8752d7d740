"""Every setting once, and the presets."""

from rita_demo.settings.definitions import (
    DEFAULT_PROMPT_TEMPLATE,
    GROUPS,
    PAPER,
    PRESETS,
    RECOMMENDED,
    SETTINGS,
    Settings,
    get_setting,
    parse_assignment,
    preset,
    register,
    register_choices,
    unregister,
)

__all__ = [
    "DEFAULT_PROMPT_TEMPLATE",
    "GROUPS",
    "PAPER",
    "PRESETS",
    "RECOMMENDED",
    "SETTINGS",
    "Settings",
    "get_setting",
    "parse_assignment",
    "preset",
    "register",
    "register_choices",
    "unregister",
]
