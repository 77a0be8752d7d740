"""The cells of a request, and everything that their numbers depend on.

A cell is a method on the pictures of a dataset under one attack, cache protocol, settings and seed. What it depends on
follows from the settings that its method and its attack declare: a sweep over the cache weight does not measure CLIP again,
and a clean picture is the same at every budget.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rita_demo.attacks import differentiated, get_attack
from rita_demo.data.datasets import paper_settings
from rita_demo.data.descriptions import BUILT_IN_MEAN, descriptions_for, with_used_descriptions
from rita_demo.data.vocabularies import index_of, resolve_hand_prompt
from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation.pictures import PRESENT_SUFFIX, PictureSet
from rita_demo.evaluation.request import DEFAULT_TRAFFIC, NEXT_CLASS, SEEDS, Request, Traffic
from rita_demo.evaluation.rows import FORMAT, digest, text_of
from rita_demo.records import BackboneInfo
from rita_demo.records.json_value import JsonValue
from rita_demo.settings import RECOMMENDED, SETTINGS, Settings, in_groups, shared_in_groups
from rita_demo.settings.attack_name import AGAINST, EACH, attacked_defence

COLUMNS = ("attack", "budget", "steps", "protocol")  # of the tables; not part of the hash of the settings
TuningKey = tuple[Hashable, ...]  # of :func:`tuning_key`
#: Settings that are columns of their own in the key of a measurement.
IN_KEY = frozenset({*COLUMNS, "square", "descriptions", *SEEDS, AGAINST})
#: Settings of views that an attack through crops does not use; ``adaptive`` judges its pictures on as many ``views`` as the
#: defence has.
NOT_OF_CROPS = frozenset({"views", "view_seed", "views_augmix"})
DEFENCE_GROUPS = frozenset({"prompts", "tuning", "transport", "cache"})  # what the attack through RITA depends on


@dataclass(frozen=True)
class ModelIdentity:
    """The model's name and a hash of its weights."""

    name: str
    weights: str


@dataclass(frozen=True)
class ModelFacts(ModelIdentity):
    """What a run folder stores about a model."""

    info: BackboneInfo


@dataclass(frozen=True)
class Cell:
    """One cell: ``requested`` settings; ``settings`` with defaults where the method does not depend on them; ``target``: the
    class name that the attack moves towards, ``next`` for the class after each picture's own, or ""."""

    method: str
    seed: int
    requested: Settings
    settings: Settings
    fixed_seeds: frozenset[str]
    traffic: Traffic = DEFAULT_TRAFFIC
    target: str = ""

    @property
    def clean(self) -> Cell:
        """The cell on clean pictures; the clean part of mixed traffic shares its views."""
        requested = self.requested.replace(attack="none")
        settings = canonical_settings(self.method, requested, self.fixed_seeds)
        return replace(self, requested=requested, settings=settings, traffic=DEFAULT_TRAFFIC, target="")

    @property
    def steps(self) -> int:
        """Number of gradient steps: 0 without an attack, 1 for a one-step attack."""
        return get_attack(self.requested.attack).step_count(self.requested)

    @property
    def attack_settings(self) -> Settings:
        """The settings of the attack: the cache protocol of this cell, and its method where each is attacked by itself."""
        settings = self.requested.replace(protocol=self.settings.protocol)
        by_itself = settings.attack == "adaptive" and getattr(settings, AGAINST) == EACH
        return settings.replace(**{AGAINST: self.method}) if by_itself else settings

    @property
    def attack_uses_cache(self) -> bool:
        """Whether the attack depends on the cache of this cell."""
        through = differentiated(self.requested) == "defence" and self.settings.protocol == "stream"
        return through and DEFENCES[attacked_defence(self.attack_settings)].uses_cache

    @property
    def stochastic(self) -> bool:
        """Whether the numbers depend on the seed."""
        method, free = DEFENCES[self.method], set(SEEDS) - self.fixed_seeds
        views = "views" in method.groups and "view_seed" in free
        start = get_attack(self.settings.attack).stochastic and "attack_seed" in free
        mixed = self.traffic.share != 100
        return views or start or mixed or self.settings.protocol == "stream"


