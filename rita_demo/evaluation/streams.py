"""Stored streams found in run folders, made by the command line or by the page."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from rita_demo.attacks import ATTACKS, differentiated
from rita_demo.data.folders import read_folder
from rita_demo.defences.registry import DEFENCES
from rita_demo.evaluation import rows as store
from rita_demo.evaluation.measurement import Measurement, settings_text
from rita_demo.evaluation.pictures import PRESENT_SUFFIX
from rita_demo.evaluation.planned_cells import canonical_settings
from rita_demo.evaluation.rows import Row
from rita_demo.records.errors import DataError, SettingError
from rita_demo.records.measurement import MEMORY_TEXT, method_and_memory

STREAM_COLUMNS = ("dataset", "split", "backbone", "attack", "budget", "steps")  # shared by the cells of one stream
STREAM_KEY = ("class_names", "weights")  # likewise


def traffic_words(columns: Mapping[str, Any]) -> str:
    """What arrived, by the columns of a cell, without a comma: "clean", "PGD 4/255 on 50 %", "adaptive against RITA 4/255"; an
    unknown name stays."""
    attack, *share = re.split(r":(?=\d+$)", str(columns["attack"]))
    name, _, known = attack.partition(":")
    text = ATTACKS[name].column_title if name in ATTACKS else name
    text += f" against {DEFENCES[known].title if known in DEFENCES else known}" if known else ""
    text = "clean" if attack == "none" else text + f" {columns['budget']}/255" * bool(columns["budget"])
    return text + (f" on {share[0]} %" if share else "")


@dataclass(frozen=True)
class StreamRun:
    """One stream: RITA's measurement with its memory, and the other methods' on the same pictures, in one run ``folder``.

    ``name``: the path below the runs folder and a number, which identifies it on the page. ``cells``: method ->
    measurement; a method whose memory is off or reset, beside the stream, is ``method:protocol`` (``rita:off``).
    ``last_modified``: when rows were last written, in seconds since 1970; ``decided``: its number of rows. ``stored``: it
    comes with this project.
    """

    name: str
    folder: Path
    cells: dict[str, Measurement]
    last_modified: float = 0.0
    decided: int = 0
    stored: bool = False

    @property
    def header(self) -> Measurement:
        """RITA's measurement."""
        return self.cells["rita"]

    @property
    def names(self) -> tuple[str, ...]:
        """The K class names."""
        return self.header.names

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of the tables: dataset, split, model, attack, budget, ..."""
        return self.header.columns

    @property
    def place(self) -> str:
        """The dataset's name, or its folder below the data folder (untrusted)."""
        return self.header.place

    @property
    def title(self) -> str:
        """What was streamed, in one line."""
        c, names = self.columns, f"{len(self.names)} class names"
        traffic_text = traffic_words(c)
        traffic_text += ", class by class" if self.header.traffic.order == "classes" else ""
        told = ("attacked_share", "stream_order", "views")
        shown = settings_text({name: value for name, value in self.header.non_default.items() if name not in told})
        settings = f" ({shown})" if shown else ""
        dataset = str(c["dataset"]).removesuffix(PRESENT_SUFFIX)
        names += " with pictures" if dataset != c["dataset"] else ""
        pictures = f"{self.header.pictures} pictures, {self.header.facts['requested']['views']} views each"
        seed = self.header.facts["seed"]
        return f"{dataset} {c['split']}, {names}, {pictures}, {traffic_text}, seed {seed}, {c['backbone']}{settings}"

    @property
    def about(self) -> str:
        """Where it is from, and whether it is finished."""
        if self.stored:
            return "stored example"
        written = datetime.fromtimestamp(self.last_modified).strftime("%Y-%m-%d %H:%M")
        left = self.header.pictures - self.decided
        state = f"unfinished: {self.decided} of {self.header.pictures} pictures decided" if left > 0 else "finished"
        return f"{state}, {written}, folder {PurePosixPath(self.name).parts[0]}"

    @property
    def titles(self) -> dict[str, str]:
        """The methods' titles, in the order of the tables; of one that is not loaded the stored title."""
        return {name: self._title(name) for name in sorted(self.cells, key=_table_order)}

    def _title(self, name: str) -> str:
        method, protocol = method_and_memory(name)
        title = DEFENCES[method].title if method in DEFENCES else self.cells[name].title
        return f"{title}, {MEMORY_TEXT[protocol]}" if protocol else title

    @property
    def attack_uses_cache(self) -> bool:
        """Whether the attack uses RITA's cache: the pictures of the other methods were then attacked with an empty
        one, and differ. An attack that is not loaded does not say."""
        try:
            return differentiated(self.header.requested) == "defence"
        except SettingError:
            return False

    def rows(self, method: str = "rita") -> list[Row]:
        """The rows of a method, named as in ``cells``, that are written so far, with the columns of the tables; not those
        without an answer. A picture that was not attacked has the attack ``none``."""
        about, clean = self.cells[method], {"attack": "none", "budget": 0, "steps": 0}
        rows = [row for row in store.read_stream(self.folder, about.id) if row["fault"] is None]
        shared = about.columns | {"attack": about.key["attack"]}
        return [shared | row | ({} if row["attacked"] else clean) for row in rows]


