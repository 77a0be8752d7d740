// One picture of 1200 x 630 for a post: clean, change, attacked, the sentence and the answers. It is made in the browser, and
// leaves it only as a file that the visitor saves.
const WIDE = 1200;
const HIGH = 630;
function poster() {
  const canvas = Object.assign(document.createElement("canvas"), { width: WIDE, height: HIGH });
  const pen = canvas.getContext("2d");
  const ink = (name) => getComputedStyle(story).getPropertyValue(`--rita-${name}`).trim();
  const write = (text, x, y, size, weight = 400, colour = "text") => {
    pen.font = `${weight} ${size}px Inter, system-ui, sans-serif`;
    pen.fillStyle = ink(colour);
    pen.fillText(text, x, y);
  };
  pen.fillStyle = ink("surface");
  pen.fillRect(0, 0, WIDE, HIGH);
  const last = frames.get(data.last);
  const pictures = [["clean", frames.get(0)?.picture], ["the change, 20 times stronger", last?.change], ["attacked", last?.picture]].filter(([, image]) => image);
  pictures.slice(0, data.last ? 3 : 1).forEach(([title, image], i) => {
    const small = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
    small.getContext("2d").putImageData(image, 0, 0);
    pen.drawImage(small, 48 + i * 264, 48, 248, 248);
    write(title, 48 + i * 264, 318, 16, 400, "quiet");
  });
  // the sentence, broken at words
  let [x, y] = [48, 382];
  for (const [text, css] of data.claim)
    for (const word of text.split(/(?<= )/)) {
      pen.font = "700 40px Inter, system-ui, sans-serif";
      const wide = pen.measureText(word).width;
      if (x + wide > 800 && x > 48) [x, y] = [48, y + 46];
      write(word, x, y, 40, 700, css || "text");
      x += wide;
    }
  const says = steps.at(-1).says;
  data.answers.slice(0, 5).forEach(({ name, title }, i) => {
    const before = data.last && steps[0].says[name].right === false ? "wrong before the attack" : "";
    const top = 100 + i * 92;
    write(title, 860, top - 30, 18, 400, name === "rita" ? "defence" : "quiet");
    write(data.names[says[name].label], 860, top + 4, 30, 650, says[name].right === false ? "attack" : "text");
    write([says[name].share, before].filter(Boolean).join(", "), 860, top + 30, 18, 400, "quiet");
  });
  pen.font = "400 16px Inter, system-ui, sans-serif";
  const lines = [""]; // the threat model and what CLIP and RITA are, broken at words
  for (const word of `${data.threat} ${find(".what").textContent}`.split(/(?<= )/)) {
    if (pen.measureText(lines.at(-1) + word).width > WIDE - 200) lines.push("");
    lines[lines.length - 1] += word;
  }
  lines.slice(0, 3).forEach((line, i, shown) => write(line, 48, HIGH - 32 - 20 * (shown.length - 1 - i), 16, 400, "quiet"));
  write("RITA", WIDE - 48 - pen.measureText("RITA").width * 1.6, HIGH - 32, 24, 700);
  return canvas;
}

// The dialog: the picture, and the link where there is one.
function share({ link, says }) {
  const dialog = story.querySelector("dialog") || story.appendChild(document.createElement("dialog"));
  dialog.replaceChildren();
  dialog.setAttribute("aria-label", "Share");
  const canvas = poster();
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", data.claim.map(([text]) => text).join(""));
  dialog.append(canvas);
  const row = add(dialog, "p", "", "buttons");
  const save = add(row, "a", "Save the picture");
  save.href = canvas.toDataURL("image/png");
  save.download = "rita.png";
  if (link) {
    const copy = add(row, "button", "Copy the link");
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(link);
        copy.textContent = "The link is copied";
      } catch {
        copy.textContent = "Copy it from the address bar";
      }
    });
  }
  add(row, "button", "Close").addEventListener("click", () => dialog.close());
  add(dialog, "p", `The picture is made in this browser and sent nowhere. ${says}`, "note");
  dialog.showModal();
}
document.addEventListener("share", (event) => data && story.getClientRects().length && (event.preventDefault(), share(event.detail)));
