"""Loops of a batch whose blocks run several rows each, and hold factors and scratch memory in shared memory."""

from __future__ import annotations

import faulthandler
import shutil
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda_shim import Shim
from nvrtc import ARCHITECTURES, compiled, missing
from random_networks import network
from test_cuda import Program, WithoutOne, assert_close, kernels, on_shim, rng

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.device_plans import DeviceVariant
from scanopt.backends.kernels.shared_memory import Holding

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to compile the shim")


@pytest.fixture(autouse=True)
def many_rows_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scanopt.backends.kernels.device_plans.fewest_steps", lambda plan: 0.0)
    monkeypatch.setattr("scanopt.backends.kernels.device_loops.kernel_step_seconds", lambda plan: -plan.variant.rows)


def recurrent(kind: str, batch: int, units: int = 5, steps: int = 4, dtype: str = "float64") -> Program:
    """A recurrent network; `gradient of` it gives those of its weights."""
    gates = {"rnn": 1, "lstm": 4, "gru": 1}[kind.split()[-1]]
    X, h0, c0 = T.dtensor3("X"), T.dmatrix("h0"), T.dmatrix("c0")
    W, U, V = T.dmatrix("W"), T.dmatrix("U"), T.dmatrix("V")
    if dtype == "float32":
        X, h0, c0, W, U, V = (T.TensorType("float32", (None,) * x.ndim)(x.name) for x in (X, h0, c0, W, U, V))

    def lstm(x: Any, h: Any, c: Any) -> Any:
        z = T.dot(x, U) + T.dot(h, W)
        i, f, o, g = (z[:, j * units : (j + 1) * units] for j in range(4))
        c = T.sigmoid(f) * c + T.sigmoid(i) * T.tanh(g)
        return T.sigmoid(o) * T.tanh(c), c

    def gru(x: Any, h: Any, c: Any) -> Any:
        z = T.sigmoid(T.dot(x, U) + T.dot(h, W))
        return (1 - z) * h + z * T.tanh(T.dot(z * h, V) + T.dot(V, c.T).T.sum(axis=1, keepdims=True)), c

    def rnn(x: Any, h: Any, c: Any) -> Any:
        return T.tanh(T.dot(x, U) + T.dot(h, W)), c

    step = {"rnn": rnn, "lstm": lstm, "gru": gru}[kind.split()[-1]]
    (h, c), _ = scanopt.scan(step, X, [h0, c0])
    weights = [W, U] + [V] * (kind.split()[-1] == "gru")
    outs = T.grad((h**2).sum() + c[-1].sum(), [*weights, h0]) if "gradient" in kind else [h, c[-1]]
    shapes = [(steps, batch, 3), (batch, units), (batch, units), (units, gates * units), (3, gates * units)]
    values = [(rng().normal(size=s) / 2).astype(dtype) for s in [*shapes, (units, units)]]
    return [X, h0, c0, W, U, V], outs, values


def ran(shim: Shim, inputs: list[Any], outputs: list[Any], values: list[Any]) -> list[DeviceVariant]:
    f = scanopt.function(inputs, outputs, backend="numpy", on_unused_input="ignore")
    program, loops = on_shim(f, shim)
    for found, expected in zip(program(values), f.unoptimized(*values), strict=True):
        assert_close(found, expected)
    assert all(x.runs for x in loops)
    return [v for v in kernels(loops) if v.function is not None]


CASES = ["rnn", "lstm", "gru", "gradient of an rnn", "gradient of an lstm", "gradient of a gru"]


@pytest.mark.share(6)
@pytest.mark.parametrize("shared", [1 << 9, 1 << 13], ids=["vectors alone", "factors held"])
@pytest.mark.parametrize("kind", CASES)
def test_rows_together_give_what_the_interpreter_gives(kind: str, shared: int, tmp_path: Path) -> None:
    """The last block has rows that are not there: 7 rows of a batch, 4 in a block."""
    shim = Shim(tmp_path, threads=32, shared=shared)
    found = ran(shim, *recurrent(kind, 7))
    assert any(v.rows == 4 and v.staged for v in found)
    assert (2, 32) in shim.launches
    for architecture in ARCHITECTURES if not missing() else ():
        for v in found:
            binary, said = compiled(v.text, architecture)
            assert binary[:4] == b"\x7fELF", said


