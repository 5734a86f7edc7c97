"""States whose new value is written where the old one lies: no element of it waits for other elements of the old one.

The loop that makes the new value reads the old one element by element, in the same place, or not at all; whatever else
reads the old value is needed for the new one, and so runs before.
"""

from __future__ import annotations

from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Call, Lookup, Map, Nested, Node, Product, Products, Reduce, Repeat
from scanopt.backends.kernels.stages import is_few
from scanopt.program.ir import CarriedState

__all__ = ["overwritten"]


def overwritten(nested: Nested, w: Lowering) -> set[int]:
    """The states, by number, that each step of a loop may write over the ones before."""
    return {i for i, s in enumerate(nested.loop.states) if _is_overwritten(s, nested, w)}


def _is_overwritten(s: CarriedState, nested: Nested, w: Lowering) -> bool:
    loop = nested.loop
    if w.device or s.depth != 1 or len(s.taps) != 1 or not s.type.ndim or is_few(w.axes(s.update)):
        return False
    tap = s.taps[0][1]
    others = [x.update for x in loop.states if x is not s]
    made = {out: n for n in nested.nodes for out in n.outs}
    kept_all = {k.value for k in loop.keeps if k.rows != 1}
    if s.update not in made or s.update in (*others, *kept_all) or tap in (*others, *(k.value for k in loop.keeps)):
        return False
    maker, readers = made[s.update], [n for n in nested.nodes if tap in n.args]
    alike = w.axes(s.update) == w.axes(tap) and isinstance(maker, Map | Call | Product)
    needed = _needed(s.update, made)
    return alike and all(
        n.outs[0] in needed and (_by_element(n, tap, w) or (n is not maker and isinstance(n, _READING)))
        for n in readers
    )


_READING = (Call, Product, Products, Reduce)
"""What has read its arguments, and points to none of them, once it is done."""


def _by_element(n: Node, tap: str, w: Lowering) -> bool:
    return isinstance(n, Map) and not isinstance(n, Lookup | Repeat) and w.axes(n.out) == w.axes(tap)


def _needed(name: str, made: dict[str, Node]) -> set[str]:
    """What a value is made of, itself included."""
    found, todo = {name}, [name]
    while todo:
        n = made.get(todo.pop())
        new = {*n.args} - found if n else set[str]()
        found |= new
        todo += new
    return found
