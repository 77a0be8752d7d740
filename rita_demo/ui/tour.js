// A panel beside the page, never over it: nothing is blocked, so that everything can be tried at once.
const start = element.querySelector("button");
const panel = document.createElement("section");
panel.className = "tour";
panel.hidden = true;
panel.setAttribute("aria-label", "Tour");
panel.innerHTML =
  "<p class='count'></p><h2 tabindex='-1'></h2><p class='text'></p><p class='task'><b>Try it: </b><span></span></p>" +
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

// The target may only be drawn once its tab is seen.
function mark(selector, tries) {
  const target = document.querySelector(selector);
  if (target && target.getClientRects().length) {
    target.classList.add("toured");
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    target.scrollIntoView({ block: "center", behavior: calm ? "auto" : "smooth" });
    setTimeout(() => keep(target, at, 12), 900);
  } else if (tries && at >= 0) setTimeout(() => mark(selector, tries - 1), 200);
}

// What is drawn meanwhile may push the target away again.
function keep(target, stop, tries) {
  if (at !== stop || !tries) return;
  const { top, bottom } = target.getBoundingClientRect();
  if (bottom < 0 || top > innerHeight) target.scrollIntoView({ block: "center" });
  setTimeout(() => keep(target, stop, tries - 1), 400);
}

function go(number) {
  unmark();
  at = number;
  panel.hidden = at < 0;
  if (at < 0) return start.focus();
  const stop = props.stops[at];
  const tab = tabNamed(stop.tab);
  if (tab && tab.getAttribute("aria-selected") !== "true") tab.click();
  part(".count").textContent = `${at + 1} of ${props.stops.length}`;
  part("h2").textContent = stop.title;
  part(".text").textContent = stop.text;
  part(".task span").textContent = stop.task;
  part(".back").disabled = at === 0;
  part(".next").textContent = at === props.stops.length - 1 ? "Done" : "Next";
  part("h2").focus({ preventScroll: true });
  mark(stop.target, 25);
}

start.addEventListener("click", () => go(0));
part(".back").addEventListener("click", () => go(at - 1));
part(".next").addEventListener("click", () => go(at === props.stops.length - 1 ? -1 : at + 1));
part(".close").addEventListener("click", () => go(-1));
panel.addEventListener("keydown", (e) => e.key === "Escape" && go(-1));
