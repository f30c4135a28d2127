// The search of an exported site: everything it knows is in the page.
"use strict";

const MOST = 60;
const field = document.getElementById("find");
const list = document.getElementById("found");
const told = document.getElementById("told");

function plain(text) {
  return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}

const rows = JSON.parse(document.getElementById("known").textContent)
  .map(([id, title, kind, day, words]) => ({ id, title, kind, day, words, in: plain(title), all: plain(`${title} ${words}`) }));

function part(name, text, ...more) {
  const made = document.createElement(name);
  made.textContent = text;
  Object.assign(made, ...more);
  return made;
}

function shown(row) {
  const item = document.createElement("li");
  const meta = part("div", "", { className: "meta" });
  meta.append(part("span", row.kind, { className: "tag" }), part("span", row.day));
  item.append(part("a", row.title, { className: "row-title", href: `m/${encodeURIComponent(row.id)}.html` }), meta,
    part("div", row.words, { className: "soft small" }));
  return item;
}

function look() {
  const words = plain(field.value).split(/\s+/).filter(Boolean);
  const hits = words.length ? rows.filter((row) => words.every((word) => row.all.includes(word))) : [];
  const weight = (row) => words.filter((word) => row.in.includes(word)).length;
  hits.sort((one, other) => weight(other) - weight(one));
  list.replaceChildren(...hits.slice(0, MOST).map(shown));
  const rest = hits.length > MOST ? `, the first ${MOST} are shown` : "";
  told.textContent = words.length ? `${hits.length.toLocaleString("en")} found${rest}` : `${rows.length.toLocaleString("en")} memories`;
}

field.addEventListener("input", look);
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== field && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    field.focus();
  }
});
look();
