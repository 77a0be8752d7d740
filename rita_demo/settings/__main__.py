"""``python -m rita_demo.settings``: the reference of all settings."""

from rita_demo.records.json_value import JsonValue
from rita_demo.settings import GROUPS, SETTINGS, in_groups
from rita_demo.settings.setting import Setting, format_limit

HEAD = """# Settings

`--set name=value` changes one on the command line; the page has a control for each. The presets are `recommended` (the defaults) and `paper`
(the closest literal reading of the paper). docs/method.md says why a default is what it is.
"""
KINDS = {"bool": "true, false", "file": "the path of a file", "sentence": "a sentence with {}", "word": "a short text"}

#: Settings whose choices are found elsewhere: with one more defence or attack the reference stays as it is.
NAMES = {"attack": "the name of an attack", "adaptive.against": "`each`, the name of a defence"}


def as_markdown() -> str:
    tables = [HEAD]
    for group, title in GROUPS.items():
        rows = [_row(SETTINGS[name]) for name in in_groups(group)]
        head = "| setting | symbol | values | default | paper | what it is |\n|---|---|---|---|---|---|"
        tables.append(f"## {title}\n\n{head}\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows))
    return "\n".join(tables)


def _row(setting: Setting) -> tuple[str, ...]:
    values = ", ".join([*(f"`{choice}`" for choice in setting.choices), *filter(None, [KINDS.get(setting.kind)])])
    values = NAMES.get(setting.name, values)
    if setting.kind in ("int", "float"):
        values = f"{format_limit(setting.low)} to {format_limit(setting.high)} {setting.unit}".strip()
    paper = "same" if setting.paper == setting.default else _value(setting.paper)
    sentence = f"{setting.label}. {setting.help}"
    return f"`{setting.name}`", setting.symbol, values, _value(setting.default), paper, sentence


def _value(value: JsonValue) -> str:
    return f"`{str(value).lower()}`" if isinstance(value, bool) else f"`{value}`"


if __name__ == "__main__":
    print(as_markdown(), end="")
