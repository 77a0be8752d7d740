"""The model menu says of every model what there is to know, also of the one that the page was started with."""

from types import SimpleNamespace

from rita_demo.ui.header.model_menu import ModelMenu
from rita_demo.vlm.catalogue import BACKBONES


def test_the_note_below_the_menu_belongs_to_the_selected_model() -> None:
    known, own, plain = "RN50-quickgelu:openai", "ViT-B-32:mine.pt", "Runs with <plain> GELU"
    said = BACKBONES[known].note.replace("'", "&#x27;")
    for first, note, asked, shown in (
        (own, plain, own, "&lt;plain&gt;"),
        (own, plain, known, said),
        (own, "", own, ""),
    ):
        default = SimpleNamespace(info=SimpleNamespace(name=first, note=note))
        menu = SimpleNamespace(context=SimpleNamespace(models=SimpleNamespace(default=default)))
        html = ModelMenu._note(menu, asked)  # type: ignore[arg-type]
        assert (shown in html) if shown else html == ""
        assert ModelMenu._note(menu, None) == ""  # type: ignore[arg-type]
