"""The calculus on arrays of unknowns: the values of a law's terms in one world, where sizes and steps are chosen.

Meanings are those of docs/design.md, taken literally: a value is an array for each step of the loops that it is in, a
state is its new value at each step, a trace is the values at all executed steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import Any

import numpy as np

from scanopt.array.op import Op
from scanopt.calculus.terms import Clock, State, Term, Text, Value
from scanopt.lab.proving.arrays import SymbolicArray, array, filled, joined, known
from scanopt.lab.proving.choices import NoProgramError
from scanopt.lab.proving.entries import same, symbol
from scanopt.lab.proving.forms import (
    Along,
    Named,
    TableOperator,
    Taken,
    Vmap,
    arguments,
    free_list,
    is_choice,
    operator_form,
)
from scanopt.lab.proving.loops import At, Loops, path
from scanopt.lab.proving.operators import applied
from scanopt.lab.proving.places import LawPlaces
from scanopt.lab.proving.unknown import UnknownFunction
from scanopt.lab.proving.world import World
from scanopt.records import dataclass

__all__ = ["Model", "Operator"]

Operator = Callable[..., SymbolicArray]


@dataclass
class Model(World):
    """A world, and the values of the law's terms in it.

    values, operators, lists, texts: the variables of the law that a condition defines.  updates: the new values of
    states.  types: dtypes and shapes of the other variables, whose entries are in `variables`.  fragile: whether a
    variable may raise.  computed: how many bounds of a part are arguments, where the law's operator takes one.
    """

    places: LawPlaces = field(default_factory=lambda: LawPlaces(None))
    values: dict[str, Term | Callable[[At], SymbolicArray]] = field(default_factory=dict[str, Any])
    operators: dict[str, Operator] = field(default_factory=dict[str, Operator])
    lists: dict[str, list[Term]] = field(default_factory=dict[str, list[Term]])
    texts: dict[str, Any] = field(default_factory=dict[str, Any])
    updates: dict[str, Term] = field(default_factory=dict[str, Term])
    types: dict[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict[str, tuple[str, tuple[int, ...]]])
    fragile: dict[str, bool] = field(default_factory=dict[str, bool])
    variables: dict[tuple[str, Any], SymbolicArray] = field(default_factory=dict[tuple[str, Any], SymbolicArray])
    computed: int | None = None
    _carried: set[Any] = field(default_factory=set[Any])
    _rows_of_states: dict[str, tuple[str, tuple[int, ...]]] = field(default_factory=dict[str, Any])
    _made: dict[Any, Any] = field(default_factory=dict[Any, Any])

    def __post_init__(self) -> None:
        self.loops = Loops(self)

    def forget(self) -> None:
        """Forget what was computed and raised, so that it is computed again and its errors are noted."""
        self._made.clear()
        self.errors = []

    # Variables

    def variable(self, name: str, at: At, first: int | None = None) -> SymbolicArray:
        """The value of a variable of the law.  first: how many rows it must have, if that is known."""
        if name in self.values:
            found = self.values[name]
            return self.value(found, at) if isinstance(found, Term) else found(at)
        on = self.places.on.get(name)
        where = path(self.places, on, at)
        if name not in self.types:
            self.types[name] = self._type(name, on, first)
        told = name if on is None else f"{name} at step {', '.join(map(str, where))}"
        if (name, where) not in self.variables:
            dtype, shape = self.types[name]
            self.variables[name, where] = self._entries(told, name, dtype, shape, where)
        if self.fragile.get(name):
            self.raises(symbol(f"{told} raises", "bool"))
        return self.variables[name, where]

    def type_of(self, x: Term) -> tuple[str, tuple[int, ...]]:
        """dtype and shape of a value, the same at all steps."""
        found = self.value(x, {Clock(c): None for c in self.places.clocks})
        return found.dtype, found.shape

    def _entries(self, told: str, name: str, dtype: str, shape: tuple[int, ...], where: Any) -> SymbolicArray:
        if self.places.kinds.get(name) != "count" or None in where:
            return self.symbols(told, dtype, shape)
        chosen = [self.choose(f"{told}{list(i) if i else ''}", self.bounds.counts) for i in np.ndindex(*shape)]
        return filled(dtype, shape, chosen)

    def _type(self, name: str, on: Clock | None, first: int | None) -> tuple[str, tuple[int, ...]]:
        kind = self.places.kinds.get(name)
        if "." in name and kind != "count":  # of a list: that its values have one dtype plays no part
            return self.dtypes[0], self.choose(f"shape of {name}", self.bounds.rows)
        fixed = {"bool": ("bool",), "count": ("int64",), "number": ("int64",)}
        dtype = self.choose(f"dtype of {name}", fixed.get(kind or "", self.dtypes))
        rows = self.bounds.rows
        if first is not None:
            return dtype, (first, *self.choose(f"shape of a row of {name}", rows))
        if on is None:
            lengths = tuple((n,) for n in (range(self.bounds.steps + 1) if kind != "count" else (0, 1, 2)))
            rows = ((), *lengths, *(self.bounds.further if kind != "count" else ()))
        return dtype, self.choose(f"shape of {name}", rows)

    # Values

    def value(self, x: Term, at: At) -> SymbolicArray:
        """A value at some steps of the loops that it is in; at no step (None) only its type matters."""
        if x.args is None:
            return self.variable(x.head, at)
        key = x, tuple(sorted(((str(c), t) for c, t in at.items()), key=str))
        if key not in self._made:
            before, self._at = self._at, at
            try:
                self._made[key] = self._value(x, at)
            finally:
                self._at = before
        made: SymbolicArray = self._made[key]
        return made

    def _value(self, x: Term, at: At) -> SymbolicArray:
        match x.head, x.args:
            case "apply", (Term() as op, Term() as args):
                if is_choice(op):
                    return self._choice(arguments(args), at)
                return self.operator(op)(*(self.value(a, at) for a in self.listed(args)))
            case "hold", (Clock() as c, Term() as inner):
                return self.value(inner, self.loops.outside(c, at))
            case "seq", (Clock() as c, Term() as inner):
                return self._entry(c, inner, at)
            case "delay", (Clock() as c, Term() as init, State() as s, k):
                return self._delayed(c, init, s, self.number(k), at)  # type: ignore[arg-type]
            case "stack", (Clock() as c, Term() as inner):
                return self.trace(c, inner, at, None)
            case "tail", (Clock() as c, Term() as inner, k):
                count = self.number(k)  # type: ignore[arg-type]
                if count < 1:
                    raise NoProgramError(f"the last {count} rows")
                return self.trace(c, inner, at, count)
            case "recent", (Clock() as c, Term() as inner, Term() as n):
                return self.trace(c, inner, at, int(self.value(n, {**at, c: None}).entries[0]))
            case "at", (Clock() as c, Term() as inner, k):
                return self._row(c, inner, at, self.number(k))  # type: ignore[arg-type]
            case "steps", (Clock() as c,):
                return array(np.int64(self.loops.steps(c, at)))
            case "const" | "const_at", (*_, key):
                return self.constant(key)
            case "on", (Term() as move, Term() as inner):
                return self._moved(move, inner, at)
            case "both", (Term() as move, Value() as v, Value() as w):
                x, place = self.loops.one_of(move, v, w, at)
                return self.value(x, place)
            case head, _:
                raise NotImplementedError(f"terms {head}(..)")

    def _choice(self, args: list[Term], at: At) -> SymbolicArray:
        """The value of an ifelse: one of two values; the other one is not computed."""
        condition, x, y = args
        for side in (x, y):
            if side.args is None and side.head not in self.fragile:
                self.fragile[side.head] = self.choose(f"{side} may raise", (True, False))
        one, other = (self.quietly(partial(self.value, side, at)) for side in (x, y))
        if one.dtype != other.dtype or len(one.shape) != len(other.shape):
            raise NoProgramError("sides of several types")
        found = self.value(condition, at)
        if found.shape:
            raise NoProgramError("a condition with axes")
        taken = found.entries[0]
        if not isinstance(taken, bool):
            chosen = self.choose(f"{condition} holds", (True, False))
            self.assume(same(taken, chosen, "bool"))
            taken = chosen
        return self.value(x if taken else y, at)

    def listed(self, args: Term) -> list[Term]:
        """The values of a list of arguments; a list that no condition defines has one to three."""
        out: list[Term] = []
        for a in arguments(args):
            out += self.elements(a) if free_list(a) else [a]
        return out

    def elements(self, args: Term) -> list[Term]:
        """The values of a list, or those that a variable list stands for."""
        if args.args is not None:
            return arguments(args)
        if args.head not in self.lists:
            count = self.choose(f"values in {args.head}", (1, 2, 3)) if self.computed is None else self.computed
            self.lists[args.head] = self.fresh_list(args, count)
            if self.computed is not None:
                self.places.kinds |= dict.fromkeys((v.head for v in self.lists[args.head]), "count")
        return self.lists[args.head]

    def fresh_list(self, args: Term, count: int) -> list[Term]:
        """`count` unknown values for a list variable."""
        names = [f"{args.head}.{i}" for i in range(count)]
        for name in names:
            self.places.on[name] = self.places.on.get(args.head)
        return [Value(name) for name in names]

    def constant(self, key: Any) -> SymbolicArray:
        """A constant by its key."""
        match key:
            case Text(head="+", args=("int64:", Text(args=(k,)))):
                return array(np.int64(self.number(k)))  # type: ignore[arg-type]
            case Text(head="+", args=("empty:", Text(args=None, head=name))):
                dtype, shape = self.texts[name]
                return filled(dtype, (0, *shape), [])
            case Text(args=None, head=name) if name in self.texts:
                found: SymbolicArray = self.texts[name]
                return found
            case str() if key.startswith(("int64:", "float64:")):
                return self.known_number(*key.split(":"))
            case _:
                raise NotImplementedError(f"the constant {key}")

    # Loops

    def _entry(self, c: Clock, rows: Term, at: At) -> SymbolicArray:
        outside = self.loops.outside(c, at)
        n = self.loops.steps(c, outside)
        x = self.variable(rows.head, outside, n) if rows.args is None else self.value(rows, outside)
        if not x.shape or x.shape[0] != n:
            raise NoProgramError(f"a loop of {n} steps reads rows of an array of shape {x.shape}")
        t = at[c]
        return self.junk(x.dtype, x.shape[1:]) if t is None else x.row(t)

    def initial(self, init: Term, k: int, at: At) -> SymbolicArray:
        """The rows of a state before the first step."""
        deep = max(self.places.depths.get(init.head, 1), k)
        if init.args is None and init.head not in self.types and init.head not in self.values:
            self.variable(init.head, at, self.choose(f"rows of {init.head}", (deep, deep + 1)))
        return self.value(init, at)

    def _delayed(self, c: Clock, init: Term, s: State, k: int, at: At) -> SymbolicArray:
        outside, t = self.loops.outside(c, at), at[c]
        start = self.initial(init, k, outside)
        if k < 1 or not start.shape or start.shape[0] < k:
            raise NoProgramError(f"a state read {k} steps back, with {start.shape} before the first step")
        self._carries(s, c, outside, start)
        if t is None:
            return self.junk(start.dtype, start.shape[1:])
        if t < k:
            return start.row(start.shape[0] - k + t)
        return self.state(s, c, t - k, outside, start.dtype, start.shape[1:])

    def _carries(self, s: State, c: Clock, outside: At, start: SymbolicArray) -> None:
        """Check that the new value of a state has its type, also in a loop that runs no step."""
        self._rows_of_states[s.head] = start.dtype, start.shape[1:]
        if s.head in self.updates and (s.head, start.shape) not in self._carried:
            self._carried.add((s.head, start.shape))
            self.state(s, c, None, outside, start.dtype, start.shape[1:])

    def state(
        self, s: State, c: Clock, t: int | None, outside: At, dtype: str, shape: tuple[int, ...]
    ) -> SymbolicArray:
        """The new value of a state at a step."""
        if s.args is None and s.head not in self.updates:
            return self.symbols(f"{s.head} at step {', '.join(map(str, [*outside.values(), t]))}", dtype, shape)
        new = self._seen(s, c, t, outside) if s.args else self.value(self.updates[s.head], {**outside, c: t})
        if new.dtype != dtype or new.shape != shape:
            raise NoProgramError(f"a state of shape {shape} that becomes one of shape {new.shape}")
        return new

    def _seen(self, s: State, c: Clock, t: int | None, outside: At) -> SymbolicArray:
        """The new value of another state at a step, through an operator or times a number."""
        match s.head, s.args:
            case "seen", (Term() as op, State(args=None) as kept):
                return self.operator(op)(self.state(kept, c, t, outside, *self._rows_of_states[kept.head]))
            case "scaled", (State(args=None) as kept, Term() as a):
                before = self.state(kept, c, t, outside, *self._rows_of_states[kept.head])
                return applied(self, Op("multiply"), (before, self.value(a, outside)))
            case head, _:
                raise NotImplementedError(f"states {head}(..)")

    def trace(self, c: Clock, x: Term, at: At, k: int | None) -> SymbolicArray:
        """A value at all executed steps, or at the last k."""
        steps = range(self.loops.executed(c, at))
        kept = steps if k is None else steps[max(len(steps) - k, 0) :]
        like = self.value(x, {**at, c: None})
        rows = [self.value(x, {**at, c: t}) for t in kept]
        before, self._needed = self._needed, False
        for t in steps[: len(steps) - len(kept)]:
            self.value(x, {**at, c: t})
        self._needed = before
        return joined(like.dtype, rows, like.shape)

    def _row(self, c: Clock, x: Term, at: At, k: int) -> SymbolicArray:
        if k < 0 or self.loops.steps(c, at) > k + 1:
            raise NoProgramError(f"row {k} of a loop that may run more steps")
        n = self.loops.executed(c, at)
        rows = [self.value(x, {**at, c: t}) for t in range(n)]
        if n == k + 1:
            return rows[k]
        self.raises(True)
        return self.value(x, {**at, c: None})

    def _moved(self, move: Term, x: Term, at: At) -> SymbolicArray:
        match move.head, move.args:
            case "to_step", (Clock() as c, t):
                step = self.number(t)  # type: ignore[arg-type]
                if not 0 <= step < self.loops.executed(c, at):
                    raise NoProgramError(f"step {step} of a loop that runs fewer")
                return self.value(x, {**at, c: step})
            case "to_cut" | "to_upto", (Clock() as c, n):
                cut = Clock(move.head.removeprefix("to_"), (c, n))
                return self.value(x, {**self.loops.outside(cut, at), c: at[cut]})
            case "lifted", (Clock() as c, Clock() as d):
                both = Clock("lift", (c, d))
                outside, u = self.loops.outside(both, at), at[both]
                like = self.value(x, {**outside, c: None, d: u})
                places = ({**outside, c: t, d: u} for t in range(self.loops.executed(c, outside)))
                rows = [self.value(x, self.loops.not_after_end(d, place)) for place in places]
                return joined(like.dtype, rows, like.shape)
            case head, _:
                raise NotImplementedError(f"the re-timing {head}")

    # Operators

    def operator(self, op: Term) -> Operator:
        """An operator as a function of arrays."""
        match operator_form(op):
            case Named(name):
                return self.operators.setdefault(name, UnknownFunction(self, name))
            case TableOperator(made):
                return lambda *xs: applied(self, made, xs)
            case Taken(what, k):
                n = self.number(k)
                return lambda x: self._taken(what, x, n)
            case Along(op_):
                made = Op.make(op_.name, **{name: self.numbers(value) for name, value in op_.params})
                return lambda *xs: applied(self, made, xs)
            case Vmap(inner, flags):
                return lambda *xs: self.batched(inner, self.text(flags), *xs)

    def unknown(self, op: Term) -> UnknownFunction:
        """An operator as an unknown function, for conditions.  Raises NotImplementedError if the law gives its name."""
        found = self.operator(op)
        if not isinstance(found, UnknownFunction):
            raise NotImplementedError(f"conditions of {op}")
        return found

    def text(self, x: Text | str) -> Any:
        """A text of the law."""
        return x if isinstance(x, str) else self.texts[x.head]

    def _taken(self, what: str, x: SymbolicArray, k: int) -> SymbolicArray:
        if what == "length":
            if not 0 <= k < len(x.shape):
                raise NoProgramError(f"axis {k} of an array of shape {x.shape}")
            return array(np.int64(x.shape[k]))
        if not x.shape or (what == "last_rows" and k < 1):
            raise NoProgramError(f"{what} {k} of an array of shape {x.shape}")
        if what == "last_rows":
            return SymbolicArray(x.dtype, x.data[-k:])
        if not -x.shape[0] <= k < x.shape[0]:
            self.raises(True)
            return self.junk(x.dtype, x.shape[1:])
        return x.row(k)

    def _any_row(self, x: SymbolicArray) -> SymbolicArray:
        """Some row, even if there is none: zeros for known numbers (which say where or how many), else unknowns."""
        shape = x.shape[1:]
        return self.junk(x.dtype, shape) if known(x) is None else filled(x.dtype, shape, [0] * int(np.prod(shape)))

    def quietly(self, run: Callable[[], SymbolicArray]) -> SymbolicArray:
        """Compute a value for its type only: neither its errors nor its parts are kept."""
        errors, self.errors = self.errors, []
        made, self._made = self._made, {}
        try:
            return run()
        finally:
            self.errors, self._made = errors, made

    def batched(self, op: Term, flags: str, *xs: SymbolicArray) -> SymbolicArray:
        """Apply an operator along the first axis of the flagged arguments."""
        lengths = {x.shape[0] if x.shape else -1 for x, f in zip(xs, flags, strict=True) if f == "1"}
        if len(lengths) != 1 or -1 in lengths:
            raise NoProgramError("batched arguments of several lengths")
        made = self.operator(op)
        run = made.batched() if isinstance(made, UnknownFunction) else made
        some = [self._any_row(x) if f == "1" else x for x, f in zip(xs, flags, strict=True)]
        like = self.quietly(lambda: run(*some))
        rows = [
            run(*(x.row(t) if f == "1" else x for x, f in zip(xs, flags, strict=True))) for t in range(lengths.pop())
        ]
        return joined(like.dtype, rows, like.shape)
