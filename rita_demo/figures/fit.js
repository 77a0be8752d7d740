// A figure made for the page, fitted to a width. Used on the page (plotly_view.js) and in print (paper/print.js).
const NARROW = 560; // pixels; below it a figure has its narrow layout

function assign(target, path, value) {
  const keys = path.split(".");
  const last = keys.pop();
  for (const key of keys) target = target[key] = target[key] || {};
  target[last] = value;
}

// Break long sentences above a figure at the width of the view; markup does not count.
function wrapped(text, letters) {
  const lines = [""];
  let used = 0;
  for (const word of text.split(/ (?![^<]*>)/)) {
    const size = word.replace(/<[^>]*>/g, "").replace(/&[a-z]+;/g, "x").length + 1;
    if (used && used + size > letters) {
      lines.push("");
      used = 0;
    }
    lines[lines.length - 1] += (used ? " " : "") + word;
    used += size;
  }
  return lines.join("<br>");
}

// Changes data and layout: the narrow layout where there is little room, long sentences in lines.
function fit({ data, layout }, width, height) {
  const meta = layout.meta || {};
  if (width < NARROW)
    for (const path in meta.narrow || {}) assign(path.startsWith("data.") ? { data } : layout, path, meta.narrow[path]);
  for (const n of meta.wrap || []) {
    const note = layout.annotations[n];
    note.text = wrapped(note.text, Math.floor((width - 24) / 6.7));
  }
  Object.assign(layout, { width, height, autosize: false });
}

// Adds sentences (markup) below a figure, which grows by them; `bottom` and `left` are its margins there.
const LINE = 18; // pixels
function addBelow(layout, text, { bottom, left }) {
  const lines = wrapped(text, Math.floor(layout.width / 6));
  const more = (lines.split("<br>").length + 1) * LINE;
  layout.margin = { ...layout.margin, b: bottom + more };
  layout.height += more;
  const place = { xref: "paper", yref: "paper", x: 0, xshift: 8 - left, xanchor: "left", y: 0, yanchor: "top", yshift: -(bottom + 4) };
  const look = { showarrow: false, align: "left", font: { size: 11 } };
  layout.annotations = [...(layout.annotations || []), { ...place, ...look, text: lines }];
}
