"""Looking at symbolic graphs: `graph_inputs`, `ancestors` and the like, as in Theano and its heirs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from scanopt.absent import no_such_name
from scanopt.array.variable import Apply, Constant, Node, Variable
from scanopt.loops.graph import dependencies, leaves, schedule
from scanopt.loops.rebuild import clone

__all__ = [
    "Apply", "Constant", "Variable", "ancestors", "applys_between", "clone", "clone_replace", "explicit_graph_inputs",
    "graph_inputs", "graph_replace", "inputs", "io_toposort", "vars_between",
]  # fmt: skip

__path__: list[str] = []  # as a package has it: see scanopt.importing

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """What Theano's heirs have in modules of `graph` is here: `pytensor.graph.basic`, `.replace`, `.traversal`."""
        if name in ("basic", "graph", "replace", "traversal"):
            return sys.modules[__name__]
        raise no_such_name(__name__, name, __all__)


clone_replace = graph_replace = clone


def ancestors(graphs: Iterable[Variable], blockers: Iterable[Variable] = ()) -> list[Variable]:
    """All variables that `graphs` are computed from, themselves included; nothing behind the blockers.

    blockers: variables that are included, but not what they are computed from.
    Each variable comes after those that it is computed from.  Variables inside the steps of loops are left out.

    >>> from scanopt import tensor as T
    >>> x = T.dvector("x")
    >>> [v.name or "x + x" for v in ancestors([x + x])]
    ['x', 'x + x']
    """
    outputs, stop = list(graphs), list(blockers)
    found: dict[Variable, None] = {}
    for node in schedule(outputs, stop):
        found |= dict.fromkeys((*dependencies(node), *node.outputs))
    return list(found | dict.fromkeys(outputs))


def graph_inputs(graphs: Iterable[Variable], blockers: Iterable[Variable] = ()) -> list[Variable]:
    """The inputs, shared variables and constants that these variables are computed from.

    graphs, blockers: as in `ancestors`; a blocker that is computed is no input.

    >>> from scanopt import tensor as T
    >>> x, y = T.dscalars("x", "y")
    >>> graph_inputs([x * 2.0 + y])
    ['x' float64[], 2.0 float64[], 'y' float64[]]
    """
    return [v for v in ancestors(graphs, blockers) if v.owner is None]


inputs = graph_inputs


def explicit_graph_inputs(graphs: Iterable[Variable]) -> list[Variable]:
    """The inputs that a function of these variables must be given, without shared variables and constants."""
    return [v for v in leaves(list(graphs)) if not hasattr(v, "get_value")]


def io_toposort(inputs: Iterable[Variable], outputs: Iterable[Variable]) -> list[Node]:
    """The nodes between inputs and outputs, each after those that it needs."""
    return schedule(list(outputs), list(inputs))


def applys_between(ins: Iterable[Variable], outs: Iterable[Variable]) -> list[Node]:
    """The nodes between some variables and others."""
    return io_toposort(ins, outs)


def vars_between(ins: Sequence[Variable], outs: Sequence[Variable]) -> list[Variable]:
    """The variables between some and others, both included."""
    return ancestors(outs, ins)
