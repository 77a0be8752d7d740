"""The cells of a request, and the keys under which cells and artifacts are stored.

A cell is a method on the pictures of a dataset under one attack, cache protocol, settings and seed. Settings that a
method does not depend on are set to their defaults first: a sweep over the cache weight does not measure CLIP again,
and a clean picture is the same at every budget.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rita_demo.attacks import ATTACKS, differentiated, get_attack
from rita_demo.attacks.adaptive import AGAINST, EACH, attack_text, attacked_defence
from rita_demo.data.datasets import paper_settings
from rita_demo.data.descriptions import BUILT_IN_MEAN, descriptions_for, with_used_descriptions
from rita_demo.data.vocabularies import index_of, resolve_hand_prompt
from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation.pictures import PRESENT_SUFFIX, PictureSet
from rita_demo.evaluation.request import DEFAULT_TRAFFIC, NEXT_CLASS, SEEDS, Request, Traffic
from rita_demo.evaluation.store.files import digest
from rita_demo.records import BackboneInfo
from rita_demo.records.grouping import group_by
from rita_demo.records.json_value import JsonValue
from rita_demo.settings import RECOMMENDED, SETTINGS, Settings, in_groups

FORMAT = 2  # increased when stored numbers change their meaning
COLUMNS = ("attack", "budget", "steps", "protocol")  # of the tables; not part of the hash of the settings
TuningKey = tuple[Hashable, ...]  # of :func:`tuning_key`
#: Settings of the attack's group that its pixels depend on in a way of their own; on any other one they always do.
OF_PIXELS = frozenset(
    {"attack", "budget", "steps", "attack_seed", "attack_views", "adversarial_roundtrip", "square", "hand_prompt"}
)
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
    """One cell: ``requested`` settings; ``settings`` with defaults where the method does not depend on them.

    ``target``: the class name that the attack moves towards, ``next`` for the class after each picture's own, or "".
    """

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
    def attack_label(self) -> str:
        """The attack as the tables name it: ``pgd``; targeted ``pgd@next``; on half of the pictures ``pgd:50``."""
        share = self.traffic.share
        target = f"@{self.target}" if self.target else ""
        return attack_text(self.requested) + target + (f":{share}" if share != 100 else "")

    def target_index(self, label: int, names: Sequence[str]) -> int | None:
        """Index in ``names`` of the class that the attack on a picture of class ``label`` moves towards, if any."""
        if self.target == NEXT_CLASS:
            return (label + 1) % len(names)
        return names.index(self.target) if self.target else None

    @property
    def steps(self) -> int:
        """Number of gradient steps: 0 without an attack, 1 for a one-step attack."""
        return get_attack(self.requested.attack).step_count(self.requested)

    @property
    def attack_settings(self) -> Settings:
        """The settings of the attack: the cache protocol of this cell, and its method where each is attacked by itself."""
        settings = self.requested.replace(protocol=self.settings.protocol)
        own = settings.attack == "adaptive" and getattr(settings, AGAINST) == EACH
        return settings.replace(**{AGAINST: self.method}) if own else settings

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
    """The request for one dataset, with values that can be stored.

    CLIP's prompt template is written out, the settings that the request leaves to the dataset get the paper's values,
    and the target is spelled as in ``names``, the dataset's classes, if they are given.

    Raises:
        SettingError: the dataset has no prompt template. VocabularyError: it has no such class.
    """
    base = dataset.removesuffix(PRESENT_SUFFIX)
    paper = paper_settings(base, request.backbone)
    own: dict[str, JsonValue] = {name: value for name, value in paper.items() if name in request.dataset_settings}
    points = (
        point.replace(hand_prompt=resolve_hand_prompt(point.hand_prompt, base), **own) for point in request.points
    )
    target = request.target
    if names and target not in ("", NEXT_CLASS):
        target = names[index_of(names, target)]
    return replace(request, datasets=(dataset,), points=tuple(dict.fromkeys(points)), target=target)


def dataset_defaults(request: Request, dataset: str) -> dict[str, JsonValue]:
    """The settings that the request leaves to the dataset, where its values differ from the preset's."""
    own = paper_settings(dataset.removesuffix(PRESENT_SUFFIX), request.backbone)
    return {name: own[name] for name in sorted(own.keys() & request.dataset_settings)}


