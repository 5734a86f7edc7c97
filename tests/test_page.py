"""The page of a compilation: sound and whole without scripts; in a browser a person finds what to ask."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from browser import CHROMIUM, Browser
from compiled import branching, documented, ending, lstm_gradient, rnn, stacked, unchanged
from page_features import FEATURES, features_table
from viewed import HOSTILE

import scanopt
import scanopt.tensor as T
from scanopt.compilation import explanation
from scanopt.view.aligned import aligned, changes
from scanopt.view.page import VIEWS, page_html

LARGEST, LOADED = 2_000_000, 2.0  # bytes of a page; seconds until it can be used


def hostile() -> Any:
    """Names that would end a tag, a script or a string."""
    x, w = T.dmatrix(HOSTILE), T.dvector(f"w{HOSTILE}")
    rows, _ = scanopt.scan(lambda r, w: T.exp(r * 1.0) * w, x, non_sequences=w, name=HOSTILE)
    return scanopt.function([x, w], rows.sum(), name=HOSTILE)


def as_xml(page: str) -> ET.Element:
    """The page without what HTML lets be unclosed, and without scripts: then it must be XML."""
    page = page.removeprefix("<!DOCTYPE html>\n")
    page = re.sub(r"<(meta|link)([^>]*)>", r"<\1\2/>", page)
    return ET.fromstring(re.sub(r"<script[^>]*>.*?</script>", "", page, flags=re.S))


# ---- without scripts ----


@pytest.mark.parametrize("make", [documented, branching, ending, unchanged, hostile])
def test_page_is_sound_and_needs_nothing_else(make: Any) -> None:
    page = page_html(make().history())
    root = as_xml(page)
    code = re.sub(r'/\*!.*?\*/|<script type="application/json".*?</script>', "", page, flags=re.S)
    assert not re.search(r"https?://(?!www\.w3\.org/)|@import|url\((?!#)", code)
    assert {e.get("href", "") for e in root.iter("link")} == {"data:,"}
    assert not [e for e in root.iter() if any(name in e.attrib for name in ("src", "onclick", "onload"))]
    assert [e.get("id") for e in root.iter("section")] == [*VIEWS]


def test_page_tells_the_story_without_scripts() -> None:
    text = "".join(as_xml(page_html(documented().history())).itertext())
    for words in (
        "times cheaper", "proven the cheapest found", "all laws exhausted", "operator_of_sequences", "licence exact",
        "sliced(c, args, outer, flags)", "(op(*outer) at all steps)[t]", "as written", "as it runs", "sit-sot",
        "Costs are for these sizes", "def program(",
    ):  # fmt: skip
        assert words in text


def test_page_of_what_no_law_changes_says_so() -> None:
    text = "".join(as_xml(page_html(unchanged().history())).itertext())
    assert "No law changed the program" in text
    assert "no cheaper program was found" in text


@pytest.mark.parametrize("gap", [None, 0.25])
def test_page_says_how_far_the_cheapest_may_be(gap: float | None) -> None:
    h = unchanged().history()
    h["report"] |= {"optimal": False, "gap": gap, "saturated": False, "stopped_by": "nodes"}
    text = "".join(as_xml(page_html(h)).itertext())
    assert ("not known" if gap is None else "at most 25.0% above") in text
    assert "stopped by the limit of nodes" in text


def line(name: str, text: str, loop: str = "") -> dict[str, Any]:
    return {"kind": "compute", "makes": [name], "text": text, "loop": loop}


def test_lines_are_aligned_by_what_they_compute() -> None:
    lines = [line("a", "a = 1"), line("b", "b = f(a)", "L0"), line("c", "c = g(b)"), line("b", "b = h(a)"),
             line("d", "d = a"), line("c", "c = k(b)")]  # fmt: skip
    pairs = {(p.before, p.after): p.state for p in aligned(lines, [0, 1, 2], [0, 3, 4, 5])}
    assert pairs == {(0, 0): "same", (1, 3): "moved", (None, 4): "new", (2, 5): "changed"}
    told = [f"{kind} {x['text']}" for kind, x in changes(lines, [0, 1, 2], [0, 3, 4, 5])]
    assert told == ["del b = f(a)", "add b = h(a)", "add d = a", "del c = g(b)", "add c = k(b)"]


def test_what_only_changed_its_place_in_the_order_is_no_change() -> None:
    lines = [line("a", "a = 1"), line("b", "b = 2")]
    assert [*changes(lines, [0, 1], [1, 0])] == []
    assert {p.state for p in aligned(lines, [0, 1], [1, 0])} == {"same"}


# ---- in a browser ----

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: apt-get install chromium")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages of the documents' network and of the gradient of a two-layer LSTM, and how long they took to make."""
    folder = tmp_path_factory.mktemp("pages")
    made = {"rnn": rnn(), "lstm": lstm_gradient(2), "hostile": hostile(), "stack": stacked(4, gradient=True)}
    measured = {"rnn"}
    return {name: Path(f.show(str(folder / f"{name}.html"), name in measured)) for name, f in made.items()}


