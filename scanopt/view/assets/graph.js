"use strict";
// Before and after as graphs in one layout: the same value stands at the same place on both sides.
const view = { x: 0, y: 0, k: 1, width: 1, height: 1 };
const shut = new Set();
const MANY = 90, SOME = 26;
let nodes = new Map(), edges = [], total = 0, grouped = null, graphDrawn = false, reach = 0, about = "";

const right = (row) => row.text.trim().replace(/^(read|state|keep)\s+/, "").replace(/^[^=:]*=\s*/, "");
const idOf = (row) => (row.key ? `${row.loop}/loop:${row.key}` : row.makes.length ? `${row.loop}/${row.makes[0]}` : null);

function collect() {
  nodes = new Map(); edges = [];
  for (const [side, p] of [["b", BEFORE], ["a", AFTER]]) {
    const makers = new Map();
    for (const row of p.rows) {
      const id = idOf(row);
      if (!id) continue;
      if (!nodes.has(id)) nodes.set(id, { id, scope: row.loop, loop: row.key, name: row.makes[0] || row.key, members: [] });
      nodes.get(id)[side] = row;
      row.makes.forEach((m) => makers.set(m, id));
    }
    for (const row of p.rows) {
      const to = idOf(row);
      if (!to) continue;
      for (const m of row.reads) if (makers.has(m) && makers.get(m) !== to) edges.push({ from: makers.get(m), to, side });
      if (row.next && makers.has(row.next)) edges.push({ from: makers.get(row.next), to, side, back: true });
    }
  }
  if (grouped) group();
  for (const n of nodes.values()) {
    const b = n.b, a = n.a;
    n.state = n.loop ? "same" : b && a ? (b.text === a.text ? "same" : "changed") : fate(n.name) === "moved" ? "moved" : b ? "gone" : "new";
    for (const m of n.members) if (n.state === "same" && m.state) n.state = m.state;
  }
  if (folded.size) mergeLayers();
  if (grouped) mergeAlike();
  total = [...nodes.values()].filter((n) => !n.loop).length;
  if (reach) around(about);
  for (const n of nodes.values()) {
    n.text = { b: n.b && label(n, "b"), a: n.a && label(n, "a") };
    const wide = Math.max(n.name.length + (n.group ? 22 : 12), ...[n.text.b, n.text.a].filter(Boolean).map((t) => t.length));
    n.w = Math.min(270, Math.max(64, wide * 6.2 + 18)); n.h = 36;
  }
}
function label(n, side) {
  const text = whole(n, side);
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}
function whole(n, side) {
  let text = n[side].kind === "input" ? n[side].text.trim().replace(/^[^:]*:\s*/, "") : right(n[side]);
  for (const m of [...n.members].reverse()) if (m[side]) text = text.replace(new RegExp(`(^|[^\\w])${m.name}(?![\\w])`), (_, c) => `${c}${/^[\w.]+\(.*\)$/.test(right(m[side])) ? right(m[side]) : `(${right(m[side])})`}`);
  return text;
}