def cells_of(request: Request, seed: int) -> tuple[Cell, ...]:
    """All different cells of one dataset and seed, methods in the order of the request."""
    cells: dict[tuple[str, Settings], Cell] = {}
    for method in request.methods:
        for point in request.points:
            settings = canonical_settings(method, point, request.fixed_seeds)
            if DEFENCES[method].cache_only and settings.protocol == "off":
                continue  # without a cache it has no answer
            traffic, target = request.traffic, request.target
            if point.attack == "none":
                traffic, target = replace(traffic, share=100), ""
            cell = Cell(method, seed, point, settings, request.fixed_seeds, traffic, target)
            if cell.stochastic or seed == request.seeds[0]:
                cells.setdefault((method, settings), cell)
    return tuple(cells.values())


def canonical_settings(method: str, requested: Settings, fixed_seeds: frozenset[str]) -> Settings:
    """The settings as the method changes them; those that it does not depend on have their defaults."""
    row, attack = DEFENCES[method], get_attack(requested.attack)
    requested = requested.replace(**row.setting_changes)
    through = differentiated(requested)
    used = set(row.used_settings(requested))
    if requested.attack == "adaptive":
        used |= {*attack.setting_names, *DEFENCES[attacked_defence(requested)].setting_names}
    groups = row.groups | (DEFENCE_GROUPS if through == "defence" else frozenset())
    irrelevant = SETTINGS.keys() - {*in_groups(*groups), *used}
    if requested.tuning_steps == 0 or requested.tuning_loss == "none":
        irrelevant |= {"tuning_rate", "subset_size"}
    if not attack.queries_clip and "hand_prompt" not in used:
        irrelevant.add("hand_prompt")
    irrelevant |= set(SEEDS) - fixed_seeds
    if not attack.stochastic:
        irrelevant.add("attack_seed")
    if not attack.iterative or attack.steps_setting != "steps":
        irrelevant.add("steps")
    if through != "model":
        irrelevant -= _shared("views") - NOT_OF_CROPS
        attacked = getattr(requested, AGAINST) if requested.attack == "adaptive" else EACH
        if attacked != EACH and "views" in DEFENCES[attacked].groups:
            irrelevant.discard("views")
    else:
        irrelevant.add("attack_views")
    irrelevant |= {name for other in ATTACKS.values() if other is not attack for name in other.setting_names}
    if not row.uses_cache or requested.protocol == "off":
        irrelevant |= set(in_groups("cache")) - {"cache_text", "protocol"}
    changes: dict[str, JsonValue] = {name: SETTINGS[name].default for name in irrelevant}
    if not attack.bounded:
        changes["budget"] = 0
    if requested.attack == "none":
        changes |= {"budget": 0, "adversarial_roundtrip": SETTINGS["adversarial_roundtrip"].default}
    if not row.uses_cache:
        changes["protocol"] = "off"
    return requested.replace(**changes)


def non_default(cell: Cell, names: Sequence[str]) -> dict[str, JsonValue]:
    """The settings that differ from the recommended ones, as they act on these classes and as the tables print them; the
    attack names its defence."""
    columns = {name: getattr(cell.requested, name) for name in (*COLUMNS, "square", AGAINST)}
    usual = canonical_settings(cell.method, RECOMMENDED.replace(**columns), frozenset())
    usual, settings = (with_used_descriptions(one, names) for one in (usual, cell.settings))
    differs = {name: getattr(settings, name) for name in settings.differs_from(usual)}
    target = {"target": cell.target} if cell.target else {}
    return differs | target | cell.traffic.non_default()


