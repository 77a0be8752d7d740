// 2. How much of the push is left in a crop.
const handle = find(".push .drag");
built.push(() => {
  const push = data.push;
  find("section.push").hidden = !push;
  if (!push) return;
  handle.setAttribute("aria-valuemax", data.boxes.length - 1);
  const bars = find(".push .bars");
  bars.replaceChildren(bars.firstElementChild);
  for (const title of ["whole picture", "typical crop (median)", "this crop"]) {
    const row = add(bars, "div", "", "bar-row");
    add(row, "span", title, "name");
    add(row, "span", "", "value");
    add(add(row, "div", "", "track"), "i");
  }
});
figures.push(() => {
  const push = data.push;
  if (!push) return;
  const crop = Math.max(1, chosen);
  const share = push.share[crop];
  paint(find(".push .noise"), frames.get(data.last)?.change);
  const [left, top, right, bottom] = data.boxes[crop].map((v) => `${100 * v}%`);
  Object.assign(find(".push .box").style, { left, top, width: `calc(${right} - ${left})`, height: `calc(${bottom} - ${top})` });
  const said = share > 0 ? `this crop feels ${percent(share)}` : "this crop feels nothing";
  const why = push.covers
    ? "The attack covers a part of the picture: a crop without this part feels none of it"
    : data.through_crops
      ? "This attack was made for the crops as well"
      : "The pattern was made for one grid of pixels: in a crop, cut out and enlarged, its small parts no longer line up";
  const [before, now] = [steps[0], steps.at(-1)].map((one) => one.crops.filter((v) => v < 0).length > one.crops.length / 2);
  const fails = before ? ` Here most crops fit ${data.names[1]} better even without the attack.` : now ? ` Here that is too much: most crops fit ${data.names[1]} better, too.` : "";
  const despite = !before && !now && steps.at(-1).says.rita.label === 1 ? ` RITA says ${data.names[1]} all the same: it counts, for each class, the crops that fit it best.` : "";
  find(".push .lead").textContent =
    `The push is how far ${data.names[0]} falls against ${data.names[1]}. ${why}. Of the push on the whole picture, ${said}, a typical one (the median) ${percent(push.share[push.median])}.${fails}${despite}`;
  find(".gets").textContent = `What crop ${crop} gets of it${data.flipped[crop] ? ", mirrored" : ""}`;
  const [first, after] = [steps[0], steps.at(-1)].map((one) => one.answers[crop]);
  find(".sees").textContent = `What crop ${crop} sees: ${data.names[after]}${after && first === after ? ", also without the attack" : ""}`;
  for (const name of [".noise-cell", ".crop-cell"]) (cell(find(name), crop), find(name).setAttribute("aria-label", `crop ${crop}`));
  const values = [1, push.share[push.median], share];
  const longest = Math.max(...values); // a crop may feel more than the whole picture
  all(".push .bar-row").forEach((row, i) => {
    row.querySelector(".value").textContent = percent(values[i]);
    row.querySelector("i").style.width = `${(100 * Math.max(values[i], 0)) / longest}%`;
  });
  find(".push .bars").setAttribute("aria-label", `Push left: whole picture 100 %, middle crop ${percent(values[1])}, crop ${crop} ${percent(share)}`);
  handle.setAttribute("aria-valuenow", crop);
  handle.setAttribute("aria-valuetext", `crop ${crop}, ${percent(share)} of the push`);
});

// The crop whose centre is nearest to the pointer, of those that are not nearly the whole picture.
function pick(event) {
  const { left, top, width, height } = handle.getBoundingClientRect();
  const [u, v] = [(event.clientX - left) / width, (event.clientY - top) / height];
  let best = Infinity;
  data.boxes.forEach(([l, t, r, b], n) => {
    const far = Math.hypot((l + r) / 2 - u, (t + b) / 2 - v);
    if (n && far < best) [best, chosen] = [far, n];
  });
  draw();
}
handle.addEventListener("pointerdown", (event) => (handle.setPointerCapture(event.pointerId), pick(event)));
handle.addEventListener("pointermove", (event) => event.buttons && pick(event));
handle.addEventListener("pointerup", () => trigger("click", { view: chosen, atom: -1 }));
handle.addEventListener("keydown", (event) => {
  const move = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
  if (!move) return;
  event.preventDefault();
  const order = data.push.share.map((_, n) => n).slice(1).sort((a, b) => data.push.share[a] - data.push.share[b]);
  chosen = order[Math.min(Math.max(order.indexOf(chosen) + move, 0), order.length - 1)];
  draw();
});
