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
from rita_demo.evaluation.page import DataFolders, Measured
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


def build(context: AppContext) -> Parts:
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
            parts["won_table"] = context.panels.add(button, lambda session: gr.update(visible=has_pictures(session)))
        parts["won"] = context.panels.add(HtmlButtons(elem_id="fig-won-pictures"), won_html)
    return parts


def has_pictures(session: Session) -> bool:
    """Whether the table has pictures."""
    return session.figures.compared is not None and len(session.figures.compared.found.won) > 0


def _compared(session: Session) -> Compared:
    if session.figures.compared is None:
        raise DataError("No two runs are compared.", "Choose two.")
    return session.figures.compared


def pictures_table(session: Session) -> bytes:
    """The pictures of the table as CSV. Raises DataError: there are none."""
    return evaluation_page.won_csv(_compared(session).found)


def open_menus(parts: Parts, folders: DataFolders, session: Session) -> Updates:
    """The measurements that are here now. The first time the last stored one of RITA with its memory kept is compared with
    CLIP on the same pictures."""
    known = evaluation_page.known_measurements(folders)
    names, kept = [one.name for one in known], MEMORY_TEXT["stream"]
    if session.figures.compared is None and known:
        titles = {one.name: one.title for one in reversed(known)}
        first = next((n for n, title in titles.items() if title.startswith("RITA (") and kept in title), known[0].name)
        with suppress(DataError):
            compare(session, folders, first, _clip_beside(known, first))
    chosen, choices = session.figures.compared, menu_choices(known)
    values = (None, None) if chosen is None else (chosen.first, chosen.second)
    return {
        parts[part]: gr.update(choices=choices, value=value if value in names else None)
        for part, value in zip(("first", "second"), values)
    }


def second_of(folders: DataFolders, first: JsonValue, second: JsonValue) -> str:
    """What the ``first`` measurement (untrusted) is compared with: the ``second`` if it is of the same dataset, else CLIP
    beside the first. Raises DataError: there is no such measurement."""
    known = evaluation_page.known_measurements(folders)
    datasets = {one.name: one.dataset.removesuffix(PRESENT_SUFFIX) for one in known}
    if not isinstance(first, str) or first not in datasets:
        raise DataError("There is no such measurement here.", "Choose one from the list.")
    alike = [one for one in known if datasets[one.name] == datasets[first]]
    return str(second) if second in [one.name for one in alike] else _clip_beside(alike, first)


def _clip_beside(known: Sequence[Measured], first: str) -> str:
    """CLIP in the folder of the first measurement, else itself."""
    places = {one.place for one in known if one.name == first}
    alike = (one.name for one in known if one.place in places and one.title.startswith("CLIP ("))
    return next(alike, first)


def menu_choices(known: Sequence[Measured]) -> list[tuple[str, str]]:
    """(text, name) of measurements; no text stands twice: those that read alike end with a part of their name."""
    count = Counter(one.text for one in known)
    return [(one.text + f", {one.name[-6:]}" * (count[one.text] > 1), one.name) for one in known]


def compare(session: Session, folders: DataFolders, first: JsonValue, second: JsonValue) -> None:
    """Compare two measurements by their names, untrusted. Raises DataError: they are not here, or share no picture."""
    found, images = evaluation_page.compare_measured(folders, str(first), str(second)), []
    for picture in found.won["picture"][:MAX_ROWS]:
        images.append("")  # where its file is not here
        with suppress(DemoError):
            images[-1] = jpeg_uri(open_picture(find_picture(found.place, picture, folders.root)).pixels, SIDE)
    session.figures = replace(session.figures, compared=Compared(str(first), str(second), found, tuple(images)))


def won_html(session: Session) -> str:
    """HTML: how many pictures there are, and the first of them with both answers."""
    compared = session.figures.compared
    if compared is None:
        return NOTHING
    found, rows = compared.found, []
    for n, (won, image) in enumerate(zip(found.won.itertuples(), compared.images)):
        button, answers = html("open_picture", n=n, name=won.picture, image=image), []
        for name, share in ((won.first, won.right_first), (won.second, won.right_second)):
            note = Markup("<small>right in {:.0%} of its seeds</small>").format(share) if share not in (0, 1) else ""
            answers.append(escape(name) + note)
        rows.append((button, won.picture, won.label, *answers, "the same" if won.same_attack else "others"))
    more = len(found.won) - len(rows)
    rest = f"<p class='quiet small'>And {more} more: the file has all.</p>" if more > 0 else ""
    columns = ("", "picture", "true class", *found.titles, "pixels of both")
    listed = table(columns, rows, "lassoed", "Pictures that one run alone has right") if rows else ""
    return f"<p class='says'>{escape(found.sentence)}</p>{OPENS * bool(rows)}{listed}{rest}"


def request_of(session: Session, engine: Engine, folders: DataFolders, n: int) -> RunRequest:
    """Picture ``n`` of the table as the first measurement had it: of a stream from the memory before it, else by itself.
    Raises DemoError: another model, or the picture is missing."""
    compared = _compared(session)
    name = str(compared.found.won["picture"].iloc[n])
    header, row = evaluation_page.find_right(folders, compared.first, name)
    for stream in evaluation_page.known_streams(folders):
        if any(cell.key == header.key for cell in stream.cells.values()):
            pictures = [measured["picture"] for measured in stream.rows()]
            if name in pictures:
                return stream_picture_request(session, engine, folders, stream, pictures.index(name) + 1)
    met = evaluation_page.open_row(engine, folders, header, row, name)
    return RunRequest(**vars(met), methods=answering([header.method]))
