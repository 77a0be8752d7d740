// Tables of the Lab: a press on a heading sorts up, down, and as before; words filter the longer ones. What
// the server draws anew is sorted and filtered as it was. Runs once per page.
const SORTED_FROM = 3, FILTERED_FROM = 8; // rows
const MISSING = ["", "–", "…"];
const collator = new Intl.Collator(undefined, { numeric: true });
const chosen = new Map(); // name of tables -> { at, column, down, words }; `at`: which of them has the column
let last = null; // the focused control: name, at, column (-1: the words)

const rowsOf = (table) => [...table.tBodies[0].rows];
const isReady = (table) => !!table.tHead.querySelector(".sort");
const fits = (table) => table.tBodies[0].rows.length >= SORTED_FROM && !table.querySelector("[colspan], .sub");

// The words of a cell, without the explanations of terms.
function said(cell) {
  const copy = cell.cloneNode(true);
  for (const tip of copy.querySelectorAll(".tip")) tip.remove();
  return copy.textContent.trim();
}

// Tables by name.
function groups() {
  const found = new Map();
  for (const table of document.querySelectorAll("#tabs table.verdicts:not(.ordered)")) {
    if (table.closest("#story-tab") || !fits(table)) continue;
    const holder = table.closest("[id]");
    const name = [holder.id, [...holder.querySelectorAll("table")].indexOf(table)].join("/");
    found.set(name, [...(found.get(name) || []), table]);
  }
  return found;
}

function prepare() {
  const open = [...document.querySelectorAll("#tabs table.verdicts:not(.ordered)")];
  if (open.every((table) => isReady(table) || !fits(table) || table.closest("#story-tab"))) return;
  for (const [name, tables] of groups()) {
    if (tables.every(isReady)) continue;
    tables.forEach((table, at) => {
      if (isReady(table)) table.tBodies[0].append(...rowsOf(table).sort((a, b) => a.place - b.place));
      rowsOf(table).forEach((row, place) => (row.place = place));
      if (!isReady(table)) addControls(table);
      Object.assign(table, { group: name, at });
    });
    apply(name, tables);
    if (last?.name === name && document.activeElement === document.body) {
      const table = tables[last.at];
      (last.column < 0 ? table?.querySelector(".row-filter") : table?.tHead.rows[0].cells[last.column]?.querySelector(".sort"))?.focus();
    }
  }
}

function addControls(table) {
  for (const heading of table.tHead.rows[0].cells) {
    const title = said(heading);
    if (!title) continue;
    const button = Object.assign(document.createElement("button"), { type: "button", className: "sort" });
    button.setAttribute("aria-label", `Sort by ${title}`);
    heading.append(button);
  }
  if (table.tBodies[0].rows.length < FILTERED_FROM) return;
  const input = Object.assign(document.createElement("input"), { type: "search", className: "row-filter", placeholder: "Filter these rows" });
  input.setAttribute("aria-label", "Filter these rows by words");
  const count = document.createElement("span");
  count.setAttribute("role", "status");
  table.createCaption().append(input, count);
}

// Order and visibility of the rows of all tables of a group.
function apply(name, tables) {
  const { at = 0, column = -1, down = false, words = "" } = chosen.get(name) || {};
  const places = tables.map((table) => rowsOf(table).sort((a, b) => a.place - b.place));
  const order = places[0].map((_, place) => place);
  if (column >= 0 && tables[at]) {
    const compare = comparison(places[at].map((row) => (row.cells[column] ? said(row.cells[column]) : "")), down);
    order.sort((a, b) => compare(a, b) || a - b);
  }
  const asked = words.toLowerCase().split(/\s+/).filter(Boolean);
  const texts = order.map((place) => places.flatMap((rows) => [...rows[place].cells].map(said)).join(" ").toLowerCase());
  const seen = texts.map((text) => asked.every((word) => text.includes(word)));
  const focused = document.activeElement;
  tables.forEach((table, n) => {
    const rows = order.map((place) => places[n][place]);
    rows.forEach((row, i) => (row.hidden = !seen[i]));
    if (rows.some((row, i) => row !== table.tBodies[0].rows[i])) table.tBodies[0].append(...rows);
    [...table.tHead.rows[0].cells].forEach((heading, i) => {
      if (heading.querySelector(".sort")) heading.ariaSort = n !== at || i !== column ? "none" : down ? "descending" : "ascending";
    });
    const input = table.caption?.querySelector(".row-filter");
    if (!input) return;
    if (input.value !== words) input.value = words;
    input.nextSibling.textContent = asked.length ? `${seen.filter(Boolean).length} of ${rows.length} rows` : "";
  });
  if (document.activeElement !== focused) focused.focus(); // its row was moved
}

// Numbers where every cell begins with one, else words; what is missing comes last either way.
function comparison(cells, down) {
  const numbers = cells.map((text) => Number.parseFloat(text.replace(/^[±+]/, "").replace("−", "-")));
  const missing = cells.map((text) => MISSING.includes(text));
  const numeric = cells.every((_, i) => missing[i] || !Number.isNaN(numbers[i]));
  return (a, b) => {
    if (missing[a] || missing[b]) return missing[a] - missing[b];
    return (numeric ? numbers[a] - numbers[b] : collator.compare(cells[a], cells[b])) * (down ? -1 : 1);
  };
}

const together = (name) => [...document.querySelectorAll("#tabs table.verdicts")].filter((one) => one.group === name && isReady(one));

document.addEventListener("click", (event) => {
  const heading = event.target.closest("thead th");
  const table = heading?.closest("table");
  if (!heading?.querySelector(".sort") || event.target.closest(".term")) return;
  const before = chosen.get(table.group) || {};
  const same = before.at === table.at && before.column === heading.cellIndex;
  const next = !same ? { column: heading.cellIndex, down: false } : before.down ? { column: -1, down: false } : { down: true };
  chosen.set(table.group, { ...before, at: table.at, ...next });
  apply(table.group, together(table.group));
});

document.addEventListener("input", (event) => {
  if (!event.target.matches(".row-filter")) return;
  const table = event.target.closest("table");
  chosen.set(table.group, { ...chosen.get(table.group), words: event.target.value });
  apply(table.group, together(table.group));
});

document.addEventListener("pointerdown", () => (last = null), true);
document.addEventListener("focusin", ({ target }) => {
  const table = target.matches(".sort, .row-filter") && target.closest("table");
  last = table && { name: table.group, at: table.at, column: target.closest("th")?.cellIndex ?? -1 };
});
new MutationObserver(prepare).observe(document, { childList: true, subtree: true });
