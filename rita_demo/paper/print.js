// Draws `figure` at `width` x `height` pixels, `perMm` of them a millimetre, and leaves it as SVG: in the page, which is
// printed, and as text in base64, which is read.
async function print({ figure, width, height, perMm, font }) {
  await document.fonts.load(`12px "${font}"`, "a●━");
  fit(figure, width, height);
  const { data, layout } = figure;
  if (layout.meta.below) addBelow(layout, layout.meta.below, { bottom: layout.margin.b, left: layout.margin.l });
  const text = await Plotly.toImage({ data, layout }, { width, height: layout.height, format: "svg", imageDataOnly: true });
  const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  svg.setAttribute("viewBox", `0 0 ${width} ${layout.height}`);
  const size = [width, layout.height].map((pixels) => `${(pixels / perMm).toFixed(2)}mm`);
  svg.setAttribute("width", size[0]);
  svg.setAttribute("height", size[1]);
  const sheet = document.head.appendChild(document.createElement("style"));
  sheet.textContent = `@page { size: ${size.join(" ")}; margin: 0 }`;
  document.body.replaceChildren(document.importNode(svg, true));
  const bytes = new TextEncoder().encode(new XMLSerializer().serializeToString(svg));
  document.body.dataset.svg = btoa(Array.from(bytes, (byte) => String.fromCodePoint(byte)).join(""));
}
