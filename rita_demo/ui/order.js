// Of two quick events that draw the same component, the second is sent when the first is answered. Gradio sends both at once,
// and on a busy machine the older answer may come last: the page then shows less than was set. Runs once per page.
// Every event's request tells which message was on screen when its press, or that of the event it follows, came (notice.py).
const send = window.fetch.bind(window);
const events = new Map(gradio_config.dependencies.map((event) => [event.id, event]));
const notices = gradio_config.components.filter((one) => one.props.elem_id === "notice").map((one) => one.id);
const sent = new Set();
const waiting = [];
const quick = new Set(); // the answers to come
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

// Gradio's page has one stream of answers; the server ends it when nothing is left to answer. An event that joins the queue while
// that end is on its way would wait for ever: the page believes that the stream is open. It learns that its event has joined
// when the stream has named the event, or is closed.
// The server knows a page when the first answer to its opening comes. What is pressed before is sent then.
const opening = gradio_config.dependencies.find((event) => event.targets.some(([, what]) => what === "load"))?.id;
let opened = null; // a promise once the page opens
let open = () => {};
let opensAs = ""; // the event in the stream

let stream = null; // the open one: the events it has named, and who waits for news of it

async function listen(request, options) {
  const own = (stream = { named: new Set(), waiting: [] });
  const news = () => own.waiting.splice(0).forEach((wake) => wake());
  const end = () => ((stream = stream === own ? null : stream), news());
  (options?.signal ?? request.signal).addEventListener("abort", end); // the page has read the end
  try {
    const answer = await send(request, options);
    if (!answer.ok) return (end(), answer);
    const [its, ours] = answer.body.tee();
    read(ours, own.named, news).catch(() => {}).finally(() => setTimeout(end, 1000));
    return new Response(its, answer);
  } catch (error) {
    end();
    throw error;
  }
}

async function read(body, named, news) {
  let last = "";
  for (const reader = body.pipeThrough(new TextDecoderStream()).getReader(); ; news()) {
    const { done, value } = await reader.read();
    if (done) return;
    const text = last + value;
    for (const [, id] of text.matchAll(/"event_id":"(\w+)"/g)) named.add(id);
    for (const [, id] of text.matchAll(/"msg":"process_(?:generating|completed)","event_id":"(\w+)"/g)) if (id === opensAs) open();
    last = text.slice(-100);
  }
}

async function join(address, options, opens) {
  const answer = await send(address, options);
  const { event_id: id } = answer.ok ? await answer.clone().json() : {};
  if (opens) (id ? (opensAs = id) : open());
  while (id && stream && !stream.named.has(id)) await new Promise((wake) => stream.waiting.push(wake));
  return answer;
}

// A run begins with what was set before it was pressed; an answer that is long in coming holds no press back.
const settled = () => Promise.race([Promise.allSettled([...quick]), new Promise((late) => setTimeout(late, 500))]);

window.fetch = (address, options) => {
  const path = new URL(address?.url ?? address, location).pathname;
  if (path.endsWith("/queue/data")) return listen(address, options);
  const [, place] = /\/(run\/predict|queue\/join)$/.exec(path) ?? [];
  if (!place) return send(address, options);
  const event = events.get(JSON.parse(options.body).fn_index);
  const now = document.querySelector("#notice .notice")?.dataset.number ?? "";
  seen.set(event.id, seen.get(event.trigger_after) ?? now);
  const headers = new Headers(options.headers);
  headers.set("x-notice", seen.get(event.id));
  options = { ...options, headers };
  if (event.id === opening && !opened) {
    opened = new Promise((known) => (open = known));
    return join(address, options, true);
  }
  if (place === "queue/join") return Promise.all([opened, settled()]).then(() => join(address, options));
  const answer = new Promise((resolve, reject) => {
    const whole = async () => {
      await opened;
      const answer = await send(address, options);
      return new Response(await answer.blob(), answer);
    };
    waiting.push({ outputs: event.outputs, follows: event.trigger_after !== null, send: () => whole().then(resolve, reject) });
    next();
  });
  quick.add(answer);
  answer.finally(() => quick.delete(answer)).catch(() => {});
  return answer;
};
