"use strict";
// Costs by law and by loop, what loops hold, the space of their iterations, growth, and the source that runs.
const share = (from, to) => { const x = (100 * (from - to)) / from; return x < 0.1 ? "under 0.1 %" : `${x.toPrecision(2)} %`; };
const millis = (s) => (s < 1e-4 ? "under 0.1 ms" : `${(s * 1e3).toFixed(1)} ms`);
function setUpCosts() {
  const top = Math.max(H.report.cost_before, ...H.steps.map((s) => s.cost_after), 1e-9);
  const width = (x) => `${(100 * x) / top}%`;
  const row = (label, from, to, law) => `<div class="row ${law ? "go" : ""}" ${law ? `data-golaw="${esc(law)}"` : ""}><span class="mono">${esc(label)}</span><div class="t"><i style="left:0;width:${width(to)}"></i><i class="cut" style="left:${width(to)};width:${width(Math.max(0, from - to))}"></i></div><span>${costText(to)} ${from > to ? `<span class="less">−${share(from, to)}</span>` : ""}</span></div>`;
  const loops = [...new Set([...BEFORE.loops.keys(), ...AFTER.loops.keys()])];
  const groups = (p) => p.rows.reduce((m, r) => { const g = r.op || r.kind; m.set(g, (m.get(g) || 0) + (r.cost || 0)); return m; }, new Map());
  const gb = groups(BEFORE), ga = groups(AFTER);
  const ops = [...new Set([...gb.keys(), ...ga.keys()])].map((k) => [k, gb.get(k) || 0, ga.get(k) || 0]).filter((x) => Math.max(x[1], x[2]) > top * 1e-3).sort((a, b) => Math.max(b[1], b[2]) - Math.max(a[1], a[2])).slice(0, 20);
  const pair = ([label, b, a]) => `<tr><td class="mono">${esc(label)}</td><td class="r">${costText(b)}</td><td class="r">${costText(a)}</td><td class="r ${a < b ? "less" : a > b ? "more" : ""}">${a === b ? "" : `${a < b ? "−" : "+"}${costText(Math.abs(a - b))}`}</td></tr>`;
  const head = (what) => `<thead><tr><th>${what}</th><th class="r">as written</th><th class="r">as it runs</th><th class="r">change</th></tr></thead>`;
  const label = (k) => { const r = (AFTER.loops.get(k) || BEFORE.loops.get(k)).row; return `${r.label || "loop"} (${r.trips.toLocaleString("en")} steps, ${k})`; };
  const outside = (p) => p.rows.filter((r) => !r.loop && !r.key).reduce((s, r) => s + (r.cost || 0), 0);
  $("#costs").insertAdjacentHTML("beforeend", `<div class="card"><h3 style="margin-top:0">What each law saved</h3>${row("as written", H.report.cost_before, H.report.cost_before)}${H.steps.map((s, n) => row(`${n + 1}. ${s.law}`, s.cost_before, s.cost_after, s.law)).join("")}
    <p class="soft">Predicted by the cost model; each law beside those before it. Measured times of both programs: scanopt run FILE.</p></div>
    <div class="card wide"><h3 style="margin-top:0">By loop</h3><table>${head("loop")}${loops.map((k) => pair([label(k), BEFORE.loops.get(k)?.cost || 0, AFTER.loops.get(k)?.cost || 0])).join("")}${pair(["outside all loops", outside(BEFORE), outside(AFTER)])}</table></div>
    <div class="card wide"><h3 style="margin-top:0">By operator</h3><table>${head("operator")}${ops.map(pair).join("")}</table></div>`);
}

