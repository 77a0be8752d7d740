"""Changes of Gradio's behaviour, for this process: lone surrogates in JSON, no remote fetches, uploads without leftovers,
no work for outputs that do not change, whole values instead of edits, and no copies of a page's values."""

import copy
import json
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import jinja2
import orjson
from fastapi import HTTPException, Request
from gradio import http_server, networking, processing_utils, route_utils, routes, utils
from gradio.blocks import Block, BlockFunction
from gradio.data_classes import PredictBody, PredictBodyInternal
from gradio.queueing import Queue
from gradio.state_holder import SessionState
from gradio.utils import NamedString
from gradio_client import utils as client_utils

from rita_demo.process import logging as process_logging
from rita_demo.records.errors import did_you_mean
from rita_demo.records.json_value import JsonValue
from rita_demo.server.connections import LIMITED_UVICORN
from rita_demo.server.pages import Pages
from rita_demo.server.request_limits import UNREADABLE
from rita_demo.ui.framework.uploads import uploaded_file

FETCH_REFUSAL = "This server fetches no addresses."
NO_UPLOAD = "This is no uploaded file. Choose it again: an upload is kept for an hour."
FULL_QUEUE = "Too many visitors wait for an answer. Try again in a minute."
LONG_PAGE_ID = "The random name of a page has at most 100 characters. Reload the page."
MAX_PAGE_ID = 100  # characters; Gradio's clients send 11 or 36, and it keeps each for long
MAX_UPLOAD_FILES = 256  # of one request; the page adds 32 pictures at once
RECENT_UPLOADS = 256  # whose progress can be asked for
TEMP_PREFIX = "rita-arriving-"
ABANDONED_SECONDS = 3600.0  # without a new byte
DIGEST = re.compile("[0-9a-f]{64}")  # the name of an upload's folder

_gradio_templates: Any = routes.templates.env.loader
_gradio_upload = routes.upload_fn
_gradio_process_file = gr.UploadButton._process_single_file
_gradio_preprocess, _gradio_postprocess = gr.Blocks.preprocess_data, gr.Blocks.postprocess_data
_gradio_check_file = processing_utils._check_allowed
_gradio_init_state: Any = SessionState.__init__
_gradio_set_component = SessionState.__setitem__
_gradio_get_event, _gradio_push = route_utils.get_fn, Queue.push


def patch_gradio(opening: str = "") -> None:
    """Change fifteen things.

    - Lone surrogates in JSON responses are serialised. User input may hold half of an emoji, and an answer may repeat it.
      UTF-8 cannot encode it: Gradio's writer fails and the visitor's connection breaks. The JSON escape ``\\ud83d`` can.
    - Addresses that a visitor names in place of a file are never fetched. Gradio only refuses private addresses. Downloads
      of models and datasets are our own code and still work.
    - A file that a visitor names is an uploaded one. Gradio also takes a folder for one, and waits for a named pipe.
    - Values that no component takes are refused with one sentence; Gradio logs a traceback and says nothing.
    - Every upload is written to a temporary folder first, and what is incomplete is deleted. Gradio leaves files behind
      when a connection breaks, when a file arrives under another name than expected, or when the second of two files
      cannot be stored. It also makes an empty file for each event with an upload. One request has 256 files at most.
    - An output that an event does not change costs nothing. Gradio builds its component anew, 0.7 ms for each of 150
      outputs at every step of a progress line.
    - A generator's next value of an output is sent whole. Gradio sends edits of the value before, and its browser client
      makes them in place: a value that a busy page has received but not shown yet becomes the next one, which for an
      output that does not change is no value at all. The page then kept an older picture.
    - No values of a page's components are stored. Gradio copies all of them for each page (70 ms and a megabyte at
      least), for links to stored pages, which answer 404 here.
    - An event of a page whose random name is too long is refused, and one too many for the queue is told so in our words.
    - A request to an endpoint that names an unknown input, or lacks one, is told which.
    - The progress of few uploads is kept. Gradio keeps it for each that is not asked for, and an entry for each question.
    - A connection that sends no whole request ends (:class:`Connection`).
    - The started server is not asked for its page: where it took three seconds, on a busy machine, the start failed.
    - A page that is open is not forgotten before one that is not (:class:`Pages`).
    - The document ends with ``opening``, HTML that is shown until Gradio has built the page.
    """
    routes.templates.env.loader = _TemplateLoader(opening)
    changes: dict[Any, dict[str, Any]] = {
        http_server: {"uvicorn": LIMITED_UVICORN},
        networking: {"url_ok": lambda url: True},
        utils: {"diff": _whole_value},
        routes: {
            "orjson": _SurrogateSafeJson(),
            "secure_url_stream_response": _refuse_file,
            "upload_fn": _clean_upload,
            "StateHolder": Pages,
            "file_upload_statuses": _RecentUploads(),
            # not in its module, which clients in this process use as well
            "client_utils": SimpleNamespace(**vars(client_utils) | {"construct_args": _arguments}),
        },
        route_utils: {"get_fn": _get_event, "GradioMultiPartParser": _FewFiles},
        processing_utils: {"_check_allowed": _check_file}
        | dict.fromkeys(("async_ssrf_protected_get", "async_ssrf_protected_download"), _refuse_fetch),
        gr.UploadButton: {"_process_single_file": _path_only},
        gr.Blocks: {"preprocess_data": _preprocess_untrusted, "postprocess_data": _postprocess_changed},
        Queue: {"push": _push},
        SessionState: {"__init__": _init_state, "__setitem__": _set_component}
        | dict.fromkeys(("_update_config", "_update_value_in_config"), lambda *_: None),
    }
    for owner, names in changes.items():
        for name, value in names.items():
            setattr(owner, name, value)


