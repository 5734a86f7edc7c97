"""Names that try to write to the terminal of whoever reads them: shown escaped, everywhere, and kept as they are."""

import contextlib
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.array.shown import quoted, shown
from scanopt.cli import main
from scanopt.compilation.compiled_function import Function
from scanopt.loops.profile import profile_summary, reset_profiles
from scanopt.program.storage.text import storage_text
from scanopt.view.networks import to_dot
from scanopt.view.page import page_html
from scanopt.view.svg import graph_svg, program_svg

NAMES = [
    "a\x1b[2J\x1b]0;owned\x07", "a\nnote    fake: line", "a\r\u2028b\u2029\x85", "x\u202eevil\u2066", "\ud800",
    "z\u200bw\u200d\ufeff",
    "\x9b31m", "\x00\x08\x7f", "h\u3164\u115f\ufe0f\u2800", "c\U000e0041\u00ad",
]  # fmt: skip
HIDDEN = re.compile(r"[^\S\n ]|[\x00-\x09\x0b-\x1f\x7f-\x9f]|[\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|"
                    "[\ud800-\udfff\u115f\u3164\ufe0f\u2800\u00ad\U000e0000-\U000e0fff]")  # fmt: skip


def test_what_is_escaped() -> None:
    for name in NAMES:
        assert not HIDDEN.search(shown(name))
        assert "\n" not in shown(name)
        assert shown(shown(name)) == shown(name)
        assert not HIDDEN.search(quoted(name))
    for name in ("x", "größe", "名前", "a'b\"c", "a b", "c:\\new", "e\u0301", "👍"):
        assert shown(name) == name


def evil(name: str) -> Function:
    """Every name that a user may choose is this one."""
    x, n = T.dvector(name), T.lscalar(name)
    w, c = scanopt.shared(2.0, name), scanopt.shared(0, name)
    h0 = T.constant(0.0, name, dtype="float64")

    def step(v: Any, h: Any) -> Any:
        new = T.tanh(h * w + v)
        new.name = name
        return [new], {c: c + 1}

    h, updates = scanopt.scan(step, x, h0, n_steps=n, name=name, profile=name)
    total = h.sum()
    total.name = name
    return scanopt.function([x, n], {name: total, "rest": h[-2:]}, updates=updates, name=name, mode="FAST_COMPILE")


def errors(f: Function, name: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    x, m, k = T.dvector(name), T.dmatrix(name), T.lscalar(name)
    w = scanopt.shared(np.zeros(3), name)
    yield "too few rows", lambda: f([1.0], 3)
    yield "no number", lambda: f("a", 3)
    yield "a dtype", lambda: f([1.0 + 2j], 3)
    yield "too few", lambda: f([1.0])
    yield "unknown", lambda: f([1.0], 3, **{f"{name}?": 1})
    yield "negative", lambda: f([1.0], -3)
    yield "an operator", lambda: T.dot(m, x)[x]
    yield "shapes", lambda: scanopt.function([x, m], T.dot(m, x), mode="FAST_COMPILE")(np.zeros(3), np.zeros((2, 2)))
    yield "a loop", lambda: scanopt.function([x, k], scanopt.scan(lambda v: v[k], m, name=name)[0])
    yield "values", lambda: scanopt.interpret(scanopt.scan(lambda v: v[k], m, name=name)[0], {m: np.ones((2, 2)), k: 7})
    yield "as written", lambda: scanopt.interpret(scanopt.scan(lambda v: v[k], m)[0], {m: np.zeros((2, 2)), k: 7})
    yield "a step", lambda: scanopt.scan(lambda: x, x, name=name)
    yield "a state", lambda: scanopt.scan(lambda v, h: v + m, x, x, name=name)
    yield "taps", lambda: scanopt.scan(lambda v: v, dict(input=x, taps=["a"]), name=name)
    yield "a shared value", lambda: w.set_value(1.0)
    yield "updates", lambda: scanopt.function([], w, updates={w: m})
    yield "inputs", lambda: scanopt.function([x, x], x)
    yield "no input", lambda: scanopt.function([], x, name=name)
    yield "truth", lambda: bool(x)
    yield "a gradient", lambda: T.grad(x, x)
    yield "a saved name", lambda: scanopt.function([x], x, name=name)(1.0, 2.0, 3.0)


def command(folder: Path, name: str) -> str:
    """What the command line prints of a program with such names."""
    file = folder / "program.py"
    file.write_text(f"""
import scanopt, scanopt.tensor as T
x = T.dvector({name!a})
h, _ = scanopt.scan(lambda v, h: v + h, x, T.constant(0.0, dtype="float64"), name={name!a})
scanopt.function([x], h, name={name!a}, mode="unoptimized")
""", encoding="ascii")  # fmt: skip
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        main(["run", str(file)])
        main(["run", str(folder / f"{name}.py".replace("\x00", ""))])
    return re.sub(r"[0-9]+(\.[0-9]+)? (ms|s|us)|[0-9]+%", "", text.getvalue())


def told(error: BaseException) -> str:
    return "\n".join([str(error), *getattr(error, "__notes__", ())])


def sinks(name: str, folder: Path) -> Iterator[tuple[str, str]]:
    """All that is shown to people of a program with such names."""
    f = evil(name)
    f([1.0, 2.0, 3.0], 3)
    f.as_written([1.0, 2.0, 3.0], 3)
    f.save(folder / "f.json")
    g = scanopt.load(folder / "f.json")
    for h in (f, g):
        yield "repr", repr(h)
        yield "program", str(h.program)
        yield "source", h.source
        yield "variables", " ".join(map(repr, (*h.inputs, *h.outputs, *h.shared)))
    yield "initial", str(f.initial)
    yield "storage", storage_text(f.initial)
    yield "profiles", profile_summary()
    yield "pictures", program_svg(f.initial) + to_dot(f.initial) + to_dot(f.program)
    x = T.dvector(name)
    small = scanopt.function(
        [x],
        scanopt.map(lambda v: v + v, x, name=name)[0],
        name=name,
        mode=scanopt.Mode("FAST_COMPILE", including=["push_out_seq"]),
    )
    yield "explain", f"{small.explain()} {small.report} {small.why_not('push_out_seq')}"
    yield "page", page_html(small.history())
    for x in f.outputs:
        yield "graph", str(scanopt.dprint(x, file="str", print_type=True))
        yield "graph as a picture", graph_svg(x)
    yield "command line", command(folder, name)
    for what, run in errors(f, name):
        with pytest.raises(Exception) as caught:  # noqa: PT011  any error
            run()
        yield what, told(caught.value)


def test_names_are_shown_escaped(tmp_path: Path) -> None:
    """With names of all these characters, what is shown has none of them, nor a line more than with a plain name."""
    reset_profiles()
    found = [(what, text.count("\n"), set(HIDDEN.findall(text))) for what, text in sinks("".join(NAMES), tmp_path)]
    reset_profiles()
    plain = [(what, text.count("\n"), set[str]()) for what, text in sinks("q", tmp_path)]
    reset_profiles()
    assert found == plain
