// The first screen: one picture with a wipe, one sentence, three answers.
const wipe = find(".wipe");
function compare() {
  find(".before").style.clipPath = `inset(0 ${100 - wipe.value}% 0 0)`;
  find(".cut").style.left = `${wipe.value}%`;
  find(".tag.left").hidden = !data?.last || wipe.value < 1; // nothing of it is seen
  find(".tag.right").hidden = !data?.last || wipe.value > 99;
}
wipe.addEventListener("input", () => (cancelAnimationFrame(swing), compare()));

// The middle of what the attack changed, in percent of the width: a patch lies in one corner.
function changed() {
  const { width, data: levels } = frames.get(data.last).change;
  let [first, last] = [width, -1];
  for (let i = 0; i < levels.length; i++) {
    if (i % 4 === 3 || levels[i] === 128) continue;
    const x = (i >> 2) % width;
    if (x < first) first = x;
    if (x > last) last = x;
  }
  return last < 0 ? 50 : (50 * (first + last + 1)) / width;
}

// The wipe moves once by itself, and stops where the change is.
let swing = 0;
function opening() {
  const middle = data.last ? changed() : 50;
  wipe.value = middle;
  compare();
  if (calm || !data.last) return;
  let [gone, before] = [0, null]; // the page is still busy: a long frame counts as a short one
  const move = (now) => {
    gone += before === null ? 0 : Math.min(now - before, 40);
    before = now;
    const t = Math.min(gone / 1800, 1);
    wipe.value = middle + 38 * Math.sin(2 * Math.PI * t) * (1 - t * 0.4);
    compare();
    if (t < 1) swing = requestAnimationFrame(move);
  };
  cancelAnimationFrame(swing);
  swing = requestAnimationFrame(move);
}

built.push(() => {
  const attacked = data.last > 0;
  for (const name of [".wipe", ".cut", ".before"]) for (const node of all(`.photo ${name}`)) node.hidden = !attacked;
  find(".hero .scrub").hidden = find(".play").hidden = !attacked;
  find(".headline").replaceChildren();
  for (const [text, css] of data.claim) add(find(".headline"), "span", text, css);
  find(".claim .threat").textContent = data.threat;
  find(".claim .doubt").textContent = data.doubt;
  const which = find(".which");
  which.hidden = !data.which;
  if (isNew(which, [data.key, data.which, data.choices])) {
    which.replaceChildren(data.which);
    const choose = (name) => trigger("select", { name });
    for (const name of data.choices) add(which, "button", truncated(name)).addEventListener("click", () => choose(name));
    const others = add(which, "select");
    others.setAttribute("aria-label", "Another class");
    for (const name of ["another one …", ...data.others]) add(others, "option", name).value = name;
    others.hidden = !data.others.length;
    others.addEventListener("change", () => choose(others.value));
  }
  const table = find(".answers tbody");
  find(".answers thead").hidden = !attacked;
  if (!isNew(table, [data.key, data.answers])) return;
  table.replaceChildren();
  for (const { name, title } of data.answers) {
    const row = add(table, "tr", "", name);
    add(row, "th", title).scope = "row";
    const { label, right, share } = steps[0].says[name];
    if (attacked) add(add(row, "td", `${data.names[label]}${right === false ? " ✗" : ""} `, `was${right === false ? " wrong" : ""}`), "small", share);
    add(row, "td", "", "answer");
    add(row, "td", "", "number");
  }
});

figures.push(() => {
  const [a, b, t] = around();
  const [kept, shown] = [nearest(), frameNow()];
  paint(find(".photo .now"), shown?.picture);
  paint(find(".photo .before"), frames.get(0)?.picture);
  paint(find(".inset"), shown?.change);
  find(".photo .now").setAttribute("aria-label", `${data.names[0]}, after ${Math.round(at)} of ${data.last} attack steps`);
  slider.value = at;
  story.classList.toggle("between", at < data.last && !timer);
  find(".hero output").textContent = at < data.last || timer ? `step ${kept.step} of ${data.last}` : data.last > 1 ? `all ${data.last} steps` : "attacked";
  find(".answers .now").textContent = kept.step < data.last ? `at step ${kept.step}` : "after it";
  all(".answers tbody tr").forEach((row, i) => {
    const { name } = data.answers[i];
    const says = kept.says[name];
    const [from, to] = [a.says[name], b.says[name]];
    const value = from.label === to.label ? between(from.value, to.value, t) : says.value;
    const [answer, number] = [".answer", ".number"].map((part) => find(part, row));
    const text = `${data.names[says.label]}${says.right === null ? "" : says.right ? "" : " ✗"}`;
    if (answer.textContent !== text) answer.textContent = text;
    answer.className = `answer ${says.right === null ? (says.label ? "other" : "") : says.right ? "" : "wrong"}`;
    number.textContent = data.known ? surely(value) : says.share;
  });
  const before = steps[0].says.clip;
  const fall = falls();
  const fell = timer && fall && Math.abs(at - fall.step) < 0.01;
  find(".fell").textContent = fell ? `Step ${fall.step}: CLIP ${before.right ? "falls" : "changes its answer"}.` : "";
});
