"use strict";
// The source that runs, line by line beside the values of the program, and the user's own lines that they come from.
const PLACE = /\(([^()]+):(\d+)\)$/;

// The user's lines of a value: its own, else those of the loop that holds it.
function placesOf(name) {
  const out = new Set();
  for (const p of [BEFORE, AFTER]) {
    const row = p.by.get(name);
    for (let at = row; at; at = p.loops.get(at.loop)?.row) {
      const sites = (at.sites || []).map((s) => PLACE.exec(s)).filter(Boolean);
      for (const [, file, line] of sites) out.add(`${file}:${line}`);
      if (sites.length) break;
    }
  }
  return out;
}
function setUpSource() {
  const called = H.source.names, pattern = /[A-Za-z_][A-Za-z0-9_]*/g, some = Object.keys(called).length;
  const made = (line) => (/^\s*(?:for\s+)?\[?([\w, ]+?)\]?\s*(?:=(?!=)| in )/.exec(line) || [])[1] || "";
  const text = H.source.text.split("\n").map((line) => {
    const all = [...new Set((line.match(pattern) || []).map((w) => called[w]).filter((n) => n && NAMES.has(n)))];
    const own = (made(line).match(pattern) || []).map((w) => called[w]).filter((n) => n && NAMES.has(n));
    const names = [...new Set([...own, ...all])];
    return `<span data-names="${esc(names.join(" "))}"><i>${own.slice(0, 2).map(linked).join(" ")}</i>${esc(line) || " "}</span>`;
  });
  const users = Object.entries(H.files || {}).map(([file, { first, lines }]) => `<h3>${esc(shortSite(file))}</h3><pre class="src user">${lines.map((l, n) => `<span data-place="${esc(`${file}:${first + n}`)}"><i>${first + n}</i>${esc(l) || " "}</span>`).join("")}</pre>`).join("");
  $("#source").insertAdjacentHTML("beforeend", `<p class="soft">${some ? "Left of each line stands the value of the program that it makes. Click a line, or a line of yours that has a mark: what belongs together is marked." : "The program that runs was found in another search than the one shown here: its lines are not linked."}</p><div class="sources"><pre class="src run">${text.join("")}</pre><div class="users">${users || '<p class="soft">Your files cannot be read here.</p>'}</div></div>`);
  const root = $("#source"), names = [...NAMES].map((n) => [n, placesOf(n)]);
  const held = new Set(names.flatMap(([, places]) => [...places]));
  for (const line of $$("[data-place]", root)) line.classList.toggle("made", held.has(line.dataset.place));
  root.addEventListener("click", (e) => {
    const line = e.target.closest("pre.run span[data-names]"), own = e.target.closest("[data-place].made");
    if (e.target.closest(".v")) return;
    if (line?.dataset.names) select(line.dataset.names.split(" ")[0]);
    if (own) markLines(new Set(names.filter(([, places]) => places.has(own.dataset.place)).map(([n]) => n)), new Set([own.dataset.place]));
  });
  state.listeners.push((name) => markLines(new Set(name ? [name] : []), name ? placesOf(name) : new Set()));
}
function markLines(names, places) {
  let first;
  for (const line of $$("#source pre.run > span")) {
    const on = line.dataset.names.split(" ").some((n) => names.has(n));
    line.classList.toggle("lit", on);
    first ||= on ? line : undefined;
  }
  const own = $$("#source [data-place]").filter((x) => { const on = places.has(x.dataset.place); x.classList.toggle("lit", on); return on; });
  if ($("#source").classList.contains("on")) for (const x of [first, own[0]]) x?.parentElement.scrollTo(0, x.offsetTop - x.parentElement.clientHeight / 3);
}
