"use strict";
// Costs by law and by loop, what loops hold, and growth.
const share = (from, to) => { const x = (100 * (from - to)) / from; return x < 0.1 ? "under 0.1 %" : `${x.toPrecision(2)} %`; };
const millis = (s) => (s < 1e-4 ? "under 0.1 ms" : `${(s * 1e3).toFixed(1)} ms`);
function setUpCosts() {
  const top = Math.max(H.report.cost_before, ...H.steps.map((s) => s.cost_after), 1e-9);
  const width = (x) => `${(100 * x) / top}%`;
  const row = (label, from, to, law) => `<div class="row ${law ? "go" : ""}" ${law ? `data-golaw="${esc(law)}"` : ""}><span class="mono law">${breakable(label)}</span><div class="t"><i style="left:0;width:${width(to)}"></i><i class="cut" style="left:${width(to)};width:${width(Math.max(0, from - to))}"></i></div><span>${costText(to)} ${from > to ? `<span class="less">−${share(from, to)}</span>` : ""}</span></div>`;
  const loops = [...new Set([...BEFORE.loops.keys(), ...AFTER.loops.keys()])];
  const groups = (p) => p.rows.reduce((m, r) => { const g = r.op || r.kind; m.set(g, (m.get(g) || 0) + (r.cost || 0)); return m; }, new Map());
  const gb = groups(BEFORE), ga = groups(AFTER);
  const ops = [...new Set([...gb.keys(), ...ga.keys()])].map((k) => [k, gb.get(k) || 0, ga.get(k) || 0]).filter((x) => Math.max(x[1], x[2]) > top * 1e-3).sort((a, b) => Math.max(b[1], b[2]) - Math.max(a[1], a[2])).slice(0, 20);
  const pair = ([label, b, a]) => `<tr><td class="mono">${esc(label)}</td><td class="r">${costText(b)}</td><td class="r">${costText(a)}</td><td class="r ${a < b ? "less" : a > b ? "more" : ""}">${a === b ? "" : `${a < b ? "−" : "+"}${costText(Math.abs(a - b))}`}</td></tr>`;
  const head = (what) => `<thead><tr><th>${what}</th><th class="r">as written</th><th class="r">as it runs</th><th class="r">change</th></tr></thead>`;
  const label = (k) => { const r = (AFTER.loops.get(k) || BEFORE.loops.get(k)).row; return `${r.label || "loop"} (${r.trips.toLocaleString("en")} steps, ${k})`; };
  const outside = (p) => p.rows.filter((r) => !r.loop && !r.key).reduce((s, r) => s + (r.cost || 0), 0);
  $("#costs").insertAdjacentHTML("beforeend", `<div class="card"><h3 style="margin-top:0">What each law saved</h3>${row("as written", H.report.cost_before, H.report.cost_before)}${H.steps.map((s, n) => row(`${n + 1}. ${s.law}`, s.cost_before, s.cost_after, s.law)).join("")}
    <p class="soft">Predicted by the cost model; each law beside those before it.</p></div>
    ${measuredCard()}
    ${kernelsCard()}
    <div class="card wide"><h3 style="margin-top:0">By loop</h3><table>${head("loop")}${loops.map((k) => pair([label(k), BEFORE.loops.get(k)?.cost || 0, AFTER.loops.get(k)?.cost || 0])).join("")}${pair(["outside all loops", outside(BEFORE), outside(AFTER)])}</table></div>
    <div class="card wide"><h3 style="margin-top:0">By operator</h3><table>${head("operator")}${ops.map(pair).join("")}</table></div>`);
}

// Each program that a law led to, timed; the bar is measured, the mark is what was predicted.
function measuredCard() {
  const timed = H.programs.map((p, n) => ({ ...p, n })).filter((p) => p.seconds);
  if (!timed.length) return '<div class="card"><h3 style="margin-top:0">Measured</h3><p class="soft">Not measured. <code>f.show(path, measure=True)</code> or <code>scanopt show --measure FILE</code> times each of these programs.</p></div>';
  const ns = UNIT === "ns", top = Math.max(...timed.map((p) => Math.max(p.seconds * 1e9, ns ? p.cost : 0)));
  const laws = (n) => H.steps.filter((s) => s.after === n && s.before !== n).map((s) => s.law).join(", ");
  const label = (p) => (p.n ? laws(p.n) || "facts" : "as written");
  const row = (p) => `<div class="row"><span class="mono law">${breakable(label(p))}</span><div class="t"><i class="measured" style="left:0;width:${(1e11 * p.seconds) / top}%"></i>${ns ? `<i class="mark" style="left:${(100 * p.cost) / top}%" title="predicted ${costText(p.cost)}"></i>` : ""}</div><span>${secondsText(p.seconds)} <span class="soft">${p.n ? `${(timed[0].seconds / p.seconds).toPrecision(3)}×` : ""}</span></span></div>`;
  return `<div class="card"><h3 style="margin-top:0">Measured</h3>${timed.map(row).join("")}<p class="soft">Least time of a call on the example, on this machine; the mark is the prediction. × is how many times as fast as written.</p></div>`;
}

