"""The pictures that one measurement has right and another has not: two menus, a table, and what to do with them."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import gradio as gr
from markupsafe import Markup, escape

from rita_demo.data.pictures import open_picture
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation import page as evaluation_page
from rita_demo.evaluation.page import DataFolders, Measured, OnlyRight
from rita_demo.evaluation.pictures import PRESENT_SUFFIX, find_picture
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.process.templates import html
from rita_demo.records.errors import DataError, DemoError
from rita_demo.records.json_value import JsonValue
from rita_demo.records.measurement import MEMORY_TEXT
from rita_demo.ui.framework.context import AppContext
from rita_demo.ui.framework.panels import Parts, Updates
from rita_demo.ui.session.session import Compared, Session
from rita_demo.ui.session.stream_history import answering, stream_picture_request
from rita_demo.ui.widgets.blocks import build_fold, build_menu, table
from rita_demo.ui.widgets.data_uri import jpeg_uri
from rita_demo.ui.widgets.html_buttons import DownloadButtons, HtmlButtons

MAX_ROWS = 40
SIDE = 40  # pixels of a small picture
NOTHING = "<p class='empty'>Choose two runs on the same pictures.</p>"
OPENS = (
    "<p class='quiet small'>Press a picture: it is attacked again as in the first run, and opens in all rooms. One of a stream "
    "opens with the stream’s memory before it; yours stays in the menu of Memory.</p>"
)


def build(context: AppContext, folders: DataFolders) -> Parts:
    """The fold; its components by name."""
    lead = (
        "Any two measurements on this server that share pictures: two methods, memory and no memory, before and after a "
        "change."
    )
    parts: Parts = {}
    with build_fold("Which pictures does one run win?", lead, elem_id="fig-won"):
        with gr.Row(elem_classes="ask-row"):
            for name, label in (("first", "Right in"), ("second", "Wrong in")):
                parts[name] = build_menu([], label=label, elem_id=f"fig-{name}")
        with gr.Row(elem_classes="chosen-row"):
            button = DownloadButtons({"csv": "Pictures as CSV"}, visible=False, elem_id="fig-won-export")
            parts["won_table"] = context.panels.add(button, lambda session: gr.update(visible=is_there(session)))
        parts["won"] = context.panels.add(HtmlButtons(elem_id="fig-won-pictures"), won_html)
    return parts


def _found(session: Session) -> OnlyRight:
    if session.figures.compared is None:
        raise DataError("No two runs are compared.", "Choose two.")
    return session.figures.compared.found


def is_there(session: Session) -> bool:
    """Whether the table has pictures."""
    return session.figures.compared is not None and len(session.figures.compared.found.won) > 0


def pictures_table(session: Session) -> bytes:
    """The pictures of the table as CSV. Raises DataError: there are none."""
    return evaluation_page.won_csv(_found(session))


def open_menus(parts: Parts, folders: DataFolders, session: Session) -> Updates:
    """The measurements that are here now. The first time the last two of the stored examples are compared: RITA, and CLIP on
    the same pictures."""
    known = evaluation_page.known_measurements(folders)
    names, chosen = [one.name for one in known], session.figures.compared
    if chosen is None and known:
        with suppress(DataError):
            compare(session, folders, *_default(known))
            chosen = session.figures.compared
    values = (None, None) if chosen is None else (chosen.first, chosen.second)
    choices = menu_choices(known)
    return {
        parts[name]: gr.update(choices=choices, value=value if value in names else None)
        for name, value in zip(("first", "second"), values)
    }


def second_of(folders: DataFolders, first: JsonValue, second: JsonValue) -> str:
    """What the ``first`` measurement (untrusted) is compared with: the ``second`` if it is of the same dataset, else CLIP
    beside the first. Raises DataError: there is no such measurement."""
    known = _comparable(evaluation_page.known_measurements(folders), first)
    if not known:
        raise DataError("There is no such measurement here.", "Choose one from the list.")
    return str(second) if second in [one.name for one in known] else _beside(known, str(first))


def _comparable(known: Sequence[Measured], first: JsonValue) -> list[Measured]:
    """Those of the same dataset as the first."""
    datasets = {one.dataset.removesuffix(PRESENT_SUFFIX) for one in known if one.name == first}
    return [one for one in known if one.dataset.removesuffix(PRESENT_SUFFIX) in datasets]


def _beside(known: Sequence[Measured], first: str) -> str:
    """CLIP in the folder of the first measurement, else itself."""
    places = {one.place for one in known if one.name == first}
    alike = (one.name for one in known if one.place in places and one.title.startswith("CLIP ("))
    return next(alike, first)


def menu_choices(known: Sequence[Measured]) -> list[tuple[str, str]]:
    """(text, name) of measurements; no text stands twice: those that read alike end with a part of their name."""
    count = Counter(one.text for one in known)
    return [(one.text + f", {one.name[-6:]}" * (count[one.text] > 1), one.name) for one in known]


def _default(known: Sequence[Measured]) -> tuple[str, str]:
    """The last measurement of RITA with its memory kept, and CLIP on the same pictures."""
    kept = MEMORY_TEXT["stream"]
    names = (one.name for one in reversed(known) if one.title.startswith("RITA (") and kept in one.title)
    first = next(names, known[0].name)
    return first, _beside(known, first)


def compare(session: Session, folders: DataFolders, first: JsonValue, second: JsonValue) -> None:
    """Compare two measurements by their names, untrusted. Raises DataError: they are not here, or share no picture."""
    found = evaluation_page.compare_measured(folders, str(first), str(second))
    images = tuple(_image(folders, found, picture) for picture in found.won["picture"][:MAX_ROWS])
    session.figures = replace(session.figures, compared=Compared(str(first), str(second), found, images))


def _image(folders: DataFolders, found: OnlyRight, picture: str) -> str:
    """A small picture as data URI, "" where its file is not here."""
    try:
        return jpeg_uri(open_picture(find_picture(found.place, picture, folders.root)).pixels, SIDE)
    except DemoError:
        return ""


def won_html(session: Session) -> str:
    """HTML: how many pictures there are, and the first of them with both answers."""
    compared = session.figures.compared
    if compared is None:
        return NOTHING
    found, rows = compared.found, []
    for n, (one, image) in enumerate(zip(found.won.itertuples(), compared.images)):
        button = html("open_picture", n=n, name=one.picture, image=image)
        shares = one.right_first, one.right_second
        seeds = (f"<small>right in {share:.0%} of its seeds</small>" * (share not in (0, 1)) for share in shares)
        answers = (escape(name) + Markup(note) for name, note in zip((one.first, one.second), seeds))
        rows.append((button, one.picture, one.label, *answers, "the same" if one.same_attack else "others"))
    more = len(found.won) - len(rows)
    rest = f"<p class='quiet small'>And {more} more: the file has all.</p>" if more > 0 else ""
    columns = ("", "picture", "true class", *found.titles, "pixels of both")
    listed = table(columns, rows, "lassoed", "Pictures that one run alone has right") if rows else ""
    return f"<p class='says'>{escape(found.sentence)}</p>{OPENS * bool(rows)}{listed}{rest}"


def request_of(session: Session, engine: Engine, folders: DataFolders, n: int) -> RunRequest:
    """Picture ``n`` of the table as the first measurement had it: of a stream from the memory before it, else by itself.
    Raises DemoError: another model, or the picture is missing."""
    compared, found = session.figures.compared, _found(session)
    assert compared is not None
    name = str(found.won["picture"].iloc[n])
    header, row = evaluation_page.find_right(folders, compared.first, name)
    for stream in evaluation_page.known_streams(folders):
        pictures = (
            [one["picture"] for one in stream.rows()]
            if any(one.key == header.key for one in stream.cells.values())
            else []
        )
        if name in pictures:
            return stream_picture_request(session, engine, folders, stream, pictures.index(name) + 1)
    met = evaluation_page.open_row(engine, folders, header, row, name)
    return RunRequest(**vars(met), methods=answering([header.method]))