class _TemplateLoader(jinja2.BaseLoader):
    """Gradio's templates, with more HTML at the end of each document."""

    def __init__(self, more: str) -> None:
        # not where the page asks for a password: it has no components yet
        self.more = f"{{% if config.components %}}{{% raw %}}{more}{{% endraw %}}{{% endif %}}</body>"

    def get_source(
        self, environment: jinja2.Environment, template: str
    ) -> tuple[str, str | None, Callable[[], bool] | None]:
        source, *rest = _gradio_templates.get_source(environment, template)
        return source.replace("</body>", self.more), *rest


def _whole_value(old: JsonValue, new: JsonValue) -> list[list[JsonValue]]:
    """Gradio's edits from ``old`` to ``new``: none, or one that replaces it."""
    return [] if old == new else [["replace", [], new]]


class _SurrogateSafeJson:
    """``orjson`` that also writes lone surrogates."""

    def __getattr__(self, name: str) -> Any:
        return getattr(orjson, name)

    @staticmethod
    def dumps(value: Any, /, default: Callable[[Any], Any] | None = None, option: int | None = None) -> bytes:
        try:
            return orjson.dumps(value, default, option)
        except TypeError as error:
            if "surrogates" not in str(error):
                raise
            return json.dumps(value, default=default).encode("ascii")


async def _postprocess_changed(
    page: gr.Blocks, event: BlockFunction, answer: Any, state: SessionState | None
) -> list[Any]:
    """Gradio's ``postprocess_data`` of only those outputs to which the answer, ``{component: value}``, gives a value."""
    outputs: set[Block] = set(event.outputs)
    if not isinstance(answer, dict) or not answer.keys() <= outputs:
        return await _gradio_postprocess(page, event, answer, state)
    changed = {one: value for one, value in answer.items() if not (isinstance(value, dict) and value == gr.skip())}
    narrow, values = copy.copy(event), list(changed.values())
    narrow.outputs = list(changed)
    # a single output takes its value alone
    done = await _gradio_postprocess(page, narrow, values[0] if len(values) == 1 else values, state) if values else []
    found = dict(zip(changed, done, strict=True))
    return [found.get(one, None if one.stateful else gr.skip()) for one in event.outputs]


class _FewFiles(route_utils.GradioMultiPartParser):
    """Gradio's reader of an upload, which opens a file for each part and closes none before the end."""

    def __init__(self, *request: Any, **options: Any) -> None:
        super().__init__(*request, **options | {"max_files": MAX_UPLOAD_FILES})


class _RecentUploads(route_utils.FileUploadProgress):
    """Gradio's progress of uploads, of the last ones only."""

    def track(self, upload_id: str) -> None:
        super().track(upload_id)
        for old in list(self._statuses)[:-RECENT_UPLOADS]:
            self.stop_tracking(old)

    def stop_tracking(self, upload_id: str) -> None:
        super().stop_tracking(upload_id)
        self._signals.pop(upload_id, None)

    async def is_tracked(self, upload_id: str) -> bool:
        try:
            return await super().is_tracked(upload_id)
        finally:
            if upload_id not in self._statuses:
                self._signals.pop(upload_id, None)


def _arguments(inputs: list[dict[str, Any]], _: object, given: dict[str, JsonValue]) -> list[JsonValue]:
    """The values of an endpoint's inputs, in their order, of a request that names them."""
    defaults = {one["parameter_name"]: one.get("parameter_default") for one in inputs}
    listed = f"Inputs: {', '.join(defaults) or 'none'}."
    for name in given:
        if name not in defaults:
            said = f"This endpoint has no input {name[:40]!r}. {did_you_mean(name, defaults, listed)}"
            raise HTTPException(400, said)
    for one in inputs:
        if one["parameter_name"] not in given and not one.get("parameter_has_default"):
            raise HTTPException(400, f"The input {one['parameter_name']!r} is missing. {listed}")
    return list((defaults | given).values())