@pytest.fixture
def opened(browser: Browser, pages: dict[str, Path], request: pytest.FixtureRequest) -> Iterator[Browser]:
    """A page, opened anew; when the test is over, nothing was complained of, and nothing else was loaded."""
    browser.complaints.clear()
    browser.asked.clear()
    browser.resize(1400, 900)
    name = getattr(request, "param", "rnn")
    browser.open(pages[name])
    yield browser
    assert browser.complaints == []
    assert {url for url in browser.asked if not url.startswith("data:")} == {pages[name].as_uri()}


both = pytest.mark.parametrize("opened", ["rnn", "lstm"], indirect=True)


@needs_browser
@pytest.mark.parametrize("name", ["rnn", "lstm", "hostile"])
def test_page_is_small_and_opens_quickly(browser: Browser, pages: dict[str, Path], name: str) -> None:
    assert pages[name].stat().st_size <= LARGEST
    assert min(browser.open(pages[name]) for _ in range(3)) < LOADED


@needs_browser
@pytest.mark.parametrize("opened", ["rnn", "lstm", "hostile"], indirect=True)
def test_every_view_opens(opened: Browser) -> None:
    for view in VIEWS:
        opened.click(f'nav a[href="#{view}"]')
        assert opened.js("location.hash").startswith(f"#{view}")
        assert opened.text(f"section#{view}").strip()
        assert opened.count("main > section.on") == 1
    opened.js("history.back()")
    opened.wait("document.querySelector('nav a.on').getAttribute('href') === '#growth'")


@needs_browser
@both
def test_slider_goes_through_the_steps(opened: Browser) -> None:
    opened.click('nav a[href="#steps"]')
    first = opened.text("#step")
    opened.click("#next")
    assert opened.text("#where").startswith("step 2 of")
    assert opened.text("#step") != first
    opened.key("ArrowLeft")
    assert opened.text("#step") == first
    opened.js("(() => { const s = document.querySelector('#slider'); s.value = s.max; s.oninput({target: s}); })()")
    last = opened.js("H.steps.at(-1).law")
    assert last in opened.text("#step")
    opened.click("#rounds")
    assert "round 1 of" in opened.text("#where")
    assert opened.js("location.hash").startswith("#steps")


@needs_browser
@both
def test_pointing_tells_and_a_click_pins_with_the_counterpart(opened: Browser) -> None:
    name = opened.js("H.steps.length && [...BEFORE.by.keys()].find((n) => fate(n) === 'changed')")
    opened.js(f"reveal('{name}')")
    opened.hover(f'#program .v[data-n="{name}"]')
    opened.wait("document.querySelector('#tip').style.display === 'block'")
    tip = opened.text("#tip")
    assert name in tip
    assert "float64" in tip or "int64" in tip
    assert "models.py:" in tip or "as written" in tip
    opened.click(f'#program .v[data-n="{name}"]')
    assert opened.count("#program td.pinned") == 2
    assert opened.count("#program td.input-of") >= 1
    for words in ("As written", "As it runs", "Why both are equal"):
        assert words in opened.text("#panel")
    assert opened.js("location.hash").endswith(f"?{name}")
    opened.click('nav a[href="#source"]')
    assert opened.count("#source .lit") >= 1
    opened.key("Escape")
    assert opened.count("td.pinned") == 0


