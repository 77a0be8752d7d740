"""Gradio fetches addresses that a visitor names in place of an upload or a file; this page needs none.

Its guard against private addresses stays beside the point: the server would still ask any public one, for anybody.
"""

from __future__ import annotations

from typing import Any

import gradio as gr
from fastapi import HTTPException
from gradio import processing_utils, routes

REFUSED = "This server fetches no addresses."


def stay_in() -> None:
    """From now on no event and no address of Gradio's makes this process ask another machine. Downloads of models
    and datasets are our own code and not concerned."""
    processing_utils.async_ssrf_protected_get = _no_input
    processing_utils.async_ssrf_protected_download = _no_input
    routes.secure_url_stream_response = _no_file


async def _no_input(*where: Any, **how: Any) -> Any:
    raise gr.Error(REFUSED, print_exception=False)


async def _no_file(*where: Any, **how: Any) -> Any:
    raise HTTPException(status_code=403, detail=REFUSED)