// An operator that one other operator alone reads is drawn as a part of that one: gates become one node each.
function group() {
  dropLeaves();
  const users = new Map();
  for (const e of edges) if (!e.back) users.set(`${e.from} ${e.side}`, [...(users.get(`${e.from} ${e.side}`) || []), e.to]);
  const into = new Map();
  const order = [...nodes.values()].filter((n) => !n.loop && ["compute", "read"].includes((n.b || n.a).kind));
  for (const n of order) {
    const hosts = new Set(), sides = ["b", "a"].filter((s) => n[s]);
    let fits = true;
    for (const s of sides) {
      const found = users.get(`${n.id} ${s}`) || [];
      const host = found.length === 1 ? nodes.get(found[0]) : null;
      const read = ((s === "b" ? BEFORE : AFTER).users.get(n.name) || []).filter((r) => r.kind !== "keep" || !grouped);
      if (!host || read.length !== 1 || host.scope !== n.scope || host.loop || host[s]?.kind !== "compute") fits = false; else hosts.add(host.id);
    }
    const host = nodes.get([...hosts][0]);
    if (!fits || hosts.size !== 1 || n.state === "new" || sides.some((s) => !host[s]) || ["b", "a"].some((s) => host[s] && !n[s])) continue;
    into.set(n.id, host.id);
  }
  const root = (id) => (into.has(id) ? root(into.get(id)) : id);
  const size = new Map();
  for (const id of [...into.keys()].reverse()) {
    const host = root(id), n = (size.get(host) || 0) + 1;
    if (n > 4) { into.delete(id); continue; }
    size.set(host, n);
  }
  for (const id of into.keys()) {
    const n = nodes.get(id);
    n.state = n.b && n.a ? (n.b.text === n.a.text ? "" : "changed") : n.b ? "gone" : "new";
    nodes.get(root(id)).members.push(n);
  }
  edges = edges.map((e) => ({ ...e, from: root(e.from), to: root(e.to) })).filter((e) => e.from !== e.to || e.back);
  for (const id of into.keys()) nodes.delete(id);
}

// Inputs are named in the operators that read them; what a loop keeps is said at the value.
function dropLeaves() {
  const kept = new Map();
  for (const n of [...nodes.values()]) {
    const kinds = ["b", "a"].filter((s) => n[s]).map((s) => n[s].kind);
    if (kinds.every((k) => k === "input" || k === "const")) nodes.delete(n.id);
    else if (kinds.every((k) => k === "keep")) {
      const values = new Set(edges.filter((e) => e.to === n.id && !e.back).map((e) => e.from));
      const [value] = values;
      if (values.size !== 1 || !nodes.has(value) || nodes.get(value).loop) continue;
      nodes.get(value).keeps = [...(nodes.get(value).keeps || []), n];
      kept.set(n.id, value);
      nodes.delete(n.id);
    }
  }
  edges = edges.map((e) => ({ ...e, from: kept.get(e.from) || e.from })).filter((e) => nodes.has(e.from) && nodes.has(e.to));
}

// Of a large program: what stands around one value, and the loops that hold it.
const has = (n, name) => namesOf(n).includes(name);
const nodeOf = (name) => [...nodes.values()].find((n) => !n.loop && has(n, name));
function around(name) {
  const root = nodeOf(name);
  if (!root) return;
  const beside = new Map();
  for (const e of edges) for (const [x, y] of [[e.from, e.to], [e.to, e.from]]) beside.set(x, [...(beside.get(x) || []), y]);
  const kept = new Set([root.id]);
  let edge = [root.id];
  for (let d = 0; d < reach; d++) {
    const next = [];
    for (const x of edge) for (const y of beside.get(x) || []) if (!kept.has(y) && !nodes.get(y).loop && kept.size < SOME) { kept.add(y); next.push(y); }
    edge = next;
  }
  const loops = new Set([...kept].flatMap((id) => above(nodes.get(id)).slice(1).map((n) => n.id)));
  for (const id of [...nodes.keys()]) if (!kept.has(id) && !loops.has(id)) nodes.delete(id);
  edges = edges.filter((e) => nodes.has(e.from) && nodes.has(e.to));
}
function dearest() {
  const rows = [...BEFORE.rows].filter((r) => r.kind === "compute" && r.makes.length).sort((x, y) => (y.cost || 0) - (x.cost || 0));
  return (rows.find((r) => fate(r.makes[0]) === "changed") || rows[0] || BEFORE.rows[0])?.makes[0] || "";
}