async def _push(queue: Queue, body: PredictBodyInternal, request: Request, username: str | None) -> Any:
    if queue.max_size is not None and len(queue) >= queue.max_size:
        # 503 would be shown with Gradio's own words
        raise HTTPException(429, FULL_QUEUE, {"Retry-After": "60"})
    return await _gradio_push(queue, body, request, username)


def _get_event(blocks: gr.Blocks, api_name: str | None, body: PredictBody) -> BlockFunction:
    """The function of an event; Gradio makes the state of the page that sends it, if there is none."""
    if len(body.session_hash or "") > MAX_PAGE_ID:
        raise HTTPException(400, LONG_PAGE_ID)
    return _gradio_get_event(blocks, api_name, body)


def _init_state(state: SessionState, page: gr.Blocks) -> None:
    """Gradio's state of a page that knows no component whose value is to be stored."""
    _gradio_init_state(state, SimpleNamespace(default_config=page.default_config, blocks={}))


def _set_component(state: SessionState, number: int, value: Block) -> None:
    if isinstance(state.blocks_config.blocks.get(number), gr.State):
        _gradio_set_component(state, number, value)
    else:
        state.blocks_config.blocks[number] = value


def _check_file(path: Any, check_in_upload_folder: bool) -> None:
    """Raises gr.Error: a file that a visitor names was not uploaded, or is gone."""
    if not check_in_upload_folder:
        return _gradio_check_file(path, check_in_upload_folder)
    if uploaded_file(path) is None:
        raise gr.Error(NO_UPLOAD, print_exception=False)


async def _preprocess_untrusted(page: gr.Blocks, event: BlockFunction, *values: Any, **named: Any) -> list[Any]:
    """Gradio's ``preprocess_data``. Raises gr.Error: a value that no browser sends."""
    try:
        return await _gradio_preprocess(page, event, *values, **named)
    except Exception as error:
        if isinstance(error, gr.Error) and not error.print_exception:
            raise
        number = process_logging.log_bad_request("an event that could not be read", error)
        raise gr.Error(UNREADABLE.format(number), print_exception=False) from error


async def _refuse_fetch(*args: Any, **kwargs: Any) -> Any:
    raise gr.Error(FETCH_REFUSAL, print_exception=False)


async def _refuse_file(*args: Any, **kwargs: Any) -> Any:
    raise HTTPException(status_code=403, detail=FETCH_REFUSAL)


def remove_abandoned(upload_dir: str | Path) -> None:
    """Delete what nothing was written to for :data:`ABANDONED_SECONDS`: temporary upload folders of killed processes, and the empty
    folders of deleted uploads."""
    for folder in Path(upload_dir).glob("*"):
        arriving = folder.name.startswith(TEMP_PREFIX)
        if not arriving and not DIGEST.fullmatch(folder.name):
            continue
        with suppress(OSError):  # the upload is being completed, or another file has come
            last = max(path.stat().st_mtime for path in (folder, *(folder.rglob("*") if arriving else ())))
            if time.time() - last > ABANDONED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True) if arriving else folder.rmdir()


def _path_only(button: gr.UploadButton, file: Any) -> Any:
    """An upload's path, without the empty file that Gradio makes to name it."""
    if button.type != "filepath" or button.file_types:
        return _gradio_process_file(button, file)
    return NamedString(file.path)


async def _clean_upload(
    request: Request, upload_dir: str | Path, *args: Any, **kwargs: Any
) -> tuple[list[str], list[str], list[str]]:
    """Gradio's ``upload_fn`` in a folder of its own; complete files are moved to ``upload_dir/digest/name``."""
    Path(upload_dir).mkdir(parents=True, exist_ok=True)
    folder = tempfile.mkdtemp(prefix=TEMP_PREFIX, dir=upload_dir)
    try:
        stored, late, _ = await _gradio_upload(request, folder, *args, **kwargs)
        if late:  # it could not even be renamed inside its folder
            raise HTTPException(400, "This file cannot be stored under its name.")
        placed = []
        for file in map(Path, dict.fromkeys(stored)):
            place = Path(upload_dir, file.parent.name, file.name)
            place.parent.mkdir(exist_ok=True)
            placed.append(str(file.replace(place)))
        return placed, [], []
    finally:
        shutil.rmtree(folder, ignore_errors=True)
