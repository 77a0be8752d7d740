"""Which cells a request means, and what makes two of them the same.

A cell is a method on a collection under one attack, memory protocol, setting and seed. Settings a
method does not depend on are put back to their defaults first: sweeping the memory's weight does not
measure CLIP again, and a clean picture is the same at every budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rita_demo.attacks import attack_row, looks_through
from rita_demo.data.descriptions import MEAN, described
from rita_demo.evaluation.collection import Collection
from rita_demo.evaluation.files import digest
from rita_demo.evaluation.request import NEXT, SEEDS, USUAL, Request, Traffic
from rita_demo.methods import METHODS
from rita_demo.settings import KNOBS, RECOMMENDED, Settings

FORMAT = 1  # raise it when stored numbers would change their meaning
COLUMNS = ("attack", "budget", "steps", "protocol")  # of the tables: not part of the settings' hash
DEFENCE = frozenset({"prompts", "tuning", "transport", "cache"})  # what an attack through RITA sees
ONLY_FOR_MEMORY = (
    "max_entropy", "entropy_unit", "slots", "cache_weight", "empty_class", "completion", "order",
    "views_per_image",
)  # fmt: skip


@dataclass(frozen=True)
class Model:
    """Whose answers they are: the model's name, and a hash of its weights (a retrained one is another)."""

    name: str
    weights: str


@dataclass(frozen=True)
class Cell:
    """``asked`` are the settings of the request; ``settings`` the same without what cannot matter.

    ``target``: the class name that the attack aims at, ``next`` for the one after each picture's own, or "".
    """

    method: str
    seed: int
    asked: Settings
    settings: Settings
    fixed: frozenset[str]
    traffic: Traffic = USUAL
    target: str = ""

    @property
    def clean(self) -> Cell:
        """The same on clean pictures: whose views the unattacked part of mixed traffic shares."""
        asked = self.asked.but(attack="none")
        settings = canonical(self.method, asked, self.fixed)
        return replace(self, asked=asked, settings=settings, traffic=USUAL, target="")

    @property
    def column(self) -> str:
        """The attack as the tables name it: ``pgd``; ``pgd@next`` where it aims at a class; ``pgd:50`` where half
        of the pictures are attacked."""
        share = self.traffic.share
        aim = f"@{self.target}" if self.target else ""
        return self.settings.attack + aim + (f":{share}" if share != 100 else "")

    def aim(self, label: int, names: Sequence[str]) -> int | None:
        """The class that the attack on a picture of class ``label`` of these K ``names`` moves towards, if any."""
        if self.target == NEXT:
            return (label + 1) % len(names)
        return names.index(self.target) if self.target else None

    @property
    def steps(self) -> int:
        """Gradient steps that are really taken: 0 without an attack, 1 for the attacks of one step."""
        return attack_row(self.asked.attack).steps(self.asked.steps)

    @property
    def attacked(self) -> Settings:
        """The settings the attack is made with: RITA as this cell has it, no memory where it has none."""
        return self.asked.but(protocol=self.settings.protocol)

    @property
    def knows_memory(self) -> bool:
        """Whether the attack depends on what this very cell remembers."""
        return looks_through(self.asked) == "defence" and self.settings.protocol == "stream"

    @property
    def drawn(self) -> bool:
        """Whether another seed could give other numbers."""
        method, free = METHODS[self.method], set(SEEDS) - self.fixed
        views = "views" in method.groups and "view_seed" in free
        start = attack_row(self.settings.attack).drawn and "attack_seed" in free
        mixed = self.traffic.share != 100
        return views or start or mixed or self.settings.protocol == "stream"


def cells_of(request: Request, seed: int) -> tuple[Cell, ...]:
    """All different cells of one dataset and seed, methods in the order asked for."""
    found: dict[tuple[str, Settings], Cell] = {}
    for method in request.methods:
        for asked in request.points:
            settings = canonical(method, asked, request.fixed)
            if METHODS[method].memory_alone and settings.protocol == "off":
                continue  # without a memory it has nothing to answer from
            traffic, target = request.traffic, request.target
            if asked.attack == "none":
                traffic, target = replace(traffic, share=100), ""
            cell = Cell(method, seed, asked, settings, request.fixed, traffic, target)
            if cell.drawn or seed == request.seeds[0]:
                found.setdefault((method, settings), cell)
    return tuple(found.values())


