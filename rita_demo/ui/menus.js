// Gradio's menus (an input with a list of options) as one expects them. Runs once per page, before the body exists.
const isMenu = (node) => node.matches("[role=combobox]");

// What is typed into a menu replaces its text.
document.addEventListener("focusin", (event) => isMenu(event.target) && event.target.select());

// Escape closes the list and leaves the focus, by which alone Gradio opens it.
document.addEventListener("pointerdown", ({ target }) => {
  if (isMenu(target) && target === document.activeElement && target.ariaExpanded === "false") target.dispatchEvent(new FocusEvent("focus"));
});

// A list opens at the chosen option.
new MutationObserver((changes) => {
  for (const node of changes.flatMap((change) => [...change.addedNodes])) {
    const list = node.nodeType === Node.ELEMENT_NODE && node.querySelector("[role=listbox]");
    const chosen = list && list.querySelector("[aria-selected=true]");
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
