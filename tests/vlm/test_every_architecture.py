"""Every architecture that open_clip lists: its features equal open_clip's own, or it is refused.

Random weights and few layers; nothing is downloaded. The numbers of kinds are those of the pinned open_clip:
with another version they change and need a look."""

import json
from typing import Any

import open_clip
import pytest
import timm
import torch

from rita_demo.records.errors import BackboneError
from rita_demo.vlm import registry
from rita_demo.vlm.backbone import Backbone
from rita_demo.vlm.registry import load
from rita_demo.vlm.text_tower import unsupported_reason
from tests.conftest import TINY_CONFIG
from tests.vlm.comparison import (
    LAYERS,
    assert_same_picture_features,
    assert_same_text_features,
    randomise_weights,
    with_few_layers,
)
from tests.vlm.hub import VISION

NAMES = ("cat", "soy milk carton", "x" * 300)  # the last is cut where the tower ends
CONFIGS = {name: open_clip.get_model_config(name) for name in open_clip.list_models()}


def distinct(*parts: str) -> list[str]:
    """One architecture for every value that these parts of a config have together."""
    first: dict[str, str] = {}
    for name, config in CONFIGS.items():
        key = [unsupported_reason(config), *(config.get(part) for part in parts)]
        first.setdefault(json.dumps(key, sort_keys=True), name)
    return list(first.values())


TEXTS = distinct("text_cfg", "quick_gelu", "custom_text")
REFUSED = [name for name in TEXTS if unsupported_reason(CONFIGS[name])]


def test_the_number_of_distinct_text_towers_is_known() -> None:
    assert (len(TEXTS), len(REFUSED)) == (71, 42)


@pytest.mark.parametrize("name", REFUSED)
def test_an_unsupported_text_tower_gives_an_error_message(name: str) -> None:
    with pytest.raises(BackboneError, match=r"cannot be used here: .+\. Choose a model with"):
        load(f"{name}:weights.pt", "cpu")


@pytest.mark.nightly
@pytest.mark.parametrize("name", [name for name in TEXTS if name not in REFUSED])
def test_text_features_equal_open_clip(name: str) -> None:
    config = with_few_layers(name) | {"vision_cfg": dict(VISION)}
    torch.manual_seed(0)
    model = randomise_weights(registry._build(config, name).eval())
    ours = Backbone(model, open_clip.get_tokenizer(name), name=name, title=name)
    assert_same_text_features(model, ours, NAMES)


def shallow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make timm build few layers, however each of its families calls them."""
    create = timm.create_model

    def shallow_model(name: str, **options: Any) -> torch.nn.Module:
        stages = 5 if name in ("fastvit_mci3", "fastvit_mci4") else 4
        for few in ({"depth": LAYERS}, {"depths": (1,) * stages}, {"layers": (1,) * stages}):
            try:
                return create(name, **options, **few)
            except TypeError:  # this family has no such option
                continue
        raise AssertionError(f"how many layers {name} has is called something else")

    monkeypatch.setattr(timm, "create_model", shallow_model)


def vision_config(name: str) -> dict[str, Any]:
    """An architecture's config with few layers and hardly any text tower."""
    return with_few_layers(name) | {"text_cfg": dict(TINY_CONFIG["text_cfg"])}


@pytest.mark.nightly
def test_picture_features_equal_open_clip_for_every_kind_of_vision_tower(monkeypatch: pytest.MonkeyPatch) -> None:
    shallow(monkeypatch)
    smallest: dict[tuple, tuple[int, str]] = {}
    for name in distinct("vision_cfg", "quick_gelu"):
        if unsupported_reason(CONFIGS[name]):
            continue
        with torch.device("meta"):
            visual = registry._build(vision_config(name), name).visual
        # what it is made of and how it is pooled; sizes do not make another kind
        kind = (
            frozenset(type(module).__qualname__ for module in visual.modules()),
            *(CONFIGS[name]["vision_cfg"].get(pool) for pool in ("pool_type", "timm_pool")),
        )
        size = sum(p.numel() for p in visual.parameters()) * CONFIGS[name]["vision_cfg"]["image_size"] ** 2
        smallest[kind] = min(smallest.get(kind, (size, name)), (size, name))
    for _, name in smallest.values():
        torch.manual_seed(0)
        model = randomise_weights(registry._build(vision_config(name), name).eval())
        ours = Backbone(model, open_clip.get_tokenizer(name), name=name, title=name)
        assert_same_picture_features(model, ours, count=1)
    assert len(smallest) == 17
