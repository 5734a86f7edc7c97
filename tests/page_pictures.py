"""The pictures of pages in docs/pages: `python tests/page_pictures.py` takes them anew, in a Chromium."""

import tempfile
from pathlib import Path

from browser import Browser
from compiled import lstm_gradient, rnn, stacked

from scanopt.view.page import VIEWS

DOCS = Path(__file__).parents[1] / "docs" / "pages"
SHEET = """<!DOCTYPE html><style>body{{margin:0;display:grid;grid-template-columns:repeat({columns},1fr);gap:8px;
background:#777}}img{{width:100%;display:block}}</style>{images}<script>document.documentElement.dataset.ready='1'</script>"""


def main() -> None:
    """Every view of both pages: wide each by itself, narrow and dark together on a sheet."""
    DOCS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, Browser(Path(folder) / "profile") as browser:
        for name, f in (("rnn", rnn()), ("lstm", lstm_gradient(2))):
            page = Path(f.show(f"{folder}/{name}.html", measure=True))
            for view in VIEWS:
                _take(browser, page, view, DOCS / f"{name}-{view}.webp", 1240, 760)
            for kind, width, height, columns in (("narrow", 420, 860, 5), ("dark", 1240, 760, 3)):
                browser.dark(kind == "dark")
                found = [Path(folder) / f"{name}-{kind}-{view}.png" for view in VIEWS]
                for view, path in zip(VIEWS, found, strict=True):
                    _take(browser, page, view, path, width, height)
                _sheet(browser, found, DOCS / f"{name}-{kind}.webp", columns)
            browser.dark(False)
            if name == "lstm":
                _take(browser, page, "costs", DOCS / "lstm-kernels.webp", 1240, 760, "#kernels")
        stack = Path(stacked(4, gradient=True).show(f"{folder}/stack.html"))
        _take(browser, stack, "program", DOCS / "layers-program.webp", 1240, 760, "[data-layer]")
        _take(browser, stack, "graph", DOCS / "layers-graph.webp", 1240, 760)
        _take(browser, Path(folder) / "rnn.html", "graph", DOCS / "rewrite.png", 1240, 760)


def _take(browser: Browser, page: Path, view: str, out: Path, width: int, height: int, at: str = "") -> None:
    """A picture of a view.  at: what of it stands on top."""
    browser.resize(width, height)
    browser.open(page, f"#{view}")
    if at:
        browser.js(f"(() => {{ $('{at}').scrollIntoView(); scrollBy(0, -120); }})()")
    browser.picture(out)


def _sheet(browser: Browser, pictures: list[Path], out: Path, columns: int) -> None:
    sheet = pictures[0].with_suffix(".html")
    images = "".join(f'<img src="{x.name}">' for x in pictures)
    sheet.write_text(SHEET.format(columns=columns, images=images), encoding="utf-8")
    browser.resize(1300, 600)
    browser.open(sheet)
    browser.resize(1300, int(browser.js("document.documentElement.scrollHeight")))
    browser.picture(out)


if __name__ == "__main__":
    main()
