// What was computed after the answer: noise, the law of wrong crops, does the change survive, the drift.
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

const CURVES = { average: "average", balanced: "transport, all crops", nearest_35: "RITA", nearest_10: "nearest tenth" };
const DRAWN = 20; // crops, one for each step of the share
built.push(() => {
  const law = checks?.law;
  if (!awaited("law", law)) return;
  const input = find(".law .share");
  input.max = law.shares.length - 1;
  const moves = ["clutter", "impostor"].map((kind) => lawFigure(find(`.law figure.${kind}`), law, kind));
  const follow = () => {
    const share = law.shares[input.value];
    find(".law output").textContent = `${percent(share)} of ${data.boxes.length}: the dashed line`;
    moves.forEach((move) => move(Number(input.value), share));
  };
  input.oninput = follow;
  follow();
  find(".law .note").textContent = law.note;
});

// The crops that stay and those that are replaced, the four rules along the share, and what the law says at this share.
function lawFigure(figure, law, kind) {
  const [svg, replaced, keys] = ["svg", ".replaced", ".keys"].map((query) => find(query, figure));
  const shown = sheets ? Array.from({ length: Math.min(DRAWN, data.boxes.length) }, (_, i) => Math.floor((i * data.boxes.length) / Math.min(DRAWN, data.boxes.length))) : [];
  const [width, height] = [svg.clientWidth || 560, 240];
  const [x, y] = axis(svg, { width, height, left: 44, right: 8, bottom: 36 }, [0, 1], [0, 1], percent);
  const base = y(0);
  law[kind].helps.forEach((yes, i) => yes && svg.append(make("line", { x1: x(Math.max(law.shares[i] - 0.025, 0)), x2: x(Math.min(law.shares[i] + 0.025, 1)), y1: base, y2: base, class: `helps${law.shares[i] > law.exact ? " beyond" : ""}` })));
  if (law[kind].helps.some((yes) => yes)) svg.append(make("text", { x: x(law.shares[law[kind].helps.indexOf(true)]), y: base - 8, class: "tick" }, "here the law favours leaving out"));
  for (const name of Object.keys(CURVES)) svg.append(make("path", { d: path(law.shares.map((s, i) => [x(s), y(law[kind][name][i])])), class: `line ${name}` }));
  if (law.attack === null || law.attack > 0.12) svg.append(make("text", { x: x(0), y: base + 16, class: "tick" }, "0 %"));
  svg.append(make("text", { x: x(1), y: base + 16, "text-anchor": "end", class: "tick" }, "100 % replaced"));
  if (law.attack !== null) {
    svg.append(make("path", { d: `M${x(law.attack)} ${base + 2}l-5 9l10 0z`, class: "rival" }));
    const late = law.attack > 0.6;
    svg.append(make("text", { x: x(law.attack) + (late ? 6 : -6), y: base + 30, "text-anchor": late ? "end" : "start", class: "tick" }, "this picture’s attack"));
  }
  const cursor_ = svg.insertBefore(make("line", { y1: 8, y2: base, class: "cursor" }), svg.querySelector("text"));
  const dots = Object.keys(CURVES).map((name) => svg.appendChild(make("circle", { r: 4, class: name })));
  return (i, share) => {
    for (const end of ["x1", "x2"]) cursor_.setAttribute(end, x(share));
    Object.keys(CURVES).forEach((name, k) => (dots[k].setAttribute("cx", x(share)), dots[k].setAttribute("cy", y(law[kind][name][i]))));
    keys.replaceChildren();
    for (const [name, title] of Object.entries(CURVES)) add(keys, "span", `${title} ${percent(law[kind][name][i]).replace(" ", "\u00a0")}`, name);
    svg.setAttribute("aria-label", `${kind}, ${percent(share)} replaced: ${all("span", keys).map((one) => one.textContent).join(", ")} right`);
    const kept = shown.length - Math.round(share * shown.length);
    replaced.replaceChildren();
    shown.forEach((n, k) => (k < kept ? cell(add(replaced, "i"), n) : add(replaced, "i", kind === "clutter" ? String.fromCharCode(65 + k - kept) : "A")));
    replaced.setAttribute("aria-label", `${kept} of ${shown.length} crops show this picture`);
    const found = (name) => law[kind][name][i];
    const most = Math.max(...Object.keys(CURVES).map(found));
    const [best, ...level] = Object.keys(CURVES).filter((name) => found(name) === most);
    find(".balance", figure).textContent = `${level.length ? "Several rules are level." : `Most often right: ${CURVES[best]} ${percent(most)}.`} ${law[kind].says[i]}`;
  };
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
