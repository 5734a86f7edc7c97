"""Recipes of batched operators: each written with a few operators of the table.

The batched form of an operator is written with symbolic functions (`OpSpec.batch`); a recipe is
that graph as a list.  Batching twice batches every operator of the recipe.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from scanopt.array.op import Op, Operand, step_of
from scanopt.array.types import TensorType
from scanopt.array.variable import Apply, Constant, Variable
from scanopt.calculus.forms import Operator
from scanopt.records import dataclass

__all__ = ["Expansion", "recipe"]


@dataclass(frozen=True, eq=False)
class Expansion:
    """Operators in order.  Slots 0 .. arity-1 are the arguments, then constants, then results."""

    arity: int
    constants: tuple[np.ndarray[Any, Any], ...]
    steps: tuple[tuple[Op, tuple[int, ...]], ...]
    result: int


def recipe(operator: Operator, args: Sequence[Operand]) -> Expansion | None:
    """The computation of an operator of these arguments; None if it has no such batched form.

    Only dtypes and numbers of axes of the arguments count.
    """
    return _recipe(operator, tuple((a.dtype, a.ndim) for a in args))


@lru_cache(maxsize=10_000)
def _recipe(operator: Operator, types: tuple[tuple[str, int], ...]) -> Expansion | None:
    args = [Variable(TensorType(d, (None,) * n)) for d, n in types]
    with step_of(Operand("int64", ())):  # there may be no row for which it runs
        out = _apply(operator, args)
    return None if out is None else _listed(args, out)


def _apply(operator: Operator, args: Sequence[Variable]) -> Variable | None:
    if isinstance(operator, Op):
        return Apply(operator, tuple(args), operator.infer(*(a.operand for a in args))).outputs[0]
    flags = [f == "1" for f in operator.flags]
    if isinstance(operator.op, Op):
        batch = operator.op.spec.batch
        return batch(operator.op, flags, args) if batch is not None else None
    rows = [Variable(a.type.row()) if f else a for a, f in zip(args, flags, strict=True)]
    inner = _apply(operator.op, rows)
    if inner is None:
        return None
    return _batch_graph(inner, {r: a for r, a, f in zip(rows, args, flags, strict=True) if f})


def _batch_graph(out: Variable, batched: dict[Variable, Variable]) -> Variable | None:
    """The graph `out` along a new first axis of the variables that are keys of `batched`."""
    done: dict[Variable, Variable] = dict(batched)
    for x in _sorted(out):
        assert isinstance(x.owner, Apply)
        flags = [a in done for a in x.owner.inputs]
        if not any(flags):
            continue
        op = x.owner.op
        args = [done.get(a, a) for a in x.owner.inputs]
        result = op.spec.batch(op, flags, args) if op.spec.batch is not None else None
        if result is None:
            return None
        done[x] = result
    return done.get(out)


def _sorted(out: Variable) -> list[Variable]:
    """The applied variables under `out`, each after its dependencies."""
    order: list[Variable] = []
    seen: set[Variable] = set()

    def visit(x: Variable) -> None:
        if x in seen or not isinstance(x.owner, Apply):
            return
        seen.add(x)
        for a in x.owner.inputs:
            visit(a)
        order.append(x)

    visit(out)
    return order


def _listed(args: Sequence[Variable], out: Variable) -> Expansion:
    nodes = _sorted(out)
    leaves = dict.fromkeys(a for x in nodes if x.owner is not None for a in x.owner.inputs)
    constants = [a for a in leaves if isinstance(a, Constant)]
    slot: dict[Variable, int] = {}
    for x in (*args, *constants, *nodes):
        slot.setdefault(x, len(slot))
    steps = tuple((x.owner.op, tuple(slot[a] for a in x.owner.inputs)) for x in nodes if isinstance(x.owner, Apply))
    return Expansion(len(args), tuple(c.data for c in constants), steps, slot[out])
