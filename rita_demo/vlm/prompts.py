"""Class names as prompts: a learnable context before every name.

A prompt is "SOS ctx_1..ctx_4 name . EOT" (method.md row 3). Every class has one prompt per context, and all classes
share the contexts; written sentences about a class (its descriptions) may follow as further prompts. Only contexts
receive a gradient."""

from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import functional as F

from rita_demo.process.gpu import CudaGraphs, is_recording
from rita_demo.process.lazy import normal
from rita_demo.records import SamePrompt
from rita_demo.records.errors import VocabularyError
from rita_demo.settings import DEFAULT_PROMPT_TEMPLATE, Settings
from rita_demo.vlm.backbone import Backbone
from rita_demo.vlm.initial_graph import InitialGraph
from rita_demo.vlm.prompt_encoder import CHUNK_TOKENS, CONTEXT_LENGTH, PromptEncoder, in_chunks
from rita_demo.vlm.text_tower import TextTower
from rita_demo.vlm.words import SMALL_WORDS, words_of

#: Prompt starts of four tokens in CLIP's vocabulary: all contexts are one tensor (M, 4, E). The first is plain CLIP's.
DEFAULT_START = "a photo of a"

_STARTS = (
    "a photo of a, a picture of the, an image of a, a photo showing a, a photo of the, a rendering of a, "
    "a bright photo of, a texture of the, a photo of one, a dark photo of, a cropped photo of, a blurry photo of, "
    "a good photo of, a pattern of a, a view of the, a large photo of, a small photo of, the surface of a, "
    "a photo of my, a snapshot of a, a drawing of a, a painting of a, a close view of, a material that is, "
    "a sketch of a, a sculpture of a, an example of a, a piece of a, a bad photo of, a detail of a, "
    "a surface that is, a cartoon of a"
)
TEMPLATES = tuple(_STARTS.split(", "))
MEAN_DESCRIPTIONS = "built_in_mean"  # of settings.descriptions
NOISE_SCALE = 0.1  # of the token embedding's standard deviation (method.md row 3)
MAX_NAME_LENGTH = 1000  # characters
AROUND_NAMES = SMALL_WORDS | {*words_of(DEFAULT_PROMPT_TEMPLATE)}  # words that are no part of what a name says


@dataclass(frozen=True)
class PromptSet:
    """One vocabulary as prompts. K classes, P contexts, L = 4 context tokens, width E.

    M = P + S prompts per class: one per context, then the class's descriptions; S is the largest number of descriptions
    of a class (0 without descriptions, 1 when they are one prompt).

    ``prompts``: K tuples of M sentences to show. ``unknown``: the :func:`unknown_words` of every name. ``context``
    (P, L, E): the initial contexts. ``weight`` (K, M): rows sum to 1, 0 where a class has fewer descriptions than others. ``features`` (K, M, D): unit features of the initial contexts and descriptions.
    ``description_features`` (K, S, D): those of the descriptions, zeros where a class has fewer; ``each_description``: the
    same where their mean is one prompt, before it is taken. ``template_features``
    (K, D): the prompt of plain CLIP. ``tokens`` (K, T): ids of "a photo of a {name}." on the CPU; ``position`` (K,):
    index of the pooled token. ``same_prompts``: names that the model cannot tell apart. ``graph``: kept for prompt updates, which all begin with the initial contexts."""

    names: tuple[str, ...]
    prompts: tuple[tuple[str, ...], ...]
    unknown: tuple[tuple[str, ...], ...]
    context: Tensor
    weight: Tensor
    features: Tensor
    description_features: Tensor
    each_description: Tensor
    template_features: Tensor
    tokens: Tensor
    position: Tensor
    encoder: PromptEncoder = field(repr=False)
    graph: InitialGraph = field(repr=False)
    same_prompts: tuple[SamePrompt, ...] = ()

    def encode(self, context: Tensor) -> Tensor:
        """Unit features (K, M, D) of all prompts with these contexts (P, L, E), descriptions included. Differentiable
        with respect to ``context`` and nothing else. Any P is accepted."""
        return torch.cat([self.encode_contexts(context), self.description_features], dim=1)

    def encode_contexts(self, context: Tensor) -> Tensor:
        """Unit features (K, P, D) of the prompts with these contexts, without the descriptions."""

        differentiated = torch.is_grad_enabled() and context.requires_grad
        if not differentiated or not self.encoder.keeps_graph(len(context)):
            return self.encoder(context)
        # a recording makes its own forward pass, and cannot ask whether two tensors are equal
        initial = not is_recording(context.device) and torch.equal(context, self.context[: len(context)])
        return self.graph.encode(self.encoder, context) if initial else self.encoder(context)

    def initial(self) -> tuple[Tensor, Tensor] | None:
        """The initial contexts (P, L, E) as a leaf, and all features (K, M, D) with the kept graph, whose gradients are taken
        with ``retain_graph``; None where the graph is too large to be kept."""
        if not self.encoder.keeps_graph(len(self.context)):
            return None
        leaf, features = self.graph.of(self.encoder, self.context)
        return leaf, torch.cat([features, self.description_features], dim=1)

    def recorded(self) -> CudaGraphs:
        """The prompt updates that a GPU records; not for a vocabulary whose graph is too large to be kept."""
        self.graph.mark_as_used(self.context.device)
        return self.graph.recorded if self.encoder.keeps_graph(len(self.context)) else CudaGraphs()

    def mean_description_features(self) -> Tensor | None:
        """Unit mean direction (K, D) of the descriptions of every class; None without descriptions."""
        return F.normalize(self.description_features.sum(1), dim=-1) if self.description_features.shape[1] else None


