"""The request of a measurement, from the words of the command line or from Python."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from rita_demo.attacks import ATTACKS, get_attack
from rita_demo.data.datasets import paper_setting_names
from rita_demo.defences.registry import DEFENCES, validated
from rita_demo.process.text_file import read_text
from rita_demo.records.errors import DataError, SettingError, check_known
from rita_demo.records.spreadsheet import read_columns, text_of, without_separator_line
from rita_demo.settings import SETTINGS, Settings, get_setting, parse_assignment, preset
from rita_demo.settings.attack_name import parse_attack

SEEDS = ("view_seed", "attack_seed")
ORDERS = ("random", "classes")
EXECUTORS = ("local", "ray")  # this process, or a Ray cluster
PICTURE_COLUMNS = ("file", "picture")  # of a CSV file with names of pictures: the first of them that it has


@dataclass(frozen=True)
class Traffic:
    """How the pictures arrive: ``share`` percent of them attacked (1 to 100; which ones depends on the seed and the
    picture's name), in random ``order`` or one class after the other. Raises SettingError: a share or an order that is
    not allowed."""

    share: int = 100
    order: str = "random"

    def __post_init__(self) -> None:
        if not isinstance(self.share, int) or not 1 <= self.share <= 100:
            message = (
                f"The share of attacked pictures is a whole number from 1 to 100 percent; got {str(self.share)[:40]}."
            )
            raise SettingError(message, "For clean pictures alone choose the attack none.")
        check_known("order", self.order, ORDERS)

    def non_default(self) -> dict[str, Any]:
        """What differs from the default traffic, as the tables print it."""
        share = {"attacked_share": f"{self.share}%"} if self.share != 100 else {}
        return share | ({"stream_order": self.order} if self.order != "random" else {})


DEFAULT_TRAFFIC = Traffic()
Words = str | float | Sequence[str | float]  # one value, text with commas, or a list
NEXT_CLASS = "next"  # the target that is, for every picture, the class after its own


@dataclass(frozen=True)
class ChosenPictures:
    """``ids``: names of pictures of one dataset, without a double; ``names``: the class names that they are asked
    among, () for the dataset's own; ``place``: the dataset, or its folder below the data folder. Raises DataError: no
    picture is chosen."""

    ids: tuple[str, ...]
    names: tuple[str, ...] = ()
    place: str = ""

    def __post_init__(self) -> None:
        if not self.ids:
            raise DataError("No pictures are chosen.", "Choose at least one.")


@dataclass(frozen=True)
class Request:
    """One call of ``evaluate``.

    ``points``: the settings to measure, one per combination of attack, budget, protocol and sweep values.
    ``fixed_seeds``: names of the seeds that were given explicitly and are the same for every picture.
    ``target``: the class name that attacks move towards, ``next``, or "" for away from the true class.
    ``dataset_settings``: names of the settings that take the paper's value for each dataset. ``chosen``: measure these
    pictures alone. ``memory``: a file that the page exported, with which each kept memory begins.

    Raises:
        SettingError: a method without the cache that it needs; a memory to begin with and none that is kept; a target
            without an attack, or with an untargetable one; a limit beside chosen pictures.
    """

    datasets: tuple[str, ...]
    split: str
    methods: tuple[str, ...]
    points: tuple[Settings, ...]
    out: Path
    data_root: Path | None = None
    seeds: tuple[int, ...] = (0,)
    fixed_seeds: frozenset[str] = frozenset()
    limit: int | None = None
    allow_partial: bool = False
    backbone: str = "embedded"
    traffic: Traffic = DEFAULT_TRAFFIC
    target: str = ""
    dataset_settings: frozenset[str] = frozenset()
    chosen: ChosenPictures | None = None
    memory: Path | None = None

    def __post_init__(self) -> None:
        protocols = {point.protocol for point in self.points}
        for name in self.methods:
            if protocols == {"off"} and DEFENCES[name].cache_only:
                raise SettingError(f"The method {name} needs a memory.", "Measure it with --protocols reset,stream.")
        if self.memory is not None and "stream" not in protocols:
            hint = "Measure with --protocols stream, or leave --memory out."
            raise SettingError("A memory to begin with is kept.", hint)
        if self.chosen is not None and self.limit is not None:
            raise SettingError("Chosen pictures are measured all.", "Leave --limit out, or --pictures.")
        attacks = dict.fromkeys(point.attack for point in self.points if self.target)
        if set(attacks) == {"none"}:
            raise SettingError("--target needs an attack, but the attack is none.")
        for name in attacks:
            if name != "none" and not get_attack(name).targetable:
                aimed = ", ".join(name for name, row in ATTACKS.items() if row.targetable)
                hint = f"Measure it without --target; those that can be aimed: {aimed}."
                raise SettingError(f"The attack {name!r} cannot be aimed at a class.", hint)


def read_pictures(path: Path) -> tuple[str, ...]:
    """The names of pictures in a file: the column ``file`` or ``picture`` of a CSV file, as the page and ``compare``
    write it, whatever separates its cells, or a name per line. Raises DataError: the file cannot be read, or has no
    names."""
    try:
        text = read_text(path)
        tables = (read_columns(text, column) for column in PICTURE_COLUMNS)
        table = next((rows for rows in tables if rows is not None), None)
    except OSError as error:
        raise DataError(f"The list of pictures {path.name!r} cannot be read.", "Name a text or CSV file.") from error
    except ValueError as error:
        raise DataError(
            f"The list of pictures {path.name!r} cannot be read: it is no text in UTF-8 or UTF-16, or a quote in it never "
            "ends.",
            "Save it as CSV in UTF-8.",
        ) from error
    if table is None:
        names = [line.strip() for line in without_separator_line(text)[0].splitlines()]
    else:
        names = [text_of(name) for (name,) in table]
    if not any(names):
        raise DataError(f"The list of pictures {path.name!r} is empty.", "Write one name per line.")
    return tuple(dict.fromkeys(name for name in names if name))


def parse_request(dataset: Words, methods: Words, seeds: Words, asked: Mapping[str, Any], **fields: Any) -> Request:
    """The request of the command line's words. ``asked``: arguments of :func:`points`; ``fields``: the other fields of
    :class:`Request`, as they are. A missing dataset is an error when it is read. The preset ``paper`` leaves to each
    dataset the settings that are not given explicitly. Raises SettingError: an unknown name or a value outside its
    range."""
    all_points, fixed = points(**asked)
    try:
        numbers = tuple(SETTINGS["view_seed"].parse(word) for word in _listed(seeds, "seed"))
    except SettingError as error:
        raise SettingError(error.message.replace("view_seed", "A seed", 1)) from error
    explicit = {*dict(map(parse_assignment, asked.get("assignments", ()))), *_sweeps(asked.get("sweeps", ()))}
    paper = paper_setting_names() if asked.get("start") == "paper" else frozenset[str]()
    fields |= {"datasets": _listed(dataset, "dataset"), "methods": validated(_listed(methods, "method"))}
    fields |= {"points": all_points, "seeds": numbers, "fixed_seeds": fixed}
    return Request(**fields, dataset_settings=paper - explicit - set(asked.get("saved", ())))


def points(
    *,
    start: str = "recommended",
    attacks: Words,
    budget: Words,
    steps: Words | None = None,
    square: str = "model",
    protocols: Words = "off,reset,stream",
    saved: Mapping[str, Any] | None = None,
    assignments: Sequence[str] = (),
    sweeps: Sequence[str] = (),
) -> tuple[tuple[Settings, ...], frozenset[str]]:
    """The settings to measure, and the names of the seeds that are given explicitly. ``saved`` (setting -> value) is
    under all options, ``assignments`` override the other options, ``sweeps`` override both. Raises SettingError: an
    unknown name or a value outside its range."""
    texts = {"budget": budget, "square": square, "protocol": protocols} | ({} if steps is None else {"steps": steps})
    axes: dict[str, list[Any]] = {"attack": list(_listed(attacks, "attack"))}
    axes |= {name: _values(name, text) for name, text in texts.items()}
    axes |= {name: [value] for name, value in map(parse_assignment, assignments)}
    axes |= _sweeps(sweeps)
    settings = []
    for values in product(*axes.values()):
        chosen = dict(zip(axes, values))
        chosen = parse_attack(chosen.pop("attack")) | chosen
        if steps is not None:
            chosen.setdefault(get_attack(chosen["attack"]).steps_setting, chosen.pop("steps"))
        settings.append(preset(start).replace(**(saved or {})).replace(**chosen))
    return tuple(dict.fromkeys(settings)), frozenset(name for name in SEEDS if name in axes)


def listed(words: Words) -> tuple[str, ...]:
    """The different words of one value, of text with commas, or of a list."""
    text = ",".join(map(str, words)) if isinstance(words, Iterable) and not isinstance(words, str) else str(words)
    return tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip()))


def _listed(words: Words, what: str) -> tuple[str, ...]:
    names = listed(words)
    if not names:
        raise SettingError(f"At least one {what} is needed.")
    return names


def _values(name: str, text: Words) -> list[Any]:
    return [get_setting(name).parse(word) for word in _listed(text, name)]


def _sweeps(texts: Sequence[str]) -> dict[str, list[Any]]:
    axes: dict[str, list[Any]] = {}
    for text in texts:
        name, equals, values = (part.strip() for part in text.partition("="))
        if not equals:
            raise SettingError(f"A sweep is written name=v1,v2; got {text[:60]!r}.")
        if name in axes:
            raise SettingError(f"The sweep over {name[:40]} is given twice.", "Put its values into one list.")
        axes[name] = _values(name, values)
    return axes
