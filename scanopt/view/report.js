"use strict";
// One step at a time, with buttons, arrow keys and links (#step-3); pictures can be zoomed.
document.documentElement.classList.add("js");
const steps = [...document.querySelectorAll(".step")];
const where = document.getElementById("where");
const back = document.getElementById("back");
const next = document.getElementById("next");
let current = 0;

function show(index, write) {
  if (!steps.length) return;
  current = Math.max(0, Math.min(steps.length - 1, index));
  steps.forEach((step, i) => step.classList.toggle("on", i === current));
  where.textContent = `step ${current + 1} of ${steps.length}: ${steps[current].dataset.law}`;
  back.disabled = current === 0;
  next.disabled = current === steps.length - 1;
  if (write) history.replaceState(null, "", `#step-${current + 1}`);
  fitAll(steps[current]);
}

function fromHash() {
  const found = /^#step-(\d+)$/.exec(location.hash);
  show(found ? Number(found[1]) - 1 : 0, false);
  if (found && steps.length) steps[current].scrollIntoView();
}

// A picture is made to fit its place, but never so small that it cannot be read.
function zoom(figure, factor) {
  const svg = figure.querySelector("svg");
  const natural = svg.viewBox.baseVal;
  const fit = Math.min(1, Math.max(0.5, (figure.clientWidth - 2) / natural.width));
  const scale = factor ? Math.max(0.1, Number(figure.dataset.scale || 1) * factor) : fit;
  figure.dataset.scale = scale;
  svg.setAttribute("width", natural.width * scale);
  svg.setAttribute("height", natural.height * scale);
}

function fitAll(root) {
  for (const figure of root.querySelectorAll(".figure")) {
    if (figure.clientWidth && !figure.dataset.scale) zoom(figure, 0);
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button === back) show(current - 1, true);
  else if (button === next) show(current + 1, true);
  else if (button.dataset.zoom) {
    zoom(button.parentElement.nextElementSibling, Number(button.dataset.zoom));
  }
});

document.addEventListener("keydown", (event) => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (event.target.closest("input, textarea, select, .figure, pre")) return;
  if (event.key === "ArrowLeft") show(current - 1, true);
  if (event.key === "ArrowRight") show(current + 1, true);
});

for (const details of document.querySelectorAll("details")) {
  details.addEventListener("toggle", () => fitAll(details));
}
window.addEventListener("hashchange", fromHash);
fromHash();
fitAll(document);
