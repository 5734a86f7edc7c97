"""A pass on declarations: truth values of a state take two bytes where loops compute them beside eight-byte numbers.

Compilers vectorize a loop for as many elements as a register has of the smallest type in it: with truth values of one
byte that is 32 elements, and rows of fewer elements, and what is left of longer ones, go one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from scanopt.backends.kernels.ir import Declare, For, Helper, Inner, Point, Steps, Stmt, Store
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.values import item_size
from scanopt.backends.kernels.walks import expressions, inside, loads

__all__ = ["widen_truths"]

_WIDE = "int16"


def widen_truths(code: Sequence[Stmt], w: Lowering) -> None:
    """Declare such scratch arrays of a kernel, and pointers into them, with the wider dtype."""
    narrow = {f"g{i}": i for i, g in enumerate(w.given) if g.kind == "scratch" and g.dtype == "bool"}
    every = [*inside([*w.head, *code])] if narrow else []
    together = {name: {name} for name in narrow}
    for x in every:
        if isinstance(x, Point):
            joined = together.get(x.name, {x.name}) | together.get(x.array, {x.array})
            together |= dict.fromkeys(joined, joined)
    passed = {a for x in every if isinstance(x, Inner | Helper) for a in x.arrays}
    pointers = {x.name for x in w.head if isinstance(x, Declare) and x.pointer}
    dtypes = {f"g{i}": g.dtype for i, g in enumerate(w.given)}
    dtypes |= {x.name: x.dtype for x in every if isinstance(x, Declare)}
    free = {name for name, mine in together.items() if mine <= {*narrow} | pointers and passed.isdisjoint(mine)}
    size = {name: item_size(dtype).value for name, dtype in dtypes.items() if name not in free}
    wide = {a for name in free for a in together[name] if _computed_beside_numbers(every, together[name], size)}
    for i in (narrow[name] for name in wide if name in narrow):
        w.given[i] = replace(w.given[i], dtype=_WIDE)
    w.head[:] = [replace(x, dtype=_WIDE) if isinstance(x, Declare) and x.name in wide else x for x in w.head]


def _computed_beside_numbers(every: Sequence[Stmt], names: Set[str], size: Mapping[str, float]) -> bool:
    """Whether a loop over elements in the steps of another loop reads and writes some truth values, writes numbers of
    eight bytes, and touches no bytes.  size: of the elements of arrays, but for truth values that may be widened."""
    for loop in (x for step in every if isinstance(step, Steps) for x in inside(step.body) if isinstance(x, For)):
        body = [*inside(loop.body)]
        read = {y.array for x in body for e in expressions(x) for y in loads(e)}
        stored = {x.array for x in body if isinstance(x, Store)}
        beside = {size[a] for a in stored if a in size}
        if names & read and names & stored and 8 in beside and all(size.get(a, 2) > 1 for a in read | stored):
            return True
    return False
