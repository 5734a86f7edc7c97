"""The given facts: those marked (given), which no rule derives and which are read off the program and its operators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import Any

import numpy as np

from scanopt.analysis.checked_values import checked_values, silent_values
from scanopt.analysis.components import components
from scanopt.analysis.consecutive_loops import loops_in_parts
from scanopt.analysis.contractions import adding_up, summing_operators
from scanopt.analysis.conversions import conversions
from scanopt.analysis.expansions import Expansions, expansions
from scanopt.analysis.few_steps import kinds_of_loops
from scanopt.analysis.filled_arrays import written_in_order
from scanopt.analysis.indexing import OF_PARTS, counts_of_rows, facts_of_parts, operators_of_parts, written_bounds
from scanopt.analysis.invariant_loops import invariant_loops
from scanopt.analysis.known_operands import fits_in_any_case
from scanopt.analysis.late_reads import reading_late
from scanopt.analysis.lengths import KnownLengths, known_lengths
from scanopt.analysis.parts_of_elements import arguments_in_parts, related_to_parts
from scanopt.analysis.recurrences import closed_operators, constants_of_states, cycles, recurrence_facts
from scanopt.analysis.reductions import facts_of_reductions, related_reductions
from scanopt.analysis.shared_operands import products_beside
from scanopt.analysis.signs import facts_of_signs, opposite_operators
from scanopt.analysis.static_shapes import stacked_states, static_shapes
from scanopt.analysis.whole_arrays import facts_of_whole_arrays
from scanopt.array.batching import elementwise
from scanopt.array.op import Op, Operand
from scanopt.array.operators.control import IFELSE
from scanopt.array.operators.idle import when_runs
from scanopt.calculus.encoded import Encoded, clocks_of, needed
from scanopt.calculus.forms import ROOT, Operator, const_key, const_value

__all__ = ["Given", "GivenFacts", "constant_facts", "operators_of", "related_operators", "with_elements"]

Given = tuple[str, tuple[int | str | Operator, ...]]
"""A fact: its name and its arguments, which are terms by number, operators and texts."""


Lengths = Callable[[], KnownLengths]
"""Gives what is known of the lengths of a program, which is found when it is first asked for."""


def operators_of(g: Encoded) -> list[Op]:
    """The operators that a program has, and those that facts about them name."""
    return related_operators(_own_operators(g, expansions(g, clocks_of(g))))


def _own_operators(g: Encoded, made: Expansions) -> list[Op]:
    own = [f.operator for _, f in g.forms() if isinstance(f.operator, Op)]
    return list(dict.fromkeys([*own, *made.made_of]))


def related_operators(ops: Iterable[Op]) -> list[Op]:
    """These operators, and those that laws about them may introduce."""
    known = list(ops)
    more = (
        closed_operators(known), summing_operators(known),
        operators_of_parts(tuple(op for op in known if op.name in OF_PARTS)),
        opposite_operators(known), related_to_parts(known), related_reductions(known),
    )  # fmt: skip
    return list(dict.fromkeys([*known, *chain.from_iterable(more)]))


class GivenFacts:
    """The facts of a program that its own text shows, for the licence `fp`.  operators: those of the program."""

    def __init__(self, g: Encoded, fp: str, lengths: Lengths | None = None) -> None:
        self._g, self._fp = g, fp
        self._lengths = lengths or cache(lambda: known_lengths(g))
        self._made = expansions(g, clocks_of(g))
        self._dtypes = tuple(dict.fromkeys(t.dtype for t in g.types.values()))
        self._choices = any(f.operator == IFELSE for _, f in g.forms())
        self.operators = _own_operators(g, self._made)
        self._written = {f.operator for _, f in g.forms()}
        self._of_states = (*constants_of_states(g),)
        self._consts = (*_constants(g, self._of_states),)
        self._counts = (*counts_of_rows(g),)
        self._bounds = (*dict.fromkeys(written_bounds(g)),)

    def of_program(self) -> Iterator[Given]:
        """The facts that do not depend on the operators that laws may introduce."""
        g = self._g
        yield from self._of_states
        yield from cycles(g)
        yield from products_beside(g)
        yield from reading_late(g)
        yield from loops_in_parts(g)
        yield from written_in_order(g, self._lengths)
        yield from kinds_of_loops(g)
        yield from self._made.rows
        yield from (("same_length", pair) for pair in g.same_lengths)
        yield from (("same_sums" if g.loose_numbers else "same_numbers", pair) for pair in g.same_numbers)
        yield from _forward(g)
        yield from _always(g)
        yield from static_shapes(g, self._lengths)
        yield from stacked_states(g, self._lengths)
        yield from invariant_loops(g, self._choices, self._lengths)
        yield from _shaped_as_arguments(g, self._lengths)
        yield from arguments_in_parts(g, self._fp, self._lengths)
        raising = [*_raising(g, self._choices, self._lengths)]
        yield from raising
        yield from silent_values(g, {i for name, (i, *_) in raising if name == "harmless" and isinstance(i, int)})
        for i, f in g.forms():
            if f.kind == "seq":
                yield "before", (f.clock, f.args[0])
            if f.kind == "const":
                yield from _equal_rows(g, i)
        for c, info in g.clocks.items():
            if not info.until:
                yield "runs_all", (c,)

    def of_operators(self, ops: Mapping[Op, object], new: Sequence[Op]) -> Iterator[Given]:
        """The facts that depend on the operators `ops`, among them those in `new`; facts that concern no new operator
        are left out where that is quickly seen."""
        for op in new:
            yield from _facts_of(op, self._dtypes, self._fp)
        yield from _safe(new, self._choices)
        yield from (("guarded_by", (op, when_runs(op))) for op in new if op not in self._written and _may_wait(op))
        yield from (("unexpanded", (op,)) for op in new if op not in self._made.whole)
        yield from facts_of_parts(self._counts, ops)
        yield from self._bounds
        yield from facts_of_whole_arrays(ops)
        yield from facts_of_reductions(ops)
        yield from conversions(ops)
        some, those, just_come = with_elements(ops), with_elements(new), {*new}
        for op in ops:
            yield from _cancelling(op, some if op in just_come else those, self._dtypes)
        for i, value in self._consts:
            yield from constant_facts(i, value, those, self._dtypes)


def _constants(g: Encoded, of_states: Iterable[Given]) -> Iterator[tuple[int | str, np.ndarray[Any, Any]]]:
    """The constants of a program, and those that laws write recurrences with."""
    yield from ((i, g.consts[f.key]) for i, f in g.forms() if f.kind == "const")
    made = {(str(row[-2]), str(row[-1])) for fact, row in of_states if fact in ("minus_one", "unit")}
    yield from ((i, const_value(key, g.consts)) for key, i in sorted(made) if key not in g.consts)


@lru_cache(maxsize=4096)
def _facts_of(op: Op, dtypes: tuple[str, ...], fp: str) -> tuple[Given, ...]:
    """The facts of one operator that do not depend on other operators."""
    return (
        *_operator_facts(op, fp, dtypes),
        *_trait_facts(op, dtypes),
        *recurrence_facts([op], dtypes, fp),
        *adding_up([op]),
    )


_SHAPE_FROM_REST = {"full", "broadcast_to", "reshape", "getitem", "repeat_rows", "repeat", "sum_to", "widen"}


_LINEAR = {"sum", "mean", "sum_to"}
"""Operators out of which a factor or a sign may be moved."""


def _operator_facts(op: Op, fp: str, dtypes: Sequence[str]) -> Iterator[Given]:
    if not op.data_shape:
        yield "fixed_shape", (op,)
    if op.name in _LINEAR and "dtype" not in op.options:
        yield "linear", (op,)
    yield from along_an_axis(op)
    yield from facts_of_signs(op, dtypes)
    if op.name in _SHAPE_FROM_REST:
        yield "shape_from_rest", (op,)
    able = [d for d in dtypes if fp != "exact" or op.batch_exact(d)] if op.spec.batch is not None else []
    if able and len(able) == len(dtypes):
        yield "batched", (op,)
        if op.spec.batch is elementwise and not op.can_raise:
            yield "by_element", (op,)
    else:
        yield from (("batched_as", (op, d)) for d in able)
    if op.spec.traits.inverse is not None:
        yield "undoes", (Op.make(op.spec.traits.inverse), op)
    if op.name == "require" and op.options["relation"] in ("eq", "ge"):
        yield "holds_of_equals", (op,)


_COMBINED = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}
"""The operators by which reductions combine the entries along an axis."""


def along_an_axis(op: Op) -> Iterator[Given]:
    """Facts about an operator that reduces one axis."""
    match op.options:
        case {"axis": (int(axis),), "keepdims": False, **rest} if rest.get("dtype") is None:
            if op.name in _COMBINED:
                yield "combines", (op, axis, Op.make(_COMBINED[op.name]))


def _safe(ops: Iterable[Op], choices: bool) -> Iterator[Given]:
    """Facts about operators that cannot raise; in an untaken side of an ifelse, shapes that do not fit are no error."""
    for op in ops:
        if not op.can_raise:
            yield "safe", (op,)
            if not choices:
                yield "quiet", (op,)
            elif op.spec.batch is elementwise:
                yield "elementwise", (op,)


def _raising(g: Encoded, choices: bool, lengths: Lengths) -> Iterator[Given]:
    """Facts about terms that may raise, and about those whose shapes fit."""
    for i, f in g.forms():
        if isinstance(f.operator, Op) and f.operator.can_raise:
            if fits_in_any_case(g, f.operator, f.args):
                yield "harmless", (i,)
            elif _may_wait(f.operator):
                yield "guarded_by", (f.operator, when_runs(f.operator))
    asked = [i for i, f in g.forms() if choices or (f.operator is not None and f.operator.name in _TOGETHER)]
    fitting = lengths().fitting if asked else frozenset[int]()
    yield from (("fits", (i,)) for i in asked if i in fitting)


def _may_wait(op: Op) -> bool:
    """Whether an operator may run before a loop, if the loop takes a step."""
    return op.can_raise and op.name != "ifelse" and op.cost not in _OF_MATRICES and not op.spec.effect


_TOGETHER = ("concatenate", "stack")
"""Operators that join arrays: laws that read one of these alone must not lose the error if they do not fit."""

_OF_MATRICES = ("factorization", "solving", "system")
"""Classes of cost of linear algebra, which has laws of its own for matrices that may be singular."""


_TRAITS = {
    # fact: trait, number of arguments when the result is one of them
    "commutative": ("commutative", 0), "idempotent": ("idempotent", 2),
    "projection": ("idempotent", 0), "involution": ("involution", 1),
}  # fmt: skip


def _trait_facts(op: Op, dtypes: Iterable[str]) -> Iterator[Given]:
    for d in dtypes:
        for fact, (trait, arity) in _TRAITS.items():
            if op.spec.traits.holds(trait, d) and _keeps(op, d, arity):
                yield fact, (op, d)
        alike = op.spec.traits.associative and all(op.spec.traits.holds(t, d) for t in ("idempotent", "commutative"))
        if alike and _keeps(op, d, 2):
            yield "absorbs", (op, d)


def _keeps(op: Op, dtype: str, arity: int) -> bool:
    """Whether op of `arity` arguments of a dtype has that dtype (arity 0: not asked)."""
    return not arity or _stays(op, dtype, *[dtype] * arity)


def _cancelling(op: Op, some: Iterable[Op], dtypes: Iterable[str]) -> Iterator[Given]:
    """Facts that op(x, x) is a constant, and the roles of this constant.  some: operators `with_elements`."""
    for d in dtypes:
        e = op.spec.traits.element("self_inverse", d)
        if e is not None:
            value = np.array(e, d)
            yield "cancels", (op, d, const_key(value))
            yield from constant_facts("const " + const_key(value), value, some, dtypes)


def with_elements(ops: Iterable[Op]) -> list[Op]:
    """The operators to which some constant is neutral or absorbing: few of many."""
    traits = ((op, op.spec.traits) for op in ops)
    return [op for op, t in traits if t.identity or t.left_identity or t.annihilator]


_WHOLE = (-1, 1, 3, 4)
"""Exponents of powers that are products."""


def constant_facts(
    i: int | str, value: np.ndarray[Any, Any], ops: Iterable[Op], dtypes: Iterable[str]
) -> Iterator[Given]:
    """The roles of a constant for the operators of the program on arrays of their dtypes: neutral, absorbing."""
    yield from _sizes_of_constant(i, value)
    if not value.any():
        yield "nothing", (i,)
    if value.ndim:
        return
    if value.dtype in (np.float32, np.float64) and value in _WHOLE:
        yield "exponent", (i, str(int(value)))
    if value.dtype == bool:
        yield ("is_true" if value else "is_false"), (i,)
    for op in ops:
        traits = op.spec.traits
        for d in dtypes:
            as_it_is = _is(value, traits.element("identity", d), d)
            if as_it_is and _stays(op, d, d, value.dtype.name):
                yield "neutral", (op, i, d)
            left = _is(value, traits.element("left_identity", d), d) or (as_it_is and traits.commutative)
            if left and _stays(op, d, value.dtype.name, d):
                yield "left_neutral", (op, i, d)
        if _is(value, traits.element("annihilator", value.dtype.name), value.dtype.name):
            yield "absorbing", (op, i)


_SMALL = 2**31


def _sizes_of_constant(i: int | str, value: np.ndarray[Any, Any]) -> Iterator[Given]:
    """Whether it is a power of two, and whether it is far from the numbers that its dtype cannot hold."""
    if value.dtype == np.int64 and not value.ndim and -_SMALL < value < _SMALL:
        yield "small_integer", (i,)
        if value > 0:
            yield "positive", (i,)
    if value.dtype in (np.float32, np.float64) and not value.ndim and np.isfinite(value) and value:
        mantissa, exponent = np.frexp(value)
        if abs(exponent) <= _EXPONENTS:
            yield "moderate", (i,)
            if value > 0:
                yield "above_zero", (i,)
            if abs(value) > 1:
                yield "over_one", (i,)
            if mantissa == 0.5:
                yield "power_of_two", (i, str(exponent - 1))
                yield "reciprocal_of_power", (i, str(1 - exponent))


_EXPONENTS = 100
"""Numbers with binary exponents up to this one, or down to its negative, are far from the limits of float32."""


def _stays(op: Op, dtype: str, *dtypes: str) -> bool:
    """Whether op of scalars of these dtypes has the dtype `dtype`."""
    try:
        return op.infer(*(Operand(d, ()) for d in dtypes)).dtype == dtype
    except (TypeError, ValueError):
        return False


def _is(value: np.ndarray[Any, Any], element: complex | None, dtype: str) -> bool:
    """Whether a constant, in that dtype, is the element, bit for bit."""
    if element is None or not np.can_cast(value.dtype, dtype, "same_kind"):
        return False
    with np.errstate(over="ignore"):  # an integer may be too large for a small dtype
        return np.array(element, dtype).tobytes() == value.astype(dtype).tobytes()


_SHAPED = ("broadcast_to", "reshape", "setitem", "where")
"""Operators whose result may have the shape of one of their arguments, which then alone determines it."""


_BROUGHT = ("broadcast_to", "reshape")


def _shaped_as_arguments(g: Encoded, lengths: Lengths) -> Iterator[Given]:
    checked = checked_values(g)
    for i, f in g.forms():
        if f.operator is not None and f.operator.name in _SHAPED:
            axes, harmless = lengths().axes, lengths().harmless
            if f.operator.name in _BROUGHT and i not in harmless:  # it has no shape where it raises
                continue
            alike = [a for a in dict.fromkeys(f.args) if axes[a] == axes[i]]
            yield from (("shaped_as", (i, a)) for a in alike if checked.isdisjoint(b for b in f.args if b != a))


def _equal_rows(g: Encoded, x: int) -> Iterator[Given]:
    value = g.consts[g.classes[x][0].key]
    if value.ndim and len(value) and all(row.tobytes() == value[0].tobytes() for row in value):
        row = np.asarray(value[0])
        g.consts[const_key(row)] = row
        yield "equal_rows", (x, "const " + const_key(row))


def _forward(g: Encoded) -> Iterator[Given]:
    """Operators in loops, and traces of inner loops, that are in no recurrence: components by themselves."""
    needs: dict[int, list[int]] = {}
    for i, f in g.forms():
        needs[i] = list(f.args)
        if f.kind == "delay":
            needs[i].extend(g.states[f.state].updates)
        if f.kind in ("seq", "delay"):
            # What ends the loop decides whether there is a next step.
            needs[i].extend(g.clocks[f.clock].until)
    component = components(needs)
    size = Counter(component.values())
    clocks = clocks_of(g)
    for i, f in g.forms():
        if f.kind in ("apply", "stack", "tail") and size[component[i]] == 1 and clocks[i] != ROOT:
            yield "forward", (i,)


def _always(g: Encoded) -> Iterator[Given]:
    """Terms that are computed whichever sides the choices of the program take."""
    for i in needed(g, [*g.roots, *g.checks], lazily=True):
        (f,) = g.classes[i]
        if not (isinstance(f.operator, Op) and f.operator.spec.effect):  # no effects: what always runs may be moved
            yield "always", (i,)