function setUpMemory() {
  const r = H.report;
  const held = (p, key) => p.rows.filter((x) => x.loop === key && (x.kind === "keep" || x.kind === "state"));
  const loops = [...new Set([...BEFORE.loops.keys(), ...AFTER.loops.keys()])];
  const cell = (x) => x ? `<span class="mono">${linked(x.text.trim())}</span> <b>${bytesText(x.bytes)}</b>` : "–";
  $("#memory").insertAdjacentHTML("beforeend", `<div class="tiles"><span>at one time <b>${bytesText(r.memory_before)} → ${bytesText(r.memory_after)}</b></span><span>allowed <b>${r.memory_allowed == null ? "all that is free" : bytesText(r.memory_allowed)}</b></span></div>
    ${loops.map((key) => {
      const b = held(BEFORE, key), a = held(AFTER, key), names = [...new Set([...b, ...a].map((x) => x.makes[0] || x.text))];
      const find = (rows, n) => rows.find((x) => (x.makes[0] || x.text) === n);
      const row = (AFTER.loops.get(key) || BEFORE.loops.get(key)).row;
      return `<div class="card wide"><h3 style="margin-top:0">${esc(row.label || key)} <span class="soft">${row.trips.toLocaleString("en")} steps</span></h3><table><thead><tr><th>as written it keeps</th><th>as it runs it keeps</th></tr></thead>${names.map((n) => `<tr><td>${cell(find(b, n))}</td><td>${cell(find(a, n))}</td></tr>`).join("") || "<tr><td>nothing</td><td></td></tr>"}<tr>${[b, a].map((rows) => `<td><b>in all ${bytesText(rows.reduce((t, x) => t + (x.bytes || 0), 0))}</b></td>`).join("")}</tr></table></div>`;
    }).join("") || "<p>No loop is left.</p>"}`);
}

function setUpLoops() {
  const pairs = [["as written", BEFORE], ["as it runs", AFTER]];
  $("#loops").insertAdjacentHTML("beforeend", `<p class="soft">Steps from left to right, states from top to bottom; an arrow goes from a state to the steps that read it (its taps).</p>
    ${pairs.map(([title, p]) => `<h3>${title}</h3>${[...p.loops.values()].map((l) => iterations(l, p)).join("") || "<p>No loop.</p>"}`).join("")}`);
}
function iterations({ row, rows, cost }, p) {
  const states = (row.states || []).slice(0, 24), shown = Math.max(3, Math.min(8, row.steps)), dx = 74, dy = 26, left = 150;
  const reads = rows.filter((r) => r.kind === "read" && r.loop === row.key);
  const y = (n) => 30 + n * dy, x = (t) => left + t * dx;
  const lines = states.map((s, n) => {
    const label = s.label || s.next;
    const arrows = s.taps.flatMap(([k]) => [...Array(shown).keys()].filter((t) => t + k < shown).map((t) => `<path d="M${x(t) + 5} ${y(n)} q ${(k * dx) / 2} ${-9 - 5 * k} ${k * dx - 10} -1" marker-end="url(#arrow)"/>`));
    return `<text x="4" y="${y(n) + 4}">${esc(label.slice(0, 20))}</text>${[...Array(shown).keys()].map((t) => `<circle cx="${x(t)}" cy="${y(n)}" r="4"><title>${esc(label)} at step ${t}</title></circle>`).join("")}${arrows.join("")}`;
  });
  const height = 30 + Math.max(states.length, 1) * dy;
  const axis = [...Array(shown).keys()].map((t) => `<text x="${x(t) - 8}" y="12">t=${t}</text><line x1="${x(t)}" x2="${x(t)}" y1="18" y2="${height - 8}"/>`).join("");
  return `<div class="card wide"><b>${esc(row.label || row.key)}</b> <span class="soft">${row.steps.toLocaleString("en")} steps, ${rows.length} lines, ${costText(cost)}; reads ${reads.length ? reads.slice(0, 10).map((r) => linked(r.text.replace(/^\s*read\s+/, ""))).join("; ") : "no sequence"}${reads.length > 10 ? " …" : ""}</span>
    ${states.length ? `<svg class="grid" width="${left + shown * dx}" height="${height}"><defs><marker id="arrow" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0 6 3 0 6z" style="fill:var(--accent);stroke:none"/></marker></defs>${axis}${lines.join("")}</svg>` : "<p class='soft'>It carries no state: its steps do not wait for one another.</p>"}</div>`;
}

