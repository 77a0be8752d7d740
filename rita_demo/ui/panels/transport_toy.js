// Runs once per TransportToy, after small_sinkhorn.js, with element, props and watch from gr.HTML. Text goes in as text.
const part = (query) => element.querySelector(query);
const svg = part("svg");
const range = part("input[type=range]");
const partial = part("input[type=checkbox]");
const LARGER = Number(getComputedStyle(document.documentElement).getPropertyValue("--larger")) || 1; // in a lecture
const PAD = 44 * LARGER; // pixels left and right of the places
const [ABOVE, BELOW] = [66 * LARGER, 26 * LARGER]; // and here; above there are two lines of text
const HIGHEST = LARGER === 1 ? 340 : 460; // pixels from the lowest place to the highest
const KINDS = ["truth", "rival"]; // style classes
const APART = 38 * LARGER; // pixels between two crops at first
let toy = null; // the value
let at = []; // the crops' places now
let moved = false; // by the visitor
let hidden = []; // of each class, crop and sentence: the part of the cost that the drawing does not show
let view = null; // pixels per unit, and the place of the drawing's middle
let drawn = 0; // the animation frame that will draw
let rest = 0; // the timer after which readers hear the result

const sum = (values) => values.reduce((a, b) => a + b, 0);
const even = (count) => Array(count).fill(1 / count);
const digits = (value) => value.toFixed(4);

function make(tag, attributes = {}, text = "") {
  const svgTag = ["g", "text", "rect", "circle", "polygon", "image", "title"].includes(tag);
  const node = svgTag ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text) node.textContent = text;
  return node;
}

// Half the squared distance in the drawing, and what the drawing does not show: at first the cosine distance of the run.
const shown = ([x, y], sentence) => ((x - sentence.at[0]) ** 2 + (y - sentence.at[1]) ** 2) / 2;
const cost = (c, n, m) => Math.max(0, shown(at[n], toy.sentences[c][m]) + hidden[c][n][m]);

function solve() {
  const lambda = Number((10 ** Number(range.value)).toPrecision(2));
  const mass = partial.checked ? toy.mass : 1;
  const classes = toy.sentences.map((sentences, c) => {
    const costs = at.map((_, n) => sentences.map((_, m) => cost(c, n, m)));
    const { plan, cost: total } = smallSinkhorn(costs, even(at.length), even(sentences.length), lambda, mass);
    return { costs, plan, total, mean: sum(costs.flat()) / costs.flat().length };
  });
  return { lambda, mass, classes };
}

const pixel = ([x, y]) => [view.width / 2 + (x - view.x) * view.scale, view.height / 2 - (y - view.y) * view.scale];

function fit() {
  const all = [...at, ...toy.sentences.flat().map((one) => one.at)];
  const [xs, ys] = [0, 1].map((axis) => all.map((place) => place[axis]));
  const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const width = Math.max(svg.clientWidth, 240);
  const scale = Math.min((width - 2 * PAD) / Math.max(x1 - x0, 1e-6), HIGHEST / Math.max(y1 - y0, 1e-6));
  const height = Math.max(160, Math.round((y1 - y0) * scale + ABOVE + BELOW));
  view = { width, height, scale, x: (x0 + x1) / 2, y: (y0 + y1) / 2 + (ABOVE - BELOW) / 2 / scale };
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.style.height = `${height}px`;
}

// Crops at one place would cover each other: they are moved apart, up and down. Their costs stay those of the run.
function spread() {
  at = toy.crops.map((crop) => [...crop.at]);
  const order = [...at.keys()].sort((a, b) => at[a][1] - at[b][1]);
  for (const [i, n] of order.entries())
    for (const below of order.slice(0, i)) {
      const aside = Math.abs(at[n][0] - at[below][0]) * view.scale;
      const least = Math.sqrt(Math.max(0, APART ** 2 - aside ** 2)) / view.scale;
      at[n][1] = Math.max(at[n][1], at[below][1] + least);
    }
  const up = sum(at.map((place, n) => place[1] - toy.crops[n].at[1])) / at.length;
  for (const place of at) place[1] -= up;
  const again = (place, c, n, m) => toy.hidden[c][n][m] + shown(toy.crops[n].at, place) - shown(at[n], place);
  hidden = toy.sentences.map((sentences, c) => at.map((_, n) => sentences.map((one, m) => again(one, c, n, m))));
}

function restore() {
  moved = false;
  at = toy.crops.map((crop) => [...crop.at]);
  fit();
  spread();
  fit();
}

