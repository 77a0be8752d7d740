// The memory, and what was measured on many pictures: the attacker who knows, the one table.
function bars(svg, rows, note) {
  const width = svg.clientWidth || 560;
  const above = width < 480; // the titles stand above the bars
  const [step, left, right] = above ? [48, 0, 56] : [30, 220, 70];
  const high = rows.length * step + 4;
  svg.setAttribute("viewBox", `0 0 ${width} ${high}`);
  svg.style.height = `${high}px`;
  svg.replaceChildren();
  rows.forEach(({ title, share, said, low, high: upper, css }, i) => {
    const y = i * step + (above ? 26 : 4);
    const x = (v) => left + v * (width - left - right);
    svg.append(make("text", above ? { x: 0, y: y - 4 } : { x: left - 10, y: y + 15, "text-anchor": "end" }, title));
    svg.append(make("rect", { x: x(0), y: y + 5, width: x(1) - x(0), height: 12, class: "track" }));
    svg.append(make("rect", { x: x(0), y: y + 5, width: Math.max(x(share) - x(0), 1), height: 12, class: css }));
    for (const css of ["interval under", "interval"]) svg.append(make("line", { x1: x(low), x2: x(upper), y1: y + 11, y2: y + 11, class: css }));
    svg.append(make("text", { x: x(upper) + 8, y: y + 15, class: "value" }, said));
  });
  svg.setAttribute("aria-label", `${note} ${rows.map((one) => `${one.title} ${one.said}`).join(", ")}.`);
}

built.push(() => {
  find(".memory .lead").textContent = data.memory.says;
  find(".memory .measured").textContent = fixed.memory;
  find("section.knows").hidden = !data.last;
  if (fixed.knows) {
    find(".knows .lead").textContent = fixed.knows_sentence;
    bars(find(".bars-knows"), fixed.knows_rows, "Right answers against the attacker who knows the defence.");
  }
  find(".know").hidden = !data.last || !!data.knew;
  find(".back").hidden = !data.knew;
  find("section.good").hidden = !fixed.table;
  if (!fixed.table) return;
  find(".good .lead").textContent = fixed.table.lead;
  find(".good .short").textContent = fixed.table.short.replaceAll(" %", "\u00a0%");
  find(".good .note").textContent = fixed.table.note;
  const table = find(".good table");
  table.replaceChildren();
  const head = table.createTHead().insertRow();
  for (const text of fixed.table.columns) add(head, "th", text).scope = "col";
  const body = table.createTBody();
  for (const { title, tower, cells } of fixed.table.rows) {
    const row = body.insertRow();
    const th = add(row, "th", title);
    th.scope = "row";
    add(th, "small", tower);
    for (const one of cells) {
      const td = add(row, "td", one ? one.share : "–");
      if (one) add(td, "small", one.interval.replaceAll(" ", "\u00a0").replace(",\u00a0", ", ")); // breaks at the comma
    }
  }
});

find(".know").addEventListener("click", () => trigger("submit", { what: "know" }));
find(".back").addEventListener("click", () => trigger("undo", { what: "back" }));
// The job's progress and its Stop, in the figure.
const busy = new MutationObserver(() => {
  const running = !!document.querySelector("#status progress");
  find(".halt").hidden = !running;
  for (const button of [".know", ".back"]) find(button).disabled = running;
  find(".progress-note").textContent = running ? document.querySelector("#status .progress").textContent.trim() : data?.knew || "";
});
if (document.querySelector("#status")) busy.observe(document.querySelector("#status"), { childList: true, subtree: true, characterData: true });
built.push(() => (find(".progress-note").textContent ||= data.knew));
// The crops that this picture leaves in the memory, with the class that each is stored under.
built.push(() => {
  const { stored } = data.memory;
  const list = find(".memory .stored");
  list.hidden = !sheets;
  list.replaceChildren();
  add(list, "b", stored.length ? "Added now" : "No crop of this picture is stored.");
  for (const [n, name] of stored) {
    const one = add(list, "span");
    cell(add(one, "i"), n);
    add(one, "span", n ? `crop ${n} as ${name}` : `the whole picture as ${name}`);
  }
});
// Where the attacker who knows leaves each crop.
built.push(() => {
  const strip = find(".crossed");
  strip.hidden = !data.knew || !sheets;
  if (strip.hidden) return;
  const [before, after] = [steps[0], steps.at(-1)].map((s) => s.crops);
  strip.replaceChildren();
  after.forEach((v, n) => cell(add(strip, "i", "", v > 0 ? "reference" : "rival"), n));
  const count = (values) => values.filter((v) => v > 0).length;
  add(strip, "span", `${count(before)} of ${before.length} crops of the clean picture fit ${data.names[0]} better than ${data.names[1]}, ${count(after)} after this attack.`);
});

watch("value", show);
watch("steps", () => showSteps().then(() => built.forEach((one) => one())).then(draw));
watch("crops", showCrops);
watch("checks", showChecks);
watch("partial", () => (props.partial ? showPartial() : show())); // a run that failed leaves the one of before
let width = 0; // its height follows what is drawn
new ResizeObserver(() => {
  if (!data || story.clientWidth === width) return;
  width = story.clientWidth;
  built.forEach((one) => one());
  draw();
}).observe(story);
show().then(showChecks);
