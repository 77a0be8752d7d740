// 3. From many crops to one answer: the plan of a class, from its crops to its sentences.
const RULES = { average: "average", balanced: "transport, all crops", rita: "RITA" };
const PRICE = "A class’s price is how far the crops are from its sentences, on average. The bands, its plan, send each crop to sentences as cheaply as possible.";
const MEANS = {
  average: () => "Every crop counts the same. The class with the highest mean probability wins.",
  balanced: () => `${PRICE} The lowest price wins.`,
  rita: () => `${PRICE}${data.mass < 1 ? ` RITA sends only the nearest ${percent(data.mass)}: grey crops stay.` : ""} The lowest price wins.`,
};
const [BAND, NODE, LABEL] = [112, 10, 38]; // heights in pixels: of the bands, of a sentence's bar, of its words
let tiles = [];
let toward = 0; // the class whose plan is on screen
let laidOut = null; // the run that the tiles are of
let bandsOf = ""; // what the bands show

function buttons(query, texts, press) {
  find(query).replaceChildren(
    ...Object.entries(texts).map(([key, text]) => {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: text });
      button.dataset.rule = key;
      button.addEventListener("click", () => (press(key), draw()));
      return button;
    }),
  );
}
// Which of the two classes a rule prefers: the more probable one, or the cheaper one.
const answerOf = ({ unit, values: [one, two] }) => (unit === "probability" ? +(one < two) : +(one > two));
built.push(() => {
  buttons(".switch.rule", { ...RULES, ...(data.mass < 1 && { rita: `RITA, cheapest ${percent(data.mass).replace(" ", "\u00a0")}` }) }, (key) => {
    rule = key;
    toward = answerOf(data.rules.find((one) => one.name === key));
  });
  buttons(".switch.toward", data.names.slice(0, 2), (key) => (toward = Number(key)));
  if (laidOut === data.key) return; // tiles that are made anew would fly in again
  rule = "rita";
  [laidOut, bandsOf] = [data.key, ""];
  toward = answerOf(data.rules[2]); // RITA's
  const field = find(".rules .carried");
  field.replaceChildren(make("svg", { class: "flows", "aria-hidden": "true" }));
  add(field, "i", "", "middle");
  tiles = data.boxes.map((_, n) => {
    const tile = add(field, "button", "", "tile");
    tile.type = "button";
    tile.addEventListener("click", () => ((chosen = n), draw(), trigger("click", { view: n, atom: -1 })));
    cell(tile, n);
    return tile;
  });
  add(field, "div", "", "sentences");
});

// One stop for the keyboard; arrows go from crop to crop, from left to right.
find(".rules .carried").addEventListener("keydown", (event) => {
  const move = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
  if (!move || !tiles.includes(event.target)) return;
  event.preventDefault();
  const order = inOrder(nearest().crops);
  chosen = order[Math.min(Math.max(order.indexOf(tiles.indexOf(event.target)) + move, 0), order.length - 1)];
  drawPlan();
  tiles[chosen].focus();
  draw();
});

const inOrder = (values) => values.map((_, n) => n).sort((p, q) => values[p] - values[q]);
const sum = (values) => values.reduce((all_, one) => all_ + one, 0);
// One crop of each group of neighbours after the attack: the chosen one, else the whole picture, else the middle one.
function shownCrops() {
  const order = inOrder(steps.at(-1).crops);
  const count = Math.min(narrow.matches ? 8 : 16, order.length);
  return Array.from({ length: count }, (_, g) => {
    const group = order.slice(Math.round((g * order.length) / count), Math.round(((g + 1) * order.length) / count));
    return [chosen, 0].find((n) => group.includes(n)) ?? group[Math.floor(group.length / 2)];
  });
}

