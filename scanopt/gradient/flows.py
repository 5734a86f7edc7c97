"""Which values may depend smoothly on which, by their dtypes, also through loops and their states.

A dependence is followed through operators on floats (or complex numbers), but not through integers and
bools.  This says what may be connected; the gradients themselves show what is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from weakref import WeakKeyDictionary

from scanopt.array.derivatives import no_gradient, smooth
from scanopt.array.variable import Apply, Node, Variable
from scanopt.loops.graph import schedule
from scanopt.loops.node import Scan

__all__ = ["flows", "reached"]


def flows(
    outputs: Iterable[Variable],
    wrt: Collection[Variable],
    stop: Collection[Variable] = (),
    given: Collection[Variable] = (),
) -> set[Variable]:
    """All variables that `outputs` depend on and that may depend smoothly on one of `wrt`.

    stop: variables that count as constant.  given: variables whose own inputs are not considered.
    """
    stopped = set(stop)
    sources = {v for v in wrt if smooth(v)} - stopped
    found = set(sources)
    for node in schedule(outputs, given):
        found |= {v for v in _through(node, found) if v not in stopped}
    return found


def _through(node: Node, found: Collection[Variable]) -> Iterable[Variable]:
    if isinstance(node, Scan):
        return (node.outputs[i] for i in reached(node, {v for v in node.inputs if v in found}))
    assert isinstance(node, Apply)
    if node.op.spec.gradient is no_gradient or not any(x in found for x in node.inputs):
        return ()
    return (v for v in node.outputs if smooth(v))


_REACHED: WeakKeyDictionary[Scan, dict[frozenset[Variable], tuple[int, ...]]] = WeakKeyDictionary()


def reached(node: Scan, varying: Collection[Variable]) -> tuple[int, ...]:
    """The numbers of the outputs of a loop that may depend smoothly on its inputs `varying`."""
    key = frozenset(varying)
    known = _REACHED.setdefault(node, {})
    if key not in known:
        inner = inner_flows(node, key)
        known[key] = (*(i for i, v in enumerate(node.traced) if v in inner), *_mit_mots(node, key, inner))
    return known[key]


def inner_flows(node: Scan, varying: Collection[Variable]) -> set[Variable]:
    """The variables in a step that may depend smoothly on the loop's inputs `varying`."""
    sources = {s.u_inner for s in node.sequences if s.u_outer in varying}
    sources |= {s.w_inner for s in node.non_sequences if s.w_outer in varying}
    slots: list[tuple[Sequence[Variable], Sequence[Variable], bool]] = [
        (s.input_states, (s.output_state,), s.init_outer in varying) for s in node.states
    ]
    slots += [(m.input_states, m.output_states, m.buffer_outer in varying) for m in node.mit_mots]
    while True:
        sources |= {v for inputs, _, known in slots if known for v in inputs}
        found = flows(node.inner_outputs, sources)
        grown = [(i, o, k or any(v in found for v in o)) for i, o, k in slots]
        if all(k == now for (*_, k), (*_, now) in zip(slots, grown, strict=True)):
            return found
        slots = grown


def _mit_mots(node: Scan, varying: Collection[Variable], inner: Collection[Variable]) -> Iterable[int]:
    first = len(node.traced)
    for i, m in enumerate(node.mit_mots, first):
        if m.buffer_outer in varying or any(v in inner for v in m.output_states):
            yield i
