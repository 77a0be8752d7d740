"""The Story with its form, and every way to a run."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import gradio as gr
from gradio.components import Component

from rita_demo.data import samples
from rita_demo.data.pictures import open_picture
from rita_demo.defences.registry import default_methods, validated
from rita_demo.pipeline.run import second_best
from rita_demo.pipeline.run_request import RunRequest
from rita_demo.process.generators import Steps
from rita_demo.process.time_left import TimeLeft
from rita_demo.records import Run
from rita_demo.records.errors import DemoError, PictureError
from rita_demo.records.json_value import JsonValue
from rita_demo.settings import RECOMMENDED
from rita_demo.settings.attack_name import AGAINST
from rita_demo.ui.background import attack_steps as background
from rita_demo.ui.framework import notice
from rita_demo.ui.framework.context import (
    BACKGROUND_EVENT,
    IMMEDIATE_EVENT,
    LONG_EVENT,
    AppContext,
    immediate_event,
    queued_event,
)
from rita_demo.ui.framework.form import SIZE_NOTES, Form, lists_for, names_note, started_list, uploaded_note
from rita_demo.ui.framework.panels import FormValues, PanelValue, Parts, Updates
from rita_demo.ui.framework.selection import bind_selection
from rita_demo.ui.framework.stoppable import Finished, StoppableJob
from rita_demo.ui.session import share_link
from rita_demo.ui.session.run_request import (
    NOT_GIVEN,
    OWN_CLASSES,
    SECOND_BEST,
    asks_for_another_run,
    form_values,
    parse_request,
    without_old_classes,
)
from rita_demo.ui.session.session import SIDES, STORY, AttackDefendState, Session
from rita_demo.ui.session.share_link import ShareLink, valid_selection
from rita_demo.ui.story.view import build_story, crossing, loading
from rita_demo.ui.widgets import wording
from rita_demo.ui.widgets.data_uri import image_bytes
from rita_demo.ui.widgets.html_buttons import event_data
from rita_demo.ui.widgets.sample_gallery import clicked_sample, gallery_html
from rita_demo.ui.widgets.setting_controls import changed_note, edited, preset_values

PROGRESS_SECONDS = 0.1  # between two sentences of the status line: each takes Gradio some milliseconds
CHANGED = (
    "<p class='changed' role='status'>Settings changed. "
    "<button type='button' class='place' data-press='#go'>Run it again</button>.</p>"
)
#: In a queue: an event outside it does not report that a ``gr.State`` changed.
UPLOAD_EVENT = queued_event("uploads", 8)


class AttackDefendTab:
    """The Story, built by the constructor inside its ``gr.Tab``; ``form`` and ``story`` hold its components."""

    room = STORY

    def __init__(self, context: AppContext, sample: str | None) -> None:
        self.context = context
        self.link = gr.State(None)  # the query of the page's address, once it can be used
        self.starts = gr.State(0)  # changes with an upload that can be used, and with the true class that was missing
        with gr.Column(elem_id="ask"):
            self.form = Form(sample)
        self.story = build_story(context.panels)
        context.panels.add(self.form.changed, _changed_note)
        for component in self.form.shown:
            context.panels.add(component, partial(_filled, component), "form")

    def bind_events(self, tab: gr.Tab, share: share_link.ShareButton, run_panels: Parts) -> None:
        """Connect the events, after the panels of all rooms are registered. ``run_panels``: those of *Inside* that start a run."""
        form, context, visitor = self.form, self.context, self.context.visitor
        self.known_defence = run_panels["known_defence"]
        context.bind_room(tab)
        safe, fields = notice.handle_errors(context.error_banner), form.fields
        # Gradio shows the place in the queue on the status line; of several events at the same time the last one waits
        waits = LONG_EVENT | {"show_progress": "minimal", "show_progress_on": context.status}
        queued = waits | {"trigger_mode": "always_last"}
        noted = context.outputs(*form.of_picture, self.story, self.starts)
        lists = [fields["vocabulary"], fields["own_names"]]
        form.upload.upload(
            safe(self.take_upload), [visitor, form.upload, fields["attack"], *lists], noted, **UPLOAD_EVENT
        )
        classes = [fields[name] for name in ("vocabulary", "own_names", "truth", "target")]
        listed = [context.error_banner, *classes[1:]]
        fields["vocabulary"].input(safe(self.on_vocabulary), [visitor, *classes], listed, **IMMEDIATE_EVENT)
        form.truth_event.then(safe(self.take_truth), [visitor, fields["truth"]], noted, **UPLOAD_EVENT)
        self.story.select(safe(self.on_story_truth), [visitor], noted, **UPLOAD_EVENT)
        back = context.outputs(*form.of_picture, self.story, self.link)
        share.undo(safe(self.go_back), [visitor], back, **UPLOAD_EVENT | {"trigger_mode": "multiple"})
        chosen = form.gallery.click(
            safe(self.choose_sample), {visitor, fields["attack"]}, noted, **immediate_event(self.choose_sample)
        )
        inputs = {visitor, form.choice, *fields.values()}
        changed = (fields[name] for name in ("attack", AGAINST, "methods", "target"))
        outputs = context.outputs(context.run_shown, form.stop_button, self.story, *changed)
        job = StoppableJob(context, form.stop_button, self.on_stopped, context.activity.track_job).bind_event
        compare, compared = safe(self.compare_form), [context.error_banner, form.changed, form.differences]
        attack, known = self.attack_and_defend, inputs | {self.known_defence}
        job(form.defend_button.click, self.only_defend, inputs, outputs, **waits)
        job(form.run_button.click, attack, inputs, outputs, **queued)  # what was changed meanwhile is run next
        job(run_panels["knowing_button"].click, self.attack_known_defence, known, outputs, **waits)
        job(self.story.submit, self.attack_rita, inputs, outputs, **waits)
        job(self.story.undo, self.attack_as_before, inputs, outputs, **waits)
        job(chosen.success, attack, inputs, outputs, **queued)
        job(self.starts.change, attack, inputs, outputs, **queued)
        job(self.link.change, self.run_link, {visitor, self.link}, outputs, **queued)
        context.run_shown.submit(safe(self.start_background_work), visitor, context.outputs(), **BACKGROUND_EVENT)
        # the arrow keys move the strength without a release; the settings of the methods are edited in another room
        edits = [*map(edited, fields.values()), fields["budget"].change, tab.select, context.run_shown.submit]
        gr.on(edits, compare, inputs, compared, **IMMEDIATE_EVENT)
        of_preset = [context.error_banner, *(fields[n] for n in preset_values("recommended") if n in fields)]
        chosen_preset = form.preset.input(safe(self.on_preset), [visitor, form.preset], of_preset, **IMMEDIATE_EVENT)
        chosen_preset.then(compare, inputs, compared, **IMMEDIATE_EVENT)
        self.note_names = safe(self.on_names), [visitor, *lists], [context.error_banner, form.names_note]
        gr.on([one.change for one in lists], *self.note_names, **IMMEDIATE_EVENT)
        slow = safe(self.start_slow_background_work)
        run_panels["background_button"].click(slow, visitor, context.outputs(), **BACKGROUND_EVENT)
        bind_selection(context, self.room)

    # --- long jobs
    def run(self, session: Session, request: RunRequest) -> Iterator[Updates]:
        """Attack and defend: pictures first, then verdicts, then figures."""
        context, engine = self.context, self.context.engine_of(session)
        time_left, shown, shown_at = TimeLeft(), False, 0.0
        choice, before = session.attack_defend.choice, session.run
        try:
            reading = context.progress("Reading the class names", 0.02, time_left, stale=True)
            yield {context.error_banner: ""} | reading
            steps = Steps(request.run_steps(engine, session.history.cache_before(request.picture.key)))
            for at in steps:
                update = context.progress(at.sentence, 0.85 * at.fraction, time_left, stale=True)
                if not shown and at.clean is not None:
                    shown, update[self.story] = True, loading(request.picture)
                elif time.perf_counter() < shown_at + PROGRESS_SECONDS:
                    continue
                if at.square is not None and before is not None and session.room == STORY:
                    update[self.story] = crossing(engine, before, request.picture, at)
                shown_at = time.perf_counter()
                yield update
            run = steps.value
            # The answer first. The session changes when everything is ready: until then a stopped or failed job leaves
            # the result of before.
            preview = Session()
            preview.show(run)
            drawing = context.progress("Cutting the crops for the screen", 0.9, time_left, stale=True, answered=True)
            yield drawing | context.panels.draw_only(preview, [self.story])
            crops = {side: engine.view_pixels(getattr(run, side).picture, run.settings) for side in SIDES}
        except Exception:
            yield context.changed(session, "story")  # the result of before
            raise
        session.show(run, sample=request.sample)
        session.crops = crops
        session.attack_defend.shown_choice = choice
        session.add_to_history(run, request.title)
        if request.selection:
            session.select(**valid_selection(request.selection, run))
        context.sessions.evict()
        yield Finished(context.progress("Drawing the figures", 0.95, time_left, stale=True, answered=True))
        spent = wording.format_seconds(time_left.elapsed)
        session.said_when_drawn = notice.done_html(f"Done in {spent}.", routine=True)
        yield context.changed(session, "run") | context.run_ended(session)

    def attack_and_defend(self, values: FormValues, *, defend_only: bool = False, **changed: Any) -> Iterator[Updates]:
        """The run that the form asks for; ``changed``: other values of its fields."""
        session = self.context.sessions.get(values[self.context.visitor])
        if values[self.form.choice] != session.attack_defend.choice:
            yield self.context.done("Another picture was chosen meanwhile.")
            return
        yield {self.form.fields[name]: value for name, value in changed.items()}
        form = self.form.read(session, values) | changed
        old = session.run.class_prompts.names if session.run is not None else ()
        yield from self._run_form(session, form, session.attack_defend, attack=not defend_only, old=old)

    def _run_form(
        self,
        session: Session,
        form: Mapping[str, JsonValue],
        chosen: AttackDefendState,
        *,
        attack: bool,
        old: tuple[str, ...] = (),
        **selected: Any,
    ) -> Iterator[Updates]:
        """Run what a form asks for, less its classes of the ``old`` names. Where that is no run, the Story shows the
        result of before again."""
        engine, target = self.context.chosen_engine(session), form.get("target")
        second = attack and target == SECOND_BEST
        try:
            form = without_old_classes({**form, "target": NOT_GIVEN if second else target}, old)
            request = parse_request(form, chosen, engine.info.side, attack=attack)
            if second:
                of_picture = request.picture, request.names, request.settings, request.label
                request = replace(request, target=(aim := second_best(engine, *of_picture)))
                yield {self.form.fields["target"]: request.names[aim]}
        except DemoError:
            yield self.context.changed(session, "story")
            raise
        yield from self.run(session, replace(request, **selected))

    def only_defend(self, values: FormValues) -> Iterator[Updates]:
        yield from self.attack_and_defend(values, defend_only=True)

    def attack_rita(self, values: FormValues) -> Iterator[Updates]:
        """The same picture and settings, attacked by somebody who knows RITA."""
        yield from self.attack_known_defence({**values, self.known_defence: "rita"})

    def attack_as_before(self, values: FormValues) -> Iterator[Updates]:
        """Attack the picture as before the attack that knows a defence."""
        session = self.context.sessions.get(values[self.context.visitor])
        before = session.attack_defend.attack_before or RECOMMENDED.attack
        yield from self.attack_and_defend(values, attack=before)

    def attack_known_defence(self, values: FormValues) -> Iterator[Updates]:
        """The same picture and settings, attacked by somebody who knows the chosen defence."""
        (known,) = validated([values[self.known_defence]])
        changed: dict[str, Any] = {"attack": "adaptive", AGAINST: known}
        if (kind := values[self.form.fields["attack"]]) != "adaptive":
            self.context.sessions.get(values[self.context.visitor]).attack_defend.attack_before = kind
        if known not in default_methods():
            changed["methods"] = [*dict.fromkeys([*values[self.form.fields["methods"]], known])]
        yield from self.attack_and_defend(values, **changed)

    def on_vocabulary(self, visitor: str, vocabulary: JsonValue, own_names: JsonValue, *chosen: JsonValue) -> Updates:
        """Another list of class names: true class and target are of it; one's own begins with the answer on screen."""
        session, fields = self.context.sessions.get(visitor), self.form.fields
        run, state, own = session.run, session.attack_defend, vocabulary == OWN_CLASSES
        if own and run is not None and state.shown_choice == state.choice:  # not that of the picture before
            own_names = started_list(own_names, run.class_prompts.names[run.label])
        typed, *menus = lists_for(vocabulary, own_names, *chosen)
        if own and not state.list_begun:  # Gradio reports a choice twice: the second answer leaves what is typed
            typed["value"] = own_names
        state.list_begun = own
        return dict(zip((fields[name] for name in ("own_names", "truth", "target")), (typed, *menus)))

    def on_names(self, visitor: str, vocabulary: JsonValue, own_names: JsonValue) -> Updates:
        """Another list of class names, or a name is being typed: mark what the model does not know of them."""
        if not visitor:  # the page is opening: nothing is typed
            return {}
        engine = self.context.engine_of(self.context.sessions.get(visitor))
        return {self.form.names_note: names_note(engine, vocabulary, own_names)}

    def compare_form(self, values: FormValues) -> Updates:
        """Say beside the button whether the form asks for another run than the one on screen."""
        session = self.context.sessions.get(values[self.context.visitor])
        if session.run is None:
            return {}
        form = self.form.read(session, values)
        session.attack_defend.form_differs = asks_for_another_run(form, session.run)
        return {self.form.changed: _changed_note(session), self.form.differences: changed_note(form)}

    def on_preset(self, visitor: str, name: JsonValue) -> Updates:
        """Another preset: the settings of the methods are its own, and the form's other fields."""
        session, fields = self.context.sessions.get(visitor), self.form.fields
        values = preset_values(name if isinstance(name, str) else "")
        self.form.fill_methods(session, values)
        session.touch("drawer")
        return {fields[n]: value for n, value in values.items() if n in fields}

    def apply_link(self, visitor: str, query: dict[str, str], link: ShareLink, source: bytes | None = None) -> Updates:
        """A link was opened: fill in the form and join the queue. The job is the event that :attr:`link` triggers: it
        waits like every other job. ``source``: the picture where it is no sample."""
        session = self.context.sessions.get(visitor)
        if source is None:
            picture, noted = samples.SAMPLES[link.sample].load(), Updates()
        else:
            picture = open_picture(source, side=self.context.engine_of(session).info.side)
            noted = {self.form.upload_note: uploaded_note(picture, set(SIZE_NOTES))}  # it is the square already
        chosen = self._choose(visitor, link.sample or None, source) | noted
        self.form.fill(session, link.form, chosen)
        again = {"again": str(session.attack_defend.choice)}  # a link of before is another job, too
        changed = self.context.changed(session, "form")
        return chosen | changed | {self.link: query | again, self.story: loading(picture)}

    def go_back(self, visitor: str, event: gr.EventData) -> Updates:
        """The browser went back or forward to another run, or loaded the page again: that run again. Its picture, where it is
        no sample, comes from the browser."""
        data = event_data(event)
        query = dict(parse_qsl(str(data.get("run")), keep_blank_values=True))
        link = share_link.parse_link(query, from_history=True)
        if link is None:
            return {}
        return self.apply_link(visitor, query, link, None if link.sample else image_bytes(data.get("picture")))

    def run_link(self, values: FormValues) -> Iterator[Updates]:
        """The run of a link, then its selection. Its sample is the link's; a sample that was chosen while it waited is
        another job."""
        session, query = self.context.sessions.get(values[self.context.visitor]), values[self.link] or {}
        link = share_link.parse_link(query, from_history=True)
        if link is None:
            raise DemoError("There is no link to open.", "Choose a picture to begin.")
        if not link.sample and query["again"] != str(session.attack_defend.choice):
            yield self.context.done("Another picture was chosen meanwhile.")
            return
        source = None if link.sample else session.attack_defend.source
        chosen = AttackDefendState(source=source, sample=link.sample or None)
        yield from self._run_form(
            session, link.form, chosen, attack=link.form["attack"] != "none", selection=link.selection
        )

    def start_background_work(self, visitor: str, *, slow: bool = False) -> Iterator[Updates]:
        """After an attack: the stored steps and the Story's checks, if they are quick (or also if they are ``slow``)."""
        session = self.context.sessions.get(visitor)
        run = session.run
        if run is None:
            return
        if slow or background.attack_steps_seconds(run) <= background.AUTO_STEPS_SECONDS:
            yield from background.in_background(self.context, session, background.store_attack_steps)
            yield from background.in_background(self.context, session, background.store_checks)

    def start_slow_background_work(self, visitor: str) -> Iterator[Updates]:
        yield from self.start_background_work(visitor, slow=True)

    def on_stopped(self, session: Session) -> Updates:
        said = self.context.done("Stopped. Nothing was lost.")
        return said | self.context.changed(session, "story") | self.context.run_ended(session)

    # --- choosing a picture
    def choose_sample(self, values: FormValues, event: gr.EventData) -> Updates:
        """A sample was clicked: its class names and its true class go into the form."""
        one = clicked_sample(event)
        if one is None:
            raise PictureError("There is no such sample.", "Choose one from the gallery.")
        kind = values[self.form.fields["attack"]]
        chosen = self._choose(values[self.context.visitor], one.key, None, kind) | self.form.show_sample(one)
        return chosen | {self.story: loading(one.load())}

    def _choose(self, visitor: str, sample: str | None, source: bytes | None, attack: JsonValue = "") -> Updates:
        """The picture of the next run. ``attack``: the form's, which the picture takes over."""
        chosen = self.context.sessions.get(visitor).attack_defend
        chosen.sample, chosen.source, chosen.choice = sample, source, chosen.choice + 1
        chosen.list_begun = False
        updates: Updates = {
            self.context.error_banner: "",
            self.form.gallery: gallery_html(sample),
            self.form.choice: chosen.choice,
        }
        if attack == "adaptive" and chosen.attack_before:  # not by the attacker who knew the defence
            updates[self.form.fields["attack"]] = chosen.attack_before
        return updates

    def fill_form(self, session: Session, run: Run, sample: str | None) -> None:
        """The form that gives this run, of a sample or of an upload."""
        more: Updates = {self.form.gallery: gallery_html(sample)}
        more |= {} if sample else {self.form.upload_note: uploaded_note(run.clean.picture, session.attack_defend.told)}
        self.form.fill(session, form_values(run), more)

    def take_upload(self, visitor: str, path: JsonValue, attack: JsonValue, *listed: str) -> Updates:
        """A file was uploaded: show it and join the queue, as for a sample."""
        if not isinstance(path, str):
            raise PictureError("No file arrived.", "Try again.")
        session = self.context.sessions.get(visitor)
        source, before = Path(path).read_bytes(), samples.SAMPLES.get(session.attack_defend.sample or "")
        picture = open_picture(source, side=self.context.engine_of(session).info.side)
        updates = self._choose(visitor, None, source, attack) | self.form.show_upload(
            picture, before, listed, session.attack_defend.told
        )
        self.context.sessions.evict()
        return updates | {self.story: loading(picture), self.starts: time.monotonic_ns()}

    def take_truth(self, visitor: str, truth: JsonValue) -> Updates:
        """The true class was chosen after a run without one, which asked for it: attack anew, away from that class."""
        session = self.context.sessions.get(visitor)
        run = session.run
        if run is None or run.attack is None or run.label_given or truth not in run.class_prompts.names:
            return {}
        return {self.starts: time.monotonic_ns()}

    def on_story_truth(self, visitor: str, event: gr.EventData) -> Updates:
        """The Story's answer to "Which answer is right?"."""
        name = event_data(event).get("name")
        started = self.take_truth(visitor, name)
        return started | ({self.form.fields["truth"]: name} if started else {})


def _changed_note(session: Session) -> str:
    return CHANGED if session.attack_defend.form_differs else ""


def _filled(component: Component, session: Session) -> PanelValue:
    return session.attack_defend.filled.get(component, gr.update())