// Layout: each loop by itself, from the inside out.
function above(n) {
  const out = [n];
  for (let at = n; at.scope; ) {
    at = [...nodes.values()].find((x) => x.loop === at.scope);
    if (!at) break;
    out.push(at);
  }
  return out;
}
function layout() {
  const children = new Map();
  for (const n of nodes.values()) children.set(n.scope, [...(children.get(n.scope) || []), n]);
  const chains = new Map([...nodes.values()].map((n) => [n.id, above(n)]));
  const lifted = new Map();
  for (const e of edges) {
    if (e.back) continue;
    const u = chains.get(e.from), v = chains.get(e.to);
    for (const x of u || []) {
      const y = (v || []).find((z) => z.scope === x.scope);
      if (y) { if (x !== y) lifted.set(x.scope, [...(lifted.get(x.scope) || []), [x.id, y.id]]); break; }
    }
  }
  const inner = (scope) => {
    const g = new dagre.graphlib.Graph();
    g.setGraph({ rankdir: "TB", edgesep: 2, nodesep: 12, ranksep: 26, marginx: 12, marginy: 12 });
    g.setDefaultEdgeLabel(() => ({}));
    for (const n of children.get(scope) || []) {
      if (n.loop && !shut.has(n.loop)) { const box = inner(n.loop); n.w = Math.max(box.width, 220); n.h = box.height + 24; }
      else if (n.loop) { n.w = Math.max(220, n.w); n.h = 40; }
      g.setNode(n.id, { width: n.w, height: n.h });
    }
    for (const [x, y] of lifted.get(scope) || []) g.setEdge(x, y);
    dagre.layout(g);
    for (const n of children.get(scope) || []) { const at = g.node(n.id); n.lx = at.x - n.w / 2; n.ly = at.y - n.h / 2; }
    const size = g.graph();
    return { width: Math.max(size.width || 0, 10), height: Math.max(size.height || 0, 10) };
  };
  const size = inner("");
  const place = (scope, x, y, seen) => {
    for (const n of children.get(scope) || []) {
      n.x = x + n.lx; n.y = y + n.ly; n.seen = seen;
      if (n.loop) place(n.loop, n.x, n.y + 24, seen && !shut.has(n.loop));
    }
  };
  place("", 0, 0, true);
  view.width = size.width; view.height = size.height;
}

