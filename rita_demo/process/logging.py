"""The log: one line per event on stderr.

It never holds a picture, a file name, a class name or a password. An event has a few fields; an error has its type and
its place in the code, but not its message, which may quote user input (``RITA_DEBUG=1`` adds it).
"""

import logging
import secrets
import sys
import threading
import traceback
from datetime import datetime
from types import TracebackType
from typing import Any

LOG = logging.getLogger("rita_demo")
_print_exc = traceback.print_exc


def configure(*, debug: bool = False) -> None:
    """Send all log messages of this process, those of libraries too, to stderr in one format. ``debug``: log errors with
    their messages."""
    handler = logging.StreamHandler()
    handler.setFormatter(LogFormatter(debug))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    LOG.setLevel(logging.INFO)
    logging.captureWarnings(True)
    # Gradio prints exceptions that its handlers do not catch: log them as all others, with an id and no message.
    traceback.print_exc = _log_printed_exception
    threading.excepthook = lambda a: _log_uncaught(a.exc_type, a.exc_value, a.exc_traceback)
    sys.excepthook = _log_uncaught


def log_event(message: str, /, **fields: Any) -> None:
    """Log an event; ``fields`` are numbers and words of this program, nothing from a visitor."""
    LOG.info(message, extra={"fields": fields})


def log_error(message: str, error: BaseException) -> str:
    """Log an unexpected error; returns its id in the log."""
    number = secrets.token_hex(4)
    LOG.error(message, exc_info=error, extra={"fields": {"id": number}})
    return number


def log_bad_request(message: str, error: BaseException) -> str:
    """Log malformed user input in one line, with the error's type and place; returns its id in the log."""
    number = secrets.token_hex(4)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{'/'.join(frame.filename.split('/')[-2:])}:{frame.lineno} {frame.name}"
    LOG.warning(message, extra={"fields": {"id": number, "error": type(error).__name__, "where": where}})
    return number


def _log_printed_exception(limit: int | None = None, file: Any = None, chain: bool = True) -> None:
    error = sys.exc_info()[1]
    if file is not None or error is None:
        _print_exc(limit, file, chain)
    else:
        log_error("error in a library", error)


def _log_uncaught(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    if error is not None and not isinstance(error, KeyboardInterrupt | SystemExit):
        log_error("error that nothing caught", error)


class LogFormatter(logging.Formatter):
    """One line per event, and the traceback of an error."""

    def __init__(self, debug: bool) -> None:
        super().__init__()
        self._debug = debug

    def format(self, record: logging.LogRecord) -> str:
        fields = dict(getattr(record, "fields", {}))
        errors: list[BaseException] = []  # the first cause first, as in a traceback
        error = record.exc_info[1] if record.exc_info else None
        while error is not None and error not in errors:
            errors.insert(0, error)
            error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if errors:
            fields.setdefault("id", secrets.token_hex(4))
        kinds = [f"{type(e).__name__}: {e}" if self._debug else type(e).__name__ for e in errors]
        level, event = record.levelname.lower(), record.getMessage()
        now = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        lines = [" ".join([now, level, event, *(f"{name}={value}" for name, value in fields.items())])]
        for error, kind in zip(errors, kinds):
            frames = "".join(traceback.format_tb(error.__traceback__)).rstrip()
            lines += ["Traceback (most recent call last):", frames, kind]
        return "\n".join(lines)
