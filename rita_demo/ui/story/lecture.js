// ?lecture: the first screen, the sections with data-slide and three sentences as slides, one at a time. Presenter's keys:
// arrows and Page Down / Page Up turn, the first press on a slide with a question reveals its answer; b makes the screen black,
// n shows the notes on the slide, w in a window. The notes are found by the headings (docs/teaching.md).
const LAYOUTS = [560, 640, 760, 880, 1000, 1120]; // widths that a slide is tried in
const [BESIDE, ABOVE, LARGEST] = [64, 96, 3]; // pixels of the screen that stay free; how many times a slide is enlarged at most
let slide = Math.max(parseInt(location.hash.slice(1)) - 1, 0) || 0; // a page that is loaded again opens at the same one
let layout = null; // the width of the slide on screen
let desk = null; // the window with the notes
let begun = 0; // when the first slide was turned, or something on it was pressed
let waitedFor = null; // the slide whose question is being computed
const slides = () => [find(".hero"), ...all("[data-slide]").filter((one) => !one.hidden), find(".home")];
const heading = (one) => find("h2", one).textContent.trim();
const silent = { does: "", says: "", ends: "" };
function notes() {
  const one = slides()[slide];
  return slide ? fixed.notes.find(({ title }) => title === heading(one)) ?? silent : fixed.notes[0];
}
function turn(by) {
  const now = slides()[slide];
  const asks = by > 0 && all(".predict:not([hidden], .revealed)", now)[0];
  if (asks) return asks.dispatchEvent(new Event("reveal"));
  const waits = by > 0 && data.last && !checks && all(".predict[hidden]", now)[0]; // the question comes in a moment
  if (waits && waitedFor !== now) return void (waitedFor = now);
  openSlide(Math.min(Math.max(slide + by, 0), slides().length - 1));
}
function openSlide(n) {
  [slide, layout] = [n, null];
  history.replaceState(history.state, "", `${location.href.split("#")[0]}#${n + 1}`);
  if (slide > 1) (take(), (at = data.last)); // what follows is about the whole attack
  showSlide();
}
function showSlide() {
  if (!data) return;
  slide = Math.min(slide, slides().length - 1);
  slides().forEach((one, n) => one.classList.toggle("shown", n === slide));
  find(".slide-count").textContent = `${slide + 1} of ${slides().length}`;
  const { does, says, ends } = notes();
  find(".slide-notes").textContent = says;
  if (desk && !desk.closed) {
    const lines = { h1: heading(slides()[slide]), em: does && `${does} Until ${ends}.`, p: says, small: find(".slide-count").textContent, time: "" };
    desk.document.body.replaceChildren(...Object.entries(lines).map(([tag, text]) => Object.assign(desk.document.createElement(tag), { textContent: text })));
  }
  scrollTo({ top: 0 });
  enlarge(slides()[slide]);
}
// A slide is as large as the screen allows: of several layouts the one with the largest letters. A figure follows its width.
function enlarge(one) {
  const at = (width) => {
    Object.assign(one.style, { width: `${width}px`, zoom: 1 });
    built.forEach((part) => part !== showSlide && part());
    figures.forEach((part) => part());
    const wide = Math.max(width, one.scrollWidth); // a figure may need more
    return [Math.min((innerWidth - BESIDE) / wide, (innerHeight - ABOVE) / one.offsetHeight, LARGEST), wide];
  };
  layout ??= LAYOUTS.map(at).reduce((best, now) => (now[0] > best[0] ? now : best))[1];
  [one.style.zoom] = at(layout);
}
// For the screen that the room does not see; keys work there as well.
function openDesk() {
  desk = window.open("", "rita-notes", "popup,width=760,height=620");
  if (!desk) return;
  desk.document.title = "Notes";
  desk.document.body.style = "font: 22px/1.5 Inter, system-ui, sans-serif; margin: 28px; max-width: 40em; color-scheme: light dark";
  desk.document.head.append(Object.assign(desk.document.createElement("style"), { textContent: "time, small, em { display: block }" }));
  desk.document.onkeydown = press;
  showSlide();
  const clock = () => {
    if (desk.closed) return;
    const gone = begun ? Math.floor((Date.now() - begun) / 1000) : 0;
    const shown = desk.document.querySelector("time");
    if (shown) shown.textContent = `${Math.floor(gone / 60)}:${String(gone % 60).padStart(2, "0")} since the start`;
    setTimeout(clock, 500);
  };
  clock();
}
function press(event) {
  const paged = event.key.startsWith("Page"); // a presenter's keys turn also after a slider was dragged
  if ((!paged && event.target.closest?.("input, textarea, [role=slider]")) || !story.getClientRects().length) return;
  const by = { PageDown: 1, ArrowRight: 1, ArrowDown: 1, PageUp: -1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (by || event.key === " " || event.key === "Enter") begun ||= Date.now();
  if (by) (event.preventDefault(), event.stopPropagation(), turn(by));
  else if (event.key === "Home") openSlide(0);
  else if (event.key === "b") document.documentElement.classList.toggle("black");
  else if (event.key === "n") find(".slide-notes").hidden = !find(".slide-notes").hidden;
  else if (event.key === "w") openDesk();
}
if (lecturing) {
  story.classList.add("slides");
  const home = add(story, "section", "", "home");
  add(home, "h2", fixed.notes.at(-1).title);
  const list = add(home, "ol");
  for (const sentence of fixed.notes.at(-1).shows) add(list, "li", sentence);
  add(story, "p", "", "slide-count");
  add(story, "aside", "", "slide-notes").hidden = true;
  document.addEventListener("keydown", press, true);
  document.addEventListener("pointerdown", () => (begun ||= Date.now()));
  document.addEventListener("pointerup", () => document.activeElement.matches("input[type=range], [role=slider]") && document.activeElement.blur());
  addEventListener("resize", () => data && openSlide(slide));
  built.push(showSlide);
}
