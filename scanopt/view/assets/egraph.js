"use strict";
// The e-graph: classes with their alternatives around one class, or those that a law or the first rounds speak of.
let classAt = -1;
const CARDS = 40;

function setUpEgraph() {
  const laws = [...new Set(FORMS.map((f) => f.law).filter(Boolean))].sort(), rounds = Math.max(0, ...FORMS.map((f) => f.round));
  $("#egraph").insertAdjacentHTML("beforeend", `<p class="soft">${CLASSES.size.toLocaleString("en")} classes of equal terms, ${FORMS.length.toLocaleString("en")} terms${H.egraph.left_out ? `; ${H.egraph.left_out.toLocaleString("en")} ${H.egraph.left_out === 1 ? "class" : "classes"} far from the programs left out` : ""}. ✓ is what was chosen; the stripe has the colour of the law that made the term.</p>
    <div class="bar"><input id="egfind" placeholder="term, name or type" size="22" aria-label="Filter classes"/>
    <select id="eglaw" aria-label="Law"><option value="">any law</option>${laws.map((l) => `<option>${esc(l)}</option>`).join("")}</select>
    <label>up to round <input type="range" id="eground" min="0" max="${rounds + 1}" value="${rounds + 1}"/> <b id="egroundat"></b></label>
    <label>neighbours <select id="egnear"><option>0</option><option selected>1</option><option>2</option><option>3</option></select></label>
    <label><input type="checkbox" id="egmany"/> only classes with alternatives</label>
    <label>left <select id="egside"><option value="">classes</option>${H.programs.map((p, n) => `<option value="${n + 1}">${n ? `best program ${n === H.programs.length - 1 ? "in the end" : `after ${esc(H.steps.filter((s) => s.after === n && s.before !== n).map((s) => s.law).join(", "))}`}` : "program as written"}, ${costText(p.cost)}</option>`).join("")}</select></label></div>
    <div class="eg"><div class="list card"></div><div class="cards"></div></div><div id="unions"></div>`);
  for (const id of ["egfind", "eglaw", "eground", "egnear", "egmany", "egside"]) $(`#${id}`).oninput = drawEgraph;
  $("#egraph .list").onclick = (e) => { const a = e.target.closest("a[data-c]"); if (a) { e.preventDefault(); showClass(+a.dataset.c); remember(); } };
  $("#egraph .cards").onclick = (e) => { const box = e.target.closest(".cls"); if (box && !e.target.closest("a, .v")) { showClass(+box.dataset.c); remember(); } };
  state.listeners.push((name) => {
    const c = (AFTER.by.get(name) || BEFORE.by.get(name))?.class;
    if (CLASSES.has(c)) { classAt = c; if ($("#egraph").classList.contains("on")) drawEgraph(); }
  });
}
const lawHue = (law) => hue([...LAWS.keys()].indexOf(law));
const until = () => +$("#eground").value;
const shownForms = (cls) => cls.forms.filter((f) => f.written || f.round < until());
// What choosing another form than the one written saved, where it did.
function gain(cls) {
  if (cls.gain === undefined) {
    const of = (keep) => Math.min(...cls.forms.filter(keep).map((f) => f.total ?? Infinity));
    const less = of((f) => f.written) - of((f) => f.chosen && !f.written);
    cls.gain = Number.isFinite(less) ? Math.max(0, less) : 0;
  }
  return cls.gain;
}
function drawEgraph() {
  $("#egroundat").textContent = until() > Math.max(0, ...FORMS.map((f) => f.round)) ? "the last" : until() ? `${until()}` : "0, as written";
  const text = $("#egfind").value.toLowerCase(), law = $("#eglaw").value, many = $("#egmany").checked;
  const found = [...CLASSES.values()].filter((cls) => {
    const forms = shownForms(cls);
    return forms.length && (!many || forms.length > 1) && (!law || forms.some((f) => f.law === law) || cls.said.some((e) => e.law === law)) && (!text || `${className(cls.c)} ${cls.type} ${forms.map((f) => f.text).join(" ")}`.toLowerCase().includes(text));
  });
  found.sort((x, y) => gain(y) - gain(x) || y.forms.length - x.forms.length);
  if (!CLASSES.has(classAt) || ((law || text) && !found.some((x) => x.c === classAt))) classAt = found[0]?.c ?? -1;
  if ($("#egside").value) { drawTwin(+$("#egside").value - 1); return drawCards(); }
  const best = (cls) => (cls.forms.find((f) => f.chosen) || cls.forms[0]).text;
  $("#egraph .list").innerHTML = `<b>${found.length.toLocaleString("en")} classes</b>${found.slice(0, 300).map((cls) => `<a href="#egraph/${cls.c}" data-c="${cls.c}" class="${cls.c === classAt ? "on" : ""} ${cls.forms.some((f) => f.chosen) ? "c" : ""}">${esc(className(cls.c))} = ${esc(best(cls))} <span class="soft">${shownForms(cls).length > 1 ? shownForms(cls).length : ""}</span></a>`).join("")}${found.length > 300 ? `<p class="soft">and ${found.length - 300} more: narrow the filter</p>` : ""}`;
  drawCards();
}
// A program beside its e-graph: each line leads to its class, and lights it.
function drawTwin(number) {
  const rows = H.programs[number].lines.map((n) => H.lines[n]), c = (r) => r.value ?? r.class;
  $("#egraph .list").innerHTML = rows.map((r) => (CLASSES.has(c(r)) && r.makes.length ? `<a href="#egraph/${c(r)}" data-c="${c(r)}" class="twin mono ${c(r) === classAt ? "on" : ""}" style="padding-left:${6 + 10 * r.depth}px">${esc(r.text.trim())}</a>` : `<span class="twin mono soft" style="padding-left:${6 + 10 * r.depth}px">${esc(r.text.trim())}</span>`)).join("");
  for (const a of $$("#egraph .list a.twin")) a.onpointerenter = a.onpointerleave = (e) => { for (const box of $$(`#egraph .cls[data-c="${a.dataset.c}"]`)) box.classList.toggle("lit", e.type === "pointerenter"); };
}
// What it costs, and of the class in the middle also by itself, per step, and the law that made it.
function told(f, c, loop) {
  if (c !== classAt) return costText(f.total);
  const trips = loop?.trips ? ` = ${costText(f.cost / loop.trips)} × ${loop.trips.toLocaleString("en")}` : "";
  return `${costText(f.total)} in all · own ${costText(f.cost)}${trips} · ${f.written ? "as written" : f.law || "by facts"}`;
}
function near(c, depth) {
  const seen = new Set([c]);
  let edge = [c];
  for (let d = 0; d < depth && seen.size < CARDS; d++) {
    const next = [];
    for (const x of edge) {
      const cls = CLASSES.get(x);
      for (const y of [...shownForms(cls).flatMap((f) => f.args), ...cls.users]) if (CLASSES.has(y) && !seen.has(y) && seen.size < CARDS && shownForms(CLASSES.get(y)).length) { seen.add(y); next.push(y); }
    }
    edge = next;
  }
  return [...seen];
}
function drawCards() {
  const cards = $("#egraph .cards"), root = CLASSES.get(classAt);
  if (!root) { cards.innerHTML = '<p class="soft" style="padding:10px">No class.</p>'; $("#unions").innerHTML = ""; return; }
  const shown = near(classAt, +$("#egnear").value), there = new Set(shown);
  const g = new dagre.graphlib.Graph();
  g.setGraph({ rankdir: "TB", nodesep: 18, ranksep: 34, marginx: 12, marginy: 12 });
  g.setDefaultEdgeLabel(() => ({}));
  const lines = (cls) => { const f = [...shownForms(cls)].sort((x, y) => y.chosen - x.chosen || (x.total ?? 1e300) - (y.total ?? 1e300)); return cls.c === classAt ? f : f.slice(0, 4); };
  for (const c of shown) {
    const cls = CLASSES.get(c), ls = lines(cls);
    const loop = H.egraph.loops[cls.loop], head = `${className(c)} ${cls.type || ""}${loop ? ` in ${loop.label || "loop"}` : ""}`;
    const width = Math.min(c === classAt ? 900 : 360, Math.max(170, ...ls.map((f) => f.text.length * 7.1 + told(f, c, loop).length * 5.9 + 46), head.length * 7.2 + 40));
    g.setNode(c, { width, height: Math.min(22 + 19 * ls.length + (shownForms(cls).length > ls.length ? 17 : 0) + (c === classAt ? 3 : 0), 330) });
  }
  for (const c of shown) for (const a of new Set(shownForms(CLASSES.get(c)).flatMap((f) => f.args))) if (there.has(a) && a !== c) g.setEdge(a, c);
  dagre.layout(g);
  const size = g.graph();
  const paths = g.edges().map((e) => { const u = g.node(e.v), v = g.node(e.w); const y1 = u.y + u.height / 2, y2 = v.y - v.height / 2; return `<path d="M${u.x} ${y1}C${u.x} ${y1 + 20} ${v.x} ${y2 - 20} ${v.x} ${y2}"/>`; });
  cards.innerHTML = `<svg width="${size.width}" height="${size.height}">${paths.join("")}</svg>${shown.map((c) => {
    const n = g.node(c), cls = CLASSES.get(c), ls = lines(cls), loop = H.egraph.loops[cls.loop];
    return `<div class="cls ${c === classAt ? "on" : ""}" data-c="${c}" style="left:${n.x - n.width / 2}px;top:${n.y - n.height / 2}px;width:${n.width}px;height:${n.height}px"><h5><span>${NAMES.has(cls.name) ? linked(cls.name) : esc(className(c))}</span><span class="soft">${esc(cls.type || "")}${loop ? ` in ${esc(loop.label || "loop")}` : ""}</span></h5>${ls.map((f) => `<div class="mono ${f.chosen ? "chosen" : ""}" style="--h:${f.law ? lawHue(f.law) : 0}${f.law ? "" : ";border-color:var(--line)"}" title="${esc(`${f.text}\n${f.written ? "as written" : f.law || "by facts"}; own cost ${costText(f.cost)}, with all it is made of ${costText(f.total)}`)}">${f.chosen ? "✓ " : ""}${esc(f.text)} <small>${esc(told(f, c, loop))}</small></div>`).join("")}${shownForms(cls).length > ls.length ? `<div class="soft">and ${shownForms(cls).length - ls.length} more</div>` : ""}</div>`;
  }).join("")}`;
  const at = g.node(classAt);
  cards.scrollTo(Math.max(0, at.x - cards.clientWidth / 2), Math.max(0, at.y - cards.clientHeight / 2));
  $("#unions").innerHTML = `<div class="card" style="margin-top:10px"><h3 style="margin-top:0">What laws said of ${esc(className(classAt))}</h3>${root.said.length ? `<ul class="chain">${root.said.slice(0, 30).map((e) => `<li><span class="mono">${e.left == null ? "any of it" : linked(FORMS[e.left].text)} = ${e.right == null ? "any of it" : linked(FORMS[e.right].text)}</span> by ${lawLink(e.law)}</li>`).join("")}</ul>` : '<p class="soft">Nothing: it is as written, or facts tell it.</p>'}</div>`;
}
function showClass(c) { if (CLASSES.has(c)) { classAt = c; $("#eglaw").value = ""; $("#egfind").value = ""; } drawEgraph(); }