def settings_by_part(
    cell: Cell, names: Sequence[str]
) -> tuple[dict[str, JsonValue], dict[str, JsonValue], dict[str, JsonValue]]:
    """:func:`non_default` in three parts: what acts without the attack too, which is the method's; what is a setting of
    attacks alone and is not in the attack's label or its number of steps; and settings of other groups that act in this
    attack and not in this method (``view_scale`` of an attack through crops on CLIP)."""
    differs = non_default(cell, names)
    unattacked = replace(cell.clean, traffic=replace(cell.traffic, share=100))
    own = non_default(unattacked, names)
    elsewhere = {"target", "attacked_share", get_attack(cell.requested.attack).steps_setting}
    rest = {name: value for name, value in differs.items() if name not in own and name not in elsewhere}
    of_attack = {name: value for name, value in rest.items() if is_of_attacks(name)}
    also = {name: value for name, value in rest.items() if name not in of_attack}
    if cell.requested.attack == "adaptive":  # the hash has those of every defence that it could be made against
        known = DEFENCES[attacked_defence(cell.attack_settings)]
        acting = {*in_groups(*known.groups, "views"), *known.used_settings(cell.attack_settings)}
        also = {name: value for name, value in also.items() if name in acting}
    return own, of_attack, also


def is_of_attacks(name: str) -> bool:
    """Whether a setting says how an attack is made, and neither what is attacked nor how CLIP is asked."""
    return name in SETTINGS and SETTINGS[name].group == "attack" and name not in ("square", "hand_prompt")


def views_key(cell: Cell, picture_set: PictureSet, model: ModelIdentity) -> str:
    """The key of a cell's views: cells with the same key have the same views of the same pixels."""
    free = set(SEEDS) - cell.fixed_seeds
    views = _values(cell.requested, in_groups("views")) | dict.fromkeys(free.intersection(in_groups("views")), "each")
    classes = {"classes": picture_set.names} if cell.requested.attack != "none" else {}
    return _pixels_key(cell, picture_set, model, {"views": views} | classes)


def attack_key(cell: Cell, picture_set: PictureSet, model: ModelIdentity) -> str:
    """The key of a cell's attacked squares; it does not depend on the views."""
    return _pixels_key(cell, picture_set, model, {"classes": picture_set.names})


def tuning_key(cell: Cell) -> TuningKey:
    """Cells with the same key and the same views share their tuned prompts."""
    return tuple(_values(cell.settings, in_groups(*cell.settings.prompt_update_groups)).values())


def tuned_prompts_key(cell: Cell, picture_set: PictureSet, model: ModelIdentity) -> str:
    """The key of a cell's stored tuned prompts."""
    settings = tuning_key(replace(cell, settings=cell.settings.replace(descriptions="none")))
    value = {"look": views_key(cell, picture_set, model), "knobs": settings, "names": picture_set.names}
    return digest(value | {"descriptions": _description_content(cell, picture_set)})


def settings_hash(cell: Cell, picture_set: PictureSet, model: ModelIdentity) -> str:
    """The column ``settings``: a hash of everything that decides a number and has no column."""
    names = {*cell.settings.as_dict(), *DEFENCES[cell.method].param_names.values()}.difference(COLUMNS)
    settings = _values(cell.settings, names)
    settings["descriptions"] = _description_content(cell, picture_set)
    value = {"format": FORMAT, "knobs": settings, "fixed": sorted(cell.fixed_seeds), "names": picture_set.names}
    value |= _target_and_code(cell) | cell.traffic.non_default()
    if cell.traffic.share != 100:
        value["traffic"] = cell.traffic.as_header()
    if code := DEFENCES[cell.method].digest:
        value["guest_defence"] = code
    if (code := _known_code(cell)) and code != DEFENCES[cell.method].digest:
        value["known_defence"] = code
    pictures = digest(sorted(item.key for item in picture_set.items))
    return digest(value | {"pictures": pictures, "weights": model.weights})


def cell_key(cell: Cell, picture_set: PictureSet, model: ModelIdentity) -> str:
    """The key of a cell's folder."""
    columns = {name: getattr(cell.settings, name) for name in COLUMNS} | {"steps": cell.steps}
    value = {"columns": columns, "settings": settings_hash(cell, picture_set, model)}
    value |= {"method": cell.method, "model": model.name, "dataset": _dataset(picture_set)}
    return digest(value | {"split": picture_set.split, "seed": cell.seed if cell.stochastic else "any"})


