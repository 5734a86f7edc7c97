"""Walking symbolic graphs: order of computation, and the inputs that results depend on."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from scanopt.array.variable import Apply, Constant, Node, Variable, describe
from scanopt.loops.node import Scan

__all__ = [
    "dependencies", "is_lazy", "leaves", "loops_of", "refuse_stray", "schedule", "sources", "unchanged",
    "unconditional",
]  # fmt: skip


def dependencies(node: Node, lazy: bool = False) -> tuple[Variable, ...]:
    """The variables that must be computed before the node: its inputs, preceded by the checks of a Scan.

    lazy: for an ifelse only the condition, which decides on the rest.
    """
    if lazy and is_lazy(node):
        return node.inputs[:1]
    return node.dependencies if isinstance(node, Scan) else node.inputs


def is_lazy(node: Node | None) -> bool:
    """Whether the node needs only one of its inputs after the first: an ifelse."""
    return isinstance(node, Apply) and node.op.name == "ifelse"


def unchanged(new: Iterable[Variable], old: Iterable[Variable]) -> bool:
    """Whether these are the same objects in the same order; `==` of variables would compare elements."""
    return all(a is b for a, b in zip(new, old, strict=True))


def schedule(outputs: Iterable[Variable], given: Collection[Variable] = (), lazy: bool = False) -> list[Node]:
    """All nodes that `outputs` need beyond `given`, each after those it depends on.

    lazy: without nodes that only a branch of an ifelse needs.

    The order is depth first: all that the first output needs comes first.  Works on graphs of any depth.
    """
    return _scheduled(outputs, set(given), set(), lazy)


def _scheduled(outputs: Iterable[Variable], known: Collection[Variable], done: set[Node], lazy: bool) -> list[Node]:
    """As `schedule`, but without the nodes in `done`; the nodes returned are added to `done`."""
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
            visit(dependencies(node, lazy))
    return order


def unconditional(outputs: Iterable[Variable]) -> set[Node]:
    """The nodes that are computed whatever the conditions of ifelse are, including those in steps of loops."""
    found: set[Node] = set()
    todo = list(outputs)
    while todo:
        node = todo.pop().owner
        if node is None or node in found:
            continue
        found.add(node)
        todo.extend(dependencies(node, lazy=True))
        if isinstance(node, Scan):
            todo.extend(node.inner_outputs)
    return found


def loops_of(outputs: Iterable[Variable]) -> list[Scan]:
    """All loops that the outputs depend on, including those inside steps."""
    found: dict[Scan, None] = {}
    done: set[Node] = set()
    todo = list(outputs)
    while todo:
        for node in _scheduled([todo.pop()], (), done, lazy=False):
            if isinstance(node, Scan):
                found[node] = None
                todo.extend(node.inner_outputs)
    return list(found)


def leaves(outputs: Iterable[Variable], given: Collection[Variable] = ()) -> list[Variable]:
    """The inputs and shared variables that `outputs` depend on, except those in `given`.

    Constants are not inputs.  A nested loop contributes the variables that it reads from outside.

    >>> from scanopt.array.types import TensorType
    >>> x = Variable(TensorType("float64", ()), "x")
    >>> leaves([x]), leaves([x], given=[x])
    (['x' float64[]], [])
    """
    outputs, known = list(outputs), frozenset(given)
    found: dict[Variable, None] = {}

    def collect(variables: Iterable[Variable]) -> None:
        for v in variables:
            if v.owner is None and not isinstance(v, Constant) and v not in known:
                found.setdefault(v)

    for node in schedule(outputs, known):
        collect(dependencies(node))
    collect(outputs)
    return list(found)


def refuse_stray(found: Iterable[Variable]) -> None:
    """Raise ValueError for an argument of a step or function that is used outside of it."""
    for x in found:
        if x.only_in:
            raise ValueError(
                f"{describe(x)} is an argument of {x.only_in}: outside of that it has no value; return from there what "
                "is needed of it"
            )


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
