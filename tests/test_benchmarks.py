"""The benchmarks run and measure what they say; how fast anything is, is never tested."""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import scanopt

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def models() -> Any:
    return module("models")


def module(name: str) -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        return importlib.import_module(name)


def quick(name: str, *more: str) -> str:
    command = [sys.executable, str(FOLDER / name), "--quick", *more]
    path = os.pathsep.join(x for x in sys.path if x)
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=os.environ | {"PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.thorough
def test_compile_times_are_printed_with_goals_and_the_peer() -> None:
    found = quick("bench_compile.py")
    for text in ("First compile", "From the second compile on", "encode  saturate  extract  lower  compile", "Growth"):
        assert text in found
    for text in ("1000: ", "20: ", "25: ", "200: ", "JAX", "time ~ operators **", "import scanopt"):
        assert text in found


def test_run_times_are_printed_with_both_peers() -> None:
    found = quick("bench_run.py")
    for text in ("A**k", "polynomial", "AR(2)", "RNN", "LSTM", "interpreter / scanopt", "by hand / scanopt", "Peak"):
        assert text in found


@pytest.mark.thorough
def test_peak_memory_is_printed_beside_a_numpy_loop() -> None:
    found = quick("bench_peak.py", "power", "rnn1")
    for text in ("A**k, 1,000 x 10", "RNN, batch 1, 10 x 1 x 16", "scanopt / NumPy", "exact / NumPy"):
        assert text in found


@pytest.mark.thorough
def test_times_of_kernels_are_printed_with_both_peers() -> None:
    found = quick("bench_kernels.py")
    for text in ("logistic map", "PID", "Runge-Kutta", "LSTM", "doubling", "steps / kernel", "hand / kernel", "Numba"):
        assert text in found


@pytest.mark.thorough
def test_times_of_threads_are_printed_beside_those_of_one() -> None:
    found = quick("bench_threads.py")
    for text in ("logistic map", "linear recurrence", "Mandelbrot", "option tree", "1 thread / auto"):
        assert text in found


@pytest.mark.thorough
def test_times_of_peers_are_printed() -> None:
    """Results are compared with those of a NumPy loop before anything is measured."""
    found = quick("bench_peers.py", "ar2", "doubling")
    for text in (
        "NumPy",
        "best peer / scanopt",
        "best peer / exact",
        "AR(2), 100",
        "doubling until",
        "Geometric means",
    ):
        assert text in found


def test_times_of_peers_are_recorded(tmp_path: Path) -> None:
    times = {"NumPy": 4e-4, "Numba": 2e-5, "scanopt": 1e-5, "exact": 4e-5}
    told = {"ar2 large": {name: {"call": x, "first": 0.1} for name, x in times.items()}}
    (tmp_path / "times.json").write_text(json.dumps(told))
    page = tmp_path / "benchmarks.md"
    page.write_text((FOLDER.parent / "docs" / "benchmarks.md").read_text(encoding="utf-8"), encoding="utf-8")
    for _ in range(2):
        quick("bench_peers.py", "--again", str(tmp_path / "times.json"), "--record", str(page))
        text = page.read_text(encoding="utf-8")
        assert "| AR(2), 10,000 | 400 | 20.0 | 10.0 | 40.0 | 2.00 | 0.50 |" in text
        assert "| A**k, 1,000 x 10" not in text
        assert "Geometric means of best / scanopt: 2.00 (reassoc), 0.50 (exact); below 0.8 are 0 and 1 of 1." in text
        assert "## Kernels" in text


@pytest.mark.thorough
def test_times_of_explanations_are_printed_with_the_peer() -> None:
    found = quick("bench_explain.py")
    for text in ("A**k", "RNN", "notes / none", "explain / optimize"):
        assert text in found


@pytest.mark.thorough
def test_memory_of_many_compiles_is_printed_with_the_peer() -> None:
    found = quick("bench_memory.py")
    for text in ("12 different loops", "its engine", "engines started: 1", "renewed / never"):
        assert text in found
    rows = [line.split() for line in found.splitlines() if len(line.split()) == 5 and line.split()[0].isdecimal()]
    assert [int(row[0]) for row in rows] == list(range(1, 13))
    assert max(float(row[3]) for row in rows) < 200
    assert float(rows[-1][1]) - float(rows[5][1]) < 2  # MB that this process, its engine aside, has grown by


@pytest.mark.thorough
def test_linear_algebra_is_printed_with_both_loops() -> None:
    found = quick("bench_linalg.py")
    for text in ("systems of 200", "its gradient", "whitened", "Kalman", "plain / scanopt", "careful / scanopt"):
        assert text in found


@pytest.mark.thorough
def test_the_nine_are_switched_off_in_turn() -> None:
    found = quick("bench_ablation.py")
    nine = module("bench_ablation")
    programs = [c.name for c in nine.cases(0.01)]
    assert len(nine.NINE) == 9
    assert len(programs) == 10
    for text in ("Cost by the cost model", "Time per call", "Peak memory", "inplace", "save_mem", *programs[::4]):
        assert text in found
    for name in nine.left_out():
        assert nine.short(name) in found


@pytest.mark.parametrize(
    ("name", "arguments", "operators"),
    [("power", (), 4), ("rnn", (), 13), ("lstm_pair", (8,), 338), ("gated", (10,), 101), ("gated", (100,), 1001)],
)
def test_operators_are_counted(models: Any, name: str, arguments: tuple[int, ...], operators: int) -> None:
    graph = getattr(models, name)(*arguments)
    assert abs(models.count_operators(graph.outputs) - operators) <= 2
    assert len(graph.values) == len(graph.inputs)


@pytest.fixture
def wide_numbers() -> Iterator[None]:
    """JAX with 64 bits, which the twins set for good, for one test alone."""
    config = pytest.importorskip("jax").config
    before = config.jax_enable_x64
    config.update("jax_enable_x64", True)
    yield
    config.update("jax_enable_x64", before)


@pytest.mark.usefixtures("wide_numbers")
@pytest.mark.parametrize(
    ("twin", "model", "arguments"),
    [("power", "power", (5, 3)), ("rnn", "rnn", (6, 4)), ("lstm_pair", "lstm_pair", (2,)), ("gated", "gated", (3, 7))],
)
def test_jax_twins_compute_the_same(models: Any, twin: str, model: str, arguments: tuple[int, ...]) -> None:
    graph = getattr(models, model)(*arguments)
    expected = getattr(module("jax_twins"), twin)(*graph.values)
    found = scanopt.function(graph.inputs, graph.outputs)(*graph.values)
    many = expected if isinstance(expected, list | tuple) else [expected]
    for a, b in zip(found, many, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.thorough
def test_programs_of_other_libraries_are_measured_where_they_are_installed() -> None:
    found = quick("bench_bridges.py")
    for peer in ("JAX", "onnxruntime", "PyTensor"):
        assert f"{peer}: 100 steps" in found or f"{peer} is not installed" in found


@pytest.mark.thorough
def test_scale_is_measured_and_simulated() -> None:
    found = quick("schedule_of_scale.py")
    for text in ("A chain of 1e12 steps", "1e9 lanes", "A million functions a day", "waits for"):
        assert text in found
    found = quick("bench_scale.py")
    for text in ("filter", "RNN", "sampler", "dask / ours", "same bits") if "By parts" in found else ("not installed",):
        assert text in found
    assert " NO " not in found
