// Runs once per CropField, with element, props, trigger and watch from gr.HTML.
// Positions are differences of cosines: right of the line the reference class fits a crop better, left of it the rival.
// A crop's answer counts in data.names: 0 is the reference class, 1 its rival, more are other classes.
const SVG = "http://www.w3.org/2000/svg";
const STEP_MS = 650; // the time of one attack step
const find = (query) => element.querySelector(query);
const [play, slider, output, svg, says] = [".play", "input[type=range]", "output", "svg", ".field-says"].map(find);
const [small, picked] = [".look canvas", ".picked"].map(find); // the small copy of the picture; what the chosen crop says
const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
const narrow = matchMedia("(max-width: 760px)"); // as in the style sheet: the small copy is in sight
let data = null;
let at = 0; // the attack step on screen, a fraction while it plays
let counted = 0; // 0: crops as the model sees them; 1: as RITA counts them
let view = props.view; // the chosen crop
let wanted = null; // the step that the page was asked for and does not show yet
let timer = 0; // of the animation frame
let nodes = null;
let width = 0;
let lengths = {}; // pixels of a label

const make = (tag, attributes, text) => {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
};
const set = (node, attributes) => {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
};
const between = (a, b, t) => a + (b - a) * t;

// The two stored steps around `at`, and how far it is from the first to the second.
function around() {
  const steps = data.steps;
  const next = steps.findIndex((s) => s.step >= at - 1e-9);
  const [a, b] = [steps[Math.max(next - 1, 0)], steps[next < 0 ? steps.length - 1 : next]];
  return [a, b, b.step === a.step ? 1 : (at - a.step) / (b.step - a.step)];
}

const nearest = () =>
  data.steps.reduce((best, s) => (Math.abs(s.step - at) < Math.abs(best.step - at) ? s : best), data.steps[0]);

// Where crop n is now: [position, radius factor].
function crop(n, a, b, t) {
  const seen = between(a.crops[n], b.crops[n], t);
  if (!counted) return [seen, 1];
  const size = Math.sqrt(between(a.share[n], b.share[n], t) * a.crops.length);
  return [between(seen, between(a.counted[n], b.counted[n], t), counted), between(1, size, counted)];
}

function build() {
  const first = 34; // the lane of the whole picture, below the names of the sides
  const lane = 20;
  const top = first + lane * data.methods.length + 12;
  svg.style.minHeight = `${top + 94}px`; // room for the crops below many methods
  width = svg.clientWidth || 640;
  const high = svg.clientHeight || 230;
  const edge = width < 480 ? 34 : 48;
  const most = data.reach;
  const inside = (value) => Math.min(Math.max(value, -most), most); // a step between may go a little further
  const x = (value) => edge + ((inside(value) + most) / (2 * most)) * (width - 2 * edge);
  const bottom = high - 6;
  const [reference, rival] = data.names;
  lengths = {};
  svg.replaceChildren();
  svg.append(
    make("rect", { x: edge, y: 20, width: x(0) - edge, height: bottom - 16, class: "rival" }),
    make("rect", { x: x(0), y: 20, width: x(most) - x(0), height: bottom - 16, class: "reference" }),
    make("line", { x1: x(0), x2: x(0), y1: 18, y2: bottom + 4, class: "line" }),
    make("text", { x: x(0) - 8, y: 13, "text-anchor": "end", class: "side-rival" }, "◀ " + rival),
    make("text", { x: x(0) + 8, y: 13, class: "side-reference" }, reference + " ▶"),
    make("text", { x: 0, y: top + 10, class: "note" }, "large"),
    make("text", { x: 0, y: top + 23, class: "note" }, "crops"),
    make("text", { x: 0, y: bottom, class: "note" }, "small"),
  );
  find(".axis").textContent =
    `One dot is one crop, the ringed one the whole picture. Across: how much better it fits ${reference} than ${rival}` +
    (narrow.matches ? "." : ` (difference of cosine similarity, ± ${most.toFixed(2)})`);
  const area = data.boxes.map(([l, t, r, b]) => (r - l) * (b - t));
  const rank = area.map((v) => area.filter((w) => w > v).length);
  const taken = {};
  const dots = area.map((_, n) => {
    const place = rank[n] + (taken[rank[n]] = (taken[rank[n]] ?? -1) + 1);
    const y = between(top + 4, bottom - 4, area.length > 1 ? place / (area.length - 1) : 0.5);
    return svg.appendChild(make("circle", { cy: y, "data-index": n }));
  });
  const mean = svg.appendChild(make("line", { y1: top - 4, y2: bottom + 4, class: "mean" }));
  const meanLabel = svg.appendChild(make("text", { y: top - 8, class: "note" }));
  const markers = data.methods.map((method, i) => {
    const y = first + lane * i;
    const shape = i ? make("path", {}) : make("circle", { r: 8, cy: y });
    shape.style.setProperty("--ink", method.colour);
    const text = make("text", { y: y + 4, class: "name" });
    svg.append(shape, text);
    return { shape, text, y };
  });
  nodes = { x, dots, mean, meanLabel, markers };
}

