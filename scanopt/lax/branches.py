"""cond and switch, which run only one of their branches; select and select_n, element by element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from scanopt.array.constants import as_tensor_variable, as_variable
from scanopt.array.operators.control import ifelse
from scanopt.array.registry import FUNCTIONS
from scanopt.array.variable import Variable, describe
from scanopt.lax.at_once import at_once
from scanopt.loops.location import user_location
from scanopt.loops.site import Site, is_bare, show
from scanopt.loops.tracing import attached, collecting
from scanopt.loops.trees import rebuilt, same_structure, structure, tree_leaves

__all__ = ["cond", "select", "select_n", "switch"]


_NOT_GIVEN = object()


def _operands(site: Site, operands: Sequence[Any], operand: Any) -> tuple[Any, ...]:
    """The operands, or the only one, as symbolic arrays, which the branches get even if they run at once."""
    if operand is not _NOT_GIVEN:
        if operands:
            raise site.error(TypeError, "the operands are given twice: by position, and with operand=")
        operands = (operand,)
    leaves = [site.array(as_variable(x) if is_bare(x) else x, path) for path, x in tree_leaves(operands, "operands")]
    made: tuple[Any, ...] = rebuilt(operands, iter(leaves).__next__)
    return made


def _branch(site: Site, f: Any, what: str, operands: Sequence[Any]) -> Any:
    """Trace a branch; effects that it requests are attached to its results, so that they run with the branch."""
    if not callable(f):
        raise site.error(TypeError, f"{what} must be a function of the operands, found {show(f)}")
    with collecting() as asked:
        found = f(*operands)
    leaves = [_result(site, what, path, x) for path, x in tree_leaves(found, "result")]
    return attached(rebuilt(found, iter(leaves).__next__), asked)


def _result(site: Site, what: str, path: str, x: Any) -> Any:
    return x if is_bare(x) else site.array(x, f"{path} of {what}")


def _one_of(site: Site, test: Any, a: Any, b: Any, words: tuple[str, str]) -> Any:
    """`a` if `test` holds, else `b`, leaf by leaf.  Raises TypeError where they do not fit.  words: their names."""
    if not same_structure(a, b):
        raise site.error(
            TypeError, f"{words[0]} returns {structure(a)}, but {words[1]} {structure(b)}: both must be the same"
        )
    others = dict(tree_leaves(b, "result"))
    chosen: list[Any] = []
    for path, x in tree_leaves(a, "result"):
        y = others[path]
        if _axes(x) != _axes(y):
            raise site.error(
                TypeError, f"{path} is {show(x)} of {words[0]} and {show(y)} of {words[1]}: both must have as many axes"
            )
        chosen.append(ifelse(test, *_weak(x, y)))
    return rebuilt(a, iter(chosen).__next__)


def _axes(x: Any) -> int:
    return x.ndim if isinstance(x, Variable) else 0


def _weak(x: Any, y: Any) -> tuple[Any, Any]:
    """The pair x, y; two bare numbers as arrays of NumPy's dtypes, while one beside an array will take its dtype."""
    return (as_variable(x), as_variable(y)) if is_bare(x) and is_bare(y) else (x, y)


def _scalar(site: Site, x: Any, what: str) -> Variable:
    v = site.array(x, what)
    if v.ndim:
        raise site.error(TypeError, f"{what} must be a scalar, found {describe(v)}: use select for one per element")
    return v


@at_once
def cond(
    pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any, operand: Any = _NOT_GIVEN
) -> Any:
    """Run true_fun with the operands if the scalar `pred` is true, else false_fun; only one of them runs.

    operands: arrays in any structure; a single one may be given as `operand`.  Both functions return arrays in the
    same structure; dtypes are promoted, and shapes may differ, but not numbers of axes.  Raises TypeError for results
    that do not fit.

    >>> import numpy as np
    >>> cond(np.array(True), lambda x: x + 1, lambda x: x - 1, np.array([1.0, 2.0]))
    array([2., 3.])

    Source: `jax.lax.cond`.
    """
    site = Site("cond", user_location())
    test = _scalar(site, pred, "pred")
    given = _operands(site, operands, operand)
    a, b = _branch(site, true_fun, "true_fun", given), _branch(site, false_fun, "false_fun", given)
    return _one_of(site, test, a, b, ("true_fun", "false_fun"))


@at_once
def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any, operand: Any = _NOT_GIVEN) -> Any:
    """Run branch number `index` with the operands, and no other one.  An index out of range means the nearest branch.

    index: an integer scalar.  branches: functions of the operands, as in `cond`; operand: as there.  Raises TypeError,
    ValueError for what does not fit.

    >>> import numpy as np
    >>> switch(np.array(5), [np.sin, np.cos, lambda x: -x], np.array(2.0))
    array(-2.)

    Source: `jax.lax.switch`.
    """
    site = Site("switch", user_location())
    i = _scalar(site, index, "index")
    if np.dtype(i.dtype).kind not in "iu":
        raise site.error(TypeError, f"index must be an integer, found {describe(i)}: cast it")
    if not isinstance(branches, list | tuple) or not branches:
        raise site.error(ValueError, f"branches must be a list of one function or more, found {show(branches)}")
    words = [f"branches[{k}]" for k in range(len(branches))]
    given = _operands(site, operands, operand)
    sides = [_branch(site, f, what, given) for f, what in zip(branches, words, strict=True)]
    for side, what in zip(sides[1:], words[1:], strict=True):
        if not same_structure(sides[0], side):
            raise site.error(
                TypeError,
                f"{words[0]} returns {structure(sides[0])}, but {what} {structure(side)}: all must be the same",
            )

    def among(low: int, high: int) -> Any:
        if high - low == 1:
            return sides[low]
        middle = (low + high) // 2
        halves = among(low, middle), among(middle, high)
        return _one_of(site, FUNCTIONS["lt"](i, middle), *halves, (words[low], words[middle]))

    return among(0, len(sides))


@at_once
def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """on_true where pred is true, else on_false, element by element; a scalar pred chooses for all elements.

    Raises ValueError where shapes do not broadcast.

    >>> import numpy as np
    >>> select(np.array([True, False]), np.array([1, 2]), np.array([3, 4]))
    array([1, 4])

    Source: `jax.lax.select`.
    """
    return FUNCTIONS["where"](pred, on_true, on_false)


@at_once
def select_n(which: Any, *cases: Any) -> Any:
    """cases[which], element by element; which: bool for two cases, else integers, clamped to the range.

    Raises TypeError, ValueError for cases that do not fit.

    >>> import numpy as np
    >>> select_n(np.array([2, 0]), np.array([1, 2]), np.array([3, 4]), np.array([5, 6]))
    array([5, 2])

    Source: `jax.lax.select_n`.
    """
    site = Site("select_n", user_location())
    if not cases:
        raise site.error(ValueError, "select_n needs one case or more")
    w = as_tensor_variable(which)
    if np.dtype(w.dtype).kind not in "biu" or (w.dtype == "bool" and len(cases) != 2):
        raise site.error(TypeError, f"which must be integers, or bool for two cases, found {describe(w)}")
    if w.dtype == "bool":
        return FUNCTIONS["where"](w, cases[1], cases[0])
    last = as_variable(cases[-1])
    pairs = [(k, cases[k]) for k in range(len(cases) - 1)][::-1]
    return reduce(lambda rest, pair: FUNCTIONS["where"](FUNCTIONS["le"](w, pair[0]), pair[1], rest), pairs, last)
