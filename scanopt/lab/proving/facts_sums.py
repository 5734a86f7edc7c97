"""The meanings of facts about sums, products side by side and chunks of loops."""

from __future__ import annotations

from math import prod

from scanopt.calculus.terms import Clock, Term
from scanopt.lab.proving.arrays import SymbolicArray, array, filled, joined
from scanopt.lab.proving.choices import NoProgramError
from scanopt.lab.proving.entries import lifted, z3
from scanopt.lab.proving.facts import MEANINGS, fact, say
from scanopt.lab.proving.loops import At
from scanopt.lab.proving.model import Model
from scanopt.lab.proving.operators import pointwise, total

__all__: list[str] = []

_ROWS = (0,), (1,), (3,), (0, 2), (1, 2), (3, 2), (2, 1), (2, 1, 2)
_IN_EACH = (), (1,), (2,), (2, 2)


@fact
def adds_up(m: Model, x: Term, s: Term) -> None:
    def summed(at: At) -> SymbolicArray:
        found = m.value(x, at)
        if not found.shape:
            raise NoProgramError("the rows of a scalar")
        return total(m, [found.row(t) for t in range(found.shape[0])], found.dtype, found.shape[1:])

    say(m, s, summed)


MEANINGS["adds_up_freely"] = adds_up


@fact
def sums_alike(m: Model, x: Term) -> None:
    m.assume(m.kind(m.type_of(x)[0]) not in ("bool", "int8"))


@fact
def more_axes(m: Model, x: Term, y: Term) -> None:
    m.assume(len(m.type_of(x)[1]) > len(m.type_of(y)[1]))


@fact
def in_each_row(m: Model, v: Term, X: Term, y: Term) -> None:
    for x, shapes in ((X, _ROWS), (y, _IN_EACH)):
        m.types[x.head] = m.choose(f"dtype of {x}", m.dtypes), m.choose(f"shape of {x}", shapes)
    m.assume(len(m.types[X.head][1]) > len(m.types[y.head][1]))
    say(m, v, X + y if m.choose(f"{y} is added from the right", (True, False)) else y + X)  # type: ignore[operator]


@fact
def chain(m: Model, x: Term, y: Term, z: Term) -> None:
    types = [m.type_of(v) for v in (x, y, z)]
    m.assume(len({d for d, _ in types}) == 1 and len(types[1][1]) == 2)
    m.assume(all(len(s) in (1, 2) for _, s in types))


@fact
def beside(m: Model, c: Clock, x: Term, w: Term, all_: Term, n: Term, op: Term) -> None:
    dtype, shape = m.type_of(all_)
    m.assume(len(shape) == 2)
    first = m.choose(f"{n}", range(shape[1] + 1))
    count = m.choose(f"columns of {w}", range(shape[1] - first + 1))
    say(m, n, lambda at: array(first))
    say(m, w, lambda at: SymbolicArray(dtype, m.value(all_, at).data[:, first : first + count]))
    m.operators[op.head] = lambda p, a, b: SymbolicArray(p.dtype, p.data[..., int(a.entries[0]) : int(b.entries[0])])


@fact
def cholesky_factor(m: Model, v: Term) -> None:
    dtype, shape = m.type_of(v)
    m.assume(len(shape) == 2)
    m.assume(dtype in ("real", "A", "B"))
    for i in range(min(shape)):
        if dtype == "real":
            m.assume(m.value(v, {}).data[i, i] != 0)


# Parts of zeros


@fact
def adds_to_part(m: Model, op: Term) -> None:
    adds = m.choose(f"{op.head} adds to each element", (False, True))  # one choice for each operator
    known: list[list[str]] = []

    def added(x: SymbolicArray, *more: SymbolicArray) -> SymbolicArray:
        m.assume(not any(given.shape for given in more))  # a scalar represents arrays, too
        told = [lifted(entry, given.dtype).sexpr() for given in more for entry in given.entries]
        known.extend([] if told in known else [told])
        what = m.symbols(f"what {op.head} adds {known.index(told)}", x.dtype, x.shape)  # equal only for equal arguments
        return pointwise(m, "add", x, what) if adds else x

    m.operators[op.head] = added


MEANINGS["adds_to_parts"] = adds_to_part


@fact
def filled_up(m: Model, x: Term, zeros: Term) -> None:
    dtype, shape = m.choose(f"dtype of {x}", m.dtypes), m.choose(f"shape of {x}", ((), (2,)))
    found = m.symbols(f"what fills up {x}", dtype, shape)
    say(m, zeros, lambda at: filled(dtype, shape, [0] * prod(shape)))
    say(m, x, lambda at: found)
    for entry in found.entries if dtype == "fp" else ():
        m.assume(z3().Not(z3().And(z3().fpIsZero(entry), z3().fpIsNegative(entry))))


# Chunks


@fact
def chunked(m: Model, c: Clock, v: Term, w: Term) -> None:
    def rows_of_chunk(at: At) -> SymbolicArray:
        outside = m.loops.outside(Clock("chunks", (c,)), at)
        j, size, n = at[Clock("chunks", (c,))], m.loops.chunk(), m.loops.steps(c, {})
        like = m.value(v, {**outside, c: None})
        steps = [None if j is None or j * size + i >= n else j * size + i for i in range(max(min(size, n), 1))]
        return joined(like.dtype, [m.value(v, {**outside, c: t}) for t in steps], like.shape)

    say(m, w, rows_of_chunk)


@fact
def ends_in_chunks(m: Model, c: Clock, u: Term) -> None:
    n, run = m.loops.steps(c, {}), m.loops.executed(c, {})
    last = [True] if run < n else [True, False]
    ends = [*[False] * (run - 1), *([m.choose("the loop ends by its condition", last)] if run else [])]
    beyond = m.choose("what the condition is afterwards", (False, True))

    def conditions(at: At) -> SymbolicArray:
        j, size = at[Clock("chunks", (c,))], m.loops.chunk()
        steps = range(max(min(size, n), 1))
        return array([j is not None and (ends[j * size + i] if j * size + i < run else beyond) for i in steps])

    say(m, u, conditions)
