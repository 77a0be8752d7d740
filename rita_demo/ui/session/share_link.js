// The address and the history follow the state: the run comes from the server, the open tab from the page itself.
const button = element.querySelector("button");
const said = element.querySelector("span");
const TABS = { Inside: "inside", Arena: "arena", Memory: "memory", Figures: "figures" };
const EARLIER = { run: "inside", "terms-tab": "inside", stream: "memory" }; // rooms of earlier addresses
const SELECTED = ["class", "view", "atom", "step"]; // of a run: what asks for no other run
const KEPT = "rita picture "; // of a picture's name in the storage of this tab
const wanted = new URLSearchParams(location.search);
const kept = ["__theme", "lecture"].filter((name) => wanted.has(name));
let opened = false; // whether the link's own tab has been opened
let awaited = ""; // the run that Back asked for, until it is on screen

const tabs = () => [...document.querySelectorAll("#tabs button[role=tab]")];
const open = () => TABS[tabs().find((b) => b.getAttribute("aria-selected") === "true")?.textContent.trim()] || "";
const now = () => (props.value ? JSON.parse(props.value) : null);
const ownOf = (run) => new URLSearchParams(run).get("own"); // the key of a picture that is no sample
function asks(run) {
  const parts = new URLSearchParams(run);
  SELECTED.forEach((name) => parts.delete(name));
  return parts.toString();
}

function address({ link }) {
  const tab = link && open();
  const parts = [link, tab && `tab=${tab}`, ...kept.map((name) => `${name}=${wanted.get(name)}`)].filter(Boolean);
  return location.pathname + (parts.length ? `?${parts.join("&")}` : "") + location.hash;
}

function follow() {
  const shown = now();
  if (!element.isConnected || !shown) return;
  const before = history.state;
  if (!opened) {
    opened = true;
    const named = wanted.get("tab") || before?.tab;
    const tab = named && tabs().find((b) => TABS[b.textContent.trim()] === (EARLIER[named] ?? named));
    if (tab) tab.click();
    if (ownOf(before?.run)) return back(before); // the page was loaded again
    return history.replaceState({ tab: tab ? TABS[tab.textContent.trim()] : open(), run: shown.run }, "", address(shown));
  }
  if (awaited && asks(awaited) !== asks(shown.run)) return;
  awaited = "";
  if (ownOf(shown.run)) keep(KEPT + ownOf(shown.run));
  const same = open() === before?.tab && asks(shown.run) === asks(before.run);
  history[same ? "replaceState" : "pushState"]({ tab: open(), run: shown.run }, "", address(shown));
}

// An own picture is never part of the address, and the server forgets it with the page: this tab keeps it, and only this tab.
function keep(name) {
  const { clean } = document.querySelector(".story") ?? {};
  const put = () => sessionStorage.getItem(name) ?? sessionStorage.setItem(name, clean);
  try {
    try {
      put();
    } catch {
      Object.keys(sessionStorage).filter((other) => other.startsWith(KEPT)).forEach((other) => sessionStorage.removeItem(other));
      put(); // there was no room beside the earlier ones
    }
  } catch {} // nothing is kept: back() says so
}

function stored(name) {
  try {
    return sessionStorage.getItem(name);
  } catch {
    return null;
  }
}

// Back, forward, or a page that was loaded again: the run of that state is asked for, with its picture if it is no sample.
function back({ run }) {
  const own = ownOf(run);
  const picture = own && stored(KEPT + own);
  if (!own || picture) return (awaited = run), trigger("undo", { run, picture });
  document.dispatchEvent(new CustomEvent("notice", { detail: { message: "Your picture was not kept in this browser.", hint: "Choose it again." } }));
  history.replaceState({ tab: open(), run: now().run }, "", address(now()));
}

// The tab before, and the run before: without it Back would leave the page, and a visitor's picture with it.
addEventListener("popstate", ({ state }) => {
  const asked = awaited || now()?.run;
  awaited = "";
  tabs().find((tab, n) => (state?.tab ? TABS[tab.textContent.trim()] === state.tab : !n))?.click();
  if (state?.run && asked && asks(state.run) !== asks(asked)) back(state);
});

// The Story shows its picture with the link; elsewhere the link is copied.
button.addEventListener("click", async () => {
  const { link, says } = now() ?? {};
  if (link) follow();
  const detail = { link: link ? location.href : "", says: says ?? "" };
  if (!document.dispatchEvent(new CustomEvent("share", { detail, cancelable: true }))) return;
  if (!link) said.textContent = says ?? "The run is not done yet.";
  else {
    try {
      await navigator.clipboard.writeText(location.href);
      said.textContent = `The link is copied. ${says}`;
    } catch {
      said.textContent = "Copy the link from the address bar.";
    }
  }
  setTimeout(() => (said.textContent = ""), 6000);
});

document.addEventListener("click", ({ target, isTrusted }) => {
  if (target.closest("#tabs button[role=tab]")) setTimeout(() => awaited || follow(), 50);
  else if (isTrusted) awaited = ""; // a person may ask for another run meanwhile
});
watch("value", follow);
follow();
