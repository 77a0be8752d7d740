"""A run as Python and notebooks see it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rita_demo.engine.protocol import Engine
from rita_demo.pipeline.export import to_json, verdict_rows, write_bundle
from rita_demo.process.output_file import write_output
from rita_demo.records import Run
from rita_demo.records.errors import DataError
from rita_demo.scripting.explain import page_html

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class RunResult:
    """A picture attacked and defended. ``run`` is the whole record: pictures, features, plans, memory, times.

    A notebook shows it as the page of :meth:`to_html` in a sandboxed frame.
    """

    run: Run
    engine: Engine

    def to_json(self) -> dict[str, Any]:
        """What ``explain --json`` writes, as a dict."""
        return to_json(self.run)

    def to_frame(self) -> pd.DataFrame:
        """One row per method: its answer on the clean and on the attacked picture, with probability and margin."""
        import pandas as pd

        head, *rows = verdict_rows(self.run)
        return pd.DataFrame(rows, columns=head).set_index("method")

    def to_html(self) -> str:
        """One page with pictures and figures, about 7 MB: what ``explain --html`` writes."""
        return self._page

    def save(self, path: str | Path) -> Path:
        """Write the zip that ``rita open`` shows again; returns its path.

        Raises:
            DataError: the name does not end in .zip, or the file cannot be written: an earlier one is as it was. SettingError: the run used a
                file of this machine.
        """
        path = Path(path)
        if path.suffix.lower() != ".zip":
            raise DataError(f"A run is saved as a zip; got {path.name[:60]!r}.", 'For example save("run.zip").')
        write_output(path, write_bundle(self.run, self._page))
        return path

    @cached_property
    def _page(self) -> str:
        return page_html(self.engine, self.run)

    def __repr__(self) -> str:
        settings = self.run.settings
        return (
            f"RunResult, attack {settings.attack}, true class {self.to_json()['label']}\n{self.to_frame().to_string()}"
        )

    def _repr_html_(self) -> str:
        """The page in a frame that runs its scripts and reaches nothing else."""
        style = "width: 100%; height: 720px; border: 1px solid #8888; background: white"
        size = f"{len(self._page.encode()) / 1e6:.1f} MB of HTML"
        return (
            f'<iframe title="A run of the RITA demo" sandbox="allow-scripts" style="{style}" '
            f'srcdoc="{escape(self._page)}"></iframe><div><small>{size}, kept in the notebook file.</small></div>'
        )
