// Runs once per HtmlButtons, with element and trigger from gr.HTML.
const buttons = () => [...element.querySelectorAll("button")].filter((b) => Object.keys(b.dataset).length && !b.closest("[hidden]"));
const buttonAt = (event) => {
  const button = event.target.closest("button");
  return button && Object.keys(button.dataset).length ? button : null;
};
const plain = (value) => (value !== "" && !Number.isNaN(Number(value)) ? Number(value) : value);

element.addEventListener("click", (event) => {
  const button = buttonAt(event);
  if (!button) return;
  trigger("click", Object.fromEntries(Object.entries(button.dataset).map(([name, value]) => [name, plain(value)])));
});

// In a table, the button above or below, in its head as well.
function inColumn(button, step) {
  const cell = button.closest("td, th"), rows = [...cell.closest("table").rows];
  for (let at = rows.indexOf(cell.parentElement) + step; rows[at]; at += step) {
    const found = !rows[at].hidden && rows[at].cells[cell.cellIndex]?.querySelector("button[tabindex]");
    if (found) return found;
  }
  return button;
}

element.addEventListener("keydown", (event) => {
  const all = buttons();
  const button = buttonAt(event);
  const here = all.indexOf(button);
  if (here < 0 || !all.some((one) => one.tabIndex < 0)) return;
  const table = button.closest("td, th");
  const to = {
    ArrowRight: here + 1,
    ArrowDown: table ? all.indexOf(inColumn(button, 1)) : here + 1,
    ArrowLeft: here - 1,
    ArrowUp: table ? all.indexOf(inColumn(button, -1)) : here - 1,
    Home: 0,
    End: all.length - 1,
  }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const next = all[(to + all.length) % all.length];
  for (const other of all) other.tabIndex = other === next ? 0 : -1;
  next.focus();
});
