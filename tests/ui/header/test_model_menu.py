"""The model menu says of every model what there is to know, the one that the page was started with too."""

from types import SimpleNamespace

import pytest

from rita_demo.ui.header.model_menu import ModelMenu
from rita_demo.vlm.catalogue import BACKBONES


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("ViT-B-32:mine.pt", "Runs with &lt;plain&gt; GELU"),
        ("RN50-quickgelu:openai", BACKBONES["RN50-quickgelu:openai"].note.replace("'", "&#x27;")),
        ("silent", ""),
        (None, ""),
    ],
)
def test_the_note_below_the_menu_belongs_to_the_selected_model(asked: str | None, said: str) -> None:
    note = "" if asked == "silent" else "Runs with <plain> GELU"
    first = SimpleNamespace(name="silent" if asked == "silent" else "ViT-B-32:mine.pt", note=note)
    menu = SimpleNamespace(context=SimpleNamespace(models=SimpleNamespace(default=SimpleNamespace(info=first))))
    html = ModelMenu._note(menu, asked)
    assert (said in html) if said else html == ""