def settings_for(request: Request, dataset: str, names: Sequence[str] = ()) -> Request:
    """The request for one dataset, with values that can be stored: CLIP's prompt template is written out, the settings
    that the request leaves to the dataset get the paper's values, and the target is spelled as in ``names``, the
    dataset's classes. Raises SettingError: the dataset has no prompt template. VocabularyError: it has no such
    class."""
    base, defaults, target = dataset.removesuffix(PRESENT_SUFFIX), dataset_defaults(request, dataset), request.target
    prompts = (resolve_hand_prompt(point.hand_prompt, base) for point in request.points)
    points = (point.replace(**defaults | {"hand_prompt": prompt}) for point, prompt in zip(request.points, prompts))
    if names and target not in ("", NEXT_CLASS):
        target = names[index_of(names, target)]
    return replace(request, datasets=(dataset,), points=tuple(dict.fromkeys(points)), target=target)


def dataset_defaults(request: Request, dataset: str) -> dict[str, JsonValue]:
    """The settings that the request leaves to the dataset, where its values differ from the preset's."""
    paper = paper_settings(dataset.removesuffix(PRESENT_SUFFIX), request.backbone)
    return {name: paper[name] for name in sorted(paper.keys() & request.dataset_settings)}


def cells_of(request: Request, seed: int) -> tuple[Cell, ...]:
    """All different cells of one dataset and seed, methods in the order of the request."""
    cells: dict[tuple[str, Settings], Cell] = {}
    for method in request.methods:
        for point in request.points:
            settings = canonical_settings(method, point, request.fixed_seeds)
            if DEFENCES[method].cache_only and settings.protocol == "off":
                continue  # without a cache it has no answer
            clean = point.attack == "none"
            traffic = replace(request.traffic, share=100) if clean else request.traffic
            target = "" if clean else request.target
            cell = Cell(method, seed, point, settings, request.fixed_seeds, traffic, target)
            if cell.stochastic or seed == request.seeds[0]:
                cells.setdefault((method, settings), cell)
    return tuple(cells.values())


def canonical_settings(method: str, requested: Settings, fixed_seeds: frozenset[str]) -> Settings:
    """The settings as the method changes them; those that it does not depend on have their defaults."""
    row, attack = DEFENCES[method], get_attack(requested.attack)
    requested = requested.replace(**row.setting_changes)
    depends = _depends_on(method, requested, fixed_seeds)
    changes: dict[str, JsonValue] = {name: setting.default for name, setting in SETTINGS.items() if name not in depends}
    if not attack.bounded or requested.attack == "none":
        changes["budget"] = 0
    if requested.attack == "none":
        changes["adversarial_roundtrip"] = SETTINGS["adversarial_roundtrip"].default
    if not row.uses_cache:
        changes["protocol"] = "off"
    return requested.replace(**changes)


def _depends_on(method: str, requested: Settings, fixed_seeds: frozenset[str]) -> set[str]:
    """Names of the settings that the numbers of a method depend on, through its own work or through the attack."""
    row, attack = DEFENCES[method], get_attack(requested.attack)
    names = {*shared_in_groups("attack"), *attack.setting_names}
    names |= {*row.declared_settings(requested), *_of_attack(requested)}
    if not attack.queries_clip and "hand_prompt" not in {*row.used_settings(requested), *_known_settings(requested)}:
        names.discard("hand_prompt")
    if attack.differentiated(requested) == "model":
        names.discard("attack_views")
    unused = set[str]()  # by RITA; a method that names one of them among its own uses reads it all the same
    if requested.tuning_steps == 0 or requested.tuning_loss == "none":
        unused |= {"tuning_rate", "subset_size"}
    if not row.uses_cache or requested.protocol == "off":
        unused |= set(in_groups("cache")) - {"cache_text", "protocol"}
    names -= unused - row.setting_names
    names -= set(SEEDS) - fixed_seeds
    if not attack.stochastic:
        names.discard("attack_seed")
    if not attack.iterative or attack.steps_setting != "steps":
        names.discard("steps")
    return names


