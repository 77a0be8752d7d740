"""A setting of any group that some code reads changes the results: no cache, stored file or second reader misses it."""

from pathlib import Path

import pytest

from rita_demo.settings import in_groups
from tests.extending.page import ROOT, copy_package, output_with, picture

pytestmark = pytest.mark.nightly

#: Group -> file of the package, the code in it, and the same code when it reads the new setting.
READERS = {
    "attack": (
        "attacks/loop/run.py",
        "steps=row.step_count(settings),",
        "steps=row.step_count(settings) + int(settings.later_attack),",
    ),
    "views": ("vlm/views/boxes.py", "settings.view_scale\n", "settings.view_scale + settings.later_views\n"),
    "prompts": (
        "vlm/prompts.py",
        "    return context\n",
        "    context[1:] *= 1 + settings.later_prompts\n    return context\n",
    ),
    "cache": (
        "method/rita.py",
        "off else settings.cache_weight\n",
        "off else settings.cache_weight + settings.later_cache\n",
    ),
    "transport": (
        "method/sinkhorn.py",
        '"entropy_weight": settings.entropy_weight,',
        '"entropy_weight": settings.entropy_weight * (1 + settings.later_transport),',
    ),
    "tuning": ("method/tuning.py", "settings.tuning_rate, ", "settings.tuning_rate * (1 + settings.later_tuning), "),
}


def replace_once(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert text.count(old) >= 1, f"{file.name} no longer has {old!r}"
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.timeout(600)
def test_a_new_setting_of_every_group_changes_what_it_should(folder: Path) -> None:
    package = copy_package(folder)
    end = "    # --- own settings of single defences and attacks\n"
    for group, reader in READERS.items():
        assert in_groups(group)
        field = f'    later_{group}: float = _{group}(0.0, "Later", "What.", bounds=(0.0, 1.0))\n'
        replace_once(package / "settings" / "__init__.py", end, field + end)
        replace_once(package / reader[0], *reader[1:])
    for name in ("cup", "crab"):
        picture(folder, f"data/toys/{name}/1.png")
    script = (ROOT / "tests" / "extending" / "later_settings.py").read_text("utf-8")
    output_with(package / "settings" / "__init__.py", script)
