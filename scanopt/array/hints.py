"""Error messages for questions that an array without values cannot answer, such as its truth: what to write instead."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from typing import TYPE_CHECKING

from scanopt.array.instead import INSTEAD_OF_METHODS

if TYPE_CHECKING:
    from scanopt.array.variable import Variable

__all__ = ["ENTRIES", "FORMATTED", "LENGTH", "NUMBER", "SETTING", "VALUES", "no_attribute", "truth"]

LENGTH = "its length is known when the function runs: use x.shape[0] in place of len(x)"
NUMBER = (
    "it cannot become a Python number before the function runs: use the functions of NumPy or scanopt.tensor in place "
    "of Python's (np.sin for math.sin, T.eye and T.zeros for np.eye and np.zeros, x.astype('int64') for int(x)), and "
    "scanopt.scan with n_steps, or T.arange, in place of range"
)
VALUES = (
    "it has no values before the function runs: NumPy's functions take it, but an array of NumPy cannot hold it or be "
    "indexed by it: write np.stack([x, y]) in place of np.array([x, y]), T.constant(a)[x] in place of a[x], and "
    "T.arange, T.full and T.zeros in place of NumPy's"
)
ENTRIES = (
    "its length is not known before the run; loop over it with scanopt.scan (T.sum(x) in place of sum(x)), or name its "
    "entries (a, b = x[0], x[1] in place of a, b = x)"
)
SETTING = (
    "it is never changed: y = x[i].set(value) is a new array, and x[i].inc(value) one with the value added; "
    "use y from there on"
)
CONTAINS = (
    "whether it holds a value is not known before the run: write T.any(x == value) in place of value in x, and "
    "any(v is x for v in some) for whether a variable is one of some"
)
FORMATTED = "it has no value before the function runs: format what the compiled function returns"

_TRUTH = (
    "it is neither true nor false before the function runs; use scanopt.tensor.where (or switch) in place of a Python "
    "if, & | ~ in place of and, or, not, and T.maximum in place of max"
)
_SAME = "; for whether two variables are the same object write x is y, any(v is x for v in some)"
_LENGTH = (
    "; for what is known of lengths before the run look at x.type.shape, where an unknown one is None, and "
    "T.tensor(dtype, shape=(2, None)) promises one"
)


def truth(x: Variable) -> str:
    """The message that says what to write in place of code that needs the truth of x, as `if x` or `x in [y]`."""
    op = getattr(x.owner, "op", None)
    if getattr(op, "name", None) not in ("equal", "not_equal"):
        return _TRUTH
    makers = [getattr(getattr(y.owner, "op", None), "name", None) for y in x.owner.inputs] if x.owner else []
    return _TRUTH + (_LENGTH if "shape_i" in makers else _SAME)


def no_attribute(x: Variable, name: str, functions: Collection[str]) -> AttributeError:
    """The error for an attribute that variables do not have: it says what to write instead, or gives similar names.

    functions: names in scanopt.tensor.
    """
    if name.startswith("_") or "type" not in x.__dict__:  # asked for by Python itself, or before the object is complete
        return AttributeError(f"{type(x).__name__!r} object has no attribute {name!r}", name=name, obj=x)
    hint = INSTEAD_OF_METHODS.get(name)
    near = get_close_matches(name, [n for n in dir(type(x)) if not n.startswith("_")], 3)
    if not hint:
        hint = f"write T.{name}(x)" if name in functions else f"near: {', '.join(near)}" if near else "see dir(x)"
    return AttributeError(f"{x!r} is symbolic and has no {name}: {hint}")
