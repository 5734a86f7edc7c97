"use strict";
// Before and after as text: the page has it; here it is made to fold, to be pointed at, and to say what each value is.
const ROWS = [];
const closed = new Set();
let onlyChanges = false;

function setUpProgram() {
  const section = $("#program");
  setUpLayers();
  for (const tr of $$("table.code tbody tr", section)) {
    const cells = [...tr.children].map((td, side) => {
      const line = td.dataset.line;
      if (line === undefined) return null;
      const row = H.lines[line];
      const p = side ? AFTER : BEFORE, own = p.rows.find((r) => r.i === +line);
      $("code", td).innerHTML = (row.key ? `<span class="fold" data-fold="${row.key}" title="fold or unfold">▾</span>` : "") + linked(row.text.trim()) + layerMark(p, own);
      if (row.cost >= 0.001 * (BEFORE.cost || 1)) td.insertAdjacentHTML("afterbegin", `<span class="co">${costText(row.cost)}</span>`);
      td.dataset.names = row.makes.join(" ");
      const axis = row.key || row.loop;
      if (axis) { td.classList.add("axis"); td.style.setProperty("--axis", hueOfLoop(axis)); }
      return own;
    });
    ROWS.push({ tr, cells, same: !$("td.gone, td.new, td.changed, td.moved", tr) });
  }
  const keys = new Set([...BEFORE.loops.keys(), ...AFTER.loops.keys()]);
  const share = (key) => Math.max((BEFORE.loops.get(key)?.cost || 0) / (BEFORE.cost || 1), (AFTER.loops.get(key)?.cost || 0) / (AFTER.cost || 1));
  if (ROWS.length > 60) for (const key of keys) if (share(key) < 0.05) closed.add(key);
  section.querySelector("table.code").insertAdjacentHTML("beforebegin", `<div class="bar">
    <span class="legend"><span class="k-gone">no longer there</span> <span class="k-new">new</span> <span class="k-changed">had in another way</span> <span class="k-moved">moved</span></span>
    <label><input type="checkbox" id="only"/> only what differs</label>
    <button id="unfold">unfold all</button><button id="foldall">fold loops</button>
    <span class="soft">Click a value: the panel says what became of it, and by which law.</span></div>`);
  $("#only").onchange = (e) => { onlyChanges = e.target.checked; fold(); };
  $("#unfold").onclick = () => { closed.clear(); fold(); };
  $("#foldall").onclick = () => { keys.forEach((k) => closed.add(k)); fold(); };
  section.addEventListener("click", (e) => {
    const key = e.target.dataset.fold;
    if (e.target.dataset.layer) return toggleLayers(e.target.dataset.layer);
    if (key) { closed.has(key) ? closed.delete(key) : closed.add(key); fold(); return; }
    const td = e.target.closest("td[data-names]");
    if (td && !e.target.closest(".v")) select(td.dataset.names.split(" ")[0]);
  });
  fold();
  const dear = [...keys].sort((a, b) => share(b) - share(a))[0];
  state.dearest = dear;
  state.listeners.push(markText);
}

function hidden(row, p) {
  if (layerHidden(p, row)) return true;
  for (let key = row.loop; key; key = p.loops.get(key)?.row.loop) if (closed.has(key)) return true;
  return false;
}
function fold() {
  for (const { tr, cells: [b, a], same } of ROWS) {
    const out = (!b || hidden(b, BEFORE)) && (!a || hidden(a, AFTER));
    tr.children[0].classList.toggle("away", !!b && layerHidden(BEFORE, b));
    tr.children[1].classList.toggle("away", !!a && layerHidden(AFTER, a));
    tr.classList.toggle("hide", out || (onlyChanges && same && !b?.key));
  }
  for (const x of $$(".fold")) x.textContent = closed.has(x.dataset.fold) ? "▸" : "▾";
}
function reveal(name) {
  for (const p of [BEFORE, AFTER]) {
    const row = p.by.get(name), at = p.layerOf?.get(row);
    if (at && at.n && folded.has(at.group.key)) toggleLayers(at.group.key);
    for (let key = row?.loop; key; key = p.loops.get(key)?.row.loop) closed.delete(key);
  }
  fold();
}
function markText(name) {
  const inputs = new Set([BEFORE, AFTER].flatMap((p) => p.by.get(name)?.reads || []));
  if (name) reveal(name);
  for (const td of $$("#program td[data-names]")) {
    const names = td.dataset.names.split(" ");
    td.classList.toggle("pinned", !!name && names.includes(name));
    td.classList.toggle("input-of", names.some((n) => inputs.has(n)));
  }
  for (const v of $$("main .v.pin")) v.classList.remove("pin");
  if (name) for (const v of $$(`main .v[data-n="${CSS.escape(name)}"]`)) v.classList.add("pin");
  if (name && $("#program").classList.contains("on")) $("#program td.pinned")?.scrollIntoView({ block: "nearest" });
}

