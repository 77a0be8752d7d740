// Runs once per Pictures, with element, props and watch from gr.HTML. Text goes in as text.
const part = (kind) => element.querySelector(".pic." + kind);
const names = {};
for (const kind of ["clean", "noise", "attacked"]) names[kind] = part(kind).querySelector(".kind").textContent;
const save = element.querySelector(".save");
const range = element.querySelector("input[type=range]");
const cut = element.querySelector(".cut");
const before = element.querySelector("img.before");

function source(image, src, alt) {
  image.hidden = !src;
  if (src && image.getAttribute("src") !== src) image.src = src;
  if (!src) image.removeAttribute("src");
  image.alt = alt || "";
}

function fill(kind, now) {
  const figure = part(kind);
  const set = (query, text) => (figure.querySelector(query).textContent = text || "");
  source(figure.querySelector("img:not(.before)"), now.src, now.alt);
  set(".hole", now.src ? "" : now.hole);
  set(".lead", now.lead);
  set(".says b", now.answer);
  set(".tail", now.tail);
  set(".share", now.share);
  figure.querySelector(".says").hidden = !now.lead;
  figure.querySelector(".frame").title = now.title || "";
  set(".kind", now.kind || names[kind]);
  figure.classList.toggle("fooled", !!now.fooled);
}

function compare() {
  const at = Number(range.value);
  before.style.clipPath = `inset(0 ${100 - at}% 0 0)`;
  cut.style.left = at + "%";
  cut.classList.toggle("rest", at === 0);
}

function outline() {
  const box = props.box?.length ? props.box : null;
  for (const node of element.querySelectorAll(".pic.clean .crop-box, .pic.attacked .crop-box")) {
    const image = node.parentElement.querySelector("img:not(.before)");
    node.hidden = !box || image.hidden;
    if (!box) continue;
    node.style.left = 100 * box[0] + "%";
    node.style.top = 100 * box[1] + "%";
    node.style.width = 100 * (box[2] - box[0]) + "%";
    node.style.height = 100 * (box[3] - box[1]) + "%";
  }
}

function draw() {
  const empty = { hole: props.empty || "", src: null };
  const value = props.value ? JSON.parse(props.value) : {};
  for (const kind of ["clean", "noise", "attacked"]) fill(kind, value[kind] || empty);
  const both = value.clean?.src && value.attacked?.src;
  source(before, both ? value.clean.src : null, "");
  cut.hidden = range.hidden = !both;
  save.hidden = !value.attacked?.src;
  if (value.attacked?.src) {
    save.href = value.attacked.src;
    save.download = value.attacked.file || "attacked.png";
  }
  compare();
  outline();
}

range.addEventListener("input", compare);
watch("value", draw);
watch("box", outline);
draw();
