"""Pages that follow a file or a notebook: served on this machine, and loaded again when they change."""

import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browser import CHROMIUM, Browser

import scanopt
import scanopt.tensor as T
from scanopt.cli import main
from scanopt.view import live

FIRST = """
import scanopt, scanopt.tensor as T
x = T.dvector("x")
f = scanopt.function([x], T.exp(x * 1.0), name="first")
"""


def got(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return str(answer.read().decode())


def wait(test: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not test():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.fixture
def watched() -> Iterator[live.LivePages]:
    with scanopt.watch() as pages:
        yield pages
    pages.close()
    live._OPEN.clear()


def test_watch_shows_what_is_compiled_inside(watched: live.LivePages, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Nothing is compiled yet" in got(watched.url)
    first = got(f"{watched.url}version")
    x = T.dvector("x")
    scanopt.function([x], T.exp(x * 1.0), name="once")
    assert got(f"{watched.url}version") != first
    assert "<title>once: how scanopt compiled it</title>" in got(watched.url)
    scanopt.function([x], T.exp(x), name="<twice>")
    assert "&lt;twice&gt;" in got(watched.url)
    assert "how scanopt compiled it" in got(f"{watched.url}2")
    with scanopt.watch() as again:
        assert again is watched
        scanopt.function([x], T.log(x), name="once")
    assert "log(" in got(f"{watched.url}1")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        got(f"{watched.url}9")
    assert "srcdoc=" in watched._repr_html_()


def test_nothing_of_later_blocks_is_shown(watched: live.LivePages) -> None:
    x = T.dvector("x")
    with scanopt.watch():
        pass
    before = got(f"{watched.url}version")
    live.LivePages().close()
    assert got(f"{watched.url}version") == before
    scanopt.function([x], T.exp(x), name="inside")  # the fixture's block is still open
    assert got(f"{watched.url}version") != before


def test_port_that_is_taken_and_file_that_is_not_there(
    watched: live.LivePages, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "model.py"
    assert main(["show", "--serve", str(file)]) == 2
    assert "no such file" in capsys.readouterr().err
    file.write_text(FIRST, encoding="utf-8")
    port = re.search(r":(\d+)/", watched.url)
    assert port is not None
    assert main(["show", "--serve", "--port", port[1], str(file)]) == 2
    assert "choose another with --port" in capsys.readouterr().err


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A file that is served, and where."""
    file = tmp_path / "model.py"
    file.write_text(FIRST, encoding="utf-8")
    line = [sys.executable, "-P", "-m", "scanopt", "show", "--serve", str(file)]
    root = Path(__file__).parents[1]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=root) as process:
        assert process.stdout is not None
        url = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())
        assert url is not None
        try:
            yield file, url[0]
        finally:
            process.terminate()


def test_served_file_is_shown_anew_when_it_changes(served: tuple[Path, str], tmp_path: Path) -> None:
    file, url = served
    wait(lambda: "<title>first:" in got(url))
    file.write_text(FIRST.replace("first", "second"), encoding="utf-8")
    wait(lambda: "<title>second:" in got(url))
    file.write_text("1 / 0", encoding="utf-8")
    wait(lambda: "ZeroDivisionError" in got(url))
    if CHROMIUM is None:
        return
    with Browser(tmp_path / "profile") as browser:
        browser.say("Page.navigate", url=url)
        browser.wait("document.body && document.body.innerText.includes('ZeroDivisionError')")
        file.write_text(FIRST.replace("first", "third"), encoding="utf-8")
        browser.wait("document.title.startsWith('third:')", 60)
        browser.wait("document.documentElement.dataset.ready === '1'")
        browser.click('nav a[href="#laws"]')
        file.write_text(FIRST.replace("first", "fourth"), encoding="utf-8")
        browser.wait("document.title.startsWith('fourth:')", 60)
        browser.wait("document.documentElement.dataset.ready === '1' && location.hash.startsWith('#laws')")
        assert browser.count("#laws.on") == 1
