// The slider that shows the vault as it was, and where the eyes stay when a row goes.

const DAY = 86_400_000;
const form = document.querySelector(".scrub");

if (form) {
  const slide = form.querySelector("input[type=range]"), told = form.querySelector("output");
  const first = Date.parse(form.dataset.first), days = Math.round((Date.parse(form.dataset.last) - first) / DAY);
  const shown = new URL(location.href).searchParams.get("at");
  const words = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
  const day = (number) => new Date(first + number * DAY);

  function tell() {
    const text = Number(slide.value) >= days ? "today" : words.format(day(Number(slide.value)));
    told.textContent = text;
    slide.setAttribute("aria-valuetext", text);
  }

  function go() {
    const there = new URL(location.href);
    there.searchParams.delete("part");
    if (Number(slide.value) >= days) there.searchParams.delete("at");
    else there.searchParams.set("at", day(Number(slide.value)).toISOString().slice(0, 10));
    if (there.href !== location.href) location.assign(there);
  }

  slide.max = String(days);
  slide.value = String(shown && !Number.isNaN(Date.parse(shown)) ? Math.round((Date.parse(shown) - first) / DAY) : days);
  tell();
  form.hidden = days < 1;
  slide.addEventListener("input", tell);
  form.addEventListener("submit", (event) => { event.preventDefault(); go(); });

  // a key moves it by a day: wait until the hand rests
  let rest = 0, keyed = false;
  slide.addEventListener("keydown", () => { keyed = true; });
  slide.addEventListener("pointerdown", () => { keyed = false; });
  slide.addEventListener("change", () => {
    clearTimeout(rest);
    sessionStorage.setItem("scrub", keyed ? "keys" : "");
    if (keyed) rest = setTimeout(go, 700); else go();
  });
  if (sessionStorage.getItem("scrub")) {
    sessionStorage.removeItem("scrub");
    slide.focus({ preventScroll: true });
  }
}

// -- a row that was kept or forgotten goes; the next one is in hand ------------------------------

let place = -1;

function rows() {
  return [...document.querySelectorAll("#fading [data-item]")];
}

document.body.addEventListener("htmx:beforeRequest", (event) => {
  const row = event.detail.elt.closest("#fading [data-item]");
  place = row ? rows().indexOf(row) : -1;
});
document.body.addEventListener("htmx:afterSettle", () => {
  if (place < 0) return;
  const left = rows();
  left[Math.min(place, left.length - 1)]?.focus();
  place = -1;
});
