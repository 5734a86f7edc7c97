"""The operators of a loop as nodes of few kinds, found from the text of a program alone, before any length is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from scanopt.array.op import Op
from scanopt.array.types import TensorType
from scanopt.backends.kernels.forms import cast_is_known, in_c, needs_whole, through_numpy
from scanopt.backends.kernels.numpy_loops import DTYPES, inner_loop
from scanopt.program.ir import Compute, Loop
from scanopt.program.text import names_read

__all__ = ["Body", "Call", "Join", "Length", "Map", "NoForm", "Node", "Product", "Reshape", "View", "body_of"]


class NoForm(Exception):  # noqa: N818 (no error: the loop stays a loop of array steps)
    """Why a loop has no kernel."""


@dataclass(frozen=True)
class Map:
    """One operation of C for each element.  takes: dtypes that its arguments are cast to; like: what has its shape."""

    out: str
    args: tuple[str, ...]
    op: str
    takes: tuple[str, ...]
    dtype: str
    like: str


@dataclass(frozen=True)
class Call:
    """An inner loop of NumPy's over all elements.  whole: it must be one call, over what NumPy would give it."""

    out: str
    args: tuple[str, ...]
    ufunc: str
    takes: tuple[str, ...]
    dtype: str
    like: str
    whole: bool = False


@dataclass(frozen=True)
class View:
    """Elements of an array by other indices: x[..] with numbers and slices, its axes in another order.

    axes: for each axis of the result that of x, with the slice that is taken of it, or None for a new one.  at: for
    axes of x that are gone, the index: a number or the name of one.
    """

    out: str
    args: tuple[str, ...]
    axes: tuple[tuple[int, tuple[Any, ...]] | None, ...]
    at: tuple[tuple[int, int | str], ...]
    dtype: str


@dataclass(frozen=True)
class Reshape:
    """The same elements in order, in another shape."""

    out: str
    args: tuple[str, ...]
    dtype: str


@dataclass(frozen=True)
class Join:
    """Arrays one after the other along an axis; new: one that they do not have yet."""

    out: str
    args: tuple[str, ...]
    axis: int
    new: bool
    dtype: str


@dataclass(frozen=True)
class Product:
    """The product of two matrices or vectors, by NumPy's inner loop."""

    out: str
    args: tuple[str, ...]
    dtype: str


@dataclass(frozen=True)
class Length:
    """The length of an axis."""

    out: str
    args: tuple[str, ...]
    axis: int
    dtype: str = "int64"


Node = Map | Call | View | Reshape | Join | Product | Length


@dataclass(frozen=True)
class Body:
    """A loop all of whose operators are nodes.

    types: of all names that it mentions, those made here included.  outer: names made before it.
    """

    loop: Loop
    types: Mapping[str, TensorType]
    nodes: tuple[Node, ...]
    outer: tuple[str, ...]
    exact: bool

    @property
    def straight(self) -> bool:
        """Whether arguments have to lie in C order, for array steps to round as a kernel does."""
        return not self.exact and any(isinstance(n, Call | Product) for n in self.nodes)


def body_of(loop: Loop, types: Mapping[str, TensorType], inner: set[str], exact: bool) -> Body:
    """The body of a loop.  types: of all names of the program; inner: those made inside the loop.

    Raises NoForm, saying why, where it cannot be a kernel.
    """
    if loop.profile:
        raise NoForm("its times are collected")
    if not loop.keeps:
        raise NoForm("it keeps nothing")
    names = list(dict.fromkeys(names_read(loop)))
    for name in [*names, *(s for x in loop.states for _, s in x.taps), *(r.out for r in loop.reads)]:
        if types[name].dtype not in DTYPES:
            raise NoForm(f"{types[name].dtype} has no form")
    made, nodes = dict(types), list[Node]()
    for step in loop.body:
        if not isinstance(step, Compute):
            raise NoForm(f"a {type(step).__name__.lower()} inside has no form")
        writer = _FORMS.get(step.op.name, _ufunc)
        found = list(writer(step, made))
        if not found or made[step.out].dtype not in DTYPES:
            raise NoForm(f"{step.op.name} of {', '.join(str(types[a]) for a in step.args)} has no form")
        nodes += found
    body = Body(loop, made, tuple(nodes), tuple(n for n in names if n not in inner), exact)
    if not exact:
        _disorder(body)
    return body


