"""Shared variables that a loop changes: their updates become states, and their last values are returned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from scanopt.array.registry import FUNCTIONS
from scanopt.array.variable import SharedVariable, Variable
from scanopt.loops.graph import leaves, loops_of
from scanopt.loops.node import Scan, SharedState
from scanopt.loops.updates import Updates

__all__ = ["forgotten_streams", "last_values", "shared_states"]


def shared_states(
    explicit: Mapping[SharedVariable, Variable], computed: Iterable[Variable], since: int
) -> tuple[SharedState, ...]:
    """The shared variables that a step changes: by its updates, or by their default update.

    since: serial number before the step was built.  A shared variable with a default update that
    the step made itself (a stream of random numbers) changes at every step; from then on its
    default is the loop's.  Others with a default stay as they are during the loop.
    """
    updates = dict(explicit)
    while True:
        found = leaves([*computed, *updates.values()])
        new = [x for x in found if isinstance(x, SharedVariable) and x.serial > since and x not in updates]
        new = [x for x in new if x.default_update is not None]
        if not new:
            break
        for x in new:
            assert x.default_update is not None
            updates[x] = x.default_update
            x.default_update = None
    return tuple(SharedState(x, value) for x, value in updates.items())


def last_values(node: Scan) -> Updates:
    """The value of each shared state after the loop; its initial value if no step ran."""
    out = Updates()
    for state, trace in zip(node.shared, node.shared_traces, strict=True):
        first = FUNCTIONS["expand_dims"](state.shared, 0)
        out[state.shared] = FUNCTIONS["concatenate"]([first, trace], 0)[-1]
    return out


def forgotten_streams(results: Iterable[Variable], updated: Collection[SharedVariable]) -> dict[SharedVariable, Scan]:
    """The streams of random numbers that loops advance but whose last value is not stored, each with its loop.

    updated: the shared variables that are set after each call.  A stream that still has a default update
    is left out: the user chose that it stays as it is.

    Source: scan documentation, "you will always get the same 10 sets of random numbers".
    """
    states = {s.shared: node for node in loops_of(results) for s in node.shared}
    found = [x for x in states if x.is_stream and x.default_update is None and x not in updated]
    return {x: states[x] for x in sorted(found, key=lambda x: x.serial)}
