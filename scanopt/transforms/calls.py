"""A call of a Python function as data: its arguments by name, which of them are arrays, and what it is cached by."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from scanopt.array.types import TensorType
from scanopt.array.variable import Variable
from scanopt.loops.site import is_bare, show
from scanopt.loops.trees import mapped_leaves, rebuilt, tree_key, tree_leaves

__all__ = ["Call", "Statics", "is_symbolic", "leaf_type", "signature_of", "title"]


def title(f: Any) -> str:
    """What to call a function."""
    return str(getattr(f, "__name__", type(f).__name__))


def signature_of(f: Callable[..., Any]) -> inspect.Signature | None:
    """The signature of a function, None where it has none, as some that are written in C."""
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
    """The arguments that a function is traced anew for, by position and by name."""

    positions: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, f: Callable[..., Any], argnums: Any, argnames: Any) -> Statics:
        """As `jit` is given them.  Raises TypeError, ValueError."""
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
    """Whether x is no array by its nature, but what tells a function what to do."""
    return isinstance(x, str | bytes | Enum | np.dtype | slice) or x is Ellipsis or callable(x)


def leaf_type(x: Any) -> TensorType | None:
    """The type that an argument is traced with: lengths other than 1 are left open.  None for what is no array.

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


@dataclass(frozen=True, eq=False)
class Call:
    """One call of f: positional and keyword arguments, with the label of each and whether it is static."""

    f: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    labels: tuple[str, ...]
    static: tuple[bool, ...]

    @classmethod
    def of(
        cls, f: Callable[..., Any], signature: inspect.Signature | None, statics: Statics, args: Any, kwargs: Any
    ) -> Call:
        """A call as it is written.  Raises TypeError where the arguments are not those of f."""
        names: list[str] = []
        if signature is not None:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{title(f)}{signature}: {error}") from None
            args, kwargs = bound.args, bound.kwargs
            names = _positional_names(signature, len(args))
        labels = [*names, *(f"args[{i}]" for i in range(len(names), len(args))), *kwargs]
        static = [(i < len(args) and i in statics.positions) or x in statics.names for i, x in enumerate(labels)]
        return cls(f, tuple(args), kwargs, tuple(labels), tuple(static))

    @property
    def values(self) -> tuple[Any, ...]:
        """All arguments in order."""
        return (*self.args, *self.kwargs.values())

    @property
    def leaves(self) -> list[tuple[str, Any]]:
        """The leaves of what is not static, each with its path."""
        found = zip(self.labels, self.values, self.static, strict=True)
        return [leaf for label, x, static in found if not static for leaf in tree_leaves(x, label)]

    def key(self, exact: bool) -> Hashable:
        """What traces are told apart by.  exact: also by all lengths.  Raises TypeError for what is no array."""
        found = zip(self.labels, self.values, self.static, strict=True)
        parts = [self._static_key(label, x) if s else self._tree_key(label, x, exact) for label, x, s in found]
        return len(self.args), tuple(self.kwargs), tuple(parts)

    def _static_key(self, label: str, x: Any) -> Hashable:
        try:
            hash(x)
        except TypeError:
            raise TypeError(
                f"the static argument {label!r} of {title(self.f)} is {show(x)}, which has no hash: pass a tuple in "
                "place of a list, or an array as an argument that is not static"
            ) from None
        return type(x), x

    def _tree_key(self, label: str, x: Any, exact: bool) -> Hashable:
        def leaf(value: Any) -> Hashable:
            type_ = leaf_type(value)
            if type_ is not None:
                return type_.dtype, tuple(value.shape) if exact and type_.ndim else type_.shape
            if _is_name(value):
                return self._static_key(label, value)
            raise TypeError(
                f"the argument {self._path(value)} of {title(self.f)} is {show(value)}, which is no array of numbers: "
                "give arrays, numbers, and tuples, lists and dicts of them, or name it in static_argnames"
            )

        return tree_key(x, leaf)

    def _path(self, value: Any) -> str:
        return next((repr(path) for path, leaf in self.leaves if leaf is value), "")

    def dynamic(self) -> list[tuple[str, Any]]:
        """The leaves that are arrays, each with its path."""
        return [(path, leaf) for path, leaf in self.leaves if leaf_type(leaf) is not None]

    def traced(self, variables: Sequence[Any]) -> Any:
        """f with these in place of its arrays."""
        feed = iter(variables)

        def one(x: Any) -> Any:
            return x if leaf_type(x) is None else next(feed)

        new = [
            x if static else mapped_leaves(one, x) for x, static in zip(self.values, self.static, strict=True)
        ]  # fmt: skip
        n = len(self.args)
        return self.f(*new[:n], **dict(zip(self.kwargs, new[n:], strict=True)))


def _positional_names(signature: inspect.Signature, count: int) -> list[str]:
    """The names of so many positional arguments."""
    names: list[str] = []
    for p in signature.parameters.values():
        if p.kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{p.name}[{i}]" for i in range(count - len(names))]
        elif p.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
            names.append(p.name)
    return names[:count]


def as_written(tree: Any, values: Sequence[Any]) -> Any:
    """A structure with these leaves."""
    return rebuilt(tree, iter(values).__next__)
