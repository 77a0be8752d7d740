// A picture that is dropped anywhere or pasted is taken as if it had been chosen with the button. The browser would open a
// dropped file in place of the page. Runs once, before Gradio has built the page: until then a file waits.
let inside = false; // what is dragged comes from the page itself: marked text, one of its pictures
let ready = false; // the server has answered: it knows this page

const editable = (node) => node?.closest?.("textarea, input:not([type=range], [type=checkbox], [type=radio], [type=file])");
const isPicture = (file) => file.type.startsWith("image/");
const notice = (message, hint) => document.dispatchEvent(new CustomEvent("notice", { detail: { message, hint } }));

function take(file) {
  ready ||= document.querySelector(":is(#status .progress, #notice .notice)") !== null;
  const input = ready && document.querySelector("#pick input[type=file]");
  if (!input) return setTimeout(take, 200, file);
  document.querySelector("#tabs button[role=tab]").click(); // the first tab, where the picture appears
  const files = new DataTransfer();
  files.items.add(file);
  input.files = files.files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
}

function drop(data) {
  const files = [...data.files];
  const folder = [...data.items].map((item) => item.webkitGetAsEntry?.()).find((entry) => entry?.isDirectory);
  if (folder) notice(`Expected a picture, but “${folder.name}” is a folder.`, "Drop one of its pictures.");
  else if (files.length > 1) notice(`Expected one picture, but ${files.length} files were dropped.`, "Drop one of them.");
  else if (files.length) take(files[0]);
  else notice("Expected a picture, but what was dropped is text or a link.", "Save the picture as a file, or copy and paste it.");
}

function drag(event) {
  const data = event.dataTransfer;
  if (!data.types.includes("Files") && editable(event.target)) return; // a field takes text
  event.preventDefault();
  if (inside) return;
  data.dropEffect = "copy";
  if (event.type === "drop") drop(data);
}

document.addEventListener("dragstart", () => (inside = true), true);
for (const over of ["dragend", "pointerover"]) document.addEventListener(over, () => (inside = false), true);
for (const kind of ["dragenter", "dragover", "drop"]) document.addEventListener(kind, drag, true);

document.addEventListener(
  "paste",
  (event) => {
    const { files, types } = event.clipboardData;
    if (!files.length || (types.includes("text/plain") && editable(event.target))) return; // text stays text
    event.preventDefault();
    event.stopPropagation();
    take([...files].find(isPicture) ?? files[0]);
  },
  true,
);
