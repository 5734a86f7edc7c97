"""The meanings of facts about parts of results that are computed element by element, or row by row."""

from __future__ import annotations

from scanopt.array.op import Op
from scanopt.array.operators.indexing import FULL
from scanopt.calculus.terms import Term
from scanopt.lab.proving.arrays import SymbolicArray, joined
from scanopt.lab.proving.facts import fact
from scanopt.lab.proving.facts_parts import computed, operator
from scanopt.lab.proving.model import Model, Operator
from scanopt.lab.proving.unknown import of_entries

__all__: list[str] = []

_OF_ROWS = (
    (0,), (-1,), ("in",), (("slice", 1, None, None),), (("slice", None, "in", None),), (("slice", None, None, -1),),
)  # fmt: skip
_OF_ENTRIES = ((FULL, 0), (FULL, ("slice", None, "in", None)), (-1, ("slice", 1, None, None)))


def _taking(m: Model, g: Term, indices: tuple[tuple[object, ...], ...]) -> tuple[object, ...]:
    """Choose the index of an operator that takes a part."""
    index = m.choose(f"index of {g}", indices)
    m.operators[g.head] = operator(m, Op.make("getitem", index=index))
    m.computed = computed(index)
    return index


@fact
def takes_consecutive_rows(m: Model, g: Term) -> None:
    _taking(m, g, tuple(index for index in _OF_ROWS if isinstance(index[0], tuple)))


@fact
def takes_leading_rows(m: Model, g: Term) -> None:
    _taking(m, g, tuple((("slice", None, stop, None),) for stop in (2, -1, "in")))


@fact
def leading_rows(m: Model, g: Term, v: Term, w: Term) -> None:
    takes_leading_rows(m, g)


@fact
def is_a_part_of_rows(m: Model, g: Term) -> None:
    _taking(m, g, _OF_ROWS)


@fact
def takes_a_column(m: Model, g: Term, h: Term) -> None:
    index = _taking(m, h, ((0,), (-1,), ("in",)))
    m.operators[g.head] = operator(m, Op.make("getitem", index=(FULL, *index)))


@fact
def runs_down_rows(m: Model, op: Term) -> None:
    total = _reducing(m, m.choose(f"{op}", ("sum", "prod")), 0)

    def run(x: SymbolicArray) -> SymbolicArray:
        like = total(x)
        first = (operator(m, Op.make("getitem", index=(("slice", None, n + 1, None),))) for n in range(x.shape[0]))
        return joined(like.dtype, [total(part(x)) for part in first], like.shape)

    m.operators[op.head] = run


@fact
def adds_up_rows(m: Model, op: Term) -> None:
    rows, all_axes = _reducing(m, "sum", 0), m.choose(f"{op} adds up everything", (False, True))
    m.operators[op.head] = _in_turn(rows, _reducing(m, "sum", 0)) if all_axes else rows


@fact
def reduces_in_two(m: Model, g: Term, h: Term, op: Term) -> None:
    name = m.choose(f"{op}", ("sum", "prod", "max", "min"))
    first, later = _reducing(m, name, m.choose(f"axis of {h}", (0, 1))), _reducing(m, name, 0)
    m.operators[h.head], m.operators[g.head] = first, later
    m.operators[op.head] = _in_turn(_reducing(m, name, 1), later)


def _reducing(m: Model, name: str, axis: int) -> Operator:
    return operator(m, Op.make(name, axis=(axis,), keepdims=False))


def _in_turn(first: Operator, later: Operator) -> Operator:
    return lambda x: later(first(x))


@fact
def parts_of(m: Model, g: Term, bounds: Term, v: Term, op: Term, xs: Term, o: Term) -> None:
    of_rows = len(_taking(m, g, (*_OF_ROWS, *_OF_ENTRIES))) == 1
    kinds = m.choose(f"values in {xs}, with parts or whole", ("p", "pp", "pw", "wp"))
    given = m.fresh_list(xs, len(kinds))
    m.lists[xs.head] = given
    m.lists[o.head] = [g(x, bounds) if kind == "p" else x for x, kind in zip(given, kinds, strict=True)]  # type: ignore[operator]
    of_entries(m, [m.unknown(op)])
    shape = m.value(v, {}).shape
    for x, kind in zip(given, kinds, strict=True):
        own = m.value(x, {}).shape
        if kind == "p":
            m.assume(own == shape or (of_rows and len(own) == len(shape) > 0 and own[0] == shape[0]))
        else:
            m.assume(own == () or (of_rows and len(own) < len(shape)))


@fact
def row_by_row(m: Model, X: Term, v: Term, op: Term) -> None:
    m.unknown(op).fails, m.unknown(op).exact = False, True
    assert v.args is not None
    h = v.args[0]
    assert isinstance(h, Term)
    m.operators[h.head] = lambda x: m.batched(op, "1", x)
    m.assume(len(m.value(X, {}).shape) > 0)