def canonical(method: str, asked: Settings, fixed: frozenset[str]) -> Settings:
    """``asked`` as the method wants it, with everything it does not depend on back at its default."""
    row, attack = METHODS[method], attack_row(asked.attack)
    asked = asked.but(**row.changes)
    through = looks_through(asked)
    groups = row.groups | (DEFENCE if through == "defence" else frozenset())
    idle = {n for n, knob in KNOBS.items() if knob.group not in groups and n not in row.knobs}
    if asked.tuning_steps == 0 or asked.tuning_loss == "none":
        idle |= {"tuning_rate", "subset_size"}
    if method == "ensemble" and asked.ensemble_text == "template" and through != "defence":
        idle.add("descriptions")
    if not attack.asks_clip and (
        "hand_prompt" not in row.knobs
        or (method == "ensemble" and asked.ensemble_text != "template")
    ):
        idle.add("hand_prompt")
    idle |= set(SEEDS) - fixed
    if not attack.drawn:
        idle.add("attack_seed")
    if not attack.iterative:
        idle.add("steps")
    if through in ("crops", "defence"):
        idle.discard("view_scale")
    else:
        idle.add("attack_views")
    if asked.attack != "autoattack":
        idle.add("autoattack")
    if not row.remembers or asked.protocol == "off":
        idle |= set(ONLY_FOR_MEMORY)
    changes: dict[str, Any] = {name: KNOBS[name].default for name in idle}
    if not attack.bounded:
        changes["budget"] = 0
    if asked.attack == "none":
        changes |= {"budget": 0, "adversarial_roundtrip": KNOBS["adversarial_roundtrip"].default}
    if not row.remembers:
        changes["protocol"] = "off"
    return asked.but(**changes)


def special(cell: Cell) -> dict[str, Any]:
    """The settings that make this cell another one than the recommended, for the tables' readers."""
    columns = {name: getattr(cell.asked, name) for name in (*COLUMNS, "square")}
    usual = canonical(cell.method, RECOMMENDED.but(**columns), frozenset())
    differs = {name: getattr(cell.settings, name) for name in cell.settings.differs_from(usual)}
    return differs | _aimed(cell) | cell.traffic.special()


def look_key(cell: Cell, collection: Collection, model: Model) -> str:
    """Cells with the same key look at the same pixels through the same views."""
    pixels = _pixels(cell, collection, model)
    value: dict[str, Any] = {"views": _knobs(cell, ("views",)), "pixels": pixels}
    if cell.asked.attack != "none":
        value["classes"] = collection.names
    return digest(value | _home(collection) | {"seed": cell.seed})


def attack_key(cell: Cell, collection: Collection, model: Model) -> str:
    """Cells with the same key see the same attacked squares: the views do not matter here."""
    pixels = _pixels(cell, collection, model)
    value = {"pixels": pixels, "classes": collection.names, "seed": cell.seed}
    return digest(value | _home(collection))


def tuning_key(cell: Cell) -> tuple[Any, ...]:
    """Cells with the same key tune their prompts alike on the same views."""
    groups = {"prompts", "tuning"}
    if cell.settings.tuning_loss == "transport":
        groups.add("transport")
    return tuple(getattr(cell.settings, n) for n, knob in KNOBS.items() if knob.group in groups)


def tuned_key(cell: Cell, collection: Collection, model: Model) -> str:
    """What the folder of a cell's tuned prompts is found by."""
    knobs = tuning_key(replace(cell, settings=cell.settings.but(descriptions="none")))
    value = {"look": look_key(cell, collection, model), "knobs": knobs, "names": collection.names}
    return digest(value | {"descriptions": _described(cell, collection)})


def settings_hash(cell: Cell, collection: Collection, model: Model) -> str:
    """The column ``settings``: everything that decides a number and has no column of its own."""
    knobs = {n: v for n, v in cell.settings.as_dict().items() if n not in COLUMNS}
    knobs["descriptions"] = _described(cell, collection)
    if knobs["hand_prompt"] == "photo":  # what was stored before there was a choice stays found
        del knobs["hand_prompt"]
    pictures = sorted((entry.id, entry.size) for entry in collection.entries)
    value = {
        "format": FORMAT,
        "knobs": knobs,
        "fixed": sorted(cell.fixed),
        "names": collection.names,
    } | (_aimed(cell) | cell.traffic.special())
    return digest(value | {"pictures": digest(pictures), "weights": model.weights})


