"""Add several pictures to the cache, and compare the answers for the displayed picture before and after."""

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

import numpy as np

from rita_demo.data import samples
from rita_demo.data.pictures import open_picture
from rita_demo.engine.protocol import Engine
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.plots.labels import reference_class, sides_of
from rita_demo.plots.memory.cache import MIN_CHANGE
from rita_demo.process.generators import Steps
from rita_demo.process.time_left import TimeLeft
from rita_demo.records import CacheState, ImageResult, Picture, Run, Trace
from rita_demo.records.errors import PictureError, SettingError
from rita_demo.records.json_value import JsonValue
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import AppContext
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.framework.stoppable import Finished
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.blocks import html_table, table_row

MAX_FILES = 32
MAX_LISTED_ERRORS = 3  # refused files that are listed
MAX_SAMPLES = 6  # attacked samples

#: A picture to add, with its key in the history (adding it again replaces its earlier views) and the name of its true
#: class, "" if that is not known.
PictureToAdd = tuple[str, RunRequest, str]


def current_run(session: Session, engine: Engine) -> Run:
    """The displayed run, if the chosen model decided it."""
    run = session.run
    if run is None:
        raise PictureError("There is no picture yet.", "Run one in the Story.")
    if engine.info.name != run.backbone.name:
        raise SettingError("Another model was chosen since this picture was decided.", "Run a picture with it first.")
    return run


def uploaded_pictures(
    session: Session, engine: Engine, paths: JsonValue, attack: bool
) -> tuple[list[PictureToAdd], list[str]]:
    """Uploaded files as pictures to add, and an error message for each file that is no picture. Raises PictureError: no
    file, too many files, or no picture among them."""
    run = current_run(session, engine)
    arrived = paths if isinstance(paths, list) else []
    files = [path for path in arrived if isinstance(path, str)]
    if not files or len(files) < len(arrived):
        raise PictureError("No file arrived.", "Choose one or more pictures.")
    if len(files) > MAX_FILES:
        raise PictureError(f"At most {MAX_FILES} pictures at once; got {len(files)}.", "Choose fewer.")
    found, refused = [], []
    for number, path in enumerate(files, 1):
        try:
            picture = open_picture(Path(path).read_bytes(), square=run.settings.square, side=engine.info.side)
        except PictureError as error:
            refused.append(f"File {number} was left out: {error.message}")
            continue
        title = f"Upload {number}" + (", attacked" if attack else "")
        found.append((picture.key, _request(run, picture, None, title, attack), ""))
    if not found:
        raise PictureError(" ".join(refused[:MAX_LISTED_ERRORS]), "Nothing was added.")
    return found, refused


def attacked_samples(session: Session, engine: Engine) -> list[PictureToAdd]:
    """Attacked versions of samples that are not on screen and whose class is in the list. Raises PictureError: none."""
    run = current_run(session, engine)
    names = run.class_prompts.names
    found: list[PictureToAdd] = []
    for one in (one for one in samples.available().values() if one.label in names):
        if len(found) == MAX_SAMPLES:
            break
        picture = one.load(square=run.settings.square, side=engine.info.side)
        if one.key == session.run_sample or picture.key == run.clean.picture.key:
            continue
        request = _request(run, picture, names.index(one.label), f"{one.title}, attacked", True)
        found.append((picture.key, request, one.label))
    if not found:
        raise PictureError(
            "No other sample shows a class of the list.",
            "Add one of their classes to the names, and run the picture again.",
        )
    return found


def _request(run: Run, picture: Picture, label: int | None, title: str, attack: bool) -> RunRequest:
    """A picture with the classes and settings of ``run``, attacked or as it is."""
    used = run.settings.attack if run.settings.attack != "none" else "pgd"
    settings = run.settings.replace(attack=used if attack else "none")
    target = run.attack.target if attack and run.attack and run.attack.target != label else None
    return RunRequest(picture, run.class_prompts.names, settings, label, target, title)


def add_steps(
    context: AppContext, session: Session, pictures: Sequence[PictureToAdd], errors: Sequence[str] = ()
) -> Iterator[Updates]:
    """Decide the pictures one after another, each with its cache update; then compare before and after."""
    engine = context.engine_of(session)
    run, time_left = current_run(session, engine), TimeLeft()
    if run.settings.protocol != "stream":
        raise SettingError(
            "The memory is not kept from picture to picture with these settings.",
            "Choose “kept from picture to picture” in the settings, then run a picture.",
        )
    if errors:
        more = len(errors) - MAX_LISTED_ERRORS
        text = " ".join(errors[:MAX_LISTED_ERRORS]) + (f" And {more} more." if more > 0 else "")
        yield {context.error_banner: notice.error_html(PictureError(text, f"The other {len(pictures)} are added."))}
    # the displayed picture must not be decided from its own views
    before, wrong, titles = session.history.cache_before(run.clean.picture.key), list[bool](), list[str]()
    for number, (key, request, truth) in enumerate(pictures):
        now, share = f"Adding {request.title} ({number + 1} of {len(pictures)})", number / len(pictures)
        yield context.progress(now, share, time_left)
        steps = Steps(request.run_steps(engine, session.history.cache_before(key)))
        try:
            for step in steps:
                yield context.progress(f"{now}: {step.sentence}", share, time_left)
        except SettingError as error:  # the target is what CLIP says already
            yield {context.error_banner: notice.error_html(error)}
            continue
        if session.run is not run:
            yield context.done("Stopped: another run is on screen.")
            return
        one, events = steps.value, steps.value.attacked.trace.cache_update.events
        crops = engine.view_pixels(one.attacked.picture, one.settings) if events else None
        session.extend_history(request.title, key, one, crops, replace_latest=False, truth=truth)
        titles.append(request.title)
        if truth:
            wrong += [request.names[event.label] != truth for event in events]
        context.sessions.evict()
        yield context.panels.redraw(session, "memory")
    after = session.history.cache_before(run.clean.picture.key)
    session.memory.before_after_html = before_after(engine, run, before, after, titles, wrong)
    spent = wording.format_seconds(time_left.elapsed)
    yield Finished(context.done(f"{_count(titles)} decided in {spent}."))


