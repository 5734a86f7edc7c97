"""Predicts the time of a step of a loop on a device, as a kernel and as array steps, by the rates of the device.

The predictions decide which way runs and from how many steps on; they have no influence on results.
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

__all__ = ["array_step_seconds", "fewest_beside_graphs", "fewest_steps", "kernel_step_seconds", "side_by_side"]

THREADS, REGISTERS, BLOCKS = 2048, 1024, 32
"""The most that a multiprocessor runs: threads, threads with 64 registers each, and blocks."""


def _work(plan: DevicePlan) -> tuple[float, float, float, int]:
    """The work of one step of all lanes: floating-point operations, bytes of the factors of products, bytes of values;
    and the number of operators."""
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


def array_step_seconds(plan: DevicePlan, launch: float | None = None) -> float:
    """Predict the seconds of one step as array steps.  launch: per operator, by default a separate launch."""
    rates, (flops, factors, values, count) = plan.limits.rates, _work(plan)
    launch = rates.launch if launch is None else launch
    return max(count * launch, flops / rates.flops + (factors + 3 * values) / rates.bandwidth)


def kernel_step_seconds(plan: DevicePlan) -> float:
    """Predict the seconds of one step as a kernel."""
    rates, (flops, factors, values, count) = plan.limits.rates, _work(plan)
    held = bool(plan.holding.places) and min(plan.holding.places) >= 0
    factor_bytes = rates.shared_bytes if held else rates.block_bytes
    if plan.variant.lanes.numbers:
        return max(count * rates.thread, values / rates.bandwidth, plan.total * count / rates.flops)
    if plan.variant.grid:
        shared = flops / rates.block_flops + factors / factor_bytes + values / rates.block_bytes
        return plan.variant.barriers * rates.grid_barrier + count * rates.operator + shared / plan.blocks
    work = flops / plan.blocks / rates.block_flops + factors / factor_bytes  # each block reads all factors
    work += values / plan.blocks / (rates.shared_bytes if plan.holding.own >= 0 else rates.block_bytes)
    waits = plan.variant.barriers * rates.barrier + count * rates.operator
    beside = min(side_by_side(plan), -(-plan.blocks // plan.limits.multiprocessors))
    waves = -(-plan.blocks // (plan.limits.multiprocessors * beside))
    return waves * max(waits + work, beside * work)


def side_by_side(plan: DevicePlan) -> int:
    """How many blocks of a kernel run on a multiprocessor at the same time: while one waits, others compute."""
    most = min(BLOCKS, THREADS // plan.threads, REGISTERS // plan.threads)
    return max(1, min(most, plan.limits.shared // max(plan.holding.taken, 1)))


def fewest_beside_graphs(plan: DevicePlan) -> float:
    """The number of steps from which on a kernel is expected to take less time than CUDA graphs of array steps."""
    rates = plan.limits.rates
    return _fewest(rates.call, array_step_seconds(plan, rates.node) - kernel_step_seconds(plan))


def fewest_steps(plan: DevicePlan) -> float:
    """The number of steps from which on a kernel is expected to take less time than array steps."""
    return _fewest(plan.limits.rates.call, array_step_seconds(plan) - kernel_step_seconds(plan))


def _fewest(call: float, saved: float) -> float:
    return call / saved if saved > 0 else math.inf