// Built once per value and width; draw() only moves what is there.
function build() {
  moved ? fit() : restore();
  const held = [...svg.querySelectorAll(".dot")].indexOf(document.activeElement);
  svg.replaceChildren();
  for (const [c, sentences] of toy.sentences.entries()) {
    for (let n = 0; n < at.length; n++)
      for (let m = 0; m < sentences.length; m++) svg.append(make("polygon", { class: `arrow ${KINDS[c]}` }));
  }
  for (const [c, sentences] of toy.sentences.entries()) {
    const middle = sum(sentences.map((one) => pixel(one.at)[0])) / sentences.length;
    const anchor = middle < view.width / 3 ? "start" : middle > (2 * view.width) / 3 ? "end" : "middle";
    const x = { start: 8, end: view.width - 8, middle }[anchor];
    svg.append(make("text", { x, y: 20 * LARGER, "text-anchor": anchor, "font-weight": 600 }, toy.classes[c]));
    svg.append(make("text", { x, y: 37 * LARGER, "text-anchor": anchor, class: "total" }));
    for (const [m, one] of sentences.entries()) {
      const [x, y] = pixel(one.at);
      const group = make("g", { class: `sentence ${KINDS[c]}`, transform: `translate(${x} ${y}) scale(${LARGER})` });
      group.append(make("title", {}, one.text), make("rect", { x: -10, y: -10, width: 20, height: 20 }), make("text", {}, m + 1));
      svg.append(group);
    }
  }
  for (const [n, crop] of toy.crops.entries()) svg.append(dot(crop, n));
  svg.querySelectorAll(".dot")[held]?.focus({ preventScroll: true });
}

function dot(crop, n) {
  const group = make("g", { class: "dot", tabindex: 0, role: "button", "data-crop": n });
  group.append(make("circle", { class: "reach", r: 24 }), make("circle", { class: "disc", r: 17 }));
  if (crop.src) {
    const image = { href: crop.src, x: -15, y: -15, width: 30, height: 30, preserveAspectRatio: "xMidYMid slice" };
    group.append(make("image", { ...image, style: "clip-path: circle(15px at 15px 15px)" }));
  }
  const mark = crop.src ? [13, -13] : [0, 0];
  if (crop.src) group.append(make("circle", { class: "tag", cx: mark[0], cy: mark[1], r: 8.5 }));
  group.append(make("text", { x: mark[0], y: mark[1] }, String.fromCharCode(65 + n)));
  return group;
}

// A shaft as thick as the share (a whole crop is 16 pixels), and a head; larger in a lecture.
function arrow(from, to, share) {
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]) / LARGER;
  const thick = 16 * share * at.length;
  if (thick < 0.15 || length < 40) return "";
  const [ux, uy] = [(to[0] - from[0]) / length, (to[1] - from[1]) / length];
  const point = (along, aside) => `${from[0] + along * ux - aside * uy},${from[1] + along * uy + aside * ux}`;
  const [half, end, neck] = [thick / 2, length - 12, length - 18 - thick / 2];
  return [[18, half], [neck, half], [neck, half + 3], [end, 0], [neck, -half - 3], [neck, -half], [18, -half]]
    .map(([along, aside]) => point(along, aside)).join(" ");
}

function draw() {
  drawn = 0;
  const found = solve();
  const arrows = svg.querySelectorAll(".arrow");
  let number = 0;
  for (const [c, one] of found.classes.entries())
    for (const [n, row] of one.plan.entries())
      for (const [m, share] of row.entries())
        arrows[number++].setAttribute("points", arrow(pixel(at[n]), pixel(toy.sentences[c][m].at), share));
  for (const [n, node] of svg.querySelectorAll(".dot").entries()) {
    node.setAttribute("transform", `translate(${pixel(at[n]).join(" ")}) scale(${LARGER})`);
    const [mine, other] = found.classes.map((one) => sum(one.costs[n]) / one.costs[n].length);
    node.classList.toggle("fooled", other < mine);
    const costs = found.classes.map((one, c) => `${toy.classes[c]} ${digits(Math.min(...one.costs[n]))}`);
    node.setAttribute("aria-label", `${letter(n)}: nearest sentences ${costs.join(", ")}. Arrow keys move it.`);
  }
  const wins = Number(found.classes[1].total < found.classes[0].total);
  for (const [c, node] of svg.querySelectorAll(".total").entries()) {
    node.textContent = `cost ${digits(found.classes[c].total)}${c === wins ? ", cheaper" : ""}`;
    node.classList.toggle("wins", c === wins);
  }
  part("output").textContent = `regularisation ${found.lambda}`;
  const said = (part(".result").textContent = sentence(found));
  clearTimeout(rest);
  rest = setTimeout(() => (part("[role=status]").textContent = said), 700);
  part(".sums").replaceChildren(...found.classes.map((one, c) => table(one, c, found.mass)));
}

const letter = (n) => `${String.fromCharCode(65 + n)}, ${toy.crops[n].name}`;

// Whether the plan decides: the classes' order against that of the plain mean of the distances.
function sentence({ classes }) {
  const [a, b] = classes;
  const order = (key) => Number(b[key] < a[key]);
  const wins = order("total");
  const these = ["", "This crop decides", "These two crops decide", "These three crops decide"][at.length];
  if (moved && toy.all) return `As you placed them, ${these[0].toLowerCase()}${these.slice(1)} for ${toy.classes[wins]}. All ${toy.all.count} real ones decide for ${toy.all.answer}.`;
  const alike = toy.all?.answer === toy.classes[wins];
  const all = alike ? `, as do all ${toy.all.count}${order("mean") === wins ? " and the plain mean" : ""}` : toy.all ? `, all ${toy.all.count} for ${toy.all.answer}${toy.all.why}` : "";
  const plan = `${these} for ${toy.classes[wins]}${all}.`;
  const mean = order("mean") === wins ? "" : `The plain mean of the distances says ${toy.classes[1 - wins]}: here the plan decides.`;
  return [plan, mean].filter(Boolean).join(" ");
}

