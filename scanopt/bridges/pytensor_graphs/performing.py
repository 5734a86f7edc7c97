"""Operators of PyTensor without a rule, which run by their own `perform`; registered while a graph is read.

Random variables run in this way too: the generator is passed in and out as the words of its state.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanopt.array.op import TABLE, Op, Operand, OpSpec, register
from scanopt.array.types import DTYPES, TensorType
from scanopt.array.variable import Variable, apply
from scanopt.bridges.peers import Refused
from scanopt.bridges.pytensor_graphs.generators import WORDS, generator_of, words_of

__all__ = ["performed", "type_of"]

_NUMBERS = itertools.count()
_NAMES: dict[tuple[Any, ...], list[str]] = {}


def is_generator(type: Any) -> bool:
    """Whether a type of PyTensor is the type of random generators."""
    return str(type.__class__.__name__) == "RandomGeneratorType"


def type_of(type: Any, what: str) -> TensorType:
    """Our type for one of PyTensor's.  Raises Refused for anything but an array, and for dtypes that we lack."""
    if is_generator(type):
        return TensorType("uint64", (WORDS,))
    name = type.__class__.__name__
    if name not in ("TensorType", "ScalarType", "TensorSharedVariable"):
        raise Refused(f"from_pytensor does not know the type {type} of {what}")
    if type.dtype not in DTYPES:
        raise Refused(f"from_pytensor does not know the dtype {type.dtype} of {what}")
    return TensorType(type.dtype, tuple(getattr(type, "shape", ())))


def performed(node: Any, inputs: Sequence[Variable | None]) -> list[Variable | None]:
    """The outputs of a node by its own `perform`.  inputs: None for those that are None in PyTensor.

    Raises Refused for a node on values other than arrays, or without a `perform`.
    """
    if type(node.op).perform is _base_perform(node):
        raise Refused(f"from_pytensor does not know {node.op}, and it has no perform")
    outs = [type_of(v.type, f"an output of {node.op}") for v in node.outputs]
    there = [x is not None for x in inputs]
    for v, given in zip(node.inputs, there, strict=True):
        if given:
            type_of(v.type, f"an input of {node.op}")
    key = (node.op, *(v.type for v in (*node.inputs, *node.outputs)))
    if key not in _NAMES:
        _NAMES[key] = _registered(node, outs, there)
    arrays = [x for x in inputs if x is not None]
    return [apply(Op.make(name), *arrays) for name in _NAMES[key]]


def _base_perform(node: Any) -> Any:
    base = next(c for c in type(node.op).__mro__ if c.__name__ == "Op" and c.__module__.startswith("pytensor"))
    return base.perform  # type: ignore[attr-defined]


def _registered(node: Any, outs: list[TensorType], there: list[bool]) -> list[str]:
    """Register an operator for each output; they share the results of the last run, as usually all are needed."""
    number, run = next(_NUMBERS), _Run(node, there)
    names: list[str] = []
    for i, out in enumerate(outs):
        name = f"pytensor_{type(node.op).__name__}_{number}_{i}"
        register(_spec(name, node, run, i, out))
        names.append(name)
    assert all(name in TABLE for name in names)
    return names


def _spec(name: str, node: Any, run: _Run, i: int, out: TensorType) -> OpSpec:
    def infer(*operands: Operand) -> TensorType:
        return out

    def bind(xp: Any) -> Callable[..., Any]:
        return lambda *args: run(args)[i]

    doc = f"{type(node.op).__name__} of PyTensor, by its own perform"
    return OpSpec(
        name, bind, infer, None, cost="transcendental", can_raise=True, data_shape=None in out.shape, doc=doc
    )  # fmt: skip


class _Run:
    """Runs a node, and keeps the last results for its other outputs."""

    def __init__(self, node: Any, there: list[bool]) -> None:
        self._node, self._there = node, there
        self._last = threading.local()

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        known = getattr(self._last, "found", None)
        if known is not None and all(map(_same, known[0], args)):
            return list(known[1])
        copies = [np.array(x) for x in args]  # copies, as the node may write to its arguments, which others may read
        feed = iter(copies)
        given = [_read(v, next(feed)) if t else None for v, t in zip(self._node.inputs, self._there, strict=True)]
        cells: list[list[Any]] = [[None] for _ in self._node.outputs]
        self._node.op.perform(self._node, given, cells)
        results = [_written(v, cell[0]) for v, cell in zip(self._node.outputs, cells, strict=True)]
        self._last.found = ([np.array(x) for x in args], results)
        return results


def _same(a: Any, b: Any) -> bool:
    return bool(a.shape == b.shape and a.tobytes() == b.tobytes())


def _read(v: Any, x: Any) -> Any:
    if is_generator(v.type):
        return generator_of(x)
    return x[()] if v.type.__class__.__name__ == "ScalarType" else x


def _written(v: Any, x: Any) -> Any:
    return words_of(x) if is_generator(v.type) else np.asarray(x, v.type.dtype)
