// The body of `ritaFigure`, called once per PlotlyView with element, props, trigger and watch from gr.HTML, and its own
// `fixed`.
// The template never changes, so Plotly keeps its node: zoom and handlers survive an update.
const Plotly = (window.RitaPlotly = window.RitaPlotly || window.Plotly);
const figure = element.querySelector(".rita-figure");
const plot = element.querySelector(".rita-plot");
const emptyNote = element.querySelector(".rita-empty");
const alt = element.querySelector(".rita-alt");
const said = element.querySelector(".rita-said");
let drawn = null; // value, dark mode and size of the drawn figure
let traces = {}; // reused while their JSON is the same: Plotly then draws only the layout
let drawing = null; // promise of the last drawing
let cursor = -1; // the mark selected by keyboard
let names = []; // of the first numbers of customdata; without them a click selects nothing
let width = figure.clientWidth; // from the observer: reading it again forces a layout per figure
let inSight = false;
const waiting = (window.RitaWaiting = window.RitaWaiting || new Set()); // figures outside the viewport, not drawn yet
const HIGHEST = 1.25; // of the window's width, as in the style sheet
const QUIET = 150; // ms without a new figure: Gradio sends them one by one

alt.id = element.id + "-alt";
figure.setAttribute("aria-describedby", alt.id);
figure.setAttribute("aria-label", fixed.aria);
const title = () => plot.layout?.meta?.title || fixed.aria; // one view may show several figures

const isDark = () =>
  document.body.classList.contains("dark") || document.documentElement.classList.contains("dark");

// Figures are made in light colours; in dark mode each colour is replaced by its dark one.
function recoloured(json) {
  if (!isDark()) return json;
  return json.replace(/#[0-9a-f]{6}\b/gi, (c) => DARK_FOR[c.toLowerCase()] || c);
}

// A saved figure has its name above and the run's settings below, on the page's background.
function framed() {
  const layout = structuredClone(plot.layout);
  const meta = layout.meta || {};
  const caption = meta.caption ?? document.querySelector("#figure-caption p")?.textContent ?? "";
  const { t, b, l } = plot._fullLayout._size;
  layout.margin = { ...layout.margin, t: t + 2 * LINE };
  layout.height += 2 * LINE;
  const name = { xref: "paper", yref: "paper", x: 0, xshift: 8 - l, xanchor: "left", y: 1, yanchor: "bottom", yshift: t + 6 };
  const heading = { ...name, text: `<b>${title().replace(/</g, "&lt;")}</b>`, font: { size: 15 }, showarrow: false };
  layout.annotations = [...(layout.annotations || []), heading];
  const plain = caption.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  addBelow(layout, [meta.below, plain].filter(Boolean).join("   "), { bottom: b, left: l });
  layout.paper_bgcolor = getComputedStyle(document.body).getPropertyValue("--rita-surface") || "#ffffff";
  const filename = "rita-" + title().toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60);
  const figure = { data: plot.data, layout, config: { staticPlot: true } };
  return { figure, size: { width: layout.width, height: layout.height }, filename };
}

// A key may be pressed before the observers report that the figure is visible: draw it now.
function drawNow() {
  width = figure.clientWidth;
  paint();
  return drawing;
}

async function save(format) {
  await drawNow();
  if (!props.value || !plot._fullLayout) {
    said.textContent = "There is no figure to save yet.";
    return;
  }
  const { figure, size, filename } = framed();
  Plotly.downloadImage(figure, { ...size, format, filename, scale: format === "png" ? 2 : 1 });
  said.textContent = `Saved as ${filename}.${format}`;
}

// For "Save this run" (save_run.js): the same figure as [name, svg]; null while there is none.
plot.asSvg = async () => {
  await drawNow();
  if (!props.value) return null;
  const { figure, size, filename } = framed();
  return [filename, await Plotly.toImage(figure, { ...size, format: "svg", imageDataOnly: true })];
};

function saver(format) {
  const icon = { width: 24, height: 24, path: "M11 3h2v9h4l-5 5-5-5h4zM4 19h16v2H4z" };
  return { name: `save-${format}`, title: `Save as ${format.toUpperCase()}`, icon, click: () => save(format) };
}

const CONFIG = {
  displaylogo: false,
  responsive: false,
  showTips: false,
  scrollZoom: false,
  doubleClick: "reset",
  modeBarButtons: [["zoomIn2d", "zoomOut2d", "resetScale2d", saver("svg"), saver("png")]],
  plotlyServerURL: "",
  showSendToCloud: false,
  showEditInChartStudio: false,
};

// Visible figures are drawn at once, the others one by one when no new figure arrives.
function draw() {
  if (inSight) paint();
  else waiting.add(paint);
  later(QUIET);
}

function later(delay) {
  clearTimeout(window.RitaLater);
  window.RitaLater = setTimeout(rest, delay);
}

function rest() {
  const [next] = waiting;
  if (!next) return;
  next(); // removes itself from `waiting`
  later(1);
}

