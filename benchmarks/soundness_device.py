"""Random programs whose loops run as CUDA kernels without a device, compared with the interpreter.

    python benchmarks/soundness_device.py 0 2000            the kernels' text as C++, its threads as fibers
    python benchmarks/soundness_device.py 0 2000 --nvrtc    and compiled by NVRTC for all architectures

Every program runs three times: each lane or row by a thread or block, several rows by a block, and by all blocks
together, where that can be.  Prints how many programs had kernels, how many kernels there were, and each program that
differs, or whose kernels could not be planned: calls leave that to array steps without a word.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
WAYS: dict[str, Callable[[Any], int]] = {
    "blocks": lambda plan: -plan.blocks,
    "rows": lambda plan: -plan.variant.rows,
    "all blocks": lambda plan: not plan.variant.grid,
}
"""What is predicted of a plan, so that each way comes first once."""
LOOPS, PLANS = (f"scanopt.backends.kernels.device_{x}" for x in ("loops", "plans"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the programs of some seeds; 1 where one differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--networks", action="store_true", help="random recurrent networks of a batch")
    parser.add_argument("--nvrtc", action="store_true", help="compile each kernel for all architectures, too")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args(arguments)
    total = Counter[str]()
    with ProcessPoolExecutor(asked.jobs) as pool:
        for found in pool.map(
            partial(run, nvrtc=asked.nvrtc, networks=asked.networks), range(asked.first, asked.last), chunksize=10
        ):
            total.update(found)
    for what, count in sorted(total.items()):
        print(f"{count:8,}  {what}")
    return int(any(what.startswith("seed") for what in total))


def run(seed: int, nvrtc: bool, networks: bool) -> dict[str, int]:
    """What the program of a seed came to, in each way."""
    import numpy as np
    from random_networks import network
    from random_programs import build, generate

    import scanopt

    if networks:
        inputs, outputs, given = network(seed)
        values = dict(zip(inputs, given, strict=True))
    elif not generate(seed, pure=True).smooth:
        return {"programs left out: rounding decides what they come to": 1}
    try:
        if not networks:
            values, outputs = build(generate(seed, pure=True))
        expected = scanopt.interpret(outputs, values)
    except (IndexError, ValueError):
        return {"programs left out: they are refused, or raise": 1}
    f = scanopt.function(list(values), outputs, backend="numpy", fp="exact", on_unused_input="ignore")
    found = Counter({"programs compared": 1})
    for way in WAYS:
        try:
            made = list(_kernels(f, [np.asarray(v) for v in values.values()], expected, way, nvrtc))
        except AssertionError as wrong:
            made = []
            found[f"seed {seed} by {way}: {' '.join(str(wrong).split())[:200]}"] = 1
        found[f"programs with a kernel of {way}"] += bool(made)
        found[f"kernels of {way}"] += len(made)
    return dict(found)


def _kernels(f: object, values: list[object], expected: list[object], way: str, nvrtc: bool) -> Iterator[str]:
    """The texts of the kernels that ran, once results and texts were looked at."""
    from cuda_shim import Shim
    from nvrtc import ARCHITECTURES, compiled
    from test_cuda import assert_close, kernels, on_shim

    from scanopt.backends.kernels.device_loops import DeviceLoop

    first = mock.patch(f"{LOOPS}.kernel_step_seconds", WAYS[way])
    planned = DeviceLoop._planned

    def found(*args: Any) -> Any:
        try:
            return planned(*args)
        except (ValueError, TypeError, LookupError) as error:
            raise AssertionError(f"no plan: {error!r}") from error

    with tempfile.TemporaryDirectory() as folder, mock.patch(f"{PLANS}.fewest_steps", return_value=0.0):
        shim = Shim(Path(folder), threads=32, together=way == "all blocks", multiprocessors=1 if way == "rows" else 3)
        with first, mock.patch.object(DeviceLoop, "_planned", found):
            program, loops = on_shim(f, shim)
            for a, b in zip(program(values), expected, strict=True):
                assert_close(a, b)
    odd = [v for x in loops for v in x.variants.values() if isinstance(v, str) and "Error" in v]
    assert not odd, odd[0]
    for v in kernels(loops):
        if v.function is not None:
            for architecture in ARCHITECTURES if nvrtc else ():
                binary, said = compiled(v.text, architecture)
                assert binary[:4] == b"\x7fELF", said
            yield v.text


if __name__ == "__main__":
    sys.exit(main())
