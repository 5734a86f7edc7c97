"""vmap: maps a function of arrays over a further axis of its arguments; laws turn the map into batched operators."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from scanopt.array.constants import as_variable
from scanopt.array.registry import FUNCTIONS
from scanopt.array.shapes import axes_text
from scanopt.array.variable import Variable, describe
from scanopt.loops.carry import loop_over
from scanopt.loops.graph import leaves as reads
from scanopt.loops.location import user_location
from scanopt.loops.site import Site, show
from scanopt.loops.trees import mapped_leaves, rebuilt, structure, tree_leaves
from scanopt.transforms.calls import labels_of, leaf_type, title
from scanopt.transforms.gradients import function_of_arrays
from scanopt.transforms.jit import as_results, jit

__all__ = ["vmap"]

Axis = int | None


def _is_axis(x: Any) -> bool:
    return x is None or (isinstance(x, int) and not isinstance(x, bool))


def _spread(axes: Any, tree: Any, what: str, path: str) -> list[Axis]:
    """Spread `axes`, a prefix of the structure, to one axis or None for each leaf.  Raises TypeError."""
    if _is_axis(axes):
        return [axes for _ in tree_leaves(tree, "")]
    children = list(_parts(axes)), list(_parts(tree))
    named = dict(children[1])
    kinds = (dict, list, tuple)
    same = type(axes) is type(tree) or (isinstance(axes, list | tuple) and isinstance(tree, list | tuple))
    if not same or not isinstance(axes, kinds) or {k for k, _ in children[0]} != set(named):
        raise TypeError(
            f"{what} has {show(axes)} for {path}, which is {structure(tree)}: it must be an int, None, or such a "
            "structure of them"
        )
    order = dict(children[0])
    return [axis for k, x in children[1] for axis in _spread(order[k], x, what, f"{path}[{k!r}]")]


def _parts(tree: Any) -> list[tuple[Any, Any]]:
    if isinstance(tree, dict):
        return list(tree.items())
    return list(enumerate(tree)) if isinstance(tree, list | tuple) else []


def _in_front(x: Variable, axis: int, path: str) -> Variable:
    """x with this axis moved to the front.  Raises ValueError if it has no such axis."""
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"vmap over axis {axis} of {path}, which is {x.type}: it has {axes_text(x.ndim)}")
    moved: Variable = FUNCTIONS["moveaxis"](x, axis, 0)
    return moved


def vmap(
    f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, axis_size: int | None = None, **options: Any
) -> Any:
    """A function that computes f for all entries along an axis of its arguments.

    f: takes and returns arrays, and tuples, lists, dicts of them.  in_axes: the axis of all arguments, or a tuple
        with one for each; for an argument that is a structure, a structure of axes.  None: the argument is the same
        for all entries.  Arguments by keyword are mapped over axis 0.
    out_axes: the place of the axis in the results, an int or a structure; None for a result that is the same for all.
    axis_size: the number of entries, if no argument has the axis.  options: those of `jit`.
    Such functions can be nested in each other and in loops, and have gradients.
    Raises TypeError, ValueError for axes that do not fit and for lengths that differ.

    >>> import numpy as np
    >>> vmap(np.dot, in_axes=(0, None))(np.eye(2), np.array([3.0, 4.0]))
    array([3., 4.])

    Source: `jax.vmap`.
    """
    function_of_arrays("vmap", f)
    if named := {"axis_name", "spmd_axis_name"} & set(options):
        raise TypeError(f"vmap takes no {named.pop()}: entries do not see one another: reduce its result")
    if axis_size is not None and (type(axis_size) is not int or axis_size < 0):
        raise ValueError(f"axis_size of vmap must be a number of entries, found {show(axis_size)}")

    @functools.wraps(f)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        site = Site("vmap", user_location())
        rows, labels, build = _split(f, in_axes, args, kwargs)
        if not rows and axis_size is None:
            raise site.error(ValueError, f"vmap of {title(f)} maps over no argument: all of in_axes is None")
        shape: list[Any] = [None]

        def step(_: Any, x: list[Variable]) -> tuple[None, list[Variable]]:
            shape[0] = as_results(f, build(x))
            return None, [v for _, v in tree_leaves(shape[0], "result")]

        inner: list[Variable] = []

        def noting(carry: Any, x: list[Variable]) -> tuple[None, list[Variable]]:
            inner[:] = x
            return step(carry, x)

        _, found = loop_over(site, noting, None, rows, axis_size, labels, title(f))
        axes = _spread(out_axes, shape[0], "out_axes of vmap", "the result")
        results = [
            _placed(f, axis, path, row, trace, inner)
            for axis, (path, row), trace in zip(axes, tree_leaves(shape[0], "result"), found, strict=True)
        ]
        return rebuilt(shape[0], iter(results).__next__)

    return jit(mapped, **options)


def _placed(f: Any, axis: Axis, path: str, row: Variable, trace: Variable, inner: list[Variable]) -> Variable:
    """A result with its new axis in place; if `axis` is None, the result `row` of one entry.  Raises ValueError."""
    if axis is None:
        if {id(v) for v in inner} & {id(v) for v in reads([row])}:
            raise ValueError(
                f"out_axes of vmap is None for {path} of {title(f)}, which depends on arguments that are mapped over: "
                "give the axis that its entries shall lie along"
            )
        return row
    if not -trace.ndim <= axis < trace.ndim:
        raise ValueError(f"out_axes of vmap is {axis} for {path} of {title(f)}, which has {axes_text(trace.ndim)} then")
    placed: Variable = FUNCTIONS["moveaxis"](trace, 0, axis)
    return placed


def _split(
    f: Callable[..., Any], in_axes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[list[Variable], list[str], Callable[[list[Variable]], Any]]:
    """The arrays to map over, with the axis moved to the front, their paths, and f as a function of their entries."""
    if not (_is_axis(in_axes) or isinstance(in_axes, tuple | list)):
        raise TypeError(f"in_axes of vmap must be an int, None or a tuple with one for each argument, found {in_axes}")
    if isinstance(in_axes, tuple | list) and len(in_axes) != len(args):
        raise ValueError(f"in_axes of vmap has {len(in_axes)} entries, but {title(f)} was called with {len(args)}")
    by_position = in_axes if isinstance(in_axes, tuple | list) else [in_axes] * len(args)
    labels = [*labels_of(f, len(args)), *kwargs]
    rows: list[Variable] = []
    paths: list[str] = []
    taken: list[bool] = []
    for axes, x, label in zip([*by_position, *[0] * len(kwargs)], [*args, *kwargs.values()], labels, strict=True):
        spread = _spread(axes, x, "in_axes of vmap", label)
        for axis, (path, leaf) in zip(spread, tree_leaves(x, label), strict=True):
            is_array = isinstance(leaf, Variable) or leaf_type(leaf) is not None
            taken.append(axis is not None and is_array)
            if axis is not None and is_array:
                rows.append(_in_front(as_variable(leaf), axis, f"{path} of {title(f)}"))
                paths.append(path)
    _same_lengths(f, rows, paths)

    def build(entries: list[Variable]) -> Any:
        feed, flags = iter(entries), iter(taken)
        new = [mapped_leaves(lambda x: next(feed) if next(flags) else x, x) for x in [*args, *kwargs.values()]]
        return f(*new[: len(args)], **dict(zip(kwargs, new[len(args) :], strict=True)))

    return rows, paths, build


def _same_lengths(f: Any, rows: list[Variable], paths: list[str]) -> None:
    known = [(path, v) for path, v in zip(paths, rows, strict=True) if v.type.shape[0] is not None]
    for path, v in known[1:]:
        if v.type.shape[0] != known[0][1].type.shape[0]:
            raise ValueError(
                f"vmap of {title(f)} over axes of different lengths: {known[0][0]} is {describe(known[0][1])} and "
                f"{path} is {describe(v)}, the mapped axis in front"
            )
