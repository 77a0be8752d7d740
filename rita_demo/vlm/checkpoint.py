"""Find the weights of a model in what a file holds, and load them.

Training scripts save a state dict by itself or under a key (``state_dict``, ``model``, ``ema``, ``vision_encoder_state_dict``, ...), and
with names that begin with the model's place in a larger module (``module.``, ``model.``, ``visual.``, ...). So the end of
every name is looked for among the model's own; those of a CLIP of Hugging Face's transformers are changed into them first."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from open_clip.convert import convert_state_dict
from open_clip.model import convert_to_custom_text_state_dict, resize_pos_embed, resize_text_pos_embed
from torch import Tensor, nn

from rita_demo.records.errors import BackboneError
from rita_demo.vlm.checkpoint_file import read_checkpoint
from rita_demo.vlm.transformers_names import is_of_transformers, open_clip_weights

MAX_KEYS_SHOWN = 3  # in an error message
DEEPEST = 6  # dicts in dicts
#: Modules around a module, anywhere in a name: of several GPUs, of torch.compile, of sharding.
_AROUND = {"module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"}
#: Numbers beside weights: of OpenAI's archives, and of averages of weights (torch, ema-pytorch).
_NO_WEIGHTS = {"input_resolution", "context_length", "vocab_size", "n_averaged", "initted", "step"}
#: Of several state dicts that fit, the trained weights come before their averages and before other copies.
_COPY = re.compile(r"ema|averag|swa|momentum|teacher|target|best|init|base|old", re.IGNORECASE)
_KEYS = "state_dict, model or vision_encoder_state_dict"
_SAVE_HINT = f"Save the model's state_dict(), by itself or under a key such as {_KEYS}."


@dataclass(frozen=True)
class StateDict:
    """A dict of tensors of a file, named as in the model. ``part``: the keys that lead to it in the file, and the start
    of its names ("" for none). ``whole``: it has a text tower as well. ``missing``, ``unexpected``, ``other_size``: the
    names in which it differs from the model."""

    part: str
    tensors: dict[str, Tensor]
    whole: bool
    missing: list[str]
    unexpected: list[str]
    other_size: list[str]

    @property
    def rank(self) -> tuple[int, bool, bool]:
        """The least fits best."""
        differences = 2 * len(self.missing) + len(self.unexpected) + len(self.other_size)
        return differences, self.whole, bool(_COPY.search(self.part))

    @property
    def fits(self) -> bool:
        return not (self.missing or self.unexpected or self.other_size)

    @property
    def how_it_differs(self) -> str:
        """Its part, and some of the names."""
        parts = []
        for what in ("missing", "unexpected", "other_size"):
            if keys := getattr(self, what):
                more = f" and {len(keys) - MAX_KEYS_SHOWN} more" if len(keys) > MAX_KEYS_SHOWN else ""
                parts.append(f"{what.replace('_', ' ')}: {', '.join(keys[:MAX_KEYS_SHOWN])}{more}")
        return (f"in its part {self.part[:60]}: " if self.part else "") + "; ".join(parts)


def load_weights(model: Any, path: Path, name: str) -> str:
    """Load a checkpoint into ``model``; the file and the model must have the same keys and shapes. Returns a sentence on
    which of several state dicts that fit was taken, "" where there is one.

    ``name``: the architecture's name in error messages, which name the file without its folder. Raises BackboneError:
    not a file, not weights, or weights of another architecture."""
    file, content = path.name, read_checkpoint(path)
    states = _find(content, model, model)
    if states and states[0].fits:
        return _load(model, states, file)
    tower = _find(content, model.visual)
    if tower and not tower[0].whole and not tower[0].missing:
        raise BackboneError(
            f"{file} holds a vision tower alone, without the text tower that belongs to it.",
            f"Name the model that it was trained from before it: {name}:openai+{file}.",
        )
    if not states:
        raise BackboneError(f"{file} cannot be read as weights of {name}: {_what_it_holds(content)}", _SAVE_HINT)
    best = states[0]
    if not best.missing and not best.other_size:
        message = f"{file} holds more weights than {name} has ({best.how_it_differs})."
        raise BackboneError(message, "Save the model without them.")
    raise BackboneError(
        f"{file} holds weights of another architecture than {name} ({best.how_it_differs}).",
        _names_hint(best) or "Write the architecture it was trained with before the colon.",
    )


def load_vision_weights(model: Any, path: Path, name: str, allowed_keys: frozenset[str] = frozenset()) -> str:
    """Load a checkpoint of a vision tower into ``model.visual``; the rest of the model stays. Returns as
    :func:`load_weights`.

    ``name``: the model's name in error messages. ``allowed_keys``: keys of the tower that may be missing, where it keeps
    the weights of ``model``, or left over, and are then not used. Raises BackboneError: not a file, not weights, no vision
    tower or another one; or an allowed key that is neither missing nor left over."""
    file, content = path.name, read_checkpoint(path)
    states = _find(content, model.visual, allowed=allowed_keys)
    if not states:
        message = f"{file} cannot be read as the weights of a vision tower: {_what_it_holds(content)}"
        raise BackboneError(message, _SAVE_HINT)
    best, wanted = states[0], model.visual.state_dict()
    if best.whole:
        raise BackboneError(
            f"{file} holds a whole model, not a vision tower alone.",
            f"Name it by itself: {name.partition(':')[0]}:{file}.",
        )
    if not best.fits:
        raise BackboneError(
            f"{file} does not hold the vision tower of {name} ({best.how_it_differs}).",
            _names_hint(best)
            or "Name the model that it was trained from. Keys that may be missing or left over are named after the "
            "file: +except=KEY,KEY.",
        )
    if idle := sorted(key for key in allowed_keys if (key in wanted) == (key in best.tensors)):
        raise BackboneError(
            f"{', '.join(idle)[:200]} is neither missing nor left over in {file}.",
            "Name only such keys after +except=.",
        )
    return _load(model.visual, states, file)


def _load(module: nn.Module, states: list[StateDict], file: str) -> str:
    try:
        module.load_state_dict(states[0].tensors, strict=False)
    except Exception as error:  # the right names and sizes, and still values that cannot be copied
        raise BackboneError(f"{file} cannot be read as weights: its values cannot be copied.", _SAVE_HINT) from error
    used, *others = [state.part or "the file itself" for state in states if state.fits]
    rest = f"those of {used} are used, not those of {', '.join(others)}: save others alone to use them."
    return f"Of the weights in {file} {rest}" if others else ""


def _find(
    content: Any, module: nn.Module, convert: Any = None, allowed: frozenset[str] = frozenset()
) -> list[StateDict]:
    """Every state dict in the content of a file, those that fit the module best first. ``convert``: a model of open_clip,
    by whose own loader each is changed."""
    wanted, states = module.state_dict(), []
    for part, tensors in _dicts_of_tensors(content):
        for start, named, whole in _named_as(wanted, tensors):
            named = named if convert is None else _as_open_clip(convert, named)
            missing = [key for key in wanted if key not in named and key not in allowed]
            unexpected = [key for key in named if key not in wanted and key not in allowed]
            other_size = [key for key in wanted if key in named and wanted[key].shape != named[key].shape]
            states.append(StateDict(f"{part}.{start}".strip("."), named, whole, missing, unexpected, other_size))
    return sorted(states, key=lambda state: state.rank)  # those of one rank as in the file


def _dicts_of_tensors(content: Any, part: str = "", depth: int = 0) -> Iterator[tuple[str, dict[str, Tensor]]]:
    """(keys that lead to it, dict) of every dict with tensors under names."""
    if not isinstance(content, dict) or depth > DEEPEST:
        return
    named = {key: value for key, value in content.items() if isinstance(key, str)}
    if tensors := {key: value for key, value in named.items() if isinstance(value, Tensor)}:
        yield part, tensors
    for key, value in named.items():
        if not key.lower().startswith("optim"):  # averages of gradients may have the names of the weights
            yield from _dicts_of_tensors(value, f"{part}.{key}".lstrip("."), depth + 1)


def _named_as(wanted: dict[str, Tensor], tensors: dict[str, Tensor]) -> Iterator[tuple[str, dict[str, Tensor], bool]]:
    """(start of its names, a dict with the names of the model, whether it has a text tower): one for each model that is
    there as a whole, else the largest part of one. Nothing where two tensors get one name."""
    named = {".".join(p for p in key.split(".") if p not in _AROUND): value for key, value in tensors.items()}
    if len(named) < len(tensors):
        return
    with suppress(KeyError, RuntimeError):  # a damaged one stays as it is
        named = open_clip_weights(named) if is_of_transformers(named) else named
    named = {key: value for key, value in named.items() if key.rpartition(".")[2] not in _NO_WEIGHTS}
    models: dict[str, dict[str, Tensor]] = {}
    for key, value in named.items():
        parts = key.split(".")
        for n in range(len(parts)):
            if (name := ".".join(parts[n:])) in wanted:
                models.setdefault("".join(f"{part}." for part in parts[:n]), {})[name] = value
    whole = [start for start, weights in models.items() if len(weights) == len(wanted)]
    starts = whole or sorted(models, key=lambda start: (-len(models[start]), len(start)))[:1] or [""]
    homes = {key: max(filter(key.startswith, starts), key=len, default=None) for key in named}
    rest = {key: value for key, value in named.items() if homes[key] is None}
    for start in starts:
        weights = {key.removeprefix(start): value for key, value in named.items() if homes[key] == start}
        outside = {f"{key} (outside {start})" if key in weights else key: value for key, value in rest.items()}
        yield start, weights | outside, any("token_embedding." in key for key in tensors)


def _as_open_clip(model: Any, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The changes of open_clip's own loader: names of older versions, and positions of another number of tokens."""
    with suppress(Exception):  # of another architecture: the comparison of names and sizes says how it differs
        tensors = dict(convert_state_dict(model, tensors))
        if "positional_embedding" in tensors and not hasattr(model, "positional_embedding"):
            tensors = convert_to_custom_text_state_dict(tensors)
        if "logit_scale" in tensors:
            tensors["logit_scale"] = tensors["logit_scale"].reshape(model.logit_scale.shape)
        resize_pos_embed(tensors, model)
        resize_text_pos_embed(tensors, model)
    return tensors


def _names_hint(best: StateDict) -> str:
    if any("encoder.layers." in key and ".self_attn." in key for key in best.tensors):
        return "They have the names of Hugging Face's transformers: use the same weights in the names of open_clip or OpenAI."
    return ""


def _what_it_holds(content: Any) -> str:
    """What a file without a state dict holds."""
    if any(True for _ in _dicts_of_tensors(content)):
        return "two of its tensors get one name."
    if isinstance(content, dict) and content:
        return f"it has no tensors under names, but {', '.join(map(str, list(content)[:5]))[:100]}."
    return f"it holds {'nothing' if content in ({}, [], None) else 'a ' + type(content).__name__}."
