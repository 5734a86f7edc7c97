"""Programs of JAX, ONNX and PyTensor: the peer's time per call, ours, and what the laws saved.

    python benchmarks/bench_bridges.py            2000 steps
    python benchmarks/bench_bridges.py --quick    100 steps, few calls

For each program: milliseconds per call in the library that it is written with (compiled, warm), here as it was written,
and here optimized; for JAX also the optimized program given back to JAX.  Peers that are not installed are left out.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # steadier on few cores
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import importlib.util
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import bridge_programs
import numpy as np
from harness import asked_to_be_quick, median, ms, ratio, table

import scanopt

WARM = 0.1
"""Seconds of calls before those that are measured, for each of them."""

HEAD = ["program", "peer", "as written", "optimized", "peer / optimized", "laws saved", "loops left", "back"]


def row(
    name: str, peer: float, f: Any, call: Callable[[Any], Any], repeats: int, back: float | None = None
) -> list[str]:
    """call: how to call one of the three functions of f with the arguments."""
    for g in (f, f.as_written):  # long loops become kernels while the first calls run
        start = time.perf_counter()
        while time.perf_counter() - start < repeats * WARM:
            call(g)
    ours, written = median(lambda: call(f), repeats), median(lambda: call(f.as_written), repeats)
    saved = f"{written / ours:.2f} x"
    left = str(len(f.program.loops()))
    return [name, ms(peer), ms(written), ms(ours), ratio(ours, peer), saved, left, "" if back is None else ms(back)]


def of_jax(n: int, repeats: int) -> Iterator[list[str]]:
    import jax

    for name, (f, args) in bridge_programs.jax_programs(n).items():
        theirs = jax.jit(f)
        g = scanopt.from_jax(f)
        same(jax.tree_util.tree_leaves(g(*args)), jax.tree_util.tree_leaves(theirs(*args)))
        leaves = [_plain(x) for x in jax.tree_util.tree_leaves(args)]
        again = jax.jit(g.to_jax())
        timed = [partial(_waited, h, args) for h in (theirs, again)]
        for h in timed:
            h()
        peer, back = (median(h, repeats) for h in timed)
        yield row(name, peer, g.compiled(*args), partial(_called, leaves, {}), repeats, back)


def _waited(f: Any, args: Any) -> Any:
    import jax

    return jax.block_until_ready(f(*args))


def _called(args: Sequence[Any], kwargs: dict[str, Any], f: Any) -> Any:
    return f(*args, **kwargs)


def _plain(x: Any) -> Any:
    import jax

    if not jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
        return np.asarray(x)
    words = np.asarray(jax.random.key_data(x)).astype(np.uint64)
    return words[..., 0] << np.uint64(32) | words[..., 1]


def of_onnx(n: int, repeats: int) -> Iterator[list[str]]:
    import onnxruntime

    for name, (model, given) in bridge_programs.onnx_programs(n).items():
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 3
        f = scanopt.from_onnx(model)
        sessions = [
            onnxruntime.InferenceSession(m.SerializeToString(), options, providers=["CPUExecutionProvider"])
            for m in (model, f.to_onnx())
        ]
        wanted = sessions[0].run(None, given)
        same(f(**given), wanted)
        same(sessions[1].run(None, given), wanted)
        peer, back = (median(partial(s.run, None, given), repeats) for s in sessions)
        yield row(name, peer, f, partial(_called, [], given), repeats, back)


def of_pytensor(n: int, repeats: int) -> Iterator[list[str]]:
    import pytensor

    for name, (inputs, outputs, values) in bridge_programs.pytensor_programs(n).items():
        theirs = pytensor.function(inputs, outputs)
        f = scanopt.from_pytensor(inputs, outputs)
        same(f(*values), theirs(*values))
        peer = median(partial(theirs, *values), repeats)
        yield row(name, peer, f, partial(_called, values, {}), repeats)


def same(found: Any, wanted: Any) -> None:
    """The numbers must agree before times mean anything."""
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-3, atol=2e-3)


PEERS: dict[str, tuple[str, Callable[[int, int], Iterator[list[str]]]]] = {
    "JAX": ("jax", of_jax),
    "onnxruntime": ("onnxruntime", of_onnx),
    "PyTensor": ("pytensor", of_pytensor),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table for each peer that is installed."""
    quick = asked_to_be_quick("Programs of JAX, ONNX and PyTensor.", "loops", arguments)
    warnings.simplefilter("ignore")  # PyTensor's own, of what is installed
    for title, (module, rows) in PEERS.items():
        if importlib.util.find_spec(module) is None:
            print(f"{title} is not installed: pip install 'scanopt[{module.removesuffix('runtime')}]'")
            continue
        n, repeats = (100, 3) if quick else (2000, 15)
        table(f"{title}: {n} steps, milliseconds per call", HEAD, list(rows(n, repeats)))


if __name__ == "__main__":
    main()
