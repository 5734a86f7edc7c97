"use strict";
// The recorded rewrites that led to the result, one at a time; or all rounds of saturation.
let stepAt = 0, roundAt = 0, byRounds = false;

function setUpSteps() {
  if (!H.steps.length) return;
  const most = Math.max(...H.steps.map(saving), 1e-9);
  $("#steps").insertAdjacentHTML("beforeend", `<div class="bar"><button id="prev">←</button>
    <input type="range" id="slider" min="1" max="${H.steps.length}" value="1" aria-label="Step" style="flex:1;max-width:420px"/><button id="next">→</button><button id="play" title="space">play</button>
    <b id="where"></b><label><input type="checkbox" id="rounds"/> all rounds</label> <button id="derivation" title="the steps as a text in Markdown">save as Markdown</button></div>
    <div class="steps"><ol>${H.steps.map((s, n) => `<li data-step="${n}">${n + 1}. ${breakable(s.law)}<i style="width:${Math.max(0, saving(s) / most) * 100}%"></i></li>`).join("")}</ol><div id="step"></div></div>`);
  $("#slider").oninput = (e) => go(+e.target.value - 1);
  $("#prev").onclick = () => go(at() - 1);
  $("#next").onclick = () => go(at() + 1);
  $("#play").onclick = play;
  $("#derivation").onclick = () => save(`${H.name || "function"}.md`, derivation(), "text/markdown");
  $("#rounds").onchange = (e) => { byRounds = e.target.checked; $("#slider").max = byRounds ? H.rounds.length : H.steps.length; go(at()); };
  $(".steps ol").onclick = (e) => { const li = e.target.closest("li"); if (li) { byRounds = $("#rounds").checked = false; $("#slider").max = H.steps.length; go(+li.dataset.step); } };
  drawStep();
}
// All steps as a text: laws, conditions, what they say is equal, and what that saved.
function derivation() {
  const text = (p) => p.rows.map((r) => `${"    ".repeat(r.depth)}${r.text.trim()}`).join("\n"), code = (s) => `\n\`\`\`text\n${s}\n\`\`\`\n`;
  const parts = H.steps.map((s, n) => {
    const law = LAWS.get(s.law), said = s.equalities.map((k) => H.egraph.equalities[k]).filter((e) => e[2] != null && e[3] != null).slice(0, 8);
    return `## ${n + 1}. ${law.name}\n\n${law.says}\n${code(law.mathematics)}${law.conditions.map((c) => `- when \`${c.text}\`: ${c.meaning}\n`).join("")}\nCost ${costText(s.cost_before)} → ${costText(s.cost_after)}.\n${said.length ? code(said.map((e) => `${FORMS[e[2]].text} = ${FORMS[e[3]].text}`).join("\n")) : ""}`;
  });
  return `# ${H.name || "function"}: from the program as written to the one that runs\n\nCost ${costText(H.report.cost_before)} → ${costText(H.report.cost_after)}.\n\nAs written:\n${code(text(BEFORE))}\n${parts.join("\n")}\n## The program that runs\n${code(text(AFTER))}`;
}
const at = () => (byRounds ? roundAt : stepAt);
function go(n, quiet) {
  const last = (byRounds ? H.rounds : H.steps).length - 1;
  n = Math.max(0, Math.min(last, n));
  if (byRounds) roundAt = n; else stepAt = n;
  drawStep();
  if (!quiet) remember();
}
let playing = 0;
function play() {
  if (playing) { clearInterval(playing); playing = 0; } else {
    if (at() >= (byRounds ? H.rounds : H.steps).length - 1) go(0);
    playing = setInterval(() => { const was = at(); go(was + 1, true); if (at() === was || viewAt !== "steps") play(); }, 1200);
  }
  $("#play").textContent = playing ? "stop" : "play";
}
function drawStep() {
  if (!H.steps.length) return;
  $("#slider").value = at() + 1;
  for (const li of $$(".steps li")) li.classList.toggle("on", !byRounds && +li.dataset.step === stepAt);
  if (byRounds) return drawRound();
  const s = H.steps[stepAt], law = LAWS.get(s.law);
  $("#where").textContent = `step ${stepAt + 1} of ${H.steps.length}`;
  const saved = saving(s);
  const said = s.equalities.map((n) => H.egraph.equalities[n]).filter((e) => e[2] != null && e[3] != null);
  $("#step").innerHTML = `<div class="card"><h3 style="margin-top:0">${lawLink(law.name)} <span class="soft">began in round ${s.round + 1}</span></h3>
    <div class="formula mono" title="${esc(law.formula)}">${esc(law.mathematics)}</div><p>${esc(law.says)}</p>
    <p>cost ${costText(s.cost_before)} → ${costText(s.cost_after)} <span class="${saved > 0 ? "less" : "soft"}">${saved > 0 ? `−${costText(saved)}, ${share(s.cost_before, s.cost_after)}` : "saves nothing yet: the next laws need what it makes"}</span>
    <span class="tag">licence: ${esc(law.licence)}</span><span class="tag">${esc(law.ruleset)}</span></p>
    ${law.conditions.length ? `<h3>When</h3>${law.conditions.map((c) => `<div><span class="mono">${esc(c.text)}</span> <span class="soft">${esc(c.meaning)}</span></div>`).join("")}` : ""}
    ${said.length ? `<h3>What matched${said.length > 6 ? ` (${said.length} of the places that the result rests on)` : ""}</h3><ul class="chain mono">${said.slice(0, 8).map((e) => `<li>${linked(FORMS[e[2]].text)} = ${linked(FORMS[e[3]].text)} <a class="soft" href="#egraph/${e[0]}">class</a></li>`).join("")}</ul>` : ""}
    <h3>The part of the program that changed</h3>${diffText(s)}</div>`;
}
function diffText(s) {
  if (s.before === s.after) return '<p class="soft">Nothing yet: the program that would be chosen is the same.</p>';
  const p = program(s.before), q = program(s.after);
  const said = (r) => `${r.loop}\n${r.text}`;
  const old = new Set(p.rows.map(said)), now = new Set(q.rows.map(said));
  const gone = p.rows.filter((r) => !now.has(said(r))), add = q.rows.filter((r) => !old.has(said(r)));
  const later = new Map(add.flatMap((r) => r.makes.map((m) => [m, r])));
  const classes = new Set(s.equalities.map((n) => H.egraph.equalities[n][0]));
  const own = [], rest = [], used = new Set();
  const put = (r, html) => (r.law === s.law || classes.has(r.class) ? own : rest).push(html);
  const where = (r, prog) => (r.loop ? `in ${prog.loops.get(r.loop)?.row.label || "a loop"}` : "outside");
  const line = (kind, sign, r) => `<span class="${kind}">${sign} ${linked(r.text.trim())}</span>`;
  for (const r of gone) {
    const twin = r.makes.map((m) => later.get(m)).find((x) => x && !used.has(x));
    if (twin) used.add(twin);
    if (twin && twin.text === r.text) put(twin, `<span class="move">⇄ ${linked(r.text.trim())}   moved: ${esc(where(r, p))} → ${esc(where(twin, q))}</span>`);
    else put(twin || r, line("del", "−", r) + (twin ? line("add", "+", twin) : ""));
  }
  for (const r of add) if (!used.has(r)) put(r, line("add", "+", r));
  if (!own.length && !rest.length) return '<p class="soft">The lines are the same, in another order.</p>';
  const some = (list) => `<pre class="diff">${list.slice(0, 80).join("")}${list.length > 80 ? `<span class="same">… and ${list.length - 80} more</span>` : ""}</pre>`;
  const follows = rest.length ? `<details${own.length > 12 || rest.length > 24 ? "" : " open"}><summary class="soft">${own.length ? "and what follows from it" : "What changed with it"}: ${rest.length} values</summary>${some(rest)}</details>` : "";
  return `<p class="soft">${gone.length} lines gone, ${add.length} new; lines in another order are not shown.</p>${own.length ? some(own) : ""}${follows}`;
}
function drawRound() {
  const r = H.rounds[roundAt], found = Object.entries(r.matches).sort((a, b) => b[1] - a[1]);
  const before = roundAt ? H.rounds[roundAt - 1].forms : null;
  $("#where").textContent = `round ${roundAt + 1} of ${H.rounds.length}`;
  $("#step").innerHTML = `<div class="card"><h3 style="margin-top:0">Round ${roundAt + 1}</h3><p>${r.forms.toLocaleString("en")} forms after it${before == null ? "" : ` (${r.forms >= before ? "+" : ""}${r.forms - before})`}</p>
    <table class="plain"><thead><tr><th>law</th><th class="r">matches</th><th>formula</th></tr></thead>${found.map(([n, c]) => `<tr data-law="${esc(n)}"><td class="mono">${esc(n)}</td><td class="r">${c}</td><td class="mono">${esc(LAWS.get(n)?.mathematics || "")}</td></tr>`).join("") || "<tr><td>no law matched</td></tr>"}</table></div>`;
}