function drawPlan() {
  const field = find(".rules .carried");
  const [a, b, t] = around();
  const kept = nearest();
  const settled = at === data.last; // the plan is that of the attacked picture
  const now = data.rules.find((one) => one.name === rule) || data.rules[0];
  const plan = now.plans[toward];
  const moved = plan.map(sum);
  const own = now.name === "average" ? moved : data.weights;
  const value = (n) => between(a.crops[n], b.crops[n], t);
  const shown = shownCrops().sort((p, q) => value(p) - value(q));
  const width = field.clientWidth || 1000;
  const slot = width / shown.length;
  const size = Math.min(slot - 4, 64);
  const left = (n) => shown.indexOf(n) * slot + (slot - size) / 2;
  tiles.forEach((tile, n) => {
    tile.hidden = !shown.includes(n);
    tile.tabIndex = n === chosen ? 0 : -1;
    if (tile.hidden) return void (tile.className = "tile");
    tile.style.transform = `translate(${left(n)}px, 0)`;
    tile.style.width = tile.style.height = `${size}px`;
    const share = own[n] > 0 ? moved[n] / own[n] : 0;
    const css = `tile ${value(n) > 0 ? "reference" : "rival"}${kept.answers[n] > 1 ? " other" : ""}${settled && share < 0.05 ? " out" : ""}${n === chosen ? " chosen" : ""}`;
    if (tile.className !== css) tile.className = css;
    const carried = !settled ? "" : share < 0.05 ? "; left out" : `; ${percent(Math.min(share, 1))} of its weight is carried to ${data.names[toward]}`;
    const said = `${n ? `Crop ${n}` : "The whole picture"} says ${data.names[kept.answers[n]]}${carried}`;
    if (tile.title !== said) tile.title = tile.ariaLabel = said;
  });
  field.style.height = `${size + BAND + NODE + (narrow.matches ? LABEL / 2 : LABEL)}px`;
  Object.assign(find(".middle", field).style, { left: `${slot * shown.filter((n) => value(n) <= 0).length}px`, height: `${size}px` });
  field.classList.toggle("waits", !settled);
  drawBands({ field, shown, plan, moved, own, left, size, width, slot });

  const right = kept.crops.filter((v) => v > 0).length;
  find(".sides .rival").textContent = `◀ ${kept.crops.length - right} fit ${data.names[1]} better`;
  find(".sides .reference").textContent = `${right} fit ${data.names[0]} better ▶`;
  for (const button of all(".switch.rule button")) button.setAttribute("aria-pressed", String(button.dataset.rule === now.name));
  all(".switch.toward button").forEach((button, k) => {
    button.setAttribute("aria-pressed", String(k === toward));
    button.textContent = data.names[k] + (now.unit !== "probability" ? `: price ${now.values[k].toPrecision(3)}` : data.known ? `: ${percent(now.values[k])}` : "");
  });
  const verdict = find(".rules .verdict");
  const [mark, lead] = [now.right === null ? "" : now.right ? "✓ " : "✗ ", now.lead.toPrecision(2)];
  verdict.textContent = `${mark}${find(`.switch.rule [data-rule=${now.name}]`).textContent}: ${now.answer}, ${now.unit === "probability" ? `${lead} more probable` : `${lead} cheaper`} than ${now.runner_up}.`;
  const majority = data.names[2 * right > kept.crops.length ? 0 : 1];
  if (data.names.slice(0, 2).includes(now.answer) && now.answer !== majority)
    verdict.textContent += ` Most crops fit ${majority} better, but ${now.name === "rita" && data.mass < 1 ? `only the nearest ${percent(data.mass)} of each class count` : `the others fit ${now.answer} by more`}.`;
  verdict.className = `verdict ${now.right === null ? "" : now.right ? "right" : "wrong"}`;
  const { effect } = data.plan;
  const decides = effect < now.lead ? "The choice of crops decides, not their sentences" : "The choice of sentences decides";
  find(".rules .decides").textContent = now.name === "rita" ? `${decides}: if every crop went to the sentences in the same shares, this price would be ${effect.toPrecision(1)} higher; the lead is ${lead}.` : "";
  find(".rules .scale").textContent = `Drawn: ${shown.length} of ${tiles.length} crops. ${now.name === "average" ? "" : "The bands are the class’s plan, as wide as the weight that they carry; the bar below a crop is its weight, how much it counts. A distance is 1 minus the cosine of a crop’s and a sentence’s features: small where they fit."}${shown.some((n) => kept.answers[n] > 1) ? " A dotted border: the crop says another class." : ""}`;
  find(".rules .lead").textContent = MEANS[now.name]();
  const giving = moved.filter((m, n) => m > 0 && m >= 0.05 * own[n]).length;
  const most = inOrder(moved).slice(-3).reverse();
  field.setAttribute(
    "aria-label",
    `${percent(sum(moved))} of the weight goes to ${data.names[toward]}, from ${giving} of ${moved.length} crops, most from crops ${most.join(", ")}${giving < moved.length ? `; ${moved.length - giving} stay` : ""}. ${find(".sides .rival").textContent.slice(2)}. ${find(".sides .reference").textContent.slice(0, -2)}. ${verdict.textContent}`,
  );
}
figures.push(drawPlan);

// Each crop's weight as a bar, what is carried of it, a band to each sentence, and the sentences.
function drawBands({ field, shown, plan, moved, own, left, size, width, slot }) {
  const now = [data.key, rule, toward, width, narrow.matches, ...shown].join();
  if (bandsOf === now) return;
  bandsOf = now;
  const svg = find(".flows", field);
  const names = rule === "average" ? [data.names[toward]] : data.sentences[toward];
  const scale = size / Math.max(...data.weights, 1 / own.length); // pixels of a mass of 1: the same for all rules
  const bottom = size + BAND;
  svg.setAttribute("class", `flows ${side(toward)}`);
  svg.setAttribute("viewBox", `0 0 ${width} ${bottom + NODE}`);
  svg.style.height = `${bottom + NODE}px`;
  svg.replaceChildren();
  const into = names.map((_, m) => scale * sum(shown.map((n) => plan[n][m])));
  const start = names.map((_, m) => ((m + 0.5) * width) / names.length - into[m] / 2);
  const end = [...start];
  for (const n of shown) {
    const full = own[n] * scale;
    let x = left(n) + size / 2 - full / 2;
    if (moved[n] < 0.05 * own[n] || !own[n]) svg.append(make("text", { x: left(n) + size / 2, y: size + 26, "text-anchor": "middle", class: "tick" }, "stays"));
    svg.append(make("rect", { x, y: size + 5, width: full, height: 6, class: "track" }));
    svg.append(make("rect", { x, y: size + 5, width: moved[n] * scale, height: 6, class: "mass" }));
    names.forEach((_, m) => {
      const w = plan[n][m] * scale;
      const [top, half, low] = [size + 11, (size + 11 + bottom) / 2, bottom];
      if (w > 0.05) svg.append(make("path", { class: `band${n === chosen ? " chosen" : ""}`, d: `M${x} ${top}C${x} ${half} ${end[m]} ${half} ${end[m]} ${low}h${w}C${end[m] + w} ${half} ${x + w} ${half} ${x + w} ${top}Z` }));
      x += w;
      end[m] += w;
    });
  }
  into.forEach((w, m) => svg.append(make("rect", { x: start[m], y: bottom, width: w, height: NODE, class: "mass" })));
  const list = find(".sentences", field);
  list.replaceChildren();
  const few = width / names.length < 110; // no room for each
  for (const name of few ? [`“${names[0]}” and ${names.length - 1} more sentences`] : names) add(list, "span", few || rule === "average" ? name : `“${name}”`);
}