// What is shown of a value: by the panel when it is chosen, in short when it is pointed at.
function tip(name) {
  const b = BEFORE.by.get(name), a = AFTER.by.get(name), row = a || b;
  if (!row) return "";
  const cls = CLASSES.get(row.class);
  const lines = [`${name}: ${(row.type || "").split("  ")[0] || cls?.type || ""}${cls?.type ? `, here ${cls.type}` : ""}`, FATES[fate(name)]];
  if (b) lines.push(`as written: ${b.text.trim()}   ${costText(b.cost)}`);
  if (a && (!b || a.text !== b.text)) lines.push(`as it runs: ${a.text.trim()}   ${costText(a.cost)}`);
  if (a?.law) lines.push(`law: ${a.law}`);
  const sites = (row.sites || []).map(shortSite);
  if (sites.length) lines.push(`from ${sites.join(", ")}`);
  return lines.join("\n");
}

function formula(row, p) {
  if (!row) return "";
  const where = row.loop ? `in loop ${esc(p.loops.get(row.loop)?.row.label || row.loop)}` : "outside all loops";
  return `<div class="formula mono">${linked(row.text.trim())}</div><div class="soft">${where}, ${costText(row.cost)}${row.bytes ? `, holds ${bytesText(row.bytes)}` : ""}</div>`;
}

function whyEqual(b, a) {
  if (!b || !a) return "";
  const out = [];
  const classes = [...new Set([b.class, a.class].filter((c) => c != null && CLASSES.has(c)))];
  for (const c of classes) {
    const forms = CLASSES.get(c).forms;
    const written = forms.filter((f) => f.written);
    let goal = forms.filter((f) => f.chosen && !f.written);
    if (c !== a.class) goal = forms.filter((f) => f.kind === "hold" && !f.written);
    if (!written.length || !goal.length) continue;
    const way = chain(c, written, goal);
    if (way && way.length) out.push(chainText(way));
  }
  if (out.length) return `<h3>Why both are equal</h3>${out.join("")}`;
  if (b.text === a.text) return "";
  const changed = b.reads.filter((n) => fate(n) !== "same");
  return `<h3>Why both are equal</h3><p>The same operator, of equal values${changed.length ? `: see ${changed.map(linked).join(", ")}` : ""}.</p>`;
}
function chainText(way) {
  const text = (n) => `<span class="mono">${linked(FORMS[n].text)}</span>`;
  const items = way.map((s) => {
    const law = LAWS.get(s.law);
    return `<li class="by">= by ${lawLink(s.law)}${law ? ` <span class="mono">${esc(law.mathematics)}</span>` : ""}</li><li>${text(s.to)}</li>`;
  });
  return `<ul class="chain"><li>${text(way[0].from)}</li>${items.join("")}</ul>`;
}
function lawsOnTheWay(b, a) {
  const laws = new Set();
  for (const c of new Set([b?.class, a?.class])) {
    const cls = CLASSES.get(c);
    if (!cls) continue;
    const way = chain(c, cls.forms.filter((f) => f.written), cls.forms.filter((f) => (f.chosen || f.kind === "hold") && !f.written));
    for (const s of way || []) laws.add(s.law);
  }
  if (a?.law) laws.add(a.law);
  return [...laws];
}

