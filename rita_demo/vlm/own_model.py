"""Any module with ``encode_image`` and ``encode_text`` as a backbone.

Prompt learning needs the gradient with respect to token embeddings, and ``encode_text`` takes ids. So the output of the
module's token embedding is replaced while ``encode_text`` runs."""

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import Unpack

import torch
from open_clip import get_tokenizer
from torch import Tensor, nn
from torch.nn import functional as F

from rita_demo.process.torch_state import in_plain_torch
from rita_demo.records.errors import BackboneError
from rita_demo.vlm.backbone import Backbone, Preprocessing, pick_device
from rita_demo.vlm.text_tower import TextTower


@in_plain_torch
def own_model(
    module: nn.Module,
    tokenizer: Callable[[list[str]], Tensor] | None = None,
    *,
    name: str,
    side: int,
    temperature: float = 0.01,
    device: str | None = None,
    **preprocessing: Unpack[Preprocessing],
) -> Backbone:
    """A backbone for :class:`rita_demo.Engine`. The module is changed: frozen, in eval mode, moved to the device.
    Raises BackboneError: one of the functions or the embedding is missing, the tokenizer is another model's, or an answer
    is not finite.

    Args:
        module: ``encode_image`` maps pixels (B, 3, side, side) to (B, D), ``encode_text`` ids (B, T) to (B, D), in
            torch operations that have a gradient. Ids are looked up in an ``nn.Embedding``, its largest one.
        tokenizer: sentences -> ids (n, T) int64, with one start token, then CLIP's tokens; None: CLIP's own, T = 77.
        name: for tables and files.
        side: of the pictures, in pixels. temperature: what cosines are divided by.
        device: a torch device name; None: as :class:`rita_demo.Engine`.
        preprocessing: ``mean``, ``std`` (3,) and ``interpolation`` as in :class:`Backbone`; CLIP's own by default."""
    _leave_inference_mode(module)
    tables = [part for part in module.modules() if isinstance(part, nn.Embedding)]
    if not (tables and hasattr(module, "encode_image") and hasattr(module, "encode_text")):
        raise BackboneError(
            f"{name} is not a module with encode_image, encode_text and a token embedding.",
            "docs/extending.md shows what is needed.",
        )
    tokenizer = tokenizer or get_tokenizer("ViT-B-32")
    table, ids = max(tables, key=lambda table: table.num_embeddings), tokenizer(["a"])
    if (largest := int(ids.max())) >= table.num_embeddings:
        raise BackboneError(
            f"The tokenizer gives the id {largest}, and the token embedding of {name} has {table.num_embeddings} rows.",
            "Give the model's own tokenizer, a function from sentences to ids. Its start and its tokens should be CLIP's.",
        )
    tower = _ModuleTower(
        token_embedding=table,
        positional_embedding=torch.empty(ids.shape[1], 0, dtype=torch.float32, device="cpu"),
        transformer=module,
        mask=None,
        ln_final=nn.Identity(),
        projection=None,
        pool="argmax",
        end_token=0,
        tokenizer=tokenizer,
    )
    model = _Model(module, side, temperature)
    return Backbone(model, None, name=name, title=name, tower=tower, device=device or pick_device(), **preprocessing)


def _leave_inference_mode(module: nn.Module) -> None:
    """Tensors that were made in inference mode never have a gradient; their copies may. In place: a function of the module
    may name its parts."""
    copies: dict[Tensor, Tensor] = {}  # a tensor that stands in two places stays one
    for part in module.modules():
        for name, tensor in [*part.named_parameters(recurse=False), *part.named_buffers(recurse=False)]:
            if tensor.is_inference():
                copy = (
                    nn.Parameter(tensor.clone(), requires_grad=False)
                    if isinstance(tensor, nn.Parameter)
                    else tensor.clone()
                )
                setattr(part, name, copies.setdefault(tensor, copy))


class _Model(nn.Module):
    """The module with the attributes of an open_clip model; it is its own vision tower."""

    def __init__(self, module: nn.Module, side: int, temperature: float) -> None:
        super().__init__()
        self.module, self.image_size = module, side
        self.logit_scale = nn.Parameter(torch.tensor(log(1 / temperature), dtype=torch.float32, device="cpu"))

    @property
    def visual(self) -> nn.Module:
        return self

    def forward(self, pixels: Tensor) -> Tensor:
        return self.module.encode_image(pixels)  # type: ignore[operator]


@dataclass(frozen=True)
class _ModuleTower(TextTower):
    """``transformer`` is the module; every sequence has its full length, and the module finds its pooled token."""

    layers = 24  # as in large towers: what is too much to keep is computed again

    @property
    def device(self) -> torch.device:
        return self.token_embedding.weight.device

    def weights(self) -> dict[str, Tensor]:
        return {}  # they are among those of the module, which is the vision tower as well

    def tokens(self, sentences: list[str]) -> Tensor:
        return self.tokenizer(sentences)

    def encode(self, embedded: Tensor, position: Tensor, tokens: Tensor | None = None) -> Tensor:
        assert tokens is not None  # every prompt has ids
        hook = self.token_embedding.register_forward_hook(lambda *_: embedded)
        try:
            features = self.transformer.encode_text(tokens.to(self.device))
        finally:
            hook.remove()
        return F.normalize(features.float(), dim=-1)
