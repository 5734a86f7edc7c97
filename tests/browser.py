"""A headless Chromium, driven by its DevTools protocol through a pipe: what tests of the page click and read in."""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["CHROMIUM", "Browser"]

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

_KEYS = {"ArrowRight": 39, "ArrowLeft": 37, "ArrowDown": 40, "ArrowUp": 38, "Enter": 13, "Escape": 27}


# The browser reads commands from descriptor 3 and writes to 4.
_START = """
import fcntl, os, sys
high = [fcntl.fcntl(int(x), fcntl.F_DUPFD, 20) for x in sys.argv[1:3]]
for fd, to in zip(high, (3, 4)):
    os.dup2(fd, to)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page at a time.  complaints: errors of its scripts, what it wrote to the console.  asked: what it loaded."""

    def __init__(self, profile: Path, width: int = 1400, height: int = 900) -> None:
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self._events: list[dict[str, Any]] = []
        self._numbers = itertools.count(1)
        self._rest = b""
        ours, theirs = os.pipe(), os.pipe()  # what the browser reads, what it writes
        assert CHROMIUM is not None
        flags = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={profile}",
            f"--window-size={width},{height}", "--no-first-run", "--disable-extensions", "--hide-scrollbars",
            "--disable-dev-shm-usage", "--disable-background-networking", "about:blank",
        ]  # fmt: skip
        line = [sys.executable, "-c", _START, str(ours[0]), str(theirs[1]), CHROMIUM, *flags]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(line, pass_fds=(ours[0], theirs[1]), **quiet)  # type: ignore[call-overload]
        os.close(ours[0])
        os.close(theirs[1])
        self._write, self._read = ours[1], theirs[0]
        self._session = ""
        target = self.say("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.say("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.say(f"{domain}.enable")
        self.resize(width, height)

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.terminate()
        self._process.wait(10)
        os.close(self._write)
        os.close(self._read)

    def say(self, method: str, **params: Any) -> dict[str, Any]:
        """One command, and its answer."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next(60)
            if answer.get("id") == number:
                assert "error" not in answer, answer["error"]
                result: dict[str, Any] = answer["result"]
                return result

    def _next(self, seconds: float) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            found = os.read(self._read, 1 << 20)
            if not found:
                raise RuntimeError("the browser has ended")
            self._rest += found
        text, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                self.complaints.append(details.get("exception", {}).get("description") or details["text"])
            case "Runtime.consoleAPICalled":
                self.complaints.append(str(params["args"]))
            case "Log.entryAdded":
                self.complaints.append(params["entry"]["text"])
            case "Network.requestWillBeSent":
                self.asked.append(params["request"]["url"])

    def open(self, path: Path, fragment: str = "") -> float:
        """Load a file; the seconds until its scripts have run."""
        start = time.perf_counter()
        self.say("Page.navigate", url=f"{path.as_uri()}{fragment}")
        self.wait("document.readyState === 'complete' && document.documentElement.dataset.ready === '1'")
        return time.perf_counter() - start

    def js(self, code: str) -> Any:
        """The value of an expression in the page."""
        answer = self.say("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, code: str, seconds: float = 20.0) -> None:
        """Until an expression is true."""
        end = time.monotonic() + seconds
        while not self.js(code):
            assert time.monotonic() < end, f"never true: {code}"
            time.sleep(0.02)

    def text(self, selector: str) -> str:
        """What a person reads there."""
        return str(self.js(f"document.querySelector({selector!r})?.innerText ?? ''"))

    def count(self, selector: str) -> int:
        """How many there are."""
        return int(self.js(f"document.querySelectorAll({selector!r}).length"))

    def _middle(self, selector: str) -> tuple[float, float]:
        found = self.js(
            f"(() => {{ const e = document.querySelector({selector!r}); if (!e) return null;"
            "e.scrollIntoView({block: 'center', inline: 'center'}); const r = e.getClientRects()[0];"
            "return [r.left + r.width / 2, r.top + r.height / 2]; })()"
        )
        assert found, f"there is no {selector}"
        return found[0], found[1]

    def hover(self, selector: str) -> None:
        """Point at the first of these."""
        x, y = self._middle(selector)
        self.say("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector: str) -> None:
        """Click on the first of these, where it is."""
        x, y = self._middle(selector)
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.say("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def wheel(self, selector: str, down: float) -> None:
        """Turn the wheel over it."""
        x, y = self._middle(selector)
        self.say("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=down)

    def drag(self, selector: str, right: float, down: float) -> None:
        """Drag from its middle."""
        x, y = self._middle(selector)
        mouse = {"button": "left", "clickCount": 1}
        self.say("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, **mouse)
        for part in (0.3, 0.6, 1.0):
            self.say("Input.dispatchMouseEvent", type="mouseMoved", x=x + right * part, y=y + down * part, buttons=1)
        self.say("Input.dispatchMouseEvent", type="mouseReleased", x=x + right, y=y + down, **mouse)

    def key(self, key: str) -> None:
        """Press a key."""
        code = _KEYS.get(key, 0)
        more = {} if code else {"text": key}
        self.say("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **more)
        self.say("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def write(self, selector: str, text: str) -> None:
        """Write into a field, over what was there."""
        self.click(selector)
        self.js(f"document.querySelector({selector!r}).select()")
        self.say("Input.insertText", text=text)

    def resize(self, width: int, height: int) -> None:
        """The size of the window."""
        self.say("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def dark(self, on: bool = True) -> None:
        """What the reader's system asks for."""
        feature = {"name": "prefers-color-scheme", "value": "dark" if on else "light"}
        self.say("Emulation.setEmulatedMedia", features=[feature])

    def picture(self, path: Path) -> None:
        """What is seen, as a PNG or WebP by the name of the file."""
        kind = {"format": "png"} if path.suffix == ".png" else {"format": "webp", "quality": 70}
        path.write_bytes(base64.b64decode(self.say("Page.captureScreenshot", **kind)["data"]))