function showPanel(name) {
  const panel = $("#panel");
  panel.classList.toggle("empty", !name);
  if (!name) { panel.innerHTML = welcome(); return; }
  const b = BEFORE.by.get(name) || undefined, a = AFTER.by.get(name);
  const twinB = b || (a && counterpart(a, BEFORE)), twinA = a || (b && counterpart(b, AFTER));
  const row = a || b, cls = CLASSES.get(row.class), what = fate(name);
  const laws = lawsOnTheWay(twinB, twinA);
  const saved = laws.filter((l) => STEP_OF.has(l)).map((l) => H.steps[STEP_OF.get(l)]);
  const users = (p) => (p.users.get(name) || []).flatMap((r) => r.makes.length ? [r.makes[0]] : []).slice(0, 12);
  const other = b && !a && twinA ? `<p>The same value is ${linked(twinA.makes[0])} there.</p>` : a && !b && twinB ? `<p>The same value as ${linked(twinB.makes[0])}.</p>` : "";
  panel.innerHTML = `<div class="card"><button style="float:right" data-close title="Esc">×</button>
    <h3 style="margin-top:0"><span class="v" data-n="${name}" style="--h:${hueOf(name) | 0}">${name}</span> <span class="tag k-${what}">${FATES[what]}</span></h3>
    <div class="soft">${esc((row.type || "").replace(/ {2,}/g, ", "))}${cls?.type ? `; at these sizes ${esc(cls.type)}` : ""}</div>
    ${(row.sites || []).map((s) => `<div class="soft">from ${esc(shortSite(s))}</div>`).join("")}
    ${H.operators[row.op] ? `<div class="soft opdoc"><b class="mono">${esc(row.op)}</b>: ${esc(H.operators[row.op])}</div>` : ""}
    <h3>As written</h3>${b ? formula(b, BEFORE) : "<p>Not there.</p>"}
    <h3>As it runs</h3>${a ? formula(a, AFTER) : "<p>Not there.</p>"}${other}
    ${saved.length ? `<h3>By which law, and what that saved</h3>${saved.map((s) => `<p>${lawLink(s.law)}: <a href="#steps/${STEP_OF.get(s.law) + 1}">step ${STEP_OF.get(s.law) + 1}</a>, ${saving(s) > 0 ? `<span class="less">${costText(s.cost_before)} → ${costText(s.cost_after)}</span>` : "enables the next"}</p>`).join("")}` : laws.length ? `<h3>By which law</h3><p>${laws.map(lawLink).join(", ")}</p>` : ""}
    ${whyEqual(twinB, twinA)}
    ${row.reads.length ? `<h3>Made of</h3><p>${row.reads.map(linked).join(", ")}</p>` : ""}
    ${users(a ? AFTER : BEFORE).length ? `<h3>Read by</h3><p>${users(a ? AFTER : BEFORE).map(linked).join(", ")}</p>` : ""}
    ${alternatives(row)}${keptFromFiring(row)}</div>`;
}
function alternatives(row) {
  const cls = CLASSES.get(row.class);
  if (!cls) return "";
  const rows = [...cls.forms].sort((x, y) => (x.total ?? Infinity) - (y.total ?? Infinity)).slice(0, 8);
  return `<h3>In the e-graph <a href="#egraph/${cls.c}">${cls.forms.length} ${cls.forms.length > 1 ? "alternatives" : "form"}</a></h3>
    <table>${rows.map((f) => `<tr><td class="mono">${f.chosen ? "✓ " : ""}${f.chosen ? "<b>" : ""}${linked(f.text)}${f.chosen ? "</b>" : ""}<br/><span class="soft">${f.written ? "as written" : lawLink(f.law) || "by facts"}</span></td><td class="r">${costText(f.total)}</td></tr>`).join("")}</table>`;
}
function keptFromFiring(row) {
  const found = [];
  for (const law of H.laws) for (const f of law.failing || []) if (f.places.some((p) => p.class === row.class)) found.push([law, f]);
  if (!found.length) return "";
  return `<h3>Laws that look like it here, and what kept them from firing</h3>${found.slice(0, 8).map(([law, f]) => `<p>${lawLink(law.name)}: <span class="mono">${esc(f.condition)}</span> is not known<br/><span class="soft">${esc(f.meaning)}</span></p>`).join("")}${found.length > 8 ? `<p><a href="#laws">and ${found.length - 8} more</a></p>` : ""}`;
}
function welcome() {
  return `<div class="card"><h3 style="margin-top:0">Ask the page</h3><p><b>Which law removed this product from the loop?</b> Click the product on the left: its law stands here.</p>
    <p><b>What did it save?</b> Below the law; all laws in <a href="#costs">Costs</a>.</p><p><b>Why are both equal?</b> Click either: the chain of laws stands here.</p>
    <p><b>What kept a law from firing?</b> <a href="#laws">Laws</a>: choose one; or click a value.</p>
    <p class="soft"><kbd>/</kbd> search, <kbd>←</kbd> <kbd>→</kbd> steps, <kbd>1</kbd>–<kbd>9</kbd> views, <kbd>+</kbd> <kbd>−</kbd> <kbd>f</kbd> zoom and fit, <kbd>Esc</kbd> clear</p></div>`;
}
