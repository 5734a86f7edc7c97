"use strict";
// What is repeated in a program, as the layers of a network are: loops, or recurrences within one, of the same steps.
const folded = new Set(); // groups of layers of which the first alone is shown

// The parts of one scope: its rows, and its loops with all that is in them; what each makes and reads.
function partsOfScope(p, scope) {
  const inside = (key) => p.rows.filter((r) => { for (let k = r.loop; k; k = p.loops.get(k)?.row.loop) if (k === key) return true; return r.key === key; });
  const parts = [];
  for (const row of p.rows) {
    if (row.loop !== scope || row.kind === "return" || !(row.key || row.makes.length)) continue;
    const rows = row.key ? inside(row.key) : [row], made = new Set(rows.flatMap((r) => r.makes));
    parts.push({ rows, row, made, reads: new Set(rows.flatMap((r) => r.reads).filter((n) => !made.has(n) && NAMES.has(n))), next: row.next });
  }
  const maker = new Map(parts.flatMap((x) => [...x.made].map((n) => [n, x])));
  for (const x of parts) { x.from = [...x.reads].map((n) => maker.get(n)).filter(Boolean); x.back = maker.get(x.next); }
  return parts;
}

// Parts that need one another at the next step: strongly connected, by Tarjan's algorithm.
function recurrences(parts) {
  const number = new Map(), low = new Map(), stack = [], out = [];
  const visit = (x) => {
    number.set(x, number.size); low.set(x, number.get(x)); stack.push(x);
    for (const y of [...x.from, ...(x.back ? [x.back] : [])]) {
      if (!number.has(y)) { visit(y); low.set(x, Math.min(low.get(x), low.get(y))); } else if (stack.includes(y)) low.set(x, Math.min(low.get(x), number.get(y)));
    }
    if (low.get(x) !== number.get(x)) return;
    const found = stack.splice(stack.indexOf(x));
    if (found.length > 1 || x.row.key) out.push(parts.filter((y) => found.includes(y)));
  };
  for (const x of parts) if (!number.has(x)) visit(x);
  return out.sort((a, b) => parts.indexOf(a[0]) - parts.indexOf(b[0]));
}

// The rows of some parts with names by their place: the same text for what computes the same of other values.
function signature(parts) {
  const rows = parts.flatMap((x) => x.rows), place = new Map();
  for (const n of rows.flatMap((r) => r.makes)) if (!place.has(n)) place.set(n, `%${place.size}`);
  const text = (r) => (r.key ? `loop of ${r.trips}` : r.text.trim()).replace(/[\p{L}_][\p{L}\p{N}_]*/gu, (w) => place.get(w) || (NAMES.has(w) ? "·" : w));
  return rows.map((r) => `${r.kind} ${text(r)}`).join("\n");
}

// What one layer alone is fed by, or keeps, belongs to it.
function withSurroundings(parts, layers) {
  const owner = new Map(layers.flatMap((core, n) => core.map((x) => [x, n])));
  for (const x of [...parts].reverse()) {
    if (owner.has(x) || ["input", "const"].includes(x.row.kind)) continue;
    const of = x.row.kind === "keep" ? x.from : parts.filter((y) => y.from.includes(x));
    const owners = new Set(of.map((y) => owner.get(y)));
    if (owners.size === 1 && !owners.has(undefined)) owner.set(x, [...owners][0]);
  }
  return layers.map((core, n) => parts.filter((x) => owner.get(x) === n));
}
function leadsTo(from, to) {
  const seen = new Set(), todo = [...to];
  while (todo.length) for (const y of todo.pop().from) if (!seen.has(y)) { seen.add(y); todo.push(y); }
  return from.some((x) => seen.has(x));
}

// The groups of a program: of each the rows of its layers, and whether one leads to the next.
function findLayers(p) {
  p.layers = []; p.layerOf = new Map();
  for (const scope of ["", ...p.loops.keys()]) {
    const parts = partsOfScope(p, scope), alike = new Map();
    for (const core of recurrences(parts)) { const s = signature(core); alike.set(s, [...(alike.get(s) || []), core]); }
    for (const cores of alike.values()) {
      const small = cores[0].flatMap((x) => x.rows).length < 6; // two sums that run side by side say nothing
      if (cores.length < (small ? 3 : 2)) continue;
      const wide = withSurroundings(parts, cores), same = new Set(wide.map(signature)).size === 1;
      const layers = (same ? wide : cores).map((x) => x.flatMap((y) => y.rows));
      const chain = cores.slice(1).every((x, n) => leadsTo(cores[n], x));
      const group = { key: `${p.number ? "a" : "b"}${p.layers.length}`, scope, layers, chain };
      p.layers.push(group);
      layers.forEach((rows, n) => rows.forEach((row, at) => { if (!p.layerOf.has(row)) p.layerOf.set(row, { group, n, at }); }));
    }
  }
}
const layerTitle = ({ group, n }) => (folded.has(group.key) ? `▸ ${group.chain ? `layers 1–${group.layers.length}` : `${group.layers.length} alike`}` : `▾ ${group.chain ? "layer" : "alike"} ${n + 1} of ${group.layers.length}`);