Types = dict[str, TensorType]


def _dtypes(step: Compute, types: Types) -> tuple[str, ...]:
    return tuple(types[a].dtype for a in step.args)


def _ufunc(step: Compute, types: Types) -> Iterator[Node]:
    """A ufunc, in C or by NumPy's inner loop; nothing for what is none."""
    name, dtypes = step.op.spec.ufunc, _dtypes(step, types)
    if name is None or any(d not in DTYPES for d in dtypes):
        return
    if found := in_c(name, dtypes):
        yield Map(step.out, step.args, name, found[:-1], found[-1], step.out)
    elif (found := through_numpy(name, dtypes)) and not step.op.can_raise:
        whole = needs_whole(step.op, found[-1])
        yield Call(step.out, step.args, name, found[:-1], found[-1], step.out, whole)


def _temporary(step: Compute, number: int, types: Types, dtype: str) -> str:
    name = f"{step.out}#{number}"
    types[name] = TensorType(dtype, types[step.out].shape)
    return name


def _sigmoid(step: Compute, types: Types) -> Iterator[Node]:
    dtype, out = types[step.args[0]].dtype, step.out
    if inner_loop("exp", (dtype, dtype)) is None:
        return
    a, b, c = (_temporary(step, i, types, dtype) for i in range(3))
    one = (dtype,)
    yield Map(a, step.args, "negative", one, dtype, out)
    yield Call(b, (a,), "exp", one, dtype, out)
    yield Map(c, (b,), "one_more", one, dtype, out)
    yield Map(out, (c,), "reciprocal", one, dtype, out)


def _cast(step: Compute, types: Types) -> Iterator[Node]:
    old, new = types[step.args[0]].dtype, step.op.options["dtype"]
    if old in DTYPES and new in DTYPES and cast_is_known(old, new):
        yield Map(step.out, step.args, "copy", (new,), new, step.out)


def _where(step: Compute, types: Types) -> Iterator[Node]:
    dtype = step.type.dtype
    if all(cast_is_known(types[a].dtype, dtype) for a in step.args[1:]):
        yield Map(step.out, step.args, "where", ("bool", dtype, dtype), dtype, step.out)


def _clip(step: Compute, types: Types) -> Iterator[Node]:
    """By bounds that are numbers."""
    dtypes = _dtypes(step, types)
    if any(types[a].ndim for a in step.args[1:]) or not (found := through_numpy("clip", dtypes)):
        return
    if found[-1] == step.type.dtype:
        yield Call(step.out, step.args, "clip", found[:-1], found[-1], step.out)


def _round(step: Compute, types: Types) -> Iterator[Node]:
    dtype = types[step.args[0]].dtype
    if not step.op.options["decimals"] and step.type.dtype == dtype and np.dtype(dtype).kind in "iuf":
        yield Map(step.out, step.args, "rint", (dtype,), dtype, step.out)


def _same(step: Compute, types: Types) -> Iterator[Node]:
    dtype = types[step.args[0]].dtype
    if dtype == step.type.dtype:
        yield Map(step.out, step.args[:1], "copy", (dtype,), dtype, step.out)


def _full_like(step: Compute, types: Types) -> Iterator[Node]:
    dtype = step.type.dtype
    if cast_is_known(types[step.args[1]].dtype, dtype) and not types[step.args[1]].ndim:
        yield Map(step.out, step.args[1:], "copy", (dtype,), dtype, step.out)


WHOLE = (None, None, None)
INDICES = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"}


def _getitem(step: Compute, types: Types) -> Iterator[Node]:
    """x[..] with integers, slices of numbers and new axes."""
    index, rest = step.op.options["index"], list(step.args[1:])
    axes: list[tuple[int, tuple[Any, ...]] | None] = []
    at: list[tuple[int, int | str]] = []
    axis = 0
    for entry in index:
        if entry == "newaxis":
            axes.append(None)
            continue
        if isinstance(entry, tuple):
            if "in" in entry or entry[3] == 0:
                return
            axes.append((axis, entry[1:]))
        elif entry == "in":
            name = rest.pop(0)
            if types[name].ndim or types[name].dtype not in DTYPES or types[name].dtype not in INDICES:
                return
            at.append((axis, name))
        elif isinstance(entry, int) and not isinstance(entry, bool):
            at.append((axis, entry))
        else:
            return
        axis += 1
    axes += [(i, WHOLE) for i in range(axis, types[step.args[0]].ndim)]
    yield View(step.out, step.args, tuple(axes), tuple(at), step.type.dtype)


