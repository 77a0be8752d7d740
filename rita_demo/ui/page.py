"""The whole page: header, tabs, and what happens when somebody opens, reloads or leaves it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # before gradio is imported

import gradio as gr

from rita_demo.errors import DemoError
from rita_demo.measuring import Places
from rita_demo.plots import css_variables
from rita_demo.ui import notice, permalink
from rita_demo.ui.attack_defend import AttackDefend
from rita_demo.ui.board import Board, Updates
from rita_demo.ui.caption import draw_caption
from rita_demo.ui.desk import Desk, Engines
from rita_demo.ui.example import WorkedExample, show_example
from rita_demo.ui.figures import FiguresTab
from rita_demo.ui.house import MOST_PAGES, keep_house
from rita_demo.ui.inside import Inside
from rita_demo.ui.learn import draw_learn
from rita_demo.ui.memory import MemoryTab
from rita_demo.ui.models import ModelMenu
from rita_demo.ui.notice import Notice
from rita_demo.ui.pictures import waiting_pictures
from rita_demo.ui.prepared import Preparation
from rita_demo.ui.saving import Save, wire_save
from rita_demo.ui.sessions import Sessions
from rita_demo.ui.stream import StreamTab
from rita_demo.ui.theme import KEYBOARD, STYLE, theme
from rita_demo.ui.tour import Tour

LARGEST_UPLOAD = "40mb"
CACHE_AGE = 3_600  # seconds an uploaded file stays on disk


def build(
    engine: Any,
    *,
    load: Callable[[str], Any] | None = None,
    example: WorkedExample | None = None,
    sessions: Sessions | None = None,
    places: Places | None = None,
    prepare: bool = False,
) -> gr.Blocks:
    """The page around an engine.

    Args:
        engine: what :class:`rita_demo.engine.Engine` offers; tests bring a fake one.
        load: makes another engine from a model's name; None when there is only the first.
        example: what is there when the page opens, computed in the background from now on; by default the
            worked example.
        sessions: the visitors' store.
        places: where the server's owner keeps datasets and runs.
        prepare: attack the samples ahead, behind everybody's back; needs 400 MB.
    """
    example, places = example or WorkedExample(engine), places or Places()
    with gr.Blocks(
        title="RITA: see an attack, see the defence",
        fill_width=True,
        analytics_enabled=False,
        delete_cache=(CACHE_AGE, CACHE_AGE),
    ) as page:
        with gr.Row(elem_id="header"):
            gr.HTML("<h1>RITA <span>see an attack, see the defence</span></h1>", elem_id="title")
            corner = gr.Row(elem_id="corner")
        sessions = Sessions() if sessions is None else sessions
        desk = _desk(Engines(engine, load), sessions, example)
        with corner:
            menu = ModelMenu(desk)
            Tour(elem_id="tour")
            share = permalink.Share(elem_id="share")
            save = Save(elem_id="save-run")
            reset = gr.Button("Reset", size="sm", elem_id="reset")
        draw_caption(desk.board)
        desk.board.add(share, permalink.query, "class", "view", "step", "side", "strength")
        with gr.Tabs(elem_id="tabs", overflow_behavior="wrap") as tabs:
            with gr.Tab("Attack & defend", id="attack-defend") as first:
                tab = AttackDefend(desk)
            with gr.Tab("Inside RITA", id="inside") as second:
                inside = Inside(desk)
            with gr.Tab("Memory (cache)", id="memory") as third:
                memory = MemoryTab(desk, third)
            with gr.Tab("Stream", id="stream") as fourth:
                stream = StreamTab(desk, tab, inside, tabs, places)
            with gr.Tab("Figures of the paper", id="figures") as fifth:
                figures = FiguresTab(desk, places)
            with gr.Tab("Learn", id="learn-tab") as sixth:
                draw_learn(desk.board)
        tab.wire(first)
        inside.wire(tab.form.fields["budget"], second, [first, third, fourth, fifth, sixth])
        memory.wire([first, second, fourth, fifth, sixth])
        stream.wire(fourth)
        figures.wire(fifth, [first, second, third, fourth, sixth])
        menu.wire()
        wire_save(save, desk, notice.guarded(desk.notice))
        desk.handing.of(page)
        _wire_visits(page, desk, tab, reset)
        _quiet(page, desk.visitor)
    keep_house(page, sessions)
    example.start()
    if prepare:
        Preparation(engine, example, desk.turns).start()
    return page


def _quiet(page: gr.Blocks, nowhere: gr.State) -> None:
    """No event tells its outputs that it is under way, other than one that shows it.

    At every change of an event's state Gradio's page would hand that state to each component that was ever
    the output of any event, with a copy of its value: here 150 of them, 85 ms a touch.
    """
    for event in page.fns.values():
        if event.show_progress == "hidden":
            event.show_progress_on = [nowhere]


def _desk(engines: Engines, sessions: Sessions, example: WorkedExample) -> Desk:
    """The desk, and on the page the places for messages."""
    return Desk(
        engines=engines,
        sessions=sessions,
        example=example,
        board=Board(),
        notice=Notice(elem_id="notice"),
        status=gr.HTML(elem_id="status"),
        visitor=gr.State(""),
    )


def _wire_visits(page: gr.Blocks, desk: Desk, tab: AttackDefend, reset: gr.Button) -> None:
    quiet: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}

    def opened(request: gr.Request) -> Iterator[Updates]:
        desk.turns.touch()
        name = desk.sessions.open(request.session_hash, model=desk.engines.first.info.name)
        yield {desk.visitor: name}
        link, query = None, dict(request.query_params)
        try:
            link = permalink.read(query)
        except DemoError as error:
            yield {desk.notice: notice.sentence(error)}
        if link is None:
            yield from _fill(desk, tab, name)
        else:
            yield tab.take_link(name, query, link)

    def closed(request: gr.Request) -> None:
        desk.sessions.close_page(request.session_hash)

    form = tab.form
    outputs = desk.outputs(
        desk.visitor, *form.fields.values(), form.chosen, form.strip, form.differs,
        tab.link, tab.waiting.timer,
    )  # fmt: skip
    guard = notice.guarded(desk.notice, lambda: {desk.status: ""})
    page.load(guard(opened), None, outputs, concurrency_limit=None, **quiet)
    reset.click(
        None,
        None,
        None,
        js="() => window.location.assign(window.location.pathname)",
        api_visibility="private",
    )
    page.unload(closed)


def _fill(desk: Desk, tab: AttackDefend, name: str) -> Iterator[Updates]:
    """The worked example (or saved run), as soon as there is one; until then, how far it is."""
    example, status, waited = desk.example, desk.status, 0.0
    first = None if example.wait(0.25) else example.first_picture()
    if first is not None:
        yield {tab.result.pictures: waiting_pictures(first)}
    while not example.wait(0.25):
        waited += 0.25
        yield {status: notice.progress(example.sentence, example.fraction, waited)}
    session = desk.sessions.get(name)
    if example.ready is None:
        yield {status: notice.done(f"{example.sentence} Choose a picture to begin.")}
        return
    shown = example.ready
    show_example(session, shown)
    yield {
        status: notice.done(shown.said),
        **({desk.notice: notice.sentence(shown.warning)} if shown.warning else {}),
        **tab.show_told(shown.story, shown.sample),
        **desk.board.redraw(session, "story"),
    }
    complete = False
    while not complete:
        complete = example.wait(0.25, film=True)
        with session.lock:
            if not session.same_picture(shown.story):
                return
            kept = len(session.film), len(session.reels)
            for frame, cut in example.ready.film[kept[0] :] if session.filming else ():
                session.keep(frame, cut)
            for budget, reel in example.ready.reels[kept[1] :]:
                session.keep_strength(budget, reel)
            if complete:
                session.filming = 0
        if complete or kept != (len(session.film), len(session.reels)):
            yield desk.board.redraw(session, "film")


def launch_options() -> dict[str, Any]:
    """What ``page.launch`` needs besides host and port."""
    return {
        "theme": theme(),
        "css": css_variables() + STYLE.read_text(encoding="utf-8"),
        "head": f"<script type='module'>{KEYBOARD.read_text(encoding='utf-8')}</script>",
        "run_history": False,
        "footer_links": [],
        "max_file_size": LARGEST_UPLOAD,
        "share": False,
        "show_error": False,  # our own sentences are shown by the notice; others may name paths
        "enable_monitoring": False,
        "ssr_mode": False,
        "pwa": False,
        "state_session_capacity": MOST_PAGES,
    }
