"""Mit-mots: buffers read and written at several places per step, as the interpreter and the optimizer run them."""

from typing import Any

import numpy as np
import pytest

import scanopt
from scanopt import interpret
from scanopt import tensor as T
from scanopt.array.variable import Constant, Variable
from scanopt.loops.graph import loops_of
from scanopt.loops.mit_mots import without_mit_mots
from scanopt.loops.node import MitMot, Scan

Array = np.ndarray[Any, Any]


def steps(n: int) -> Constant:
    return Constant(np.int64(n))


def running_sums(n: Any, buffer: Variable, name: str | None = None) -> Scan:
    """What the gradient of a sit-sot looks like: row t is added to row t + 1."""
    old, new = (Variable(buffer.type.row()) for _ in range(2))
    return Scan(n, mit_mots=(MitMot(buffer, (0, 1), (1,), (old, new), (old + new,)),), name=name)


# ---- by hand ----

TABLES: list[tuple[tuple[int, ...], tuple[int, ...], int, list[float], list[float]]] = [
    # in-taps, out-taps, steps, buffer before and after; out-tap number i is given the sum of what is read, plus 100 * i
    ((0, 1), (1,), 3, [1, 2, 4, 8], [1, 3, 7, 15]),
    ((0, 1), (1,), 0, [5], [5]),
    ((0, 1), (1,), 1, [1, 2, 4, 8], [1, 3, 4, 8]),
    ((-1, 0), (0,), 3, [1, 2, 4, 8], [1, 3, 7, 15]),
    ((0,), (0,), 2, [1, 2, 4], [1, 2, 4]),
    ((1,), (0,), 3, [1, 2, 4, 8], [2, 4, 8, 8]),
    ((0,), (1, 2), 1, [1, 2, 4, 8], [1, 1, 101, 8]),
    ((0,), (1, 2), 3, [1, 0, 0, 0, 0, 7], [1, 1, 1, 1, 101, 7]),
    ((0,), (2, 1), 3, [1, 0, 0, 0, 0, 7], [1, 101, 201, 301, 301 - 100, 7]),
    ((0, 2), (2,), 3, [1, 2, 4, 8, 16], [1, 2, 5, 10, 21]),
    ((0,), (3,), 2, [1, 2, 4, 8, 16], [1, 2, 4, 1, 2]),
    ((2, 0), (), 2, [1, 2, 4, 8], [1, 2, 4, 8]),
    ((), (-5,), 2, [1, 2, 4], [0, 0, 4]),
    ((0,), (0, 3), 2, [1, 2, 0, 0, 0, 0], [1, 2, 0, 101, 102, 0]),
]


@pytest.mark.parametrize(("ins", "outs", "n", "before", "after"), TABLES)
def test_hand_computed(
    ins: tuple[int, ...], outs: tuple[int, ...], n: int, before: list[float], after: list[float]
) -> None:
    buffer, k = T.dvector("B"), T.lscalar("k")
    reads = tuple(T.dscalar() for _ in ins)
    total = sum(reads, Constant(np.float64(0)))
    writes = tuple(total + 100.0 * i for i in range(len(outs)))
    for count in (k, steps(n)):
        scan = Scan(count, mit_mots=(MitMot(buffer, ins, outs, reads, writes),))
        values = {buffer: before, k: n}
        np.testing.assert_array_equal(interpret(scan.outputs[0], values), np.array(after))
        (plain,) = without_mit_mots(scan.outputs)
        assert not any(node.mit_mots for node in loops_of([plain]))
        np.testing.assert_array_equal(interpret(plain, values), np.array(after))
        f = scanopt.function([buffer, k], scan.outputs[0], on_unused_input="ignore")
        np.testing.assert_array_equal(f(before, n), np.array(after))
