"""Start the page: build the engine, build the page, launch.  Also what Hugging Face Spaces runs.

Environment: ``RITA_BACKBONE`` (default ``embedded``), ``RITA_DEVICE``, ``RITA_HOST``
(default ``127.0.0.1``), ``RITA_PORT`` (default 7860).
"""

from __future__ import annotations

import os
import sys

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")


def serve(
    backbone: str | None = None,
    host: str | None = None,
    port: int | None = None,
    device: str | None = None,
) -> int:
    """Serve the page until it is interrupted; returns the exit status."""
    from rita_demo.engine import Engine
    from rita_demo.errors import DemoError
    from rita_demo.ui.page import build, launch_options

    device = device or os.environ.get("RITA_DEVICE") or None
    try:
        engine = Engine(backbone or os.environ.get("RITA_BACKBONE", "embedded"), device)
    except DemoError as error:
        print(error, file=sys.stderr)
        return 1
    page = build(engine, load=lambda name: Engine(name, device))
    page.queue(max_size=64).launch(
        server_name=host or os.environ.get("RITA_HOST", "127.0.0.1"),
        server_port=port or int(os.environ.get("RITA_PORT", "7860")),
        **launch_options(),
    )
    return 0


if __name__ == "__main__":
    sys.exit(serve())
