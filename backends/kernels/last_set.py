"""The element that a step sets in an array is at hand in the next step, which often reads it.

Steps that go through an array one element at a time would wait for each other: what is read in memory just after it was
written there comes late.  So a step that reads one element compares its place with that of the element set last.
"""

from __future__ import annotations

from collections.abc import Sequence

from scanopt.backends.kernels.ir import INDEX, Do, Expr, If, Let, Lit, Load, Set, Var
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Node, SetItem, View
from scanopt.backends.kernels.values import Array, Scalar

__all__ = ["at_hand", "noted", "remember_last_set"]


def remember_last_set(tap: str, names: Sequence[str], nodes: Sequence[Node], w: Lowering) -> None:
    """Note what is set last in a state that steps change in place, where they read other elements than that one.

    tap: the state as a step finds it; names: what it becomes.
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
    """Read an element, where the one that was set last is remembered."""
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
    """An element that is set, remembered with its place if that is asked for."""
    if node.out not in w.last_set:
        return element
    last, value = w.last_set[node.out]
    name = w.fresh("v")
    found = Var(name, node.dtype)
    w.code += [Let(name, element, node.dtype), Set(value, found), Set(last, place)]
    return found
