// 1. What does an attack do?
function axis(svg, { width, height, right }, xs, ys, format) {
  const [left, top, bottom] = [34, 8, 20];
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.replaceChildren();
  const x = (v) => left + ((v - xs[0]) / (xs[1] - xs[0] || 1)) * (width - left - right);
  const y = (v) => height - bottom - ((v - ys[0]) / (ys[1] - ys[0] || 1)) * (height - top - bottom);
  for (const v of [ys[0], (ys[0] + ys[1]) / 2, ys[1]]) {
    svg.append(make("line", { x1: left, x2: width - right, y1: y(v), y2: y(v), class: "hair" }));
    svg.append(make("text", { x: left - 6, y: y(v) + 4, "text-anchor": "end", class: "tick" }, format(v)));
  }
  return [x, y];
}
const path = (points) => "M" + points.map((p) => p.map((v) => v.toFixed(1)).join(" ")).join("L");

// Labels at the ends of lines, moved apart where they would touch.
function endLabels(svg, x, labels) {
  labels.sort((a, b) => a.y - b.y);
  labels.forEach((one, i) => i && (one.y = Math.max(one.y, labels[i - 1].y + 15)));
  for (const { y, text, css } of labels) svg.append(make("text", { x, y: y + 4, class: css }, text));
}

let cursor = null;
built.push(() => {
  find("section.attack").hidden = !data.last;
  if (!data.last) return;
  find(".attack .does").textContent = data.does;
  const svg = find(".curve");
  const [width, height] = [svg.clientWidth || 560, 232];
  const [x, y] = axis(svg, { width, height, right: 110 }, [0, data.curve.length - 1], [0, 1], percent);
  ["reference", "rival"].forEach((css, i) => svg.append(make("path", { d: path(data.curve.map((p, s) => [x(s), y(p[i])])), class: `line ${css}` })));
  endLabels(svg, width - 104, ["reference", "rival"].map((css, i) => ({ y: y(data.curve.at(-1)[i]), text: data.curve_names[i], css })));
  svg.append(make("text", { x: x(0), y: height - 4, class: "tick" }, "step 0"));
  svg.append(make("text", { x: x(data.curve.length - 1), y: height - 4, "text-anchor": "end", class: "tick" }, String(data.curve.length - 1)));
  cursor = svg.appendChild(make("line", { y1: 8, y2: height - 20, class: "cursor" }));
  cursor.x = (v) => x((v / data.last) * (data.curve.length - 1));
  const [first, last] = [data.curve[0], data.curve.at(-1)];
  svg.setAttribute("aria-label", `${data.curve_names[0]} goes from ${surely(first[0])} to ${surely(last[0])}, ${data.curve_names[1]} from ${surely(first[1])} to ${surely(last[1])}.`);
});
figures.push(() => {
  if (!data.last) return;
  const shown = frameNow();
  paint(find(".attack .noise"), shown?.change);
  paint(find(".attack .seen"), shown?.picture);
  for (const name of ["x1", "x2"]) cursor?.setAttribute(name, cursor.x(at));
});
