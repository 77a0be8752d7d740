// Gradio's menus (an input with a list of options) as one expects them. Runs once per page, before the body exists.
const isMenu = (node) => node.matches("[role=combobox]");

// What is typed into a menu replaces its text.
document.addEventListener("focusin", (event) => isMenu(event.target) && event.target.select());

// Escape closes the list and leaves the focus, by which alone Gradio opens it.
document.addEventListener("pointerdown", ({ target }) => {
  if (isMenu(target) && target === document.activeElement && target.ariaExpanded === "false") target.dispatchEvent(new FocusEvent("focus"));
});

// A list opens at the chosen option, and beside its field: Gradio lays it over the field's lower half.
new MutationObserver((changes) => {
  for (const node of changes.flatMap((change) => [...change.addedNodes])) {
    const list = node.nodeType === Node.ELEMENT_NODE && node.querySelector("[role=listbox]");
    if (!list) continue;
    const pane = list.closest(".options");
    const [block, field] = [".block", ".wrap"].map((query) => pane.closest(query).getBoundingClientRect());
    const { top, bottom } = pane.style;
    const hidden = top ? field.bottom - parseFloat(top) : innerHeight - parseFloat(bottom) - block.top;
    Object.assign(pane.style, { marginBlock: `${hidden + 4}px`, maxHeight: `calc(100vh - ${hidden + 20}px - ${top || bottom})` });
    const chosen = list.querySelector("[aria-selected=true]");
    if (chosen) list.scrollTop += chosen.getBoundingClientRect().top - list.getBoundingClientRect().top;
  }
}).observe(document, { childList: true, subtree: true });

// Tab leaves a menu. Gradio takes it for a letter that is typed, and opens the list of what was just left; and Chromium makes
// a long list, which scrolls, a stop of its own.
document.addEventListener(
  "keydown",
  (event) => {
    if (event.key !== "Tab" || !isMenu(event.target)) return;
    event.stopPropagation();
    for (const list of document.querySelectorAll("[role=listbox]")) list.tabIndex = -1;
  },
  true,
);