def build_prompts(
    backbone: Backbone,
    names: tuple[str, ...],
    settings: Settings,
    sentences: tuple[tuple[str, ...], ...] = (),
    template: str = DEFAULT_PROMPT_TEMPLATE,
) -> PromptSet:
    """Turn class names into prompts and encode them.

    Names too long for the model are cut as open_clip cuts them. Prompt 0 is always "a photo of a {name}.".
    ``sentences``: K tuples of descriptions, which are frozen prompts; empty means none. With
    ``descriptions="built_in_mean"`` those of a class are one prompt: their mean direction. ``template``: the prompt of
    plain CLIP, with ``{}`` in the place of the class name. The contexts do not depend on it: learning starts from "a
    photo of a", as in TPT. Raises VocabularyError: no names, an empty name, or one of more than 1000 characters."""
    if not names:
        raise VocabularyError("There are no class names.", "Give at least two, for example cat, dog.")
    for number, name in enumerate(names, start=1):
        if not name.strip():
            raise VocabularyError(f"Class name {number} is empty.", "Remove it or write a word.")
        if len(name) > MAX_NAME_LENGTH:
            raise VocabularyError(
                f"Class name {number} has {len(name)} characters; at most {MAX_NAME_LENGTH} are allowed.",
                "Use a short name: the model reads about 70 tokens.",
            )
    tower = backbone.tower
    tokens = name_tokens(tower, names)
    position = tower.position(tokens)
    encoder, context = PromptEncoder(tower, tokens, position), initial_contexts(tower, settings)
    sentences = sentences or tuple(() for _ in names)
    count = torch.tensor([len(own) for own in sentences], dtype=torch.long, device=tower.device)
    # (K, S), 0 where one is missing
    present = (torch.arange(int(count.max()), device=tower.device) < count[:, None]).float()
    with torch.no_grad():
        written = torch.zeros(*present.shape, backbone.info.width, dtype=torch.float32, device=tower.device)
        if present.any():
            written[present > 0] = encode_sentences(backbone, [s for own in sentences for s in own])
        each = written
        if settings.descriptions == MEAN_DESCRIPTIONS and written.shape[1]:
            written = F.normalize(written.sum(1, keepdim=True), dim=-1)
            present = present.amax(1, keepdim=True)
            more = [f" (and {len(own) - 1} more: their mean)" if len(own) > 1 else "" for own in sentences]
            sentences = tuple((own[0] + text,) for own, text in zip(sentences, more))
        features = torch.cat([encoder(context), written], dim=1)
        plain = features[:, 0].clone()
        if template != DEFAULT_PROMPT_TEMPLATE:
            plain = encode_sentences(backbone, [template.replace("{}", name) for name in names])
    hand = sentence(DEFAULT_START, "{}")
    starts = [hand, *(f"{hand} (with noise, draw {m})" for m in range(1, settings.prompts))]
    if settings.context_init == "templates":
        starts = [sentence(start, "{}") for start in TEMPLATES[: settings.prompts]]
    used = torch.cat([present.new_ones(len(names), len(context)), present], dim=1)
    return PromptSet(
        names=names,
        prompts=tuple(
            (*(start.replace("{}", name) for start in starts), *own, *[""] * (written.shape[1] - len(own)))
            for name, own in zip(names, sentences, strict=True)
        ),
        unknown=tuple(unknown_words(backbone, name) for name in names),
        context=context,
        weight=used / used.sum(1, keepdim=True),
        features=features,
        description_features=written,
        each_description=each,
        template_features=plain,
        tokens=tokens,
        position=position,
        encoder=encoder,
        graph=InitialGraph(recorded=backbone.graphs.enabled),
        same_prompts=same_prompts(names, tokens),
    )


