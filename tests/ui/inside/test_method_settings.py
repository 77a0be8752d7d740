"""The drawer of *Inside*: every setting that is none of the form's, and what may be sent from it."""

import re
from typing import Any

import pytest

from rita_demo.records.errors import SettingError
from rita_demo.settings import GROUPS, RECOMMENDED, in_groups
from rita_demo.ui.inside.method_settings import fields_html, with_edit
from rita_demo.ui.session.session import Session

OF_FORM = ("attack", "budget", "steps", "attack_seed")


def test_every_setting_that_is_none_of_the_form_s_has_one_field_at_its_value() -> None:
    session = Session()
    session.attack_defend.settings = {"views": 8, "views_augmix": True, "hand_prompt": 'a "{}" <b>'}
    html = fields_html(OF_FORM, session)
    assert re.findall(r"name='([^']+)'", html) == [n for group in GROUPS for n in in_groups(group) if n not in OF_FORM]
    assert re.search(r"name='views' value='8' step='1' min='1' max='256'", html)
    assert re.search(r"name='views_augmix' checked", html)
    assert "value='a &#34;{}&#34; &lt;b&gt;'" in html
    for name in ("cost", "order"):
        chosen = re.search(rf"<select name='{name}'>.*?</select>", html)
        assert chosen
        assert f"<option value='{getattr(RECOMMENDED, name)}' selected>" in chosen[0]


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({"name": "views", "value": "16"}, {"slots": 4, "views": 16}),
        ({"name": "views_augmix", "value": "true"}, {"slots": 4, "views_augmix": True}),
        ({"name": "slots", "value": "5"}, {"slots": 5}),
    ],
)
def test_an_edit_is_kept(sent: dict[str, Any], kept: dict[str, Any]) -> None:
    assert with_edit({"slots": 4}, sent) == kept


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"name": "views", "value": "0"}, "views is a whole number from 1 to 256; got '0'."),
        ({"name": "descriptions", "value": "/etc/passwd"}, "descriptions is one of"),
        ({"name": "no such", "value": "1"}, "There is no setting"),
        ({"name": ["views"], "value": {}}, "There is no setting"),
        ({}, "There is no setting"),
    ],
)
def test_an_edit_that_a_setting_cannot_have_is_refused_in_a_sentence(sent: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=re.escape(said)):
        with_edit({}, sent)
