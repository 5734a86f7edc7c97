"""Wrong calls and the errors they give: the table in docs/errors.md is made from these cases.

A new case is an entry of CASES.  Then write the page again:

    python -m tests.test_bad_input
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "errors.md"
FILE = "your_file.py"

SETUP = """
import numpy as np
import scanopt.tensor as T
from scanopt import foldl, foldr, interpret, map, reduce, scan, shared

x = T.vector("x", "float64")
x32 = T.vector("x32", "float32")
xs3 = T.vector("xs3", "float64", shape=(3,))
X = T.matrix("X", "float64")
s = T.scalar("s", "float64")
k = T.lscalar("k")
h32 = T.vector("h32", "float32", shape=(3,))
W = shared(np.eye(3), "W")


class Compiled:
    is_compiled = True

    def __call__(self, *args):
        return args
"""


class Case(NamedTuple):
    """What a user may write, the kind of error it gives and what the error's text must contain."""

    code: str
    error: type[Exception]
    fragments: list[str]


CASES: dict[str, list[Case]] = {
    "The step function": [
        Case("scan(5, x)", TypeError, ["fn must be a function", "5 (int)"]),
        Case('scan("tanh", x)', TypeError, ["fn must be a function", "'tanh'"]),
        Case("scan(Compiled(), x)", TypeError, ["compiled already", "Compiled"]),
        Case("scan(lambda: 0.0, x)", TypeError, ["x[t]", "takes ()", "scan passes (x[t])", "the order is"]),
        Case(
            "scan(lambda a, b: a, dict(input=x, taps=[-1, 0]), outputs_info=0.0, non_sequences=W)",
            TypeError,
            ["scan passes (x[t-1], x[t], output 0[t-1], W)", "(a, b)"],
        ),
        Case("scan(lambda x, h: x + h, x)", TypeError, ["missing a required argument: 'h'", "x[t]"]),
        Case("scan(lambda h: 2 * h, n_steps=3)", TypeError, ["no arguments", "missing a required argument: 'h'"]),
        Case("scan(lambda x: None, x)", TypeError, ["returned None", "return"]),
        Case("scan(lambda x: [x, None], x)", TypeError, ["result 1 of the step is None"]),
        Case('scan(lambda x: "x", x)', TypeError, ["result 0 of the step", "'x'"]),
        Case("scan(lambda x: [[x, x], x], x)", TypeError, ["result 0 of the step is a list of arrays", "flat list"]),
        Case("scan(lambda: {W: W + 1.5j}, n_steps=3)", TypeError, ["'W' float64", "complex128", "astype('float64')"]),
        Case("scan(lambda: {x: x + 1}, n_steps=3)", TypeError, ["updates", "'x'", "not a shared variable"]),
        Case("scan(lambda: ([], {W: W}, [(W, W)]), n_steps=3)", ValueError, ["two collections of updates"]),
        Case("scan(lambda x: x if x > 0 else -x, x)", TypeError, ["symbolic", "symbolic", "where"]),
        Case("scan(lambda x: xs3 + np.ones(2), x)", ValueError, ["float64[3]", "float64[2]"]),
    ],
    "How many outputs": [
        Case(
            "scan(lambda x, h: [h + x, x], x, outputs_info=0.0)",
            ValueError,
            ["describes 1 outputs", "returned 2", "None"],
        ),
        Case(
            "scan(lambda x, h: h + x, x, outputs_info=[0.0, None])", ValueError, ["describes 2 outputs", "returned 1"]
        ),
    ],
    "Sequences": [
        Case("scan(lambda *xs: xs[0], [1.5, 2.5, 3.5])", TypeError, ["sequences[0] is 1.5", "np.asarray"]),
        Case(
            "scan(lambda a, b: a + b, [x, [1.0, 2.0, 3.0]])", TypeError, ["sequences[1]", "Python list", "np.asarray"]
        ),
        Case("scan(lambda i: i, range(5))", TypeError, ["sequences[0]", "Python range", "np.asarray"]),
        Case("scan(lambda a: a, s)", TypeError, ["sequences[0] ('s')", "float64[]", "non_sequences"]),
        Case("scan(lambda a, b: a, [x, None])", TypeError, ["sequences[1] is None"]),
        Case('scan(lambda a: a, "abc")', TypeError, ["sequences[0] must be an array", "'abc'"]),
        Case("scan(lambda a: a, dict(taps=[0]))", ValueError, ["sequences[0]", "without the key 'input'"]),
        Case("scan(lambda a: a, dict(input=x, tap=[0]))", ValueError, ["sequences[0]", "unknown key 'tap'", "'taps'"]),
        Case(
            "scan(lambda a: a, dict(input=x, taps=[0.5]))",
            TypeError,
            ["taps of sequences[0] ('x')", "integers", "[0.5]"],
        ),
        Case('scan(lambda a: a, dict(input=x, taps="now"))', TypeError, ["taps of sequences[0] ('x')", "'now'"]),
        Case("scan(lambda a: a, dict(input=x, taps=[]))", ValueError, ["taps of sequences[0] ('x') are empty"]),
    ],
    "The number of steps": [
        Case("scan(lambda h: 2 * h, outputs_info=1.0)", ValueError, ["number of steps is not known"]),
        Case("scan(lambda x: x, x, n_steps=2.5)", ValueError, ["must be an integer", "2.5"]),
        Case('scan(lambda x: x, x, n_steps=float("nan"))', ValueError, ["must be an integer", "nan"]),
        Case("scan(lambda x: x, x, n_steps=s)", ValueError, ["must be an integer", "'s' float64[]", "astype"]),
        Case("scan(lambda x: x, x, n_steps=True)", ValueError, ["must be an integer", "True"]),
        Case("scan(lambda x: x, x, n_steps=np.array([2, 3]))", ValueError, ["single integer", "int64[2]"]),
        Case('scan(lambda x: x, x, n_steps="ten")', TypeError, ["n_steps must be an integer", "'ten'"]),
        Case("scan(lambda x: x, x, n_steps=-2)", ValueError, ["n_steps is -2", "go_backwards"]),
        Case(
            ("out, _ = scan(lambda x: x, x, n_steps=k)\ninterpret(out, {x: np.ones(3), k: -2})"),
            ValueError,
            ["n_steps ('k') is -2", "must not be negative"],
        ),
        Case("scan(lambda x: x, xs3, n_steps=4)", ValueError, ["sequences[0] ('xs3') has 3 rows", "n_steps is 4"]),
        Case(
            ("out, _ = scan(lambda x: x, x, n_steps=k)\ninterpret(out, {x: np.ones(3), k: 4})"),
            ValueError,
            ["sequences[0] ('x') has 3 rows", "n_steps is 4"],
        ),
        Case(
            "scan(lambda x, a, b: x + a + b, [x, dict(input=np.ones(4), taps=[-1, 1])], n_steps=3)",
            ValueError,
            ["sequences[1] has 2 rows", "taps [-1, 1]", "n_steps is 3"],
        ),
    ],
    "Initial states and taps of outputs": [
        Case(
            "scan(lambda a: a, outputs_info=dict(initial=x, taps=[0]), n_steps=3)",
            ValueError,
            ["taps of outputs_info[0] ('x')", "must be negative", "found 0"],
        ),
        Case(
            "scan(lambda a, b: a, outputs_info=dict(initial=x, taps=[-1, 2]), n_steps=3)",
            ValueError,
            ["must be negative", "found 2"],
        ),
        Case(
            "scan(lambda a, b: a, outputs_info=dict(initial=x, taps=[-1, -1]), n_steps=3)",
            ValueError,
            ["name one step twice", "[-1, -1]"],
        ),
        Case(
            "scan(lambda a: a, outputs_info=dict(initial=s, taps=-1), n_steps=3)",
            TypeError,
            ["taps of outputs_info[0] ('s')", "list of negative integers", "-1"],
        ),
        Case("scan(lambda a: a, outputs_info=dict(initial=s, taps=[]), n_steps=3)", ValueError, ["empty list", "None"]),
        Case(
            "scan(lambda a: a, outputs_info=dict(taps=[-1]), n_steps=3)",
            ValueError,
            ["outputs_info[0] has taps but no 'initial'"],
        ),
        Case(
            "scan(lambda a: a, outputs_info=dict(inital=s), n_steps=3)",
            ValueError,
            ["outputs_info[0]", "unknown key 'inital'", "'initial'"],
        ),
        Case(
            "scan(lambda a, b: a + b, outputs_info=dict(initial=s, taps=[-2, -1]), n_steps=3)",
            ValueError,
            ["outputs_info[0] ('s')", "taps [-2, -1]", "2 rows", "float64[]"],
        ),
        Case(
            "scan(lambda a, b: a + b, outputs_info=dict(initial=xs3, taps=[-4, -1]), n_steps=3)",
            ValueError,
            ["outputs_info[0] ('xs3') has 3 initial rows", "taps [-4, -1] need 4"],
        ),
        Case(
            (
                "out, _ = scan(lambda a, b: a + b, outputs_info=dict(initial=x, taps=[-2, -1]), n_steps=3)\n"
                "interpret(out, {x: np.ones(1)})"
            ),
            ValueError,
            ["outputs_info[0] ('x') has 1 initial rows", "taps [-2, -1] need 2"],
        ),
        Case(
            'scan(lambda a: a, outputs_info="zero", n_steps=3)',
            TypeError,
            ["outputs_info[0] must be an array", "'zero'"],
        ),
        Case(
            "scan(lambda h: h + np.ones(3), outputs_info=h32, n_steps=3)",
            ValueError,
            [
                "outputs_info[0] ('h32')",
                "starts as float32[3]",
                "the step gives float64[3]",
                "h32.astype('float64')",
                ".astype('float32')",
            ],
        ),
        Case(
            "scan(lambda i, total: total + i, T.arange(5), outputs_info=T.as_tensor_variable(0))",
            ValueError,
            ["starts as int8[]", "gives int64[]", "initial_state.astype('int64')"],
        ),
        Case(
            "scan(lambda h: 1j * h, outputs_info=np.ones(2), n_steps=3)",
            ValueError,
            ["starts as float64[2]", "gives complex128[2]", ".astype('complex128')"],
        ),
        Case(
            "scan(lambda h: T.argmax(h * np.ones(2)), outputs_info=s, n_steps=3)",
            ValueError,
            ["starts as float64[]", "gives int64[]", ".astype('float64')"],
        ),
        Case(
            "scan(lambda h: h.sum(), outputs_info=xs3, n_steps=3)",
            ValueError,
            ["starts as float64[3]", "gives float64[]", "number of axes"],
        ),
        Case(
            "scan(lambda h: h + x, outputs_info=s, n_steps=3)",
            ValueError,
            ["outputs_info[0] ('s')", "starts as float64[]", "gives float64[?]"],
        ),
        Case(
            "scan(lambda h: h + xs3, outputs_info=np.zeros(1), n_steps=3)",
            ValueError,
            ["starts as float64[1]", "gives float64[3]", "axis 0", "broadcast"],
        ),
        Case(
            "scan(lambda h: h + xs3, outputs_info=0.0, n_steps=3)",
            ValueError,
            ["Python number 0.0", "gives float64[3]", "np.full(3, 0.0, 'float64')"],
        ),
        Case(
            "scan(lambda i, h: i, T.arange(3), outputs_info=0.5)",
            ValueError,
            ["Python number 0.5", "gives int64[]", ".astype('float64')"],
        ),
        Case(
            (
                "out, _ = scan(lambda h: h + xs3, outputs_info=x, n_steps=3)\n"
                "interpret(out, {x: np.ones(1), xs3: np.ones(3)})"
            ),
            ValueError,
            ["output 0 ('x')", "initial state has shape (1,)", "at step 0", "(3,)"],
        ),
        Case(
            ("out, _ = scan(lambda n: T.arange(n), T.arange(3))\ninterpret(out)"),
            ValueError,
            ["output 0", "had shape (0,)", "at step 1", "(1,)"],
        ),
    ],
    "Other arguments": [
        Case(
            'scan(lambda x, w, o: x, x, non_sequences=[W, "adam"])',
            TypeError,
            ["non_sequences[1] must be an array", "'adam'"],
        ),
        Case(
            "scan(lambda v: T.dot(v, W), X, strict=True)",
            ValueError,
            ["strict=True", "'W' float64[?, ?]", "non_sequences"],
        ),
        Case('scan(lambda x: x, x, mode="FAST_RUN")', ValueError, ["mode='FAST_RUN'", "not supported yet"]),
        Case("scan(lambda x: x, x, profile=True)", ValueError, ["profile=True", "not supported yet"]),
        Case("scan(lambda x: x, x, allow_gc=False)", ValueError, ["allow_gc=False", "not supported yet"]),
        Case("scan(lambda x: x, x, name=7)", TypeError, ["name must be a string", "7"]),
        Case("scan(lambda x: x, x, truncate_gradient=0)", ValueError, ["truncate_gradient must be -1", "found 0"]),
        Case(
            'scan(lambda x: x, x, truncate_gradient="all")',
            TypeError,
            ["truncate_gradient must be an integer", "'all'"],
        ),
        Case('scan(lambda x: x, x, go_backwards="yes")', TypeError, ["go_backwards must be True or False", "'yes'"]),
    ],
    "map, reduce, foldl, foldr": [
        Case("map(lambda: 1.0, None)", ValueError, ["number of steps is not known", "(map at"]),
        Case("map(lambda x, h: x + h, x)", TypeError, ["missing a required argument", "x[t]", "(map at"]),
        Case(
            "reduce(lambda x, h: x + h, x, outputs_info=np.float32(0))",
            ValueError,
            ["starts as float32[]", "gives float64[]", "(reduce at"],
        ),
        Case('foldl(lambda x, h: x + h, x, 0.0, mode="FAST_RUN")', ValueError, ["mode='FAST_RUN'", "(foldl at"]),
        Case("foldr(None, x, 0.0)", TypeError, ["fn must be a function", "(foldr at"]),
        Case(
            ("out, _ = reduce(lambda x, h: x + h, x, outputs_info=0.0)\ninterpret(out, {x: np.ones(0)})"),
            IndexError,
            ["-1"],
        ),
    ],
    "Symbolic arrays": [
        Case("xs3 + np.ones(2)", ValueError, ["'xs3' float64[3]", "float64[2]"]),
        Case("T.dot(xs3, np.ones(2))", ValueError, ["dot", "'xs3' float64[3]", "float64[2]"]),
        Case("bool(x)", TypeError, ["'x' float64[?]", "where"]),
        Case("len(x)", TypeError, ["'x' float64[?]", "shape[0]"]),
        Case("list(x)", TypeError, ["'x' float64[?]", "scan"]),
        Case("np.interp(x, xs3, xs3)", TypeError, ["no symbolic form", "'x' float64[?]"]),
    ],
    "Running a graph": [
        Case("interpret(x + 1)", ValueError, ["no value is given", "'x' float64[?]"]),
        Case("interpret(x32 + 1, {x32: np.ones(2)})", TypeError, ["'x32' float32[?]", "float64", "astype"]),
        Case("interpret(x + 1, {x: np.ones((2, 2))})", TypeError, ["'x' float64[?]", "1 axes", "float64[2, 2]"]),
        Case("interpret(xs3 + 1, {xs3: np.ones(4)})", ValueError, ["'xs3' float64[3]", "float64[4]"]),
        Case('interpret(x + 1, {x: "abc"})', TypeError, ["'x' float64[?]", "no array of numbers", "'abc'"]),
        Case('interpret(x + 1, {"x": np.ones(2)})', TypeError, ["symbolic arrays", "'x'"]),
        Case("interpret(3.0, {})", TypeError, ["symbolic arrays", "3.0"]),
    ],
}

