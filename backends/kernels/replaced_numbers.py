"""A pass on the statements of a step: skips a loop that replaces one number by another if both are equal.

where(x == b, a, x) is x if a equals b, so where it is written over x, as when two sets of numbered elements are merged,
the loop needs to run only if a and b differ.  For floats it also runs if a is zero, which has two signs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from scanopt.backends.kernels.ir import ZERO, Do, Expr, For, If, Let, Lit, Load, Point, Stmt, Store, Var
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.walks import inside

__all__ = ["with_replacements_passed_over"]


def with_replacements_passed_over(step: Sequence[Stmt], w: Lowering) -> list[Stmt]:
    """Put each such loop of a step under the test whether it changes anything."""
    if w.device:
        return [*step]
    arrays: dict[str, str] = {}
    found: list[Stmt] = []
    for x in step:
        for p in inside((x,)):
            if isinstance(p, Point):
                arrays = {name: array for name, array in arrays.items() if p.name not in (name, array)}
        if isinstance(x, Point) and x.index == ZERO:
            arrays[x.name] = arrays.get(x.array, x.array)
        test = _changes(x, arrays) if isinstance(x, For) else None
        found.append(If(test, (x,)) if test else x)
    return found


def _changes(loop: For, arrays: Mapping[str, str]) -> Expr | None:
    """The test whether a loop changes anything, if it only replaces one number by another; None for other loops."""
    *lets, store = _inner(loop)
    values = {x.name: x.value for x in lets if isinstance(x, Let)}
    if len(values) < len(lets) or not isinstance(store, Store):
        return None
    value = _known(store.value, values)
    if not isinstance(value, Do) or value.op != "where":
        return None
    test, a, x = (_known(y, values) for y in value.args)
    if not isinstance(test, Do) or test.op != "equal" or not isinstance(x, Load):
        return None
    b = next((y for y, z in (test.args, test.args[::-1]) if _known(z, values) == x), None)
    there = arrays.get(x.array, x.array) == arrays.get(store.array, store.array) and x.index == store.index
    places = {y.var for y in inside((loop,)) if isinstance(y, For)}
    if b is None or not there or test.of != x.dtype or not all(_is_steady(y, {*values, *places}) for y in (a, b)):
        return None
    differ = Do("not_equal", (a, b), "bool", x.dtype)
    if np.dtype(x.dtype).kind != "f":
        return differ
    zero = Do("equal", (a, Lit(0.0, x.dtype)), "bool", x.dtype)  # there are zeros of both signs
    return Do("logical_or", (differ, zero), "bool", "bool")


def _inner(loop: For) -> Iterator[Stmt]:
    """The statements of the innermost loop of a nest."""
    (*before, last) = loop.body
    if isinstance(last, For) and not before:
        yield from _inner(last)
    else:
        yield from loop.body


def _known(x: Expr, values: Mapping[str, Expr]) -> Expr:
    return values.get(x.name, x) if isinstance(x, Var) else x


def _is_steady(x: Expr, made: Collection[str]) -> bool:
    """Whether a number does not change in the loop.  made: the variables that the loop sets."""
    return isinstance(x, Lit) or (isinstance(x, Var) and x.name not in made)
