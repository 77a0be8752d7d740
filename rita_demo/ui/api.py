"""The page's endpoints for programs (docs/python.md): in the page's queue, with its limits and its error messages.

Gradio lists the types of the inputs but does not enforce them: every value is checked here. A call starts from an empty
memory, and nothing of it is kept for the next one.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from inspect import Parameter, Signature
from math import isfinite
from pathlib import Path
from types import GenericAlias
from typing import Any

import gradio as gr
from gradio.data_classes import FileData
from gradio.processing_utils import save_bytes_to_cache
from gradio.utils import get_upload_folder

from rita_demo.attacks.registry import ATTACKS
from rita_demo.data.pictures import png_bytes
from rita_demo.defences.registry import DEFENCES
from rita_demo.pipeline.arena import TOWERS
from rita_demo.pipeline.export import to_json
from rita_demo.pipeline.run import RunProgress
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.process import logging as process_logging
from rita_demo.process.generators import Steps, contained_steps
from rita_demo.records import Run
from rita_demo.records.errors import BackboneError, DemoError, PictureError, SettingError
from rita_demo.records.json_value import JsonValue
from rita_demo.settings import SETTINGS, get_setting
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import ENGINE_QUEUE, AppContext

Record = dict[str, Any]
CATALOGUE = ("name", "title", "sentence", "cites", "url")  # of a defence and of an attack
TEXTS = ("vocabulary", "label", "attack", "target", "square", "preset", "backbone")
#: Input -> its type; all but the image may be left out.
TYPES: dict[str, Any] = {"image": FileData, "settings": dict[str, Any] | None}
TYPES |= dict.fromkeys(TEXTS, str | None) | dict.fromkeys(("steps", "seed"), int | None) | {"budget": int | str | None}
TYPES |= dict.fromkeys(("classes", "methods"), list[str] | str | None)
#: Inputs of the endpoints that take a picture, in their order.
PICTURE = ("image", "classes", "vocabulary", "label")
ATTACK = ("attack", "budget", "steps", "target", "seed")
MORE = ("square", "preset", "settings", "backbone")


def explain(run: Run) -> tuple[Record, FileData]:
    """Attack a picture and defend it: the JSON of `rita explain --json`, and the attacked picture as PNG."""
    return to_json(run), _png(run)


def defend(run: Run) -> Record:
    """Defend a picture as it is: the part `clean` of that JSON."""
    clean: Record = to_json(run)["clean"]
    return clean


def attack(run: Run) -> tuple[FileData, Record]:
    """Attack a picture: the attacked picture as PNG; linf (in 1/255), l2 (pixels in [0, 1]), fooled, threat_model."""
    written = to_json(run)
    norms = {name: written["attacked"][name] for name in ("linf", "l2", "fooled")}
    return _png(run), norms | {"threat_model": written["threat_model"]}


Answer = Callable[[Run], Any]
#: Endpoint -> its inputs and the types of its outputs.
ENDPOINTS: dict[Answer, tuple[tuple[str, ...], tuple[type, ...]]] = {
    explain: ((*PICTURE, *ATTACK, "methods", *MORE), (Record, FileData)),
    defend: ((*PICTURE, "methods", *MORE), (Record,)),
    attack: ((*PICTURE, *ATTACK, *MORE), (FileData, Record)),
}


def add_endpoints(context: AppContext) -> None:
    """Add the endpoints to the page that is being built."""
    for answer, (inputs, returns) in ENDPOINTS.items():
        about = {"api_name": answer.__name__, "api_description": answer.__doc__}
        gr.api(_handler(context, answer, inputs, returns), **about, **ENGINE_QUEUE)
    for records in (defences, attacks, settings):
        gr.api(records, api_name=records.__name__, concurrency_limit=None)


def _handler(
    context: AppContext, answer: Answer, inputs: tuple[str, ...], returns: tuple[type, ...]
) -> Callable[..., Iterator[Any]]:
    """The function behind an endpoint. It yields its progress, so that it ends when the caller leaves; then the answer."""

    def handler(*values: Any) -> Iterator[Any]:
        given = dict(zip(inputs, values, strict=True))
        try:
            with notice.logged_event(handler, always_log=True) as event, context.activity.track_job():
                steps = Steps(contained_steps(run_steps(context, {"attack": "none", "methods": []} | given)))
                for now in steps:
                    event.next_step()
                    record = {"doing": now.sentence, "done": now.fraction}
                    doing = tuple(record if kind is Record else None for kind in returns)
                    yield doing if len(doing) > 1 else doing[0]
                yield answer(steps.value)
        except DemoError as error:
            raise gr.Error(str(error), print_exception=False) from error
        except Exception as error:
            number = process_logging.log_error("unexpected error in an endpoint", error)
            raise gr.Error(f"{notice.INTERNAL_ERROR} Its number is {number}.", print_exception=False) from error

    handler.__qualname__ = f"api.{answer.__name__}"
    handler.__annotations__ = {name: TYPES[name] for name in inputs}
    parameters = [
        Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=TYPES[name]) for name in inputs
    ]
    parameters[0] = parameters[0].replace(default=Parameter.empty)  # the picture
    vars(handler)["__signature__"] = Signature(parameters, return_annotation=GenericAlias(tuple, returns))
    return handler


def run_steps(context: AppContext, given: Mapping[str, Any]) -> Generator[RunProgress, None, Run]:
    """Run untrusted inputs from an empty memory. Raises DemoError: the first one that cannot be used."""
    for name in TEXTS:
        if not isinstance(value := given.get(name), str | None):
            raise SettingError(f"{name} is text; got {type(value).__name__}.")
    changes = given["settings"] or {}
    if not isinstance(changes, dict):
        raise SettingError("settings is an object {name: value}.")
    checked = {name: get_setting(name).parse_untrusted(value) for name, value in changes.items()}
    words = {n: v for n, v in given.items() if n not in ("image", "preset", "settings", "backbone")}
    image = given["image"]
    if (file := uploaded_file(image.get("path") if isinstance(image, dict) else None)) is None:
        raise PictureError("The picture is an uploaded file.", 'Pass handle_file("picture.png") of gradio_client.')
    request = RunRequest.parse(file, start=given["preset"] or "recommended", changes=checked, **words)
    models, name = context.models, given["backbone"]
    if name in TOWERS:  # the small ones are loaded when they are asked for
        for _ in models.load_steps(name):
            yield RunProgress("Loading the model", 0.0)
    if name is not None and not models.is_loaded(name):
        hint = "Leave backbone out, or load it on the page."
        raise BackboneError(f"The model {name[:60]!r} is not loaded here.", hint)
    engine = models.default if name is None else models.get(name)
    return (yield from request.opened(engine.info.side).run_steps(engine))


def defences() -> list[Record]:
    """The defences: name, title, sentence, source, what they see, their settings, what an attacker differentiates."""
    return [
        {name: getattr(one, name) for name in (*CATALOGUE, "sees")}
        | {"settings": list(one.param_names.values()), "adaptive": one.adaptive.kind if one.adaptive else "automatic"}
        for one in DEFENCES.values()
    ]


def attacks() -> list[Record]:
    """The attacks: name, title, sentence, source, what the attacker knows, and whether they take a target and a budget."""
    names = (*CATALOGUE, "knows", "does_not_know", "targetable", "bounded", "loss_unit")
    return [{name: getattr(one, name) for name in names} for one in ATTACKS.values()]


def settings() -> list[Record]:
    """The settings: name, what they do, kind, default, the paper's value, limits, choices and unit."""
    names = ("name", "label", "help", "group", "kind", "default", "paper", "unit")
    return [
        {name: getattr(one, name) for name in names}
        | {"choices": list(one.choices)}
        | {name: limit if isfinite(limit := getattr(one, name)) else None for name in ("low", "high")}
        for one in SETTINGS.values()
    ]


def _png(run: Run) -> FileData:
    """The delivered picture, exact to the pixel, in Gradio's folder, from which it is deleted after an hour."""
    png = png_bytes(run.attacked.picture.pixels)
    return FileData(path=save_bytes_to_cache(png, "attacked.png", get_upload_folder()), orig_name="attacked.png")


def uploaded_file(path: JsonValue) -> Path | None:
    """The file of an untrusted path; None: it is no regular file in the folder of uploads."""
    if not isinstance(path, str) or "\0" in path:
        return None
    try:
        file = Path(path).resolve()
        inside = file.is_relative_to(Path(get_upload_folder()).resolve())
        return file if inside and file.is_file() and not Path(path).is_symlink() else None
    except (OSError, ValueError):  # a name that is too long, or no text
        return None