WITHOUT_PLACE = ("Symbolic arrays", "Running a graph")
"""Sections of errors that no loop has part in."""


def message(c: Case) -> str:
    """The text of the case's error, notes included."""
    names: dict[str, Any] = {}
    exec(SETUP, names)
    with pytest.raises(c.error) as info:
        exec(compile(c.code, FILE, "exec"), names)
    assert type(info.value) is c.error
    return "\n".join([str(info.value), *getattr(info.value, "__notes__", ())])


@pytest.mark.parametrize(("section", "c"), [(name, c) for name, cases in CASES.items() for c in cases])
def test_error(section: str, c: Case) -> None:
    text = message(c)
    for fragment in c.fragments:
        assert fragment in text
    if section not in WITHOUT_PLACE and c.error is not IndexError:
        assert f"{FILE}:1" in text


def page() -> str:
    """The text of docs/errors.md."""
    parts = [
        "# Errors\n\nMade by `python -m tests.test_bad_input`; do not edit.  What is used below:\n\n"
        f"```python\n{SETUP.strip()}\n```\n"
    ]
    for section, cases in CASES.items():
        rows = [f"## {section}\n", "| what you wrote | the error |", "| --- | --- |", *map(_row, cases)]
        parts.append("\n".join(rows) + "\n")
    return "\n".join(parts)


def _row(c: Case) -> str:
    code = "<br>".join(f"`{line}`" for line in c.code.splitlines())
    text = re.sub(r"([|*_<>\[\]`])", r"\\\1", message(c)).replace("\n", "<br>")
    return f"| {code} | {c.error.__name__}: {text} |"


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "write it again: python -m tests.test_bad_input"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