function table(one, c, mass) {
  const node = make("table");
  node.append(make("caption", {}, `${toy.classes[c]}: share × distance`));
  const line = (cells, kind = "") => {
    const row = make("tr", kind ? { class: kind } : {});
    row.append(...cells);
    node.append(row);
  };
  line([make("th", { scope: "col" }, "crop"), ...toy.sentences[c].map((s, m) => make("th", { scope: "col" }, `${m + 1}. ${s.text}`))]);
  for (const [n, row] of one.plan.entries()) {
    const paid = row.map((share, m) => {
      const cell = make("td", {}, `${digits(share)} × ${digits(one.costs[n][m])}`);
      cell.append(make("br"), `= ${digits(share * one.costs[n][m])}`);
      return cell;
    });
    line([make("th", { scope: "row" }, letter(n)), ...paid]);
  }
  const wide = { colspan: toy.sentences[c].length };
  const divided = mass < 1 ? `${digits(one.total * mass)} / ${mass} = ` : "";
  line([make("th", { scope: "row" }, "sum of all"), make("td", wide, divided + digits(one.total))], "total");
  line([make("th", { scope: "row" }, "plain mean"), make("td", wide, digits(one.mean))]);
  return node;
}

// Below the drawing, on the side of their class: what the numbered squares stand for.
function list() {
  const [truth, rival] = toy.sentences;
  const texts = truth.flatMap((_, m) => [rival, truth].map((one) => `${m + 1}. ${one[m].text}`));
  part(".sentences").replaceChildren(...texts.map((text) => make("p", {}, text)));
}

const later = () => (drawn ||= requestAnimationFrame(draw));

function move(n, place) {
  moved = true;
  const halfX = (view.width / 2 - 20) / view.scale;
  const halfY = (view.height / 2 - 20) / view.scale;
  at[n] = [
    Math.min(Math.max(place[0], view.x - halfX), view.x + halfX),
    Math.min(Math.max(place[1], view.y - halfY), view.y + halfY),
  ];
  later();
}

let dragged = null; // the crop, and where the pointer took it
svg.addEventListener("pointerdown", (event) => {
  const node = event.target.closest(".dot");
  if (!node) return;
  const n = Number(node.dataset.crop);
  dragged = { n, x: event.clientX, y: event.clientY, from: at[n] };
  svg.setPointerCapture(event.pointerId);
  node.focus({ preventScroll: true });
  event.preventDefault();
});
// a finger on a dot drags it; elsewhere it scrolls the page (CSS touch-action has no effect inside an SVG)
const hold = (event) => event.target.closest(".dot") && event.preventDefault();
svg.addEventListener("touchstart", hold, { passive: false });
svg.addEventListener("pointermove", (event) => {
  if (!dragged) return;
  const { n, x, y, from } = dragged;
  move(n, [from[0] + (event.clientX - x) / view.scale, from[1] - (event.clientY - y) / view.scale]);
});
for (const kind of ["pointerup", "pointercancel"]) svg.addEventListener(kind, () => (dragged = null));

svg.addEventListener("keydown", (event) => {
  const node = event.target.closest(".dot");
  const [right, up] = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key] || [0, 0];
  if (!node || (!right && !up)) return;
  event.preventDefault();
  const n = Number(node.dataset.crop);
  const step = (event.shiftKey ? 40 : 8) / view.scale;
  move(n, [at[n][0] + step * right, at[n][1] + step * up]);
});

range.addEventListener("input", later);
partial.addEventListener("change", later);
part("button").addEventListener("click", () => {
  restore();
  defaults();
  later();
});

function defaults() {
  range.value = Math.log10(toy.lambda);
  partial.checked = false;
}

function show() {
  toy = props.value ? JSON.parse(props.value) : null;
  part(".tool").hidden = !toy;
  part(".about span").textContent = toy ? toy.about : "The small plan appears here once there is a picture.";
  part(".drag").hidden = !toy;
  if (!toy) return;
  moved = false;
  list();
  defaults();
  part(".partial").hidden = toy.mass === 1;
  part(".partial span").textContent = `Move only ${Math.round(100 * toy.mass)} % of the mass, as RITA does here`;
  if (!svg.clientWidth) return; // a closed tab; drawn when it opens
  build();
  draw();
}

let width = 0;
new ResizeObserver(() => {
  if (svg.clientWidth === width) return;
  width = svg.clientWidth; // 0 while it is hidden
  if (!toy || !width) return;
  build();
  draw();
}).observe(svg);
watch("value", show);
show();
