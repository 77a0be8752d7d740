"""The whole page: header, rooms, and what happens when it is opened, reloaded or closed."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr

from rita_demo.engine.loading import LOADING, failure_of, loading_steps
from rita_demo.engine.protocol import Engine
from rita_demo.evaluation.page import DataFolders
from rita_demo.figures import css_variables
from rita_demo.process.environment import graphics_card_warning
from rita_demo.process.time_left import TimeLeft
from rita_demo.records.errors import DemoError
from rita_demo.ui.api import add_endpoints
from rita_demo.ui.arena.tab import ArenaTab
from rita_demo.ui.attack_defend.tab import AttackDefendTab
from rita_demo.ui.background.worked_example import WorkedExample
from rita_demo.ui.figures.tab import FiguresTab
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import IMMEDIATE_EVENT, AppContext, ModelPool, RunShown, Signal
from rita_demo.ui.framework.notice import ErrorBanner
from rita_demo.ui.framework.open_run import RunOpener
from rita_demo.ui.framework.panels import PanelRegistry, Updates
from rita_demo.ui.header.model_menu import ModelMenu
from rita_demo.ui.header.save_run import SaveButton, bind_save
from rita_demo.ui.inside.tab import InsideTab
from rita_demo.ui.memory.tab import MemoryTab
from rita_demo.ui.run_panels import build_caption
from rita_demo.ui.session import share_link
from rita_demo.ui.session.session import Session
from rita_demo.ui.session.store import Sessions
from rita_demo.ui.story.view import loading
from rita_demo.ui.theme import DROP, MENUS, OPENING, ORDER, PAGE_SCRIPT, STYLE, TOUCH, font_face, theme
from rita_demo.ui.widgets.plotly_view import FIGURE_HEAD

TITLE = """<h1>RITA</h1><nav aria-label="Levels"><button type="button" data-level="story" aria-current="page">Story</button>
<button type="button" data-level="lab">Lab</button></nav><p class="print-only">“Save this run” has page.html, which is made for paper, and the figures as files.</p>"""
MAX_UPLOAD_SIZE = "40mb"
MAX_PAGES = 256  # pages whose state is kept: open ones and those whose end was not noticed
UPLOAD_MAX_AGE = 3_600  # seconds an uploaded file stays on disk


def build(
    engine: Engine,
    *,
    load: Callable[[str], Engine] | None = None,
    example: WorkedExample | None = None,
    sessions: Sessions | None = None,
    folders: DataFolders | None = None,
) -> gr.Blocks:
    """The page around an engine.

    Args:
        engine: an :class:`rita_demo.engine.protocol.Engine`; tests use that of a toy model.
        load: makes another engine from a model's name; None: there is only one model.
        example: shown when the page opens, and computed in the background; by default the worked example.
        sessions: the store of all visitors' sessions.
        folders: datasets and runs on the server.
    """
    example, folders = example or WorkedExample(engine), folders or DataFolders()
    sessions = Sessions() if sessions is None else sessions
    options: dict[str, Any] = {"fill_width": True, "delete_cache": (UPLOAD_MAX_AGE, UPLOAD_MAX_AGE)}
    with gr.Blocks(title="RITA: see an attack, see the defence", analytics_enabled=False, **options) as page:
        with gr.Row(elem_id="header"):
            gr.HTML(TITLE, elem_id="title")
            corner = gr.Row(elem_id="corner")
        context = AppContext(
            models=ModelPool(engine, load),
            sessions=sessions,
            panels=PanelRegistry(),
            error_banner=ErrorBanner(elem_id="notice", elem_classes="notice-holder", apply_default_css=True),
            status=gr.HTML(elem_id="status"),
            signal=Signal(elem_id="signal"),
            run_shown=RunShown(elem_id="run-shown"),
            visitor=gr.State(""),
        )
        with corner:
            menu = ModelMenu(context)
            share = share_link.ShareButton(elem_id="share")
            save = SaveButton(elem_id="save-run")
        build_caption(context.panels)
        shared = partial(share_link.share_value, default_model=engine.info)
        context.panels.add(share, shared, "class", "view", "step")
        with gr.Tabs(elem_id="tabs", overflow_behavior="wrap") as tabs:
            with gr.Tab("Story", id="story", elem_id="story-tab") as first:
                tab = AttackDefendTab(context, example.sample_key)
            opener = RunOpener(context, tabs, tab.story, tab.run, tab.fill_form)
            with gr.Tab("Inside", id="inside", elem_id="inside") as second:
                inside = InsideTab(context, tab.form.fields)
            with gr.Tab("Arena", id="arena") as third:
                arena = ArenaTab(context, folders, opener, menu.show_model)
            with gr.Tab("Memory", id="memory") as fourth:
                memory = MemoryTab(context, folders, tab.form, opener)
            with gr.Tab("Figures", id="figures") as fifth:
                figures = FiguresTab(context, folders, opener)
        tab.bind_events(first, share, inside.parts)
        inside.bind_events(second)
        arena.bind_events(third, menu.shown)
        memory.bind_events(fourth)
        figures.bind_events(fifth)
        menu.bind_events().then(*tab.note_names, **IMMEDIATE_EVENT)
        bind_save(save, context)
        add_endpoints(context)
        _bind_load_and_unload(page, context, tab, example)
        # Events without a spinner do not report their state to their outputs: Gradio's page would pass every change of it
        # to each of the 150 output components, with a copy of its value: 85 ms per click.
        for event in page.fns.values():
            if event.show_progress == "hidden":
                event.show_progress_on = [context.visitor]
    example.start()
    return page


def _bind_load_and_unload(page: gr.Blocks, context: AppContext, tab: AttackDefendTab, example: WorkedExample) -> None:
    stored = example.session is not None
    if example.session is not None:  # part of the page: it is shown before the page asks for anything
        tab.story.value = context.panels.draw_only(example.session, [tab.story])[tab.story]["value"]

    def opened(request: gr.Request) -> Iterator[Updates]:
        name = context.sessions.open(request.session_hash, model=context.models.default.info.name)
        first: Updates = {context.visitor: name}
        link, query = None, dict(request.query_params)
        try:
            link = share_link.parse_link(query)
        except DemoError as error:
            first |= {context.error_banner: notice.error_html(error)}
        if link is not None:
            yield first | tab.apply_link(name, query, link)
            return
        for updates in _show_example(context, tab, example, context.sessions.get(name), stored):
            yield first | updates
            first = {}

    def closed(request: gr.Request) -> None:
        context.sessions.close_page(request.session_hash)

    outputs = context.outputs(context.visitor, *tab.form.of_picture, tab.story, tab.link)
    guard = notice.handle_errors(context.error_banner, lambda: {context.status: ""})
    page.load(guard(opened), None, outputs, concurrency_limit=None, show_progress="hidden", api_visibility="private")
    page.unload(closed)


def _show_example(
    context: AppContext, tab: AttackDefendTab, example: WorkedExample, session: Session, stored: bool
) -> Iterator[Updates]:
    """Show the worked example or saved run as soon as it is ready; until then its progress. ``stored``: the page came
    with it and its form, which is left alone: the visitor may have changed it already."""
    status, time_left = context.status, TimeLeft()
    chosen, running = session.attack_defend, session.jobs.running
    if example.session is None:
        chosen.sample = example.sample_key  # what the form shows: Attack may come first
    first = None if example.wait(0.25) else example.first_picture()
    if first is not None:
        yield {tab.story: loading(first)}
    while not chosen.choice and session.run is None and (running.total() or not example.wait(0.25)):
        if running.total():
            time.sleep(0.25)  # its own progress is shown
        else:
            yield {status: notice.progress_html(example.sentence, example.fraction, time_left)}
    if chosen.choice or session.run is not None:  # a picture was chosen or attacked meanwhile
        return
    if example.session is None or example.session.run is None:
        yield {status: notice.done_html(f"{example.sentence} Choose a picture to begin.")}
        return
    run, warning, engine = example.session.run, example.warning, context.models.default
    example.show(session)
    changed = context.changed(session, "run")
    if stored:  # the page came with it, and with the form; it is as large as all the rest
        context.panels.leave(session, [tab.story], "story")
    else:
        tab.fill_form(session, run, session.run_sample)
        changed = context.changed(session, "form")
    said = {context.error_banner: notice.error_html(warning)} if warning else {}
    yield {status: _example_status(engine, example)} | said | changed
    yield {}  # Gradio sends the last values again when an event ends
    waited = 0.0
    for waited in loading_steps(engine):
        if session.jobs.running.total():
            break  # it says the same, and then more
        yield {status: notice.progress_html(f"{example.message} {LOADING} ({waited:.0f} s so far)", 0)}
    if waited and not session.jobs.running.total():
        yield {status: _example_status(engine, example)}
    complete = False
    while not complete and session.run is run:
        complete = example.wait(0.25, complete=True)
        if example.show_more(session):
            yield context.changed(session, "attack_steps", "checks")


def _example_status(engine: Engine, example: WorkedExample) -> str:
    """HTML of the status line: why the model could not be loaded, or where the example is from and why no graphics card
    is used."""
    failure, warning = failure_of(engine), graphics_card_warning(engine.info.device)
    said = str(failure or f"{example.message} {warning}".strip())
    return notice.done_html(said, routine=not (failure or warning))


def opening_html() -> str:
    """What is shown until Gradio has built the page, and the scripts that Gradio must not run before."""
    return OPENING.read_text(encoding="utf-8") + _script(DROP) + _script(ORDER)


def _script(file: Path) -> str:
    return f"<script type='module'>{file.read_text(encoding='utf-8')}</script>"


def launch_options() -> dict[str, Any]:
    """The page's arguments of ``gr.mount_gradio_app``."""
    return {
        "theme": theme(),
        "css": font_face() + css_variables() + STYLE.read_text(encoding="utf-8"),
        "head": FIGURE_HEAD + "".join(map(_script, (PAGE_SCRIPT, MENUS, TOUCH))),
        "run_history": False,
        "footer_links": [],
        "max_file_size": MAX_UPLOAD_SIZE,
        "show_error": False,  # the error banner shows our own messages; others may name paths
        "enable_monitoring": False,
        "ssr_mode": False,
        "pwa": False,
    }
