// Runs once per StoryView, with element, props, trigger, watch from gr.HTML (or from the saved page) and `fixed`: what was
// measured on many pictures. Every number on screen comes from Python; here they are selected, sorted and moved.
// `data.names` are the classes: 0 is the reference class, 1 its rival, more are other answers.
const SVG = "http://www.w3.org/2000/svg";
const PLAY_MS = 5000; // of the whole attack
const PAUSE_MS = 1400; // where CLIP falls
const story = element.querySelector(".story");
const find = (query, root = story) => root.querySelector(query);
const all = (query, root = story) => [...root.querySelectorAll(query)];
const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
const narrow = matchMedia("(max-width: 760px)");
const lecturing = new URLSearchParams(location.search).has("lecture");
let data = null; // the run on screen
let steps = []; // its stored steps, in order
let sheets = null; // its crops as pictures
let frames = new Map(); // step -> { picture, change }: ImageData
let at = 0; // the step on screen, a fraction while it plays
let asked = null; // the step that a link names, until a person moves to another
let crossing = null; // its crops while another attack on its picture is computed
let chosen = 0; // the crop on screen

const first = props.value ? JSON.parse(props.value).key : null; // the run that the page came with
const parsed = (name) => (props[name] ? JSON.parse(props[name]) : null);
const between = (a, b, t) => a + (b - a) * t;
const percent = (value) => `${Math.round(100 * value)} %`;
// A probability: the same words as in Python.
const surely = (value) => (value > 0.995 && value < 1 ? "> 99 %" : percent(value));
const inOrder = (values) => values.map((_, n) => n).sort((p, q) => values[p] - values[q]);
const sum = (values) => values.reduce((all_, one) => all_ + one, 0);
const truncated = (name) => (name.length > 24 ? `${name.slice(0, 23)}…` : name);
const side = (index) => (index === 0 ? "reference" : index === 1 ? "rival" : "other");
function make(tag, attributes = {}, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}
function add(parent, tag, text = "", css = "") {
  const node = parent.appendChild(document.createElement(tag));
  node.textContent = text;
  if (css) node.className = css;
  if (tag === "button") node.type = tag;
  return node;
}

// The two stored steps around `at`, and how far it is from the first to the second.
function around() {
  const next = steps.findIndex((s) => s.step >= at - 1e-9);
  const [a, b] = [steps[Math.max(next - 1, 0)], steps[next < 0 ? steps.length - 1 : next]];
  return [a, b, b.step === a.step ? 1 : (at - a.step) / (b.step - a.step)];
}
const falls = () => steps.find((s) => s.step > 0 && s.says.clip.label !== steps[0].says.clip.label); // where CLIP does
const nearest = () => steps.reduce((best, s) => (Math.abs(s.step - at) < Math.abs(best.step - at) ? s : best), steps[0]);

// --- pictures: lossless, so that what is computed from them is exact
async function pixels(uri) {
  const image = new Image();
  image.src = uri;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
  const pen = canvas.getContext("2d", { willReadFrequently: true, colorSpace: "srgb" });
  pen.drawImage(image, 0, 0);
  return pen.getImageData(0, 0, image.width, image.height);
}

// A stored picture and what was added to the clean one, 20 times stronger, grey where nothing was.
async function frame(stored, clean) {
  const [sent, picture, change] = [await pixels(stored.change || stored.pixels), new ImageData(clean.width, clean.height), new ImageData(clean.width, clean.height)];
  for (let i = 0; i < clean.data.length; i++) {
    if (i % 4 === 3) picture.data[i] = change.data[i] = 255;
    else {
      const added = stored.change ? sent.data[i] - 128 : sent.data[i] - clean.data[i];
      picture.data[i] = clean.data[i] + added;
      change.data[i] = 128 + 20 * added; // a clamped array
    }
  }
  return { picture, change };
}

function paint(canvas, image) {
  if (!image || canvas.shown === image) return;
  if (canvas.width !== image.width) [canvas.width, canvas.height] = [image.width, image.height];
  canvas.getContext("2d").putImageData(image, 0, 0);
  canvas.shown = image;
}

// The stored picture nearest to the step on screen.
function frameNow() {
  const kept = [...frames.keys()].sort((a, b) => Math.abs(a - at) - Math.abs(b - at));
  return frames.get(kept[0]);
}

// --- one state, many figures
const figures = []; // functions that draw the state
let drawn = 0;
let awaits = false; // a new run's pictures: the one before stays as a whole until they are there
function draw() {
  if (!data || drawn) return;
  drawn = requestAnimationFrame(() => ((drawn = 0), data && !awaits && figures.forEach((one) => one())));
}
const built = []; // functions that lay a figure out for a new run
function layOut() {
  built.forEach((one) => one());
  draw();
}

async function show() {
  const next = parsed("value");
  story.hidden = !next;
  if (!next) return void (data = null);
  const same = data?.key === next.key;
  if (!same || data.shown !== next.shown) asked = next.shown;
  stop();
  if (same) next.names = data.names; // with the answers of the steps between
  else crossing = null;
  if (data?.clean !== next.clean) forget();
  story.classList.remove("partial");
  data = next;
  story.clean = next.clean; // what the browser keeps of an own picture (share_link.js)
  if (!same) {
    steps = next.steps;
    at = next.last;
    sheets = null;
    frames = new Map();
    chosen = next.push ? next.push.first : Math.min(1, next.boxes.length - 1);
    story.dataset.steps = "";
  }
  goToAsked();
  find("input.step").max = next.last;
  awaits = !same;
  await showPictures(same);
  if (data !== next) return; // another run came meanwhile
  awaits = false;
  layOut();
  if (moved !== next.key) opening();
  moved = next.key;
  if (next.key !== first) document.dispatchEvent(new Event("story")); // a link's own run is there (page.js)
  showCrops();
  await showSteps();
}
let moved = null; // the run whose wipe has moved by itself

