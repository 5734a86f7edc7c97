"""The time of a step of a loop on a device, as a kernel and as array steps: estimates, none of them measured.

The numbers are those of a server card: a launch from Python, what one thread block computes and reads, memory.
"""

from __future__ import annotations

import math
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from scanopt.backends.kernels.bodies import walk
from scanopt.backends.kernels.nodes import Fork, Nested, Product

if TYPE_CHECKING:
    from scanopt.backends.kernels.device_plans import DevicePlan

__all__ = [
    "BANDWIDTH",
    "CALL",
    "LAUNCH",
    "NODE",
    "array_step_seconds",
    "beats_graphs",
    "fewest_steps",
    "kernel_step_seconds",
]

LAUNCH = 12e-6
"""Seconds of one operator of an array step: CuPy's call and the launch."""
NODE = 1.5e-6
"""Seconds of one operator of an array step that is launched as part of a CUDA graph."""
CALL = 3e-5
"""Seconds of a call of a kernel: its arrays, and the launch."""
BANDWIDTH = 3e12
"""Bytes a second of the device's memory."""
BLOCKS, BLOCK_FLOPS, BLOCK_BYTES = 132, 2e11, 4e10
"""Blocks that run side by side; operations, and bytes out of the cache, of one of them a second."""
BARRIER, GRID_BARRIER = 0.3e-6, 2e-6
"""Seconds in which all threads of a block, or of all blocks, wait for one another, memory's delay included."""
OPERATOR = 0.1e-6
"""Seconds of an operator of elements that a thread runs by itself."""
SHARED_BYTES = 1e11
"""Bytes out of shared memory, of one block a second."""
THREAD = 4e-9
"""Seconds of an operation of one thread, which waits for the one before."""
FLOPS = 3e13
"""Operations a second of the whole device."""


def _work(plan: DevicePlan) -> tuple[float, float, float, int]:
    """The work of one step of all lanes: operations, bytes of factors of products, bytes of values; and the
    operators."""
    flops = factors = values = 0.0
    count = 0
    for node in walk(plan.body.root.nodes):
        if isinstance(node, Fork | Nested) or node.out not in plan.shapes:
            continue
        count += 1
        size, item = prod(plan.shapes[node.out]), np.dtype(node.dtype).itemsize
        values += size * item
        flops += size
        if isinstance(node, Product):
            a, b = (plan.shapes[x] for x in node.args)
            flops += 2.0 * size * a[-1]
            factors += prod(b) * item
    return flops, factors, values, count


def array_step_seconds(plan: DevicePlan, launch: float = LAUNCH) -> float:
    """Seconds of one step as array steps.  launch: of each operator."""
    flops, factors, values, count = _work(plan)
    return max(count * launch, flops / FLOPS + (factors + 3 * values) / BANDWIDTH)


def kernel_step_seconds(plan: DevicePlan) -> float:
    """Seconds of one step as a kernel; each block reads factors of products again."""
    flops, factors, values, count = _work(plan)
    if plan.variant.lanes.numbers:
        return max(count * THREAD, values / BANDWIDTH, plan.total * count / FLOPS)
    if plan.variant.grid:
        speed = SHARED_BYTES if min(plan.holding.places, default=-1) >= 0 else BLOCK_BYTES
        shared = flops / BLOCK_FLOPS + factors / speed + values / BLOCK_BYTES
        return plan.variant.barriers * GRID_BARRIER + count * OPERATOR + shared / plan.blocks
    waves = -(-plan.blocks // BLOCKS)
    one = plan.variant.barriers * BARRIER + count * OPERATOR + flops / plan.blocks / BLOCK_FLOPS
    factors /= SHARED_BYTES if min(plan.holding.places, default=-1) >= 0 else BLOCK_BYTES
    return waves * (one + factors + values / plan.blocks / (SHARED_BYTES if plan.holding.own >= 0 else BLOCK_BYTES))


def beats_graphs(plan: DevicePlan, n: int) -> bool:
    """Whether a kernel is expected to take less time for n steps than CUDA graphs of array steps."""
    return CALL + n * kernel_step_seconds(plan) < n * array_step_seconds(plan, NODE)


def fewest_steps(plan: DevicePlan) -> float:
    """From how many steps on a kernel is expected to take less time than array steps."""
    saved = array_step_seconds(plan) - kernel_step_seconds(plan)
    return CALL / saved if saved > 0 else math.inf