def _of_attack(requested: Settings) -> set[str]:
    """Names of the settings outside the attack's group that the attack depends on: those of crops, and those of the defence
    that it goes through."""
    through, names = differentiated(requested), set[str]()
    if through != "model":
        names |= set(shared_in_groups("views")) - NOT_OF_CROPS
    if through == "defence":
        names |= {*shared_in_groups(*DEFENCE_GROUPS), *_known_settings(requested)}
    if requested.attack == "adaptive":  # its pictures are judged on as many views as the defence has
        defence = DEFENCES.get(getattr(requested, AGAINST))
        names |= {"views"} if defence is not None and "views" in defence.groups else set()
    return names


def _known_settings(requested: Settings) -> frozenset[str]:
    """Names of the settings of its own that a defence has whom the attacker knows."""
    return DEFENCES[attacked_defence(requested)].setting_names if requested.attack == "adaptive" else frozenset()


def non_default(cell: Cell, names: Sequence[str]) -> dict[str, JsonValue]:
    """The settings that differ from the recommended ones, as they act on these classes and as the tables print them; the
    attack names its defence."""
    columns = {name: getattr(cell.requested, name) for name in (*COLUMNS, "square", AGAINST)}
    usual = canonical_settings(cell.method, RECOMMENDED.replace(**columns), frozenset())
    usual, settings = (with_used_descriptions(values, names) for values in (usual, cell.settings))
    differs = {name: getattr(settings, name) for name in settings.differs_from(usual)}
    target = {"target": cell.target} if cell.target else {}
    return differs | target | cell.traffic.non_default()


def key_of(cell: Cell, picture_set: PictureSet, model: ModelIdentity, memory: str = "") -> dict[str, Any]:
    """Everything that the numbers of a cell depend on beside the picture: the columns of
    :data:`rita_demo.evaluation.rows.KEY`. ``memory``: the digest of the one that a stream begins with."""
    settings, attack, traffic = cell.settings, get_attack(cell.requested.attack), cell.traffic
    depends = _depends_on(cell.method, settings, cell.fixed_seeds)
    declared, stream = DEFENCES[cell.method].declared_settings(settings), ""
    if settings.protocol == "stream" or traffic.share != 100:  # which ones are attacked depends on all pictures
        stream = picture_set.digest + memory * (settings.protocol == "stream")
    code = {"method": DEFENCES[cell.method].digest} | (_attack_code(cell) if attack.name != "none" else {})
    code = {name: value for name, value in code.items() if value}
    return {
        "format": FORMAT,
        "dataset": picture_set.dataset,
        "split": picture_set.split,
        "backbone": model.name,
        "weights": model.weights,
        "class_names": text_of(list(picture_set.names)),
        "descriptions": _description_content(cell, picture_set) if "descriptions" in depends else "",
        "method": cell.method,
        "method_settings": _values(settings, sorted((declared & depends) - IN_KEY)),
        "attack": attack.name,
        "against": getattr(cell.requested, AGAINST) if attack.name == "adaptive" else "",
        "attack_settings": attack_settings(cell),
        "budget": settings.budget,
        "steps": cell.steps,
        "target": cell.target,
        "square": settings.square,
        "protocol": settings.protocol,
        "seed": cell.seed if cell.stochastic else -1,
        "given_seeds": text_of(_values(settings, sorted(cell.fixed_seeds & depends))),
        "attacked_share": traffic.share,
        "stream_order": traffic.order,
        "stream": stream,
        "own_code": text_of(code) if code else "",
    }