function paint() {
  waiting.delete(paint);
  if (!element.isConnected) return tidy();
  if (!width) return; // in a hidden tab: the observer calls again when the tab is opened
  const height = Math.min(fixed.height, Math.round(HIGHEST * innerWidth));
  const state = [props.value, isDark(), width, height].join("\u0000");
  if (state === drawn) return;
  drawn = state;
  const missing = !Plotly ? "The drawing library did not load; reload the page." : props.value ? "" : fixed.empty;
  const shown = Plotly && props.value;
  emptyNote.textContent = missing;
  plot.style.display = shown ? "" : "none";
  if (!shown) {
    alt.textContent = missing;
    return;
  }
  const { data, layout } = JSON.parse(recoloured(props.value));
  const meta = layout.meta || {};
  alt.textContent = meta.alt || "";
  figure.setAttribute("aria-label", meta.title || fixed.aria);
  const high = Math.max(height, meta.height || 0);
  figure.style.height = high > height ? `${high}px` : "";
  fit(layout, width, high);
  const text = JSON.stringify(data);
  if (text !== traces.text) traces = { text, data };
  const config = meta.select
    ? { ...CONFIG, modeBarButtons: [["lasso2d", ...CONFIG.modeBarButtons[0]]] }
    : CONFIG;
  names = meta.marks || [];
  plot.classList.toggle("pickable", names.length > 0);
  drawing = Plotly.react(plot, traces.data, layout, config).then(listen);
}

// Plotly gives arrays as typed arrays or single numbers.
const listed = (v) => (v === undefined || v === null ? [] : Array.isArray(v) ? v : ArrayBuffer.isView(v) ? [...v] : [v]);

// What a mark is, such as { view: 3, atom: 5 }, which the server checks.
const marked = (customdata) => Object.fromEntries(names.map((name, i) => [name, listed(customdata)[i]]));
const click = (customdata) => names.length && trigger("click", marked(customdata));

function listen() {
  forPointers();
  if (plot.dataset.listening) return;
  plot.dataset.listening = "yes";
  plot.on("plotly_click", (e) => e.points?.length && click(e.points[0].customdata));
  plot.on("plotly_selected", (e) => {
    const points = (e?.points || []).slice(0, 4096).map((p) => listed(p.customdata)[0]);
    trigger("select", { points });
  });
}

// Keyboard: arrows walk over the marks that carry data, Enter clicks, Escape leaves, S and P save,
// plus, minus and 0 zoom. Plotly's own buttons are not focusable: they would be five more tab stops per figure.
const ZOOM = { "+": "Zoom in", "-": "Zoom out", 0: "Reset axes" };

function forPointers() {
  for (const one of plot.querySelectorAll(".modebar-btn")) one.tabIndex = -1;
}

function marks() {
  const found = [];
  (plot._fullData || []).forEach((trace, curve) => {
    if (trace.visible !== true || trace.hoverinfo === "skip" || !trace.customdata) return;
    const rows = trace.type === "heatmap" ? trace._length || trace.z.length : 1;
    for (let r = 0; r < rows; r++) {
      const row = rows > 1 || trace.type === "heatmap" ? trace.customdata[r] : trace.customdata;
      for (let i = 0; i < (row?.length || 0); i++) found.push({ trace, curve, r, i, data: row[i] });
    }
  });
  return found;
}

function show(mark) {
  const { trace, curve, r, i } = mark;
  const sub = trace.xaxis ? trace.xaxis + trace.yaxis : "xy";
  if (trace.type === "heatmap") {
    const at = { xval: i, yval: r };
    if (trace.x && typeof trace.x[i] === "number") at.xval = trace.x[i];
    if (trace.y && typeof trace.y[r] === "number") at.yval = trace.y[r];
    Plotly.Fx.hover(plot, [{ curveNumber: curve, ...at }], [sub]);
  } else Plotly.Fx.hover(plot, [{ curveNumber: curve, pointNumber: i }], [sub]);
  setTimeout(tell, 80); // Plotly draws the label of a quick second step only 50 ms after the first
}

function tell() {
  const words = [...plot.querySelectorAll(".hoverlayer text")].flatMap((t) => {
    const lines = t.querySelectorAll(".line");
    return lines.length ? [...lines].map((line) => line.textContent) : [t.textContent];
  });
  said.textContent = words.map((w) => w.replace(/\u200b/g, "").trim()).filter(Boolean).join(", ");
}

figure.addEventListener("keydown", (e) => {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key];
  const all = step || e.key === "Enter" ? marks() : [];
  if (step && all.length) {
    cursor = cursor < 0 ? (step > 0 ? 0 : all.length - 1) : (cursor + step + all.length) % all.length;
    show(all[cursor]);
    e.preventDefault();
  } else if (e.key === "Enter" && all[cursor]) {
    click(all[cursor].data);
    e.preventDefault();
  } else if ((e.key === "s" || e.key === "p") && !e.ctrlKey && !e.metaKey && !e.altKey) {
    save(e.key === "s" ? "svg" : "png");
  } else if (ZOOM[e.key] && !e.ctrlKey && !e.metaKey && !e.altKey) {
    plot.querySelector(`.modebar-btn[data-title="${ZOOM[e.key]}"]`)?.click();
    e.preventDefault();
  } else if (e.key === "Escape") {
    cursor = -1;
    if (plot._fullLayout) Plotly.Fx.unhover(plot);
  }
});

watch("value", draw);

// One observer of the size (tabs, windows), one of Gradio's dark class; both end with the element.
const sizes = new ResizeObserver((entries) => {
  width = Math.floor(entries.at(-1).contentRect.width);
  requestAnimationFrame(draw);
});
const sight = new IntersectionObserver((entries) => {
  inSight = entries.at(-1).isIntersecting;
  if (inSight) draw();
}, { rootMargin: "150px" });
const shade = new MutationObserver(draw);

function tidy() {
  shade.disconnect();
  sizes.disconnect();
  sight.disconnect();
  if (plot._fullLayout) Plotly.purge(plot);
}

sizes.observe(figure);
sight.observe(figure);
for (const node of [document.body, document.documentElement])
  shade.observe(node, { attributes: true, attributeFilter: ["class"] });
draw();
