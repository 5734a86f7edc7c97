"""Loops on a device: seconds, bandwidth as a share of a copy, operations as a share of a product, beside JAX.

    python benchmarks/gpu.py                     everything
    python benchmarks/gpu.py --quick             a hundredth of the lanes or steps
    python benchmarks/gpu.py --quick --on-host   the same programs on NumPy: whether they run, not how fast
    python benchmarks/gpu.py LSTM complex        the loops whose names have one of these words

Without a device it says so and ends.  All in one run, inputs on the device; JAX where it is installed and has one.
Below the table stands how each loop ran.  Of very many steps `lax.scan` takes a part, and its time is multiplied.
"""

from __future__ import annotations

import importlib
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
from gpu_cases import Case, cases
from harness import machine, ratio, table

import scanopt
from scanopt.backends import executor

COMPARED = 10_000_000
"""So many numbers of a result are compared with those of JAX."""


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
    words = [x for x in arguments if not x.startswith("--")]
    chosen = [c for c in cases(0.01 if "--quick" in arguments else 1.0) if not words or any(w in c.name for w in words)]
    measured = []
    for case in chosen:
        measured.append(_measured(case, xp, wait, jax))
        print(f"  {measured[-1]}", file=sys.stderr, flush=True)
    heads = ["loop", "scanopt", "of a copy", "of a product", "lax.scan", "/ scanopt", "JAX by hand", "/ scanopt"]
    table("Seconds of a call", heads, [_row(m, copy, product) for m in measured])
    for m in measured:
        if m.ran:
            print(f"  {m.name}: {m.ran}")


@dataclass(frozen=True)
class Measured:
    """Seconds of a case; jax, by_hand: of JAX, None where it has none; ran: how its loops ran, or what went wrong."""

    name: str
    moved: float
    flops: float
    ran: str
    seconds: float = math.nan
    jax: float | None = None
    by_hand: float | None = None


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
    """JAX, where it has a device; memory that it does not use is left to others."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    try:
        jax = importlib.import_module("jax")
        return jax if jax.devices()[0].platform == "gpu" else None
    except (ImportError, RuntimeError):
        return None


def _measured(case: Case, xp: Any, wait: Callable[[], None], jax: Any) -> Measured:
    """What one case takes; one that fails does not end the others."""
    host = case.values()
    try:
        ran, seconds, ours = _ours(case, host, xp, wait)
        found = Measured(case.name, case.moved, case.flops, ran, seconds)
    except Exception as error:  # whatever a device may say
        return Measured(case.name, case.moved, case.flops, f"{type(error).__name__}: {error}")
    for name in ("jax", "by_hand") if jax else ():
        if getattr(case, name):
            try:
                found = replace(found, **{name: _theirs(case, name, host, ours, jax)})
            except Exception as error:
                found = replace(found, ran=f"{found.ran}; {name}: {type(error).__name__}: {str(error)[:500]}")
    return found


def _ours(case: Case, host: list[Any], xp: Any, wait: Callable[[], None]) -> tuple[str, float, list[Any]]:
    """How the loops of a case ran, the seconds of a call, and its results; no memory of the device is kept."""
    backend = "numpy" if xp is np else "cupy"
    with scanopt.config.change_flags(matmul_precision=case.own):
        f = scanopt.function(case.inputs, case.outputs, updates=case.updates, fp="reassoc", backend=backend)
    given = [xp.asarray(v) if np.ndim(v) else v for v in host]
    seconds = _least(lambda: f(*given), wait)
    results = _flat(f(*given))
    ran = "; ".join(k.state for k in f.kernels)
    if xp is np:
        return ran, seconds, results
    found = [xp.asnumpy(v) for v in results]
    given.clear()
    results.clear()
    xp.get_default_memory_pool().free_all_blocks()
    return ran, seconds, found


def _theirs(case: Case, name: str, host: list[Any], ours: list[Any], jax: Any) -> float:
    """Seconds of a function of JAX, whose results have to be ours."""
    share = case.share if name == "jax" else 1.0
    twin = getattr(case, name)(jax, jax.numpy, jax.lax)
    given = [jax.device_put(v) if np.ndim(v) else v for v in (host if share == 1.0 else case.first(host))]
    with jax.default_matmul_precision(case.precision):
        for a, b in zip(ours, map(np.asarray, _flat(twin(*given))), strict=True):
            some = (x.ravel()[:: max(x.size // COMPARED, 1)] for x in (a if share == 1.0 else a[: len(b)], b))
            np.testing.assert_allclose(*some, rtol=case.tolerance, atol=case.tolerance)
        return _least(lambda: jax.block_until_ready(twin(*given)), lambda: None) / share


def _row(m: Measured, copy: float, product: float) -> list[str]:
    """A row of the table."""
    shares = [_share(m.moved / m.seconds / copy), _share(m.flops / m.seconds / product)]
    told = [m.name, f"{m.seconds:.4f}", *shares]
    for theirs in (m.jax, m.by_hand):
        told += ["-", "-"] if theirs is None else [f"{theirs:.4f}", ratio(m.seconds, theirs)]
    return told


def _share(x: float) -> str:
    return f"{100 * x:.0f} %" if 0 < x < 10 else "-"


def _flat(x: Any) -> list[Any]:
    return list(x) if isinstance(x, list | tuple) else [x]


if __name__ == "__main__":
    main(sys.argv[1:])
