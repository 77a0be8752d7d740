"""The first tab, *Attack & defend*: its layout, and what happens when something is pressed or touched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import gradio as gr

from rita_demo.data import samples
from rita_demo.data.pictures import open_picture
from rita_demo.errors import DemoError, PictureError
from rita_demo.records import Story
from rita_demo.settings import KNOBS
from rita_demo.ui import background, notice, permalink
from rita_demo.ui.ask import form_of, read_ask
from rita_demo.ui.board import HOME, Updates
from rita_demo.ui.choosing import Choosing
from rita_demo.ui.desk import AT_ONCE, ENGINE_QUEUE, Desk
from rita_demo.ui.form import Form, draw_form, filled, sample_updates, uploaded_note
from rita_demo.ui.in_turn import InTurn
from rita_demo.ui.line import Line, Waiting
from rita_demo.ui.permalink import Link, within
from rita_demo.ui.pictures import waiting_pictures
from rita_demo.ui.plotly_view import clicked
from rita_demo.ui.result import (
    Result,
    draw_first_screen,
    draw_luck,
    draw_rest,
    draw_transport,
    draw_views,
)
from rita_demo.ui.running import Jobs
from rita_demo.ui.scrubber import look_at, wire_scrubber
from rita_demo.ui.sessions import SIDES, Session
from rita_demo.ui.stopping import Stoppable
from rita_demo.ui.strip import chosen_sample, strip

LONG: dict[str, Any] = ENGINE_QUEUE | {"show_progress": "hidden", "api_visibility": "private"}


#: What was asked for while the same thing was going on comes after it, instead of being dropped.
LAST: dict[str, Any] = {"trigger_mode": "always_last"}
#: In the background: it waits for its turn itself, and nobody waits for it.
BEHIND: dict[str, Any] = LAST | {
    "concurrency_id": "film", "concurrency_limit": 2, "show_progress": "hidden",
    "api_visibility": "private",
}  # fmt: skip


class AttackDefend(Choosing):
    """The tab. Build it inside ``gr.Tab``; ``form`` and ``result`` hold its components."""

    tab = HOME

    def __init__(self, desk: Desk) -> None:
        self.desk, self.in_turn, self.waiting = desk, InTurn(desk, HOME), Waiting(desk, Line())
        self.link = gr.State(None)  # the query that the page was opened with, once it can be used
        with gr.Row(elem_id="first-screen"):
            with gr.Column(scale=0, min_width=300, elem_id="ask"):
                self.form: Form = draw_form(desk.example.fixed)
            with gr.Column(scale=1, min_width=320, elem_id="result"):
                parts = draw_first_screen(desk.board)
        with gr.Column(elem_id="more"):
            for draw in (draw_views, draw_transport, draw_luck, draw_rest):
                parts |= draw(desk.board)
        self.result = Result(**parts)
        self.jobs = Jobs(desk, self.result.pictures, self.result.first)

    def wire(self, here: gr.Tab) -> None:
        """Connect the events; call it once every panel of every tab is on the board."""
        everything = [self.desk.notice, *self.desk.board.of_tab(self.tab)]
        back = self._safe(lambda visitor: returned(self.desk, visitor))
        here.select(back, self.desk.visitor, everything, **AT_ONCE)
        self._wire_running()
        self._wire_choosing()
        self._wire_touching()

    # --- long jobs
    def _wire_running(self) -> None:
        form, result, desk = self.form, self.result, self.desk
        inputs = {desk.visitor, *form.fields.values()}
        outputs = desk.outputs(form.stop, form.go, form.fields["budget"], form.strip)
        for button in (form.go, form.only, result.stronger, result.again):
            button.click(self.waiting.pressed, desk.visitor, self.waiting.outputs, **AT_ONCE)
        job = Stoppable(desk, form.stop, self.stopped, desk.turns.taken).job
        run = job(self.attack_and_defend)
        result.again.click(job(self.draw_again), {desk.visitor}, outputs, **LONG)
        form.only.click(job(self.only_defend), inputs, outputs, **LONG)
        chosen = form.strip.click(
            self._safe(self.choose_sample),
            {desk.visitor},
            desk.outputs(*form.fields.values(), form.chosen, form.strip, self.waiting.timer),
            **AT_ONCE,
        )
        for told in (
            form.go.click(run, inputs, outputs, **LONG),
            result.stronger.click(job(self.twice_as_hard), inputs, outputs, **LONG),
            chosen.success(run, inputs, outputs, **LONG, **LAST),
            self.link.change(
                job(self.follow_link), {desk.visitor, self.link}, outputs, **LONG, **LAST
            ),
        ):
            told.success(self._safe(self.follow), desk.visitor, outputs, **BEHIND)
        result.follow.click(self._safe(self.follow_on), desk.visitor, outputs, **BEHIND)

    def attack_and_defend(self, values: Mapping[Any, Any]) -> Iterator[Updates]:
        """The button."""
        session = self.desk.sessions.get(values[self.desk.visitor])
        yield from self._tell(session, self.form.read(values), attack=True)

    def only_defend(self, values: Mapping[Any, Any]) -> Iterator[Updates]:
        """The other button: the picture is taken as it came."""
        session = self.desk.sessions.get(values[self.desk.visitor])
        yield from self._tell(session, self.form.read(values), attack=False)

    def twice_as_hard(self, values: Mapping[Any, Any]) -> Iterator[Updates]:
        """The same picture and settings with the strength doubled."""
        session, form = self.desk.sessions.get(values[self.desk.visitor]), self.form.read(values)
        budget = KNOBS["budget"].parse(form["budget"])
        form["budget"] = min(max(1, 2 * budget), 16)
        yield {self.form.fields["budget"]: form["budget"]}
        yield from self._tell(session, form, attack=True)

    def _tell(self, session: Session, form: dict[str, Any], *, attack: bool) -> Iterator[Updates]:
        self.waiting.over(session)
        engine = self.desk.chosen_engine(session)
        yield from self.jobs.tell(session, read_ask(form, session, engine.info.side, attack=attack))

    def take_link(self, visitor: str, query: dict[str, str], link: Link) -> Updates:
        """The page was opened with a link: the form filled in, and a place in the line. The job is the event that
        :attr:`link` triggers, so that it waits for its turn like everybody's."""
        session, one = self.desk.sessions.get(visitor), samples.SAMPLES[link.sample]
        session.sample, session.source = one.key, None
        return {
            self.link: query,
            self.form.strip: strip(one.key),
            self.result.pictures: waiting_pictures(one.load()),
            **filled(self.form, link.form),
            **self.waiting.begun(visitor),
        }

    def follow_link(self, values: Mapping[Any, Any]) -> Iterator[Updates]:
        """What a permalink asks for: the job of the button, then the selection. Its sample is the link's, whatever
        was chosen while it waited: that is another job, which comes after it."""
        session = self.desk.sessions.get(values[self.desk.visitor])
        self.waiting.over(session)
        link = permalink.read(values[self.link] or {})
        if link is None:
            raise DemoError("There is no link to follow.", "Choose a picture to begin.")
        engine, of = self.desk.chosen_engine(session), Session(sample=link.sample)
        ask = read_ask(link.form, of, engine.info.side, attack=link.attack)
        yield from self.jobs.tell(session, ask)
        story = session.story
        assert story is not None
        session.select(**within(link.select, story))
        self.desk.cut_views(session, session.selection.side)
        yield self.desk.board.redraw(session, "story")

    def draw_again(self, values: Mapping[Any, Any]) -> Iterator[Updates]:
        """Ten other draws of views."""
        session = self.desk.sessions.get(values[self.desk.visitor])
        self.waiting.over(session)
        yield from self.jobs.draws(session)

    def follow(self, visitor: Any) -> Iterator[Updates]:
        """The kept steps and the other strengths, by themselves after an attack, where they are quick."""
        session = self.desk.sessions.get(visitor)
        story = session.story
        if story is None:
            return
        if background.film_seconds(story) <= background.AT_ONCE:
            yield from self.jobs.behind.film(session)
        quick = background.strengths_seconds(story) <= background.STRENGTHS_AT_ONCE
        if quick and session.same_picture(story):
            yield from self.jobs.behind.strengths(session)

    def follow_on(self, visitor: Any) -> Iterator[Updates]:
        """The same by a button, where they are slow."""
        session = self.desk.sessions.get(visitor)
        yield from self.jobs.behind.film(session)
        yield from self.jobs.behind.strengths(session)

    def stopped(self, session: Session) -> Updates:
        """The running job was stopped: show what there was before."""
        return {
            self.desk.status: notice.done("Stopped. Nothing was lost."),
            **self.desk.board.redraw(session, "story"),
        }

    # --- choosing a picture
    def _wire_choosing(self) -> None:
        form, desk = self.form, self.desk
        form.upload.upload(
            self._safe(self.take_upload),
            [desk.visitor, form.upload],
            desk.outputs(form.chosen, form.strip, form.fields["truth"]),
            **AT_ONCE,
        )

    def choose_sample(self, values: Mapping[Any, Any], event: gr.EventData) -> Updates:
        """A sample was pressed: its class names and its true class go into the form."""
        session, one = self.desk.sessions.get(values[self.desk.visitor]), chosen_sample(event)
        if one is None:
            raise PictureError("There is no such sample.", "Choose one from the strip.")
        session.sample, session.source = one.key, None
        said = self.waiting.begun(values[self.desk.visitor])
        return {self.desk.notice: "", **said, **self.show_sample(one.key)}

    def show_sample(self, key: str) -> Updates:
        """The form as a sample wants it."""
        one = samples.SAMPLES[key]
        return {self.form.strip: strip(key), **sample_updates(self.form, one)}

    def show_told(self, story: Story, sample: str | None) -> Updates:
        """The form that asked for this story, of that sample or of a picture of one's own."""
        updates = {self.form.strip: strip(sample), **filled(self.form, form_of(story))}
        return (
            updates if sample else updates | {self.form.chosen: uploaded_note(story.clean.picture)}
        )

    def take_upload(self, visitor: Any, path: Any) -> Updates:
        """A file arrived: decode it once to say what it is; the button does the rest."""
        session = self.desk.sessions.get(visitor)
        side = self.desk.engine_of(session).info.side
        try:
            if not isinstance(path, str):
                raise PictureError("No file arrived.", "Try again.")
            source = Path(path).read_bytes()
            picture = open_picture(source, side=side)
        except PictureError as error:
            return {self.desk.notice: notice.sentence(error)}
        session.source, session.sample = source, None
        self.desk.sessions.fit()
        return {
            self.desk.notice: "",
            self.form.chosen: uploaded_note(picture),
            self.form.strip: strip(None),
            self.form.fields["truth"]: gr.update(value="not given"),
        }

    # --- touching the result
    def _wire_touching(self) -> None:
        r, visitor, wire = self.result, self.desk.visitor, self.in_turn.wire
        wire_scrubber(self.desk, r.scrubber, self.form.fields["budget"], self.in_turn)
        wire(r.grid.click, self.on_grid, [visitor], "view", held=[r.grid])
        wire(r.steps.click, self.on_step, [visitor], "step")
        for event, handler, inputs in (
            (r.side.input, self.pick_side, [visitor, r.side]),
            (r.entropies.click, self.on_view, [visitor]),
            (r.costs.click, self.on_class, [visitor]),
            (r.looked_at.input, self.pick_class, [visitor, r.looked_at]),
            (r.plan.click, self.on_cell, [visitor]),
        ):
            wire(event, handler, inputs, "class", "view", "side")

    def _safe(self, handler: Any) -> Any:
        return notice.guarded(self.desk.notice)(handler)

    def on_step(self, visitor: Any, event: gr.EventData) -> Updates:
        """A step of the figure was clicked."""
        session, story = self._story(visitor)
        click = clicked(event)
        frames = len(story.attack.frames) if story is not None and story.attack is not None else 0
        step = click.integer(0, frames) if click else None
        return {} if step is None else look_at(self.desk, session, step, self.in_turn)

    def pick_side(self, visitor: Any, side: Any) -> Updates:
        """Views of the clean or of the attacked picture."""
        session, story = self._story(visitor)
        if story is None or side not in SIDES:
            return {}
        self.desk.cut_views(session, side)
        return self._select(session, "side", side=side)

    def on_cell(self, visitor: Any, event: gr.EventData) -> Updates:
        """A cell of the plan was clicked; the strip below it chooses the view alone."""
        session, n, click = self._clicked(visitor, event)
        k = session.selection.k
        if n is None or k is None or session.story is None:
            return {}
        m = click.integer(1, len(session.story.bank.prompts[k]))
        return self._select(session, "view", view=n, atom=m)


def returned(desk: Desk, visitor: Any) -> Updates:
    """Back on the first tab from *Inside RITA*, where something else may have been chosen."""
    if not visitor:  # this tab is "chosen" while the page still opens, before a session
        return {}
    session = desk.sessions.get(visitor)
    behind, session.behind = session.behind, False
    return desk.board.only(session, desk.board.of_tab(HOME)) if behind else {}