// The title of a loop, as much of it as fits above its box.
function loopTitle(n, row, more) {
  const text = row.text.trim(), room = Math.max(12, Math.floor((n.w - 34) / 7.7) - more.length);
  return `${text.length > room ? `${text.slice(0, room - 1)}…` : text} ${more}`;
}
function paneText(side, p) {
  const out = [], order = [...nodes.values()].filter((n) => n.seen);
  const spot = (id) => { let n = nodes.get(id); if (!n) return null; for (const x of above(n)) if (x.seen) return x; return null; };
  for (const n of order.filter((x) => x.loop).sort((x, y) => y.w * y.h - x.w * x.h)) {
    const row = n[side], closed = shut.has(n.loop);
    const pile = piledOn(n, side) ? [10, 5].map((d) => `<rect class="pile" x="${n.x + d}" y="${n.y + d}" width="${n.w}" height="${n.h}"/>`).join("") : "";
    out.push(`<g class="loopbox ${row ? "" : "ghost"}" data-loop="${n.loop}" style="--axis:${hueOfLoop(n.loop)}">${pile}<rect class="axis" x="${n.x}" y="${n.y}" width="${n.w}" height="${n.h}"/>${row ? `<text x="${n.x + 10}" y="${n.y + 16}">${closed ? "▸" : "▾"} ${esc(loopTitle(n, row, `${costText(p.loops.get(n.loop)?.cost)}${piledOn(n, side) ? `, and ${piledOn(n, side)} more alike` : ""}`))}</text>` : ""}</g>`);
  }
  for (const e of edges) {
    if (e.side !== side) continue;
    const u = spot(e.from), v = spot(e.to);
    if (!u || !v || (u === v && !e.back)) continue;
    const x1 = u.x + u.w / 2, y1 = u.y + u.h, x2 = v.x + v.w / 2, y2 = v.y, dy = Math.max(18, Math.abs(y2 - y1) / 2.4);
    const d = e.back ? `M${u.x + u.w} ${u.y + u.h / 2} C${u.x + u.w + 60} ${u.y + u.h / 2} ${v.x + v.w + 60} ${v.y + v.h / 2} ${v.x + v.w} ${v.y + v.h / 2}` : `M${x1} ${y1}C${x1} ${y1 + dy} ${x2} ${y2 - dy} ${x2} ${y2}`;
    const kind = e.back ? "back" : u.scope !== v.scope && nodes.size > 90 ? "cross" : "";
    out.push(`<path data-f="${esc(u.name)}" data-t="${esc(v.name)}"${kind ? ` class="${kind}"` : ""} d="${d}"/>`);
  }
  for (const n of order) {
    if (n.loop) continue;
    const row = n[side];
    if (!row) { out.push(`<g class="ghost"><rect x="${n.x}" y="${n.y}" width="${n.w}" height="${n.h}" rx="5"/></g>`); continue; }
    const kept = (n.keeps || []).filter((k) => k[side]).length ? " kept" : "", at = reach && has(n, about) ? " about" : "";
    const pile = n.alike || piledOn(n, side) ? [6, 3].map((d) => `<rect class="pile" x="${n.x + d}" y="${n.y + d}" width="${n.w}" height="${n.h}" rx="5"/>`).join("") : "";
    const many = n.group ? `<text class="many" data-group="${esc(n.group)}" x="${n.x + n.w - 8}" y="${n.y + 15}">${n.alike ? `▸ ${n.alike.length + 1} alike` : "▾ alike"}</text>` : piledOn(n, side) ? `<text class="many" x="${n.x + n.w - 8}" y="${n.y + 15}">× ${piledOn(n, side) + 1}</text>` : "";
    out.push(`<g class="node ${row.group || row.kind} ${n.state !== "same" ? `st-${n.state}` : ""}${at}" data-n="${esc(n.name)}" data-in="${esc(namesOf(n).slice(1).join(" "))}">${pile}<rect x="${n.x}" y="${n.y}" width="${n.w}" height="${n.h}" rx="5"/><circle cx="${n.x + 9}" cy="${n.y + 11}" r="4" fill="hsl(${hueOf(n.name)} 65% 50%)"/><text x="${n.x + 17}" y="${n.y + 15}">${esc(n.name)}<tspan class="n2">${esc(`  ${row.kind === "compute" ? (row.cost > 0.01 * p.cost ? costText(row.cost) : "") : row.kind}${kept}`)}</tspan></text>${many}<text class="n2" x="${n.x + 8}" y="${n.y + 29}">${esc(n.text[side])}</text></g>`);
  }
  return out.join("");
}

