"""For defences that add something to the picture before CLIP answers; to an attacker it is a constant."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from rita_demo.defences.contract import DefenceInput, verdict_of
from rita_demo.process.lazy import Tensor, torch
from rita_demo.records import Verdict
from rita_demo.settings.setting import Setting

#: A setting of them in steps between the 256 levels of a pixel value.
levels = partial(Setting, kind="float", unit="/255", low=0.0, high=64.0)
Change = Callable[[DefenceInput, Tensor], Tensor]  # pixels (1, 3, S, S) in [0, 1] -> what is added to them


def climbed(value: Callable[[Tensor], Tensor], pixels: Tensor, delta: Tensor, params: Mapping[str, Any]) -> Tensor:
    """``delta`` after one signed step that raises the scalar ``value(pixels + delta)``, at most ``params["budget"]`` /
    255. It works under ``inference_mode`` too."""
    with torch.inference_mode(False), torch.enable_grad():
        at = (pixels + delta).detach().clone().requires_grad_()
        (slope,) = torch.autograd.grad(value(at), at)
    radius = params["budget"] / 255
    delta = (delta + params["step"] / 255 * slope.sign()).clamp(-radius, radius)
    return (pixels + delta).clamp(0, 1) - pixels


def changed_logits(change: Change) -> Callable[[DefenceInput], Tensor]:
    """CLIP's logits (K,) of the changed picture, with the gradient of the picture itself."""
    return lambda inputs: _changed(inputs, change)[0]


def changed_answer(change: Change) -> Callable[[DefenceInput], Verdict]:
    """CLIP's answer to the changed picture, with what was added."""

    def answer(inputs: DefenceInput) -> Verdict:
        logits, added = _changed(inputs, change)
        return replace(verdict_of(logits.softmax(-1)), added=added[0])

    return answer


def _changed(inputs: DefenceInput, change: Change) -> tuple[Tensor, Tensor]:
    pixels = inputs.draw_views(1)
    added = change(inputs, pixels.detach())
    changed = (pixels.detach() + added).clamp(0, 1)
    seen = pixels + (changed - pixels.detach())
    return inputs.encode_images(seen)[0] @ inputs.template_features.T / inputs.temperature, added
