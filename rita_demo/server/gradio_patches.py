"""Three changes of Gradio's behaviour, for this process."""

import copy
from typing import Any

import gradio as gr
from gradio import utils
from gradio.blocks import Block, BlockFunction
from gradio.state_holder import SessionState

from rita_demo.process import logging as process_logging
from rita_demo.records.json_value import JsonValue
from rita_demo.server.request_limits import UNREADABLE

_gradio_preprocess, _gradio_postprocess = gr.Blocks.preprocess_data, gr.Blocks.postprocess_data


def patch_gradio() -> None:
    """Change three things.

    - Values that no component takes are refused with one sentence; Gradio logs a traceback and says nothing.
    - An output that an event does not change costs nothing. Gradio builds its component anew, 0.7 ms for each.
    - A generator's next value of an output is sent whole. Gradio sends edits of the value before, and its browser client
      makes them in place: a value that a busy page has received but not shown yet becomes the next one, which for an
      output that does not change is no value at all. The page then kept an older picture.
    """
    for owner, name, ours in (
        (gr.Blocks, "preprocess_data", _preprocess_untrusted),
        (gr.Blocks, "postprocess_data", _postprocess_changed),
        (utils, "diff", _whole_value),
    ):
        setattr(owner, name, ours)


async def _preprocess_untrusted(page: gr.Blocks, event: BlockFunction, *values: Any, **named: Any) -> list[Any]:
    """Gradio's ``preprocess_data``. Raises gr.Error: a value that no browser sends."""
    try:
        return await _gradio_preprocess(page, event, *values, **named)
    except Exception as error:
        if isinstance(error, gr.Error) and not error.print_exception:
            raise
        number = process_logging.log_bad_request("an event that could not be read", error)
        raise gr.Error(UNREADABLE.format(number), print_exception=False) from error


async def _postprocess_changed(
    page: gr.Blocks, event: BlockFunction, answer: Any, state: SessionState | None
) -> list[Any]:
    """Gradio's ``postprocess_data`` of only those outputs to which the answer, ``{component: value}``, gives a value."""
    outputs: set[Block] = set(event.outputs)
    if not isinstance(answer, dict) or not answer.keys() <= outputs:
        return await _gradio_postprocess(page, event, answer, state)
    changed = {output: v for output, v in answer.items() if not (isinstance(v, dict) and v == gr.skip())}
    narrow, values = copy.copy(event), list(changed.values())
    narrow.outputs = list(changed)
    # a single output takes its value alone
    done = await _gradio_postprocess(page, narrow, values[0] if len(values) == 1 else values, state) if values else []
    answers = dict(zip(changed, done, strict=True))
    return [answers.get(output, None if output.stateful else gr.skip()) for output in event.outputs]


def _whole_value(old: JsonValue, new: JsonValue) -> list[list[JsonValue]]:
    """Gradio's edits from ``old`` to ``new``: none, or one that replaces it."""
    return [] if old == new else [["replace", [], new]]
