"""The scan internals: kinds of variables and the optimizations that the document names; and the table of it all."""

import ast
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from test_documents_examples import in_all_modes

import scanopt
import scanopt.tensor as T
from scanopt.loops.node import Scan
from scanopt.program.ir import Compute, Loop

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "documents.md"
ZERO = T.constant(np.asarray(0.0))


@in_all_modes
def test_kinds_of_variables(options: dict[str, Any]) -> None:
    """Sequences, non-sequences, nitsots, sitsots and mitsots: what each is outside and inside of the loop."""
    x, w, s0, m0 = T.dvector("x"), T.dscalar("w"), T.dscalar("s0"), T.dvector("m0")
    outputs, _ = scanopt.scan(
        lambda x, s, m_tm2, m_tm1, w: [x * w, s + x, m_tm1 + m_tm2],
        sequences=x,
        outputs_info=[None, s0, dict(initial=m0, taps=[-2, -1])],
        non_sequences=w,
    )
    node = outputs[0].owner
    assert isinstance(node, Scan)
    assert [len(slots) for slots in (node.sequences, node.nit_sots, node.sit_sots, node.mit_sots)] == [1] * 4
    assert [s.w_outer for s in node.non_sequences] == [w]
    assert node.mit_sots[0].taps == (-2, -1)
    found = scanopt.function([x, w, s0, m0], outputs, **options)([1, 2, 3], 10, 0, [1, 1])
    assert [v.tolist() for v in found] == [[10, 20, 30], [1, 3, 6], [2, 3, 5]]


# ---- optimizations: which operators run at every step, and how many loops are left ----


def inside(inputs: Sequence[Any], outputs: Any, values: Sequence[Any]) -> list[set[str]]:
    """For each loop of the program its operators; the program gives what the unoptimized one gives."""
    f = scanopt.function(list(inputs), outputs)
    for found, want in zip(
        f(*values), scanopt.function(list(inputs), outputs, mode="unoptimized")(*values), strict=True
    ):
        np.testing.assert_allclose(found, want, rtol=1e-12)
    loops = [step for step in f.program.walk() if isinstance(step, Loop)]
    return [{step.op.name for step in loop.body if isinstance(step, Compute)} for loop in loops]


def values(*shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape) for shape in shapes]


def test_push_out_non_seq() -> None:
    X, h0, W = T.dmatrix("X"), T.dvector("h0"), T.dmatrix("W")
    h, _ = scanopt.scan(lambda x, h, W: T.tanh(T.dot(h, T.exp(W)) + x), X, h0, W)
    assert inside([X, h0, W], h, values((4, 3), (3,), (3, 3))) == [{"dot", "add", "tanh"}]


def test_push_out_seq() -> None:
    X, h0, W = T.dmatrix("X"), T.dvector("h0"), T.dmatrix("W")
    h, _ = scanopt.scan(lambda x, h, W: T.tanh(h + T.dot(x, W)), X, h0, W)
    assert inside([X, h0, W], h, values((4, 3), (3,), (3, 3))) == [{"add", "tanh"}]


def test_push_out_scan_output() -> None:
    X, h0, W = T.dmatrix("X"), T.dvector("h0"), T.dmatrix("W")
    (_, y), _ = scanopt.scan(lambda x, h, W: [T.tanh(h + x), T.dot(h, W)], X, [h0, None], W)
    assert inside([X, h0, W], y, values((4, 3), (3,), (3, 3))) == [{"add", "tanh"}]


def test_push_out_dot1() -> None:
    """A sum of products is one product after the loop, or no loop at all."""
    X, Y, s0 = T.dtensor3("X"), T.dtensor3("Y"), T.dmatrix("s0")
    s, _ = scanopt.scan(lambda x, y, s: s + T.dot(x, y), [X, Y], s0)
    assert inside([X, Y, s0], [s[-1]], values((4, 2, 3), (4, 3, 2), (2, 2))) == []


def test_scan_merge() -> None:
    """Two loops become one."""
    x, s0 = T.dvector("x"), T.dscalar("s0")
    one, _ = scanopt.scan(lambda v, s: T.tanh(s + v), x, s0)
    two, _ = scanopt.scan(lambda v, s: T.sin(s - v), x, s0)
    assert inside([x, s0], [one, two], values((5,), ())) == [{"add", "tanh", "subtract", "sin"}]


def test_scan_merge_inouts() -> None:
    """Equal inputs of a loop are one input, and equal results of its steps are one result."""
    x, s0 = T.dvector("x"), T.dscalar("s0")
    outputs, _ = scanopt.scan(lambda a, b, s: [T.tanh(s + a), s * b, s * a], [x, x], [s0, None, None])
    f = scanopt.function([x, s0], outputs)
    (loop,) = (step for step in f.program.walk() if isinstance(step, Loop))
    assert len(loop.reads) == 1
    assert f.program.outputs[1] == f.program.outputs[2]


def test_remove_constants_and_unused_inputs() -> None:
    """Constants are part of the step, and what no result needs is no part of the program."""
    x, unused = T.dvector("x"), T.dvector("unused")
    out, _ = scanopt.scan(
        lambda v, u, s, c, d: T.tanh(s + v) * c, [x, unused], ZERO, [T.constant(2.0), T.dscalar("d")], n_steps=3
    )
    node = out.owner
    assert isinstance(node, Scan)
    assert all(s.w_outer.name == "d" for s in node.non_sequences)  # the constant is no input of the loop
    first, _ = scanopt.scan(lambda v, u, s, c: T.tanh(s + v) * c, [x, x * 2], ZERO, T.constant(2.0))
    f = scanopt.function([x], first)
    (loop,) = (step for step in f.program.walk() if isinstance(step, Loop))
    assert len(loop.reads) == 1


@in_all_modes
def test_the_start_is_not_overwritten(options: dict[str, Any]) -> None:
    """States are computed in place of older ones, but never in an array of the caller."""
    h0 = T.dvector("h0")
    h, _ = scanopt.scan(lambda h: h * 2 + 1, outputs_info=h0, n_steps=5)
    start = np.array([1.0, -1.0])
    f = scanopt.function([h0], h[-1], **options)
    assert f(start).tolist() == f(start).tolist() == [63.0, -1.0]
    assert start.tolist() == [1.0, -1.0]


# ---- the table ----


@cache
def names_of_tests(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return frozenset(x.name for x in tree.body if isinstance(x, ast.FunctionDef) and x.name.startswith("test_"))


def rows() -> list[list[str]]:
    lines = re.findall(r"^\| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.M)
    cells = [line.split(" | ") for line in lines]
    return [row for row in cells if row[0] != "document" and set(row[0]) != {"-"}]


def test_every_row_names_a_test() -> None:
    assert {row[0] for row in rows()} == set(re.findall(r"^- \*\*(.*?)\*\*", PAGE.read_text(encoding="utf-8"), re.M))
    for row in rows():
        assert len(row) == 3, row
        named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", row[2])
        assert named, row
        for file, test in named:
            assert test in names_of_tests(file), f"{file}::{test} of {row[1]!r} is no test"


def test_every_test_of_the_documents_is_in_the_table() -> None:
    page = PAGE.read_text(encoding="utf-8")
    about_the_page = {"every_row_names_a_test", "every_test_of_the_documents_is_in_the_table"}
    for path in sorted((ROOT / "tests").glob("test_documents*.py")):
        for test in names_of_tests(path.name) - {f"test_{name}" for name in about_the_page}:
            assert f"`{path.name}::{test}`" in page, f"{path.name}::{test} is missing in {PAGE.name}"