@needs_browser
@both
def test_loops_fold(opened: Browser) -> None:
    lines = "[...document.querySelectorAll('#program tbody tr')].filter((r) => r.offsetHeight).length"
    opened.click("#unfold")
    whole = opened.js(lines)
    opened.click("#program [data-fold]")
    assert opened.js(lines) < whole
    opened.click("#foldall")
    few = opened.js(lines)
    opened.click("#only")
    assert opened.js(lines) < few
    opened.click("#unfold")
    assert opened.js(lines) < whole


@needs_browser
@both
def test_graph_zooms_moves_folds_and_marks(opened: Browser) -> None:
    opened.click('nav a[href="#graph"]')
    assert opened.count(".graph g.node") > 10
    at = "JSON.stringify([view.x, view.y, view.k])"
    before = opened.js(at)
    opened.wheel(".graph svg.main", -240)
    opened.wait(f"{at} !== {before!r}")
    zoomed = opened.js(at)
    opened.drag(".graph svg.main", 90, 40)
    opened.wait(f"{at} !== {zoomed!r}")
    opened.key("f")
    fitted = opened.js(at)
    opened.click("#graph [data-zoom]")
    assert opened.js(at) != fitted
    opened.click(".graph svg.mini")
    places = "JSON.stringify([...nodes.values()].filter((n) => n.a && n.b && !n.loop).map((n) => [n.id, n.x, n.y]))"
    assert len(opened.js(places)) > 10
    opened.js("fit()")
    count = opened.count(".graph g.node")
    opened.click(".graph g.loopbox text")
    assert opened.count(".graph g.node") < count
    opened.js("(() => { shut.clear(); drawGraph(); fit(); })()")
    name = opened.js("document.querySelector('.graph[data-side=a] g.node').dataset.n")
    opened.click(".graph[data-side=a] g.node rect")
    assert opened.js("state.name") == name
    assert opened.count(".graph g.node.pinned") >= 1


@needs_browser
@pytest.mark.parametrize("opened", ["lstm"], indirect=True)
def test_gates_are_one_box_until_it_is_opened(opened: Browser) -> None:
    opened.click('nav a[href="#graph"]')
    assert "Around" in opened.text("#about")
    opened.js("(() => { const s = document.querySelector('#reach'); s.value = '0'; s.onchange({target: s}); })()")
    assert opened.js("total") < 0.5 * opened.js("BEFORE.rows.filter((r) => r.kind !== 'input').length")
    assert opened.js("Math.max(...[...nodes.values()].map((n) => (n.alike || []).length))") >= 3
    whole = opened.js("JSON.stringify([...nodes.values()].filter((n) => !n.loop).flatMap(namesOf).sort())")
    count = opened.js("total")
    opened.click(".graph .many")
    assert opened.js("total") > count
    assert opened.js("JSON.stringify([...nodes.values()].filter((n) => !n.loop).flatMap(namesOf).sort())") == whole
    opened.click(".graph .many")
    saved = ET.fromstring(opened.js("svgOf('a')"))
    assert len([*saved.iter("{http://www.w3.org/2000/svg}rect")]) > 50


@needs_browser
def test_costs_are_measured_beside_what_was_predicted(opened: Browser) -> None:
    opened.click('nav a[href="#costs"]')
    assert opened.count("#costs i.measured") == opened.js("H.programs.length") >= 2
    assert opened.count("#costs i.mark") >= 2
    opened.click('nav a[href="#growth"]')
    assert "Forms made by law and round" in opened.text("#growth")