def stream_runs(root: Path, run: Path | None = None) -> tuple[StreamRun, ...]:
    """Every stream with at least one row below a folder of run folders, or in one ``run`` of it; newest first.

    Damaged folders are left out. The code of an own attack need not be loaded.
    """
    folders = [run] if run is not None else []
    if run is None and root.is_dir():
        folders = [root, *(root / name for name in read_folder(root).folders)]
    streams: list[StreamRun] = []
    for folder in folders:
        with suppress(OSError, DataError, SettingError):
            streams += recorded_streams(folder, root)
    return tuple(sorted(streams, key=lambda one: -one.last_modified))


def recorded_streams(run: Path, root: Path | None = None) -> tuple[StreamRun, ...]:
    """Every stream with rows of a run folder, which is ``root`` or below it; also where the code of its attack is not loaded:
    what was stored needs none.

    Raises:
        DataError: the run folder is damaged.
    """
    if not (run / store.FILE).is_file():
        return ()
    stored = [one for one in store.stored_measurements(run) if one["answers"]]
    known = [Measurement.of(one) for one in stored]
    modified, place = (run / store.FILE).stat().st_mtime, run.relative_to(root or run)
    return tuple(
        StreamRun(
            (place / str(one.id)).as_posix(),
            run,
            {"rita": one, **_matching_cells(one, known)},
            modified,
            row["answers"],
        )
        for one, row in zip(known, stored)
        if (one.method, one.key["protocol"]) == ("rita", "stream")
    )


def stream_choices(runs: Iterable[StreamRun]) -> list[tuple[str, str]]:
    """(text, name) of streams for a menu; no text stands twice: those that read alike end with their number."""
    listed = [
        (f"{'Stored example: ' * one.stored}{one.title}" + f"; {one.about}" * (not one.stored), one) for one in runs
    ]
    count = Counter(text for text, _ in listed)
    return [(text + f", number {one.header.id}" * (count[text] > 1), one.name) for text, one in listed]


def find_stream_run(root: Path, name: str) -> StreamRun:
    """The stream of that name.

    Raises:
        DataError: there is none.
    """
    for one in stream_runs(root):
        if one.name == name:
            return one
    raise DataError("There is no stored run of that name.", "Choose one from the list.")


def _matching_cells(stream: Measurement, known: Sequence[Measurement]) -> dict[str, Measurement]:
    """The other measurements of the same pictures and the same views, named as in :class:`StreamRun`."""
    keeping = {other.method for other in known if other.key["protocol"] == "stream"}
    cells: dict[str, Measurement] = {}
    for other in known:
        same = all(other.columns[n] == stream.columns[n] for n in STREAM_COLUMNS)
        same = same and all(other.key[n] == stream.key[n] for n in STREAM_KEY)
        protocol, method, pictures = other.key["protocol"], other.method, other.key["stream"]
        # a method without a memory does not depend on the one that the stream begins with
        begins = stream.key["stream"].startswith(pictures) if protocol != "stream" else pictures == stream.key["stream"]
        same = same and begins
        remembers = DEFENCES[method].uses_cache if method in DEFENCES else method in keeping
        name = f"{method}:{protocol}" if remembers and protocol != "stream" else method
        if same and name != "rita" and _same_conditions(stream, other):
            cells.setdefault(name, other)
    return {name: cells[name] for name in sorted(cells, key=_table_order)}


def _table_order(name: str) -> tuple[int, int]:
    """The place of a cell of a stream in the tables: after its method, what has its memory off or reset."""
    method, protocol = method_and_memory(name)
    place = list(DEFENCES).index(method) if method in DEFENCES else len(DEFENCES)
    return place, ["", *MEMORY_TEXT].index(protocol)


def _same_conditions(stream: Measurement, other: Measurement) -> bool:
    """Whether all settings that matter to the other method are equal, apart from its memory's ``protocol``, and the seed if
    that method is stochastic."""
    try:
        one, cell = stream.cell, other.cell
    except SettingError:  # code that is not loaded: only what was asked for alike
        asked, also = (
            {n: v for n, v in of.facts["requested"].items() if n != "protocol"} | {"traffic": of.traffic}
            for of in (stream, other)
        )
        return (
            asked == also
            and stream.key["target"] == other.key["target"]
            and other.key["seed"] in (-1, stream.key["seed"])
        )
    settings = canonical_settings(cell.method, one.requested.replace(protocol=cell.settings.protocol), one.fixed_seeds)
    return settings == cell.settings and one.traffic == cell.traffic and other.key["seed"] in (-1, stream.key["seed"])
