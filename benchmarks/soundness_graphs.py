"""Random loops whose steps are captured as CUDA graphs, on a stand-in for CuPy, compared with plain evaluation.

    python benchmarks/soundness_graphs.py 0 2000

The stand-in refuses while capturing what a device refuses, and whatever a graph may not read later.  Prints how many
programs were compared, how many of them launched graphs and how often, and each program that differs.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
SIZES = (2, 3, 11)
"""So many steps are one graph."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the loops of some seeds; 1 where one differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    asked = parser.parse_args(arguments)
    total = Counter[str]()
    for seed in range(asked.first, asked.last):
        try:
            launches = run(seed)
        except AssertionError as wrong:
            print(f"seed {seed}: {' '.join(str(wrong).split())[:200]}")
            total["programs that differ"] += 1
        else:
            total["programs compared"] += 1
            total["programs with graphs"] += launches > 0
            total["launches of graphs"] += launches
    for what, count in sorted(total.items()):
        print(f"{count:8,}  {what}")
    return int(total["programs that differ"] > 0)


def run(seed: int) -> int:
    """How many launches of graphs the loop of a seed took."""
    from capturing_device import cuda_with_graphs
    from strict_device import StrictDevice
    from test_captured_loops import compared

    device = StrictDevice.shared()
    device.cuda = cuda_with_graphs()
    with (
        mock.patch("scanopt.backends.cupy.STEPS", SIZES[seed % len(SIZES)]),
        mock.patch("scanopt.backends.captured_loops.FEWEST", 0),
        warnings.catch_warnings(action="ignore"),
    ):
        return compared(seed, device)


if __name__ == "__main__":
    sys.exit(main())