def test_the_bits_of_a_row_do_not_depend_on_the_batch(tmp_path: Path) -> None:
    inputs, outputs, values = recurrent("lstm", 19, dtype="float32")
    f = scanopt.function(inputs, outputs, backend="numpy", on_unused_input="ignore")
    shim = Shim(tmp_path, threads=32)
    program, loops = on_shim(f, shim)
    (whole, _), first = program(values), [values[0][:, :3], *(v[:3] for v in values[1:3]), *values[3:]]
    (few, _) = program(first)
    assert {v.rows for v in kernels(loops) if v.function is not None} == {1, 8}
    np.testing.assert_array_equal(few, whole[:, :3])


def test_a_missing_barrier_is_seen(tmp_path: Path) -> None:
    """By the order of threads, a wrong result, or an address that is not there yet."""
    inputs, outputs, values = recurrent("rnn", 7, steps=3)
    f = scanopt.function(inputs, outputs, backend="numpy", on_unused_input="ignore")
    expected, seen, without = f.unoptimized(*values), 0, WithoutOne(tmp_path, threads=32)

    def run() -> None:
        faulthandler.disable()  # who reads an address that is not there ends, and is not told of
        program, _ = on_shim(f, without)
        for found, e in zip(program(values), expected, strict=True):
            assert_close(found, e)

    without.left_out = without.count = 9
    run()
    barriers, without.left_out = without.count, 0
    while without.left_out < barriers:
        child = get_context("fork").Process(target=run)
        child.start()
        child.join()
        seen += child.exitcode != 0
        without.left_out += 1
    assert (seen, barriers) == (2, 3)  # the end of a step is one where somebody waits anyway


def test_rows_that_branch_by_their_values_are_blocks_of_their_own(tmp_path: Path) -> None:
    X, h0, W = T.dtensor3("X"), T.dmatrix("h0"), T.dmatrix("W")
    h, _ = scanopt.scan(lambda x, h: T.tanh(T.dot(h, W) + x), X, h0)
    k, _ = scanopt.scan(lambda x, h: (h + T.dot(x, W), scanopt.until(h.sum() > 1e9)), X, h0)
    values = [rng().normal(size=s) for s in ((4, 7, 5), (7, 5), (5, 5))]
    shim = Shim(tmp_path, threads=32)
    assert {v.rows for v in ran(shim, [X, h0, W], [h], values)} == {4}
    assert {v.rows for v in ran(shim, [X, h0, W], [k], values)} == {1}


def test_what_lies_in_shared_memory() -> None:
    assert Holding.of(100, 16, (64, 64), 16) == Holding((16, -1), 0, 80, 96, True)
    assert Holding.of(100, 128, (4,)) == Holding((-1,), 0, -1, 128, False)
    assert Holding.of(64, 0, ()) == Holding((), 0, -1, 0, True)


@pytest.mark.share(5)
@pytest.mark.parametrize("seed", range(12))
def test_random_networks(seed: int, tmp_path: Path) -> None:
    inputs, outputs, values = network(seed)
    f = scanopt.function(inputs, outputs, backend="numpy", fp="exact", on_unused_input="ignore")
    program, loops = on_shim(f, Shim(tmp_path, threads=32, multiprocessors=2, shared=1 << 8 + seed % 6))
    for found, expected in zip(program(values), f.unoptimized(*values), strict=True):
        assert_close(found, expected)
    assert not any("Error" in str(v) for x in loops for v in x.variants.values() if isinstance(v, str))


class Refusing(Shim):
    """A device that does not launch several rows in a block."""

    def launch(self, function: Any, blocks: int, threads: int, args: Any, shared: int = 0) -> None:
        if blocks < 7:
            raise RuntimeError("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: too many resources requested for launch")
        super().launch(function, blocks, threads, args, shared)


def test_a_launch_that_is_refused_is_left_to_the_next_way(tmp_path: Path) -> None:
    inputs, outputs, values = recurrent("rnn", 7)
    f = scanopt.function(inputs, outputs, backend="numpy", on_unused_input="ignore")
    program, loops = on_shim(f, Refusing(tmp_path, threads=32))
    for _ in range(2):
        for found, expected in zip(program(values), f.unoptimized(*values), strict=True):
            assert_close(found, expected)
    (loop,) = (x for x in loops if x.variants)
    assert loop.runs == 1
    assert "array steps: RuntimeError: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" in loop.report().state


def test_a_row_has_as_many_threads_as_elements(tmp_path: Path) -> None:
    """However large its weights are."""
    shim = Shim(tmp_path, multiprocessors=8)
    ran(shim, *recurrent("rnn", 2, units=40, steps=3))
    assert (2, 64) in shim.launches
