"use strict";
// What is computed alike at one place, as the gates of a layer are, stands in one box that can be opened.
const opened = new Set();

const partsOf = (n) => [n, ...n.members, ...(n.keeps || [])];
const namesOf = (n) => [...partsOf(n).map((m) => m.name), ...[...(n.alike || []), ...(n.piled || [])].flatMap(namesOf)];

// A number for each node of one side: the same where the operators, and all they are made of in that loop, are the same.
function shapes(side) {
  const makers = new Map(), numbers = new Map(), shape = new Map();
  for (const n of nodes.values()) if (!n.loop) for (const m of partsOf(n)) for (const name of m[side]?.makes || []) makers.set(name, n);
  const word = (w, n) => {
    const maker = makers.get(w);
    if (maker && maker !== n && maker.scope === n.scope) return `#${visit(maker)}`;
    return maker || NAMES.has(w) ? "·" : w;
  };
  const visit = (n) => {
    if (shape.has(n.id)) return shape.get(n.id);
    shape.set(n.id, -1);
    const state = n[side].kind === "state";
    const text = whole(n, side).replace(/[\p{L}_][\p{L}\p{N}_]*/gu, (w) => (state && NAMES.has(w) ? "·" : word(w, n)));
    const key = `${n.scope} ${n[side].kind} ${text} ${(n.keeps || []).filter((k) => k[side]).length}`;
    if (!numbers.has(key)) numbers.set(key, numbers.size);
    shape.set(n.id, numbers.get(key));
    return numbers.get(key);
  };
  for (const n of nodes.values()) if (!n.loop && n[side]) visit(n);
  return shape;
}

function mergeAlike() {
  const b = shapes("b"), a = shapes("a"), groups = new Map(), into = new Map();
  for (const n of nodes.values()) {
    if (n.loop) continue;
    const key = `${n.scope} ${b.get(n.id) ?? ""} ${a.get(n.id) ?? ""} ${n.state}`;
    groups.set(key, [...(groups.get(key) || []), n]);
  }
  for (const [key, list] of groups) {
    if (list.length < 2) continue;
    for (const n of list) n.group = key;
    if (opened.has(key)) continue;
    list[0].alike = list.slice(1);
    for (const n of list[0].alike) { into.set(n.id, list[0].id); nodes.delete(n.id); }
  }
  const root = (id) => into.get(id) || id, seen = new Set();
  edges = edges.map((e) => ({ ...e, from: root(e.from), to: root(e.to) })).filter((e) => {
    const key = `${e.from} ${e.to} ${e.side} ${!!e.back}`;
    return (e.from !== e.to || e.back) && !seen.has(key) && seen.add(key);
  });
}
function toggleAlike(key) {
  opened.has(key) ? opened.delete(key) : opened.add(key);
  drawGraph();
}

// A pane as a picture of its own.
function svgOf(side) {
  const box = `0 0 ${Math.ceil(view.width)} ${Math.ceil(view.height)}`, style = $("style").textContent.replace(/</g, "&lt;");
  const inner = new XMLSerializer().serializeToString($(`.graph[data-side=${side}] svg.main g`)).replace(/ transform="[^"]*"/, "");
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${box}" width="${Math.ceil(view.width)}" height="${Math.ceil(view.height)}"><style>${style}</style><rect width="100%" height="100%" style="fill:var(--card)"/><g class="graph">${inner}</g></svg>`;
}
function save(name, text, type) {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(new Blob([text], { type }));
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 1000);
}
