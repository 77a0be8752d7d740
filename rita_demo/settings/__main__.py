"""``python -m rita_demo.settings > docs/settings.md``: the reference of all settings."""

from rita_demo.settings.document import as_markdown

print(as_markdown(), end="")