def attack_settings(cell: Cell) -> dict[str, JsonValue]:
    """The settings that the attack of a cell declares, those of the defence that it knows included."""
    attack = get_attack(cell.requested.attack)
    if attack.name == "none":
        return {}
    depends = _depends_on(cell.method, cell.settings, cell.fixed_seeds)
    names = {*shared_in_groups("attack"), *attack.setting_names, *_of_attack(cell.attack_settings)} & depends
    if not attack.queries_clip and "hand_prompt" not in _known_settings(cell.attack_settings):
        names.discard("hand_prompt")
    return _values(cell.settings, sorted(names - IN_KEY))


def views_key(cell: Cell, picture_set: PictureSet, model: ModelIdentity, memory: str = "") -> str:
    """The place of a cell's views: cells with the same one have the same views of the same pixels."""
    free = set(SEEDS) - cell.fixed_seeds
    views = _values(cell.requested, in_groups("views")) | dict.fromkeys(free.intersection(in_groups("views")), "each")
    return digest({"views": views, "pixels": _pixels(cell, picture_set, model, memory)})


def attack_key(cell: Cell, picture_set: PictureSet, model: ModelIdentity, memory: str = "") -> str:
    """The place of a cell's attacked squares; it does not depend on the views."""
    return digest(_pixels(cell, picture_set, model, memory))


def tuning_key(cell: Cell) -> TuningKey:
    """Cells with the same key and the same views share their tuned prompts."""
    return tuple(_values(cell.settings, in_groups(*cell.settings.prompt_update_groups)).values())


def tuned_prompts_key(cell: Cell, picture_set: PictureSet, model: ModelIdentity, memory: str = "") -> str:
    """The place of a cell's tuned prompts."""
    settings = tuning_key(replace(cell, settings=cell.settings.replace(descriptions="none")))
    value = {"views": views_key(cell, picture_set, model, memory), "settings": settings, "names": picture_set.names}
    return digest(value | {"descriptions": _description_content(cell, picture_set)})


def _values(settings: Settings, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in names}


def _attack_code(cell: Cell) -> dict[str, str]:
    """The content of the files of the user's own attack and of the defence that it is made against, as hashes."""
    adaptive = cell.requested.attack == "adaptive"
    known = DEFENCES[attacked_defence(cell.attack_settings)].digest if adaptive else ""
    return {"attack": get_attack(cell.requested.attack).digest, "known": known}


def _description_content(cell: Cell, picture_set: PictureSet) -> str:
    """The content of the descriptions (not their file name) as JSON, and whether it is one mean prompt; "" for none."""
    source = cell.settings.descriptions
    content: Any = descriptions_for(picture_set.names, source)
    return text_of({"mean": content} if source == BUILT_IN_MEAN else content) if any(content) else ""


def _pixels(cell: Cell, picture_set: PictureSet, model: ModelIdentity, memory: str) -> dict[str, Any]:
    """What the pixels under the views depend on."""
    requested, value = cell.requested, dict[str, Any](format=FORMAT, model=model.name, weights=model.weights)
    value |= {"dataset": picture_set.dataset.partition(":")[0], "seed": cell.seed}
    value |= {"attack": requested.attack, "square": requested.square}
    if requested.attack == "none":
        return value
    value |= {"budget": cell.settings.budget, "steps": cell.steps, "target": cell.target, "names": picture_set.names}
    value |= {"settings": attack_settings(cell), "code": _attack_code(cell)}
    value["attack_seed"] = requested.attack_seed if "attack_seed" in cell.fixed_seeds else "each"
    if differentiated(requested) == "defence":
        value |= {"against": getattr(cell.attack_settings, AGAINST), "protocol": cell.settings.protocol}
        value["descriptions"] = _description_content(cell, picture_set)
        value["memory"] = key_of(cell, picture_set, model, memory) if cell.attack_uses_cache else ""
    return value