function setUpGrowth() {
  const total = new Map();
  for (const r of H.rounds) for (const [law, n] of Object.entries(r.matches)) total.set(law, (total.get(law) || 0) + n);
  const top = [...total].sort((a, b) => b[1] - a[1]).slice(0, 10).map(([l]) => l);
  const most = Math.max(...H.rounds.map((r) => top.reduce((s, l) => s + (r.matches[l] || 0), 0)), 1), size = Math.max(...H.rounds.map((r) => r.forms), 1);
  const bar = (r, n) => `<div title="round ${n + 1}: ${r.forms} forms">${top.map((l, k) => r.matches[l] ? `<i style="height:${(90 * r.matches[l]) / most}%;background:hsl(${hue(k)} 60% 55%)" title="${esc(l)}: ${r.matches[l]} matches in round ${n + 1}"></i>` : "").join("")}<span style="position:absolute;bottom:-18px;left:0;right:0;text-align:center">${n + 1}</span></div>`;
  const line = `<svg viewBox="0 0 100 40" preserveAspectRatio="none" style="width:100%;height:110px;background:var(--code);border:1px solid var(--line);border-radius:6px"><polyline fill="none" stroke="var(--accent)" stroke-width="2" vector-effect="non-scaling-stroke" points="${H.rounds.map((r, n) => `${(100 * n) / Math.max(H.rounds.length - 1, 1)},${39 - (37 * r.forms) / size}`).join(" ")}"/></svg>`;
  const made = H.laws.filter((x) => x.made).sort((a, b) => b.made - a.made);
  $("#growth").insertAdjacentHTML("beforeend", !H.rounds.length ? "<p>No law ran.</p>" : `<div class="card"><h3 style="margin-top:0">Forms after each round, to ${size.toLocaleString("en")}</h3>${line}</div>
    <div class="card"><h3 style="margin-top:0">Matches by law and round</h3><div class="stack">${H.rounds.map(bar).join("")}</div><p style="margin-top:24px">${top.map((l, k) => `<span class="tag go" data-golaw="${esc(l)}"><i style="display:inline-block;width:10px;height:10px;border-radius:3px;background:hsl(${hue(k)} 60% 55%)"></i> ${esc(l)}</span>`).join("")}</p></div>
    <div class="card wide"><h3 style="margin-top:0">Forms made</h3><table class="plain"><thead><tr><th>law</th><th class="r">forms</th><th class="r">matches</th><th class="r">time</th></tr></thead>${made.map((x) => `<tr data-law="${esc(x.name)}"><td class="mono">${esc(x.name)}</td><td class="r">${x.made}</td><td class="r">${x.matches}</td><td class="r">${millis(x.seconds)}</td></tr>`).join("")}</table></div>`);
}

function setUpSource() {
  const called = H.source.names, pattern = /[A-Za-z_][A-Za-z0-9_]*/g;
  const text = H.source.text.split("\n").map((line) => {
    const names = [...new Set((line.match(pattern) || []).map((w) => called[w]).filter(Boolean))];
    return `<span data-names="${esc(names.join(" "))}">${esc(line) || " "}</span>`;
  });
  $("#source").insertAdjacentHTML("beforeend", `<p class="soft">${Object.keys(called).length ? "Point at a line to see the values in it, click to choose the one it makes; lines of the chosen value are marked." : "The program that runs was found in another search than the one shown here: its lines are not linked."}</p><pre class="src">${text.join("")}</pre>`);
  $("#source pre.src:last-child").onclick = (e) => { const line = e.target.closest("span[data-names]"); if (line?.dataset.names) select(line.dataset.names.split(" ")[0]); };
  state.listeners.push((name) => {
    let first;
    for (const line of $$("#source span[data-names]")) {
      const on = !!name && line.dataset.names.split(" ").includes(name);
      line.classList.toggle("lit", on);
      first ||= on ? line : undefined;
    }
    if ($("#source").classList.contains("on")) first?.scrollIntoView({ block: "nearest" });
  });
}