const shortened = (text) => [...Array(text.length - 1).keys()].map((n) => `${text.slice(0, text.length - 1 - n)}…`);
const length = (node, text) => (lengths[text] ??= ((node.textContent = text), node.getComputedTextLength()));

// Writes the first of `texts` that fits beside `at` without crossing the dividing line, away from it if possible.
function label(node, at, gap, texts) {
  const line = nodes.x(0);
  const right = at > line;
  const room = { true: right ? width - at : line - at, false: right ? at - line : at };
  for (const text of [...texts, ...shortened(texts[texts.length - 1])])
    for (const side of [right, !right])
      if (gap + length(node, text) + 4 <= room[side]) {
        if (node.textContent !== text) node.textContent = text;
        return set(node, { x: at + (side ? gap : -gap), "text-anchor": side ? "start" : "end" });
      }
}

function draw() {
  if (!data) return;
  const [a, b, t] = around();
  const [kept, x] = [nearest(), nodes.x];
  const seen = a.crops.map((_, n) => between(a.crops[n], b.crops[n], t));
  nodes.dots.forEach((dot, n) => {
    const [value, size] = crop(n, a, b, t);
    const side = value > 0 ? "on-reference" : "on-rival";
    const other = kept.answers[n] > 1 ? " other" : "";
    const whole = n ? "" : " ringed";
    const chosen = n === view ? " chosen" : "";
    if (chosen && svg.lastChild !== dot) svg.append(dot); // above its neighbours
    set(dot, { cx: x(value), r: Math.max(1.2, 4.6 * size), class: side + other + whole + chosen });
  });
  const mean = x(seen.reduce((p, q) => p + q, 0) / seen.length);
  set(nodes.mean, { x1: mean, x2: mean });
  label(nodes.meanLabel, mean, 2, ["mean of crops"]);
  nodes.markers.forEach(({ shape, text, y }, i) => {
    const name = data.methods[i].name;
    const value = between(a.methods[name], b.methods[name], t);
    const third = kept.third[name] ? ` says ${kept.third[name]}` : "";
    const other = third && " other"; // pale, as a crop that says another class
    if (i) set(shape, { d: `M${x(value)} ${y - 7}l7 7l-7 7l-7 -7z`, class: "marker" + other });
    else set(shape, { cx: x(value), class: "whole " + (value > 0 ? "on-reference" : "on-rival") + other });
    const titles = i ? [data.methods[i].title] : ["whole picture (CLIP)", "CLIP"];
    label(text, x(value), 13, titles.map((title) => title + third));
  });
  slider.value = at;
  output.textContent = data.last ? `step ${kept.step} of ${data.last}` : "not attacked";
  sentence(kept);
  pick(kept);
  chips(kept);
  moving();
  if (narrow.matches) copy(); // where the picture is out of sight
}

