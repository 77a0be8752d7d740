// The address follows the state: the query comes from the server, the open tab from the page itself.
const button = element.querySelector("button");
const said = element.querySelector("span");
const TABS = { "This run": "run", "Inside RITA": "inside", Arena: "arena", "Memory (cache)": "memory", "Stream": "stream", "Figures of the paper": "figures", Terms: "terms" };
const wanted = new URLSearchParams(location.search);
const kept = ["__theme", "lecture"].filter((name) => wanted.has(name));
let opened = false; // whether the link's own tab has been opened

const tabs = () => [...document.querySelectorAll("#tabs button[role=tab]")];
const open = () => TABS[tabs().find((b) => b.getAttribute("aria-selected") === "true")?.textContent.trim()] || "";

function address() {
  const tab = props.value && open();
  const parts = [props.value, tab && `tab=${tab}`, ...kept.map((name) => `${name}=${wanted.get(name)}`)].filter(Boolean);
  return location.pathname + (parts.length ? `?${parts.join("&")}` : "");
}

function follow() {
  if (!element.isConnected || props.value === undefined || props.value === null) return;
  if (props.value && !opened) {
    opened = true;
    const tab = tabs().find((b) => TABS[b.textContent.trim()] === wanted.get("tab"));
    if (tab) tab.click();
    history.replaceState({ tab: tab ? wanted.get("tab") : open() }, "", address());
  } else if (opened) history[open() === history.state?.tab ? "replaceState" : "pushState"]({ tab: open() }, "", address());
}

// Back goes to the tab before: another press on it would leave the page, and a visitor's picture with it.
addEventListener("popstate", ({ state }) => tabs().find((tab, n) => (state?.tab ? TABS[tab.textContent.trim()] === state.tab : !n))?.click());

// The Story shows its picture with the link; elsewhere the link is copied.
button.addEventListener("click", async () => {
  if (props.value) follow();
  if (!document.dispatchEvent(new CustomEvent("share", { detail: props.value ? location.href : "", cancelable: true }))) return;
  const busy = document.documentElement.classList.contains("waits");
  const none = busy ? "No link yet: the run is not done." : "Your own picture cannot be shared by a link: use “Save this run”.";
  if (!props.value) said.textContent = none;
  else {
    try {
      await navigator.clipboard.writeText(location.href);
      said.textContent = "The link is copied. It starts from an empty memory; what-ifs are not part of it.";
    } catch {
      said.textContent = "Copy the link from the address bar.";
    }
  }
  setTimeout(() => (said.textContent = ""), 6000);
});

document.addEventListener("click", (e) => {
  if (e.target.closest("#tabs button[role=tab]")) setTimeout(follow, 50);
});
watch("value", follow);
follow();