@needs_browser
@both
def test_kernels_stand_beside_the_limit_of_the_machine(opened: Browser) -> None:
    opened.click('nav a[href="#costs"]')
    table = opened.text("#kernels table")
    shown = opened.js("H.programs[AFTER.number].kernels.filter((k) => k.cost > 1e-3 * H.report.cost_after).length")
    assert opened.count("#kernels > table > tbody > tr") == min(shown, 12) + 2
    assert re.search(r"arithmetic\s+\d+(\.\d+)? %", table)
    assert "all of it" in table
    assert "flop/s" in opened.text("#kernels")
    opened.click("#kernels summary")
    assert "all of it" in opened.text("#kernels details table")
    opened.click("#kernels .v[data-n]")
    assert opened.text("#panel").strip()


@needs_browser
@pytest.mark.parametrize("opened", ["stack"], indirect=True)
def test_layers_that_repeat_are_one_group(opened: Browser) -> None:
    """As written each layer is a loop, and so is its gradient; as it runs layers share a loop, as four recurrences."""
    groups = "[BEFORE, AFTER].map((p) => p.layers.map((g) => [g.scope ? 'in' : 'out', g.chain, g.layers.length]))"
    written, runs = opened.js(groups)
    assert ["out", True, 4] in written
    assert ["out", True, 4] in runs
    assert ["in", True, 4] in runs
    loops = "[...document.querySelectorAll('#program tr:not(.hide) td:first-child code')].map((x) => x.innerText)"
    assert "▸ layers 1–4" in opened.text('#program [data-layer="b0"]')
    assert sum("loop layer" in x for x in opened.js(loops)) == 1
    opened.click('#program [data-layer="b0"]')
    assert "▾ layer 1 of 4" in opened.text('#program [data-layer="b0"]')
    assert sum("loop layer" in x for x in opened.js(loops)) == 4
    opened.click('#program [data-layer="b0"]')
    assert sum("loop layer" in x for x in opened.js(loops)) == 1
    # What is searched for is unfolded.
    opened.write("#search", opened.js("BEFORE.layers[0].layers[2].find((r) => r.op === 'tanh').makes[0]"))
    opened.key("Enter")
    assert sum("loop layer" in x for x in opened.js(loops)) == 4
    # In the graph the layers are one box for each step, until they are unfolded.
    opened.js("select('')")
    opened.click('nav a[href="#graph"]')
    opened.js("(() => { const s = document.querySelector('#reach'); s.value = '0'; s.onchange({target: s}); })()")
    boxes = ".graph[data-side=b] g.loopbox:not(.ghost)"
    unfolded = opened.count(boxes)
    opened.click('#graph button[data-layer="b0"]')
    assert opened.count(boxes) == unfolded - 3
    assert "3 more alike" in opened.js("document.querySelector('.graph[data-side=b] svg.main').textContent")
    opened.click('#graph button[data-layer="b0"]')
    assert opened.count(boxes) == unfolded


@needs_browser
@pytest.mark.parametrize("opened", ["lstm"], indirect=True)
def test_layers_within_a_loop_are_found(opened: Browser) -> None:
    assert [True, 2] in opened.js("BEFORE.layers.map((g) => [g.chain, g.layers.length])")
    assert "layer 2 of 2" in opened.text("#program table.code")


def test_the_table_of_what_is_shown_is_in_the_documents() -> None:
    text = (Path(__file__).parents[1] / "docs" / "views.md").read_text(encoding="utf-8")
    assert features_table() in text, "print it: python tests/page_features.py"


@needs_browser
def test_all_that_is_said_to_be_shown_is_there(opened: Browser) -> None:
    for view in VIEWS:
        opened.click(f'nav a[href="#{view}"]')
    missing = [what for what, _, check in FEATURES if check and not opened.js(f"!!({check})")]
    assert missing == []


