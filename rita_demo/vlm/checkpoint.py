"""Find the weights of a model in what a file holds, and load them.

Training scripts save a state dict by itself or under a key (``state_dict``, ``model``, ``ema``, ``vision_encoder_state_dict``, ...), and
with names that begin with the model's place in a larger module (``module.``, ``model.``, ``visual.``, ...). So every dict of
tensors is compared with the model's own names; those of a CLIP of Hugging Face's transformers are changed into them first."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
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
VISION_KEY = "vision_encoder_state_dict"  # key of the vision tower in files of TeCoA and PMG-AFT
#: Modules around a module, anywhere in a name: of several GPUs, of torch.compile, of sharding.
_AROUND = {"module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"}
#: Numbers beside weights: of OpenAI's archives, and of averages of weights (torch, ema-pytorch).
_NO_WEIGHTS = {"input_resolution", "context_length", "vocab_size", "n_averaged", "initted", "step"}
#: Of several state dicts that fit, the trained weights come before their averages and before other copies.
_COPY = re.compile(r"ema|averag|swa|momentum|teacher|target|best|init|base|old", re.IGNORECASE)

_SAVE_HINT = (
    "Save the model's state_dict(), by itself or under a key such as state_dict, model or vision_encoder_state_dict."
)

Adapt = Callable[[dict[str, Tensor]], dict[str, Tensor]]


@dataclass(frozen=True)
class StateDict:
    """A dict of tensors of a file, named as in the model. ``part``: the keys that lead to it in the file, and the start
    of its names ("" for none). ``whole``: it has a text tower as well."""

    part: str
    tensors: dict[str, Tensor]
    whole: bool


def load_weights(model: nn.Module, path: Path, name: str) -> str:
    """Load a checkpoint into ``model``; the file and the model must have the same keys and shapes. Returns a sentence on
    which of several state dicts that fit was taken, "" where there is one.

    ``name``: the architecture's name in error messages, which name the file without its folder. Raises BackboneError:
    not a file, not weights, or weights of another architecture."""
    file, content, wanted = path.name, read_checkpoint(path), model.state_dict()

    def adapt(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
        return _as_open_clip(model, tensors)

    found = _find(content, wanted, frozenset(), adapt)
    if found and not any(_compare_keys(wanted, found[0].tensors).values()):
        _copy_into(model, found[0].tensors, file)
        return _which(found, wanted, file)
    tower = _find(content, _visual(model).state_dict())
    if tower and not tower[0].whole and (VISION_KEY in content or _all_there(_visual(model).state_dict(), tower[0])):
        raise BackboneError(
            f"{file} holds a vision tower alone, without the text tower that belongs to it.",
            f"Name the model that it was trained from before it: {name}:openai+{file}.",
        )
    if not found:
        raise BackboneError(f"{file} cannot be read as weights of {name}: {_no_weights(content)}", _SAVE_HINT)
    keys = _compare_keys(wanted, found[0].tensors)
    where = f"({_in_part(found[0])}{_list_keys(keys)})"
    if not keys["missing"] and not keys["other_size"]:
        raise BackboneError(f"{file} holds more weights than {name} has {where}.", "Save the model without them.")
    raise BackboneError(
        f"{file} holds weights of another architecture than {name} {where}.",
        _names_hint(found[0]) or "Write the architecture it was trained with before the colon.",
    )


def load_vision_weights(model: Any, path: Path, name: str, allowed_keys: frozenset[str] = frozenset()) -> str:
    """Load a checkpoint of a vision tower into ``model.visual``; the rest of the model stays. Returns as
    :func:`load_weights`.

    ``name``: the model's name in error messages. ``allowed_keys``: keys of the tower that may be missing, where it keeps
    the weights of ``model``, or left over, and are then not used. Raises BackboneError: not a file, not weights, no vision
    tower or another one; or an allowed key that is neither missing nor left over."""
    file, content, wanted = path.name, read_checkpoint(path), model.visual.state_dict()
    found = _find(content, wanted, allowed_keys)
    if not found:
        message = f"{file} cannot be read as the weights of a vision tower: {_no_weights(content)}"
        raise BackboneError(message, _SAVE_HINT)
    best = found[0]
    if best.whole:
        raise BackboneError(
            f"{file} holds a whole model, not a vision tower alone.",
            f"Name it by itself: {name.partition(':')[0]}:{file}.",
        )
    keys = _compare_keys(wanted, best.tensors, allowed_keys)
    if any(keys.values()):
        raise BackboneError(
            f"{file} does not hold the vision tower of {name} ({_in_part(best)}{_list_keys(keys)}).",
            _names_hint(best)
            or "Name the model that it was trained from. Keys that may be missing or left over are named after the "
            "file: +except=KEY,KEY.",
        )
    if idle := sorted(key for key in allowed_keys if (key in wanted) == (key in best.tensors)):
        raise BackboneError(
            f"{', '.join(idle)[:200]} is neither missing nor left over in {file}.",
            "Name only such keys after +except=.",
        )
    _copy_into(model.visual, {k: v for k, v in best.tensors.items() if k in wanted}, file)
    return _which(found, wanted, file, allowed_keys)


def _find(
    content: Any,
    wanted: dict[str, Tensor],
    allowed: frozenset[str] = frozenset(),
    adapt: Adapt = lambda tensors: tensors,
) -> list[StateDict]:
    """Every state dict in the content of a file, those that fit ``wanted`` best first; ``adapt`` is applied to each."""
    found = [
        replace(one, tensors=adapt(one.tensors))
        for part, tensors in _dicts_of_tensors(content)
        for one in _named_as(wanted, part, tensors)
    ]

    def order(one: StateDict) -> tuple[int, bool, bool]:
        keys = _compare_keys(wanted, one.tensors, allowed)
        return 2 * len(keys["missing"]) + sum(map(len, keys.values())), one.whole, bool(_COPY.search(one.part))

    return sorted(found, key=order)  # those of one rank as in the file


def _dicts_of_tensors(content: Any, part: str = "", depth: int = 0) -> Iterator[tuple[str, dict[str, Tensor]]]:
    """(keys that lead to it, dict) of every dict with tensors under names."""
    if not isinstance(content, dict) or depth > DEEPEST:
        return
    named = {key: value for key, value in content.items() if isinstance(key, str)}
    if tensors := {key: value for key, value in named.items() if isinstance(value, Tensor)}:
        yield part, tensors
    for key, value in named.items():
        if key.lower().startswith("optim"):  # averages of gradients may have the names of the weights
            continue
        yield from _dicts_of_tensors(value, f"{part}.{key}".lstrip("."), depth + 1)


def _named_as(wanted: dict[str, Tensor], part: str, tensors: dict[str, Tensor]) -> Iterator[StateDict]:
    """The dict with the model's own names: without the start under which most of them stand, which is one for each
    model where it holds several. Nothing where two tensors get one name."""
    whole = any("token_embedding." in key for key in tensors)
    named = [(".".join(p for p in key.split(".") if p not in _AROUND), value) for key, value in tensors.items()]
    bare = {key: value for key, value in _own_names(dict(named)).items() if key.rpartition(".")[2] not in _NO_WEIGHTS}
    counts: Counter[str] = Counter()
    for key in bare:
        parts = key.split(".")
        counts.update(".".join([*parts[:n], ""]) for n in range(len(parts)) if ".".join(parts[n:]) in wanted)
    complete = [start for start, count in counts.items() if count == len(wanted)]
    starts = complete or sorted(counts, key=lambda start: (-counts[start], len(start)))[:1] or [""]
    home = {key: max((start for start in starts if key.startswith(start)), key=len, default=None) for key in bare}
    if len(dict(named)) < len(named):
        return
    for start in starts:
        own = {key.removeprefix(start): value for key, value in bare.items() if home[key] == start}
        rest = {key: value for key, value in bare.items() if home[key] is None}
        outside = {f"{key} (outside {start})" if key in own else key: value for key, value in rest.items()}
        yield StateDict(f"{part}.{start}".strip("."), own | outside, whole)


def _own_names(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a CLIP of transformers under open_clip's names; others, and those of a damaged one, as they are."""
    with suppress(KeyError, RuntimeError):
        if is_of_transformers(tensors):
            return open_clip_weights(tensors)
    return tensors