def unique_cells(cells: Iterable[Cell], picture_set: PictureSet, model: ModelIdentity) -> tuple[Cell, ...]:
    """The cells with different keys: two description files may have the same content."""
    return tuple(same[0] for same in group_by(cells, lambda cell: cell_key(cell, picture_set, model)).values())


def groups_by_views(cells: Iterable[Cell], picture_set: PictureSet, model: ModelIdentity) -> list[list[Cell]]:
    """The cells that share their views, so that every picture is encoded once for all of them."""
    return list(group_by(cells, lambda cell: (views_key(cell, picture_set, model), cell.traffic)).values())


def _shared(group: str) -> set[str]:
    """The settings of a group that belong to no single defence or attack."""
    own = (one.param_names.values() for known in (DEFENCES, ATTACKS) for one in known.values())
    return set(in_groups(group)).difference(*own)


def _values(settings: Settings, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in names}


def _dataset(picture_set: PictureSet) -> str:
    return picture_set.dataset.partition(":")[0]


def _target_and_code(cell: Cell) -> dict[str, JsonValue]:
    """The target, and of a plugin's attack the content of its file."""
    attack = get_attack(cell.requested.attack)
    parts: dict[str, JsonValue] = {"target": cell.target} if cell.target else {}
    return parts | ({"guest": attack.digest} if attack.digest else {})


def _known_code(cell: Cell) -> str:
    """The content of the file of a user's own defence that the attack is made against, as a hash; else ""."""
    adaptive = cell.requested.attack == "adaptive"
    return DEFENCES[attacked_defence(cell.attack_settings)].digest if adaptive else ""


def _description_content(cell: Cell, picture_set: PictureSet) -> Any:
    """The content of the descriptions (not their file name), and whether it is one mean prompt."""
    source = cell.settings.descriptions
    content = descriptions_for(picture_set.names, source)
    return {"mean": content} if source == BUILT_IN_MEAN and any(content) else content


def _pixels_key(cell: Cell, picture_set: PictureSet, model: ModelIdentity, value: dict[str, Any]) -> str:
    """A hash of ``value`` and of what the pixels under the views depend on, beside the class names."""
    requested = cell.requested
    pixels = {"format": FORMAT, "model": model.name, "weights": model.weights}
    pixels |= {"square": requested.square, "attack": requested.attack}
    if requested.attack != "none":
        pixels |= {"budget": cell.settings.budget, "steps": cell.steps, "roundtrip": requested.adversarial_roundtrip}
        pixels["attack_seed"] = requested.attack_seed if "attack_seed" in cell.fixed_seeds else "each"
        pixels |= _attack_dependencies(cell, picture_set, model)
        if get_attack(requested.attack).queries_clip:
            pixels["hand_prompt"] = requested.hand_prompt
        pixels |= _values(requested, _shared("attack") - OF_PIXELS) | _target_and_code(cell)
    return digest(value | {"pixels": pixels, "dataset": _dataset(picture_set), "seed": cell.seed})


def _attack_dependencies(cell: Cell, picture_set: PictureSet, model: ModelIdentity) -> dict[str, Any]:
    """What an attack depends on beyond the settings that all attacks have."""
    requested, through = cell.requested, differentiated(cell.requested)
    own = {name: short for short, name in get_attack(requested.attack).param_names.items()}
    parts: dict[str, Any] = {own[name]: value for name, value in _values(cell.attack_settings, own).items()}
    if through != "model":
        parts |= {"views": requested.attack_views} | _values(requested, _shared("views") - NOT_OF_CROPS)
    if through == "defence":
        defence_settings = _values(cell.settings, in_groups(*DEFENCE_GROUPS))
        if requested.attack == "adaptive":
            defence = DEFENCES[attacked_defence(cell.attack_settings)]
            defence_settings |= _values(requested, defence.setting_names)
            defence_settings |= _values(requested, {"views"} & set(in_groups(*defence.groups)))
        memory = cell_key(cell, picture_set, model) if cell.attack_uses_cache else ""
        code = {"code": code} if (code := _known_code(cell)) else {}
        parts |= {"defence": defence_settings, "memory": memory} | code
    return parts
