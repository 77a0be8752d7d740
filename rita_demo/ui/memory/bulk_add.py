"""Add several pictures to the memory."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rita_demo.data.pictures import open_picture
from rita_demo.engine.protocol import Engine
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.process.generators import Steps
from rita_demo.process.time_left import TimeLeft
from rita_demo.records import Run
from rita_demo.records.errors import PictureError, SettingError
from rita_demo.records.json_value import JsonValue
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import AppContext
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.framework.stoppable import Finished
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording

MAX_FILES = 32
MAX_LISTED_ERRORS = 3  # refused files that are listed


def current_run(session: Session, engine: Engine) -> Run:
    """The displayed run, if the chosen model decided it."""
    run = session.run
    if run is None:
        raise PictureError("There is no picture yet.", "Run one in the Story.")
    if engine.info.name != run.backbone.name:
        raise SettingError("Another model was chosen since this picture was decided.", "Run a picture with it first.")
    return run


def uploaded_pictures(session: Session, engine: Engine, paths: JsonValue) -> tuple[list[RunRequest], list[str]]:
    """Uploaded files as pictures to decide with the classes and settings of the displayed run, without an attack, and an
    error message for each file that is no picture. Raises PictureError: no file, too many files, or no picture among them."""
    run = current_run(session, engine)
    arrived = paths if isinstance(paths, list) else []
    files = [path for path in arrived if isinstance(path, str)]
    if not files or len(files) < len(arrived):
        raise PictureError("No file arrived.", "Choose one or more pictures.")
    if len(files) > MAX_FILES:
        raise PictureError(f"At most {MAX_FILES} pictures at once; got {len(files)}.", "Choose fewer.")
    settings, found, refused = run.settings.replace(attack="none"), list[RunRequest](), list[str]()
    for number, path in enumerate(files, 1):
        try:
            picture = open_picture(Path(path).read_bytes(), square=run.settings.square, side=engine.info.side)
        except PictureError as error:
            refused.append(f"File {number} was left out: {error.message}")
            continue
        found.append(RunRequest(picture, run.class_prompts.names, settings, None, None, f"Upload {number}"))
    if not found:
        raise PictureError(" ".join(refused[:MAX_LISTED_ERRORS]), "Nothing was added.")
    return found, refused


def add_steps(
    context: AppContext, session: Session, pictures: Sequence[RunRequest], errors: Sequence[str]
) -> Iterator[Updates]:
    """Decide the pictures one after another, each with its cache update."""
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
    for number, request in enumerate(pictures):
        now, share = f"Adding {request.title} ({number + 1} of {len(pictures)})", number / len(pictures)
        yield context.progress(now, share, time_left)
        key = request.picture.key  # adding a picture again replaces its earlier views
        steps = Steps(request.run_steps(engine, session.history.cache_before(key)))
        for step in steps:
            yield context.progress(f"{now}: {step.sentence}", share, time_left)
        if session.run is not run:
            yield context.done("Stopped: another run is on screen.")
            return
        one = steps.value
        entered = one.attacked.trace.cache_update.events
        crops = engine.view_pixels(one.attacked.picture, one.settings) if entered else None
        session.extend_history(request.title, key, one, crops, replace_latest=False)
        context.sessions.evict()
        yield context.changed(session, "memory")
    count = f"{len(pictures)} picture{'s' * (len(pictures) != 1)}"
    yield Finished(context.done(f"{count} decided in {wording.format_seconds(time_left.elapsed)}."))
