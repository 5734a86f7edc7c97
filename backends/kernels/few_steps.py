"""Lowers a loop of a few steps in the step of another loop: its steps stand one after the other, and need no memory.

Its states are variables, the elements that it reads are known by their places, and what it keeps of numbers are small
arrays, whose elements are variables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scanopt.backends.kernels.few_parts import few_joined, is_in_step
from scanopt.backends.kernels.ir import INDEX, ZERO, Cast, Expr, Let, Lit, Load, Var, plus, times
from scanopt.backends.kernels.lowering import Lowering, number_of
from scanopt.backends.kernels.nodes import Call, Check, Fixed, Length, Map, Nested, Node, View
from scanopt.backends.kernels.stages import is_element, is_few
from scanopt.backends.kernels.values import Scalar
from scanopt.program.ir import Loop

__all__ = ["few_steps", "write_few_steps"]

MOST_STEPS = 8
"""The most steps that are written one after the other."""
MOST_NODES = 96
"""The most operations of all steps together."""


def few_steps(node: Nested, w: Lowering, in_step: bool = False) -> int:
    """The number of steps of a loop that is written step by step; 0 for other loops.

    in_step: whether it is in a step; else it is in one if one is being written.
    """
    steps, loop = _steps(node.loop, w), node.loop
    if not 1 < steps <= MOST_STEPS or steps * len(node.nodes) > MOST_NODES or loop.until is not None or w.device:
        return 0
    states = all(s.depth == 1 and not s.type.ndim for s in loop.states)
    small = _small(node.nodes, w)
    kept = all(k.rows in (None, 1) and (k.value in small or not w.axes(k.value)) for k in loop.keeps)
    read = not any(w.axes(r.out) for r in loop.reads)
    inside = (in_step or is_in_step(w)) and all({*n.outs} <= small or _is_number(n, w) for n in node.nodes)
    return steps if states and kept and read and inside else 0


def _small(nodes: Sequence[Node], w: Lowering) -> set[str]:
    """The small arrays of a step that are variables."""
    found = {n.out for n in nodes if type(n) is Map and is_few(w.axes(n.out)) and n.out not in w.repeated}
    return found | few_joined(nodes, found, w)


def _steps(loop: Loop, w: Lowering) -> int:
    """The number of steps, if it is known."""
    known = [w.axes(k.out)[0] for k in loop.keeps if k.rows is None and k.start is None and w.axes(k.out)]
    known += [w.body.numbers[loop.steps]] if loop.steps in w.body.numbers else []
    return next((int(n.value) for n in known if isinstance(n, Lit)), 0)


def _is_number(node: Node, w: Lowering) -> bool:
    """Whether a node makes numbers only, and reads no small array at places that it computes."""
    kinds = type(node) in (Map, Call, Check, Fixed, Length) or (isinstance(node, View) and is_element(node))
    return kinds and not any(w.axes(out) for out in node.outs)


def write_few_steps(node: Nested, steps: int, w: Lowering, emit: Callable[[Sequence[Node], set[str]], None]) -> None:
    """Write the steps of a loop, one after the other."""
    loop = node.loop
    wanted = {*(s.update for s in loop.states), *(k.value for k in loop.keeps if not w.axes(k.value))}
    kept: list[list[Scalar]] = [[] for _ in loop.keeps]
    values = [_first(s.init, s.type.dtype, w) for s in loop.states]
    for t in range(steps):
        for s, value in zip(loop.states, values, strict=True):
            w.env |= {tap: value for _, tap in s.taps}
        for r in loop.reads:
            w.env[r.out] = _element(r.source, t, w)
        emit(node.nodes, wanted)
        values = [_made(s.update, s.type.dtype, w) for s in loop.states]
        for k, found in zip(loop.keeps, kept, strict=True):
            new = w.few[k.value] if w.axes(k.value) else [_made(k.value, k.type.dtype, w)]
            found[:] = [*(found if k.rows is None else ()), *new]
    for k, found in zip(loop.keeps, kept, strict=True):
        w.keep_few(k.out, found)


def _first(init: str, dtype: str, w: Lowering) -> Scalar:
    """The number that a state starts from."""
    if init in w.few:
        return _cast(w.few[init][-1], dtype)
    value = w.value(init)
    return _cast(value, dtype) if isinstance(value, Scalar) else _held(Load(value.pointer, ZERO, value.dtype), dtype, w)


def _element(source: str, t: int, w: Lowering) -> Scalar:
    """The element of a sequence at a step."""
    if source in w.few:
        return w.few[source][t]
    if source in w.evenly:
        first, apart = w.evenly[source]
        return Scalar(plus(first, times(Lit(t), apart)), INDEX)
    value = w.value(source)
    return value if isinstance(value, Scalar) else _held(value.at([Lit(t)], value.axes), value.dtype, w)


def _held(value: Expr, dtype: str, w: Lowering) -> Scalar:
    """A variable for a number."""
    name = w.fresh("v")
    w.code.append(Let(name, _cast(Scalar(value, value.dtype), dtype).value, dtype))
    return Scalar(Var(name, dtype), dtype)


def _made(name: str, dtype: str, w: Lowering) -> Scalar:
    """A number that a step has made."""
    value = w.value(name)
    return _cast(Scalar(number_of(value), value.dtype), dtype)


def _cast(x: Scalar, dtype: str) -> Scalar:
    return x if x.dtype == dtype else Scalar(Cast(x.value, dtype), dtype)
