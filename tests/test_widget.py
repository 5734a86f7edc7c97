"""The page as a widget: it follows what is compiled, and what is looked at goes both ways."""

import html
import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, Browser
from compiled import documented

import scanopt
import scanopt.tensor as T
from scanopt.view import live
from scanopt.view.live import LivePages
from scanopt.view.widget import _widget_class, page_widget

pytest.importorskip("anywidget", reason="anywidget is not installed: pip install scanopt[notebook]")


@pytest.fixture
def watched() -> Iterator[LivePages]:
    with scanopt.watch() as pages:
        yield pages
    pages.close()
    live._OPEN.clear()


def once(name: str = "once") -> Any:
    x = T.dvector("x")
    return scanopt.function([x], T.exp(x * 1.0), name=name)


def test_a_function_is_its_page() -> None:
    f = once()
    w = f.widget(height=300)
    assert (w.name, w.place, w.height) == ("once", "", 300)
    assert "<title>once: how scanopt compiled it</title>" in w.pages["once"]
    bundle = w._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "application/vnd.jupyter.widget-view+json" in data
    seen: list[str] = []
    w.observe(lambda change: seen.append(change["new"]), "place")
    w.set_state({"place": "#steps/1"})  # as the browser says it
    assert seen == ["#steps/1"]


def test_what_is_no_height_or_page_is_refused() -> None:
    with pytest.raises(Exception, match="height"):
        once().widget(height="tall")  # type: ignore[arg-type]
    w = page_widget({})
    assert (w.pages, w.name) == ({}, "")


def test_a_watched_block_updates_what_was_displayed_before(watched: LivePages) -> None:
    w = watched.widget()
    assert w.pages == {}
    once("first")
    once("second")
    assert [*w.pages] == ["first", "second"]
    assert w.name == "second"
    w.place = "#laws"
    before = w.pages["first"]
    x = T.dvector("x")
    with scanopt.watch():
        scanopt.function([x], T.log(x), name="first")
    assert w.name == "first"
    assert w.pages["first"] != before
    assert w.place == "#laws"
    bundle = watched._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "application/vnd.jupyter.widget-view+json" in data
    assert watched._displayed.pages == w.pages
    once("third")
    assert "third" in watched._displayed.pages


def test_without_anywidget_there_is_the_page_itself(watched: LivePages, monkeypatch: pytest.MonkeyPatch) -> None:
    f = once()
    _widget_class.cache_clear()
    whole = importlib.import_module

    def refuse(name: str, *more: Any) -> Any:
        if name == "anywidget":
            raise ImportError("No module named 'anywidget'")
        return whole(name, *more)

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(ImportError, match=r"pip install 'scanopt\[notebook\]'"):
        f.widget()
    bundle = watched._repr_mimebundle_()
    assert "srcdoc=" in bundle["text/html"]
    monkeypatch.undo()
    _widget_class.cache_clear()


# ---- in a browser ----

MODEL = """<!DOCTYPE html><html><head><link rel="icon" href="data:,"></head><body><div id="cell"></div>
<script type="application/json" id="state">%s</script>
<script>
%s
const state = JSON.parse(document.getElementById("state").textContent), told = {};
window.model = {
  get: (k) => state[k],
  set(k, v) { if (state[k] !== v) { state[k] = v; (told[`change:${k}`] || []).forEach((f) => f()); } },
  on: (k, f) => (told[k] ||= []).push(f), off: (k, f) => { told[k] = told[k].filter((g) => g !== f); },
  save_changes() {},
};
window.end = widget.render({ model, el: document.getElementById("cell") });
</script></body></html>"""
FRAME = "document.querySelector('iframe')?.contentDocument"
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: apt-get install chromium")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[LivePages, Browser]]:
    pages = LivePages()
    with Browser(tmp_path / "profile") as browser:
        yield pages, browser
    pages.close()


@needs_browser
def test_the_widget_is_the_page_at_the_place_it_was(served: tuple[LivePages, Browser]) -> None:
    pages, browser = served
    f, g = documented(), once()
    w = f.widget()
    state = {"pages": {**w.pages, **g.widget().pages}, "name": "documented", "place": "", "height": 640}
    code = w._esm if isinstance(w._esm, str) else str(w._esm)
    text = json.dumps(state).replace("<", "\\u003c")
    pages.set({"cell": MODEL % (text, code.replace("export default", "const widget ="))})
    browser.say("Page.navigate", url=pages.url)
    loaded = f"{FRAME}?.documentElement?.dataset.ready === '1'"
    browser.wait(loaded)
    assert browser.js(f"{FRAME}?.title").startswith("documented:")
    # What is clicked in the page is told to Python ...
    browser.js(f"{FRAME}?.querySelector('nav a[href=\"#costs\"]').click()")
    browser.wait("model.get('place') === '#costs'")
    # ... what Python sets is shown ...
    browser.js("model.set('place', '#steps/2')")
    browser.wait(f"{FRAME}?.querySelector('#steps').classList.contains('on')")
    # ... and a page that is compiled anew stays where it was.
    browser.js(
        "(() => { const p = model.get('pages');"
        "model.set('pages', {...p, documented: p.documented.replace('<h1>', '<h1>again ')}); })()"
    )
    browser.wait(f"{loaded} && {FRAME}?.querySelector('h1').innerText.startsWith('again')")
    assert browser.js(f"{FRAME}?.querySelector('#steps').classList.contains('on')")
    # Another function is chosen by its name.
    browser.js("(() => { const s = document.querySelector('select'); s.value = 'once'; s.onchange(); })()")
    browser.wait(f"{loaded} && {FRAME}?.title.startsWith('once:')")
    browser.js("end()")
    assert browser.complaints == []


@needs_browser
def test_a_page_within_a_notebook_without_widgets_can_be_clicked(served: tuple[LivePages, Browser]) -> None:
    pages, browser = served
    page = html.escape(documented().widget().pages["documented"], quote=True)
    frame = f'<iframe srcdoc="{page}" style="width:100%;height:640px"></iframe>'
    cell = f'<!DOCTYPE html><link rel="icon" href="data:,"><body>{frame}</body>'
    pages.set({"cell": cell})
    browser.say("Page.navigate", url=pages.url)
    browser.wait(f"{FRAME}?.documentElement?.dataset.ready === '1'")
    for view in ("costs", "laws", "graph"):
        browser.js(f"{FRAME}?.querySelector('nav a[href=\"#{view}\"]').click()")
        browser.wait(f"{FRAME}?.querySelector('#{view}')?.classList.contains('on')")
    browser.js(f"{FRAME}?.querySelector('.v[data-n]').click()")
    assert browser.complaints == []