// Whether a node shows another value now: what shows the same keeps its focus and its text.
function isNew(node, value) {
  const now = JSON.stringify(value);
  return node.laid !== now && ((node.laid = now), true);
}

async function showPictures(same) {
  if (same && frames.size > 1) return;
  const run = data;
  const clean = await pixels(run.clean);
  const still = { picture: clean, change: null };
  const last = run.attacked && (await frame(run.attacked, clean));
  if (data !== run) return;
  frames = new Map([[0, still]]);
  if (last) {
    still.change = new ImageData(new Uint8ClampedArray(clean.data.length).map((_, i) => (i % 4 === 3 ? 255 : 128)), clean.width);
    frames.set(run.last, last);
  }
}

async function showSteps() {
  const more = parsed("steps");
  if (!more || !data || more.key !== data.key || story.dataset.steps) return;
  steps = more.steps;
  data.names = more.names;
  const run = data;
  while (!frames.has(0)) await new Promise((go) => setTimeout(go, 30));
  for (const [step, stored] of Object.entries(more.pictures)) {
    const one = await frame(stored, frames.get(0).picture);
    if (data !== run) return;
    frames.set(Number(step), one);
  }
  goToAsked();
  story.dataset.steps = "all";
  layOut();
}

// The stored step nearest to the one that is asked for, as in the Lab: there are more when they are computed.
function goToAsked() {
  if (asked === null) return;
  at = asked;
  at = nearest().step;
}

// A picture's address as a style: a short one, since the browser copies it into the style of every crop.
const addresses = {};
function short(name, uri) {
  URL.revokeObjectURL(addresses[name]);
  const bytes = Uint8Array.from(atob(uri.slice(uri.indexOf(",") + 1)), (letter) => letter.charCodeAt(0));
  addresses[name] = URL.createObjectURL(new Blob([bytes], { type: "image/jpeg" }));
  return `url(${addresses[name]})`;
}

function showCrops() {
  const found = parsed("crops");
  if (!found || !data || found.key !== data.key) return;
  sheets = found;
  story.style.setProperty("--sheet", short("sheet", found.sheet));
  story.style.setProperty("--noise-sheet", found.noise ? short("noise", found.noise) : "none");
  layOut();
}

// A crop as a part of the sheet.
function cell(node, n) {
  const rows = Math.ceil(data.boxes.length / 8);
  node.style.backgroundSize = `800% ${100 * rows}%`;
  node.style.backgroundPosition = `${(100 * (n % 8)) / 7}% ${rows > 1 ? (100 * Math.floor(n / 8)) / (rows - 1) : 0}%`;
}

// The clean picture of a run that is being computed. What was said of another picture goes.
async function showPartial() {
  const found = parsed("partial");
  if (!found) return;
  stop();
  story.hidden = false;
  story.dataset.steps = ""; // their pictures are not kept
  if (data?.clean !== found.clean) {
    story.classList.add("partial");
    find(".headline").textContent = "The attack is being computed …";
  }
  const image = await pixels(found.clean);
  frames = new Map([[0, { picture: image, change: null }]]);
  for (const name of [".now", ".before"]) paint(find(name), image);
}

// --- playing
let timer = 0;
function stop() {
  cancelAnimationFrame(timer);
  timer = 0;
  find(".play").textContent = "▶ Play the attack";
  find(".inset").hidden = true;
  story.classList.remove("playing");
}

// A person takes over.
function take() {
  stop();
  asked = null;
}

function play() {
  asked = null;
  if (timer) return stop();
  if (at >= data.last) at = 0;
  find(".play").textContent = "❚❚ Pause";
  story.classList.add("playing");
  find(".inset").hidden = false;
  const fall = falls()?.step;
  let before = null;
  let rest = 0; // of the pause
  let exact = at; // with reduced motion only stored steps are drawn
  const move = (now) => {
    const gone = before === null ? 0 : now - before;
    before = now;
    if (rest > 0) rest -= gone;
    else {
      const next = Math.min(exact + (gone / PLAY_MS) * data.last, data.last);
      if (fall !== undefined && exact < fall && next >= fall) [exact, rest] = [fall, PAUSE_MS];
      else exact = next;
      at = calm ? steps.findLast((s) => s.step <= exact).step : exact;
      draw();
    }
    if (exact < data.last || rest > 0) return void (timer = requestAnimationFrame(move));
    stop();
    trigger("release", { step: at });
  };
  timer = requestAnimationFrame(move);
}

find(".play").addEventListener("click", () => data?.last && play());
// A slider of the attack's steps.
function follows(input) {
  input.addEventListener("input", () => (take(), (at = Number(input.value)), draw()));
  input.addEventListener("change", () => (take(), (at = nearest().step), draw(), trigger("release", { step: at })));
  input.addEventListener("keydown", (event) => {
    const move = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!move || !data) return;
    event.preventDefault();
    take();
    const known = steps.map((s) => s.step);
    at = known[Math.min(Math.max(known.indexOf(nearest().step) + move, 0), known.length - 1)];
    draw();
    trigger("release", { step: at });
  });
}
const slider = find("input.step");
follows(slider);

// A door to the Lab.
for (const door of all(".door")) door.addEventListener("click", () => document.dispatchEvent(new CustomEvent("lab", { detail: door.dataset.tab })));
