// Of two quick events that draw the same component, the second is sent when the first is answered. Gradio sends both at once,
// and on a busy machine the older answer may come last: the page then shows less than was set. Runs once per page.
// Every event's request tells which message was on screen when its press, or that of the event it follows, came (notice.py).
const send = window.fetch.bind(window);
const events = new Map(gradio_config.dependencies.map((event) => [event.id, event]));
const notices = gradio_config.components.filter((one) => one.props.elem_id === "notice").map((one) => one.id);
const sent = new Set();
const waiting = [];
const seen = new Map(); // event -> the number of the message at its latest press

const meet = (a, b) => a.outputs.some((id) => b.outputs.includes(id) && !notices.includes(id)); // every event has the notice

// An event that follows up on another draws what is the latest then: whatever was pressed goes first.
function next() {
  for (const one of [...waiting]) {
    const before = waiting.slice(0, waiting.indexOf(one)).filter((other) => one.follows || !other.follows);
    if ([...sent, ...before].some((other) => meet(one, other))) continue;
    waiting.splice(waiting.indexOf(one), 1);
    sent.add(one);
    one.send().finally(() => (sent.delete(one), next()));
  }
}

window.fetch = (address, options) => {
  const [, place] = /\/(run\/predict|queue\/join)$/.exec(new URL(address?.url ?? address, location).pathname) ?? [];
  if (!place) return send(address, options);
  const event = events.get(JSON.parse(options.body).fn_index);
  const now = document.querySelector("#notice .notice")?.dataset.number ?? "";
  seen.set(event.id, seen.get(event.trigger_after) ?? now);
  const headers = new Headers(options.headers);
  headers.set("x-notice", seen.get(event.id));
  options = { ...options, headers };
  if (place === "queue/join") return send(address, options);
  return new Promise((resolve, reject) => {
    const whole = async () => {
      const answer = await send(address, options);
      return new Response(await answer.blob(), answer);
    };
    waiting.push({ outputs: event.outputs, follows: event.trigger_after !== null, send: () => whole().then(resolve, reject) });
    next();
  });
};
