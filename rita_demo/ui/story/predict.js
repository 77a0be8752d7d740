// Predict, then reveal: a question, two or three answers, the reason in a sentence. Nothing is said before.
// Each entry gives [choices, number of the right one, sentence] for the run on screen, or null: the question does not fit.
const third = (value, low, high) => (value < low ? 0 : value < high ? 1 : 2);
const QUESTIONS = {
  noise() {
    const says = checks?.noise?.clip;
    if (!says) return null;
    const kept = says.name === data.names[steps[0].says.clip.label];
    const why = kept ? "random pushes cancel" : "this picture is so near a border that noise is enough";
    return [["the same as for the clean picture", "something else"], kept ? 0 : 1, `CLIP says ${says.name}${says.share && ` ${says.share}`}: ${why}.`];
  },
  push() {
    if (!data.push || data.through_crops) return null; // an attack that was made for the crops answers another question
    const share = data.push.share[data.push.median];
    const why = data.push.covers ? "a crop feels only what it holds of the covered part" : `the crop shifts and scales the pattern, and its parts ${share < 1 / 3 ? "no longer add up" : "add up less"}`;
    return [["less than a third", "a third to two thirds", "more"], third(share, 1 / 3, 2 / 3), `${percent(share)} is left: ${why}.`];
  },
  knows() {
    const found = fixed.knows;
    if (!found) return null;
    return [["fewer than 20", "20 to 60", "more than 60"], third(found.kept, 20, 60), `With the small model of this page RITA keeps ${found.said}: an attacker who computes through the crops turns them as well.`];
  },
};
const HIDES = { noise: [], push: [".push .bars", ".push .lead"], knows: [".ladder .ends", ".shares", ".knows .bound"] };

// Out of sight, also for those who hear the page.
function veil(about, veiled) {
  for (const part of HIDES[about].map((query) => find(query))) {
    part.classList.toggle("veiled", veiled);
    veiled ? part.setAttribute("aria-hidden", "true") : part.removeAttribute("aria-hidden");
  }
}

// What was hidden had no width: figures are laid out when they are there.
function reveal(box) {
  box.onreveal();
  keep(box.dataset.about, box.guess ?? null);
  layOut();
}

// This tab keeps the guesses of the picture on screen: the page may be loaded again.
const GUESSES = "rita guesses";
function kept() {
  try {
    const { key, guesses } = JSON.parse(sessionStorage.getItem(GUESSES));
    return key === data.key ? guesses : {};
  } catch {
    return {}; // nothing yet, or a browser that keeps nothing
  }
}
function keep(about, guess) {
  try {
    sessionStorage.setItem(GUESSES, JSON.stringify({ key: data.key, guesses: { ...kept(), [about]: guess } }));
  } catch {}
}

// A presenter's key reveals without a prediction.
for (const box of all(".predict")) box.addEventListener("reveal", () => reveal(box));

// A new picture: nothing is predicted yet.
function forget() {
  for (const box of all(".predict")) (box.classList.remove("revealed"), (box.guess = null));
}

built.push(() => {
  for (const box of all(".predict")) {
    const about = box.dataset.about;
    const asked = QUESTIONS[about]();
    box.hidden = !asked;
    veil(about, !!asked && !box.classList.contains("revealed"));
    const now = `${data.key} ${JSON.stringify(asked)}`;
    if (!asked || box.asked === now) continue; // what is focused stays
    box.asked = now;
    const [choices, right, because] = asked;
    if (about in kept()) (box.classList.add("revealed"), (box.guess = kept()[about]));
    const shown = box.classList.contains("revealed");
    find(".because", box).textContent = "";
    box.onreveal = () => {
      const { guess = null } = box; // null: a presenter's key reveals without one
      const answer = guess === null ? `${choices[right][0].toUpperCase()}${choices[right].slice(1)}.` : guess === right ? "Yes." : `No: ${choices[right]}.`;
      box.classList.add("revealed");
      find(".because", box).textContent = `${answer} ${because}`;
      all("button", box).forEach((one, m) => (one.classList.toggle("right", m === right), guess !== null && one.setAttribute("aria-pressed", String(m === guess))));
      veil(about, false);
    };
    find(".choices", box).replaceChildren();
    choices.forEach((text, n) => add(find(".choices", box), "button", text).addEventListener("click", () => ((box.guess = n), reveal(box))));
    if (shown) box.onreveal();
  }
});