// Of the stored step next to the one on screen: how many crops fit the reference better than the rival, how many of them
// there were at the first step and crossed the line since, and how many say the reference: no other class fits them better.
function sentence(kept) {
  const [reference, rival] = data.names;
  const seen = kept.crops;
  const first = data.steps[0].crops;
  const count = (holds) => seen.filter(holds).length;
  const lost = count((value, n) => value <= 0 && first[n] > 0);
  const won = count((value, n) => value > 0 && first[n] <= 0);
  const right = count((value) => value > 0);
  const say = count((value, n) => value > 0 && kept.answers[n] < 2);
  const pale = count((_, n) => kept.answers[n] > 1);
  const crossed = [lost && `${lost} to ${rival}`, won && `${won} to ${reference}`].filter(Boolean).join(", ");
  const since = at > 0 ? ` (${right + lost - won} before the attack; crossed: ${crossed || "none"})` : "";
  const third = pale ? `; ${pale} (pale) say${pale === 1 ? "s" : ""} another class` : "";
  const others = data.methods.filter(({ name }) => kept.third[name]).map(({ name, title }) => `${title} says ${kept.third[name]}`);
  const markers = others.length ? ` Neither of the two: ${others.join(", ")} (pale).` : "";
  const weights = counted ? " A larger dot counts more for RITA." : "";
  const text =
    `${right} of ${seen.length} crops fit${right === 1 ? "s" : ""} ${reference} better than ${rival}${since}. ` +
    `${say} say${say === 1 ? "s" : ""} ${reference}${third}.${markers}${weights}`;
  if (says.textContent !== text) says.textContent = text;
  svg.setAttribute("aria-label", `Crop field, ${output.textContent}. ${text}`);
}

// What the chosen crop says, beside the small copy of the picture.
function pick(kept) {
  const box = data.boxes[view];
  const area = box && Math.round(100 * (box[2] - box[0]) * (box[3] - box[1]));
  const what = view === 0 ? "The whole picture" : `Crop ${view} (${area} % of the picture)`;
  const text = box ? `${what} says ${data.names[kept.answers[view]]}.` : "Tap a dot to see its crop.";
  picked.classList.toggle("hint", !box);
  if (picked.textContent !== text) picked.textContent = text;
}

// What the page says about its own step is dimmed while the field shows another.
const moving = () =>
  document.documentElement.classList.toggle("moving", data !== null && at !== (props.step ?? data.last));

function chips(kept) {
  for (const chip of element.querySelectorAll(".chip")) {
    const now = kept.says[chip.dataset.method];
    const text = chip.querySelector("span");
    if (text.textContent === now.text) continue;
    chip.className = "chip " + now.kind;
    text.textContent = now.text;
  }
}

// --- on a phone: a small copy of the delivered picture, with the chosen crop
const picture = new Image();
picture.onload = () => data && narrow.matches && copy();
function copy() {
  const pen = small.getContext("2d");
  const size = small.width;
  pen.clearRect(0, 0, size, size);
  if (picture.complete) pen.drawImage(picture, 0, 0, size, size);
  if (!data.boxes[view]) return;
  const [left, top, right, bottom] = data.boxes[view].map((share) => share * size);
  for (const [name, wide] of [["--rita-surface", 6], ["--rita-text", 2]]) {
    pen.lineWidth = wide;
    pen.strokeStyle = getComputedStyle(element).getPropertyValue(name);
    pen.strokeRect(left, top, right - left, bottom - top);
  }
}

// --- controls
function stop() {
  cancelAnimationFrame(timer);
  timer = 0;
  play.textContent = "▶ Play the attack";
}