// All of both programs; of a large one the layers are folded where they are many.
function setUpLayers() {
  for (const p of [BEFORE, AFTER]) {
    findLayers(p);
    if (p.rows.length > 60) for (const g of p.layers) if (g.layers.length > 2) folded.add(g.key);
  }
}
// The mark of a layer, where it begins.
function layerMark(p, row) {
  const at = p.layerOf.get(row);
  return at && !at.at ? `<span class="layer" data-layer="${at.group.key}" title="the same steps with other values: fold or unfold">${layerTitle(at)}</span>` : "";
}
function layerHidden(p, row) {
  const at = p.layerOf.get(row);
  return !!at && at.n > 0 && folded.has(at.group.key);
}
function toggleLayers(key) {
  folded.has(key) ? folded.delete(key) : folded.add(key);
  fold();
  for (const [side, p] of [["b", BEFORE], ["a", AFTER]]) for (const mark of $$(`[data-layer^="${side}"]`, $("#program"))) {
    const row = p.rows.find((r) => String(r.i) === mark.closest("td").dataset.line), at = p.layerOf.get(row);
    if (at) mark.textContent = layerTitle(at);
  }
  for (const button of $$("#graph button[data-layer]")) button.textContent = buttonTitle(groupOf(button.dataset.layer));
  if (graphDrawn) drawGraph();
}
const groupOf = (key) => [...BEFORE.layers, ...AFTER.layers].find((g) => g.key === key);
function buttonTitle(g) {
  const p = g.key[0] === "b" ? BEFORE : AFTER, label = g.scope && (p.loops.get(g.scope).row.label || "a loop"), where = label ? `, in ${label.length > 24 ? `${label.slice(0, 23)}…` : label}` : "";
  const what = g.chain ? `layers 1–${g.layers.length}` : `${g.layers.length} ${g.layers[0][0].key || g.layers[0].some((r) => r.key) ? "loops" : "recurrences"} alike`;
  return `${folded.has(g.key) ? "▸" : "▾"} ${what}${p === BEFORE ? " as written" : ""}${where}`;
}
const layerButtons = () => [...BEFORE.layers, ...AFTER.layers].map((g) => `<button data-layer="${g.key}" title="show the first alone, or all">${esc(buttonTitle(g))}</button>`).join("");
const piledOn = (n, side) => (n.piled || []).filter((m) => m[side]).length;

// In the graph: a layer that is folded stands in the first one, each box in the one that does the same there; by side,
// as one loop may be a layer as written, and another thing as it runs.
function mergeLayers() {
  const into = { b: new Map(), a: new Map() };
  for (const [side, p] of [["b", BEFORE], ["a", AFTER]]) for (const n of nodes.values()) {
    const at = n[side] && p.layerOf.get(n[side]);
    const to = at && at.n && folded.has(at.group.key) ? idOf(at.group.layers[0][at.at]) : n.id;
    if (to !== n.id && nodes.get(to)?.[side]) into[side].set(n.id, to);
  }
  for (const side of ["b", "a"]) for (const [id, to] of into[side]) {
    const n = nodes.get(id), goal = nodes.get(to);
    goal.piled = [...(goal.piled || []), { ...n, [side === "b" ? "a" : "b"]: undefined }];
    delete n[side];
  }
  for (const n of [...nodes.values()]) if (!n.b && !n.a) nodes.delete(n.id);
  for (const n of [...nodes.values()]) if (n.scope && ![...nodes.values()].some((x) => x.loop === n.scope)) nodes.delete(n.id);
  const seen = new Set();
  edges = edges.map((e) => ({ ...e, from: into[e.side].get(e.from) || e.from, to: into[e.side].get(e.to) || e.to })).filter((e) => {
    const key = `${e.from} ${e.to} ${e.side} ${!!e.back}`;
    return nodes.get(e.from)?.[e.side] && nodes.get(e.to)?.[e.side] && (e.from !== e.to || e.back) && !seen.has(key) && seen.add(key);
  });
}
