"""Gradients backwards through a graph: each variable gets the sum of the contributions of its uses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import reduce

from scanopt.array.derivatives import UNKNOWN, smooth
from scanopt.array.op import Op
from scanopt.array.registry import FUNCTIONS
from scanopt.array.variable import Apply, Node, Variable, apply, describe
from scanopt.gradient.errors import NullTypeGradError
from scanopt.gradient.flows import flows
from scanopt.gradient.one_row import row_gradient
from scanopt.gradient.returned import returned
from scanopt.gradient.sums_of_products import factors, product_gradient
from scanopt.loops.graph import is_lazy, schedule
from scanopt.loops.location import user_location
from scanopt.loops.node import Scan

__all__ = ["Contributions", "LoopRule", "no_way_through", "pull", "register_loop_rule", "zeros_like"]

Contributions = Iterable[tuple[Variable, Variable]]
"""Pairs of a variable and a part (one summand) of the gradient with respect to it."""

LoopRule = Callable[[Scan, Sequence[Variable | None], Collection[Variable]], Contributions]
"""Takes a loop, the gradients with respect to its outputs (None: zero) and the inputs wanted; returns their parts."""

_LOOP_RULE: list[LoopRule] = []


def register_loop_rule(rule: LoopRule) -> LoopRule:
    """Register the rule for gradients through loops, which itself needs `pull` for their steps."""
    _LOOP_RULE[:] = [rule]
    return rule


def zeros_like(x: Variable) -> Variable:
    """Zeros of the shape and dtype of x."""
    zeros: Variable = FUNCTIONS["zeros_like"](x)
    return zeros


def pull(
    outputs: Sequence[Variable],
    cotangents: Sequence[Variable | None],
    wrt: Sequence[Variable],
    constant: Collection[Variable] = (),
    given: Collection[Variable] = (),
    known: Collection[Variable] = (),
) -> list[Variable | None]:
    """The gradients with respect to `wrt` of the sum of all outputs times their cotangents.

    None as a cotangent or a result stands for no connection.  constant: variables that count as constant.
    given: variables whose own inputs are not considered.  known: outputs whose cotangents are their whole
    gradients.  Raises NullTypeGradError where the way leads through an operator without a gradient.
    """
    varying = flows(outputs, wrt, constant, given)
    sums = Sums(varying)
    for v, g in zip(outputs, cotangents, strict=True):
        if g is not None:
            sums.add(v, g)
    sums.known = frozenset(known)
    _backwards(schedule(outputs, given), sums, set(wrt))
    return [sums.total(v) for v in wrt]


class Sums:
    """Parts of gradients by variable, for variables that can have one.  known: variables that get no more parts."""

    def __init__(self, varying: Collection[Variable]) -> None:
        self.varying = varying
        self.known: frozenset[Variable] = frozenset()
        self.parts: dict[Variable, list[Variable]] = {}

    def add(self, v: Variable, part: Variable) -> None:
        """Add a part to the gradient with respect to v, cast to the dtype of v."""
        if v in self.varying and v not in self.known:
            self.parts.setdefault(v, []).append(FUNCTIONS["cast"](part, v.dtype))

    def total(self, v: Variable) -> Variable | None:
        """The gradient with respect to v, None if it has no part."""
        parts = self.parts.get(v)
        if not parts:
            return None
        total = reduce(FUNCTIONS["add"], parts)
        self.parts[v] = [total]
        return total


def _backwards(order: Sequence[Node], sums: Sums, wrt: Collection[Variable]) -> None:
    """Walk the nodes from the last to the first and add the contributions of each."""
    regions = _Regions(order, wrt) if any(is_lazy(n) for n in order) else None
    skip: set[Node] = set()
    for node in reversed(order):
        if node in skip or not any(v in sums.parts for v in node.outputs):
            continue
        if isinstance(node, Scan):
            wanted = {v for v in node.inputs if v in sums.varying}
            for v, part in _LOOP_RULE[0](node, [sums.total(v) for v in node.outputs], wanted):
                sums.add(v, part)
        elif is_lazy(node):
            assert regions is not None
            skip |= _through_ifelse(node, sums, regions)
        elif not _passed_by(node, sums, wrt):
            _through_operator(node, sums)


def _passed_by(node: Node, sums: Sums, wrt: Collection[Variable]) -> bool:
    """Add parts directly to variables further back, if no gradient of those in between is needed; whether it did.

    They are the variable whose value the operator returns, or the two whose product it is.
    """
    g = sums.total(node.outputs[0])
    assert g is not None
    same, product = returned(node), factors(node)
    if same is not None and not any(_stops(v, sums, wrt) for v in same[1]):
        sums.add(same[0], g)
        return True
    if not isinstance(node, Apply) or product is None or any(_stops(v, sums, wrt) for v in product[2]):
        return False
    for v, part in product_gradient(node, *product[:2], g):
        sums.add(v, part)
    return True


def _stops(v: Variable, sums: Sums, wrt: Collection[Variable]) -> bool:
    """Whether gradients must not bypass v: its gradient is asked for or known, or gradients stop there."""
    behind = v.owner is not None and any(x in sums.varying for x in v.owner.inputs)
    return v in wrt or v in sums.known or (behind and v not in sums.varying)


def _through_operator(node: Node, sums: Sums) -> None:
    assert isinstance(node, Apply)
    (out,) = node.outputs
    if not any(x in sums.varying for x in node.inputs):
        return
    g = sums.total(out)
    assert g is not None
    gradient = node.op.spec.gradient
    if gradient is None:
        raise no_way_through(node, [x for x in node.inputs if x in sums.varying])
    parts = row_gradient(node, g) or gradient(node.op, node.inputs, out, g)
    for i, (x, part) in enumerate(zip(node.inputs, parts, strict=True)):
        if part is UNKNOWN:
            if x in sums.varying:
                raise no_derivative(node, i)
        elif part is not None:
            sums.add(x, part)


def no_way_through(node: Apply, varying: Iterable[Variable]) -> NullTypeGradError:
    """The error for a gradient that needs the gradient of an operator without one."""
    return NullTypeGradError(
        f"{node.op.name} has no gradient, and the gradient asked for goes through it to "
        f"{', '.join(map(_in_words, varying))}: write disconnected_grad(...) around its result, or name it in "
        f"consider_constant, if it is meant as a constant (at {user_location()})"
    )


def no_derivative(node: Apply, i: int) -> NullTypeGradError:
    """The error for a gradient that needs an operator's derivative by argument i, for which there is no formula."""
    return NullTypeGradError(
        f"{node.op.name} has no derivative by argument {i}, and the gradient asked for goes through it to "
        f"{_in_words(node.inputs[i])}: write disconnected_grad(...) around that argument, if it is meant as a "
        f"constant (at {user_location()})"
    )