def _arranged(order: Callable[[Op, int], list[int | None]]) -> Callable[[Compute, Types], Iterator[Node]]:
    """A view of all elements.  order: by axis of the result, that of x."""

    def view(step: Compute, types: Types) -> Iterator[Node]:
        axes = tuple(None if i is None else (i, WHOLE) for i in order(step.op, types[step.args[0]].ndim))
        gone = sorted(set(range(types[step.args[0]].ndim)) - {i[0] for i in axes if i is not None})
        yield View(step.out, step.args[:1], axes, tuple((i, 0) for i in gone), step.type.dtype)

    return view


def _expanded(op: Op, ndim: int) -> list[int | None]:
    rest, places = iter(range(ndim)), {i % (ndim + len(op.options["axis"])) for i in op.options["axis"]}
    return [None if i in places else next(rest) for i in range(ndim + len(places))]


def _squeezed(op: Op, ndim: int) -> list[int | None]:
    return [i for i in range(ndim) if i not in {j % ndim for j in op.options["axis"]}]


def _reshape(step: Compute, types: Types) -> Iterator[Node]:
    if None not in step.op.options["shape"]:
        yield Reshape(step.out, step.args[:1], step.type.dtype)


def _joined(new: bool) -> Callable[[Compute, Types], Iterator[Node]]:
    def join(step: Compute, types: Types) -> Iterator[Node]:
        if all(cast_is_known(d, step.type.dtype) for d in _dtypes(step, types)):
            yield Join(step.out, step.args, step.op.options["axis"] % step.type.ndim, new, step.type.dtype)

    return join


def _product(step: Compute, types: Types) -> Iterator[Node]:
    dtype = step.type.dtype
    fits = all(types[a].ndim in (1, 2) and cast_is_known(types[a].dtype, dtype) for a in step.args)
    if fits and not step.op.params and inner_loop("matmul", (dtype,) * 3) is not None:
        yield Product(step.out, step.args, dtype)


def _length(step: Compute, types: Types) -> Iterator[Node]:
    yield Length(step.out, step.args, step.op.options["axis"])


_FORMS: dict[str, Callable[[Compute, Types], Iterator[Node]]] = {
    "sigmoid": _sigmoid, "cast": _cast, "where": _where, "clip": _clip, "round": _round, "full_like": _full_like,
    "shaped_like": _same, "spread_like": _same, "conjugate": _same, "getitem": _getitem, "reshape": _reshape,
    "transpose": _arranged(lambda op, ndim: list(op.options["axes"])), "expand_dims": _arranged(_expanded),
    "squeeze": _arranged(_squeezed), "stack": _joined(new=True), "concatenate": _joined(new=False),
    "dot": _product, "matmul": _product, "shape_i": _length,
}  # fmt: skip


def _disorder(body: Body) -> None:
    """Raises NoForm where NumPy may round by how a view made here lies in memory, so that array steps round otherwise.

    Exact programs lay such arguments out in C order first, as kernels do.
    """
    crooked: set[str] = set()
    for node in body.nodes:
        found = any(a in crooked for a in node.args)
        if isinstance(node, Call | Product) and found:
            raise NoForm("it rounds by how a view lies in memory")
        straight = isinstance(node, Product | Join | Length)
        if body.types[node.out].ndim and not straight and (found or (isinstance(node, View) and not _in_order(node))):
            crooked.add(node.out)


def _in_order(view: View) -> bool:
    """Whether its elements lie one after the other, as those of x do."""
    axes = [i for i in view.axes if i is not None]
    whole = all(part == WHOLE for _, part in axes)
    return whole and [*(i for i, _ in view.at), *(i for i, _ in axes)] == list(range(len(view.at) + len(axes)))
