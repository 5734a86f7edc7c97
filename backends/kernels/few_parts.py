"""Lowers parts and concatenations of small arrays whose elements are variables: the elements are the same variables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import prod
from typing import Any

import numpy as np

from scanopt.array.numerics.regrouped import EIGHT
from scanopt.backends.kernels.ir import INDEX, ONE, ZERO, Cast, Expr, Lit, product
from scanopt.backends.kernels.lowering import Lowering, number_of
from scanopt.backends.kernels.nodes import AffineRows, Join, Map, Node, View
from scanopt.backends.kernels.stages import FEW, is_few
from scanopt.backends.kernels.values import Scalar, Value, element_of

__all__ = ["few_elements", "few_joined", "few_rows", "is_in_step", "join_few", "known_number", "note_few_part"]


def few_elements(name: str, w: Lowering) -> list[Expr]:
    """The elements of a small array, or a number."""
    if name in w.few:
        return [x.value for x in w.few[name]]
    value = w.value(name)
    if isinstance(value, Scalar):
        return [value.value]
    lengths = [int(n.value) for n in value.axes if isinstance(n, Lit)]
    return [value.at(tuple(map(Lit, place)), value.axes) for place in np.ndindex(*lengths)]


def note_few_part(node: View, w: Lowering) -> None:
    """Note the elements of a part of a small array, if its place and lengths are known."""
    source, axes = w.few.get(node.args[0]) if not w.device else None, _lengths(node.out, w)
    whole = _lengths(node.args[0], w)
    at = {axis: i for axis, i in node.at if not isinstance(i, str)}
    if source is None or not axes or not whole or prod(axes) > FEW or len(at) < len(node.at):
        return
    places: Any = np.arange(len(source)).reshape(whole)
    index: list[Any] = [slice(None)] * len(whole)
    for axis, i in at.items():
        index[axis] = slice(i, i + 1 or None)
    for entry in node.axes:
        if entry is not None:
            ends = [_end(p, w) for p in entry[1]]
            if "" in ends:
                return
            index[entry[0]] = slice(*ends)
    found = places[tuple(index)].transpose([*(x[0] for x in node.axes if x is not None), *at])
    if found.size == prod(axes):
        w.few[node.out] = [source[i] for i in found.ravel()]


def _end(end: int | str | None, w: Lowering) -> int | str | None:
    """The end of a slice as a number; "" if it is not known."""
    if not isinstance(end, str):
        return end
    value = number_of(w.value(end))
    return int(value.value) if isinstance(value, Lit) else ""


def few_joined(nodes: Sequence[Node], others: Collection[str], w: Lowering) -> set[str]:
    """The concatenations whose parts are numbers or small arrays that are variables.

    others: results of other nodes that are variables.
    """
    known, found = {*others}, set[str]()
    changing = {*w.over, *w.in_place, *w.repeated}
    for n in nodes:
        if type(n) is Map and is_few(w.axes(n.out)) and n.out not in changing:
            known.add(n.out)
        elif isinstance(n, Join) and is_few(w.axes(n.out)) and n.out not in w.joined and n.out not in w.stays:
            numbers = not any(w.axes(a) for a in n.args)
            if (numbers and n.new) or (not w.device and all(a in known or _is_known(a, w) for a in n.args)):
                known.add(n.out)
                found.add(n.out)
    return found


def _is_known(name: str, w: Lowering) -> bool:
    """Whether a name is one number, or a small array that is variables."""
    return name in w.few or product(w.axes(name)) == ONE


def few_rows(node: AffineRows, w: Lowering) -> bool:
    """Whether a recurrence in a step has fewer than eight steps itself: they are done one by one, in variables."""
    axes, alike = w.axes(node.out), all(w.dtype(a) == node.dtype for a in node.args)
    few = len(axes) == 1 and isinstance(axes[0], Lit) and 1 < int(axes[0].value) < EIGHT
    return few and alike and is_in_step(w) and not w.device


def is_in_step(w: Lowering) -> bool:
    """Whether the step of a loop is being written; a whole program is no loop."""
    return w.step_of not in ("", "t" if w.body.whole else "")


def join_few(node: Join, w: Lowering) -> None:
    """Define the elements of a concatenation of small arrays, or of numbers."""
    parts: list[Any] = []
    for a in node.args:
        value = w.value(a) if a not in w.few else None
        elements = w.few[a] if value is None else [Scalar(element_of(value, [ZERO], (ONE,)), value.dtype)]
        part = np.empty(len(elements), object)
        part[:] = [
            Scalar(x.value if x.dtype == node.dtype else Cast(x.value, node.dtype), node.dtype) for x in elements
        ]
        parts.append(part.reshape(_lengths(a, w)))
    joined: Any = np.stack(parts, node.axis) if node.new else np.concatenate(parts, node.axis)
    w.keep_few(node.out, [*joined.ravel()])


def _lengths(name: str, w: Lowering) -> list[int]:
    """The lengths of the axes of a name; [] if it is a number, or if one is not known."""
    axes = w.axes(name)
    found = [int(n.value) for n in axes if isinstance(n, Lit)]
    return found if len(found) == len(axes) else []


def known_number(op: str, values: Sequence[Value]) -> Scalar | None:
    """The greatest or least of lengths that are known, as a number."""
    choose = {"maximum": max, "minimum": min}.get(op)
    known = [v.value for v in values if isinstance(v, Scalar) and v.dtype == INDEX]
    numbers = [int(x.value) for x in known if isinstance(x, Lit)]
    return Scalar(Lit(choose(numbers)), INDEX) if choose and len(numbers) == len(values) else None