def _in_words(x: Variable) -> str:
    """A variable in words, with the nearest named variable that it is computed from if it has no name."""
    todo, seen = [x], {x}
    for v in todo:
        if v.name:
            return describe(x) if v is x else f"{describe(x)} (made of {describe(v)})"
        new = [] if v.owner is None else [u for u in v.owner.inputs if u not in seen and smooth(u)]
        seen.update(new)
        todo += new
    return describe(x)


class _Regions:
    """Finds the nodes that only one branch of an ifelse needs."""

    def __init__(self, order: Sequence[Node], wrt: Collection[Variable]) -> None:
        self.order, self.wrt = order, wrt
        self.users: dict[Variable, set[Node]] = {}
        for node in order:
            for v in node.dependencies if isinstance(node, Scan) else node.inputs:
                self.users.setdefault(v, set()).add(node)

    def exclusive(self, ifelse: Node, side: Variable, known: Collection[Variable]) -> list[Node]:
        """The nodes that only this branch of the ifelse needs, in order; known: variables that have other parts."""
        inside: set[Node] = {ifelse}
        found: list[Node] = []
        needed = {side}
        for node in reversed(self.order):
            if node is ifelse or not any(v in needed for v in node.outputs):
                continue
            used = [v for v in node.outputs if v in self.users or v in known]
            if any(v in self.wrt or v in known or not self.users.get(v, set()) <= inside for v in used):
                continue
            if any(x is v and v is not side for v in used for x in ifelse.inputs):
                continue
            inside.add(node)
            found.append(node)
            needed |= set(node.inputs)
        return found[::-1]


def _through_ifelse(node: Node, sums: Sums, regions: _Regions) -> set[Node]:
    """Add the parts from an ifelse; a branch not chosen has no gradient computed either, so it can leak no NaN."""
    test, *sides = node.inputs
    g = sums.total(node.outputs[0])
    assert g is not None
    done: set[Node] = set()
    for i, side in enumerate(sides):
        if side not in sums.varying:
            continue
        region = regions.exclusive(node, side, sums.parts)
        inner = Sums(sums.varying)
        inner.add(side, g)
        _backwards(region, inner, regions.wrt)
        made = {v for n in region for v in n.outputs}
        for v in [v for v in inner.parts if v not in made]:
            part = inner.total(v)
            assert part is not None
            pair = (part, zeros_like(v)) if i == 0 else (zeros_like(v), part)
            sums.add(v, apply(Op.make("ifelse"), test, *pair))
        done |= set(region)
    return done