function run() {
  if (timer) return stop();
  if (at >= data.last) at = 0;
  if (narrow.matches) element.scrollIntoView({ behavior: calm ? "instant" : "smooth", block: "start" }); // the dots
  play.textContent = "❚❚ Pause";
  let before = null;
  const move = (now) => {
    const gone = before === null ? 0 : (now - before) / STEP_MS;
    if (!calm || gone >= 1 || before === null) {
      at = Math.min(at + gone, data.last);
      before = now;
      draw();
    }
    if (at < data.last) return void (timer = requestAnimationFrame(move));
    stop();
    send();
  };
  timer = requestAnimationFrame(move);
}

// The page follows the stored step that is nearest.
function send() {
  at = nearest().step;
  draw();
  if (wanted !== null || at !== props.step) wanted = at;
  trigger("release", { step: at });
}

function slide() {
  if (!data) return;
  stop();
  at = Number(slider.value);
  draw();
}

slider.addEventListener("input", slide);
slider.addEventListener("change", () => (slide(), send()));
slider.addEventListener("keydown", (event) => {
  const move = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
  if (!move || !data) return;
  event.preventDefault();
  stop();
  const steps = data.steps.map((s) => s.step);
  at = steps[Math.min(Math.max(steps.indexOf(nearest().step) + move, 0), steps.length - 1)];
  send();
});
// The dot under the pointer, or the nearest within the width of a finger; null if there is none.
function dotAt({ target, clientX, clientY }) {
  if (target.dataset.index !== undefined) return Number(target.dataset.index);
  const { left, top } = svg.getBoundingClientRect();
  const far = nodes.dots.map((dot) => Math.hypot(dot.cx.baseVal.value + left - clientX, dot.cy.baseVal.value + top - clientY));
  const least = Math.min(...far);
  return least < 16 ? far.indexOf(least) : null;
}

play.addEventListener("click", () => data && run());
svg.addEventListener("click", (event) => {
  const n = data && dotAt(event);
  if (n === null) return;
  view = n === view ? -1 : n; // a second click selects nothing
  draw();
  trigger("click", { view: n });
});
const weights = find(".counted");
weights.addEventListener("click", () => {
  const on = weights.getAttribute("aria-pressed") !== "true";
  weights.setAttribute("aria-pressed", String(on));
  count(on ? 1 : 0);
});

// The second movement: dots grow, shrink and move as RITA counts them.
function count(goal) {
  const [from, begin] = [counted, performance.now()];
  const move = (now) => {
    counted = calm ? goal : between(from, goal, Math.min((now - begin) / 600, 1));
    if (data) draw();
    if (counted !== goal) requestAnimationFrame(move);
  };
  requestAnimationFrame(move);
}

function show() {
  const next = props.value ? JSON.parse(props.value) : null;
  element.querySelector(".field").hidden = !next;
  if (!next) return (data = null), moving();
  const same = data && data.key === next.key;
  data = next;
  if (!same) (stop(), (wanted = null), (counted = 0), weights.setAttribute("aria-pressed", "false"), (picture.src = data.picture));
  slider.max = data.last;
  play.disabled = slider.disabled = !data.last;
  find(".chips").replaceChildren(
    ...data.methods.map((method) => {
      const chip = document.createElement("p");
      chip.className = "chip";
      chip.dataset.method = method.name;
      chip.append(Object.assign(document.createElement("b"), { textContent: method.title }), document.createElement("span"));
      return chip;
    }),
  );
  if (!same) at = props.step ?? data.last;
  build();
  draw();
}

function follow() {
  if (wanted === props.step) wanted = null;
  if (data) moving();
  if (!data || timer || wanted !== null) return;
  at = Math.min(props.step ?? data.last, data.last);
  draw();
}

new ResizeObserver(() => data && svg.clientWidth && svg.clientWidth !== width && (build(), draw())).observe(svg);
watch("value", show);
watch("step", follow);
watch("view", () => ((view = props.view), data && draw()));
show();
