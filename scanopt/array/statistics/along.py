"""Functions along one axis, or over all elements in order: running sums, sorting, places of extrema."""

from __future__ import annotations

from typing import Any

from scanopt.array.batching import dims_of
from scanopt.array.constants import as_variable
from scanopt.array.functions.arguments import on_axis
from scanopt.array.op import Op
from scanopt.array.operators.elementwise import cast
from scanopt.array.operators.joining import concatenate
from scanopt.array.operators.reductions import reduce
from scanopt.array.operators.shaping import expand_dims
from scanopt.array.registry import FUNCTIONS, public
from scanopt.array.shapes import axis_of
from scanopt.array.statistics.reductions import kept, no_out
from scanopt.array.types import dtype_name
from scanopt.array.variable import Variable, apply, describe

__all__ = ["along", "places", "public_places"]

_KINDS = ("quicksort", "heapsort", "mergesort", "stable")


def along(name: str, x: Any, axis: int | None, **options: Any) -> Variable:
    """Apply the operator `name` along one axis, or along the flattened array if axis is None."""
    v, i = on_axis(x, axis)
    return apply(Op.make(name, axis=i, **options), v)


def places(name: str, x: Any, axis: int | None, keepdims: bool) -> Variable:
    """As `along`, for an operator that gives one place per line; with keepdims the axis is kept with length 1."""
    v = as_variable(x)
    found = along(name, v, axis)
    if not keepdims:
        return found
    return expand_dims(found, tuple(range(v.ndim)) if axis is None else (axis_of(axis, v),))


def _cumulative(name: str, what: str) -> None:
    def f(a: Any, axis: int | None = None, dtype: Any = None, out: None = None) -> Variable:
        v = as_variable(a)
        no_out(name, v, out)
        return along(name, v, axis, **({} if dtype is None else {"dtype": dtype_name(dtype)}))

    f.__name__ = f.__qualname__ = name
    f.__doc__ = (
        f"The running {what} along axis, over all elements in order where it is None.\n\n"
        "    dtype: that of the result.  Raises ValueError for an axis that `a` does not have, TypeError for `out`."
    )
    public(name, numpy=(name,))(f)


_cumulative("cumsum", "sum")
_cumulative("cumprod", "product")


def _extreme(name: str, what: str) -> None:
    ufunc = "maximum" if name == "cummax" else "minimum"

    def f(a: Any, axis: int | None = None, dtype: Any = None) -> Variable:
        v = as_variable(a)
        return along(name, v if dtype is None else cast(v, dtype), axis)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = (
        f"The {what} element so far along axis, over all elements in order where it is None; from a NaN on, NaN.\n\n"
        f"    The same is np.{ufunc}.accumulate(a).  Raises ValueError for an axis that `a` does not have."
    )
    public(name, numpy=(f"{ufunc}.accumulate",))(f)


_extreme("cummax", "greatest")
_extreme("cummin", "least")


def _array_api(name: str, running: str, first: int) -> None:
    def f(
        x: Any, /, *, axis: int | None = None, dtype: Any = None, out: None = None, include_initial: bool = False
    ) -> Variable:
        v = as_variable(x)
        no_out(name, v, out)
        if axis is None and v.ndim != 1:
            raise ValueError(f"{name} of {v.ndim} axes needs axis=, found {describe(v)}")
        i = axis_of(0 if axis is None else axis, v)
        found: Variable = FUNCTIONS[running](v, i, dtype)
        if not include_initial:
            return found
        lengths = [1 if j == i else n for j, n in enumerate(dims_of(v))]
        return concatenate([FUNCTIONS["full"](lengths, first, found.dtype), found], i)

    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"np.{running} along axis (which only a vector may leave out), from {first} on with include_initial."
    public(name, numpy=(name,))(f)


_array_api("cumulative_sum", "cumsum", 0)
_array_api("cumulative_prod", "cumprod", 1)


def public_places(name: str, doc: str) -> None:
    """Register the function of `places` for an operator, with this docstring."""

    def f(a: Any, axis: int | None = None, out: None = None, *, keepdims: bool = False) -> Variable:
        v = as_variable(a)
        return places(name, v, axis, kept(name, v, out, keepdims))

    f.__name__ = f.__qualname__ = name
    f.__doc__ = doc
    public(name, numpy=(name,))(f)


for _name, _what in (("argmax", "greatest"), ("argmin", "least")):
    public_places(
        _name,
        f"The first place of the {_what} element along axis, of all elements in order where it is None: int64.\n\n"
        "    keepdims: whether the axis stays with length 1.  Raises ValueError for an axis that `a` does not have,\n"
        "    and for one without elements, TypeError for `out`.",
    )


def _kind(name: str, kind: str | None, order: Any, stable: bool | None) -> dict[str, str]:
    """The kind of sort as a parameter.  Raises ValueError for an unknown kind or two kinds, TypeError for `order`."""
    if order is not None:
        raise TypeError(f"{name} takes no order=, found {order!r}: symbolic arrays have no fields")
    if kind is not None and stable is not None:
        raise ValueError(f"{name} takes kind= or stable=, found both: stable=True is kind='stable'")
    if kind not in (None, *_KINDS):
        raise ValueError(f"kind must be one of {', '.join(_KINDS)}, found {kind!r}")
    wanted = "stable" if stable else kind
    return {} if wanted is None else {"kind": wanted}


@public("sort", numpy=("sort",))
def sort(
    a: Any, axis: int | None = -1, kind: str | None = None, order: None = None, *, stable: bool | None = None
) -> Variable:
    """The elements in order along axis, all of them as a vector where it is None; NaN last.

    kind, stable: as in NumPy; they decide whether equal elements keep their order.
    Raises ValueError for an axis that `a` does not have and for another kind, TypeError for `order`.

    >>> sort([3, 1, 2]).eval()
    array([1, 2, 3])
    """
    return along("sort", a, axis, **_kind("sort", kind, order, stable))


@public("argsort", numpy=("argsort",))
def argsort(
    a: Any, axis: int | None = -1, kind: str | None = None, order: None = None, *, stable: bool | None = None
) -> Variable:
    """The places of the elements in order along axis: int64; see `sort`.

    >>> argsort([3, 1, 2]).eval()
    array([1, 2, 0])
    """
    return along("argsort", a, axis, **_kind("argsort", kind, order, stable))


@public()
def max_and_argmax(a: Any, axis: int | None = None, keepdims: bool = False) -> tuple[Variable, Variable]:
    """The maximum along axis, and its first place."""
    return reduce("max", a, axis, keepdims), places("argmax", a, axis, keepdims)
