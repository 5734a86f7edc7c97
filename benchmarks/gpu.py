"""Loops on a device: seconds, bandwidth as a share of a copy, operations as a share of a product, beside JAX.

    python benchmarks/gpu.py                     everything
    python benchmarks/gpu.py --quick             a hundredth of the lanes or steps
    python benchmarks/gpu.py --quick --on-host   the same programs on NumPy: whether they run, not how fast

Without a device it says so and ends.  All in one run, inputs on the device; JAX where it is installed and has one.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
from gpu_cases import Case, cases
from harness import machine, ratio, table

import scanopt
from scanopt.backends import executor


def main(arguments: list[str]) -> None:
    """Print the table."""
    on_host = "--on-host" in arguments
    try:
        xp = np if on_host else executor("cupy").xp
    except RuntimeError as error:
        print(f"gpu: nothing was measured: {error}")
        return
    wait = (lambda: None) if on_host else xp.cuda.get_current_stream().synchronize
    device = "the host" if on_host else xp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(f"gpu: {date.today()}, {device}, {machine()}")
    copy, product = (1.0, 1.0) if on_host else (_copy(xp, wait), _product(xp, wait))
    if not on_host:
        print(f"a copy moves {copy / 1e12:.2f} TB/s, a product of float32 does {product / 1e12:.1f} TFLOP/s")
    jax = None if on_host else _jax()
    rows = [_row(case, xp, wait, copy, product, jax) for case in cases(0.01 if "--quick" in arguments else 1.0)]
    heads = ["loop", "scanopt", "of a copy", "of a product", "lax.scan", "/ scanopt", "JAX by hand", "/ scanopt"]
    table("Seconds of a call", heads, rows)


def _copy(xp: Any, wait: Callable[[], None]) -> float:
    """Bytes a second."""
    a = xp.zeros(1 << 28, "float32")
    b = xp.empty_like(a)
    return 2 * a.nbytes / _least(lambda: xp.copyto(b, a), wait)


def _product(xp: Any, wait: Callable[[], None]) -> float:
    """Operations a second."""
    a = xp.ones((8192, 8192), "float32")
    return 2 * 8192**3 / _least(lambda: a @ a, wait)


def _least(call: Callable[[], Any], wait: Callable[[], None], repeats: int = 10) -> float:
    call()
    wait()
    found = []
    while len(found) < repeats and sum(found) < 5.0:
        start = time.perf_counter()
        call()
        wait()
        found.append(time.perf_counter() - start)
    return min(found)


def _jax() -> Any:
    """JAX, where it has a device."""
    try:
        jax = importlib.import_module("jax")
        return jax if jax.devices()[0].platform == "gpu" else None
    except (ImportError, RuntimeError):
        return None


def _row(case: Case, xp: Any, wait: Callable[[], None], copy: float, product: float, jax: Any) -> list[str]:
    backend = "numpy" if xp is np else "cupy"
    f = scanopt.function(case.inputs, case.outputs, updates=case.updates, fp="reassoc", backend=backend)
    values = [xp.asarray(v) if np.ndim(v) else v for v in case.values]
    seconds = _least(lambda: f(*values), wait)
    told = [case.name, f"{seconds:.4f}", _share(case.moved / seconds / copy), _share(case.flops / seconds / product)]
    ours = f(*values)
    for twin in (case.jax, case.by_hand):
        theirs = None if jax is None or twin is None else _theirs(case, twin(jax, jax.numpy, jax.lax), jax, ours, xp)
        told += ["-", "-"] if theirs is None else [f"{theirs:.4f}", ratio(seconds, theirs)]
    return told


def _theirs(case: Case, twin: Any, jax: Any, ours: Any, xp: Any) -> float:
    """Seconds of a function of JAX, whose results have to be ours."""
    given = [jax.device_put(v) if np.ndim(v) else v for v in case.values]
    for a, b in zip(_flat(ours), _flat(twin(*given)), strict=True):
        np.testing.assert_allclose(xp.asnumpy(a), np.asarray(b), rtol=case.tolerance, atol=case.tolerance)
    return _least(lambda: jax.block_until_ready(twin(*given)), lambda: None)


def _share(x: float) -> str:
    return f"{100 * x:.0f} %" if 0 < x < 10 else "-"


def _flat(x: Any) -> list[Any]:
    return list(x) if isinstance(x, list | tuple) else [x]


if __name__ == "__main__":
    main(sys.argv[1:])
