// ?lecture: the same sections as slides, one at a time. Presenter's keys: arrows and Page Down / Page Up turn, the first
// press on a slide with a question reveals its answer; b makes the screen black, n shows the notes.
const slides = () => [find(".hero"), ...all("[data-slide]").filter((one) => !one.hidden)];
const lecturing = new URLSearchParams(location.search).has("lecture");
let slide = 0;
function turn(by) {
  const now = slides()[slide];
  const open = by > 0 && all(".predict:not([hidden], .revealed)", now)[0];
  if (open) return open.dispatchEvent(new Event("reveal"));
  slide = Math.min(Math.max(slide + by, 0), slides().length - 1);
  showSlide();
}
function showSlide() {
  if (!lecturing || !data) return;
  slides().forEach((one, n) => one.classList.toggle("shown", n === slide));
  find(".slide-count").textContent = `${slide + 1} of ${slides().length}`;
  find(".slide-notes").textContent = fixed.notes[slides()[slide].classList[0]] || "";
  scrollTo({ top: 0 });
  built.forEach((one) => one !== showSlide && one()); // a figure that was hidden had no width
  draw();
}
if (lecturing) {
  story.classList.add("slides");
  add(story, "p", "", "slide-count");
  add(story, "aside", "", "slide-notes").hidden = true;
  document.addEventListener("keydown", (event) => {
    if (event.target.closest?.("input, textarea, [role=slider]") || !story.getClientRects().length) return;
    const by = { PageDown: 1, ArrowRight: 1, ArrowDown: 1, PageUp: -1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (by) (event.preventDefault(), turn(by));
    else if (event.key === "Home") ((slide = 0), showSlide());
    else if (event.key === "b") document.documentElement.classList.toggle("black");
    else if (event.key === "n") find(".slide-notes").hidden = !find(".slide-notes").hidden;
  });
  built.push(showSlide);
}
