// What every page does: keys, live updates, and how long ago a date is.

const notice = document.getElementById("notice");

// -- dates -------------------------------------------------------------------------------------

const UNITS = [["year", 31557600], ["month", 2629800], ["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60]];
const relative = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "auto" });

function ago(at) {
  const seconds = (at - Date.now()) / 1000;
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return relative.format(Math.round(seconds / size), unit);
  }
  return relative.format(0, "second");
}

function dates(root) {
  for (const element of root.querySelectorAll("time[datetime]:not([data-told])")) {
    const at = Date.parse(element.dateTime);
    if (!Number.isNaN(at) && !element.closest("[data-absolute]")) element.textContent = ago(at);
    element.dataset.told = "";
  }
}

// -- the menu: on a narrow screen it is one line, and the page that is open may lie outside of it --

const here = document.querySelector(".menu [aria-current]");
const menu = here?.closest(".menu");
if (menu) menu.scrollLeft = here.offsetLeft - (menu.clientWidth - here.offsetWidth) / 2;

// -- keys: every element with data-key says which key it has and, in data-does, what it does -----

let first = "";
const past = document.body.classList.contains("past");

function typing(target) {
  return target.closest("input, textarea, select, [contenteditable]") !== null;
}

function items() {
  return [...document.querySelectorAll("[data-item]")].filter((item) => item.offsetParent !== null);
}

function current() {
  return document.activeElement?.closest("[data-item]") ?? null;
}

function move(step) {
  const all = items();
  if (all.length === 0) return;
  const at = all.indexOf(current());
  const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.max(0, Math.min(all.length - 1, at + step))];
  if (!next.hasAttribute("tabindex")) next.tabIndex = -1;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

function act(key) {
  const selector = `[data-key="${CSS.escape(key)}"]`;
  const found = current()?.querySelector(selector)
    ?? [...document.querySelectorAll(selector)].find((element) => !element.closest("[data-item]"));
  if (!found || found.disabled || (past && found.closest("main form[method=post], main [hx-post]"))) return false;
  if (found.matches("input, textarea, select")) { found.focus(); found.select?.(); } else found.click();
  return true;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "Escape" && typing(event.target)) {
    event.target.blur();
    event.preventDefault(); // a search box would be emptied, and what it found be gone
    return;
  }
  if (typing(event.target) || document.querySelector("dialog[open]") || event.target.closest("[data-own-keys]")) return;
  if (event.key === "g" && !first) { first = "g "; setTimeout(() => { first = ""; }, 1500); return; }
  const key = first + event.key;
  first = "";
  if (key === "j" || key === "k") { move(key === "j" ? 1 : -1); event.preventDefault(); return; }
  if (act(key)) event.preventDefault();
});

const keys = document.getElementById("keys");
document.getElementById("keys-open")?.addEventListener("click", () => {
  const told = new Map(items().length ? [["j", "next"], ["k", "previous"]] : []);
  for (const element of document.querySelectorAll("[data-key]")) told.set(element.dataset.key, element.dataset.does);
  keys.querySelector("dl").replaceChildren(...[...told].flatMap(([key, does]) => {
    const name = document.createElement("dt"), text = document.createElement("dd");
    const sign = document.createElement("kbd");
    sign.textContent = key;
    name.append(sign);
    text.textContent = does;
    return [name, text];
  }));
  keys.showModal();
});

// -- live: parts with hx-trigger="changed from:body" are asked for anew when the vault changed ----

let stream = null;

function listen() {
  if (stream || document.hidden) return;
  stream = new EventSource("/ui/events");
  stream.addEventListener("changed", () => htmx.trigger(document.body, "changed"));
}

// what somebody sends is not swept away by an answer that was asked for before
let writing = 0, missed = false;

function sends(event) {
  return event.detail.requestConfig?.verb !== "get";
}

document.body.addEventListener("htmx:beforeSend", (event) => { if (sends(event)) writing += 1; });
document.body.addEventListener("htmx:beforeSwap", (event) => {
  if (!writing || event.detail.requestConfig.triggeringEvent?.type !== "changed") return;
  event.detail.shouldSwap = false;
  missed = true;
});
document.body.addEventListener("htmx:afterRequest", (event) => {
  if (!sends(event)) return;
  writing = Math.max(0, writing - 1);
  if (writing || !missed) return;
  missed = false;
  htmx.trigger(document.body, "changed");
});

document.addEventListener("visibilitychange", () => {
  // a browser allows six connections to a host over all of its tabs
  if (document.hidden) { stream?.close(); stream = null; } else { listen(); htmx.trigger(document.body, "changed"); }
});

export function tell(text) {
  notice.textContent = text;
}

let told = 0;
new MutationObserver(() => {
  clearTimeout(told);
  told = setTimeout(() => notice.replaceChildren(), 12000);
}).observe(notice, { childList: true });
notice.addEventListener("click", () => notice.replaceChildren());
document.body.addEventListener("htmx:responseError", (event) => tell(event.detail.xhr.responseText.slice(0, 300)));
document.body.addEventListener("htmx:sendError", () => tell("The vault's owner does not answer: run `oneiro ui` again."));
document.body.addEventListener("htmx:load", (event) => dates(event.detail.elt.parentElement ?? document));
dates(document);
addEventListener("load", listen);
addEventListener("pagehide", () => { stream?.close(); stream = null; });
