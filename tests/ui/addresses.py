"""Every address of the running page, Gradio's as well, ready to be asked."""

from collections.abc import Iterable, Iterator
from typing import Any

#: What stands in the braces of an address; ``page`` is the visitor's session, which is known to the server.
FILLED = {
    "path_or_url:path": "app.py",
    "path:path": "app.py",
    "url_path:path": "http://127.0.0.1:1/",
    "api_name": "defences",
    "session_hash": "{page}",
    "hash": "{page}",
    "component_id": "3",
    "run": "1",
    "segment_id": "1",
    "ext": "ts",
    "id": "{page}",
    "environment": "client",
    "type": "component",
    "file_name": "index.js",
    "size": "64",
    **dict.fromkeys(("event_id", "key", "page", "function_name", "record_id", "asset_id", "endpoint"), "x"),
}


def every_route(routes: Any) -> Iterator[Any]:
    """Also those of routers inside."""
    for route in routes:
        inside = getattr(route, "effective_candidates", None)
        if inside is None:
            yield route
        else:
            yield from every_route(inside())


def addresses(routes: Iterable[Any]) -> list[tuple[str, str]]:
    """Method and path of each, with its parameters as they are written in the route."""
    return sorted(
        (method, route.path)
        for route in every_route(routes)
        for method in (getattr(route, "methods", None) or ())
        if method not in {"HEAD", "OPTIONS"}
    )


def filled(path: str, page: str) -> str:
    """An address with something in each of its braces.

    Raises:
        AssertionError: a parameter without a value in this list.
    """
    for name, value in FILLED.items():
        path = path.replace(f"{{{name}}}", value.replace("{page}", page))
    assert "{" not in path, f"{path}: say in FILLED what to put in"
    return path
