"""What a server writes down: one line per happening on stderr, for people or (``RITA_LOG=json``) as JSON.

Never a picture, a file name, a class name or a password: events carry their own few fields, and of an error its
kind and where it arose, not its message, which may quote what a visitor sent (``RITA_DEBUG=1`` adds it).
"""

from __future__ import annotations

import json
import logging
import secrets
import sys
import threading
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

LOG = logging.getLogger("rita_demo")
_print_exc = traceback.print_exc


def start(style: str = "text", *, debug: bool = False) -> None:
    """Send everything that is logged in this process, by libraries as well, to stderr in one form.

    Args:
        style: ``text`` or ``json``.
        debug: errors with their messages.
    """
    form = JsonLines(debug) if style == "json" else Lines(debug)
    handler = logging.StreamHandler()
    handler.setFormatter(form)
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    LOG.setLevel(logging.INFO)
    logging.captureWarnings(True)
    # Gradio prints what escapes a handler; it shall have an id and no message like every other error.
    traceback.print_exc = _caught
    threading.excepthook = lambda a: _escaped(a.exc_type, a.exc_value, a.exc_traceback)
    sys.excepthook = _escaped


def adopt(*names: str) -> None:
    """Libraries with handlers of their own write like all others from now on."""
    for name in names:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True


def event(what: str, /, **fields: Any) -> None:
    """Something happened; ``fields`` are numbers and words of our own, nothing of a visitor's."""
    LOG.info(what, extra={"fields": fields})


def failure(what: str, error: BaseException) -> str:
    """An error nobody expected; returns the id under which it is written down."""
    number = secrets.token_hex(4)
    LOG.error(what, exc_info=error, extra={"fields": {"id": number}})
    return number


def refused(what: str, error: BaseException) -> str:
    """What a stranger sent stumbled over itself: one line with the error's kind and where it arose; returns its id."""
    number = secrets.token_hex(4)
    fields = {"id": number, "error": type(error).__name__, "where": _places(error)[-1]}
    LOG.warning(what, extra={"fields": fields})
    return number


def _caught(limit: int | None = None, file: Any = None, chain: bool = True) -> None:
    error = sys.exc_info()[1]
    if file is not None or error is None:
        _print_exc(limit, file, chain)
    else:
        failure("error in a library", error)


def _escaped(
    kind: type[BaseException], error: BaseException | None, trace: TracebackType | None
) -> None:
    if error is not None and not isinstance(error, KeyboardInterrupt | SystemExit):
        failure("error that nothing caught", error)


class _Form(logging.Formatter):
    def __init__(self, debug: bool) -> None:
        super().__init__()
        self.debug = debug

    def fields(self, record: logging.LogRecord) -> dict[str, Any]:
        found = dict(getattr(record, "fields", {}))
        if record.exc_info and record.exc_info[1] is not None:
            found.setdefault("id", secrets.token_hex(4))
        return found

    def said(self, error: BaseException) -> str:
        """Its kind; with its message only where that was asked for."""
        kind = type(error).__name__
        return f"{kind}: {error}" if self.debug else kind


class Lines(_Form):
    """For people."""

    def format(self, record: logging.LogRecord) -> str:
        now = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        words = [now, record.levelname.lower(), record.getMessage()]
        words += [f"{name}={value}" for name, value in self.fields(record).items()]
        lines = [" ".join(words)]
        for error in _chain(record):
            lines += ["Traceback (most recent call last):"]
            lines += ["".join(traceback.format_tb(error.__traceback__)).rstrip()]
            lines += [self.said(error)]
        return "\n".join(lines)


class JsonLines(_Form):
    """For machines: one object a line, with ``time`` (UTC), ``level``, ``event`` and the event's fields."""

    def format(self, record: logging.LogRecord) -> str:
        what = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **self.fields(record),
        }
        errors = list(_chain(record))
        if errors:
            what["error"] = [self.said(error) for error in errors]
            what["where"] = [place for error in errors for place in _places(error)]
        return json.dumps(what, ensure_ascii=False, default=str)


def _chain(record: logging.LogRecord) -> Iterator[BaseException]:
    """The error and what caused it, the cause first as Python tells it."""
    found: list[BaseException] = []
    error = record.exc_info[1] if record.exc_info else None
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    yield from reversed(found)


def _places(error: BaseException) -> list[str]:
    """``file:line function`` of every frame; of the file's path the last two parts."""
    return [
        f"{'/'.join(frame.filename.split('/')[-2:])}:{frame.lineno} {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
    ]