def _aimed(cell: Cell) -> dict[str, str]:
    return {"target": cell.target} if cell.target else {}


def _described(cell: Cell, collection: Collection) -> Any:
    """What the descriptions say, not where they lie; and whether as one prompt."""
    source = cell.settings.descriptions
    said = described(collection.names, source)
    return {"mean": said} if source == MEAN and any(said) else said


def cell_key(cell: Cell, collection: Collection, model: Model) -> str:
    """What a cell's folder is found by."""
    columns = {name: getattr(cell.settings, name) for name in COLUMNS} | {"steps": cell.steps}
    value = {"columns": columns, "settings": settings_hash(cell, collection, model)}
    value |= {"method": cell.method, "model": model.name} | _home(collection)
    return digest(value | {"split": collection.split, "seed": cell.seed if cell.drawn else "any"})


def different(cells: Iterable[Cell], collection: Collection, model: Model) -> tuple[Cell, ...]:
    """The cells without those that another one equals: the same sentences may lie in two files."""
    found: dict[str, Cell] = {}
    for cell in cells:
        found.setdefault(cell_key(cell, collection, model), cell)
    return tuple(found.values())


def groups_of(cells: Iterable[Cell], collection: Collection, model: Model) -> list[list[Cell]]:
    """The cells that share their views, so that every picture is looked at once for all of them."""
    found: dict[tuple[str, Traffic], list[Cell]] = {}
    for cell in cells:
        found.setdefault((look_key(cell, collection, model), cell.traffic), []).append(cell)
    return list(found.values())


def _pixels(cell: Cell, collection: Collection, model: Model) -> dict[str, Any]:
    """What the pixels that views are cut from depend on, beside the picture and the class names."""
    knobs: dict[str, Any] = {"square": cell.asked.square, "attack": cell.asked.attack}
    if cell.asked.attack != "none":
        roundtrip = cell.asked.adversarial_roundtrip
        knobs |= {"budget": cell.settings.budget, "steps": cell.steps, "roundtrip": roundtrip}
        knobs["attack_seed"] = cell.asked.attack_seed if "attack_seed" in cell.fixed else "each"
        knobs |= _sight(cell, collection, model)
        if attack_row(cell.asked.attack).asks_clip and cell.asked.hand_prompt != "photo":
            knobs["hand_prompt"] = cell.asked.hand_prompt
        knobs |= _aimed(cell)
    return {"format": FORMAT, "model": model.name, "weights": model.weights} | knobs


def _sight(cell: Cell, collection: Collection, model: Model) -> dict[str, Any]:
    """What an attack depends on that looks through crops or the defence; {} for the others."""
    through = looks_through(cell.asked)
    if cell.asked.attack == "autoattack":
        return {"version": cell.asked.autoattack} | _crops(cell, through)
    if through != "defence":
        return _crops(cell, through)
    groups = _groups(cell.settings, DEFENCE)
    memory = cell_key(cell, collection, model) if cell.knows_memory else ""
    return _crops(cell, through) | {"defence": groups, "memory": memory}


def _crops(cell: Cell, through: str) -> dict[str, Any]:
    if through not in ("crops", "defence"):
        return {}
    return {"views": cell.asked.attack_views, "scale": cell.asked.view_scale}


def _groups(settings: Settings, groups: frozenset[str]) -> dict[str, Any]:
    return {n: getattr(settings, n) for n, knob in KNOBS.items() if knob.group in groups}


def _knobs(cell: Cell, groups: tuple[str, ...]) -> dict[str, Any]:
    names = (name for name, knob in KNOBS.items() if knob.group in groups)
    free = set(SEEDS) - cell.fixed
    return {name: "each" if name in free else getattr(cell.asked, name) for name in names}


def _home(collection: Collection) -> dict[str, Any]:
    return {"dataset": collection.dataset.partition(":")[0]}