function setUpGraph() {
  $("#graph").insertAdjacentHTML("beforeend", `<div class="bar"><button data-zoom="1.25">+</button><button data-zoom="0.8">−</button><button data-fit>fit</button><button data-dear>dearest loop</button>
    <label>show <select id="reach"><option value="0">everything</option>${[1, 2, 3, 4].map((n) => `<option value="${n}">${n} around the chosen value</option>`).join("")}</select></label>
    <label><input type="checkbox" id="grouped"/> grouped: what is computed alike, as gates are, is one box; what is read once stands in its reader</label>
    <button data-save="b">save left as SVG</button><button data-save="a">right</button>
    <span class="legend"><span class="k-gone">gone</span> <span class="k-new">new</span> <span class="k-changed">had in another way</span> <span class="k-moved">moved</span></span>
    <span class="legend">${["arith", "product", "transcendental", "reduction", "memory"].map((k) => `<span style="background:var(--${k})">${{ arith: "arithmetic", transcendental: "exp, tanh, …" }[k] || k}</span>`).join(" ")}</span>
    ${layerButtons()}<span id="about" class="soft"></span><span class="soft">From top to bottom; dashed: to the next step. Drag to move, wheel to zoom; click a loop's title to fold it. What is on one side only leaves an empty place on the other.</span></div>
    <div class="panes">${["b", "a"].map((s) => `<div class="graph" data-side="${s}" tabindex="0"><svg class="main"><g></g></svg><h4>${s === "b" ? "as written" : "as it runs"}</h4><svg class="mini"></svg></div>`).join("")}</div>`);
  grouped = BEFORE.rows.length > 80;
  $("#grouped").checked = grouped;
  collect();
  reach = nodes.size > MANY ? 2 : 0;
  $("#reach").value = reach;
  $("#reach").onchange = (e) => { reach = +e.target.value; about = state.name || about || dearest(); drawGraph(); fit(); };
  $("#grouped").onchange = (e) => { grouped = e.target.checked; drawGraph(); fit(); };
  for (const key of closed) shut.add(key);
  const root = $("#graph");
  root.addEventListener("click", (e) => {
    const t = e.target;
    if (t.dataset.zoom) zoom(+t.dataset.zoom);
    if (t.dataset.fit !== undefined) fit();
    if (t.dataset.dear !== undefined) { if (reach) { about = dearest(); drawGraph(); } fit(state.dearest); }
    if (t.dataset.save) return save(`${H.name || "function"}-${t.dataset.save === "b" ? "as-written" : "as-it-runs"}.svg`, svgOf(t.dataset.save), "image/svg+xml");
    if (t.dataset.group) return toggleAlike(t.dataset.group);
    if (t.dataset.layer) { toggleLayers(t.dataset.layer); return fit(); }
    const node = t.closest("g.node"), box = t.closest("g.loopbox");
    if (node) select(node.dataset.n);
    else if (box && t.tagName === "text") { shut.has(box.dataset.loop) ? shut.delete(box.dataset.loop) : shut.add(box.dataset.loop); drawGraph(); }
  });
  for (const pane of $$(".graph", root)) wire(pane);
  state.listeners.push(markGraph);
}
function wire(pane) {
  const svg = $("svg.main", pane);
  let from = null;
  svg.addEventListener("wheel", (e) => { e.preventDefault(); const r = svg.getBoundingClientRect(); zoom(Math.exp(-e.deltaY * 0.0015), e.clientX - r.left, e.clientY - r.top); }, { passive: false });
  svg.addEventListener("pointerdown", (e) => { from = { x: e.clientX - view.x, y: e.clientY - view.y, id: e.pointerId, moved: false, sx: e.clientX, sy: e.clientY }; });
  svg.addEventListener("pointermove", (e) => {
    if (!from || (!from.moved && Math.hypot(e.clientX - from.sx, e.clientY - from.sy) < 4)) return;
    if (!from.moved) svg.setPointerCapture(from.id);
    from.moved = true; view.x = e.clientX - from.x; view.y = e.clientY - from.y; moveAll();
  });
  for (const end of ["pointerup", "pointercancel", "pointerleave"]) svg.addEventListener(end, () => { from = null; });
  const mini = $("svg.mini", pane);
  const jump = (e) => { if (!(e.buttons & 1)) return; const r = mini.getBoundingClientRect(), k = Math.min(r.width / view.width, r.height / view.height), p = svg.getBoundingClientRect();
    view.x = p.width / 2 - ((e.clientX - r.left - (r.width - view.width * k) / 2) / k) * view.k; view.y = p.height / 2 - ((e.clientY - r.top - (r.height - view.height * k) / 2) / k) * view.k; moveAll(); };
  mini.addEventListener("pointerdown", jump); mini.addEventListener("pointermove", jump);
}
function drawGraph() {
  collect(); layout();
  for (const pane of $$(".graph")) {
    const side = pane.dataset.side;
    $("svg.main g", pane).innerHTML = paneText(side, side === "b" ? BEFORE : AFTER);
    $("svg.mini", pane).setAttribute("viewBox", `0 0 ${view.width} ${view.height}`);
    $("svg.mini", pane).innerHTML = [...nodes.values()].filter((n) => n.seen && n[side] && (!n.loop || shut.has(n.loop))).map((n) => `<rect class="st-${n.state}" x="${n.x}" y="${n.y}" width="${n.w}" height="${n.h}"/>`).join("") + '<rect class="view"/>';
  }
  graphDrawn = true;
  $("#about").textContent = reach ? `Around ${about}: ${[...nodes.values()].filter((n) => !n.loop).length} of ${total} boxes.` : "";
  moveAll(); markGraph(state.name);
}
function moveAll() {
  for (const pane of $$(".graph")) {
    $("svg.main g", pane).setAttribute("transform", `translate(${view.x} ${view.y}) scale(${view.k})`);
    const r = $("svg.main", pane).getBoundingClientRect(), box = $("svg.mini rect.view", pane);
    if (box) for (const [k, v] of Object.entries({ x: -view.x / view.k, y: -view.y / view.k, width: r.width / view.k, height: r.height / view.k })) box.setAttribute(k, v);
  }
}
function zoom(by, x, y) {
  const r = $(".graph svg.main").getBoundingClientRect();
  x ??= r.width / 2; y ??= r.height / 2;
  const k = Math.max(0.03, Math.min(4, view.k * by));
  view.x = x - ((x - view.x) * k) / view.k; view.y = y - ((y - view.y) * k) / view.k; view.k = k;
  moveAll();
}
function fit(key) {
  const n = key && [...nodes.values()].find((x) => x.loop === key && x.seen);
  const [x, y, w, h] = n ? [n.x, n.y, n.w, n.h] : [0, 0, view.width, view.height];
  const r = $(".graph svg.main").getBoundingClientRect();
  view.k = Math.min(1.3, r.width / (w + 20), n ? Math.max(r.height / (h + 20), 0.45) : r.height / (h + 20));
  if (n && w * 0.45 > r.width) view.k = 0.45;
  view.k = Math.max(0.03, view.k);
  view.x = Math.max((r.width - w * view.k) / 2, n ? 10 : -1e9) - x * view.k; view.y = Math.max((r.height - h * view.k) / 2, n ? 10 : -1e9) - y * view.k;
  moveAll();
}
function markGraph(name) {
  if (!graphDrawn) return;
  if (name && reach && !nodeOf(name)) { about = name; drawGraph(); fit(); return; }
  const inputs = new Set([BEFORE, AFTER].flatMap((p) => p.by.get(name)?.reads || []));
  let first;
  for (const g of $$(".graph g.node")) {
    const names = [g.dataset.n, ...g.dataset.in.split(" ")];
    const on = !!name && names.includes(name);
    g.classList.toggle("pinned", on);
    g.classList.toggle("input-of", !on && names.some((n) => inputs.has(n)));
    first ||= on ? g.dataset.n : undefined;
  }
  for (const e of $$(".graph path")) e.classList.toggle("lit", !!first && (e.dataset.f === first || e.dataset.t === first));
}
function showGraph() {
  if (!graphDrawn) { about = state.name || dearest(); drawGraph(); fit(); if (!reach && !state.name && view.k < 0.6) fit(state.dearest); if (reach) centre(about); }
  if (state.name) centre(state.name);
}
function centre(name) {
  const n = nodeOf(name);
  if (!n) return;
  for (let key = n.scope; key; key = [...nodes.values()].find((x) => x.loop === key)?.scope) if (shut.delete(key)) { drawGraph(); return centre(name); }
  const r = $(".graph svg.main").getBoundingClientRect();
  const x = view.x + n.x * view.k, y = view.y + n.y * view.k;
  if (view.k >= 0.6 && x > 20 && y > 20 && x + n.w * view.k < r.width - 20 && y + n.h * view.k < r.height - 20) return;
  view.k = Math.max(view.k, 0.7);
  view.x = r.width / 2 - (n.x + n.w / 2) * view.k; view.y = r.height / 2 - (n.y + n.h / 2) * view.k;
  moveAll();
}
