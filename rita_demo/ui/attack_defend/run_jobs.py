"""The long jobs of the first tab: one generator each, which yields updates ``{component: value}``.

A stopped job ends at its next yield. When a job fails, the page shows the result of before.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from typing import Any

from rita_demo.pipeline import rerun
from rita_demo.pipeline import run as pipeline
from rita_demo.records import Run
from rita_demo.ui.background.attack_steps import BackgroundJobs
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import AppContext
from rita_demo.ui.framework.panels import Updates
from rita_demo.ui.panels.picture_triptych import clean_part, perturbation_part, placeholder
from rita_demo.ui.session.run_request import RunRequest
from rita_demo.ui.session.session import Session
from rita_demo.ui.widgets import wording

VIEW_SEEDS = 10


class RunJobs:
    """The long jobs of the tab. ``early`` are the components that are drawn before the others."""

    def __init__(self, context: AppContext, pictures: Any, early: list[Any]) -> None:
        self._context, self._pictures, self._early = context, pictures, early
        self.background = BackgroundJobs(context)

    def run(self, session: Session, request: RunRequest) -> Iterator[Updates]:
        """Attack and defend: pictures first, then verdicts, then figures."""
        context, engine = self._context, self._context.engine_of(session)
        begin = time.perf_counter()
        try:
            run = yield from self._run_steps(session, request, engine, begin)
            # The answer first. The session changes when everything is ready: until then a stopped or failed job leaves
            # the result of before.
            preview = Session()
            preview.show(run)
            drawing = self._progress("Drawing the views", 0.9, begin, stale=True, answered=True)
            yield drawing | context.panels.draw_only(preview, self._early)
            crops = {"attacked": engine.view_pixels(run.attacked.picture, run.settings)}
            if run.attack is None:
                crops["clean"] = crops["attacked"]
        except Exception:
            yield context.panels.redraw(session, "run")  # the result of before
            raise
        session.show(run, sample=request.sample)
        session.crops = crops
        session.add_to_history(run, request.title)
        context.sessions.evict()
        yield self._progress("Drawing the figures", 0.95, begin, stale=True, answered=True)
        yield self._progress("The figures are drawn", 0.97, begin) | context.panels.redraw(session, "run")
        spent = wording.format_seconds(time.perf_counter() - begin)
        yield {context.status: notice.done_html(f"Done in {spent}.")}

    def view_seed_steps(self, session: Session) -> Iterator[Updates]:
        """Decide the delivered picture again with other sets of crops."""
        run = session.run
        if run is None:
            return
        context, begin, found = self._context, time.perf_counter(), []
        for draw in rerun.repeat_view_seeds(context.engine_of(session), run, VIEW_SEEDS):
            if session.run is not run:
                return
            found.append(draw)
            session.attack_defend.view_seed_results = tuple(found)
            now = f"Drawing the views again: {len(found)} of {VIEW_SEEDS}"
            drawn = context.panels.redraw(session, "view_seeds")
            yield self._progress(now, len(found) / VIEW_SEEDS, begin) | drawn
        yield {context.status: notice.done_html(f"{VIEW_SEEDS} draws of views compared.")}

    def _run_steps(
        self, session: Session, request: RunRequest, engine: Any, begin: float
    ) -> Generator[Updates, None, Run]:
        """Run the picture: yields progress and finished parts, returns the run."""
        reading = self._progress("Reading the class names", 0.02, begin, stale=True)
        yield {self._context.error_banner: ""} | reading
        steps = pipeline.run_picture_steps(
            engine,
            request.picture,
            request.names,
            request.settings,
            label=request.label,
            target=request.target,
            cache=session.history.cache_before(request.picture.key),
            methods=request.methods,
        )
        shown = 0
        while True:
            try:
                at = next(steps)
            except StopIteration as end:
                return end.value
            update = self._progress(at.sentence, 0.85 * at.fraction, begin, stale=True)
            parts = (at.clean is not None) + (at.attack is not None)
            if parts > shown:
                shown = parts
                update[self._pictures] = partial_pictures(at)
            yield update

    def _progress(self, text: str, fraction: float, begin: float, **state: bool) -> Updates:
        return {self._context.status: notice.progress_html(text, fraction, time.perf_counter() - begin, **state)}


def partial_pictures(at: pipeline.RunProgress) -> dict[str, Any]:
    """The pictures that are ready while the rest is computed."""
    assert at.class_prompts is not None
    assert at.clean is not None
    names = at.class_prompts.names
    clean = clean_part(at.clean.picture, at.clean.verdicts["clip"], names)
    if at.attack is None:
        waiting = placeholder("The attack is at work …")
        return {"clean": clean, "noise": waiting, "attacked": waiting}
    noise = perturbation_part(at.attack, len(at.attack.frames) - 1)
    return {"clean": clean, "noise": noise, "attacked": placeholder("The defence is at work …")}
