"use strict";
// Views, links, search, keys, pointing.
const VIEWS = $$("nav a").map((a) => a.getAttribute("href").slice(1));
const ready = new Set();
const SET_UP = { program: setUpProgram, graph: setUpGraph, steps: setUpSteps, egraph: setUpEgraph, laws: setUpLaws, costs: setUpCosts, memory: setUpMemory, loops: setUpLoops, growth: setUpGrowth, source: setUpSource };
let viewAt = "program", hushed = false;

function open(name, more) {
  viewAt = VIEWS.includes(name) ? name : "program";
  for (const s of $$("main > section")) s.classList.toggle("on", s.id === viewAt);
  for (const a of $$("nav a")) { const on = a.getAttribute("href") === `#${viewAt}`; a.classList.toggle("on", on); if (on) a.setAttribute("aria-current", "page"); else a.removeAttribute("aria-current"); }
  if (!ready.has(viewAt)) { ready.add(viewAt); SET_UP[viewAt](); if (state.name) for (const l of state.listeners) l(state.name); }
  widen();
  if (!hushed) scrollTo(0, 0);
  $("nav a.on")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  if (viewAt === "graph") showGraph();
  if (viewAt === "steps" && more) go(+more - 1, true);
  if (viewAt === "egraph") more ? showClass(+more) : drawEgraph();
  if (viewAt === "laws" && more) { showLaw(decodeURIComponent(more)); scrollTo(0, 0); }
}
// Pictures take the panel's place while nothing is chosen.
function widen() {
  const alone = !state.name && ["graph", "egraph", "source"].includes(viewAt), page = $(".page");
  if (page.classList.contains("alone") === alone) return;
  page.classList.toggle("alone", alone);
  if (graphDrawn) moveAll();
}
// A link says the view, what is open in it, and the chosen value: #steps/3?v24
function remember() {
  if (hushed) return;
  const more = { steps: !byRounds && H.steps.length ? stepAt + 1 : "", egraph: classAt >= 0 ? classAt : "", laws: lawAt && encodeURIComponent(lawAt) }[viewAt];
  const hash = `#${viewAt}${more ? `/${more}` : ""}${state.name ? `?${encodeURIComponent(state.name)}` : ""}`;
  if (hash === location.hash) return;
  if (location.protocol === "about:") location.hash = hash; // within a frame, whose links are those of the page around it
  else history.pushState(null, "", hash);
}
function follow() {
  const [, name, more, pin] = /^#([a-z]*)(?:\/([^?]*))?(?:\?(.*))?$/.exec(location.hash) || [];
  hushed = true;
  scrollTo(0, 0);
  if (pin !== undefined) select(decodeURIComponent(pin), true);
  open(name || "program", more);
  if (viewAt === "program") markText(state.name);
  hushed = false;
}

// Search: values, operators, laws, lines of the user's.
function matches(text) {
  const t = text.toLowerCase(), out = [];
  for (const name of NAMES) {
    const row = AFTER.by.get(name) || BEFORE.by.get(name);
    const all = `${name} ${row.text} ${row.type || ""} ${CLASSES.get(row.class)?.type || ""} ${row.op || ""} ${row.law || ""} ${(row.sites || []).map(shortSite).join(" ")}`.toLowerCase();
    if (all.includes(t)) out.push({ score: name.toLowerCase() === t ? 0 : row.op === t ? 1 : name.toLowerCase().startsWith(t) ? 2 : 4, html: `<b>${esc(name)}</b> <span class="mono">${esc(row.text.trim())}</span> <span class="soft">${FATES[fate(name)]}</span>`, run: () => { select(name); if (!["program", "graph", "source", "egraph"].includes(viewAt)) { open("program"); remember(); } if (viewAt === "graph") centre(name); } });
  }
  for (const x of H.laws) if (`${x.name} ${x.ruleset}`.toLowerCase().includes(t)) out.push({ score: x.name === t ? 0 : x.matches ? 3 : 5, html: `law <b>${esc(x.name)}</b> <span class="soft">${stateOf(x)}</span>`, run: () => { open("laws", x.name); remember(); } });
  return out.sort((a, b) => a.score - b.score).slice(0, 40);
}
let hits = [], hitAt = 0;
function drawFound() {
  const box = $("#found"), text = $("#search").value.trim();
  hits = text ? matches(text) : [];
  hitAt = 0;
  box.classList.toggle("on", !!text);
  box.innerHTML = hits.map((h, n) => `<a href="#" data-hit="${n}" class="${n ? "" : "at"}">${h.html}</a>`).join("") || '<p class="soft" style="padding:0 10px">Nothing of that name.</p>';
}
function takeHit(n) { const h = hits[n]; $("#found").classList.remove("on"); $("#search").blur(); if (h) h.run(); }

