// A panel in a corner of the page. It blocks nothing: everything can be tried while it is open.
const start = element.querySelector("button");
const panel = document.createElement("section");
panel.className = "tour";
panel.hidden = true;
panel.setAttribute("aria-label", "Tour");
panel.innerHTML =
  "<p class='count'></p><h2 tabindex='-1'></h2><p class='text'></p><p class='task'><b>Try it: </b><span></span> <button type='button' class='show'>Show me</button></p>" +
  "<div><button type='button' class='back'>Back</button><button type='button' class='next'>Next</button>" +
  "<button type='button' class='close'>End the tour</button></div>";
element.append(panel);
const part = (name) => panel.querySelector(name);
let at = -1;

const tabNamed = (name) =>
  [...document.querySelectorAll("#tabs button[role=tab]")].find((b) => b.textContent.trim() === name);

function unmark() {
  document.querySelectorAll(".toured").forEach((e) => e.classList.remove("toured"));
}

const seen = (selector) => [...document.querySelectorAll(selector)].find((e) => e.getClientRects().length);
const calm = () => (matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth");
const GAP = 20; // pixels around the panel
const narrow = () => innerWidth <= 760; // pixels: a phone, where the panel lies along the lower edge

// After the visitor scrolls, types or presses, the tour moves nothing until the next step.
let turn = 0;
for (const kind of ["wheel", "touchmove", "pointerdown", "keydown"])
  addEventListener(kind, () => turn++, { passive: true, capture: true });

// The target may be drawn only after its tab is opened.
function mark(stop, mine, tries) {
  if (at !== stop) return;
  const folded = document.querySelector(fixed.stops[stop].target)?.closest(".narrow-fold:not(.open)");
  if (folded) document.querySelector(`[aria-controls="${folded.id}"]`).click();
  const target = seen(fixed.stops[stop].target);
  if (target) {
    target.classList.add("toured");
    keep(target, mine, 12, calm());
  } else if (tries) setTimeout(() => mark(stop, mine, tries - 1), 200);
}

// Repeat, because figures that are drawn meanwhile may move the target.
function keep(target, mine, tries, behavior) {
  if (mine !== turn || at < 0 || !tries) return;
  bring(target, behavior);
  setTimeout(() => mine === turn && at >= 0 && place(target), behavior === "smooth" ? 800 : 0);
  setTimeout(() => keep(target, mine, tries - 1, "auto"), behavior === "smooth" ? 900 : 400);
}

// Scroll the target into the space above the panel or beside it, together with the control if both fit.
function bring(target, behavior) {
  const control = seen(fixed.stops[at].control) || target;
  const above = innerHeight - panel.offsetHeight - 2 * GAP;
  const [one, other] = [target, control].map((e) => e.getBoundingClientRect());
  const both = { top: Math.min(one.top, other.top), bottom: Math.max(one.bottom, other.bottom) };
  const beside = innerWidth > 2 * panel.offsetWidth ? innerHeight - 2 * GAP : above;
  const room = [above, beside].find((height) => both.bottom - both.top <= height);
  // on a phone a part that is too high starts at the upper edge, if its control is near its beginning
  const begins = narrow() && target.contains(control) && other.bottom - one.top < above / 2;
  const { top, bottom } = room || begins ? both : target.contains(control) ? other : one;
  const centred = (top + bottom - (room === beside ? innerHeight : above)) / 2;
  scrollBy({ top: narrow() ? Math.min(centred, top - GAP) : centred, behavior });
}

// Place the panel in the corner where it covers least of the control first, then of the target.
const CORNERS = ["", "left", "top", "top left"];
function place(target) {
  if (narrow()) return;
  const parts = [seen(fixed.stops[at].control), target].filter(Boolean).map((e) => e.getBoundingClientRect());
  const covered = (corner) => {
    panel.className = `tour ${corner}`;
    const own = panel.getBoundingClientRect();
    const shared = (r) => Math.max(0, Math.min(r.right, own.right) - Math.max(r.left, own.left)) *
      Math.max(0, Math.min(r.bottom, own.bottom) - Math.max(r.top, own.top));
    return parts.reduce((sum, r) => 1e7 * sum + shared(r), 0);
  };
  const now = panel.className.slice(5); // it stays unless another corner is better
  const best = [now, ...CORNERS].map((corner) => [covered(corner), corner]);
  panel.className = `tour ${best.reduce((a, b) => (b[0] < a[0] ? b : a))[1]}`;
}

// Scroll to the control, which may be far from the target, and focus it; a closed fold is opened.
function show() {
  const control = seen(fixed.stops[at].control);
  if (!control) return;
  if (control.matches(".fold > button:not(.open)")) control.click();
  const target = seen(fixed.stops[at].target);
  keep(narrow() && target?.contains(control) ? target : control, ++turn, 12, "auto");
  (control.matches("button, input") ? control : control.querySelector("button, input, [tabindex]"))?.focus({ preventScroll: true });
}

function go(number) {
  unmark();
  at = number;
  panel.hidden = at < 0;
  panel.className = "tour";
  // on a phone the end of the page, too, scrolls above the panel
  document.body.style.paddingBottom = narrow() && at >= 0 ? "45vh" : "";
  start.classList.toggle("over", at < 0); // then a presenter's key scrolls again (page.js)
  if (at < 0) return start.focus({ preventScroll: true });
  const stop = fixed.stops[at];
  const tab = tabNamed(stop.tab);
  if (tab && tab.getAttribute("aria-selected") !== "true") tab.click();
  part(".count").textContent = `${at + 1} of ${fixed.stops.length}`;
  part("h2").textContent = stop.title;
  part(".text").textContent = stop.text;
  part(".task span").textContent = stop.task;
  part(".back").disabled = at === 0;
  part(".next").textContent = at === fixed.stops.length - 1 ? "Done" : "Next";
  part("h2").focus({ preventScroll: true });
  mark(at, ++turn, 25);
}

start.addEventListener("click", () => go(0));
part(".back").addEventListener("click", () => go(at - 1));
part(".next").addEventListener("click", () => go(at === fixed.stops.length - 1 ? -1 : at + 1));
part(".show").addEventListener("click", show);
part(".close").addEventListener("click", () => go(-1));
panel.addEventListener("keydown", (e) => e.key === "Escape" && go(-1));
