"""A call of a Python function as data: its named arguments, the arrays among them, and the key to cache it by."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import field
from enum import Enum
from functools import cache
from typing import Any

import numpy as np

from scanopt.array.types import TensorType
from scanopt.array.variable import Variable
from scanopt.forks import once
from scanopt.loops.site import is_bare, show
from scanopt.loops.trees import mapped_leaves, tree_key, tree_leaves
from scanopt.records import dataclass

__all__ = ["CallArguments", "Statics", "Symbolic", "is_symbolic", "labels_of", "leaf_type", "signature_of", "title"]


def title(f: Any) -> str:
    """The name of a function for messages."""
    return str(getattr(f, "__name__", type(f).__name__))


def signature_of(f: Callable[..., Any]) -> inspect.Signature | None:
    """The signature of a function; None if it has none, like some functions written in C."""
    try:
        return inspect.signature(f)
    except (TypeError, ValueError):
        return None


def _listed(given: Any, kind: type, what: str) -> tuple[Any, ...]:
    many = given if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    found = tuple(many)
    for x in found:
        if not isinstance(x, kind) or isinstance(x, bool):
            raise TypeError(f"{what}, found {show(given)}")
    return found


@dataclass(frozen=True)
class Statics:
    """The static arguments, by position and by name: a function is traced anew for each value of them."""

    positions: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.positions or self.names)

    @classmethod
    def of(cls, f: Callable[..., Any], argnums: Any, argnames: Any) -> Statics:
        """Read `jit`'s static_argnums and static_argnames.  Raises TypeError, ValueError."""
        nums = () if argnums is None else _listed(argnums, int, "static_argnums must be integers")
        names = () if argnames is None else _listed(argnames, str, "static_argnames must be names of arguments")
        signature = signature_of(f)
        if signature is None:
            return cls(frozenset(nums), frozenset(names))
        kinds = [p.kind for p in signature.parameters.values()]
        open_end = inspect.Parameter.VAR_POSITIONAL in kinds
        count = sum(k in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD) for k in kinds)
        for n in nums:
            if not -count <= n < count and not (open_end and n >= 0):
                raise ValueError(f"static_argnums names argument {n}, but {title(f)}{signature} has {count}")
        open_names = inspect.Parameter.VAR_KEYWORD in kinds
        for name in names:
            if name not in signature.parameters and not open_names:
                raise ValueError(f"static_argnames names {name!r}, but {title(f)}{signature} has no such argument")
        return cls(frozenset(n % count if n < 0 else n for n in nums), frozenset(names))


def is_symbolic(x: Any) -> bool:
    """Whether any leaf of a structure is a symbolic array."""
    return any(isinstance(leaf, Variable) for _, leaf in tree_leaves(x, ""))


def _is_name(x: Any) -> bool:
    """Whether x is not an array but an option, such as a string, a dtype or a function."""
    return isinstance(x, str | bytes | Enum | np.dtype | slice) or x is Ellipsis or callable(x)


def leaf_type(x: Any) -> TensorType | None:
    """The type that an argument is traced with, in which lengths other than 1 are unknown; None if it is no array.

    >>> str(leaf_type(np.zeros((3, 1)))), str(leaf_type(2.0)), leaf_type("relu")
    ('float64[?, 1]', 'float64[]', None)
    """
    if is_bare(x):
        data = np.asarray(x)
    elif isinstance(x, np.ndarray | np.generic | TensorType) or (hasattr(x, "dtype") and hasattr(x, "shape")):
        data = x
    elif hasattr(x, "__array__"):
        data = np.asarray(x)
    else:
        return None
    dtype = np.dtype(data.dtype)
    if dtype.kind not in "biufc":
        return None
    return TensorType(dtype.name, tuple(1 if n == 1 else None for n in data.shape))


class Symbolic(Exception):  # noqa: N818
    """Raised for a call that has a symbolic array among its arguments."""


@dataclass(frozen=True, eq=False)
class CallArguments:
    """One call of f: positional and keyword arguments, and whether each is static."""

    f: Callable[..., Any]
    signature: inspect.Signature | None
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    statics: Statics

    @classmethod
    def of(
        cls, f: Callable[..., Any], signature: inspect.Signature | None, statics: Statics, args: Any, kwargs: Any
    ) -> CallArguments:
        """Bind the arguments of a call.  Raises TypeError if they do not fit the signature of f."""
        if signature is not None and (kwargs or len(args) != _plain(signature)):
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{title(f)}{signature}: {error}") from None
            args, kwargs = bound.args, bound.kwargs
        return cls(f, signature, tuple(args), kwargs, statics)

    @once
    def values(self) -> tuple[Any, ...]:
        """All arguments in order."""
        return (*self.args, *self.kwargs.values())

    @once
    def labels(self) -> list[str]:
        """The names of all arguments."""
        return [*labels_of(self.f, len(self.args)), *self.kwargs]

    @once
    def static(self) -> list[bool]:
        """Whether each of them is static."""
        if not self.statics:
            return [False] * len(self.values)
        n, known = len(self.args), self.statics
        return [(i < n and i in known.positions) or x in known.names for i, x in enumerate(self.labels)]

    def key(self, exact: bool) -> tuple[Hashable, list[Any]]:
        """The cache key of a call's trace, and the arrays among the arguments.  exact: the key has all lengths.

        Raises Symbolic for a symbolic argument, TypeError for one that is no array.
        """
        reader = _Reader(self.f, exact)
        parts = [
            reader.static(x) if static else reader.key(x) for x, static in zip(self.values, self.static, strict=True)
        ]
        return (len(self.args), tuple(self.kwargs), *parts), reader.read()

    @once
    def paths(self) -> list[str]:
        """The paths of the arrays among the arguments."""
        found = zip(self.labels, self.values, self.static, strict=True)
        leaves = [leaf for label, x, static in found if not static for leaf in tree_leaves(x, label)]
        return [path for path, leaf in leaves if leaf_type(leaf) is not None]

    def traced(self, variables: Sequence[Any]) -> Any:
        """Call f with these variables in place of the arrays among its arguments."""
        feed = iter(variables)

        def one(x: Any) -> Any:
            return x if leaf_type(x) is None else next(feed)

        new = [x if static else mapped_leaves(one, x) for x, static in zip(self.values, self.static, strict=True)]
        n = len(self.args)
        return self.f(*new[:n], **dict(zip(self.kwargs, new[n:], strict=True)))