def _as_open_clip(model: Any, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The changes of open_clip's own loader: names of older versions, and positions of another number of tokens."""
    try:
        tensors = dict(convert_state_dict(model, tensors))
        if "positional_embedding" in tensors and not hasattr(model, "positional_embedding"):
            tensors = convert_to_custom_text_state_dict(tensors)
        if "logit_scale" in tensors:
            tensors["logit_scale"] = tensors["logit_scale"].reshape(model.logit_scale.shape)
        resize_pos_embed(tensors, model)
        resize_text_pos_embed(tensors, model)
    except Exception:  # of another architecture: the comparison of names and sizes says how it differs
        pass
    return tensors


def _copy_into(module: nn.Module, tensors: dict[str, Tensor], file: str) -> None:
    try:
        module.load_state_dict(tensors, strict=False)
    except Exception as error:  # the right names and sizes, and still values that cannot be copied
        raise BackboneError(f"{file} cannot be read as weights: its values cannot be copied.", _SAVE_HINT) from error


def _visual(model: Any) -> nn.Module:
    return model.visual


def _all_there(wanted: dict[str, Tensor], found: StateDict) -> bool:
    return wanted.keys() <= found.tensors.keys()


def _which(found: list[StateDict], wanted: dict[str, Tensor], file: str, allowed: frozenset[str] = frozenset()) -> str:
    """A sentence on the first of the state dicts, where others fit as well."""
    fitting = [
        one.part or "the file itself" for one in found if not any(_compare_keys(wanted, one.tensors, allowed).values())
    ]
    if len(fitting) < 2:
        return ""
    others = ", ".join(fitting[1:])
    return f"Of the weights in {file} those of {fitting[0]} are used, not those of {others}: save others alone to use them."


def _in_part(one: StateDict) -> str:
    return f"in its part {one.part[:60]}: " if one.part else ""


def _names_hint(one: StateDict) -> str:
    hugging_face = any("encoder.layers." in key and ".self_attn." in key for key in one.tensors)
    return (
        "They have the names of Hugging Face's transformers: use the same weights in the names of open_clip or OpenAI."
        if hugging_face
        else ""
    )


def _no_weights(content: Any) -> str:
    """What a file without a state dict holds."""
    if any(True for _ in _dicts_of_tensors(content)):
        return "two of its tensors get one name."
    if isinstance(content, dict) and content:
        return f"it has no tensors under names, but {', '.join(map(str, list(content)[:5]))[:100]}."
    return f"it holds {'nothing' if content in ({}, [], None) else 'a ' + type(content).__name__}."


def _compare_keys(
    wanted: dict[str, Tensor], found: dict[str, Tensor], allowed: frozenset[str] = frozenset()
) -> dict[str, list[str]]:
    """Keys of ``found`` that are missing, unexpected or of another size; ``allowed`` may be missing or unexpected."""
    return {
        "missing": [key for key in wanted if key not in found and key not in allowed],
        "unexpected": [key for key in found if key not in wanted and key not in allowed],
        "other_size": [key for key in wanted if key in found and wanted[key].shape != found[key].shape],
    }


def _list_keys(keys: dict[str, list[str]]) -> str:
    found = []
    for what, wrong in keys.items():
        if wrong:
            more = f" and {len(wrong) - MAX_KEYS_SHOWN} more" if len(wrong) > MAX_KEYS_SHOWN else ""
            found.append(f"{what.replace('_', ' ')}: {', '.join(wrong[:MAX_KEYS_SHOWN])}{more}")
    return "; ".join(found)
