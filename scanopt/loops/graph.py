"""Walking symbolic graphs: order of computation, and the inputs that results rest on."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from scanopt.array.variable import Constant, Node, Variable
from scanopt.loops.node import Scan

__all__ = ["dependencies", "leaves", "schedule", "sources"]


def dependencies(node: Node) -> tuple[Variable, ...]:
    """What must be known before the node: its inputs, and first the checks of a Scan."""
    return node.dependencies if isinstance(node, Scan) else node.inputs


def schedule(outputs: Iterable[Variable], given: Collection[Variable] = ()) -> list[Node]:
    """All nodes that `outputs` need beyond `given`, each after those it depends on.

    The order is depth first: an output's own first.  Works on graphs of any depth.
    """
    known: set[Variable] = set(given)
    done: set[Node] = set()
    order: list[Node] = []
    stack: list[tuple[Node, bool]] = []

    def visit(variables: Iterable[Variable]) -> None:
        for v in reversed(list(variables)):
            if v.owner is not None and v not in known and v.owner not in done:
                stack.append((v.owner, False))

    visit(outputs)
    while stack:
        node, ready = stack.pop()
        if node in done:
            continue
        if ready:
            done.add(node)
            order.append(node)
        else:
            stack.append((node, True))
            visit(dependencies(node))
    return order


def leaves(outputs: Iterable[Variable], given: Collection[Variable] = ()) -> list[Variable]:
    """The inputs and shared variables that `outputs` rest on, those in `given` aside.

    Constants are no inputs.  A nested loop counts by what it reads from outside.

    >>> from scanopt.array.types import TensorType
    >>> x = Variable(TensorType("float64", ()), "x")
    >>> leaves([x]), leaves([x], given=[x])
    (['x' float64[]], [])
    """
    outputs = list(outputs)
    found: dict[Variable, None] = {}

    def collect(variables: Iterable[Variable]) -> None:
        for v in variables:
            if v.owner is None and not isinstance(v, Constant) and v not in given:
                found.setdefault(v)

    for node in schedule(outputs, given):
        collect(dependencies(node))
    collect(outputs)
    return list(found)


def sources(result: Variable, dtype: str) -> list[str]:
    """The variables and constant arrays of this dtype that a result is computed from, in words.

    >>> from scanopt.array.types import TensorType
    >>> sources(Variable(TensorType("float64", ()), "x"), "float64")
    ["'x'"]
    """
    read = [v for node in schedule([result]) for v in dependencies(node)]
    origins = [v for v in [*read, result] if v.owner is None and v.dtype == dtype]
    names = [repr(v.name) for v in origins if v.name]
    constants = [f"a constant {v.type}" for v in origins if isinstance(v, Constant) and not v.name]
    return list(dict.fromkeys(names + constants))