@dataclass(frozen=True, eq=False)
class _Reader:
    """Reads arguments in one pass: gives their cache keys and collects their arrays in order.

    bare: the numbers of the arrays that are Python floats or complex numbers.
    """

    f: Callable[..., Any]
    exact: bool
    arrays: list[Any] = field(default_factory=list[Any])
    bare: list[int] = field(default_factory=list[int])

    def read(self) -> list[Any]:
        """The arrays; bare numbers are cast to the precision of the floating-point arrays, if all have the same."""
        if self.bare and len(self.bare) < len(self.arrays):
            others = [x for i, x in enumerate(self.arrays) if i not in self.bare]
            found = {_PRECISION.get(np.dtype(x.dtype).char) for x in others} - {None}
            if len(found) == 1:
                single, double = found.pop() or ("d", "D")
                for i in self.bare:
                    x = self.arrays[i]
                    with np.errstate(over="ignore"):
                        self.arrays[i] = x.astype(single if x.dtype.kind == "f" else double)
        return self.arrays

    def key(self, x: Any) -> Hashable:
        """The key of x: its structure, with the type of each array."""
        kind = type(x)
        if kind is np.ndarray:
            return self._array(x)
        if kind in _NUMBERS:
            return self._number(x)
        if kind is dict:
            return dict, tuple([(k, self.key(v)) for k, v in x.items()])
        if kind is tuple or kind is list:
            return kind, tuple([self.key(v) for v in x])
        return tree_key(x, self._leaf)

    def _array(self, x: Any) -> Hashable:
        if x.dtype.kind not in "biufc":
            return self._leaf(x)
        self.arrays.append(x)
        return x.dtype, x.shape if self.exact else tuple([n == 1 for n in x.shape])

    def _number(self, x: Any) -> Hashable:
        data = np.asarray(x)
        if data.dtype.kind not in "fc":
            return self._array(data)
        self.bare.append(len(self.arrays))
        self.arrays.append(data)
        return f"a Python {type(x).__name__}"

    def _leaf(self, x: Any) -> Hashable:
        if isinstance(x, Variable):
            raise Symbolic
        if type(x) in _NUMBERS:
            return self._number(x)
        type_ = leaf_type(x)
        if type_ is not None:
            if hasattr(x, "dtype") and hasattr(x, "shape"):
                self.arrays.append(x)
                known = x.shape if self.exact else type_.shape
            else:
                self.arrays.append(np.asarray(x))
                known = self.arrays[-1].shape if self.exact else type_.shape
            return np.dtype(type_.dtype), tuple(known) if self.exact else tuple([n == 1 for n in known])
        if _is_name(x):
            return self.static(x)
        raise TypeError(
            f"an argument of {title(self.f)} is {show(x)}, which is not an array of numbers: give arrays, numbers, and "
            "tuples, lists and dicts of them, or name the argument in static_argnames"
        )

    def static(self, x: Any) -> Hashable:
        """The key of a static argument, which the function gets as it is.  Raises TypeError if it is not hashable."""
        try:
            hash(x)
        except TypeError:
            raise TypeError(
                f"a static argument of {title(self.f)} is {show(x)}, which is not hashable: pass a tuple in place of a "
                "list, or an array as an argument that is not static"
            ) from None
        return type(x), x


_NUMBERS = frozenset({bool, int, float, complex})
_PRECISION = {"e": ("e", "F"), "f": ("f", "F"), "F": ("f", "F"), "d": ("d", "D"), "D": ("d", "D")}


@cache
def _plain(signature: inspect.Signature) -> int:
    """The number of parameters, if all can be given by position; else -1."""
    kinds = {p.kind for p in signature.parameters.values()}
    plain = kinds <= {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    return len(signature.parameters) if plain else -1


def labels_of(f: Callable[..., Any], count: int) -> list[str]:
    """The names of the first `count` positional arguments of f."""
    signature = signature_of(f)
    names = [] if signature is None else _positional_names(signature, count)
    return [*names, *(f"args[{i}]" for i in range(len(names), count))]


def _positional_names(signature: inspect.Signature, count: int) -> list[str]:
    """The names of the first `count` positional parameters."""
    names: list[str] = []
    for p in signature.parameters.values():
        if p.kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{p.name}[{i}]" for i in range(count - len(names))]
        elif p.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
            names.append(p.name)
    return names[:count]
