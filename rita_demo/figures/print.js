// Draws `figure` at `width` x `height` pixels, `perMm` of them a millimetre, and leaves it as SVG: in the page, which is
// printed, and as text in base64, which is read.
const MARGIN = 5; // pixels above and below

async function print({ figure, width, height, perMm, font }) {
  await document.fonts.load(`12px "${font}"`, "a●━");
  const { data, layout } = figure;
  fit(layout, width, height);
  if (layout.meta.below) addBelow(layout, layout.meta.below, { bottom: layout.margin.b, left: layout.margin.l });
  if (layout.meta.square) layout.height = Math.min(layout.height, width); // the plot gives way to the words below it
  const text = await Plotly.toImage({ data, layout }, { width, height: layout.height, format: "svg", imageDataOnly: true });
  const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  svg.setAttribute("viewBox", `0 0 ${width} ${layout.height}`);
  svg.setAttribute("width", width);
  const drawn = document.importNode(svg, true);
  document.body.replaceChildren(drawn);
  const [top, bottom] = drawnRows(drawn, layout.height);
  drawn.setAttribute("viewBox", `0 ${top} ${width} ${bottom - top}`);
  const size = [width, bottom - top].map((pixels) => `${(pixels / perMm).toFixed(2)}mm`);
  drawn.setAttribute("width", size[0]);
  drawn.setAttribute("height", size[1]);
  const sheet = document.head.appendChild(document.createElement("style"));
  sheet.textContent = `@page { size: ${size.join(" ")}; margin: 0 }`;
  const bytes = new TextEncoder().encode(new XMLSerializer().serializeToString(drawn));
  document.body.dataset.svg = btoa(Array.from(bytes, (byte) => String.fromCodePoint(byte)).join(""));
}

// The first and the last row of pixels that hold something: room kept for a second line of a legend is cut off.
function drawnRows(svg, height) {
  const parts = [...svg.querySelectorAll("text, image, .bglayer rect")].map((part) => part.getBoundingClientRect());
  const seen = parts.filter((box) => box.height);
  if (!seen.length) return [0, height];
  const edges = [Math.min(...seen.map((box) => box.top)) - MARGIN, Math.max(...seen.map((box) => box.bottom)) + MARGIN];
  return [Math.max(Math.floor(edges[0]), 0), Math.min(Math.ceil(edges[1]), height)];
}