@needs_browser
def test_a_program_stands_beside_its_egraph(opened: Browser) -> None:
    opened.click('nav a[href="#egraph"]')
    opened.js("(() => { const s = $('#egside'); s.value = s.options.length - 1; s.oninput(); })()")
    lines = opened.js("H.programs[H.programs.length - 1].lines.length")
    assert opened.count("#egraph .list .twin") == lines
    opened.click("#egraph .list a.twin:nth-of-type(9)")
    at = opened.js("classAt")
    assert opened.count(f'#egraph .list a.twin.on[data-c="{at}"]') >= 1
    opened.hover(f'#egraph .list a.twin[data-c="{at}"]')
    opened.wait(f"document.querySelector('#egraph .cls.lit').dataset.c === '{at}'")


@needs_browser
def test_source_leads_to_values_and_to_lines_of_the_user(opened: Browser) -> None:
    opened.click('nav a[href="#source"]')
    opened.click("#source [data-place].made")
    assert opened.count("#source pre.run .lit") > 5
    opened.click("#source pre.run i .v")
    assert opened.js("state.name")
    assert opened.count("#source pre.run .lit") >= 1
    opened.js("select(AFTER.rows.find((r) => r.op === 'tanh').makes[0])")
    assert "scan(" in opened.text("#source [data-place].lit")


@needs_browser
@both
def test_steps_play_and_loops_show_their_taps(opened: Browser) -> None:
    opened.click('nav a[href="#steps"]')
    opened.click("#play")
    opened.wait("stepAt > 0")
    opened.key("Escape")
    opened.js("playing && play()")
    opened.click('nav a[href="#loops"]')
    assert opened.count("#loops .grid path[marker-end]") > 5
    assert opened.count("#loops circle.given") >= 1


@needs_browser
@both
def test_egraph_is_filtered_by_law_round_and_neighbourhood(opened: Browser) -> None:
    opened.click('nav a[href="#egraph"]')
    total = opened.count("#egraph .list a")
    law = opened.js("FORMS.find((f) => f.law && f.chosen).law")
    opened.js(f"(() => {{ const s = document.querySelector('#eglaw'); s.value = '{law}'; s.oninput(); }})()")
    some = opened.count("#egraph .list a")
    assert 0 < some < total or total == 300
    assert law in opened.text("#unions") or law in opened.js("document.querySelector('#egraph .cards').innerHTML")
    assert opened.count("#egraph .cls .chosen") >= 1
    near = opened.count("#egraph .cls")
    opened.js("(() => { const s = document.querySelector('#egnear'); s.value = '0'; s.oninput(); })()")
    assert opened.count("#egraph .cls") == 1 <= near
    opened.js("(() => { const s = document.querySelector('#eglaw'); s.value = ''; s.oninput(); })()")
    forms = "CLASSES.get(classAt) && [...CLASSES.values()].reduce((n, c) => n + shownForms(c).length, 0)"
    everything = opened.js(forms)
    opened.js("(() => { const s = document.querySelector('#eground'); s.value = '0'; s.oninput(); })()")
    assert opened.js(forms) < everything
    opened.write("#egfind", "dot(")
    assert 0 < opened.count("#egraph .list a") <= total


@needs_browser
@both
def test_search_finds_names_operators_laws_and_lines(opened: Browser) -> None:
    for text, words in (("tanh", "tanh("), ("operator_of_seq", "operator_of_sequences"), ("models.py:", "v")):
        opened.key("/")
        opened.write("#search", text)
        assert words in opened.text("#found")
    opened.write("#search", "tanh")
    opened.key("Enter")
    assert "tanh(" in opened.text("#panel")
    assert opened.count("#program td.pinned") >= 1


@needs_browser
def test_links_lead_to_what_was_chosen(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["rnn"], "#laws/right_identity?v24")
    assert browser.count("#laws.on") == 1
    assert "neutral(op, e, d)" in browser.text("#law")
    assert "v24" in browser.text("#panel")