document.documentElement.classList.add("js");
state.listeners.push(showPanel, widen);
showPanel("");
$("#search").oninput = drawFound;
$("#search").onfocus = drawFound;
$("#search").onkeydown = (e) => {
  if (e.key === "Enter") takeHit(hitAt);
  if (e.key === "ArrowDown" || e.key === "ArrowUp") {
    e.preventDefault();
    hitAt = Math.max(0, Math.min(hits.length - 1, hitAt + (e.key === "ArrowDown" ? 1 : -1)));
    $$("#found a").forEach((a, n) => a.classList.toggle("at", n === hitAt));
  }
};
document.addEventListener("click", (e) => {
  const hit = e.target.closest("[data-hit]"), v = e.target.closest(".v[data-n]"), law = e.target.closest("[data-golaw], tr[data-law]");
  if (hit) { e.preventDefault(); takeHit(+hit.dataset.hit); return; }
  if (!e.target.closest(".find")) $("#found").classList.remove("on");
  if (e.target.dataset.close !== undefined) { select(""); return; }
  if (v) { e.preventDefault(); select(v.dataset.n); if (viewAt === "graph") centre(v.dataset.n); return; }
  if (law && !e.target.closest("a[href^='#steps'], a[href^='#egraph']")) { e.preventDefault(); open("laws", law.dataset.golaw || law.dataset.law); remember(); return; }
  const link = e.target.closest("a[href^='#']");
  if (link) { e.preventDefault(); const [, name, more] = /^#([a-z]*)(?:\/([^?]*))?/.exec(link.getAttribute("href")); open(name, more); remember(); }
});
document.addEventListener("keydown", (e) => {
  if (e.key === "Escape") { $("#found").classList.remove("on"); if (document.activeElement.matches("input[type=search], #lawfind, #egfind")) document.activeElement.blur(); else select(""); return; }
  if (e.altKey || e.ctrlKey || e.metaKey || e.target.closest("input:not([type=checkbox]):not([type=range]), select, textarea")) return;
  const n = "1234567890".indexOf(e.key);
  if (e.key === "/") { e.preventDefault(); $("#search").focus(); }
  else if (n >= 0 && VIEWS[n]) { open(VIEWS[n]); remember(); }
  else if (viewAt === "steps" && e.key === "ArrowLeft") { e.preventDefault(); go(at() - 1); }
  else if (viewAt === "steps" && e.key === "ArrowRight") { e.preventDefault(); go(at() + 1); }
  else if (viewAt === "steps" && e.key === " " && !e.target.closest("button")) { e.preventDefault(); play(); }
  else if (viewAt === "graph" && (e.key === "+" || e.key === "=")) zoom(1.25);
  else if (viewAt === "graph" && e.key === "-") zoom(0.8);
  else if (viewAt === "graph" && e.key === "f") fit();
  else if (viewAt === "graph" && e.key.startsWith("Arrow")) { e.preventDefault(); view.x += { ArrowLeft: 60, ArrowRight: -60 }[e.key] || 0; view.y += { ArrowUp: 60, ArrowDown: -60 }[e.key] || 0; moveAll(); }
  else if (state.name && (e.key === "ArrowUp" || e.key === "ArrowDown") && viewAt === "program") {
    e.preventDefault();
    const all = $$("#program tr:not(.hide) td[data-names]").flatMap((td) => td.dataset.names.split(" ").slice(0, 1)).filter(Boolean), names = [...new Set(all)];
    select(names[Math.max(0, Math.min(names.length - 1, names.indexOf(state.name) + (e.key === "ArrowDown" ? 1 : -1)))]);
  }
});
let tipped = null;
document.addEventListener("pointerover", (e) => {
  const at = e.target.closest?.(".v[data-n], g.node, td[data-names], #source span[data-names]"), box = $("#tip");
  const name = at && (at.dataset.n || (at.dataset.names || "").split(" ")[0]);
  if (at === tipped) return;
  tipped = at;
  for (const x of $$(".v.lit")) x.classList.remove("lit");
  const text = name && tip(name);
  box.style.display = text ? "block" : "none";
  if (!text) return;
  box.textContent = text;
  if (at.closest("#program, #panel")) for (const x of $$(`.v[data-n="${CSS.escape(name)}"]`)) x.classList.add("lit");
  const r = box.getBoundingClientRect();
  box.style.left = `${Math.min(e.clientX + 14, innerWidth - r.width - 8)}px`;
  box.style.top = `${e.clientY + 20 + r.height > innerHeight ? Math.max(4, e.clientY - r.height - 12) : e.clientY + 18}px`;
});
addEventListener("popstate", follow);
addEventListener("resize", () => graphDrawn && moveAll());
ready.add("program");
setUpProgram();
follow();
if (!state.name && state.dearest && ROWS.length > 60 && viewAt === "program" && !location.hash) $(`#program [data-fold="${CSS.escape(state.dearest)}"]`)?.scrollIntoView({ block: "start" });
document.documentElement.dataset.ready = "1";
