// What was computed after the answer: noise, does the change survive, the drift.
let checks = null;
function showChecks() {
  const found = parsed("checks");
  checks = found && data && found.key === data.key ? found : null;
  built.forEach((one) => one());
  draw();
}

// A section is there from the start, so that nothing below it moves; it goes only where there is nothing to show.
function awaited(name, value) {
  const section = find(`section.${name}`);
  const coming = !checks && data.last > 0;
  section.style.minHeight = !value && coming && section.offsetHeight ? `${section.offsetHeight}px` : ""; // what is below stays there
  section.hidden = !value && !coming;
  section.classList.toggle("awaited", !value && coming);
  return value;
}

built.push(() => {
  const survive = checks?.survive;
  if (!awaited("survive", survive)) return;
  const table = find(".survive table");
  table.replaceChildren();
  const head = table.createTHead().insertRow();
  const asked = data.answers.filter(({ name }) => survive[0].attacked[name]);
  for (const text of ["The attacked picture", ...asked.map((one) => one.title)]) add(head, "th", text).scope = "col";
  const body = table.createTBody();
  for (const { title, attacked, clean } of survive) {
    const row = body.insertRow();
    add(row, "th", title).scope = "row";
    for (const { name } of asked) {
      const [now, before] = [attacked[name], clean[name]];
      const td = add(row, "td", `${now.name} ${now.share.replace(" ", "\u00a0")}`, now.right === null ? "" : now.right ? "right" : "wrong");
      if (!before.same) add(td, "small", `the clean picture: ${before.name}`);
    }
  }
});

built.push(() => {
  const [stored, mine] = [fixed.drift, checks?.drift];
  if (!awaited("drift", stored && mine)) return;
  const input = find(".drift .threshold");
  const svg = find(".histogram");
  const [width, height] = [svg.clientWidth || 1000, 220];
  const most = Math.max(...stored.clean, ...stored.attacked, mine.clean, mine.attacked ?? 0) * 1.02;
  Object.assign(input, { max: most, step: most / 200 });
  if (!input.touched) input.value = stored.threshold;
  const bins = 40;
  const counts = (values) => values.reduce((all_, v) => (all_[Math.min(Math.floor((v / most) * bins), bins - 1)]++, all_), Array(bins).fill(0));
  const [a, b] = [counts(stored.clean), counts(stored.attacked)];
  const [x, y] = axis(svg, { width, height, right: 20 }, [0, most], [0, 2 * Math.ceil(Math.max(...a, ...b) / 2)], (v) => String(Math.round(v)));
  a.forEach((n, i) => n && svg.append(make("rect", { x: x((i / bins) * most) + 1, y: y(n), width: Math.max((x(most) - x(0)) / bins / 2 - 1, 1), height: y(0) - y(n), class: "reference" })));
  b.forEach((n, i) => n && svg.append(make("rect", { x: x(((i + 0.5) / bins) * most), y: y(n), width: Math.max((x(most) - x(0)) / bins / 2 - 1, 1), height: y(0) - y(n), class: "rival" })));
  for (const [value, css, text] of [[mine.clean, "reference", "this picture, clean"], [mine.attacked, "rival", "this picture, attacked"]])
    if (value !== null && value !== undefined) {
      svg.append(make("path", { d: `M${x(value)} 2l-5 -0l5 10l5 -10z`, class: css }));
      svg.append(make("text", { x: x(value) + 8, y: css === "rival" ? 12 : 26, class: css }, width < 480 ? text.split(", ")[1] : text));
    }
  svg.append(make("text", { x: width - 20, y: height - 4, "text-anchor": "end", class: "tick" }, "drift"), make("text", { x: 38, y: 12, class: "tick" }, "pictures"));
  const line = svg.appendChild(make("line", { y1: 4, y2: height - 20, class: "cursor" }));
  const follow = () => {
    const t = Number(input.value);
    for (const end of ["x1", "x2"]) line.setAttribute(end, x(t));
    const share = (values) => percent(values.filter((v) => v > t).length / values.length);
    find(".drift output").textContent = `${share(stored.attacked)} of the attacked are found, ${share(stored.clean)} of the clean are false alarms`;
    svg.setAttribute("aria-label", `Drift of ${stored.clean.length} clean and ${stored.attacked.length} attacked pictures. Above ${t.toFixed(2)}: ${find(".drift output").textContent}.`);
  };
  input.oninput = () => ((input.touched = true), follow());
  follow();
  find(".drift .note").textContent = stored.note;
});
