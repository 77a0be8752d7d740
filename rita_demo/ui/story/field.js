// The crop field: each crop between the two answers, further across where it fits one of them better, large crops at the top;
// above them the whole picture, the average and RITA. It stands twice: with dots, and large, with the crops themselves.
const LANE = 20; // pixels of the line of a mark
const MARKS = { clip: "whole picture (CLIP)", ensemble: "average", rita: "RITA" };

function field(box, { high, size, other }) {
  const sides = add(box, "p", "", "sides");
  for (const css of ["rival", "reference"]) add(sides, "span", "", css);
  const ground = add(box, "div", "", "ground");
  ground.setAttribute("role", "img");
  const says = add(box, "p", "", "field-says");
  let [dots, marks, reach] = [[], [], 0];
  const large = size > 20;

  built.push(() => {
    if (box.closest("section").hidden) return;
    box.hidden = data.boxes.length < 2;
    const [reference, rival] = data.names;
    find(".rival", sides).textContent = `◀ fits ${rival} better`;
    find(".reference", sides).textContent = `fits ${reference} better ▶`;
    const ends = [steps[0], steps.at(-1)].flatMap((one) => [...one.crops, ...Object.values(one.marks)]);
    reach = 1.04 * Math.max(...ends.map(Math.abs), 0.01);
    const top = LANE * Object.keys(steps[0].marks).length + 10;
    ground.style.height = `${top + high}px`;
    if (!isNew(ground, [data.key, !!sheets])) return;
    ground.replaceChildren();
    add(ground, "i", "", "middle");
    const area = data.boxes.map(([l, t, r, b]) => (r - l) * (b - t));
    const order = inOrder(area.map((v) => -v));
    dots = area.map((_, n) => {
      const dot = add(ground, "i", "", "dot");
      dot.style.width = dot.style.height = `${size}px`;
      dot.down = top + (order.indexOf(n) / Math.max(area.length - 1, 1)) * (high - size);
      dot.title = n ? `crop ${n}` : "the whole picture";
      if (large && sheets) cell(dot, n);
      dot.addEventListener("click", () => ((chosen = n), draw(), trigger("click", { view: n, atom: -1 })));
      return dot;
    });
    marks = Object.keys(steps[0].marks).map((name, i) => {
      const mark = add(ground, "span", MARKS[name], `mark ${name}`);
      mark.style.top = `${i * LANE}px`;
      return [name, mark];
    });
  });

  figures.push(() => {
    const moving = large && crossing;
    box.classList.toggle("crossing", !!moving);
    if (!dots.length || !box.getClientRects().length) return;
    const [a, b, t] = around();
    const kept = moving || nearest();
    const wide = ground.clientWidth;
    const across = (value) => wide / 2 + (Math.min(Math.max(value / reach, -1), 1) * (wide - size)) / 2;
    dots.forEach((dot, n) => {
      const value = moving ? moving.crops[n] : between(a.crops[n], b.crops[n], t);
      dot.style.transform = `translate(${across(value) - size / 2}px, ${dot.down}px)`;
      const css = `dot ${value > 0 ? "reference" : "rival"}${kept.answers[n] > 1 ? " other" : ""}${n ? "" : " whole"}${n === chosen ? " chosen" : ""}`;
      if (dot.className !== css) dot.className = css;
    });
    for (const [name, mark] of marks) {
      const x = across(between(a.marks[name], b.marks[name], t));
      mark.style.transform = `translate(${x - 5}px, 0)`;
      mark.classList.toggle("turned", x > wide - 170);
    }
    const count = (one) => one.crops.filter((v) => v > 0).length;
    const [now, first] = [count(kept), count(steps[0])];
    const third = kept.answers.some((k) => k > 1) ? ` ${other}: another class fits best.` : "";
    const misled = !moving && kept.marks.rita < 0 && now > kept.crops.length / 2;
    const weighs = misled ? ` RITA weighs them, and prefers ${data.names[1]}.` : "";
    says.textContent = `${now} of ${kept.crops.length} crops fit ${data.names[0]} better than ${data.names[1]}${moving || kept.step ? `; ${first} before the attack` : ""}.${third}${weighs}`;
    ground.setAttribute("aria-label", `Where the crops stand, ${moving ? "while the attack is computed" : `step ${kept.step} of ${data.last}`}. ${says.textContent}`);
  });
}
field(find(".push .field"), { high: 130, size: 12, other: "Pale" });
field(find(".knows .field"), { high: lecturing ? 110 : 190, size: 34, other: "Dotted" });

// Its slider is that of the first screen, once more.
const along = find(".push .along");
follows(along);
figures.push(() => {
  Object.assign(along, { max: data.last, value: at });
  find(".push output").textContent = `step ${nearest().step} of ${data.last}`;
});
