// Runs once per ViewsGrid, with element and trigger from gr.HTML, and its own `fixed`.
const cells = () => [...element.querySelectorAll("[data-view]")];

function name() {
  const group = element.querySelector(".rita-views");
  if (group) group.setAttribute("aria-label", fixed.aria);
}

function focus(button) {
  if (!button) return;
  for (const other of cells()) other.tabIndex = other === button ? 0 : -1;
  button.focus();
}

// Shown at once; the server's answer says the same again.
element.addEventListener("click", (event) => {
  const button = event.target.closest("[data-view]");
  if (!button) return;
  const press = button.getAttribute("aria-pressed") !== "true"; // a second click selects nothing
  for (const other of cells()) other.setAttribute("aria-pressed", String(press && other === button));
  focus(button);
  trigger("click", { view: Number(button.dataset.view) });
});

element.addEventListener("keydown", (event) => {
  const all = cells();
  const here = all.indexOf(event.target.closest("[data-view]"));
  if (here < 0) return;
  const grid = element.querySelector(".rita-views");
  const columns = getComputedStyle(grid).gridTemplateColumns.split(" ").length;
  const to = {
    ArrowRight: here + 1,
    ArrowLeft: here - 1,
    ArrowDown: here + columns,
    ArrowUp: here - columns,
    Home: 0,
    End: all.length - 1,
  }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  focus(all[to]);
});

watch("value", name);
name();
