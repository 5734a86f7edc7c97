"""Counts of rows that parts of traces need, in kernels: for all small numbers what the table's entry computes."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import scanopt
from scanopt import tensor as T
from scanopt.array.operators.parts import rows_left, rows_read
from scanopt.array.variable import apply
from scanopt.backends.kernels.compilers import compiler

pytestmark = pytest.mark.skipif(isinstance(compiler(), str), reason=f"needs a compiler: {compiler()}")

NUMBERS = [-(2**63), -5, -3, -1, 0, 1, 2, 4, 2**63 - 1]
ENTRIES: list[Any] = ["in", ("slice", "in", "in", None), ("slice", None, "in", None), ("slice", "in", None, None),
                      ("slice", -2, "in", None), ("slice", "in", 3, None), ("slice", "in", -1, None)]  # fmt: skip


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_counts_of_kernels_are_those_of_the_table(entry: Any, exact: bool) -> None:
    n, bounds = T.lscalar("n"), T.lscalars("a", "b")
    many = (entry if isinstance(entry, tuple) else (entry,)).count("in")
    for count in (rows_read, rows_left):
        op = count(entry, exact)
        f = scanopt.function([n, *bounds[:many]], T.stack([apply(op, n, *bounds[:many])] * 2), backend="c")
        assert "kernels" in f.executor
        bare = op.bind(np)
        for rows, given in product(range(5), product(NUMBERS, repeat=many)):
            try:
                expected = [int(bare(rows, *given))] * 2
            except IndexError:
                with pytest.raises(IndexError):
                    f(rows, *given)
                continue
            assert f(rows, *given).tolist() == expected
