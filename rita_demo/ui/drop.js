// A picture that is dropped anywhere or pasted is taken as if it had been chosen with the button: Gradio's button takes no
// drop, and the browser would open a dropped file in place of the page. Until Gradio has built the page a file waits.
let inside = false; // what is dragged comes from the page itself: marked text, one of its pictures
let ready = false; // the server has answered: it knows this page

const inField = ({ target }) => target.closest?.("textarea, input:not([type=range], [type=checkbox], [type=radio], [type=file])");

function take(file) {
  ready ||= document.querySelector(":is(#status .progress, #notice .notice)") !== null;
  const input = ready && document.querySelector("#pick input[type=file]");
  if (!input) return setTimeout(take, 200, file);
  document.querySelector("#tabs button[role=tab]").click(); // the first tab, where the picture appears
  const data = new DataTransfer();
  data.items.add(file);
  input.files = data.files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
}

function drag(event) {
  const { files, items, types } = event.dataTransfer;
  if (!types.includes("Files") && inField(event)) return; // a field takes text
  event.preventDefault();
  if (inside || event.type !== "drop") return;
  const folder = [...items].map((item) => item.webkitGetAsEntry?.()).find((entry) => entry?.isDirectory);
  let wrong = ["Expected a picture, but what was dropped is text or a link.", "Save the picture as a file, or copy and paste it."];
  if (files.length > 1) wrong = [`Expected one picture, but ${files.length} files were dropped.`, "Drop one of them."];
  if (folder) wrong = [`Expected a picture, but “${folder.name}” is a folder.`, "Drop one of its pictures."];
  if (files.length === 1 && !folder) take(files[0]);
  else document.dispatchEvent(new CustomEvent("notice", { detail: { message: wrong[0], hint: wrong[1] } }));
}

function paste(event) {
  const { files, types } = event.clipboardData;
  if (!files.length || (types.includes("text/plain") && inField(event))) return; // text stays text
  event.preventDefault();
  event.stopPropagation();
  take([...files].find((file) => file.type.startsWith("image/")) ?? files[0]);
}

document.addEventListener("dragstart", () => (inside = true), true);
for (const over of ["dragend", "pointerover"]) document.addEventListener(over, () => (inside = false), true);
for (const kind of ["dragenter", "dragover", "drop"]) document.addEventListener(kind, drag, true);
document.addEventListener("paste", paste, true);
