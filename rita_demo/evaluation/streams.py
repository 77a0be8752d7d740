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
    name, _, against = attack.partition(":")
    text = ATTACKS[name].column_title if name in ATTACKS else name
    text += f" against {DEFENCES[against].title if against in DEFENCES else against}" if against else ""
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
        c, about = self.columns, self.header
        dataset = str(c["dataset"]).removesuffix(PRESENT_SUFFIX)
        names = f"{len(self.names)} class names{' with pictures' * (dataset != c['dataset'])}"
        pictures = f"{about.pictures} pictures, {about.facts['requested']['views']} views each"
        traffic = f"{traffic_words(c)}{', class by class' * (about.traffic.order == 'classes')}"
        in_words = ("attacked_share", "stream_order", "views")
        settings = settings_text({name: value for name, value in about.non_default.items() if name not in in_words})
        text = f"{dataset} {c['split']}, {names}, {pictures}, {traffic}, seed {about.facts['seed']}, {c['backbone']}"
        return text + f" ({settings})" * bool(settings)

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
        titles = {}
        for name in sorted(self.cells, key=_table_order):
            method, protocol = method_and_memory(name)
            title = DEFENCES[method].title if method in DEFENCES else self.cells[name].title
            titles[name] = f"{title}, {MEMORY_TEXT[protocol]}" if protocol else title
        return titles

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
        about = self.cells[method]
        rows = [row for row in store.read_stream(self.folder, about.id) if row["fault"] is None]
        shared = about.columns | {"attack": about.key["attack"]}
        return [shared | row | ({} if row["attacked"] else store.NOT_ATTACKED) for row in rows]


def stream_runs(root: Path, run: Path | None = None) -> tuple[StreamRun, ...]:
    """Every stream with at least one row below a folder of run folders, or in one ``run`` of it; newest first. Damaged folders
    are left out. The code of an own attack need not be loaded."""
    folders = [run] if run is not None else []
    if run is None and root.is_dir():
        folders = [root, *(root / name for name in read_folder(root).folders)]
    streams: list[StreamRun] = []
    for folder in folders:
        with suppress(OSError, DataError, SettingError):
            streams += recorded_streams(folder, root)
    return tuple(sorted(streams, key=lambda stream: -stream.last_modified))


def recorded_streams(run: Path, root: Path | None = None) -> tuple[StreamRun, ...]:
    """Every stream with rows of a run folder, which is ``root`` or below it; also where the code of its attack is not loaded:
    what was stored needs none. Raises DataError: the run folder is damaged."""
    if not (run / store.FILE).is_file():
        return ()
    lines = [line for line in store.stored_measurements(run) if line["answers"]]
    measurements, modified = list(map(Measurement.of, lines)), (run / store.FILE).stat().st_mtime
    place, streams = run.relative_to(root or run), []
    for about, line in zip(measurements, lines):
        if (about.method, about.key["protocol"]) == ("rita", "stream"):
            cells = {"rita": about, **_matching_cells(about, measurements)}
            streams.append(StreamRun((place / str(about.id)).as_posix(), run, cells, modified, line["answers"]))
    return tuple(streams)


def stream_choices(runs: Iterable[StreamRun]) -> list[tuple[str, str]]:
    """(text, name) of streams for a menu; no text stands twice: those that read alike end with their number."""
    runs = list(runs)
    texts = [f"Stored example: {run.title}" if run.stored else f"{run.title}; {run.about}" for run in runs]
    count = Counter(texts)
    return [(text + f", number {run.header.id}" * (count[text] > 1), run.name) for text, run in zip(texts, runs)]


def find_stream_run(root: Path, name: str) -> StreamRun:
    """The stream of that name. Raises DataError: there is none."""
    for stream in stream_runs(root):
        if stream.name == name:
            return stream
    raise DataError("There is no stored run of that name.", "Choose one from the list.")


def _matching_cells(stream: Measurement, known: Sequence[Measurement]) -> dict[str, Measurement]:
    """The other measurements of the same pictures and the same views, named as in :class:`StreamRun`."""
    keeping = {other.method for other in known if other.key["protocol"] == "stream"}
    cells: dict[str, Measurement] = {}
    for other in known:
        protocol, method, pictures = other.key["protocol"], other.method, other.key["stream"]
        # a method without a memory does not depend on the one that the stream begins with
        same = pictures == stream.key["stream"] or (protocol != "stream" and stream.key["stream"].startswith(pictures))
        same = same and all(other.columns[n] == stream.columns[n] for n in STREAM_COLUMNS)
        same = same and all(other.key[n] == stream.key[n] for n in STREAM_KEY)
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
    if other.key["seed"] not in (-1, stream.key["seed"]):
        return False
    try:
        mine, cell = stream.cell, other.cell
    except SettingError:  # code that is not loaded: only what was asked for alike
        asked, also = (
            about.facts["requested"] | {"protocol": "", "target": about.key["target"]} for about in (stream, other)
        )
        return asked == also and stream.traffic == other.traffic
    requested = mine.requested.replace(protocol=cell.settings.protocol)
    settings = canonical_settings(cell.method, requested, mine.fixed_seeds)
    return settings == cell.settings and mine.traffic == cell.traffic
