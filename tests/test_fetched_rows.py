"""Rows of sequences that threads fetch before they read them; the shim delivers each copy as late as it may."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda_shim import Shim
from nvrtc import ARCHITECTURES, compiled, missing
from test_cuda import assert_close, kernels, on_shim, rng

import scanopt
import scanopt.tensor as T

pytestmark = [
    pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to compile the shim"),
    pytest.mark.usefixtures("device_kernels_pay"),
]


def smoothed(step: Any, *sequences: Any) -> tuple[list[Any], Any]:
    h0 = T.dvector("h0")
    h, _ = scanopt.scan(step, list(sequences), h0)
    return [*sequences, h0], h


def of(shim: Shim, inputs: list[Any], outputs: Any, *calls: list[Any]) -> list[str]:
    """Compare all calls with the interpreter; the texts of the kernels."""
    f = scanopt.function(inputs, outputs, backend="numpy")
    program, loops = on_shim(f, shim)
    for values in calls:
        expected = f.unoptimized(*values)
        for found, e in zip(program(values), expected if isinstance(expected, list) else [expected], strict=True):
            assert_close(found, e)
    return [v.text for v in kernels(loops) if v.function is not None]


def test_rows_are_fetched_however_many_there_are(tmp_path: Path) -> None:
    """Fewer steps than are fetched at first, and more than there are slots."""
    X, Y = T.dmatrix("X"), T.imatrix("Y")
    inputs, h = smoothed(lambda x, y, h: T.tanh(h * x) + y, X, Y)
    calls = [
        [rng().normal(size=(n, 3)), np.arange(3 * n, dtype="i4").reshape(n, 3) % 5, np.ones(3)] for n in range(2, 21, 3)
    ]
    (text,) = of(Shim(tmp_path), inputs, h, *calls)
    assert text.count("FETCH(ahead") == 4
    assert "& 3)" in text, "so many bytes that there are four slots"
    for architecture in ARCHITECTURES if not missing() else ():
        binary, said = compiled(text, architecture)
        assert binary[:4] == b"\x7fELF", said


def test_loops_that_end_early_and_rows_that_are_read_later(tmp_path: Path) -> None:
    """A row that is kept, or read by more than its step, is read where it lies."""
    X = T.dmatrix("X")
    inputs, h = smoothed(lambda x, h: (h * 0.5 + x[::-1], scanopt.until(T.gt(T.abs_(h).sum(), 1e9))), X)
    values = [rng().normal(size=(12, 4)), np.ones(4)]
    of(Shim(tmp_path), inputs, h, values)
    k, s = T.lscalar("k"), T.lvector("s")
    step = lambda x, s, h, i: ([h * 0.5 + x * s, i + 1], scanopt.until(i > k))  # noqa: E731
    (h, _), _ = scanopt.scan(step, [X, s], [T.zeros(4), T.zeros((), "int64")])
    (text,) = of(Shim(tmp_path), [X, s, k], h, [values[0], np.arange(12), 5], [values[0], np.arange(12), 50])
    assert "FETCHED(0);" in text
    inputs, h = smoothed(lambda x, h: T.exp(-h) + x, X)
    last, _ = scanopt.scan(lambda x, h: [x, T.exp(-h) + x], X, [None, inputs[-1]])
    of(Shim(tmp_path), inputs, [last[0][-1], last[1]], values)


def test_what_is_read_too_early_is_seen(tmp_path: Path) -> None:
    class Hasty(Shim):
        def load(self, text: str, exact: bool, together: bool = False) -> Any:
            return super().load(text.replace("FETCHED(6)", "FETCHED(7)"), exact, together)

    X = T.dmatrix("X")
    inputs, h = smoothed(lambda x, h: T.tanh(h * 0.5 + x), X)
    values = [rng().normal(size=(12, 4)), np.ones(4)]
    assert "FETCHED(6)" in of(Shim(tmp_path), inputs, h, values)[0]
    with pytest.raises(AssertionError):
        of(Hasty(tmp_path), inputs, h, values)
