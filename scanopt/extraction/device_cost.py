"""The cost model of a device: nanoseconds of one evaluation as array steps of CuPy, by what launches and memory take.

A call costs a launch, whatever it computes; elements cost memory traffic; multiply-adds of products cost next to
nothing.  So few large calls are cheap.
"""

from __future__ import annotations

from scanopt.extraction.cost import CostTable, register_cost

__all__ = ["DEVICE", "LAUNCH"]

LAUNCH = 6_900.0
"""Nanoseconds of one operator: the call from Python, and the kernel that it starts."""
_EACH = 0.006
"""Nanoseconds of one element of 8 bytes, where two are read and one is written, at 4.1 TB/s."""
_KEPT = 1_100.0
"""Nanoseconds of a kept row: most loops are kernels or CUDA graphs, in which it is one store, or one node."""
_SYNC = 23_000.0
"""Nanoseconds of an operator that waits for the device, or starts several kernels."""

DEVICE = CostTable(
    call={
        "arith": LAUNCH, "division": LAUNCH, "transcendental": LAUNCH, "free": 1_200.0, "sort": _SYNC,
        "product": 12_000.0, "memory": LAUNCH, "gather": 2 * LAUNCH, "reduction": 9_000.0, "cumulative": _SYNC,
        "system": 60_000.0, "factorization": 60_000.0, "solving": 60_000.0, "decomposition": 300_000.0,
    },
    element={
        "free": 0.0, "arith": _EACH, "division": _EACH, "transcendental": _EACH, "reduction": _EACH / 2,
        "memory": _EACH, "gather": 2 * _EACH, "sort": 0.2, "product": 0.0001, "stack": 2 * _EACH / 3,
        "cumulative": 2 * _EACH, "system": 0.001, "factorization": 0.001, "solving": 0.001, "decomposition": 0.01,
    },
    kind={
        "seq": 600.0, "delay": 5.0, "hold": 0.0, "input": 0.0, "const": 0.0, "loop": 6_000.0,
        "step": 100.0, "stack": _KEPT, "tail": 20.0, "at": 20.0,
    },
    operators={
        "linear_recurrence": (5 * LAUNCH, 0.01), "lfilter": (5 * LAUNCH, 2.0), "lfilter2": (5 * LAUNCH, 3.0),
        "forward_fill": (20 * LAUNCH, 0.1), "segmented": (50 * LAUNCH, 0.2), "powers": (10 * LAUNCH, 0.02),
        "geometric": (10 * LAUNCH, 0.05), "affine_power": (30 * LAUNCH, 1.0), "polynomial": (10 * LAUNCH, 0.02),
        "masked_flips": (1e6, 0.05), "smoothing": (1e6, 0.05), "raised_sum": (1e6, 0.05), "capped_sum": (1e6, 0.05),
        "clamped_sum": (1e6, 0.05), "fold_in_order": (1e6, LAUNCH),
        "regrouped_sum": (1e6, LAUNCH), "regrouped_filter": (1e6, LAUNCH), "regrouped_filter2": (1e6, LAUNCH),
        "regrouped_smoothing": (1e6, 0.05),
    },
)  # fmt: skip
"""Nanoseconds on an NVIDIA H200: launches and memory as measured on 26 November 2026, the rest estimated from them."""

register_cost("cupy", DEVICE)