@needs_browser
def test_page_is_readable_narrow_and_in_the_dark(browser: Browser, pages: dict[str, Path]) -> None:
    browser.resize(400, 800)
    browser.open(pages["rnn"])
    for view in VIEWS:
        browser.js(f"location.hash = '#{view}'")
        browser.wait(f"document.querySelector('section#{view}').classList.contains('on')")
        assert browser.js("document.documentElement.scrollWidth") <= 400
    light = browser.js("getComputedStyle(document.body).backgroundColor")
    browser.dark()
    assert browser.js("getComputedStyle(document.body).backgroundColor") != light
    browser.dark(False)


@needs_browser
def test_a_person_finds_the_four_answers(opened: Browser) -> None:
    """By clicks alone, on the page of the documents' network."""
    # Which law removed this product from the loop?
    product = opened.js(
        "[...BEFORE.by.values()].find((r) => r.op === 'dot' && fate(r.makes[0]) === 'changed').makes[0]"
    )
    opened.click(f'#program .v[data-n="{product}"]')
    panel = opened.text("#panel")
    assert "By which law, and what that saved" in panel
    assert "operator_of_sequences" in panel
    # What did it save?
    opened.click('#panel a[href^="#steps/"]')
    assert "operator_of_sequences" in opened.text("#step")
    assert re.search(r"cost 7\d\d µs → 5\d\d µs\s+−1\d\d µs, 1\d %", opened.text("#step"))
    # Why are these two values equal?
    opened.click('nav a[href="#program"]')
    said = re.sub(r"\s+", " ", opened.text("#panel").split("Why both are equal")[1])
    assert re.search(r"dot\(v\d+, W_in_\d\) = by operator_of_sequences .* v\d+\[t\]", said)
    # What kept that law from firing?  The product of the state is still in the loop.
    opened.click('nav a[href="#laws"]')
    opened.write("#lawfind", "invariant_of_loop")
    opened.click('#lawtable tr[data-law="invariant_of_loop"]')
    law = opened.text("#law")
    assert "Why it did not fire" in law
    assert re.search(r"held\(c, args, outer, flags\) is not known: ", law)
    assert opened.count("#law .missing + ul li") >= 1


def test_a_page_optimizes_once_and_not_once_for_each_law(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its programs are chosen in one e-graph; an optimization for each law took 339 s."""
    f = lstm_gradient(2)
    optimize = Mock(wraps=explanation.optimize)
    monkeypatch.setattr(explanation, "optimize", optimize)
    f.show(str(tmp_path / "page.html"))
    assert len(f.recording.stages) > 10
    optimize.assert_called_once()


@needs_browser
@pytest.mark.parametrize("opened", ["lstm"], indirect=True)
def test_the_four_answers_are_there_for_a_real_network(opened: Browser) -> None:
    """The same clicks on the page of the LSTM's gradient, which opens on the loop that costs most."""
    assert opened.js("scrollY") > 0
    assert opened.js("closed.has(state.dearest)") is False
    product = opened.js(
        "[...BEFORE.by.values()].find((r) => r.op === 'dot' && fate(r.makes[0]) !== 'same'"
        " && STEP_OF.has(AFTER.by.get(r.makes[0])?.law)).makes[0]"
    )
    opened.write("#search", product)
    opened.key("Enter")
    panel = opened.text("#panel")
    assert "By which law, and what that saved" in panel
    law = opened.js(f"AFTER.by.get('{product}').law")
    assert law in panel
    assert "Why both are equal" in panel
    opened.click('#panel a[href^="#steps/"]')
    assert re.search(r"cost .* ms → .* ms", opened.text("#step"))
    opened.click('nav a[href="#laws"]')
    opened.js("(() => { const s = document.querySelector('#lawkind'); s.value = 'near'; s.oninput(); })()")
    opened.click("#lawtable tr[data-law]")
    assert "Why it did not fire" in opened.text("#law")
    assert "is not known: " in opened.text("#law")
