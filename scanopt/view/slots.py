"""The slots of a Scan node in one uniform shape, with the names under which readers see them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scanopt.array.shown import shown
from scanopt.array.variable import Apply, Constant, Node, Variable
from scanopt.loops.canonical import unsliced
from scanopt.loops.node import MitSot, Scan, SitSot
from scanopt.records import dataclass
from scanopt.view.scene import array_text, tap_text

__all__ = ["Slot", "slots", "sorted_nodes", "sources", "steps_text"]


@dataclass(frozen=True, eq=False)
class Slot:
    """One slot with an outer value: how it enters the step and, for a state, how it goes on.

    role: sequence, mit-mot, mit-sot, sit-sot, shared state or non-sequence.
    taps: pairs (lag, the variable of the step's graph), in the user's order; lag 0 means this step.
    updates: pairs (lag, the variable of the step's graph whose value is written there).
    """

    role: str
    name: str
    outer: Variable
    taps: tuple[tuple[int, Variable], ...]
    updates: tuple[tuple[int, Variable], ...] = ()

    def tap_name(self, index: int) -> str:
        """The name of tap number `index`: the variable's own name, else name and lag."""
        lag, inner = self.taps[index]
        if inner.name:
            return shown(inner.name)
        return self.name if self.role == "non-sequence" else tap_text(self.name, lag)

    @property
    def documented(self) -> str:
        """The documents' word for its variables inside: input, input_state or parameter."""
        return {"sequence": "input", "non-sequence": "parameter"}.get(self.role, "input_state")

    @property
    def label(self) -> str:
        """The slot as the documents write it: `x[t-1]`, `h`, `y taps [-2, -1]`, `W`."""
        if self.role == "sequence":
            return self.tap_name(0)
        if self.role in ("mit-sot", "mit-mot"):
            text = f"{self.name} taps {[lag for lag, _ in self.taps]}"
            return text + (f" out taps {[lag for lag, _ in self.updates]}" if self.role == "mit-mot" else "")
        return self.name


def slots(scan: Scan) -> Iterator[Slot]:
    """All slots of a Scan that have an outer value, in the order of the documents."""
    for i, q in enumerate(scan.sequences):
        name = _base((q.u_inner, q.u_outer), f"u{i}")
        yield Slot("sequence", name, q.u_outer, ((q.tap, q.u_inner),))
    for i, m in enumerate(scan.mit_mots):
        name = _base((*m.input_states, m.buffer_outer), f"m{i}")
        taps = tuple(zip(m.in_taps, m.input_states, strict=True))
        outs = tuple(zip(m.out_taps, m.output_states, strict=True))
        yield Slot("mit-mot", name, m.buffer_outer, taps, outs)
    fed_back: tuple[MitSot | SitSot, ...] = (*scan.mit_sots, *scan.sit_sots)
    for i, s in enumerate(fed_back):
        if isinstance(s, MitSot):
            role, taps = "mit-sot", tuple(zip(s.taps, s.input_states, strict=True))
        else:
            role, taps = "sit-sot", ((-1, s.input_state),)
        inner = tuple(v for _, v in taps)
        name = _base((*inner, s.output_state, s.init_outer), f"state{i}")
        yield Slot(role, name, s.init_outer, taps, ((0, s.output_state),))
    for i, r in enumerate(scan.shared):
        name = _base((r.shared, r.input_state), f"shared{i}")
        taps = ((-1, r.input_state),)
        yield Slot("shared state", name, r.shared, taps, ((0, r.output_state),))
    for i, w in enumerate(scan.non_sequences):
        name = _base((w.w_outer, w.w_inner), f"w{i}")
        yield Slot("non-sequence", name, w.w_outer, ((0, w.w_inner),))


def _base(variables: Sequence[Variable], default: str) -> str:
    """The first name among variables, without its `[t-1]`."""
    for v in variables:
        if v.name:
            return shown(unsliced(v.name)) or default
    return default


def steps_text(scan: Scan) -> str:
    """The number of steps in a word: its value, its name (through casts, |k| for a sign dropped), or `n_steps`."""
    v, bars = scan.n_steps, ""
    while isinstance(v.owner, Apply) and v.owner.op.name in ("cast", "absolute") and not v.name:
        bars = "|" if v.owner.op.name == "absolute" else bars
        (v,) = v.owner.inputs
    return array_text(v.data) if isinstance(v, Constant) else f"{bars}{shown(v.name)}{bars}" if v.name else "n_steps"


def sources(node: Node) -> tuple[Variable, ...]:
    """The outer values of a node: all of them, mit-mots and shared variables too."""
    if not isinstance(node, Scan):
        return node.inputs
    return (node.n_steps, *(slot.outer for slot in slots(node)))


def sorted_nodes(outputs: Sequence[Variable]) -> list[Node | Variable]:
    """Leaves and nodes from which the outputs are made, each after what it needs."""
    done: dict[Node | Variable, None] = {}
    todo: list[tuple[Node | Variable, bool]] = [(v.owner or v, False) for v in reversed(outputs)]
    while todo:
        x, ready = todo.pop()
        if x in done:
            continue
        if ready or isinstance(x, Variable):
            done[x] = None
            continue
        todo.append((x, True))
        todo += [(v.owner or v, False) for v in reversed(sources(x))]
    return list(done)