// What runs in one piece, beside the least time that the machine needs for its operations, or for the bytes it moves.
const KERNELS = 12;
function kernelsCard() {
  const L = H.report.limits;
  if (!L) return "";
  const count = (x) => { for (const [scale, unit] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) if (x >= scale) return `${+(x / scale).toPrecision(3)} ${unit}`; return `${+x.toPrecision(3)} `; };
  const rate = ([size, r]) => `${bytesText(size)} at ${count(r)}B/s`;
  const taken = (k) => k.seconds ?? (UNIT === "ns" ? k.cost * 1e-9 : null);
  const sum = (ks, f) => ks.reduce((t, k) => t + (f(k) || 0), 0);
  const table = (p) => {
    const all = H.programs[p.number].kernels || [], sorted = [...all].sort((a, b) => b.cost - a.cost);
    const whole = sum(all, (k) => k.cost), many = Math.min(KERNELS, all.filter((k) => k.cost > 1e-3 * whole).length), shown = sorted.slice(0, many), others = sorted.slice(many), timed = all.some((k) => k.seconds != null);
    const told = (what, k, by) => {
      const t = taken(k), part = t ? k.least_seconds / t : null;
      return `<tr><td class="mono">${what}</td><td class="r">${UNIT === "ns" ? costText(k.cost) : ""}</td>${timed ? `<td class="r">${k.seconds == null ? "" : secondsText(k.seconds)}</td>` : ""}<td class="r wideonly">${count(k.operations)}</td><td class="r wideonly">${bytesText(k.bytes)}</td><td class="r">${k.least_seconds ? secondsText(k.least_seconds) : "–"}</td><td class="wideonly">${by}</td><td class="share">${part == null ? "" : `<i class="bar" style="width:${Math.min(60, 60 * part)}px"></i> ${part >= 0.001 ? `${(100 * part).toPrecision(2)} %` : "under 0.1 %"}`}</td></tr>`;
    };
    const row = (k) => told(linked(H.lines[k.line].text.replace(/:$/, "").trim()), k, k.limited_by === "bytes" ? "memory" : "arithmetic");
    const all_of = (ks) => ({ cost: sum(ks, (k) => k.cost), operations: sum(ks, (k) => k.operations), bytes: sum(ks, (k) => k.bytes), least_seconds: sum(ks, (k) => k.least_seconds) });
    const rest = others.length ? told(`and ${others.length} more`, all_of(others), "") : "";
    return `<table class="kernels"><thead><tr><th>kernel</th><th class="r">predicted</th>${timed ? '<th class="r">measured</th>' : ""}<th class="r wideonly">operations</th><th class="r wideonly">moves</th><th class="r">least</th><th class="wideonly">limit</th><th>share of the limit</th></tr></thead>${shown.map(row).join("")}${rest}${told("<b>all of it</b>", { ...all_of(all), seconds: H.programs[p.number].seconds }, "")}</table>`;
  };
  return `<div class="card wide" id="kernels"><h3 style="margin-top:0">Share of the machine's limit, kernel by kernel</h3>${table(AFTER)}<details><summary>the same as written</summary>${table(BEFORE)}</details>
    <p class="soft">A kernel is what runs in one piece: a loop with all its steps, or an operator outside of loops (where the whole program is one kernel in C, these are its parts). <b>least</b>: no less time does this machine take for its operations, or for moving once each array that it reads or makes; the limit is whichever takes longer. The share is of the measured time where there is one, else of the predicted. The machine (${L.source}): ${Object.entries(L.operations).map(([t, r]) => `${t} ${count(r)}flop/s`).join(", ")}; ${L.bytes.map(rate).join(", ")}.</p></div>`;
}
const secondsText = (s) => { for (const [scale, unit] of [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]]) if (s >= scale) return `${+(s / scale).toPrecision(3)} ${unit}`; return `${+(s * 1e9).toPrecision(2)} ns`; };

