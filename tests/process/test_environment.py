"""Every environment variable is read in one place, checked, and described in one table."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rita_demo.process import environment
from rita_demo.process.environment import VARIABLES, value
from rita_demo.records.errors import SettingError
from tests.live_server import ROOT, tracked_files


def test_every_mentioned_variable_is_in_the_table() -> None:
    files = [path for path in tracked_files() if path.suffix in {".py", ".md", ".yml", ""}]
    texts = [path.read_text(encoding="utf-8", errors="ignore") for path in files]
    mentioned = {name for text in texts for name in re.findall(r"\bRITA_[A-Z_]+\b", text)}
    assert mentioned == set(VARIABLES)


def test_the_code_reads_them_in_one_place() -> None:
    reads = re.compile(r"(\benviron\b|getenv)[^\n]{0,20}RITA_")
    assert reads.search('os.environ.get("RITA_PORT")')
    paths = [ROOT / "app.py", *(ROOT / "rita_demo").rglob("*.py"), *(ROOT / "tools").rglob("*.py")]
    assert {path.name for path in paths if reads.search(path.read_text(encoding="utf-8"))} <= {"environment.py"}


def test_the_table_of_the_docs_has_every_variable_with_its_default_and_gradios_own() -> None:
    text = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(RITA_\w+)` \| .+? \| (.+?) \| (.+) \|$", text, re.M)
    assert [name for name, *_ in rows] == list(VARIABLES)
    in_words = {"RITA_DEVICE": "the fastest", "RITA_BROWSER": "searched", "RITA_DEBUG": "`0`"}
    for name, default, meaning in rows:
        one = VARIABLES[name]
        assert default == in_words.get(name, f"`{one.default}`" if one.default else "none")
        assert re.findall(r"Where it is not set `(\w+)` counts", meaning) == [one.gradio] * bool(one.gradio)


def test_what_is_not_set_or_empty_has_its_default() -> None:
    for name, one in VARIABLES.items():
        assert value(name, {}) == value(name, {name: " "}) == one.default
    environment.check({})


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("RITA_PORT", "8000", 8000),
        ("RITA_PORT", "0000000000007860", 7860),
        ("RITA_DEBUG", "0", False),
        ("RITA_DEBUG", "True", True),
        ("RITA_GRACE", "0", 0),
        ("RITA_RUNS", "/srv/runs", Path("/srv/runs")),
        ("RITA_AUTH", "me:a:b", (("me", "a:b"),)),
        ("RITA_AUTH", "me:one, you:two", (("me", "one"), ("you", "two"))),
    ],
)
def test_a_good_value_is_read(name: str, text: str, read: object) -> None:
    assert value(name, {name: text}) == read


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("RITA_PORT", "0", "from 1 to 65535; got '0'"),
        ("RITA_PORT", "²", "from 1 to 65535"),
        ("RITA_PORT", "9" * 5000, "from 1 to 65535"),
        ("RITA_PORT", "00000078609999", "from 1 to 65535; got '00000078609999'"),
        ("RITA_PORT", "70000", "from 1 to 65535"),
        ("RITA_DEBUG", "maybe", "1 .yes. or 0 .no.; got 'maybe'"),
        ("RITA_GRACE", "-1", "from 0 to 600"),
        ("RITA_GRACE", "1.5", "from 0 to 600"),
    ],
)
def test_a_bad_value_gives_an_error_message(name: str, text: str, said: str) -> None:
    with pytest.raises(SettingError, match=f"{name} is .*{said}"):
        environment.check({name: text})


@pytest.mark.parametrize("text", ["hunter2", ":hunter2", "me:", "me:hunter2,", "me:hunter2,you", "me:hunter2,me:other"])
def test_bad_accounts_give_an_error_message_without_their_content(text: str) -> None:
    with pytest.raises(SettingError, match="RITA_AUTH") as caught:
        environment.check({"RITA_AUTH": text})
    assert "hunter2" not in str(caught.value)
    assert "look at part 2" in str(caught.value) or "user:password" in str(caught.value)


def test_gradios_own_variable_counts_where_ours_is_not_set() -> None:
    assert value("RITA_HOST", {"GRADIO_SERVER_NAME": "0.0.0.0", "RITA_HOST": " "}) == "0.0.0.0"
    assert value("RITA_HOST", {"GRADIO_SERVER_NAME": "0.0.0.0", "RITA_HOST": "::1"}) == "::1"
    assert value("RITA_PORT", {"GRADIO_SERVER_PORT": "7999"}) == 7999
    with pytest.raises(SettingError, match="GRADIO_SERVER_PORT is a number from 1 to 65535; got 'many'"):
        environment.check({"GRADIO_SERVER_PORT": "many"})


def test_an_option_of_app_py_is_refused_with_the_command_that_has_it() -> None:
    words = [sys.executable, ROOT / "app.py", "--port", "7861"]
    asked = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (asked.returncode, asked.stdout) == (1, "")
    assert asked.stderr == "app.py takes no arguments. With options: python -m rita_demo serve --help\n"
