// Runs once per CropColumns, with element, props, trigger and watch from gr.HTML: puts the tiles into columns, and selects.
const [LARGEST, SMALLEST, HIGH] = [30, 18, 240]; // pixels of a tile with its gap, and of the plot while the tiles fit into it
const BINS = [0.005, 0.01, 0.02, 0.025, 0.05, 0.1, 0.2, 0.5, 1]; // cosine per column
const find = (query) => element.querySelector(query);
const tiles = () => [...element.querySelectorAll("[data-view]")];
let stacks = []; // column by column from the left: its tiles from the bottom
let pressed = null; // shown as chosen before the server says so
let drawn = 0; // the width that the tiles stand in

function place() {
  const group = find(".crop-columns");
  const plot = find(".plot");
  const width = plot?.clientWidth;
  if (!width) return;
  drawn = width;
  const ends = JSON.parse(group.dataset.ends); // where the crops stand without the attack and after its last step
  const [low, high] = [Math.min(...ends.flat()), Math.max(...ends.flat())];
  const count = (bin) => [Math.max(Math.ceil(-low / bin - 1e-9), 1), Math.max(Math.ceil(high / bin + 1e-9), 1)];
  const narrow = width < 600;
  const least = narrow ? SMALLEST : 24;
  const bin = BINS.find((one) => width / (count(one)[0] + count(one)[1]) >= least) ?? BINS.at(-1);
  const [left, right] = count(bin);
  const column = width / (left + right);
  const columnOf = (at) => Math.min(Math.max(Math.floor(at / bin + 1e-9) + left, 0), left + right - 1); // a step between may go further
  stacks = Array.from({ length: left + right }, () => []);
  for (const tile of tiles()) stacks[columnOf(Number(tile.dataset.at))].push(tile);
  const share = (tile) => Number(tile.style.getPropertyValue("--moved"));
  for (const stack of stacks) stack.sort((a, b) => (a.dataset.view === "0") - (b.dataset.view === "0") || share(b) - share(a));
  const most = Math.max(...stacks.map((stack) => stack.length));
  const highest = ends.map((one) => Math.max(...one.map((at) => one.filter((other) => columnOf(other) === columnOf(at)).length)));
  const smallest = tiles().length > 100 ? 12 : Math.min(narrow ? 15 : SMALLEST, column);
  const tall = Math.max(HIGH, Math.max(most, ...highest) * smallest);
  const size = Math.max(Math.min(LARGEST, column, tall / most), smallest);
  // The key stands on the side where the tiles are lower, and above them.
  const key = find(".key");
  const below = Math.ceil((key.offsetWidth + 28) / column);
  const [under, beside] = [stacks.slice(0, below), stacks.slice(-below)].map((some) => size * Math.max(...some.map((one) => one.length)));
  Object.assign(key.style, under <= beside ? { left: "14px", right: "auto" } : { left: "auto", right: "14px" });
  plot.style.height = `${Math.max(tall, Math.min(under, beside) + key.offsetHeight + 20)}px`;
  group.style.setProperty("--tile", `${size - 2}px`);
  group.style.setProperty("--zero", `${left * column}px`);
  stacks.forEach((stack, i) => stack.forEach((tile, row) => {
    tile.style.left = `${(i + 0.5) * column - size / 2 + 1}px`;
    tile.style.bottom = `${row * size + 1}px`;
  }));
  const number = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2);
  find(".low").textContent = `${number(-left * bin)} cosine`;
  find(".high").textContent = number(right * bin);
  label(width);
}

// Above the tile of the whole picture, or at its left where it stands highest.
function label(width) {
  const note = find(".whole");
  const tile = find("[data-view='0']");
  const at = tile.offsetLeft;
  const bottom = parseFloat(tile.style.bottom);
  const above = bottom + tile.offsetHeight + 20 < find(".plot").clientHeight;
  note.style.bottom = `${above ? bottom + tile.offsetHeight + 4 : bottom + tile.offsetHeight / 2 - 8}px`;
  note.style.left = `${above ? Math.min(at, width - note.offsetWidth) : at - note.offsetWidth - 6}px`;
}

function mark() {
  const view = String(pressed ?? props.view);
  const all = tiles();
  for (const tile of all) tile.setAttribute("aria-pressed", String(tile.dataset.view === view));
  const stop = all.find((tile) => tile.dataset.view === view) ?? all[0];
  for (const tile of all) tile.tabIndex = tile === stop ? 0 : -1;
}

function choose(tile) {
  if (tile.dataset.view !== String(props.view)) pressed = tile.dataset.view; // the chosen one pressed again: the server decides
  mark();
  trigger("click", { view: Number(tile.dataset.view) });
}

// The tile under the finger, or the nearest one within its width.
element.addEventListener("click", ({ target, clientX, clientY, detail }) => {
  const plot = target.closest(".plot");
  if (!plot) return;
  const direct = target.closest("[data-view]");
  if (direct || !detail) return direct && (direct.focus(), choose(direct));
  const far = tiles().map((tile) => {
    const box = tile.getBoundingClientRect();
    return Math.hypot(box.x + box.width / 2 - clientX, box.y + box.height / 2 - clientY);
  });
  const least = Math.min(...far);
  if (least < 32) choose(tiles()[far.indexOf(least)]);
});

element.addEventListener("keydown", (event) => {
  const tile = event.target.closest("[data-view]");
  if (!tile) return;
  const filled = stacks.filter((stack) => stack.length);
  const column = filled.findIndex((stack) => stack.includes(tile));
  const row = filled[column].indexOf(tile);
  const beside = (step) => {
    const next = filled[Math.min(Math.max(column + step, 0), filled.length - 1)];
    return next[Math.min(row, next.length - 1)];
  };
  const to = {
    ArrowRight: () => beside(1),
    ArrowLeft: () => beside(-1),
    ArrowUp: () => filled[column][row + 1],
    ArrowDown: () => filled[column][row - 1],
    Home: () => filled[0][0],
    End: () => filled.at(-1)[0],
  }[event.key];
  if (!to) return;
  event.preventDefault();
  const next = to();
  if (!next) return;
  for (const other of tiles()) other.tabIndex = other === next ? 0 : -1;
  next.focus();
});

const show = () => (place(), mark());
watch("value", show);
watch("view", () => ((pressed = null), show()));
new ResizeObserver(() => find(".plot")?.clientWidth !== drawn && show()).observe(element);
show();
