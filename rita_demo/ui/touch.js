// A finger that moves down over a slider scrolls the page (touch-action in the style sheet), but the slider has already
// jumped to the place that was touched: what it showed before is put back.
let touched = null; // the slider under the finger, and its value before

const touchSlider = ({ target, pointerType }) =>
  (touched = pointerType === "touch" && target.matches("input[type=range]") ? { target, value: target.value } : null);

function putBack() {
  if (!touched) return;
  const { target, value } = touched;
  touched = null;
  target.value = value;
  for (const kind of ["input", "change"]) target.dispatchEvent(new Event(kind, { bubbles: true }));
}

document.addEventListener("pointerdown", touchSlider, true);
document.addEventListener("pointercancel", putBack);
