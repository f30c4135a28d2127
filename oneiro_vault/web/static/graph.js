// The picture of a graph: places come from the vault, this draws them, and finds what is pointed at.
// All edges are one path; while the picture moves, a bitmap of it is moved instead.

const box = document.getElementById("graph");
const canvas = document.getElementById("canvas");
if (box && canvas) begin();

function begin() {
  const wait = document.getElementById("wait"), chosen = document.getElementById("chosen");
  canvas.parentElement.hidden = false; // without a script there is only the list
  const paper = canvas.getContext("2d"), still = document.createElement("canvas");
  const KINDS = ["entity", "semantic", "episodic", "procedure", "principle", "orientation", "other"];
  const LONG = 28, CELL = 64, REACH = 22, REST = 140, HUB = 40;
  let graph = null, view = { k: 1, x: 0, y: 0 }, drawnAt = null, width = 0, height = 0, ratio = 1;
  let selected = -1, over = -1, ink = {}, moving = 0, frame = 0, whole = 1, hubs = false, walked = -1;

  // what the legend calls a type
  function called(type) {
    return document.querySelector(`.legend [data-kind="${CSS.escape(type)}"]`)?.parentElement.textContent.trim() ?? type;
  }

  // -- data ------------------------------------------------------------------------------------

  // who gets a label first: where it begins, people and things, then the rest
  const rank = (found, at) => (found.hops[at] === 0 ? 2 : found.types_of[at] === "entity" || found.types_of[at] === "name" ? 1 : 0);

  function prepare(found) {
    const count = found.refs.length, edges = found.edges.length / 3;
    const made = {
      ...found, count,
      px: Float64Array.from(found.x), py: Float64Array.from(found.y),
      kind: Uint8Array.from(found.types_of, (type) => Math.max(0, KINDS.includes(type) ? KINDS.indexOf(type) : KINDS.length - 1)),
      size: Float64Array.from(found.degrees, (degree) => 3 + Math.min(9, Math.sqrt(degree) * 0.9)),
      first: new Uint32Array(count + 1), near: new Uint32Array(edges * 2), via: new Uint32Array(edges * 2),
      order: [...found.degrees.keys()].sort((a, b) => rank(found, b) - rank(found, a) || found.degrees[b] - found.degrees[a] || a - b),
    };
    for (let at = 0; at < edges; at++) for (const end of [0, 1]) made.first[found.edges[3 * at + end] + 1] += 1;
    for (let at = 0; at < count; at++) made.first[at + 1] += made.first[at];
    const fill = made.first.slice();
    for (let at = 0; at < edges; at++) {
      const a = found.edges[3 * at], b = found.edges[3 * at + 1];
      made.near[fill[a]] = b; made.via[fill[a]++] = at;
      made.near[fill[b]] = a; made.via[fill[b]++] = at;
    }
    return made;
  }

  let tries = 0;

  function failed() {
    wait.hidden = false;
    wait.textContent = "The picture cannot be drawn now; the list below says the same.";
  }

  async function load(keep) {
    const answer = await fetch(box.dataset.of, { headers: { Accept: "application/json" }, credentials: "same-origin" });
    if (!answer.ok) throw new Error(String(answer.status));
    const found = await answer.json();
    if (!found.placed) {
      tries += 1;
      if (tries > 90) throw new Error("no places");
      if (!keep) wait.textContent = `Finding a place for each of ${found.refs.length.toLocaleString("en-GB")} nodes…`;
      setTimeout(() => load(keep).catch(failed), 700);
      return;
    }
    tries = 0;
    if (found.unread) setTimeout(() => load(true).catch(failed), 3000); // links are still being followed
    const held = selected >= 0 ? graph.refs[selected] : "";
    graph = prepare(found);
    selected = held ? graph.refs.indexOf(held) : -1;
    over = -1;
    wait.hidden = true;
    colours();
    if (!keep) fit(false);
    draw();
    if (!keep && graph.hops.length) select(0, false);
    canvas.dataset.nodes = String(graph.count);
  }

  // -- drawing ---------------------------------------------------------------------------------

  function colours() {
    for (const sign of document.querySelectorAll(".legend svg")) ink[sign.dataset.kind] = getComputedStyle(sign).fill;
    const style = getComputedStyle(document.body);
    ink.text = style.color;
    ink.paper = getComputedStyle(canvas.parentElement).backgroundColor;
    ink.soft = getComputedStyle(document.getElementById("sum")).color;
    ink.accent = getComputedStyle(document.querySelector(".menu a[aria-current]") ?? document.querySelector("#main a")).color;
    ink.font = style.fontFamily;
  }

  function measure() {
    const room = canvas.getBoundingClientRect();
    ratio = Math.min(2, devicePixelRatio || 1);
    width = room.width; height = room.height;
    for (const one of [canvas, still]) { one.width = Math.round(width * ratio); one.height = Math.round(height * ratio); }
  }

  function resized() {
    const middle = [width / 2, height / 2], unseen = !width || !height;
    measure();
    if (!graph || !width || !height) return;
    if (unseen) fit(false);
    else { view.x += width / 2 - middle[0]; view.y += height / 2 - middle[1]; }
    draw();
  }

  // at first only what is linked: the dust around it is there when somebody asks for all
  function fit(all = true) {
    const some = !all && graph.degrees.filter(Boolean).length >= 10;
    let left = Infinity, right = -Infinity, top = Infinity, bottom = -Infinity;
    for (let at = 0; at < graph.count; at++) {
      if (some && graph.degrees[at] === 0) continue;
      left = Math.min(left, graph.px[at]); right = Math.max(right, graph.px[at]);
      top = Math.min(top, graph.py[at]); bottom = Math.max(bottom, graph.py[at]);
    }
    const room = graph.hops.length && width > 600 ? 70 : 36;
    const k = Math.min((width - 2 * room) / Math.max(right - left, 1e-6), (height - 2 * room) / Math.max(bottom - top, 1e-6));
    view.k = Math.min(Math.max(k, 1e-3), 90);
    view.x = width / 2 - view.k * (left + right) / 2;
    view.y = height / 2 - view.k * (top + bottom) / 2;
    whole = view.k;
  }

  const sx = (at) => view.k * graph.px[at] + view.x;
  const sy = (at) => view.k * graph.py[at] + view.y;
  const grown = () => (graph.count > 1500 ? 0.8 : 1) * Math.min(1.7, Math.max(0.55, Math.sqrt(view.k / 9)));

  function shape(on, kind, x, y, r) {
    if (kind === 0) { on.moveTo(x + r, y); on.arc(x, y, r, 0, 6.2832); return; }
    if (kind === 1) { on.rect(x - r * 0.86, y - r * 0.86, r * 1.72, r * 1.72); return; }
    if (kind === 2) { on.moveTo(x, y - r * 1.15); on.lineTo(x + r * 1.15, y); on.lineTo(x, y + r * 1.15); on.lineTo(x - r * 1.15, y); on.closePath(); return; }
    if (kind === 3) { on.moveTo(x, y - r * 1.1); on.lineTo(x + r, y + r * 0.8); on.lineTo(x - r, y + r * 0.8); on.closePath(); return; }
    if (kind === 4) { on.moveTo(x, y + r * 1.1); on.lineTo(x + r, y - r * 0.8); on.lineTo(x - r, y - r * 0.8); on.closePath(); return; }
    if (kind === 5) { on.rect(x - r, y - r / 3, 2 * r, r / 1.5); on.rect(x - r / 3, y - r, r / 1.5, 2 * r); return; }
    on.rect(x - r, y - r * 0.45, 2 * r, r * 0.9);
  }

  function lines(on, test) {
    on.beginPath();
    const all = graph.edges;
    for (let at = 0; at < all.length; at += 3) {
      const a = all[at], b = all[at + 1];
      if (!test(a, b)) continue;
      on.moveTo(sx(a), sy(a));
      on.lineTo(sx(b), sy(b));
    }
    on.stroke();
  }

  function draw() {
    if (!graph || !still.width || !still.height) return;
    const on = still.getContext("2d"), scale = grown(), many = graph.edges.length > 3000;
    on.setTransform(ratio, 0, 0, ratio, 0, 0);
    on.fillStyle = ink.paper;
    on.fillRect(0, 0, width, height);
    on.strokeStyle = ink.soft;
    on.lineWidth = many ? 0.7 : 1;
    const big = (at) => graph.degrees[at] >= HUB && !graph.hops.length;
    on.globalAlpha = many ? 0.22 : 0.5;
    lines(on, (a, b) => !(big(a) || big(b)));
    on.globalAlpha = graph.hops.length ? 0.4 : hubs ? 0.2 : many ? 0.05 : 0.16;
    lines(on, (a, b) => big(a) || big(b));
    on.globalAlpha = 1;
    for (let kind = 0; kind < KINDS.length; kind++) {
      on.beginPath();
      for (let at = 0; at < graph.count; at++) {
        if (graph.kind[at] !== kind) continue;
        const x = sx(at), y = sy(at), r = graph.size[at] * scale;
        if (x < -r || y < -r || x > width + r || y > height + r) continue;
        shape(on, kind, x, y, r);
      }
      on.fillStyle = ink[KINDS[kind]];
      on.fill();
    }
    labels(on, scale);
    drawnAt = { ...view };
    grid = null;
    canvas.dataset.busiest = graph.count ? `${Math.round(sx(graph.order[0]))},${Math.round(sy(graph.order[0]))}` : "";
    show();
  }

  function name(at, most) {
    const text = graph.names[at].replace(/\[\[(?:[^\]|]*\|)?([^\]]*)\]\]/g, "$1").replaceAll("[[", "");
    return text.length > most ? `${text.slice(0, most - 1)}…` : text;
  }

  // the places of the tools that stand on the picture
  function covered() {
    const taken = new Set(), room = canvas.getBoundingClientRect();
    for (const tool of box.querySelectorAll(".stage-tools, .stage-find")) {
      const one = tool.getBoundingClientRect();
      for (let x = Math.floor((one.left - room.left) / 20); x <= (one.right - room.left) / 20; x++) {
        for (let y = Math.floor((one.top - room.top) / 18); y <= (one.bottom - room.top) / 18; y++) taken.add(`${x},${y}`);
      }
    }
    return taken;
  }

  function labels(on, scale) {
    const taken = covered();
    on.font = `12px ${ink.font}`;
    on.textAlign = "center";
    on.textBaseline = "top";
    on.lineJoin = "round";
    // of many nodes memories are named only when somebody looks closer
    const close = graph.count <= 40 || view.k > 1.8 * whole;
    let left = Math.round(width * height / 9000);
    for (const at of graph.order) {
      if (left === 0) break;
      if (!close && rank(graph, at) === 0) continue;
      const middle = sx(at), y = sy(at) + graph.size[at] * scale + 3;
      if (middle < 0 || y < 0 || middle > width || y > height - 14) continue;
      const text = name(at, LONG), half = on.measureText(text).width / 2, x = inside(middle, half);
      const cells = [];
      for (let cx = Math.floor((x - half) / 20); cx <= Math.floor((x + half) / 20); cx++) cells.push(`${cx},${Math.floor(y / 18)}`, `${cx},${Math.floor((y + 13) / 18)}`);
      if (cells.some((cell) => taken.has(cell))) continue;
      cells.forEach((cell) => taken.add(cell));
      label(on, text, x, y);
      left -= 1;
    }
  }

  // all of it is to be read: beside the edge it stands a little aside from its node
  function inside(x, half) {
    return x < -half || x > width + half ? x : Math.max(half + 4, Math.min(width - half - 4, x));
  }

  function label(on, text, x, y) {
    on.lineWidth = 3.5;
    on.strokeStyle = ink.paper;
    on.globalAlpha = 0.85;
    on.strokeText(text, x, y);
    on.globalAlpha = 1;
    on.fillStyle = ink.text;
    on.fillText(text, x, y);
  }

  // the bitmap, moved to where the view is now, and what is chosen on top
  function show() {
    if (!drawnAt || !still.width || !still.height) return;
    paper.setTransform(1, 0, 0, 1, 0, 0);
    paper.fillStyle = ink.paper;
    paper.fillRect(0, 0, canvas.width, canvas.height);
    const k = view.k / drawnAt.k;
    paper.drawImage(still, (view.x - drawnAt.x * k) * ratio, (view.y - drawnAt.y * k) * ratio, still.width * k, still.height * k);
    paper.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (selected >= 0) around(selected);
    if (over >= 0 && over !== selected) { ring(over, 2); paper.font = `12px ${ink.font}`; named(over); }
  }

  function around(at) {
    const several = graph.first[at + 1] - graph.first[at] > 24;
    paper.strokeStyle = ink.accent;
    paper.lineWidth = several ? 1 : 1.6;
    paper.globalAlpha = several ? 0.4 : 0.8;
    paper.beginPath();
    for (let to = graph.first[at]; to < graph.first[at + 1]; to++) {
      paper.moveTo(sx(at), sy(at));
      paper.lineTo(sx(graph.near[to]), sy(graph.near[to]));
    }
    paper.stroke();
    paper.globalAlpha = 1;
    const others = [...new Set(graph.near.slice(graph.first[at], graph.first[at + 1]))];
    for (const other of [...others, at]) {
      paper.beginPath();
      shape(paper, graph.kind[other], sx(other), sy(other), graph.size[other] * grown());
      paper.fillStyle = ink[KINDS[graph.kind[other]]];
      paper.fill();
    }
    paper.font = `12px ${ink.font}`;
    if (graph.count <= 400) labels(paper, grown()); // the shapes stand on those below
    if (others.length <= 12) others.forEach((other) => named(other));
    else if (walked >= 0) named(walked);
    ring(at, 3);
    paper.font = `600 13px ${ink.font}`;
    named(at);
  }

  function named(at) {
    paper.textAlign = "center";
    paper.textBaseline = "top";
    paper.lineJoin = "round";
    const text = name(at, LONG), y = sy(at) + graph.size[at] * grown() + 3;
    label(paper, text, inside(sx(at), paper.measureText(text).width / 2), y > height - 16 && y < height ? y - 30 : y);
  }

  function ring(at, thick) {
    paper.beginPath();
    paper.arc(sx(at), sy(at), graph.size[at] * grown() + 4, 0, 6.2832);
    paper.strokeStyle = ink.accent;
    paper.lineWidth = thick;
    paper.stroke();
  }

  function moved() {
    if (!frame) frame = requestAnimationFrame(() => { frame = 0; if (drawnAt) show(); });
    clearTimeout(moving);
    moving = setTimeout(draw, REST);
  }

  function zoom(by, x = width / 2, y = height / 2) {
    const k = Math.min(400, Math.max(1e-3, view.k * by)), real = k / view.k;
    view = { k, x: x - (x - view.x) * real, y: y - (y - view.y) * real };
    moved();
  }

  // -- what is pointed at ------------------------------------------------------------------------

  let grid = null;

  function cells() {
    grid = new Map();
    for (let at = 0; at < graph.count; at++) {
      const cell = `${Math.floor(sx(at) / CELL)},${Math.floor(sy(at) / CELL)}`;
      if (grid.has(cell)) grid.get(cell).push(at); else grid.set(cell, [at]);
    }
  }

  function under(x, y, reach) {
    if (!graph) return -1;
    if (!grid) cells();
    let best = -1, least = Infinity;
    for (let dx = -1; dx <= 1; dx++) for (let dy = -1; dy <= 1; dy++) {
      for (const at of grid.get(`${Math.floor(x / CELL) + dx},${Math.floor(y / CELL) + dy}`) ?? []) {
        const away = Math.hypot(sx(at) - x, sy(at) - y) - graph.size[at] * grown();
        if (away < least) { least = away; best = at; }
      }
    }
    return least <= reach ? best : -1;
  }

  // -- choosing ----------------------------------------------------------------------------------

  const where = (at) => (graph.refs[at].startsWith("name:") ? "" : `/ui/memory/${encodeURIComponent(graph.refs[at])}`);
  const then = box.dataset.at ? `at=${encodeURIComponent(box.dataset.at)}` : "";
  const lookAround = (at) => `/ui/graph?of=${encodeURIComponent(graph.refs[at].replace(/^name:/, ""))}${then ? `&${then}` : ""}`;
  const open = (at) => (where(at) ? where(at) + (then ? `?${then}` : "") : lookAround(at));

  function put(tag, text, more = {}) {
    const made = document.createElement(tag);
    made.textContent = text;
    Object.assign(made, more);
    return made;
  }

  function select(at, centre = true) {
    selected = at;
    walked = -1;
    canvas.dataset.selected = at < 0 ? "" : graph.refs[at];
    if (at < 0) { chosen.replaceChildren(put("p", "Choose a node to see what it is linked with.", { className: "soft" })); show(); return; }
    const head = put("h2", name(at, 90)), kind = [called(graph.types_of[at]), graph.kinds[at]].filter(Boolean).join(", ");
    const meta = put("p", `${kind}${graph.created[at] ? `, ${graph.created[at]}` : ""}, ${graph.degrees[at]} ${graph.degrees[at] === 1 ? "edge" : "edges"}`, { className: "meta" });
    const actions = put("p", "", { className: "actions" });
    if (where(at)) actions.append(put("a", "Open", { href: open(at), className: "button primary" }), " ");
    actions.append(put("a", "Look around it", { href: lookAround(at), className: "button" }));
    const list = put("ul", "", { className: "near" }), told = new Map();
    for (let to = graph.first[at]; to < graph.first[at + 1]; to++) {
      const other = graph.near[to], edge = graph.via[to];
      const says = (graph.edges[3 * edge] === at ? "" : "← ") + graph.relations[graph.edges[3 * edge + 2]].replaceAll("_", " ");
      told.set(other, told.has(other) ? `${told.get(other)}, ${says}` : says);
    }
    const others = [...told.keys()].sort((a, b) => graph.degrees[b] - graph.degrees[a]);
    for (const other of others.slice(0, 12)) {
      const item = put("li", ""), button = put("button", name(other, 60), { type: "button" });
      button.append(put("small", ` ${told.get(other)}`));
      button.addEventListener("click", () => { select(other); chosen.querySelector("a, button")?.focus(); });
      item.append(button);
      list.append(item);
    }
    if (others.length > 12) list.append(put("li", `and ${others.length - 12} more: look around it`, { className: "soft" }));
    chosen.replaceChildren(head, meta, actions, list);
    const x = sx(at), y = sy(at);
    if (centre && (x < 30 || y < 30 || x > width - 30 || y > height - 30)) { view.x += width / 2 - x; view.y += height / 2 - y; draw(); } else show();
  }

  function walk(step) {
    if (selected < 0) { select(graph.order[0]); return; }
    const others = [...new Set(graph.near.slice(graph.first[selected], graph.first[selected + 1]))].sort((a, b) => graph.degrees[b] - graph.degrees[a]);
    if (others.length === 0) return;
    const at = others.indexOf(walked);
    walked = others[at < 0 ? (step > 0 ? 0 : others.length - 1) : (at + step + others.length) % others.length];
    over = walked;
    tellWalked();
    show();
  }

  const voice = put("p", "", { className: "unseen" });
  voice.setAttribute("aria-live", "polite");
  box.append(voice);

  function tellWalked() {
    voice.textContent = `${name(walked, 80)}, ${called(graph.types_of[walked])}, ${graph.degrees[walked]} edges. Space chooses it.`;
  }

  // -- hands -------------------------------------------------------------------------------------

  const held = new Map();
  let far = 0, apart = 0;

  function spot(event) {
    const room = canvas.getBoundingClientRect();
    return { x: event.clientX - room.left, y: event.clientY - room.top };
  }

  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    held.set(event.pointerId, spot(event));
    if (held.size === 1) far = 0;
    apart = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!graph) return;
    const now = spot(event), before = held.get(event.pointerId);
    if (!before) {
      const found = under(now.x, now.y, 5);
      if (found !== over) { over = found; canvas.classList.toggle("over", found >= 0); show(); }
      return;
    }
    held.set(event.pointerId, now);
    if (held.size === 1) {
      far += Math.hypot(now.x - before.x, now.y - before.y);
      if (far < 5) return;
      view.x += now.x - before.x;
      view.y += now.y - before.y;
      moved();
      return;
    }
    const [one, two] = [...held.values()], length = Math.hypot(one.x - two.x, one.y - two.y);
    far = 99;
    if (apart) zoom(length / apart, (one.x + two.x) / 2, (one.y + two.y) / 2);
    apart = length;
  });
  for (const ends of ["pointerup", "pointercancel"]) canvas.addEventListener(ends, (event) => {
    const last = held.get(event.pointerId);
    held.delete(event.pointerId);
    apart = 0;
    if (ends === "pointerup" && last && far < 5 && held.size === 0 && graph) select(under(last.x, last.y, event.pointerType === "touch" ? REACH : 8), false);
  });
  canvas.addEventListener("dblclick", (event) => {
    const found = under(spot(event).x, spot(event).y, 8);
    if (found >= 0) location.assign(lookAround(found));
  });
  canvas.addEventListener("wheel", (event) => {
    if (!graph) return;
    event.preventDefault();
    const at = spot(event);
    zoom(Math.exp(-Math.max(-120, Math.min(120, event.deltaY)) / 300), at.x, at.y);
  }, { passive: false });

  const KEYS = {
    ArrowLeft: () => { view.x += 60; moved(); }, ArrowRight: () => { view.x -= 60; moved(); },
    ArrowUp: () => { view.y += 60; moved(); }, ArrowDown: () => { view.y -= 60; moved(); },
    "+": () => zoom(1.3), "=": () => zoom(1.3), "-": () => zoom(1 / 1.3),
    0: () => { fit(); draw(); },
    n: () => walk(1), p: () => walk(-1),
    " ": () => { if (walked >= 0) { const to = walked; over = -1; select(to); } },
    Enter: () => { const at = walked >= 0 ? walked : selected; if (at >= 0) location.assign(open(at)); },
    ".": () => { const at = walked >= 0 ? walked : selected; if (at >= 0) location.assign(lookAround(at)); },
    Escape: () => { over = -1; select(-1); },
  };
  canvas.addEventListener("keydown", (event) => {
    if (!graph || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  for (const button of box.querySelectorAll("[data-do]")) button.addEventListener("click", () => {
    if (!graph) return;
    if (button.dataset.do === "fit") { fit(); draw(); } else zoom(button.dataset.do === "in" ? 1.4 : 1 / 1.4);
  });
  const spotted = document.getElementById("spot");
  spotted.addEventListener("input", () => {
    const words = spotted.value.trim().toLowerCase();
    if (!graph || !words) return;
    const fits = graph.order.filter((at) => graph.names[at].toLowerCase().includes(words));
    const best = fits.find((at) => graph.names[at].toLowerCase().startsWith(words)) ?? fits[0] ?? -1;
    if (best !== selected) select(best);
  });
  spotted.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !graph || selected < 0) return;
    event.preventDefault();
    view.k = Math.max(view.k, 2.5 * whole);
    view.x = width / 2 - view.k * graph.px[selected];
    view.y = height / 2 - view.k * graph.py[selected];
    draw();
    canvas.focus();
  });
  document.getElementById("hubs")?.addEventListener("change", (event) => { hubs = event.target.checked; draw(); });

  new ResizeObserver(resized).observe(canvas);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { colours(); draw(); });
  let later = 0;
  document.body.addEventListener("changed", () => {
    clearTimeout(later); // of many changes at once only the last is drawn
    later = setTimeout(again, 1000);
  });
  function again() { if (graph) load(true).catch(() => { voice.textContent = "The picture could not be brought up to date."; }); }
  measure();
  load(false).catch(failed);
}
