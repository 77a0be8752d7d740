// A figure made for the page, fitted to a width. Used on the page (plotly_view.js) and in print (print.js).
const LINE = 18; // pixels

// Break long sentences at the width of the view; markup does not count.
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

// Gives the layout its size, and breaks its sentences into lines, for which there is room above the axes.
function fit(layout, width, height) {
  for (const note of layout.annotations || []) {
    if (note.xref !== "paper" || note.yref !== "paper") continue;
    note.text = wrapped(note.text, Math.floor((width - 24) / 6.2));
    const more = note.text.split("<br>").length - 1;
    if (more && note.y === 1) layout.margin.t += LINE * (more + 1); // Plotly's buttons stand above the lines
  }
  Object.assign(layout, { width, height, autosize: false });
}

// Adds sentences (markup) below a figure, which grows by them; `bottom` and `left` are its margins there.
function addBelow(layout, text, { bottom, left }) {
  const lines = wrapped(text, Math.floor(layout.width / 6));
  const more = (lines.split("<br>").length + 1) * LINE;
  layout.margin = { ...layout.margin, b: bottom + more };
  layout.height += more;
  const place = { xref: "paper", yref: "paper", x: 0, xshift: 8 - left, xanchor: "left", y: 0, yanchor: "top", yshift: -(bottom + 4) };
  const look = { showarrow: false, align: "left", font: { size: 11 } };
  layout.annotations = [...(layout.annotations || []), { ...place, ...look, text: lines }];
}
