"""Extraction as a choice: which form of which class, in which phase of its loops, is computed.

A loop may run in several phases (once, then again over the same clock with what the first pass
left).  Phases are per clock: only a stack, tail or at of c leads from one phase of c to the next.
An *instance* is a class in given phases of the clocks around it; each instance in use needs one of
its *options*: a form, with the instances that the form is made of.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Container, Hashable, Iterator, Mapping, Set
from dataclasses import field, replace
from functools import cached_property
from typing import NamedTuple

from scanopt.analysis.batched_operators import recipe
from scanopt.analysis.sizes import Sizes, operator_operand
from scanopt.array.abstract import concrete
from scanopt.array.op import Operand
from scanopt.array.operators.idle import guarded
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import KEPT, ROOT, Form, Operator, TermGraph
from scanopt.extraction.availability import MOST_LEVELS, closure, computable, settled
from scanopt.extraction.cost import CostModel, Work, bytes_of, cost_of_holding, is_its_argument
from scanopt.extraction.dominance import undominated
from scanopt.extraction.kernel_breaks import KernelBreaks
from scanopt.records import dataclass

__all__ = ["Instance", "Limit", "NoProgramFoundError", "Option", "Problem"]

MAX_PHASES = MOST_LEVELS
_THERE, _INSIDE = ("const", "input"), ("seq", "delay", "hold")
LATEST = 12
"""The phases, from the first possible one on, in which a kept value may be computed: a long row of loops that are one
loop has as many phases as loops, and all pairs of these would be too many."""


class Instance(NamedTuple):
    """A class (or, with `loop`, the running of a clock) in the phases of the clocks around it."""

    id: int
    phases: tuple[int, ...] = ()
    loop: bool = False


class Option(NamedTuple):
    """One way to compute an instance.

    needs: its arguments, in the order of the form.  updates: what it needs one step later (the
    new value of a state, the condition that ends a loop), which implies no order.  held: bytes of its result.
    """

    form: Form | None
    cost: float
    needs: tuple[Instance, ...]
    updates: tuple[Instance, ...] = ()
    held: float = 0.0

    @property
    def all_needs(self) -> tuple[Instance, ...]:
        """All instances that must be chosen with it."""
        return self.needs + self.updates if self.updates else self.needs


class NoProgramFoundError(RuntimeError):
    """No causal choice was found: there is none, or the searches did not meet it in their time."""


@dataclass(frozen=True)
class Limit:
    """A limit of bytes: each byte that a choice makes beyond it costs `price`."""

    bytes: float = math.inf
    price: float = 0.0

    def excess(self, held: float) -> float:
        """The extra cost of a choice that makes this many bytes."""
        return self.price * max(0.0, held - self.bytes)


@dataclass
class Problem:
    """All instances that the results may need, with their options.

    limit: of the bytes that a choice makes.  prices: known prices and bytes by class and form, for the same sizes and
    cost model.  evaluations: known costs and bytes of one evaluation of an operator, for the same cost model.
    phases: per clock how many phases are considered: as few as the results allow, and `more_phases`.
    """

    graph: TermGraph
    sizes: Sizes
    cost: CostModel
    limit: Limit = Limit()
    prices: dict[int, dict[Form, tuple[float, float]]] = field(
        default_factory=dict[int, dict[Form, tuple[float, float]]]
    )
    evaluations: dict[Hashable, tuple[float, float]] = field(default_factory=dict[Hashable, tuple[float, float]])
    more_phases: int = 0
    options: dict[Instance, list[Option]] = field(default_factory=dict[Instance, list[Option]])
    roots: tuple[Instance, ...] = ()

    def __post_init__(self) -> None:
        self._forms = {
            c: [f for f in forms if self.usable(f)] for c, forms in self.graph.classes.items() if c in self.sizes.of
        }
        self._phases: dict[tuple[int, tuple[int, ...]], int] = {}
        self.chains = {c: self.graph.chain(c) for c in (ROOT, *self.graph.clocks)}
        self._around = {c: frozenset(chain) for c, chain in self.chains.items()}
        self.earliest = dict(self._all_earliest())
        self._levels = {c: [(d, self.earliest[d]) for d in chain] for c, chain in self.chains.items()}
        wanted = (*self.graph.roots, *self.graph.checks)
        self.phases = {
            c: max([1, *(e.get(r, MAX_PHASES) for r in wanted), *self._later(c)]) for c, e in self.earliest.items()
        }
        self.phases = {c: n + self.more_phases for c, n in self.phases.items()}
        self.roots = tuple(Instance(r) for r in dict.fromkeys(wanted))
        while not self._complete():
            self._allow_more_phases()

    def wider(self) -> Problem:
        """The same problem with one more phase of every loop."""
        return replace(self, more_phases=self.more_phases + 1, options={}, roots=())

    def usable(self, f: Form) -> bool:
        """Whether a form can be computed."""
        return self.sizes.usable(f) and (f.operator is None or recipe(f.operator, self._operands(f)) is not None)

    def _operands(self, f: Form) -> tuple[Operand, ...]:
        return tuple([self.sizes.of[a].operand for a in f.args])

    # Phases

    def _all_earliest(self) -> Iterator[tuple[int, dict[int, int]]]:
        """Per clock its first phase in which each class can be computed (outside: after how many phases)."""
        there = computable((x, f.args) for x, forms in self._forms.items() for f in forms)
        base = dict.fromkeys(self._forms, MAX_PHASES) | dict.fromkeys(there, 0)
        if isinstance(self.graph, Encoded):  # as written, each loop runs once; those that laws made one may not
            yield from ((clock, base) for clock in self.graph.clocks)
            return
        kept: dict[int, list[int]] = defaultdict(list)
        waiting: dict[int, list[int]] = defaultdict(list)  # by class: those that it may make wait
        for x, forms in self._forms.items():
            for f in forms:
                if f.kind in KEPT:
                    kept[f.clock].append(x)
                for j in (*f.args, *self._late(f)):
                    waiting[j].append(x)
        never = [j for j in waiting if j not in there]
        for clock in self.graph.clocks:
            yield clock, base | self._earliest(clock, closure((*kept[clock], *never), waiting), there)

    def _late(self, f: Form) -> tuple[int, ...]:
        """The arguments that a form needs one step later: updates of states, and end conditions."""
        if f.kind not in _INSIDE:
            return ()
        until = self.graph.clocks[f.clock].until
        return (*self.graph.states[f.state].updates, *until) if f.kind == "delay" else until

    def _earliest(self, clock: int, some: Set[int], there: Container[int]) -> dict[int, int]:
        """The least phases of `some` classes: of those that may wait for what the clock leaves.

        A class can be computed in phase p (outside: once p phases have run) by a form of it if

        - all arguments of the form can be computed in phase p, in the end from leaves and not from the class itself;
        - what it keeps of the clock can be computed in phase p - 1, if it is a stack, tail or at of it;
        - what it needs one step later in the clock, or in a loop inside it, can be computed in phase p, even by itself:
          one of the new values of its state, one of the conditions that end the loop.

        The least p of a class is found from below: what is needed one step later is put at 0, then at what
        follows from that, until nothing rises.  tests/test_phases.py compares it with what trying all choices gives.
        """
        forms = [(x, f) for x in some for f in self._forms.get(x, ()) if all(map(there.__contains__, f.args))]
        needs = [tuple([a for a in f.args if a in some]) for _, f in forms]
        floors = [0] * len(forms)
        waits = [n for n, (_, f) in enumerate(forms) if f.kind in _INSIDE and clock in self._around[f.clock]]
        steps = [int(f.clock == clock and f.kind in KEPT) for _, f in forms]
        late = dict.fromkeys((u for _, f in forms for u in self._late(f) if u in some), 0)
        while True:
            for n in waits:
                floors[n] = self._floor(forms[n][1], late)
            ways = zip((x for x, _ in forms), needs, floors, steps, strict=True)
            level = dict.fromkeys(some, MAX_PHASES) | settled(ways)
            found = {u: level.get(u, MAX_PHASES) for u in late}
            if found == late:
                return level
            late = found

    def _complete(self) -> bool:
        """Find all options; return whether every result has one."""
        self.options = {}
        self._expand()
        self._prune()
        return all(self.options.get(r) for r in self.roots)

    def _allow_more_phases(self) -> None:
        """Allow every loop one more phase: the least phases of two loops need not be possible together.

        Raises NoProgramFoundError if all loops have as many phases as anything in them needs.
        """
        most = {c: max((n for n in e.values() if n < MAX_PHASES), default=1) for c, e in self.earliest.items()}
        more = {c: max(n, min(n + 1, most[c])) for c, n in self.phases.items()}
        if more == self.phases:
            missing = next(r for r in self.roots if not self.options.get(r))
            raise NoProgramFoundError(f"no form of result {missing.id} can be computed")
        self.phases = more
        self._phases = {}

    def _later(self, clock: int) -> Iterator[int]:
        """The phases of `clock` that updates and end conditions of the loops around it need: each step starts anew."""
        for around in self.chains[clock][:-1]:
            for u in (*self._carried.get(around, ()), *self.graph.clocks[around].until):
                if (n := self.earliest[clock].get(u, MAX_PHASES)) < MAX_PHASES:
                    yield n

    @cached_property
    def _carried(self) -> dict[int, list[int]]:
        """The updates of the states of each clock."""
        states = dict.fromkeys((f.clock, f.state) for fs in self._forms.values() for f in fs if f.kind == "delay")
        out: dict[int, list[int]] = defaultdict(list)
        for clock, state in states:
            out[clock] += self.graph.states[state].updates
        return out

    def _floor(self, f: Form, late: Mapping[int, int]) -> int:
        """The phase that a seq, delay or hold waits for, on a clock or inside it, beside that of its argument."""
        floor = 0
        if f.kind == "delay":  # a state of another clock does not tie the phases of this one together
            floor = min((late.get(u, 0) for u in self.graph.states[f.state].updates), default=MAX_PHASES)
        # What a loop inside makes waits for what ends that loop, too.
        return max(floor, min((late.get(u, 0) for u in self.graph.clocks[f.clock].until), default=0))

    # Instances

    def _expand(self) -> None:
        todo = list(self.roots)
        while todo:
            i = todo.pop()
            if i in self.options:
                continue
            self.options[i] = found = self._options(i)
            for o in found:
                todo += o.all_needs

    def _options(self, i: Instance) -> list[Option]:
        if i.loop:
            return self._runs(i)
        if i.id not in self._forms:  # an update of a state, or a condition, that no known form computes
            return []
        # What is there is not computed, whatever that costs: a literal number of steps may be known to be the length
        # of a sequence, but only where the sequence is long enough; a check of that must not come to ask for itself.
        some = self._forms[i.id]
        forms = [f for f in some if f.kind in _THERE] or (f for f in some if self._in_time(i, f))
        return [o for f in forms for o in self._ways(i, f) if i not in o.needs]

    def _in_time(self, i: Instance, f: Form) -> bool:
        """Whether the phases of i are late enough for the arguments of f."""
        for (c, earliest), p in zip(self._levels[self.sizes.of[i.id].clock], i.phases, strict=True):
            if f.kind not in KEPT or f.clock != c:
                for a in f.args:
                    if earliest.get(a, MAX_PHASES) > p:
                        return False
        return True

    def _ways(self, i: Instance, f: Form) -> list[Option]:
        """The options of one form: one per phase that a loop's value may come from."""
        price, held = self.price(i.id, f)
        match f.kind:
            case _ if f.kind in _THERE:
                return [Option(f, price, ())]
            case "apply":
                return [Option(f, price, tuple([Instance(a, i.phases) for a in f.args]), (), held)]
            case "hold" | "seq" | "delay":
                needs = (Instance(f.args[0], i.phases[:-1]), Instance(f.clock, i.phases, True))
                if f.kind != "delay":
                    return [Option(f, price, needs)]
                updates = self.graph.states[f.state].updates
                return [Option(f, price, needs, (Instance(u, i.phases),), held) for u in updates]
            case _:
                first = max(self.earliest[f.clock].get(a, MAX_PHASES) for a in f.args)
                phases = range(first, min(first + LATEST, self._phases_at(f.clock, i.phases)))
                inside = [tuple(Instance(a, (*i.phases, p)) for a in f.args) for p in phases]
                return [Option(f, price, parts, (), held) for parts in inside]

    def _phases_at(self, clock: int, around: tuple[int, ...]) -> int:
        """How many phases a loop has when those around it are in the phases `around`: as few as the values there need.

        In the first pass over an outer loop an inner one needs no second phase for what only the second pass has.
        """
        if (clock, around) not in self._phases:
            there = (first for *outer, first in self._first[clock] if all(map(int.__le__, outer, around)))
            self._phases[clock, around] = min(self.phases[clock], max(there, default=0) + 1 + self.more_phases)
        return self._phases[clock, around]

    @cached_property
    def _first(self) -> dict[int, set[tuple[int, ...]]]:
        """Per clock, for each class on it, the least phases of the clocks around it, outermost first, and of itself."""
        out: dict[int, set[tuple[int, ...]]] = defaultdict(set)
        for x in self._forms:
            clock = self.sizes.of[x].clock
            phases = tuple(self.earliest[c].get(x, MAX_PHASES) for c in self.chains[clock])
            if clock != ROOT and MAX_PHASES not in phases:
                out[clock].add(phases)
        return out

    def _runs(self, i: Instance) -> list[Option]:
        """The options of running a loop: one per class of its end condition."""
        info = self.graph.clocks[i.id]
        price = self.run_price(i.id)
        needs = (Instance(info.steps, i.phases[:-1]),)
        if not info.until:
            return [Option(None, price, needs)]
        return [Option(None, price, needs, (Instance(u, i.phases),)) for u in info.until]

    def run_price(self, clock: int) -> float:
        """The price of running a loop, apart from what is in it."""
        entries, turns = self.sizes.trips(self.graph.clocks[clock].level), self.sizes.trips(clock)
        return entries * self.cost(Work("loop")) + turns * self.cost(Work("step"))

    def price(self, c: int, f: Form) -> tuple[float, float]:
        """The price of a form over all steps, and the bytes of its result, for which each step uses the same place."""
        known = self.prices.setdefault(c, {})
        found = known.get(f)
        if found is None:
            kept = f.kind in KEPT
            clock = f.clock if kept else self.sizes.of[c].clock
            once, held = self._once(c, f)
            # A floor above zero: of two ways at no cost, the one with fewer parts.
            trips = max(self.sizes.trips(clock), 1)
            price = max(once, 1e-3) * trips + cost_of_holding(self.cost, held)
            found = known[f] = price + self._breaks.price(c, f, trips), held
        return found

    @cached_property
    def _breaks(self) -> KernelBreaks:
        return KernelBreaks(self.graph, self.sizes, self.cost)

    def _once(self, c: int, f: Form) -> tuple[float, float]:
        """The cost of one evaluation, of rows that a loop keeps for one step, and the bytes of the result."""
        args, out = self._operands(f), self.sizes.of[c].operand
        if f.operator is None:
            held = bytes_of(out) * (f.k if f.kind == "delay" else f.kind in KEPT)
            kind = "tail" if f.kind == "recent" else f.kind
            return self.cost(Work(kind, None, args, args[0] if f.kind in KEPT else out)), held
        key = self.sizes.application(f)
        found = self.evaluations.get(key)
        if found is None:
            found = self._evaluation(f, f.operator, args)
            if key is not None:
                self.evaluations[key] = found
        return found

    def _evaluation(self, f: Form, operator: Operator, args: tuple[Operand, ...]) -> tuple[float, float]:
        """The cost of an operator, summed over its recipe, and the bytes of the arrays that it makes."""
        made = recipe(operator, args)
        assert made is not None
        slots = [*args, *(concrete(x) for x in made.constants)]
        price, held = 0.0, 0.0
        for op, inputs in made.steps:
            operands = tuple(slots[n] for n in inputs)
            itself = inputs == tuple(range(len(args))) and op == operator
            slots.append(self.sizes.result(f) if itself else operator_operand(op, list(operands)))
            inner = guarded(op)
            work = Work("apply", inner, operands[1:], slots[-1]) if inner else Work("apply", op, operands, slots[-1])
            price += self.cost(work)
            if not (op.view and (op.cost == "free" or is_its_argument(work))):
                held += bytes_of(slots[-1])
        return price, held

    def total(self, choice: Mapping[Instance, Option]) -> float:
        """The cost of a choice, with that of bytes beyond the limit; shared instances count once."""
        return sum(o.cost for o in choice.values()) + self.limit.excess(sum(o.held for o in choice.values()))

    # Pruning

    def _prune(self) -> None:
        """Drop options that nothing can complete, instances no option needs, dominated options."""
        before = -1
        while (size := sum(map(len, self.options.values()))) != before:
            before = size
            feasible = computable((i, o.needs) for i, options in self.options.items() for o in options)
            self.options = {i: [o for o in os if feasible.issuperset(o.all_needs)] for i, os in self.options.items()}
        before = -1
        while (size := sum(map(len, self.options.values()))) != before:
            before = size
            self.options = undominated(self.options, math.isfinite(self.limit.bytes))
            self._drop_unreached()

    def _drop_unreached(self) -> None:
        seen: set[Instance] = set()
        todo = list(self.roots)
        while todo:
            i = todo.pop()
            if i not in seen:
                seen.add(i)
                for o in self.options.get(i, ()):
                    todo += o.all_needs
        self.options = {i: o for i, o in self.options.items() if i in seen}
