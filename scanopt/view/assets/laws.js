"use strict";
// All laws: what each did, or which condition kept it from firing, and where.
let lawAt = "";

function setUpLaws() {
  $("#laws").insertAdjacentHTML("beforeend", `<div class="bar"><input id="lawfind" placeholder="name, ruleset or formula" size="26" aria-label="Filter laws"/>
    <select id="lawkind" aria-label="Which laws"><option value="">all ${H.laws.length}</option><option value="used">in the result</option><option value="fired">fired</option><option value="near">found, but kept from firing</option><option value="barred">not allowed</option></select>
    <label><input type="checkbox" id="lawhere"/> only at the chosen value</label></div>
    <div id="law"></div><div class="wide" id="lawtable"></div>`);
  for (const id of ["lawfind", "lawkind", "lawhere"]) $(`#${id}`).oninput = drawLaws;
  state.listeners.push(() => { if ($("#lawhere").checked) drawLaws(); });
  drawLaws();
}
const stateOf = (x) => x.barred ? (x.barred === "licence" ? `needs fp="${x.licence}"` : "left out") : x.matches ? `fired ${x.matches.toLocaleString("en")}×` : x.found ? `found ${x.found}×, kept from firing` : "never found";
function lawAtValue(x) {
  const classes = new Set([BEFORE, AFTER].map((p) => p.by.get(state.name)?.class));
  return (x.failing || []).some((f) => f.places.some((p) => classes.has(p.class))) || [...classes].some((c) => CLASSES.get(c)?.said.some((e) => e.law === x.name));
}
function drawLaws() {
  const text = $("#lawfind").value.toLowerCase(), kind = $("#lawkind").value, here = $("#lawhere").checked && state.name;
  const keep = { used: (x) => STEP_OF.has(x.name), fired: (x) => x.matches, near: (x) => !x.matches && x.found, barred: (x) => x.barred };
  const shown = H.laws.filter((x) => (!kind || keep[kind](x)) && (!here || lawAtValue(x)) && `${x.name} ${x.ruleset} ${x.mathematics} ${x.says}`.toLowerCase().includes(text));
  shown.sort((a, b) => STEP_OF.has(b.name) - STEP_OF.has(a.name) || b.matches - a.matches || (b.found || 0) - (a.found || 0));
  $("#lawtable").innerHTML = `<table class="plain"><thead><tr><th>law</th><th>here</th><th class="r wideonly">time</th><th class="r wideonly">forms made</th><th class="r">saved</th><th>formula</th></tr></thead><tbody>${shown.map((x) => {
    const s = STEP_OF.has(x.name) ? H.steps[STEP_OF.get(x.name)] : null;
    return `<tr data-law="${esc(x.name)}" class="${x.name === lawAt ? "on" : ""}"><td class="mono law">${breakable(x.name)}</td><td class="here">${stateOf(x)}</td><td class="r wideonly">${x.matches ? millis(x.seconds) : ""}</td><td class="r wideonly">${x.made || ""}</td><td class="r">${s ? (saving(s) > 0 ? costText(saving(s)) : "enables") : ""}</td><td class="mono">${esc(x.mathematics)}</td></tr>`;
  }).join("")}</tbody></table>`;
}
function showLaw(name) {
  lawAt = LAWS.has(name) ? name : "";
  const x = LAWS.get(lawAt), box = $("#law");
  for (const tr of $$("#lawtable tr[data-law]")) tr.classList.toggle("on", tr.dataset.law === lawAt);
  if (!x) { box.innerHTML = ""; return; }
  const n = STEP_OF.get(x.name);
  const said = H.egraph.equalities.filter((e) => e[1] === x.name && e[2] != null && e[3] != null);
  box.innerHTML = `<div class="card"><h3 style="margin-top:0">${esc(x.name)} <span class="tag">${stateOf(x)}</span></h3><div class="formula mono" title="${esc(x.formula)}">${esc(x.mathematics)}</div><p>${esc(x.says)}</p>
    <p><span class="tag">licence: ${esc(x.licence)}</span><span class="tag">${esc(x.ruleset)}</span>${n === undefined ? "" : `<a href="#steps/${n + 1}">step ${n + 1}</a>${saving(H.steps[n]) > 0 ? `, saves <span class="less">${costText(saving(H.steps[n]))}</span>` : ""}`}</p>
    ${x.conditions.length ? `<h3>It asks for</h3>${x.conditions.map((c) => `<div><span class="mono">${esc(c.text)}</span> <span class="soft">${esc(c.meaning)}</span></div>`).join("")}` : ""}
    ${x.code ? `<details class="lawcode"><summary>as it is written in Python</summary><pre class="src">${esc(x.code)}</pre></details>` : ""}
    ${whyNot(x)}${said.length ? `<h3>What it said is equal</h3><ul class="chain mono">${said.slice(0, 12).map((e) => `<li>${linked(FORMS[e[2]].text)} = ${linked(FORMS[e[3]].text)} <a class="soft" href="#egraph/${e[0]}">class</a></li>`).join("")}</ul>${said.length > 12 ? `<p class="soft">and ${said.length - 12} more</p>` : ""}` : ""}</div>`;
}
function whyNot(x) {
  if (x.matches && !x.barred) return "";
  if (!x.found) return `<h3>Why it did not fire</h3><p>Nothing in the program, nor in what laws made of it, looks like its left side.</p>`;
  const head = x.barred ? `<p>${x.barred === "licence" ? `It is ${esc(x.licence)}, and the function allows ${esc(H.report.licence)} only.` : "It was left out by exclude= or by a mode."} ${x.complete ? `It would fire ${x.complete}×.` : "It would not fire anyway:"}</p>` : "";
  return `<h3>Why it did not fire</h3><p>Its left side was found ${x.found}×.</p>${head}${(x.failing || []).map((f) => `<p class="missing">At ${f.count} ${f.count === 1 ? "place" : "places"}${f.alone ? ` (at ${f.alone} nothing else is missing)` : ""} <b class="mono">${esc(f.condition)}</b> is not known: ${esc(f.meaning)}.</p><ul class="chain">${f.places.map((p) => {
    const name = p.class === undefined ? "" : CLASSES.get(p.class)?.name;
    return `<li class="mono">${name ? `${linked(name)} ` : ""}${esc(shortSite(p.text))}</li>`;
  }).join("")}</ul>`).join("")}`;
}
