// The figures in sight go along as SVG; the file comes back as a value and is saved.
const button = element.querySelector("button");
const said = element.querySelector("span");
let waiting = null;

function quiet() {
  clearTimeout(waiting);
  button.disabled = false;
  said.textContent = "";
}

async function figures() {
  const found = {};
  for (const plot of document.querySelectorAll("#tabs .rita-plot")) {
    if (!plot.asSvg || !plot.parentElement.clientWidth) continue;
    try {
      const [name, svg] = (await plot.asSvg()) ?? [];
      if (name) found[name] = svg;
    } catch {
      // a figure that is being replaced right now: the run is saved without it
    }
  }
  return found;
}

button.addEventListener("click", async () => {
  button.disabled = true;
  said.textContent = "Making the file …";
  waiting = setTimeout(quiet, 60000); // the page shows errors elsewhere
  trigger("click", { figures: await figures() });
});

watch("value", async () => {
  if (!props.value) return;
  const { name, address } = JSON.parse(props.value);
  const file = await (await fetch(address)).blob(); // browsers cut long data addresses
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  quiet();
});