def name_tokens(tower: TextTower, names: tuple[str, ...]) -> Tensor:
    """Ids (K, T) of the prompts "a photo of a {name}."."""
    return tower.tokens([sentence(DEFAULT_START, name) for name in names])


def same_prompts(names: tuple[str, ...], tokens: Tensor) -> tuple[SamePrompt, ...]:
    """The groups of names whose prompts are the same tokens (K, T): cut in the same place, or spelt alike for the tokenizer,
    which reads no capitals."""
    groups: dict[tuple[int, ...], list[str]] = {}
    for name, row in zip(names, tokens.tolist()):
        groups.setdefault(tuple(row), []).append(name)
    several = {row: tuple(group) for row, group in groups.items() if len(group) > 1}
    return tuple(SamePrompt(group, len(row) if row[-1] else 0) for row, group in several.items())


def initial_contexts(tower: TextTower, settings: Settings) -> Tensor:
    """Contexts (M, 4, E) float32 as ``settings.context_init`` says; the first is "a photo of a". ``templates``: M
    different hand-written starts. ``noise``: the first start M times, all but the first with normal noise of 0.1 times
    the token embedding's standard deviation (identical prompts would get identical gradients and stay identical)."""
    count = settings.prompts
    starts = TEMPLATES[:count] if settings.context_init == "templates" else (DEFAULT_START,) * count
    with torch.no_grad():
        context = tower.embed(tower.tokens(list(starts))[:, 1 : 1 + CONTEXT_LENGTH]).clone()
        if settings.context_init == "noise":
            generator = torch.Generator().manual_seed(settings.context_seed)
            noise = normal(context.shape, generator).to(context)
            noise[0] = 0
            context += NOISE_SCALE * tower.token_embedding.weight.std() * noise
    return context


def encode_sentences(backbone: Backbone, sentences: list[str]) -> Tensor:
    """Unit features (n, D) of plain sentences; equal to open_clip's ``encode_text``. No gradient."""
    tower = backbone.tower
    tokens = tower.tokens(list(sentences))
    position = tower.position(tokens)

    def encode_chunk(rows: Tensor, length: int) -> Tensor:
        return tower.encode(tower.embed(tokens[rows, :length]), position[rows], tokens[rows, :length])

    with torch.no_grad():
        return in_chunks(encode_chunk, tower.length(position), CHUNK_TOKENS, tower.device)


def unknown_words(backbone: Backbone, name: str) -> tuple[str, ...]:
    """The words of a name that the model was not trained with: they are in no class name of the training, and neither
    small words nor words of the prompt around the name. A name without any word as a whole. () for a model whose training
    names are not known."""
    if backbone.seen_words is None:
        return ()
    if not (words := words_of(name)):
        return (name,)
    folded = ((word, word.casefold()) for word in words)
    return tuple(word for word, small in folded if small not in AROUND_NAMES and small not in backbone.seen_words)


def sentence(start: str, name: str) -> str:
    """A prompt as text, for example ``"a photo of a cat."``."""
    return f"{start} {name}."
