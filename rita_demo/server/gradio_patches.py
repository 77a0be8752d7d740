"""Changes of Gradio's behaviour, for this process: lone surrogates in JSON, no remote fetches, uploads without leftovers,
no work for outputs that do not change, and whole values instead of edits."""

import copy
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr
import jinja2
import orjson
from fastapi import HTTPException
from gradio import processing_utils, routes, utils
from gradio.blocks import BlockFunction
from gradio.utils import NamedString

FETCH_REFUSAL = "This server fetches no addresses."
TEMP_PREFIX = "rita-arriving-"
ABANDONED_SECONDS = 3600.0  # without a new byte

_gradio_templates: Any = routes.templates.env.loader
_gradio_upload = routes.upload_fn
_gradio_process_file = gr.UploadButton._process_single_file
_gradio_postprocess = gr.Blocks.postprocess_data


def patch_gradio(opening: str = "") -> None:
    """Change six things.

    - Lone surrogates in JSON responses are serialised. User input may hold half of an emoji, and an answer may repeat it.
      UTF-8 cannot encode it: Gradio's writer fails and the visitor's connection breaks. The JSON escape ``\\ud83d`` can.
    - Addresses that a visitor names in place of a file are never fetched. Gradio only refuses private addresses. Downloads
      of models and datasets are our own code and still work.
    - Every upload is written to a temporary folder first, and what is incomplete is deleted. Gradio leaves files behind
      when a connection breaks, when a file arrives under another name than expected, or when the second of two files
      cannot be stored. It also makes an empty file for each event with an upload.
    - An output that an event does not change costs nothing. Gradio builds its component anew, 0.7 ms for each of 150
      outputs at every step of a progress line.
    - A generator's next value of an output is sent whole. Gradio sends edits of the value before, and its browser client
      makes them in place: a value that a busy page has received but not shown yet becomes the next one, which for an
      output that does not change is no value at all. The page then kept an older picture.
    - The document ends with ``opening``, HTML that is shown until Gradio has built the page.
    """
    routes.templates.env.loader = _TemplateLoader(opening)
    setattr(utils, "diff", _whole_value)  # noqa: B010, an assignment mypy forbids
    setattr(routes, "orjson", _SurrogateSafeJson())  # noqa: B010, an assignment mypy forbids
    processing_utils.async_ssrf_protected_get = _refuse_fetch
    processing_utils.async_ssrf_protected_download = _refuse_fetch
    routes.secure_url_stream_response = _refuse_file
    routes.upload_fn = _clean_upload
    setattr(gr.UploadButton, "_process_single_file", _path_only)  # noqa: B010, an assignment mypy forbids
    setattr(gr.Blocks, "postprocess_data", _postprocess_changed)  # noqa: B010, an assignment mypy forbids


class _TemplateLoader(jinja2.BaseLoader):
    """Gradio's templates, with more HTML at the end of each document."""

    def __init__(self, more: str) -> None:
        # not where the page asks for a password: it has no components yet
        self.more = f"{{% if config.components %}}{{% raw %}}{more}{{% endraw %}}{{% endif %}}</body>"

    def get_source(self, environment: jinja2.Environment, template: str) -> Any:
        source, *rest = _gradio_templates.get_source(environment, template)
        return source.replace("</body>", self.more), *rest


def _whole_value(old: Any, new: Any) -> list[list[Any]]:
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


async def _postprocess_changed(page: gr.Blocks, event: BlockFunction, answer: Any, state: Any) -> list[Any]:
    """Gradio's ``postprocess_data`` of only those outputs to which the answer, ``{component: value}``, gives a value."""
    outputs: set[Any] = set(event.outputs)
    if not isinstance(answer, dict) or not answer.keys() <= outputs:
        return await _gradio_postprocess(page, event, answer, state)
    changed = {one: value for one, value in answer.items() if not (isinstance(value, dict) and value == gr.skip())}
    narrow, values = copy.copy(event), list(changed.values())
    narrow.outputs = list(changed)
    # a single output takes its value alone
    done = await _gradio_postprocess(page, narrow, values[0] if len(values) == 1 else values, state) if values else []
    found = dict(zip(changed, done, strict=True))
    return [found.get(one, None if one.stateful else gr.skip()) for one in event.outputs]


async def _refuse_fetch(*args: Any, **kwargs: Any) -> Any:
    raise gr.Error(FETCH_REFUSAL, print_exception=False)


async def _refuse_file(*args: Any, **kwargs: Any) -> Any:
    raise HTTPException(status_code=403, detail=FETCH_REFUSAL)


def remove_abandoned(upload_dir: str | Path, max_age: float = ABANDONED_SECONDS) -> None:
    """Delete temporary upload folders of killed processes, if nothing in them is younger than ``max_age`` seconds."""
    for folder in Path(upload_dir).glob(f"{TEMP_PREFIX}*"):
        try:
            last = max(path.stat().st_mtime for path in (folder, *folder.rglob("*")))
        except OSError:  # the upload is being completed
            continue
        if time.time() - last > max_age:
            shutil.rmtree(folder, ignore_errors=True)


def _path_only(button: gr.UploadButton, file: Any) -> Any:
    """An upload's path, without the empty file that Gradio makes to name it."""
    if button.type != "filepath" or button.file_types:
        return _gradio_process_file(button, file)
    return NamedString(file.path)


async def _clean_upload(
    request: Any, upload_dir: str | Path, *args: Any, **kwargs: Any
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
