"""Contexts to prompt features: the text tower on "SOS context name . EOT" of every class."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from rita_demo.vlm.shared_prefix import can_share_prefix, encode_with_prefix
from rita_demo.vlm.text_tower import TextTower

CONTEXT_LENGTH = 4  # tokens
CHUNK_TOKENS = 8192  # tokens encoded at once: limits memory
#: Padding in a chunk, in tokens: on a CPU more of it costs more than another chunk does. On other devices starting a
#: chunk is slow, so that memory alone limits the padding.
MAX_PADDING_TOKENS = {"cpu": 32}
#: A larger graph is not stored: its chunks are computed again in the backward pass.
GRAPH_BYTES = {"cpu": 1 << 30, "mps": 1 << 30, "cuda": 2 << 30}
GRAPH_FLOATS = 18  # stored for the backward pass per token, layer and unit of width (measured: 13 to 18)


@dataclass(frozen=True)
class _Chunk:
    """Classes of like length: the start token's embedding (1, 1, E), those after the context (C, T, E), the index of the
    pooled token (C,), and the ids (C, T)."""

    start: Tensor
    rest: Tensor
    position: Tensor
    tokens: Tensor


class PromptEncoder:
    """The prompts "SOS context name . EOT" of one vocabulary, as a function of the contexts. All that does not depend on them
    lies on the tower's device before the first call. ``tokens`` (K, T): ids of "a photo of a {name}."; ``position``
    (K,): index of the pooled token."""

    def __init__(self, tower: TextTower, tokens: Tensor, position: Tensor) -> None:
        self.tower, self._tokens, self._position = tower, tokens, position
        self._lengths = tower.length(position).clamp(min=1 + CONTEXT_LENGTH)  # of every prompt, up to the pooled token
        #: All classes share the keys and values of SOS and context.
        self._shared = can_share_prefix(tower) and bool((position > CONTEXT_LENGTH).all())
        self._plans: dict[int, tuple[list[_Chunk], Tensor]] = {}

    def __call__(self, context: Tensor) -> Tensor:
        """Features (K, P, D) of contexts (P, L, E), differentiable with respect to them."""
        chunks, order = self._plan(len(context))
        keep_graph = torch.is_grad_enabled() and context.requires_grad
        recompute = keep_graph and not self.keeps_graph(len(context))
        parts = [
            checkpoint(self._encode, context, chunk, use_reentrant=False) if recompute else self._encode(context, chunk)
            for chunk in chunks
        ]
        return torch.cat(parts)[order]

    def keeps_graph(self, contexts: int) -> bool:
        """Whether what a forward pass with that many contexts stores for the backward pass is small enough to be kept."""
        shared = len(self._lengths) * (1 + CONTEXT_LENGTH) if self._shared else 0
        tokens = contexts * (int(self._lengths.sum()) - shared)
        width = self.tower.token_embedding.embedding_dim
        return 4 * GRAPH_FLOATS * self.tower.layers * width * tokens <= GRAPH_BYTES.get(self.tower.device.type, 0)

    def _encode(self, context: Tensor, chunk: _Chunk) -> Tensor:
        count = len(context)
        if self._shared:
            prefix = torch.cat([chunk.start.expand(count, -1, -1), context], dim=1)
            return encode_with_prefix(self.tower, prefix, chunk.rest, chunk.position - prefix.shape[1])
        parts = (chunk.start[:, None], context[None], chunk.rest[:, None])
        whole = torch.cat([part.expand(len(chunk.rest), count, -1, -1) for part in parts], dim=2)
        ids = (part.repeat_interleave(count, 0) for part in (chunk.position, chunk.tokens))
        return self.tower.encode(whole.flatten(0, 1), *ids).unflatten(0, (-1, count))

    def _plan(self, count: int) -> tuple[list[_Chunk], Tensor]:
        """The chunks for that many contexts, and the place of every class among their rows."""
        if (plan := self._plans.get(count)) is None:
            device = self.tower.device
            # normal tensors, whatever the caller's mode: a graph may store them
            with torch.inference_mode(False), torch.no_grad():
                cut = list(_chunks(self._lengths, max(1, CHUNK_TOKENS // count), device))
                chunks = []
                for rows, length in cut:
                    tokens, position = self._tokens[rows, :length].to(device), self._position[rows].to(device)
                    embedded = self.tower.embed(tokens)  # (C, T, E)
                    rest = embedded[:, 1 + CONTEXT_LENGTH :].clone()
                    chunks.append(_Chunk(embedded[:1, :1], rest, position, tokens))
                order = torch.cat([rows for rows, _ in cut]).argsort().to(device)
            plan = self._plans[count] = chunks, order
        return plan


def in_chunks(encode: Callable[[Tensor, int], Tensor], lengths: Tensor, tokens: int, device: torch.device) -> Tensor:
    """``encode`` (rows, length) -> (rows, ...) on every chunk; the results in the order of ``lengths``."""
    chunks = list(_chunks(lengths, tokens, device))
    parts = torch.cat([encode(rows, length) for rows, length in chunks])
    return parts[torch.cat([rows for rows, _ in chunks]).argsort().to(device)]


def _chunks(lengths: Tensor, tokens: int, device: torch.device) -> Iterator[tuple[Tensor, int]]:
    """(rows, length) of chunks: rows of similar length, at most ``tokens`` tokens together, and at most
    :data:`MAX_PADDING_TOKENS` of them padding."""
    padding = MAX_PADDING_TOKENS.get(device.type, tokens)
    rows = lengths.argsort(stable=True)
    sizes = lengths[rows].tolist()
    begin, unpadded = 0, 0  # the chunk's first row, its tokens without padding
    for end, size in enumerate(sizes):
        whole = (end + 1 - begin) * size
        if end > begin and (whole > tokens or whole - unpadded - size > padding):
            yield rows[begin:end], sizes[end - 1]
            begin, unpadded = end, 0
        unpadded += size
    yield rows[begin:], sizes[-1]
