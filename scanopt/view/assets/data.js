"use strict";
// The history, looked up by name, class and law; texts and small helpers that all views share.
const H = JSON.parse(document.getElementById("history").textContent);
const $ = (q, root = document) => root.querySelector(q);
const $$ = (q, root = document) => [...root.querySelectorAll(q)];
const esc = (s) => String(s).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const UNIT = H.report.unit;

function costText(x) {
  if (x == null) return "–";
  if (UNIT !== "ns") return x >= 1000 ? Math.round(x).toLocaleString("en") : String(+x.toPrecision(4));
  for (const [scale, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]]) if (x >= scale) return `${+(x / scale).toPrecision(3)} ${unit}`;
  return `${+x.toPrecision(3)} ns`;
}
function bytesText(x) {
  if (x == null) return "–";
  for (const [scale, unit] of [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) if (x >= scale) return `${+(x / scale).toPrecision(3)} ${unit}`;
  return `${x} B`;
}
// Names may be broken after an underscore.
const breakable = (s) => esc(s).replace(/_/g, "_<wbr/>");
const shortSite = (s) => s.replace(/[^\s(]*\//g, "");
const hue = (n) => (n * 137.508 + 200) % 360;

// Programs: lines, who makes a name, who reads it, what each loop holds.
function program(n) {
  const p = { number: n, cost: H.programs[n].cost, rows: H.programs[n].lines.map((i) => ({ ...H.lines[i], i })),
    by: new Map(), users: new Map(), loops: new Map(), classes: new Map() };
  for (const row of p.rows) {
    if (row.key) p.loops.set(row.key, { row, rows: [], cost: row.cost || 0 });
    for (const name of row.makes) if (!p.by.has(name)) p.by.set(name, row);
    const c = row.value ?? row.class;
    if (c != null && row.makes.length && !p.classes.has(c)) p.classes.set(c, row);
    for (const name of [...row.reads, ...(row.next ? [row.next] : [])]) {
      if (!p.users.has(name)) p.users.set(name, []);
      p.users.get(name).push(row);
    }
  }
  for (const row of p.rows) for (let key = row.loop; key && p.loops.has(key); key = p.loops.get(key).row.loop) {
    const loop = p.loops.get(key);
    loop.rows.push(row);
    loop.cost += row.cost || 0;
  }
  return p;
}
const BEFORE = program(0);
const AFTER = program(H.programs.length - 1);
const LOOP_KEYS = [...new Set([...BEFORE.loops.keys(), ...AFTER.loops.keys()])];
const hueOfLoop = (key) => hue(LOOP_KEYS.indexOf(key) + 3);
const hueOf = (name) => {
  const row = BEFORE.by.get(name) || AFTER.by.get(name);
  return hue(row ? row.value ?? row.class ?? row.i : 0);
};

// What became of a value: of one that is on one side only, the other side may still have it under another name.
function fate(name) {
  const b = BEFORE.by.get(name), a = AFTER.by.get(name);
  if (b && a) return b.loop !== a.loop ? "moved" : b.text === a.text ? "same" : "changed";
  return b ? "gone" : "new";
}
function counterpart(row, other) {
  for (const name of row.makes) if (other.by.has(name)) return other.by.get(name);
  const c = row.value ?? row.class;
  return c == null ? undefined : other.classes.get(c);
}
const FATES = {
  same: "computed in the same way", changed: "the same value, had in another way", moved: "the same value, in another place",
  gone: "no longer computed", new: "not there as written",
};

// The e-graph.
const COLUMNS = H.egraph.form_columns;
const FORMS = H.egraph.forms.map((row, n) => Object.assign({ n }, ...COLUMNS.map((c, i) => ({ [c]: row[i] }))));
const CLASSES = new Map(Object.entries(H.egraph.classes).map(([c, x]) => [+c, { c: +c, ...x, forms: [], users: new Set(), said: [] }]));
for (const f of FORMS) {
  const cls = CLASSES.get(f.class);
  if (cls) cls.forms.push(f);
  for (const a of f.args) CLASSES.get(a)?.users.add(f.class);
}
H.egraph.equalities.forEach(([c, law, left, right], n) => CLASSES.get(c)?.said.push({ n, c, law, left, right }));
const className = (c) => CLASSES.get(c)?.name || (CLASSES.get(c)?.forms.find((f) => f.kind === "const") || {}).text || `e${c}`;

// The laws that lead from one form of a class to another: the fewest, by what they said is equal.
function chain(c, from, to) {
  const cls = CLASSES.get(c);
  if (!cls) return null;
  const starts = new Set(from.map((f) => f.n)), goal = new Set(to.map((f) => f.n));
  const step = new Map([...starts].map((n) => [n, null]));
  const queue = [...starts];
  const all = cls.forms.map((f) => f.n);
  while (queue.length) {
    const n = queue.shift();
    if (goal.has(n)) {
      const way = [];
      for (let at = n; step.get(at); at = step.get(at).from) way.unshift({ ...step.get(at), to: at });
      return way;
    }
    const visit = (m, law) => { if (m !== n && !step.has(m)) { step.set(m, { from: n, law }); queue.push(m); } };
    for (const e of cls.said) {
      if (e.left === n && e.right != null) visit(e.right, e.law);
      else if (e.right === n && e.left != null) visit(e.left, e.law);
    }
    for (const e of cls.said) {
      if (e.left === n && e.right == null || e.right === n && e.left == null) all.forEach((m) => visit(m, e.law));
      else if (e.left == null && e.right != null || e.right == null && e.left != null) visit(e.left ?? e.right, e.law);
    }
  }
  return null;
}

const LAWS = new Map(H.laws.map((x) => [x.name, x]));
const STEP_OF = new Map(H.steps.map((s, n) => [s.law, n]).reverse());
const saving = (s) => s.cost_before - s.cost_after;

// Names in a text become things to point at.
const NAMES = new Set([...BEFORE.by.keys(), ...AFTER.by.keys()]);
const linked = (text) => esc(text).replace(/[\p{L}_][\p{L}\p{N}_]*/gu, (w) =>
  NAMES.has(w) ? `<span class="v" data-n="${w}" style="--h:${hueOf(w) | 0}">${w}</span>` : w);
const lawLink = (name) => name ? `<a class="go" data-golaw="${esc(name)}" href="#laws/${encodeURIComponent(name)}">${esc(name)}</a>` : "";

// The chosen value, and who wants to know of it.
const state = { name: "", listeners: [], views: {} };
function select(name, quiet) {
  state.name = NAMES.has(name) ? name : "";
  for (const listen of state.listeners) listen(state.name);
  if (!quiet) remember();
}