function setUpMemory() {
  const r = H.report;
  const held = (p, key) => p.rows.filter((x) => x.loop === key && (x.kind === "keep" || x.kind === "state"));
  const loops = [...new Set([...BEFORE.loops.keys(), ...AFTER.loops.keys()])];
  const cell = (x) => x ? `<span class="mono">${linked(x.text.trim())}</span> <b>${bytesText(x.bytes)}</b>` : "";
  $("#memory").insertAdjacentHTML("beforeend", `<div class="tiles"><span>at one time <b>${bytesText(r.memory_before)} → ${bytesText(r.memory_after)}</b></span><span>allowed <b>${r.memory_allowed == null ? "all that is free" : bytesText(r.memory_allowed)}</b></span></div>
    ${loops.map((key) => {
      const b = held(BEFORE, key), a = held(AFTER, key), find = (rows, x) => rows.find((z) => z.makes[0] === x.makes[0]);
      const both = b.filter((x) => find(a, x)).map((x) => [x, find(a, x)]), left = b.filter((x) => !find(a, x)), right = a.filter((x) => !find(b, x));
      const alone = [...Array(Math.max(left.length, right.length)).keys()].map((n) => [left[n], right[n]]);
      const row = (AFTER.loops.get(key) || BEFORE.loops.get(key)).row;
      return `<div class="card wide"><h3 style="margin-top:0">${esc(row.label || key)} <span class="soft">${row.trips.toLocaleString("en")} steps</span></h3><table><thead><tr><th>as written it keeps</th><th>as it runs it keeps</th></tr></thead>${[...both, ...alone].map(([x, z]) => `<tr><td class="${x && !find(a, x) ? "k-gone" : ""}">${cell(x)}</td><td class="${z && !find(b, z) ? "k-new" : ""}">${cell(z)}</td></tr>`).join("") || "<tr><td>nothing</td><td></td></tr>"}<tr>${[b, a].map((rows) => `<td><b>in all ${bytesText(rows.reduce((t, x) => t + (x.bytes || 0), 0))}</b></td>`).join("")}</tr></table></div>`;
    }).join("") || "<p>No loop is left.</p>"}`);
}

function setUpGrowth() {
  const told = H.rounds.some((r) => r.made), of = (r) => (told ? { ...r.made, ...(r.facts ? { "(facts)": r.facts } : {}) } : r.matches);
  const total = new Map();
  for (const r of H.rounds) for (const [law, n] of Object.entries(of(r) || {})) total.set(law, (total.get(law) || 0) + n);
  const top = [...total].sort((a, b) => b[1] - a[1]).slice(0, 10).map(([l]) => l);
  const most = Math.max(...H.rounds.map((r) => top.reduce((s, l) => s + (of(r)[l] || 0), 0)), 1), size = Math.max(...H.rounds.map((r) => r.forms), 1);
  const what = told ? "forms" : "matches";
  const bar = (r, n) => `<div title="round ${n + 1}: ${r.forms} forms">${top.map((l, k) => of(r)[l] ? `<i style="height:${(90 * of(r)[l]) / most}%;background:hsl(${hue(k)} 60% 55%)" title="${esc(l)}: ${of(r)[l]} ${what} in round ${n + 1}"></i>` : "").join("")}<span style="position:absolute;bottom:-18px;left:0;right:0;text-align:center">${n + 1}</span></div>`;
  const made = H.laws.filter((x) => x.made || x.matches).sort((a, b) => b.made - a.made || b.matches - a.matches);
  $("#growth").insertAdjacentHTML("beforeend", !H.rounds.length ? "<p>No law ran.</p>" : `<div class="card wide"><h3 style="margin-top:0">After each round</h3>${sizes(size)}</div>
    <div class="card"><h3 style="margin-top:0">${told ? "Forms made" : "Matches"} by law and round</h3><div class="stack">${H.rounds.map(bar).join("")}</div><p style="margin-top:24px">${top.map((l, k) => `<span class="tag go" data-golaw="${esc(l)}"><i style="display:inline-block;width:10px;height:10px;border-radius:3px;background:hsl(${hue(k)} 60% 55%)"></i> ${esc(l)}</span>`).join("")}</p>${told ? "" : '<p class="soft">With <code>measure=True</code>: the forms that each law made in each round.</p>'}</div>
    <div class="card wide"><h3 style="margin-top:0">What each law made in all</h3><table class="plain"><thead><tr><th>law</th><th class="r">forms</th><th class="r">matches</th><th class="r">time</th></tr></thead>${made.map((x) => `<tr data-law="${esc(x.name)}"><td class="mono">${breakable(x.name)}</td><td class="r">${x.made}</td><td class="r">${x.matches}</td><td class="r">${millis(x.seconds)}</td></tr>`).join("")}</table></div>`);
}
// Per round the forms in the e-graph, and the cost of the best program that the laws so far lead to.
function sizes(size) {
  const best = (r) => (r.best == null ? "" : `<td class="r">${costText(r.best)}</td>`);
  const row = (r, n) => `<tr><td>${n + 1}</td><td style="width:40%;min-width:60px"><i class="bar" style="width:${(100 * r.forms) / size}%"></i></td><td class="r">${r.forms.toLocaleString("en")}</td><td class="r wideonly">${Object.values(r.matches).reduce((s, x) => s + x, 0)}</td>${best(r)}</tr>`;
  return `<table><thead><tr><th>round</th><th></th><th class="r">forms</th><th class="r wideonly">matches</th><th class="r">best program so far</th></tr></thead>${H.rounds.map(row).join("")}</table>`;
}
