"""Parts that are computed where the array lies that they are joined to: none is made apart and copied.

So a step that joins what stays at both ends of a row with what it computes in between writes each element once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from scanopt.backends.kernels.frames import COMPUTED
from scanopt.backends.kernels.ir import ZERO, Expr, plus, product
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import Join, Nested, Node, Setting
from scanopt.backends.kernels.stages import Stage, is_few

__all__ = ["parts_made_in_place"]


def parts_made_in_place(nodes: Sequence[Node], stages: Sequence[Stage], wanted: Collection[str], w: Lowering) -> None:
    """Give parts that nothing asks for afterwards their places in the arrays that stages join them to."""
    if w.device or any(isinstance(n, Setting) for n in nodes):  # which may change what lies there
        return
    joins = [s for s in stages if isinstance(s, Join)]
    times_joined = Counter(a for n in joins for a in n.args)
    made = {name for n in nodes for name in _made(n)} - {*wanted, *w.homes, *w.repeated}
    for join in joins:
        parts = {a for a in join.args if a in made and times_joined[a] == 1 and _fits(a, join, w)}
        if parts:
            pointer = w.place(join.out)
            start: Expr = ZERO
            for a in join.args:
                if a in parts:
                    w.homes[a] = pointer, start
                start = plus(start, product(w.axes(a)))
            w.joined[join.out] = pointer, frozenset(parts)


def _made(node: Node) -> list[str]:
    """The arrays that a node writes where it is told to."""
    if isinstance(node, Nested):
        return [k.out for k in node.loop.keeps] if node.loop.until is None else []
    return [node.out] if isinstance(node, COMPUTED) else []


def _fits(name: str, join: Join, w: Lowering) -> bool:
    """Whether the elements of a part lie together in the joined array."""
    axes, own = w.axes(join.out), w.axes(name)
    if join.axis or join.new or is_few(axes) or is_few(own) or len(own) != len(axes):
        return False
    return own[1:] == axes[1:] and w.dtype(name) == join.dtype and not any(map(w.grows, axes))