def before_after(
    engine: Engine,
    run: Run,
    before: CacheState | None,
    after: CacheState | None,
    titles: Sequence[str],
    wrong: list[bool],
) -> str:
    """HTML: RITA's answer for the displayed picture with the cache before and after the pictures of these
    ``titles``; ``wrong``: of each view that entered, whether it is stored under a wrong class."""
    rows, entered = [], ""
    for side in sides_of(run):
        then, now = (_decide(engine, run, getattr(run, side), state) for state in (before, after))
        change = f"<td class='outcome dim'>{_change_text(then, now, run)}</td>"
        rows.append(table_row(f"{side} picture", _answer_cell(then, run), _answer_cell(now, run), change))
        rows += _cost_rows(run, then, now)
    table = html_table(("<span class='sr'>picture</span>", "before", "now", "change"), rows)
    if wrong:
        entered = (
            f"<p class='lead'>{wording.view_count(len(wrong))} entered, {sum(wrong)} of them under a wrong class "
            f"({wording.percent(sum(wrong) / len(wrong))}).</p>"
        )
    return (
        f"<h3>What {_count(titles)} changed</h3><p class='quiet small'>Added: {escape('; '.join(titles))}.</p>"
        f"{entered}{table}<p class='quiet small'>RITA’s answer and "
        f"{wording.term_html('margin')}; below, what {reference_class(run)} and the class that moved most cost in the memory. The "
        "picture’s own views are left out of the memory here.</p>"
    )


def _count(titles: Sequence[str]) -> str:
    return "1 picture" if len(titles) == 1 else f"{len(titles)} pictures"


def _cost_rows(run: Run, before: Trace, after: Trace) -> list[str]:
    """Two rows: d_cOT of the true class (without one of CLIP's answer), and of the class whose d_cOT moved most."""
    change = np.asarray(after.cache_distance) - np.asarray(before.cache_distance)
    most = int(np.abs(change).argmax())
    rows = []
    for k in dict.fromkeys((run.label, most)):
        moved = abs(float(change[k])) >= MIN_CHANGE
        if moved or k == run.label:
            title = f"{escape(run.class_prompts.names[k])} in the memory<small>cosine distance</small>"
            costs = (f"{float(trace.cache_distance[k]):.4f}" for trace in (before, after))
            rows.append(table_row(title, *costs, wording.signed(change[k]) if moved else "unchanged", css="sub"))
    return rows


def _decide(engine: Engine, run: Run, side: ImageResult, state: CacheState | None) -> Trace:
    return engine.decide(side.encoded_views, run.class_prompts, state, run.settings, tuning=side.trace.tuning)[0]


def compare_with_empty(engine: Engine, session: Session) -> None:
    """Decide the displayed picture from an empty cache, and from the cache of the selected moment."""
    run = session.run
    if run is None or engine.info.name != run.backbone.name:
        return
    entry, bare, seen = session.selected_entry, session.memory.empty_cache_result, session.memory.cache_result
    if bare is None or bare[0] is not run:
        session.memory.empty_cache_result = (run, _decide(engine, run, run.attacked, None))
    if (
        entry is not None
        and entry.snapshot.key == run.class_prompts.key
        and (seen is None or seen[0] is not run or seen[1] is not entry)
    ):
        state = session.history.cache_before(run.clean.picture.key, session.selected_moment)
        session.memory.cache_result = (run, entry, _decide(engine, run, run.attacked, state))


def _answer_cell(trace: Trace, run: Run) -> str:
    wrong = " wrong" if run.given_label not in (None, trace.verdict.label) else ""
    name = escape(run.class_prompts.names[trace.verdict.label])
    return f"<td class='answer{wrong}'><b>{name}</b><small>{escape(wording.margin(trace.verdict))}</small></td>"


def _change_text(before: Trace, after: Trace, run: Run) -> str:
    if before.verdict.label == after.verdict.label:
        return "the same answer"
    if not run.label_given:
        return "another answer"
    if after.verdict.label == run.label:
        return "now right"
    return "misled by the memory" if before.verdict.label == run.label else "another wrong answer"
