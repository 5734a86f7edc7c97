"""Lowering detail: keeps the element that a step sets in an array in a variable, since the next step often reads it.

Steps that go through an array one element at a time would otherwise wait for each other: a load from memory just after
a store to the same place takes long.  So a step that reads one element compares its place with that of the element set
last, and takes the variable if they are equal; the value is the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanopt.backends.kernels.ir import INDEX, Do, Expr, If, Let, Lit, Load, Set, Var
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Node, SetItem, View
from scanopt.backends.kernels.values import Array, Scalar

__all__ = ["at_hand", "noted", "remember_last_set"]


def remember_last_set(tap: str, names: Sequence[str], nodes: Sequence[Node], w: Lowering) -> None:
    """Make variables for the element set last in a state that steps change in place, if they read elements elsewhere.

    tap: the state as a step finds it; names: the names of the state while the step changes it.
    """
    made = {n.out: n for n in nodes if isinstance(n, SetItem) and not w.axes(n.part.out)}
    if w.device or not {*names} <= {*made}:
        return
    last = made[names[-1]]
    reads = [n for n in nodes if isinstance(n, View) and n.args[0] == tap and not w.axes(n.out)]
    reads = [n for n in reads if n.at != last.part.at]
    if reads:
        found = w.variable(INDEX), w.variable(last.dtype)
        w.code.append(Set(found[0], Lit(-1)))
        w.last_set |= dict.fromkeys((last.out, *(n.out for n in reads)), found)


def at_hand(node: View, x: Array, place: Expr, w: Lowering) -> bool:
    """Write the read of an element, if the element set last is in a variable; return whether it is."""
    if node.out not in w.last_set:
        return False
    last, value = w.last_set[node.out]
    found = w.variable(node.dtype)
    other = Do("not_equal", (place, Var(last)), "bool", INDEX)
    read = Set(found, Load(x.pointer, place, node.dtype))
    w.code += [Set(found, Var(value, node.dtype)), If(other, (read,))]
    w.env[node.out] = Scalar(Var(found, node.dtype), node.dtype)
    return True


def noted(node: SetItem, place: Expr, element: Expr, w: Lowering) -> Expr:
    """Return an element that is set; if there are variables for it and its place, write statements that set them."""
    if node.out not in w.last_set:
        return element
    last, value = w.last_set[node.out]
    name = w.fresh("v")
    found = Var(name, node.dtype)
    w.code += [Let(name, element, node.dtype), Set(value, found), Set(last, place)]
    return found
