// What concerns the whole page: focus, dimming, scrolling, lecture mode. Runs once per page, before the body exists.

// --- the keyboard's place on the page is kept, whatever is redrawn under it
let held = null; // the focused button of our own HTML, and how to find its successor

function remember(event) {
  const node = event.target;
  const holder = node.closest(".block[id]");
  const marks = [...node.attributes].filter((a) => a.name.startsWith("data-"));
  const which = marks.map((a) => `[${a.name}="${CSS.escape(a.value)}"]`).join("");
  held = node.matches("button") && which && holder ? { node, holder: holder.id, which } : null;
}

// What the server draws anew is another node: without this, focus falls back to the start of the page.
function follow() {
  if (!held || held.node.isConnected || document.activeElement !== document.body) return;
  const next = document.getElementById(held.holder)?.querySelector(`button${held.which}`);
  if (next) next.focus({ preventScroll: true });
}

document.addEventListener("pointerdown", () => (held = null), true);
document.addEventListener("focusin", remember);

// The style sheet dims what belongs to the picture before. These are classes of the document: as rules with ":has" on the
// whole page, every new node anywhere would make the browser style all of it again.
const MARKS = { stale: ["status", ".stale, .progress-text"], answered: ["status", ".answered"], waits: ["status", "progress"], changed: ["changed", ".changed"] };
function mark() {
  for (const [name, [id, query]] of Object.entries(MARKS))
    document.documentElement.classList.toggle(name, !!document.getElementById(id)?.querySelector(query));
}

// Gradio gives the words that filter a table no name.
function nameFilters() {
  for (const input of document.querySelectorAll("input.search-input:not([aria-label])")) input.setAttribute("aria-label", "Filter these rows");
}

new MutationObserver(() => (follow(), mark(), nameFilters())).observe(document, { childList: true, subtree: true });

// Escape closes a term's explanation, whether it was opened by the keyboard or by a pointer.
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  if (document.activeElement.matches(".term")) document.activeElement.blur();
  document.querySelector(".drawer > button.open")?.click();
  for (const tip of document.querySelectorAll(".term:hover .tip")) {
    tip.hidden = true;
    tip.parentElement.addEventListener("pointerleave", () => (tip.hidden = false), { once: true });
  }
});

// A button that leads to a place of its own tab or of the form opens Story, drawer and fold, and focuses what one can type in.
document.addEventListener("click", (event) => {
  const { to, room } = event.target.closest("[data-to]")?.dataset ?? {};
  if (!to) return;
  const seen = () => document.querySelector(to)?.getClientRects().length;
  if (!seen()) room ? openLab(room) : tabs()[0].click();
  const drawers = () => [...document.querySelectorAll(room ? ".drawer > button:not(.open)" : "#settings > button:not(.open)")];
  const open = () => drawers().find((drawer) => drawer.getClientRects().length)?.click();
  if (!room && !document.querySelector(to)) open(); // a closed drawer is empty
  const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth";
  const arrive = (tries) => {
    if (tries === 190 && !seen()) open(); // what is in a drawer; on a narrow screen the form is in one, too
    if (!seen()) return void (tries && setTimeout(arrive, 50, tries - 1));
    const place = document.querySelector(to);
    const closed = place.matches(".fold > button:not(.open)") ? place : place.querySelector(":scope.fold > button:not(.open)");
    closed?.click();
    if (closed && tries) return void setTimeout(arrive, 200, tries - 1); // a room that is being built closes it again
    place.scrollIntoView({ behavior, block: "center" });
    place.focus({ preventScroll: true });
  };
  setTimeout(arrive, 100, 200); // a room takes seconds to open on a busy machine
});

// The button of a sentence presses the page's own.
document.addEventListener("click", (event) => {
  const press = event.target.closest("[data-press]")?.dataset.press;
  if (press) document.querySelector(press).click();
});

// On a narrow screen the answer is far above the buttons that ask for it.
function showAnswer(event) {
  const asks = { change: "#pick input", mousedown: "html:has(#in-note .place) #truth [role=option]" }[event.type] || "#go, #only-defend, #know, #samples button";
  if (!event.target.closest(asks) || !matchMedia("(max-width: 760px)").matches) return;
  const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth";
  const answers = [".story .headline", "#inside-headline"].map((query) => document.querySelector(query));
  const answer = answers.find((node) => node?.getClientRects().length);
  const { top, bottom } = answer?.getBoundingClientRect() ?? { top: 0, bottom: 0 };
  if (top < 60 || bottom > innerHeight) answer?.scrollIntoView({ behavior, block: "center" }); // what is in sight stays there
}
for (const kind of ["click", "change", "mousedown"]) document.addEventListener(kind, showAnswer, true);

// What was done on a tab is no news on another.
document.addEventListener("click", (event) => {
  const done = event.target.closest("#tabs [role=tab]") && document.querySelector("#status .done");
  if (done) done.hidden = true;
});

// Lecture mode: the Story as slides (story/lecture.js); the style sheet hides the rest of the page.
if (new URLSearchParams(location.search).has("lecture")) document.documentElement.classList.add("lecture");

// The page comes with the worked example. A link's own picture follows a moment later: until then the example is hidden,
// and its answers until the link's are there.
if (new URLSearchParams(location.search).has("sample")) {
  document.documentElement.classList.add("linked", "awaited");
  document.addEventListener("story", () => document.documentElement.classList.remove("awaited"), { once: true });
  new MutationObserver((_, observer) => {
    const status = document.querySelector("#status");
    if (!status?.textContent.trim()) return;
    document.documentElement.classList.remove("linked");
    if (status.querySelector(".stale, .progress-text")) return;
    document.documentElement.classList.remove("awaited");
    observer.disconnect();
  }).observe(document, { childList: true, characterData: true, subtree: true });
}

// Two levels: the Story is the first tab, the Lab all others. Each remembers nothing but the Lab's last tab.
const LAB = { memory: "Memory", arena: "Arena" };
const tabs = () => [...document.querySelectorAll("#tabs > .tab-wrapper button[role=tab]")];
let lab = null; // the name of the Lab's last tab
let openTab, clickedTab; // their names
document.addEventListener("click", ({ target }) => (clickedTab = target.closest("#tabs [role=tab]")?.textContent ?? clickedTab), true);
function level() {
  const open = tabs().find((tab) => tab.getAttribute("aria-selected") === "true");
  const byServer = openTab && open && ![openTab, clickedTab].includes(open.textContent);
  if (byServer) scrollTo({ top: 0, behavior: "instant" }); // a run is seen from its head on
  openTab = open?.textContent;
  const story = !open || open === tabs()[0];
  if (!story) lab = open.textContent.trim();
  document.documentElement.classList.toggle("on-story", story);
  for (const button of document.querySelectorAll("[data-level]")) {
    if ((button.dataset.level === "story") === story) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
  }
}
const openLab = (name) => (tabs().find((tab) => tab.textContent.trim() === (name || lab)) || tabs()[1])?.click();
document.addEventListener("lab", (event) => (openLab(LAB[event.detail]), scrollTo({ top: 0 })));
document.addEventListener("click", (event) => {
  const wanted = event.target.closest("[data-level]")?.dataset.level;
  if (wanted) wanted === "story" ? tabs()[0].click() : openLab();
});
document.documentElement.classList.add("on-story");
new MutationObserver(level).observe(document, { subtree: true, attributes: true, attributeFilter: ["aria-selected"] });
