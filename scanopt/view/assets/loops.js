"use strict";
// The space of a loop's iterations: steps from left to right, states from top to bottom, arrows for taps.
function setUpLoops() {
  const keys = [...new Set([...BEFORE.loops.keys(), ...AFTER.loops.keys()])];
  const cost = (k) => Math.max(BEFORE.loops.get(k)?.cost || 0, AFTER.loops.get(k)?.cost || 0);
  keys.sort((x, y) => cost(y) - cost(x));
  const side = (key, p) => (p.loops.has(key) ? iterations(p.loops.get(key), p) : '<p class="soft">This loop is not there.</p>');
  $("#loops").insertAdjacentHTML("beforeend", `<p class="soft">Steps from left to right, states from top to bottom; an arrow goes from a state to the steps that read it (its taps). Hollow: rows that are there before the first step. The dearest loop is first.</p>
    ${keys.map((key) => `<div class="card wide"><h3 style="margin-top:0">${esc((AFTER.loops.get(key) || BEFORE.loops.get(key)).row.label || key)}</h3><div class="twoloops">${side(key, BEFORE)}${side(key, AFTER)}</div></div>`).join("") || "<p>No loop.</p>"}`);
}
// States with the same taps are one row; a click tells of each.
function rowsOf(states) {
  const rows = new Map();
  for (const s of states) {
    const key = `${s.taps.map(([k]) => k).join(" ")} ${s.depth}`;
    rows.set(key, [...(rows.get(key) || []), s]);
  }
  return states.length > 5 ? [...rows.values()] : states.map((s) => [s]);
}
function iterations({ row, rows, cost }, p) {
  const groups = rowsOf(row.states || []), depth = Math.max(0, ...(row.states || []).map((s) => s.depth));
  const shown = Math.max(1, Math.min(6, row.steps)), first = -Math.min(depth, 4), dx = 48, dy = 34, left = 92 - first * dx;
  const reads = rows.filter((r) => r.kind === "read" && r.loop === row.key), x = (t) => left + t * dx, y = (n) => 40 + n * dy;
  const steps = [...Array(shown - first).keys()].map((t) => t + first);
  const line = (states, n) => {
    const s = states[0], label = states.length > 1 ? `${states.length} states` : s.label || s.next;
    const title = states.map((z) => `${z.label || ""} ${z.next}`.trim()).join(", ");
    const dots = steps.filter((t) => t >= -s.depth).map((t) => `<circle class="${t < 0 ? "given" : ""}" cx="${x(t)}" cy="${y(n)}" r="4"><title>${esc(title)} ${t < 0 ? "as given" : `at step ${t}`}</title></circle>`);
    const arrow = (k, t) => `<path d="M${x(t) + 4} ${y(n) - 3} Q ${x(t) + (k * dx) / 2} ${y(n) - 8 - 7 * k} ${x(t + k) - 5} ${y(n) - 4}" marker-end="url(#arrow)"/>`;
    const arrows = s.taps.flatMap(([k]) => steps.filter((t) => t >= -s.depth && t + k >= 0 && t + k < shown).map((t) => arrow(k, t)));
    return `<text x="4" y="${y(n) + 4}"><title>${esc(title)}</title>${esc(label.slice(0, 12))}</text>${dots.join("")}${arrows.join("")}`;
  };
  const height = 34 + Math.max(groups.length, 1) * dy, width = x(shown) + 30;
  const axis = steps.map((t) => `<text x="${x(t)}" y="12" text-anchor="middle">${t < 0 ? t : `t=${t}`}</text>${t < 0 ? "" : `<line x1="${x(t)}" x2="${x(t)}" y1="18" y2="${height - 8}"/>`}`).join("");
  const more = row.steps > shown ? `<text x="${x(shown) - 6}" y="12">… ${(row.steps - 1).toLocaleString("en")}</text>` : "";
  const named = (row.states || []).map((s) => `${linked(s.next)} read ${s.taps.map(([k]) => `${k}`).join(" and ")} later`);
  return `<div><b>${p === BEFORE ? "as written" : "as it runs"}</b> <span class="soft">${row.steps.toLocaleString("en")} steps, ${rows.length} lines, ${costText(cost)}</span>
    ${groups.length ? `<svg class="grid" viewBox="0 0 ${width} ${height}" style="width:100%;max-width:${width}px">${p === BEFORE ? '<defs><marker id="arrow" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" markerHeight="6" orient="auto"><path d="M0 0 6 3 0 6z" style="fill:var(--accent);stroke:none"/></marker></defs>' : ""}${axis}${more}${groups.map(line).join("")}</svg>` : "<p>It carries no state: its steps do not wait for one another.</p>"}
    <p class="soft">reads ${reads.length ? reads.slice(0, 8).map((r) => linked(r.text.replace(/^\s*read\s+/, ""))).join("; ") : "no sequence"}${reads.length > 8 ? ` and ${reads.length - 8} more` : ""}</p>
    ${named.length ? `<details><summary class="soft">${named.length} ${named.length > 1 ? "states" : "state"}</summary>${named.join("<br/>")}</details>` : ""}</div>`;
}
