// Runs once per shelf, with element, props, trigger and watch from gr.HTML.
const items = () => [...element.querySelectorAll("button[data-k]")];

function focus(button) {
  for (const other of items()) other.tabIndex = other === button ? 0 : -1;
  button.focus();
}

element.addEventListener("click", (event) => {
  const chosen = event.target.closest("button[data-k]");
  if (!chosen) return;
  trigger("click", { k: Number(chosen.dataset.k), slot: Number(chosen.dataset.slot) });
});

element.addEventListener("keydown", (event) => {
  const all = items();
  const here = all.indexOf(event.target.closest("button[data-k]"));
  if (here < 0) return;
  const to = {
    ArrowRight: here + 1,
    ArrowDown: here + 1,
    ArrowLeft: here - 1,
    ArrowUp: here - 1,
    Home: 0,
    End: all.length - 1,
  }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  focus(all[(to + all.length) % all.length]);
});
