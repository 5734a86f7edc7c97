"""Random programs that contain the left side of a law, to attack it where its author has not tried it.

Every variable of the pattern becomes something that it may stand for, every clock a loop of some kind: with an
`until`, of no, one, few, unknown steps, backwards, inside another loop.  What the conditions say of states is taken up
about half of the time, so that the law fires, and ignored otherwise, so that a law without its conditions fires where
it must not.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from scanopt import tensor as T
from scanopt.array.op import Op
from scanopt.array.variable import apply
from scanopt.calculus.law import Law, Program
from scanopt.calculus.terms import Clock, Int, State, Term, Value, operator_of
from scanopt.lab.leaves import Leaves
from scanopt.loops.scan import scan
from scanopt.loops.until import until
from scanopt.records import dataclass

__all__ = ["instances"]

_BEYOND = ("vmap", "lift", "lifted", "chunks", "on", "to_step", "to_cut", "cut", "to_upto", "upto", "const_at")
"""Constructors that are in no program as written: only the calculus makes them."""

_TRIES = 300
"""How many failed attempts in a row end the search: a random program need not have types that fit."""

_CHOICES = ("where", "ifelse")
"""Operators whose first argument is a condition."""


def instances(law: Law, count: int, seed: int = 0, checked: str = "") -> Iterator[Program]:
    """At most `count` programs that contain the left side of a law; none if no program can.

    checked: the name of a variable; what stands for it outside all loops may raise.
    """
    if any(head in _BEYOND for head in _heads(law.equation.left)):
        return
    rng = random.Random(f"{law.name} {seed}")
    failed = made = 0
    while made < count and failed < _TRIES:
        program = _Instance(law, rng.random(), checked)
        try:
            program.outputs(Leaves.inputs())
        except (AttributeError, IndexError, KeyError, NotImplementedError, TypeError, ValueError):
            failed += 1
            continue
        made, failed = made + 1, 0
        yield program.program


def _heads(x: Term) -> Iterator[str]:
    if x.args is not None:
        yield x.head
        for a in x.args:
            if isinstance(a, Term):
                yield from _heads(a)


@dataclass(frozen=True)
class _Instance:
    """One program: the law, a seed, and the variable whose value may raise."""

    law: Law
    seed: float
    checked: str

    def outputs(self, given: Sequence[Any]) -> list[Any]:
        return _Maker(self.law, random.Random(self.seed), given, self.checked).outputs()

    def program(self, x: Any, y: Any, X: Any, Y: Any, a: Any, b: Any, k: Any, n: Any, p: Any, q: Any, m: Any) -> Any:
        return self.outputs((x, y, X, Y, a, b, k, n, p, q, m))


class _Maker:
    """Makes a program, from the outside of the pattern inwards."""

    def __init__(self, law: Law, rng: random.Random, given: Sequence[Any], checked: str) -> None:
        self.law = law
        self.rng = rng
        self.checked = checked
        self.leaves = Leaves(rng, given)
        self.ops: dict[str, Callable[..., Any]] = {}
        self.loops: dict[str, tuple[Any, str, bool]] = {}
        self.outside: dict[str, Any] = {}
        self.becomes = {
            c.args[0].head: c.args[1]
            for c in law.equation.when
            if c.fact == "becomes" and isinstance(c.args[0], Term) and isinstance(c.args[1], Term)
        }

    def outputs(self) -> list[Any]:
        left = self.law.equation.left
        if isinstance(left, Clock):
            return [self._loop(name, [], None)[0] for name in _clocks(self.law)]
        if isinstance(left, State) or left.args is None:
            raise NotImplementedError("no pattern")
        home = _home(left) or self.rng.choice(("", "c"))
        if not home:
            return [self.value(left, "", {})]
        return self._loop(home, [left], None)

    # Loops

    def _kind(self, c: str) -> tuple[Any, str, bool]:
        if c not in self.loops:
            few = self.rng.choice((0, 1, 2, 3))
            steps = self.rng.choice((None, None, None, "n", "n", few, few))
            until = self.rng.choice(("", "", "", "", "entry", "entry", "state", "true", "false"))
            self.loops[c] = steps, until, self.rng.random() < 0.1
        return self.loops[c]

    def _loop(self, c: str, wanted: list[Term], around: dict[str, Any] | None) -> list[Any]:
        """Make the loop of a clock: the traces of the values of patterns, or of some value where there are none."""
        steps, end, backwards = self._kind(c)
        rng, leaves = self.rng, self.leaves
        patterns = [*wanted, *(u for s in _states(wanted, c) if (u := self.becomes.get(s)) is not None)]
        depth = {s: max([k, *_depths(self.becomes.get(s), s)]) for s, k in _states(patterns, c).items()}
        sequences: dict[Term, Any] = {}
        for x in _subterms(patterns):
            if x.head == "seq" and x.args is not None and _name(x.args[0]) == c and x not in sequences:
                (inner,) = x.args[1:]
                assert isinstance(inner, Term)
                sequences[x] = self.value(inner, "", around or {})
        free = leaves.entries(rng.choice((1, 2)))
        if steps is None and not sequences and not free:
            steps = "n"
        number = leaves.number() if steps == "n" else steps
        start = {s: leaves.rows(k) for s, k in depth.items()}
        extra = rng.random() < 0.6
        outputs_info: list[Any] = [
            dict(initial=rows, taps=[-j for j in range(depth[s], 0, -1)]) for s, rows in start.items()
        ]
        outputs_info += [leaves.start()] if extra else []

        def step(*given: Any) -> Any:
            rest = list(given)
            entries = [rest.pop(0) for _ in (*sequences, *free)]
            read = dict(zip(sequences, entries, strict=False))
            scope: dict[str, Any] = {"": entries, "read": read}
            for s, k in depth.items():
                for j in range(k, 0, -1):
                    scope[f"{s} {j}"] = rest.pop(0)
            own = rest.pop(0) if extra else None
            scope["state"] = own
            values = [self.value(w, c, scope) for w in wanted] or [self._inner(scope)]
            updates = [self._update(s, c, scope) for s in depth]
            results = [*updates, *([self._next(own, scope)] if extra else []), *values]
            if end == "":
                return results
            return results, until(self._end(end, scope))

        found, _ = scan(
            step,
            [*sequences.values(), *free] or None,
            [*outputs_info, *[None] * max(len(wanted), 1)],
            n_steps=number,
            go_backwards=backwards,
        )
        found = list(found) if isinstance(found, list | tuple) else [found]
        return found[len(outputs_info) :]

    def _inner(self, scope: dict[str, Any]) -> Any:
        """Some value inside a loop."""
        entries, own = scope[""], scope["state"]
        ways = [*entries, *([own] if own is not None else []), self.leaves.outside()]
        x = self.rng.choice([*entries, *ways])
        return self.leaves.operator(1)(x) if self.rng.random() < 0.3 else x

    def _update(self, s: str, c: str, scope: dict[str, Any]) -> Any:
        pattern, now = self.becomes.get(s), scope[f"{s} 1"]
        if pattern is not None and self.rng.random() < 0.6:
            return self.value(pattern, c, scope)
        return self._next(now, scope)

    def _next(self, now: Any, scope: dict[str, Any]) -> Any:
        """Some next value of a state, of its type."""
        x = self.rng.choice([now, *(e for e in scope[""] if e.ndim == 0), self.leaves.scalar()])
        new = self.rng.choice(
            (lambda: now, lambda: x, lambda: now + x, lambda: T.maximum(now, x), lambda: T.tanh(now))
        )()
        return T.cast(new.sum() if new.ndim > now.ndim else new, now.dtype)

    def _end(self, until: str, scope: dict[str, Any]) -> Any:
        numbers = [e for e in scope[""] if e.ndim == 0]
        if until == "state" and scope["state"] is not None:
            numbers = [scope["state"]]
        if until in ("true", "false") or not numbers:
            return T.constant(until != "false")
        return T.gt(numbers[0], self.rng.choice((0, 0.5, 1)))

    # Values

    def value(self, x: Term, c: str, scope: dict[str, Any]) -> Any:
        """A pattern as a symbolic variable: outside all loops, or on clock c."""
        if x.args is None:
            return self._variable(x, c, scope)
        args = x.args
        match x.head:
            case "seq":
                return scope["read"][x]
            case "hold":
                assert isinstance(args[1], Term)
                return self._held(args[1])
            case "delay":
                return scope[f"{_name(args[2])} {self._int(args[3])}"]
            case "stack" | "tail" | "at":
                assert isinstance(args[1], Term)
                (trace, *_) = self._loop(_name(args[0]), [args[1]], scope if c else None)
                if x.head == "stack":
                    return trace
                k = self._int(args[2])
                return trace[-max(k, 1) :] if x.head == "tail" else trace[k]
            case "steps":
                return self.leaves.number()
            case "const":
                return T.constant(int(str(args[0]).partition(":")[2]))
            case "apply":
                return self._applied(args, c, scope)
            case head:
                raise NotImplementedError(head)

    def _held(self, x: Term) -> Any:
        if x.args is not None:
            return self.value(x, "", {})
        return self._outside(x.head)

    def _outside(self, name: str) -> Any:
        """The value that stands for a variable outside all loops, the same each time."""
        drawn = self.leaves.outside()
        return self.outside.setdefault(name, self.leaves.checked(drawn) if name == self.checked else drawn)

    def _variable(self, x: Term, c: str, scope: dict[str, Any]) -> Any:
        if not c:
            return self._outside(x.head)
        if x.head not in scope:
            scope[x.head] = self._inner(scope)
        return scope[x.head]

    def _int(self, x: Any) -> int:
        if isinstance(x, int):
            return x
        if x.args is None:
            return int(self.outside.setdefault(x.head, self.rng.choice((-2, -1, 0, 1, 2))))
        one, other = (self._int(a) for a in x.args)
        return one + other if x.head == "+" else one - other

    def _applied(self, args: Sequence[Any], c: str, scope: dict[str, Any]) -> Any:
        op, rest = args
        if rest.args is None:  # a variable list
            count = self.rng.choice((1, 1, 2, 2, 2, 3))
            if rest.head not in scope:
                drawn = [self._inner(scope) if c else self.leaves.outside() for _ in range(count)]
                scope[rest.head] = [self.leaves.checked(x) for x in drawn] if rest.head == self.checked else drawn
            values = scope[rest.head]
        else:
            elements = _elements(rest)
            values = [self.value(v, c, scope) for v in elements]
            if op.args is not None and op.args[0] in _CHOICES and values[0].dtype != "bool":
                values[0] = T.gt(values[0], 0)
                (scope if c else self.outside)[elements[0].head] = values[0]
        return self._operator(op, len(values))(*values)

    def _operator(self, op: Any, count: int) -> Callable[..., Any]:
        if op.args is None:
            return self.ops.setdefault(f"{op.head} {count}", self.leaves.operator(count))
        if op.head not in ("prim", "prim_with"):
            raise NotImplementedError(op.head)
        made = operator_of(op)
        if not op.variables():
            return lambda *values: apply(made, *map(T.as_tensor_variable, values))
        params = {k: self._parameter(v) for k, v in made.params}
        return lambda *values: apply(Op.make(made.name, **params), *map(T.as_tensor_variable, values))

    def _parameter(self, x: Any) -> Any:
        """A parameter with numbers in place of variables; what counts from the end of an axis counts at least 1."""
        match x:
            case ("slice", *bounds):
                return ("slice", *(min(self._parameter(b), -1) if _from_end(b) else self._parameter(b) for b in bounds))
            case tuple():
                return tuple(map(self._parameter, x))
            case Int():
                return self._int(x)
            case _:
                return x


# Patterns


def _from_end(x: Any) -> bool:
    return isinstance(x, Int) and x.head == "-" and x.args is not None and x.args[0] == 0


def _name(x: Any) -> str:
    if not isinstance(x, Term) or x.args is not None:
        raise NotImplementedError("a clock or state that is not a variable")
    return x.head


def _elements(x: Term) -> list[Term]:
    if x.head != "cons" or x.args is None:
        if x.head != "nil":
            raise NotImplementedError("a list with a variable end")
        return []
    first, rest = x.args
    assert isinstance(first, Term)
    assert isinstance(rest, Term)
    return [first, *_elements(rest)]


def _subterms(terms: Sequence[Term]) -> Iterator[Term]:
    """These terms and all terms inside them, without those inside other loops."""
    for x in terms:
        yield x
        if x.args is not None and x.head not in ("stack", "tail", "at", "hold"):
            yield from _subterms([a for a in x.args if isinstance(a, Term)])


def _states(terms: Sequence[Term], c: str) -> dict[str, int]:
    """The states of a clock that patterns read, and how far back."""
    out: dict[str, int] = {}
    for x in _subterms(terms):
        if x.head == "delay" and x.args is not None and _name(x.args[0]) == c:
            s, k = _name(x.args[2]), x.args[3]
            out[s] = max(out.get(s, 1), k if isinstance(k, int) else 2)
    return out


def _depths(x: Term | None, s: str) -> list[int]:
    found = _subterms([x]) if x is not None else ()
    return [
        y.args[3] if isinstance(y.args[3], int) else 2
        for y in found
        if y.head == "delay" and y.args is not None and _name(y.args[2]) == s
    ]


def _home(x: Term) -> str:
    """The clock that a pattern is on: "" where it does not say."""
    if x.args is None or x.head in ("stack", "tail", "at", "steps"):
        return ""
    if x.head in ("seq", "hold", "delay"):
        return _name(x.args[0])
    found = [_home(a) for a in x.args if isinstance(a, Value | Term) and not isinstance(a, Int)]
    return next(filter(None, found), "")


def _clocks(law: Law) -> list[str]:
    return sorted({v for c in law.equation.when for a in c.args if isinstance(a, Clock) for v in a.variables()})
