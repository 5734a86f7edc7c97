"""Decides which nodes are written out element by element, instead of a loop or a call of NumPy's inner loop."""

from __future__ import annotations

from collections.abc import Sequence

from scanopt.backends.kernels.few_parts import few_joined, few_rows
from scanopt.backends.kernels.few_reduced import finds_first_of_few, is_written_out
from scanopt.backends.kernels.few_steps import few_steps
from scanopt.backends.kernels.lookups import looks_few_up
from scanopt.backends.kernels.lowering import Lowering
from scanopt.backends.kernels.nodes import AffineRows, Extreme, Nested, Node, Product, Reduce, Solve, Take
from scanopt.backends.kernels.small_products import known_sums
from scanopt.backends.kernels.small_systems import known_way

__all__ = ["made_of_elements"]


def made_of_elements(nodes: Sequence[Node], w: Lowering) -> set[str]:
    """The results of nodes that are written out: small products, systems and reductions, lookups of few elements."""
    found = {name for n in nodes if _is_written_out(n, w) for name in n.outs}
    w.few_joined |= few_joined(nodes, found, w)
    return found | w.few_joined


def _is_written_out(node: Node, w: Lowering) -> bool:
    match node:
        case Product():
            return known_sums(node, w) is not None
        case Solve():
            return len(w.axes(node.args[0])) == 2 and known_way(node, w) is not None
        case Reduce():
            return is_written_out(node, w)
        case Extreme():
            return finds_first_of_few(node, w)
        case AffineRows():
            return few_rows(node, w)
        case Nested():
            return few_steps(node, w) > 0
        case Take():
            return looks_few_up(node, w)
    return False
