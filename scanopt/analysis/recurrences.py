"""Facts from the text of a program about its recurrences: their cycles, and the operators that have closed forms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from scanopt.analysis.components import components
from scanopt.array.numerics.running import ACCUMULATED
from scanopt.array.op import Op, Operand
from scanopt.array.operators.recurrences import accumulator, folder
from scanopt.array.shapes import ufunc_dtypes
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import TermGraph, const_key

__all__ = ["BITS", "PICKS", "closed_operators", "constants_of_states", "cycles", "recurrence_facts"]

Row = tuple[str, tuple[Op | int | str, ...]]

_EXACT_KINDS = "biu"
_ROWS = (
    "forward_fill", "lfilter", "lfilter2", "linear_recurrence", "masked_flips", "smoothing", "raised_sum",
    "capped_sum", "clamped_sum",
)  # fmt: skip


def closed_operators(ops: Iterable[Op]) -> list[Op]:
    """The operators in the closed forms of recurrences by these operators."""
    known = list(ops)
    names = [op.name for op in known if op.name in ACCUMULATED and not op.params]
    names += [g for op in known for g in (BITS.get(op.name), *PICKS.get(op.name, ())) if g]
    return [
        *map(Op.make, dict.fromkeys(names)),
        *(f(name) for name in dict.fromkeys(names) for f in (accumulator, folder, _segmented, _in_order)),
    ]


BITS = {
    "logical_and": "bitwise_and", "logical_or": "bitwise_or", "logical_xor": "bitwise_xor", "not_equal": "bitwise_xor",
}  # fmt: skip
"""Operators on bools, and the bitwise operators that are the same on bools."""

PICKS = {
    "less": ("minimum", "maximum"), "less_equal": ("minimum", "maximum"),
    "greater": ("maximum", "minimum"), "greater_equal": ("maximum", "minimum"),
}  # fmt: skip
"""By op, what where(op(x, y), x, y) and where(op(x, y), y, x) are for integers."""


def _in_order(ufunc: str) -> Op:
    return Op.make("fold_in_order", ufunc=ufunc)


def _segmented(ufunc: str) -> Op:
    return Op.make("segmented", ufunc=ufunc)


def recurrence_facts(ops: Sequence[Op], dtypes: Sequence[str], fp: str) -> Iterator[Row]:
    """The closed forms of recurrences by these operators, with states of these dtypes, for the licence `fp`."""
    for op in ops:
        if op.name in _ROWS or op.name in ("accumulate", "segmented"):
            yield "recurrent", (op,)
        if op.name == "accumulate":
            yield from _cumulative(op, dtypes)
        if op.name in BITS:
            yield "on_bools", (op, Op.make(BITS[op.name]))
        for fact, g in zip(("picks", "picks_other"), PICKS.get(op.name, ()), strict=False):
            yield fact, (op, Op.make(g))
        if kinds := _LIKE_ARGUMENT.get(op.name):
            yield from (("like_argument", (op, d)) for d in _left_as_they_are(op, dtypes, kinds))
        traits = op.spec.traits
        for d in dtypes:
            loose = fp != "exact"
            associative = traits.associative and (np.dtype(d).kind in _EXACT_KINDS or loose) and _closed(op, d)
            if traits.holds("commutative", d) or (loose and _swaps_nearly(op, d)):
                yield "swaps", (op, d)
            if associative:
                yield "regroups", (op, d)
            if not _accumulates(op, d, loose):
                continue
            yield "accumulates", (op, d, accumulator(op.name))
            yield "segments", (op, d, _segmented(op.name))
            yield "folds_in_order", (op, d, _in_order(op.name))
            if associative:
                yield "folds", (op, d, folder(op.name))


_CUMULATIVE = {"add": "cumsum", "multiply": "cumprod", "maximum": "cummax", "minimum": "cummin"}


def _cumulative(op: Op, dtypes: Iterable[str]) -> Iterator[Row]:
    """Facts about cumulative operators that equal `accumulate` started from the first row, in the dtype of the rows."""
    ufunc = op.options["ufunc"]
    if ufunc in _CUMULATIVE:
        g = Op.make(_CUMULATIVE[ufunc], axis=0)
        kept = (d for d in dtypes if np.dtype(d).kind in "if" and g.infer(Operand(d, (2,))).dtype == d)
        yield from (("cumulates", (op, g, d)) for d in kept)
        if ufunc in ("maximum", "minimum"):
            yield "cumulates_from_itself", (op, g)


_LIKE_ARGUMENT = {"negative": "iufc", "logical_not": "b", "invert": "biu", "cumsum": "f", "transpose": "iufcb"}
"""Operators of one argument, with the kinds of dtype that they leave as they are."""


def _left_as_they_are(op: Op, dtypes: Iterable[str], kinds: str) -> Iterator[str]:
    """The dtypes of these kinds that op gives for arguments of them: a running sum may have a parameter `dtype`."""
    return (d for d in dtypes if np.dtype(d).kind in kinds and op.options.get("dtype", d) == d)


_OPPOSITES = {
    "subtract": "add", "negative": "multiply", "invert": "bitwise_xor", "logical_not": "bitwise_xor",
    "equal": "bitwise_xor",
}  # fmt: skip
"""Operators on states that laws write with -1, or with all bits set, and the operators that they then are."""


def constants_of_states(g: Encoded) -> Iterator[Row]:
    """The constants that recurrences are written with, of the dtypes of states."""
    found = dict.fromkeys(g.types[u].dtype for s in g.states.values() for u in s.updates)
    dtypes = [d for d in found if np.dtype(d).kind in "biuf"]
    names = {f.operator.name for _, f in g.forms() if f.operator is not None} if dtypes else set()
    accumulated = {_OPPOSITES.get(n, n) for n in names} if names & {"where", "ifelse"} else set()
    for d in dtypes:
        if names & _OPPOSITES.keys() or _has_minus_one(g, d):
            key, minus_one = _constant(np.array(-1).astype(d))
            yield "minus_one", (d, key, minus_one)
            if d != "bool":
                yield "negates", (minus_one, d)
        for op in map(Op.make, ACCUMULATED):
            if op.name in accumulated and (e := op.spec.traits.element("identity", d)) is not None and _closed(op, d):
                yield "unit", (op, d, *_constant(np.array(e).astype(d)))


def _has_minus_one(g: Encoded, dtype: str) -> bool:
    return any(x.dtype == dtype and not x.ndim and x == -1 for x in g.consts.values())


def _constant(value: np.ndarray[Any, Any]) -> tuple[str, str]:
    key = const_key(value)
    return key, f"const {key}"


def _swaps_nearly(op: Op, dtype: str) -> bool:
    """Whether only the sign of a zero or a rounding depends on the order of the arguments."""
    return op.spec.traits.commutative and (np.dtype(dtype).kind == "f" or op.name in ("add", "multiply"))


def _accumulates(op: Op, dtype: str, loose: bool) -> bool:
    kind = np.dtype(dtype).kind
    if op.params or kind not in ACCUMULATED.get(op.name, "") or (op.name == "multiply" and kind == "c" and not loose):
        return False
    return _closed(op, dtype)


def _closed(op: Op, dtype: str) -> bool:
    """Whether op of two arguments of a dtype is of that dtype."""
    try:
        return ufunc_dtypes(op.name, (dtype, dtype))[-1] == dtype
    except TypeError:
        return False


def cycles(g: TermGraph) -> Iterator[Row]:
    """For each state, the cycle that it is on, and the arguments that enter the cycle from outside."""
    needs: dict[int, list[int]] = {}
    for i, f in g.forms():
        needs[i] = [*f.args, *(g.states[f.state].updates if f.kind == "delay" else ())]
    component = components(needs)
    size = Counter(component.values())
    carried = {component[u] for s in g.states.values() for u in s.updates if size[component[u]] > 1}
    for s, info in g.states.items():
        for u in info.updates:
            if component[u] in carried:
                yield "cycle", (s, str(component[u]))
    told: set[tuple[int, int]] = set()
    for i, f in g.forms():
        k = component[i]
        if k in carried and f.kind == "apply":
            for a in f.args:
                if component[a] != k and (k, a) not in told:
                    told.add((k, a))
                    yield "outside", (str(k), a)
