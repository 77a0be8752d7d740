// 3. From many crops to one answer.
const RULES = { average: "average", balanced: "transport, all crops", rita: "RITA" };
const MEANS = {
  average: "The average: every crop’s probabilities count the same.",
  balanced: "Transport: each class pays for moving all crops to its sentences, and the cheapest class wins.",
  rita: "RITA: each class pays only for the crops that are nearest to it, and the cheapest class wins.",
};
let tiles = [];
find(".differing").textContent = fixed.differing;
let laidOut = null; // the run that the tiles are of
built.push(() => {
  const buttons = data.rules.map(({ name }) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = name === "rita" && data.mass < 1 ? `RITA, cheapest ${percent(data.mass)}` : RULES[name];
    button.dataset.rule = name;
    button.addEventListener("click", () => ((rule = name), draw()));
    return button;
  });
  find(".rules .switch").replaceChildren(...buttons);
  if (laidOut === data.key) return; // tiles that are made anew would fly in again
  laidOut = data.key;
  const field = find(".rules .field");
  field.replaceChildren();
  add(field, "i", "", "middle");
  tiles = data.boxes.map((_, n) => {
    const tile = add(field, "button", "", "tile");
    tile.type = "button";
    tile.addEventListener("click", () => ((chosen = n), draw(), trigger("click", { data: [n] })));
    cell(tile, n);
    return tile;
  });
  add(field, "span", "the whole picture", "whole-label");
});

// One stop for the keyboard; arrows go from crop to crop, from left to right.
find(".rules .field").addEventListener("keydown", (event) => {
  const move = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
  if (!move || !tiles.includes(event.target)) return;
  event.preventDefault();
  const [{ crops }, order] = [nearest(), tiles.map((_, n) => n)];
  order.sort((p, q) => crops[p] - crops[q]);
  tiles[order[Math.min(Math.max(order.indexOf(tiles.indexOf(event.target)) + move, 0), order.length - 1)]].focus();
  chosen = tiles.indexOf(document.activeElement);
  draw();
});

// Where each tile stands: bins across, one above the other; as large as fits.
const HIGHEST = new URLSearchParams(location.search).has("lecture") ? 180 : 300; // pixels
const SIZES = [40, 36, 32, 28, 24, 20, 16, 12];
function layout(width, value) {
  const order = data.boxes.map((_, n) => n).slice(1).sort((p, q) => value(p) - value(q));
  let found = null;
  for (const size of SIZES) {
    const bins = Math.max(8, Math.floor(width / size));
    const place = (v) => Math.min(Math.max(Math.floor(((v / data.reach + 1) / 2) * bins), 0), bins - 1);
    const heights = Array(bins + 2).fill(0);
    const whole = Math.min(place(value(0)), bins - 2); // the whole picture is twice as large
    heights[whole] = heights[whole + 1] = 2;
    const at_ = [[whole, 0]];
    for (const n of order) at_[n] = [place(value(n)), heights[place(value(n))]++];
    found = { size, at: at_, x: (bin) => (bin / bins) * width, high: Math.max(...heights) * size };
    if (found.high <= HIGHEST) break;
  }
  return found;
}

figures.push(() => {
  const field = find(".rules .field");
  const [a, b, t] = around();
  const kept = nearest();
  const now = data.rules.find((one) => one.name === rule) || data.rules[0];
  const value = (n) => between(a.crops[n], b.crops[n], t);
  const most = Math.max(...now.weight);
  const { size, at: places, x, high } = layout(field.clientWidth || 1000, value);
  tiles.forEach((tile, n) => {
    const [bin, level] = places[n];
    tile.tabIndex = n === chosen ? 0 : -1;
    tile.style.transform = `translate(${x(bin)}px, ${-level * size}px)`;
    const wide = `${(n ? size : 2 * size) - 2}px`;
    if (tile.style.width !== wide) tile.style.width = tile.style.height = wide;
    const out = now.weight[n] < 0.05 * most;
    const css = `tile ${value(n) > 0 ? "reference" : "rival"}${kept.answers[n] > 1 ? " other" : ""}${out ? " out" : ""}${n === chosen ? " chosen" : ""}`;
    if (tile.className !== css) tile.className = css;
    const said = `${n ? `Crop ${n}` : "The whole picture"} says ${data.names[kept.answers[n]]}${out ? "; left out" : ""}`;
    if (tile.title !== said) tile.title = tile.ariaLabel = said;
  });
  field.style.height = `${Math.max(high, 200) + 24}px`;
  const label = find(".whole-label");
  label.style.transform = `translate(${x(places[0][0])}px, ${-2 * size - 2}px)`;
  const right = kept.crops.filter((v) => v > 0).length;
  find(".sides .rival").textContent = `◀ ${kept.crops.length - right} crops fit ${data.names[1]} better`;
  find(".sides .reference").textContent = `${right} crops fit ${data.names[0]} better ▶`;
  for (const button of all(".rules .switch button")) button.setAttribute("aria-pressed", String(button.dataset.rule === now.name));
  const mark = now.right === null ? "" : now.right ? "✓ " : "✗ ";
  const verdict = find(".rules .verdict");
  verdict.textContent = `${mark}${find(`.rules .switch [data-rule=${now.name}]`).textContent}: ${now.answer}, ahead of ${now.runner_up} by ${now.lead.toPrecision(2)} ${now.unit}.`;
  const majority = data.names[2 * right > kept.crops.length ? 0 : 1];
  if (data.names.slice(0, 2).includes(now.answer) && now.answer !== majority)
    verdict.textContent += ` Most crops fit ${majority} better, but ${now.name === "rita" && data.mass < 1 ? `only the nearest ${percent(data.mass)} of each class count` : `the others fit ${now.answer} by more`}.`;
  verdict.className = `verdict ${now.right === null ? "" : now.right ? "right" : "wrong"}`;
  find(".rules .scale").textContent = data.plan ? `The plan says which crop goes to which sentence. It changes RITA’s cost by ${data.plan.effect.toPrecision(1)}; the lead is ${data.plan.lead.toPrecision(2)}: the choice of crops decides.` : "";
  find(".rules .lead").textContent = `Each crop falls to the class that it fits better. ${MEANS[now.name]}`;
  field.setAttribute("aria-label", `${find(".sides .rival").textContent.slice(2)}. ${find(".sides .reference").textContent.slice(0, -2)}. ${verdict.textContent}`);
});
