// What was measured on many pictures: the ladder, the attacker who knows, the one table.
let tower = "embedded"; // the model of the table

// Bars, one below the other: title, what was there before (pale), the share with its interval, a few words.
function rungs(box, rows, colours, label) {
  box.replaceChildren();
  rows.forEach((one, n) => {
    const row = add(box, "div", "", "rung");
    const name = add(row, "span", one.title, "name");
    if (one.about) (name.title = one.about), add(name, "span", `. ${one.about}`, "sr");
    const track = add(row, "span", "", "track");
    const [from, to] = [Math.min(one.from ?? 0, one.share), Math.max(one.from ?? 0, one.share)];
    if (from) add(track, "i", "", "before").style.width = `${100 * from}%`;
    Object.assign(add(track, "i", "", colours[n]).style, { left: `${100 * from}%`, width: `max(2px, ${100 * (to - from)}%)` });
    row.title = `${(100 * one.low).toFixed(0)} to ${(100 * one.high).toFixed(0)} of 100 (95 %)`;
    const said = add(row, "span", "", "said");
    add(said, "b", one.value);
    add(said, "span", ` ${one.said}`);
    add(said, "span", `; ${row.title}`, "sr");
  });
  box.setAttribute("aria-label", label);
}

built.push(() => {
  const { ladder, knows } = fixed;
  find(".ladder").hidden = !ladder;
  find(".adds .carries").textContent = percent(data.mass);
  if (ladder) {
    find(".ladder .lead").textContent = `The standard model’s right answers on ${ladder.n} test pictures, attacked by PGD on CLIP (4/255).`;
    rungs(find(".ladder .parts"), ladder.steps, ["clip", "gain", "rita", "rita", "rita"], "Right answers, one part added after the other");
    rungs(find(".ladder .ends"), ladder.ends, ["clip", "gain"], "What the attacker who knows RITA leaves of it");
    find(".ladder .says").textContent = ladder.says;
    find(".adds .memory").textContent = ladder.steps.at(-1).about;
  }
  find("section.knows").hidden = !data.last;
  if (knows) rungs(find(".knows .shares"), knows.bars, ["clip", "gain"], "Right answers of RITA against the attacker who knows it");
  find(".knows .bound").hidden = !knows?.note;
  find(".knows .bound .note").textContent = knows?.note || "";
  find(".know").hidden = !data.last || !!data.knew;
  find(".back").hidden = !data.knew;
  drawTable();
});

// One number and one bar a cell; n and interval where one points or tabs, and for those who listen.
function drawTable() {
  const { table } = fixed;
  find("section.good").hidden = !table;
  if (!table) return;
  const { says, cells } = table.towers[tower];
  find(".good .lead").textContent = says;
  find(".good .use span").textContent = table.use;
  find(".good details .note").textContent = table.note;
  const pills = find(".good .towers");
  if (!pills.children.length)
    for (const [name, { title }] of Object.entries(table.towers)) {
      const button = add(pills, "button", title);
      button.dataset.tower = name;
      button.addEventListener("click", () => ((tower = name), drawTable()));
    }
  for (const button of pills.children) button.setAttribute("aria-pressed", String(button.dataset.tower === tower));
  const node = find(".good table");
  if (!isNew(node, tower)) return;
  node.replaceChildren();
  const head = node.createTHead().insertRow();
  for (const text of ["", ...table.columns]) add(head, "th", text).scope = "col";
  // The best is bold where the whole column was measured on as many pictures.
  const best = table.columns.map((_, k) => {
    const column = cells.map((row) => row[k]);
    return column.every(({ n }) => n && n === column[0].n) ? Math.max(...column.map(({ share }) => share)) : null;
  });
  const body = node.createTBody();
  table.rows.forEach(({ name, title, note }, i) => {
    const row = body.insertRow();
    row.className = name;
    const th = add(row, "th", title);
    th.scope = "row";
    add(th, "small", note);
    cells[i].forEach(({ share, value, said }, k) => {
      const td = add(row, "td", "", share === null ? "none" : share === best[k] ? "best" : "");
      add(td, "span", value, "value");
      if (share !== null) add(add(td, "span", "", "track"), "i").style.width = `max(2px, ${100 * share}%)`;
      if (!said) return;
      td.tabIndex = 0;
      add(td, "span", said, "tip");
    });
  });
}

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

watch("value", show);
watch("steps", showSteps);
watch("crops", showCrops);
watch("checks", showChecks);
watch("crossing", () => {
  const before = crossing;
  crossing = parsed("crossing");
  !before === !crossing ? draw() : layOut(); // a slide makes room
});
watch("partial", () => (props.partial ? showPartial() : show())); // a run that failed leaves the one of before
let width = 0; // its height follows what is drawn
new ResizeObserver(() => {
  if (!data || story.clientWidth === width) return;
  width = story.clientWidth;
  layOut();
}).observe(story);
show().then(showChecks);
