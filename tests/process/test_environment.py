"""Every environment variable has a default and is checked."""

from pathlib import Path

import pytest

from rita_demo.process import environment
from rita_demo.process.environment import VARIABLES, value
from rita_demo.records.errors import SettingError


def test_what_is_not_set_or_empty_has_its_default() -> None:
    for name, one in VARIABLES.items():
        assert value(name, {}) == value(name, {name: " "}) == one.default
    environment.check({})


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("RITA_PORT", "8000", 8000),
        ("RITA_DEBUG", "0", False),
        ("RITA_DEBUG", "True", True),
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
        ("RITA_DEBUG", "maybe", "1 .yes. or 0 .no.; got 'maybe'"),
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
