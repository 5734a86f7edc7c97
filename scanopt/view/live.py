"""Live pages: served on this machine alone, and loaded again by the browser when they change."""

from __future__ import annotations

import html
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from weakref import WeakSet

from scanopt.array.shown import shown
from scanopt.compilation.compiled_function import Function, watching
from scanopt.forks import lock
from scanopt.view.page import page_html
from scanopt.view.widget import page_widget

__all__ = ["LivePages", "serve", "watch"]

_HOST = "127.0.0.1"
_EVERY = 0.3  # seconds between looks at a file
_TROUBLE = "(nothing to show)"
_STYLE = (
    "body{font:15px/1.5 system-ui;margin:2em;max-width:70em}pre{white-space:pre-wrap}:root{color-scheme:light dark}"
)

# Asks whether there is something newer; the view, and what is chosen in it, are in the address and stay.
_AGAIN = """<script>
(function () {
  const seen = "%s";
  const look = (now) => { if (now !== seen) location.reload(); };
  setInterval(() => fetch("/version").then((r) => r.text()).then(look).catch(() => {}), 700);
})();
</script>
"""


class LivePages:
    """A server of pages on this machine.

    port: 0 for any that is free.  Raises OSError where the port is not available.
    """

    def __init__(self, port: int = 0) -> None:
        self._pages: dict[str, str] = {}
        self._widgets: WeakSet[Any] = WeakSet()
        self._displayed: Any = None
        self._count, self._lock = 0, lock()
        owner = self

        class _Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, kind, text = owner.answer(self.path)
                body = text.encode()
                self.send_response(status)
                self.send_header("Content-Type", f"{kind}; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing: the terminal is for what the file prints."""

        self._server = ThreadingHTTPServer((_HOST, port), _Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where a browser finds the pages."""
        return f"http://{_HOST}:{self._server.server_address[1]}/"

    def set(self, pages: Mapping[str, str]) -> None:
        """Replace the pages that are shown, by name."""
        with self._lock:
            self._put(dict(pages))

    def add(self, name: str, page: str) -> None:
        """Add a page, or update the one of that name."""
        with self._lock:
            self._put({**self._pages, name: page})
        for shown_in in self._widgets:
            with shown_in.hold_sync():
                shown_in.pages, shown_in.name = {**self._pages}, name

    def _put(self, pages: dict[str, str]) -> None:
        if pages != self._pages:
            self._pages = pages
            self._count += 1

    def widget(self, height: int = 640) -> Any:
        """The pages as a Jupyter widget, which shows those that are compiled later, too.

        height: in pixels.  Raises ImportError where anywidget is not installed.
        """
        made = page_widget(self._pages, height)
        self._widgets.add(made)
        return made

    def answer(self, path: str) -> tuple[int, str, str]:
        """Status, type and text for a path."""
        with self._lock:
            pages, count = self._pages, self._count
        if path == "/version":
            return 200, "text/plain", str(count)
        number = path.strip("/") or ("1" if len(pages) == 1 else "")
        names = [*pages]
        if number.isdecimal() and 0 < int(number) <= len(names):
            return 200, "text/html", _again(pages[names[int(number) - 1]], count)
        if number:
            return (
                404,
                "text/html",
                _again(_small("Not found", '<p>There is no such page. <a href="/">All pages</a></p>'), count),
            )
        links = "".join(f'<li><a href="/{n}">{html.escape(shown(name))}</a></li>' for n, name in enumerate(names, 1))
        body = f"<ol>{links}</ol>" if links else "<p>Nothing is compiled yet.</p>"
        return 200, "text/html", _again(_small("scanopt", body), count)

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The widget, inside a notebook that has anywidget; else the last page."""
        try:
            if self._displayed is None:
                self._displayed = self.widget()
        except ImportError:
            return {"text/plain": repr(self), "text/html": self._repr_html_()}
        return self._displayed._repr_mimebundle_(**options)

    def _repr_html_(self) -> str:
        """The last page, inside a notebook."""
        if not self._pages:
            return "<code>no function was compiled</code>"
        page = html.escape([*self._pages.values()][-1], quote=True)
        return (
            f'<iframe srcdoc="{page}" style="width:100%;height:640px;border:1px solid #8888" title="scanopt"></iframe>'
        )


def _small(title: str, body: str) -> str:
    """A page that is not a report: a list, or what went wrong."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><link rel="icon" href="data:,">'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n<body><h1>{title}</h1>{body}\n</body></html>\n"
    )


def _again(page: str, count: int) -> str:
    """A page that loads itself again once there is a newer one."""
    head, _, tail = page.rpartition("</body>")
    return f"{head}{_AGAIN % count}</body>{tail}"


class _Shown(list[Function]):
    """Functions whose pages are made as they are compiled."""

    def __init__(self, live: LivePages) -> None:
        super().__init__()
        self._live = live

    def append(self, f: Function) -> None:
        super().append(f)
        self._live.add(f.name or f"function {len(self)}", page_html(f.history()))


_OPEN: list[LivePages] = []


@contextmanager
def watch(port: int = 0) -> Iterator[LivePages]:
    """Serve the pages of all functions that are compiled inside the block; the next block updates them.

    port: on this machine, 0 for any that is free; the port of the first block stays in use.  The result has a `url`,
    which is printed; at the end of a notebook's cell it shows the last page.  Pages are served until Python ends, or
    until `close()` is called.  Raises OSError for a port that is not available.

    >>> import scanopt
    >>> from scanopt import tensor as T
    >>> x = T.dvector("x")
    >>> with watch() as live:  # doctest: +ELLIPSIS
    ...     f = scanopt.function([x], T.exp(x) * 1.0, name="f")
    pages at http://127.0.0.1:.../
    >>> live.close()
    """
    live = next((x for x in _OPEN if x._thread.is_alive()), None)
    if live is None:
        live = LivePages(port)
        _OPEN[:] = [live]
    print(f"pages at {live.url}")
    with watching(_Shown(live)):
        yield live


def serve(file: Path, arguments: Sequence[str], port: int = 0, measure: bool = False) -> None:
    """Show the pages of a file, made again whenever it, or a Python file beside it, changes; until Ctrl-C."""
    live = LivePages(port)
    print(f"{shown(str(file))}: {live.url}  (Ctrl-C ends)", flush=True)
    before: dict[Path, int] = {}
    try:
        while True:
            now = _times(file)
            if now != before:
                before = now
                live.set(_made(file, arguments, measure))
            time.sleep(_EVERY)
    except KeyboardInterrupt:
        print()
    finally:
        live.close()


def _times(file: Path) -> dict[Path, int]:
    out: dict[Path, int] = {}
    for x in {file, *file.resolve().parent.glob("*.py")}:
        try:
            out[x] = x.stat().st_mtime_ns
        except OSError:  # while it is written anew
            out[x] = 0
    return out


def _made(file: Path, arguments: Sequence[str], measure: bool) -> dict[str, str]:
    """The pages of a file, executed in a process of its own, so that its imports and laws are up to date."""
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, "-m", "scanopt", "show", "--out", f"{folder}/page.html", *(["--measure"] * measure)]
        done = subprocess.run([*line, "--", str(file), *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            said = html.escape(f"{done.stdout}{done.stderr}")
            return {_TROUBLE: _small(html.escape(shown(file.name)), f"<pre>{said}</pre>")}
        found = sorted(Path(folder).glob("page*.html"), key=lambda x: (len(x.stem), x.stem))
        names = [x.rpartition(": ")[0] for x in done.stdout.splitlines() if x.endswith(".html")]
        return {
            f"{n}. {name}": x.read_text(encoding="utf-8")
            for n, (x, name) in enumerate(zip(found, names[-len(found) :], strict=False), 1)
        }
