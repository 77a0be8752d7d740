"""The text tower of an open_clip model, with token embeddings as its input.

open_clip's ``encode_text`` takes token ids padded to 77. Here the input is token embeddings (learnable contexts have
no ids), and a sequence ends at the pooled token where later tokens cannot change the feature. Other towers get the
full length, or are refused."""

from dataclasses import dataclass
from typing import Any

import torch
from open_clip import CLIP, CustomTextCLIP, SimpleTokenizer
from open_clip.transformer import TextTransformer, Transformer
from torch import Tensor, nn
from torch.nn import functional as F

from rita_demo.records.errors import BackboneError
from rita_demo.vlm.catalogue import OpenClipRecord

HINT = "Choose a model with CLIP's own text tower, for example ViT-B-16-quickgelu:openai."


@dataclass(frozen=True)
class TextTower:
    """Token embeddings to unit text features, equal to ``model.encode_text`` up to rounding. ``mask`` (T, T) is
    additive; None when every token attends to every other one. ``pool`` says which token's output is the feature:
    "argmax" (largest id, CLIP's end token), "eos" (first ``end_token``), "first" or "last"."""

    token_embedding: nn.Embedding
    positional_embedding: Tensor
    transformer: Transformer
    mask: Tensor | None
    ln_final: nn.Module
    projection: Tensor | nn.Linear | None
    pool: str
    end_token: int
    tokenizer: SimpleTokenizer

    @property
    def context_length(self) -> int:
        """Longest sequence in tokens, start and end included (77 for CLIP)."""
        return len(self.positional_embedding)

    @property
    def can_truncate(self) -> bool:
        """Whether the tokens after the pooled one do not change the feature and can be left out."""
        return self.mask is not None and self.pool in ("argmax", "eos")

    @property
    def device(self) -> torch.device:
        return self.positional_embedding.device

    @property
    def layers(self) -> int:
        return len(self.transformer.resblocks)

    def weights(self) -> dict[str, Tensor]:
        """All weights of the tower by name."""
        modules = {"transformer": self.transformer, "token_embedding": self.token_embedding, "ln_final": self.ln_final}
        if isinstance(self.projection, nn.Linear):
            modules["projection"] = self.projection
        state = {f"{name}.{key}": tensor for name, part in modules.items() for key, tensor in part.state_dict().items()}
        state["positional_embedding"] = self.positional_embedding
        if isinstance(self.projection, Tensor):
            state["projection"] = self.projection
        return state

    def tokens(self, sentences: list[str]) -> Tensor:
        """Ids (n, context_length) int64 on the CPU, cut and padded exactly as open_clip does."""
        return self.tokenizer(sentences, context_length=self.context_length)

    def position(self, tokens: Tensor) -> Tensor:
        """Index of the pooled token of each sequence, (n,) int64, by the rule of ``text_global_pool``."""
        if self.pool == "argmax":
            return tokens.argmax(dim=-1)
        if self.pool == "eos":
            return tokens.eq(self.end_token).int().argmax(dim=-1)
        last = 0 if self.pool == "first" else self.context_length - 1
        return torch.full((len(tokens),), last, dtype=torch.long, device=tokens.device)

    def length(self, position: Tensor) -> Tensor:
        """Number of tokens to encode of each sequence, (n,) int64: up to the pooled token, or all."""
        return position + 1 if self.can_truncate else torch.full_like(position, self.context_length)

    def embed(self, tokens: Tensor) -> Tensor:
        """Token embeddings (..., E) float32 without positions."""
        return self.token_embedding(tokens.to(self.device))

    def encode(self, embedded: Tensor, position: Tensor, tokens: Tensor | None = None) -> Tensor:
        """Unit features (B, D) of token embeddings (B, T, E), pooled at ``position`` (B,). Differentiable with respect
        to ``embedded``. ``tokens`` (B, T): ids, for a tower that chooses its token by them."""
        length = embedded.shape[1]
        x = embedded + self.positional_embedding[:length]
        mask = None if self.mask is None else self.mask[:length, :length]
        x = self.transformer(x, attn_mask=mask)
        # The last norm acts on each token by itself, so only the pooled token needs it.
        return self.project(x[torch.arange(len(x), device=x.device), position.to(x.device)])

    def project(self, pooled: Tensor) -> Tensor:
        """Unit features (..., D) of the pooled tokens (..., E) that leave the last layer."""
        x = self.ln_final(pooled)
        if isinstance(self.projection, nn.Linear):
            x = self.projection(x)
        elif self.projection is not None:
            x = x @ self.projection
        return F.normalize(x, dim=-1)


def unsupported_reason(config: OpenClipRecord) -> str:
    """Why a model of this open_clip config cannot be used here, as a clause; "" if it can. Needs the config alone, so
    that nothing is downloaded for a model that is refused."""
    text = config.get("text_cfg", {})
    if "multimodal_cfg" in config or text.get("embed_cls"):
        return "its text tower is made for writing captions (CoCa)"
    if text.get("hf_model_name"):
        return "its text tower is not one of open_clip's own"
    if text.get("hf_tokenizer_name"):
        return "it splits words in its own way, so that prompts cannot be taken apart and learned"
    if (text.get("tokenizer_kwargs") or {}).get("reduction_mask"):
        return "it shortens long texts at random"
    return ""


def text_tower(model: nn.Module, tokenizer: Any, name: str) -> TextTower:
    """Take the text tower out of a built model. Raises BackboneError: for a tower that this file does not reproduce."""
    source: Any = model if type(model) is CLIP else getattr(model, "text", None)
    supported = type(model) in (CLIP, CustomTextCLIP) and type(source) in (CLIP, TextTransformer)
    if not supported or not isinstance(tokenizer, SimpleTokenizer) or tokenizer.reduction_fn is not None:
        raise BackboneError(f"{name} has a text tower that is not supported here.", HINT)
    pool = source.text_pool_type if type(source) is CLIP else source.pool_type
    end = source.text_eos_id if type(source) is CLIP else source.eos_id
    same_length = len(source.positional_embedding) == source.context_length
    padded = getattr(source, "use_pad_mask", False) or getattr(source, "cls_emb", None) is not None
    words = source.token_embedding.num_embeddings >= tokenizer.vocab_size
    if pool not in ("argmax", "eos", "first", "last") or not same_length or padded or not words:
        raise BackboneError(f"{name} has a text tower that is not supported here.", HINT)
    return TextTower(
        token_embedding=source.token_embedding,
        positional_embedding=source.positional_embedding,
        transformer=source.transformer,
        mask=source.attn_mask,
        ln_final=source.ln_final,
        projection=source.text_projection,
        pool=pool,
        end_token=end,
        tokenizer=tokenizer,
    )
