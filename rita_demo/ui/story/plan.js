// 4. What does RITA add? The plan of three crops, which one can drag: across to the class that they fit, up and down to one
// of its sentences. Area is weight: each crop is a third, each bar of a sentence its share.
const CROP_GAP = 20; // pixels between two crops
const DIFFER = 4e-4; // a price has four digits
const board = find(".adds .plan");
let placed = null; // where the crops are: { key, kind: "real", "made" or "moved", by: [right, down] of each, in the plane }
let held = 0; // the crop that a tap moves

// The cheapest plan of a class: with two sentences, the crops that lean most to the first one fill it.
function cheapest(cost) {
  const weight = 1 / cost.length;
  if (cost[0].length < 2) return cost.map(() => [weight]);
  const plan = [];
  let room = 1 / 2;
  for (const n of inOrder(cost.map(([a, b]) => a - b))) {
    const first = Math.min(weight, room);
    plan[n] = [first, weight - first];
    room -= first;
  }
  return plan;
}

// Plans and prices of both classes, with the crops moved.
function priced(by) {
  return data.small.cost.map((rows, c) => {
    const cost = rows.map((row, n) => row.map((d, m) => d - by[n][0] * data.small.pull[c][m][0] - by[n][1] * data.small.pull[c][m][1]));
    const plan = cheapest(cost);
    return { plan, price: sum(plan.flatMap((row, n) => row.map((w, m) => w * cost[n][m]))), mean: sum(cost.flat()) / cost.flat().length };
  });
}
const still = () => data.small.at.map(() => [0, 0]);
const cheaper = ([a, b], what) => +(b[what] < a[what]);

// All three are moved across until the two classes cost nearly the same: there the plan and the plain mean differ.
function madeUp() {
  const [a, b] = priced(still());
  const gains = a.mean - a.price - (b.mean - b.price);
  if (Math.abs(gains) < DIFFER) return null;
  const apart = sum(data.small.pull[0].map(([x]) => x)) / data.small.pull[0].length - sum(data.small.pull[1].map(([x]) => x)) / data.small.pull[1].length;
  return data.small.at.map(() => [(a.mean - b.mean - gains / 2) / apart, 0]);
}

function place(kind) {
  placed = { key: data.key, kind, by: (kind === "made" && madeUp()) || still() };
}

built.push(() => {
  const { small } = data;
  find(".adds .tool").hidden = !small;
  if (!small) return;
  const made = madeUp();
  if (placed?.key !== data.key) {
    const real = priced(still());
    place(made && cheaper(real, "price") === cheaper(real, "mean") ? "made" : "real");
  }
  const pill = find(".adds .places");
  pill.hidden = !made;
  if (!isNew(board, [data.key, small, !!sheets])) return void drawBoard();
  board.replaceChildren(make("svg", { "aria-hidden": "true" }));
  small.views.forEach((n, i) => {
    const crop = add(board, "button", "", "crop");
    if (sheets) cell(crop, n);
    add(crop, "b", "ABC"[i]);
  });
  ["reference", "rival"].forEach((css, c) =>
    small.sentences[c].forEach((text) => add(add(board, "p", "", `sentence ${css}`), "span", `“${text}”`)),
  );
  drawBoard();
});

// The board's measures in pixels; a unit of the plane is as long across as down.
function measures() {
  const [wide, size] = [board.clientWidth || 1000, narrow.matches || lecturing ? 64 : 96];
  const [edge, bar] = [narrow.matches ? 0 : Math.min(270, wide * 0.24), 16];
  const high = 3 * size + 2 * CROP_GAP;
  const room = wide / 2 - edge - bar - size / 2 - 12;
  const most = Math.max(...data.small.at.map(Math.abs), ...(madeUp() || [[0, 0]]).map(([x], n) => Math.abs(data.small.at[n] + x)), 0.05);
  return { wide, size, edge, bar, high, room, unit: Math.min(1200, room / most) };
}

