// The pages of a notebook's functions in a frame: shown anew when they change, at the view and the value they were at.
function render({ model, el }) {
  const choice = document.createElement("select"), frame = document.createElement("iframe");
  choice.setAttribute("aria-label", "Function");
  frame.title = "scanopt";
  frame.style.cssText = "width:100%;border:1px solid #8888;border-radius:6px";
  el.append(choice, frame);
  let url = "", ended = false;
  const hash = () => { try { return frame.contentWindow.location.hash; } catch { return ""; } };
  function draw() {
    const pages = model.get("pages"), names = Object.keys(pages), name = model.get("name");
    choice.replaceChildren(...names.map((n) => new Option(n, n, false, n === name)));
    choice.hidden = names.length < 2;
    frame.style.height = `${model.get("height")}px`;
    URL.revokeObjectURL(url);
    url = URL.createObjectURL(new Blob([pages[name] ?? "<p>Nothing is compiled yet.</p>"], { type: "text/html" }));
    frame.src = url + model.get("place");
  }
  choice.onchange = () => { model.set("place", ""); model.set("name", choice.value); model.save_changes(); };
  const go = () => { const place = model.get("place"); if (place !== hash()) try { frame.contentWindow.location.hash = place; } catch { /* not loaded yet */ } };
  const look = setInterval(() => {
    const place = hash();
    if (!ended && frame.contentDocument?.documentElement?.dataset.ready === "1" && place !== model.get("place")) { model.set("place", place); model.save_changes(); }
  }, 250);
  model.on("change:pages", draw);
  model.on("change:name", draw);
  model.on("change:height", draw);
  model.on("change:place", go);
  draw();
  return () => { ended = true; clearInterval(look); URL.revokeObjectURL(url); for (const x of ["pages", "name", "height"]) model.off(`change:${x}`, draw); model.off("change:place", go); };
}
export default { render };
