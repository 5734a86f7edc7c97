"""With backend="auto" arrays of the host are moved to a device where that is predicted to be faster."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from capturing_device import cuda_with_graphs
from strict_device import StrictDevice

import scanopt
import scanopt.tensor as T
from scanopt.backends.captured_loops import STEPS
from scanopt.backends.cupy import OnDevice
from scanopt.backends.placed import Placed
from scanopt.backends.predicted import Prices, UnknownSizesError, moved_seconds, sizes_of
from scanopt.extraction.cost import NUMPY
from scanopt.extraction.device_rates import DeviceRates


@pytest.fixture(autouse=True)
def device(monkeypatch: pytest.MonkeyPatch) -> Any:
    found = StrictDevice.shared()
    monkeypatch.setattr(found, "cuda", cuda_with_graphs())
    monkeypatch.setitem(sys.modules, "cupy", found)
    return found


def waves(**options: Any) -> Any:
    """Lanes that are independent of each other, of numbers that have no kernel on the device."""
    z, n = T.zvector("z"), T.lscalar("n")
    zs, _ = scanopt.scan(lambda z: T.exp(z * 0.5j), outputs_info=z, n_steps=n)
    return scanopt.function([z, n], zs[-1], **options)


def placed(f: Any) -> Placed:
    assert isinstance(f._compiled, Placed)
    return f._compiled


def moves(run: Placed, values: list[Any]) -> bool:
    return run._choice(values).there is not None


def lanes(n: int) -> Any:
    """An array of n elements that takes no memory."""
    return np.broadcast_to(np.zeros((), "complex128"), (n,))


def test_what_takes_long_here_is_moved() -> None:
    run = placed(waves())
    few, many, steps = lanes(10), lanes(1_000_000), np.asarray(1000)
    assert moves(run, [many, steps])
    assert not moves(run, [few, steps])
    assert not moves(run, [many, np.asarray(1)]), "moving takes longer"
    assert [text.split(":")[0] for text in run.told] == ["on CuPy", "here"]


def test_transfers_count() -> None:
    x = T.dvector("x")
    run = placed(scanopt.function([x], x * 2 + 1))
    array = np.broadcast_to(0.0, (100_000_000,))
    known = sizes_of(run.program, [array])
    assert moved_seconds(run.program, known, DeviceRates(array=1e-3, moved=1e9)) == pytest.approx(2 * (1e-3 + 0.8))
    assert not moves(run, [array])
    assert run._there.predicted(known) < 0.01


def test_results_come_back(monkeypatch: pytest.MonkeyPatch, device: Any) -> None:
    monkeypatch.setattr("scanopt.backends.placed.WORTH", 0.0)
    monkeypatch.setattr("scanopt.backends.placed.MARGIN", 0.0)
    f = waves()
    z = np.array([0.1, 0.2j])
    found = f(z, 4 * STEPS)
    assert type(found) is np.ndarray
    np.testing.assert_allclose(found, f.unoptimized(z, 4 * STEPS))
    assert sum(graph.launches for graph in device.cuda.streams.graphs) == 3
    assert "; on CuPy: " in f.executor
    assert f.executor.endswith("ms here")


def test_a_program_chosen_for_the_device_runs_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """One call for all steps, where here a loop is cheaper."""
    monkeypatch.setattr("scanopt.backends.placed.WORTH", 0.0)
    monkeypatch.setattr("scanopt.backends.placed.MARGIN", 0.0)
    a, x = T.dmatrix("a"), T.dmatrix("x")
    y, _ = scanopt.scan(lambda a, x, s: a * s + x, [a, x], T.zeros(8))
    f = scanopt.function([a, x], y)
    given = [np.random.default_rng(seed).normal(size=(50, 8)) for seed in range(2)]
    np.testing.assert_allclose(f(*given), f.unoptimized(*given))
    assert f.program.loops()
    assert placed(f)._choice(given).there.program.loops() == []


@pytest.mark.parametrize("options", [{"fp": "exact"}, {"backend": "numpy"}, {"backend": "c"}])
def test_who_asks_for_bits_or_a_backend_stays(options: Any) -> None:
    run = placed(waves(**options))
    assert not run.may_move
    assert run.told == ()


def test_without_a_device_nothing_is_moved(monkeypatch: pytest.MonkeyPatch, device: Any) -> None:
    monkeypatch.setattr("scanopt.backends.placed.WORTH", 0.0)
    monkeypatch.setattr(device.cuda, "is_available", lambda: False)
    f = waves()
    assert f([0.1], 3).shape == (1,)
    assert not placed(f).may_move


def test_where_memory_runs_out_there_it_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: OnDevice, values: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr("scanopt.backends.placed.WORTH", 0.0)
    monkeypatch.setattr("scanopt.backends.placed.MARGIN", 0.0)
    monkeypatch.setattr(OnDevice, "__call__", full)
    f = waves()
    np.testing.assert_allclose(f([0.1], 3), f.unoptimized([0.1], 3))


def test_what_only_the_run_tells_is_not_predicted() -> None:
    x, limit = T.dvector("x"), T.dscalar("limit")
    ys, _ = scanopt.scan(lambda y: (y + x, scanopt.until((y * y).sum() > limit)), outputs_info=x, n_steps=10)
    run = placed(scanopt.function([x, limit], T.exp(ys)))
    with pytest.raises(UnknownSizesError):
        Prices(NUMPY).seconds(run.program.steps, sizes_of(run.program, [np.zeros(3), np.asarray(1.0)]))
    assert not moves(run, [np.zeros(3), np.asarray(1.0)])


def test_prices_add_up() -> None:
    """By the tables: each operator as often as it runs."""
    f = waves(backend="numpy", fp="exact")
    one, two, three = (
        Prices(NUMPY).seconds(f.program.steps, sizes_of(f.program, [lanes(8), np.asarray(n)])) for n in (5, 6, 7)
    )
    step = two - one
    assert three - two == pytest.approx(step)
    table, operators = NUMPY, 2e-9 * 450
    assert operators < step < operators + 1e-9 * (8 * (table.element["arith"] + table.element["transcendental"]) + 200)


def test_a_graph_is_priced_by_its_nodes() -> None:
    run, rates = placed(waves()), DeviceRates()
    there = [run._there.predicted(sizes_of(run.program, [lanes(8), np.asarray(n)])) for n in (1000, 2000)]
    assert 1000 * 2 * rates.node < there[1] - there[0] < 1000 * 2 * rates.launch / 2