function drawBoard() {
  const { small } = data;
  if (!small || !placed || !board.firstElementChild) return;
  const { wide, size, edge, bar, high, unit } = measures();
  const [svg, found] = [board.firstElementChild, priced(placed.by)];
  const at = small.at.map((x, n) => [wide / 2 + (x + placed.by[n][0]) * unit - size / 2, n * (size + CROP_GAP) + placed.by[n][1] * unit]);
  svg.setAttribute("viewBox", `0 0 ${wide} ${high}`);
  svg.style.height = `${high}px`;
  svg.replaceChildren();
  const rows = inOrder(at.map(([, y]) => y));
  found.forEach(({ plan }, c) => {
    const count = plan[0].length;
    const tall = (3 * size) / count; // of a sentence's bar: 3 crops are all of the weight
    const [left, near] = c ? [edge, edge + bar] : [wide - edge - bar, wide - edge - bar];
    const top = plan[0].map((_, m) => (count > 1 ? m * (high - tall) : (high - tall) / 2));
    const filled = [...top];
    const letters = [];
    for (const n of rows) {
      let y = at[n][1];
      const x = at[n][0] + (c ? 0 : size);
      plan[n].forEach((w, m) => {
        const h = 3 * size * w;
        if (h < 0.5) return;
        const [to, middle] = [filled[m], (x + near) / 2];
        svg.append(make("path", { class: `flow ${side(c)}`, d: `M${x} ${y}C${middle} ${y} ${middle} ${to} ${near} ${to}v${h}C${middle} ${to + h} ${middle} ${y + h} ${x} ${y + h}Z` }));
        if (h > 12) letters.push([to + h / 2 + 5, "ABC"[n]]);
        y += h;
        filled[m] += h;
      });
    }
    top.forEach((y) => svg.append(make("rect", { x: left, y, width: bar, height: tall, class: side(c) })));
    for (const [y, letter] of letters) svg.append(make("text", { x: left + bar / 2, y, "text-anchor": "middle", class: "in-bar" }, letter));
    all(`.sentence.${side(c)}`, board).forEach((text, m) => (text.style.top = narrow.matches ? "" : `${top[m] + tall / 2}px`));
  });
  board.style.height = narrow.matches ? "" : `${high}px`;
  const margin = (n) => small.at[n] + placed.by[n][0];
  all(".crop", board).forEach((crop, n) => {
    crop.style.cssText += `;width:${size}px;height:${size}px;transform:translate(${at[n][0]}px,${at[n][1]}px)`;
    crop.className = `crop ${margin(n) > 0 ? "reference" : "rival"}${n === held ? " held" : ""}`;
    const to = found.map(({ plan }, c) => `of ${data.names[c]} ${plan[n].map((w, m) => (w > 1e-6 ? `${Math.round(300 * w)} % to “${small.sentences[c][m]}”` : "")).filter(Boolean).join(" and ")}`);
    crop.ariaLabel = `${"ABC"[n]}, ${small.views[n] ? `crop ${small.views[n]}` : "the whole picture"}, fits ${data.names[margin(n) > 0 ? 0 : 1]} better; ${to.join("; ")}. Arrow keys move it.`;
  });
  const [wins, plain] = [cheaper(found, "price"), cheaper(found, "mean")];
  found.forEach(({ price }, c) => {
    find(`.adds .prices .${side(c)}`).textContent = `${data.names[c]} costs ${price.toFixed(4)}${c === wins ? ", cheaper" : ""}`;
  });
  const by = Math.abs(found[0].price - found[1].price).toFixed(4);
  const where = { made: "Made-up places, where both cost nearly the same", real: "At their real places", moved: "Where you put them" }[placed.kind];
  const mean = plain === wins ? "so does the plain mean of the same distances" : `the plain mean of the same distances says ${data.names[plain]}`;
  const alike = madeUp() || placed.kind !== "real" || wins !== plain ? "" : " These sentences are too alike for the rules to differ.";
  const real = placed.kind === "real" ? `${alike} All ${data.boxes.length} crops: ${data.names[steps.at(-1).says.rita.label]}.` : "";
  find(".adds .verdict").textContent = `${where}: the plan says ${data.names[wins]}, by ${by}; ${mean}.${real}`;
  find(".adds .places").textContent = placed.kind === "real" ? "Where the rules differ" : "Their real places";
  board.setAttribute("aria-label", `The plan of three crops. ${all(".adds .prices span:not(.hint)").map((one) => one.textContent).join("; ")}.`);
}
find(".adds .places").addEventListener("click", () => (place(placed.kind === "real" ? "made" : "real"), drawBoard()));

// Moves a crop by pixels; it stays on the board.
function shift(n, [right, down]) {
  const { size, high, room, unit } = measures();
  const inside = (value, low, high_) => Math.min(Math.max(value, low), high_);
  const [x, y] = [placed.by[n][0] + right / unit, placed.by[n][1] + down / unit];
  const slot = n * (size + CROP_GAP);
  placed.by[n] = [inside(x, -room / unit - data.small.at[n], room / unit - data.small.at[n]), inside(y, -slot / unit, (high - size - slot) / unit)];
  placed.kind = "moved";
  drawBoard();
}
const cropOf = (event) => all(".crop", board).indexOf(event.target.closest(".crop"));
const zoom = () => board.currentCSSZoom || 1;
let from = null; // where the pointer was
board.addEventListener("pointerdown", (event) => {
  const n = cropOf(event);
  if (n < 0) return;
  [held, from] = [n, [event.clientX, event.clientY]];
  board.setPointerCapture(event.pointerId);
  all(".crop", board)[n].focus({ preventScroll: true });
  drawBoard();
  event.preventDefault();
});
board.addEventListener("pointermove", (event) => {
  if (!from) return;
  const now = [event.clientX, event.clientY];
  shift(held, now.map((v, i) => (v - from[i]) / zoom()));
  from = now;
});
for (const end of ["pointerup", "pointercancel"]) board.addEventListener(end, () => (from = null));
// A tap beside the crops moves the one that was held there.
board.addEventListener("click", (event) => {
  if (!event.target.closest("svg")) return;
  const was = all(".crop", board)[held].getBoundingClientRect();
  shift(held, [event.clientX - was.left - was.width / 2, event.clientY - was.top - was.height / 2].map((v) => v / zoom()));
});
board.addEventListener("keydown", (event) => {
  const [n, step] = [cropOf(event), event.shiftKey ? 40 : 8];
  const by = { ArrowRight: [step, 0], ArrowLeft: [-step, 0], ArrowDown: [0, step], ArrowUp: [0, -step] }[event.key];
  if (n < 0 || !by) return;
  event.preventDefault();
  held = n;
  shift(n, by);
});
