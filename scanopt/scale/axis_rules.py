"""Rules from the kinds of an operator's arguments to that of its result, by name; without a rule it mixes all lanes.

This file has the rules of elementwise operators and of shapes; those of reductions are in `axis_rules_of_reductions`,
those of products, indexing, factors and random numbers in `axis_rules_of_parts`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scanopt.array.op import TABLE, Op
from scanopt.array.shapes import product
from scanopt.array.variable import Variable
from scanopt.records import dataclass
from scanopt.scale.kinds import COUNT, LAST, WHOLE, ZERO, Dependence, Kind, LaneKind, Mixed, Partial, join, named

__all__ = ["TABLE_OF_RULES", "Rule", "Use", "aligned", "elementwise", "rule"]


@dataclass(frozen=True)
class Use:
    """One use of an operator: its arguments with their kinds, its result, and the loop that it is in.

    noted: is called with a text if lanes may be rounded differently together with other lanes.
    """

    op: Op
    args: Sequence[Variable]
    kinds: Sequence[Kind]
    out: Variable
    location: str
    noted: Callable[[str], None]

    def mixed(self, why: str, i: int | None = None) -> Mixed:
        """Mixed, with the reason.  i: the number of the argument to blame, by default the first that has lanes."""
        if i is None:
            i = next((j for j, k in enumerate(self.kinds) if k not in (WHOLE, ZERO)), 0)
        return Mixed(Dependence(self.op.name, named(self.args[i]), self.location, why))

    def rounds(self, why: str = "") -> None:
        """Note that bits may depend on which lanes are computed together, if the result is a float or complex."""
        if np.dtype(self.out.dtype).kind in "fc":
            self.noted(f"{self.op.name}{f' {why}' if why else ''}{f' at {self.location}' if self.location else ''}")

    def lanes(self) -> dict[int, int]:
        """The axis of the lanes of each argument that has them."""
        return {i: k.axis for i, k in enumerate(self.kinds) if isinstance(k, LaneKind)}

    def all(self, *kinds: Kind) -> bool:
        """Whether each argument is of one of these kinds."""
        return all(k in kinds for k in self.kinds)

    @property
    def options(self) -> dict[str, Any]:
        """The parameters of the operator."""
        return self.op.options


Rule = Callable[[Use], Kind]
TABLE_OF_RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """A decorator that registers the rule for operators of these names."""

    def keep(f: Rule) -> Rule:
        for name in names:
            TABLE_OF_RULES[name] = f
        return f

    return keep


# Elementwise operators: lanes stay where they are, counted from the last axis

_LINEAR = ("negative", "positive", "real", "imag", "conjugate", "disconnected_grad", "zero_grad")


def aligned(u: Use, ndim: int | None = None) -> Kind:
    """The lanes of the result of arguments that broadcast against each other, or Mixed.  ndim: of the result."""
    found, n = u.lanes(), u.out.ndim if ndim is None else ndim
    places = {i: u.args[i].ndim - a for i, a in found.items()}  # counted from the end
    (first, place), *others = places.items()
    for i, p in others:
        if p != place:
            return u.mixed(f"its entries lie along another axis than those of {named(u.args[first])}", i)
    for i, (x, k) in enumerate(zip(u.args, u.kinds, strict=True)):
        if i in found or x.ndim < place or x.type.shape[x.ndim - place] == 1:
            continue
        if k not in (WHOLE, ZERO):
            return u.mixed(f"{k}, beside entries along an axis", i)
        return u.mixed(
            f"each entry along axis {u.args[first].ndim - place} of {named(u.args[first])} meets another one of it: "
            "give it in `over` too, or declare its axis to have length 1",
            i,
        )
    return LaneKind(n - place)


def elementwise(u: Use) -> Kind:
    """The rule of operators that compute entry by entry."""
    if u.lanes():
        if COUNT in u.kinds or LAST in u.kinds or any(isinstance(k, Partial) for k in u.kinds):
            i = next(i for i, k in enumerate(u.kinds) if k not in (WHOLE, ZERO) and not isinstance(k, LaneKind))
            return u.mixed(f"it needs what all entries make together ({u.kinds[i]})", i)
        if not u.op.batch_exact(u.out.dtype):
            u.rounds()
        return aligned(u)
    if COUNT in u.kinds:
        same = u.op.name in ("minimum", "maximum", "cast", "positive") and u.all(COUNT)
        return COUNT if same else u.mixed("it reads how many entries there are")
    if LAST in u.kinds:
        return LAST if u.all(LAST, WHOLE, ZERO) else u.mixed("it joins the last entry with what others make")
    return _of_parts(u)


def _of_parts(u: Use) -> Kind:
    """The rule for partial arguments: sums stay sums through linear operators, extrema through the same extremum."""
    add, name = Partial("add"), u.op.name
    partial = [i for i, k in enumerate(u.kinds) if isinstance(k, Partial)]
    if name in ("maximum", "minimum", "logical_and", "logical_or") and u.all(Partial(name)):
        return Partial(name)
    if u.kinds[partial[0]] == add:
        if name in _LINEAR or (name in ("add", "subtract") and u.all(add, ZERO)):
            return add
        if name == "multiply" and len(partial) == 1:
            return add
        if name == "divide" and partial == [0]:
            return add
        if name == "where" and 0 not in partial and all(k in (add, ZERO) for k in u.kinds[1:]):
            return add
    return u.mixed(f"it is no longer {u.kinds[partial[0]]}: the parts must be combined first", partial[0])


def _is_elementwise(name: str) -> bool:
    home = TABLE[name].infer.__module__ if name in TABLE else ""
    return home in (
        "scanopt.array.ufuncs",
        "scanopt.array.operators.special",
        "scanopt.array.operators.elementwise",
        "scanopt.array.operators.gradient",
    )


def rule_of(name: str) -> Rule | None:
    """The rule of an operator, None if it has none."""
    if name in TABLE_OF_RULES:
        return TABLE_OF_RULES[name]
    return elementwise if _is_elementwise(name) else None


rule("spread_like", "grad_clip", "disconnected_grad", "zero_grad")(elementwise)


@rule("assert_true", "random_valid")
def _passed(u: Use) -> Kind:
    if not isinstance(u.kinds[0], LaneKind):
        return u.mixed("what all entries make together is checked, which parts of them need not pass")
    return u.kinds[0] if all(k in (WHOLE, ZERO) for k in u.kinds[1:]) else u.mixed("it is checked by other entries")


@rule("after")
def _after(u: Use) -> Kind:
    return u.kinds[0]


@rule("ifelse")
def _ifelse(u: Use) -> Kind:
    condition, a, b = u.kinds
    if condition not in (WHOLE, ZERO):
        return u.mixed("the entries decide which side is computed for all", 0)
    found = join(a, b)
    return u.mixed("its sides are " + f"{a} and {b}", 1) if found is None else found


# Shapes


def structural(u: Use, place: Callable[[int], int | str]) -> Kind:
    """The rule of operators that only rearrange entries of their first argument.

    place: gives for the lanes' axis the axis in the result, or a text that says why there is none.
    """
    x, *rest = u.kinds
    if any(k not in (WHOLE, ZERO) for k in rest):
        return u.mixed("it is arranged by what the entries tell", 1)
    if not isinstance(x, LaneKind):
        return x
    found = place(x.axis)
    return u.mixed(found, 0) if isinstance(found, str) else LaneKind(found)


@rule("transpose")
def _transpose(u: Use) -> Kind:
    return structural(u, lambda a: u.options["axes"].index(a))


@rule("expand_dims")
def _expand(u: Use) -> Kind:
    new = {i % u.out.ndim for i in u.options["axis"]}
    return structural(u, lambda a: [i for i in range(u.out.ndim) if i not in new][a])


@rule("squeeze")
def _squeeze(u: Use) -> Kind:
    gone = {i % u.args[0].ndim for i in u.options["axis"]}
    if any(a in gone for a in u.lanes().values()):
        return u.mixed("it takes this axis to have one entry")
    return structural(u, lambda a: a - sum(i < a for i in gone))


@rule("swap_rows")
def _swap(u: Use) -> Kind:
    return structural(u, lambda a: {0: 1, 1: 0}.get(a, a))


@rule("bitcast")
def _bitcast(u: Use) -> Kind:
    x = u.args[0]
    if u.out.ndim < x.ndim:
        return structural(u, lambda a: a if a < u.out.ndim else "it joins entries along this axis into one")
    return structural(u, lambda a: a) if u.kinds[0] != Partial("add") else u.mixed("the bytes of a sum are no sum")


@rule("shape_i")
def _shape(u: Use) -> Kind:
    x = u.kinds[0]
    return COUNT if isinstance(x, LaneKind) and x.axis == u.options["axis"] else WHOLE


def _count_at(dims: Sequence[Any], kinds: Sequence[Kind]) -> tuple[list[int], bool]:
    """The places of a shape that hold the number of lanes, and whether all other lengths are the same for all lanes."""
    given = iter(kinds)
    found = [next(given) if n is None else WHOLE for n in dims]
    return [i for i, k in enumerate(found) if k == COUNT], all(k in (WHOLE, ZERO, COUNT) for k in found)


@rule("full")
def _full(u: Use) -> Kind:
    places, plain = _count_at(u.options["shape"], u.kinds[1:])
    if u.kinds[0] not in (WHOLE, ZERO) or not plain or len(places) > 1:
        return u.mixed("it is filled with, or as long as, what the entries tell")
    return LaneKind(places[0]) if places else u.kinds[0]


@rule("full_like")
def _full_like(u: Use) -> Kind:
    x, value = u.kinds
    if isinstance(x, LaneKind):
        return aligned(u) if value in (WHOLE, ZERO) or isinstance(value, LaneKind) else u.mixed(str(value), 1)
    return value


@rule("broadcast_to")
def _broadcast_to(u: Use) -> Kind:
    x, more = u.args[0], u.out.ndim - u.args[0].ndim
    places, plain = _count_at(u.options["shape"], u.kinds[1:])
    if not plain or len(places) > 1:
        return u.mixed("it is as long as what the entries tell")
    if isinstance(u.kinds[0], LaneKind):
        a = u.kinds[0].axis + more
        return LaneKind(a) if places == [a] else u.mixed("this axis is given another length", 0)
    if not places:
        return u.kinds[0]
    (a,) = places
    if a >= more and x.type.shape[a - more] != 1:
        return u.mixed("an axis of it is as long as the number of entries: declare its length 1", 0)
    return LaneKind(a) if u.kinds[0] in (WHOLE, ZERO) else u.mixed(f"{u.kinds[0]}, repeated for each entry", 0)


@rule("reshape")
def _reshape(u: Use) -> Kind:
    x, lead = u.args[0], u.options.get("lead", 0)
    if not u.lanes():
        return structural(u, lambda a: a)
    (a,) = u.lanes().values()
    dims = u.options["shape"]
    places, plain = _count_at(dims, u.kinds[1:])
    if a < lead and not places and plain:
        return LaneKind(a)
    before, after = x.type.shape[lead:a], dims[: len(before_lanes(dims, places, a - lead))]
    if plain and places and places[0] == a - lead and len(places) == 1 and tuple(before) == tuple(after):
        return LaneKind(a)
    rest = x.type.shape[a + 1 :]
    size, given = product(rest), product(dims[1:])
    if not places and a == lead and dims and dims[0] == -1 and size is not None and size == given:
        return LaneKind(a)
    return u.mixed("its entries are counted through in order: keep this axis as the first, by its symbolic length", 0)


def before_lanes(dims: Sequence[Any], places: Sequence[int], n: int) -> Sequence[Any]:
    """The lengths of a reshape before the lanes' own, if all are ints, for comparison with those of the array."""
    return dims[:n] if places == [n] and None not in dims[:n] else ()


@rule("specify_shape")
def _specify(u: Use) -> Kind:
    if not u.lanes():
        return u.kinds[0] if all(k in (WHOLE, ZERO) for k in u.kinds[1:]) else u.mixed("its lengths depend on entries")
    places, plain = _count_at(u.options["shape"], u.kinds[1:])
    (a,) = u.lanes().values()
    fits = plain and (places == [a] or (not places and u.options["shape"][a] == -1))
    return LaneKind(a) if fits else u.mixed("the length of this axis is fixed", 0)


@rule("shaped_like")
def _shaped_like(u: Use) -> Kind:
    x, y = u.kinds
    if not u.lanes():
        return x
    last = u.options["axes"]
    far = [u.args[i].ndim - a for i, a in u.lanes().items()]
    if isinstance(x, LaneKind) and (isinstance(y, LaneKind) or far[0] > last):
        return aligned(u, u.args[0].ndim)
    return u.mixed("it must be as long as what has another number of entries", 0)


@rule("sum_to")
def _sum_to(u: Use) -> Kind:
    x, *lengths = u.kinds
    axes = u.options["axis"]
    if not isinstance(x, LaneKind):
        return x if all(k in (WHOLE, ZERO) for k in lengths) else u.mixed("summed to the number of entries", 0)
    if any(k not in (WHOLE, ZERO) for i, k in zip(axes, lengths, strict=True) if i != x.axis):
        return u.mixed("another axis is summed to the number of entries", 0)
    if x.axis not in axes:
        return x
    return x if lengths[axes.index(x.axis)] == COUNT else u.mixed("it may be summed over this axis", 0)


@rule("repeat_rows")
def _repeat_rows(u: Use) -> Kind:
    if u.kinds[1] == COUNT:
        return LaneKind(0) if u.kinds[0] in (WHOLE, ZERO) else u.mixed("repeated for each entry", 0)
    return structural(u, lambda a: a + 1)


# Joining


@rule("concatenate", "stack")
def _join(u: Use) -> Kind:
    axis, new = u.options["axis"], u.op.name == "stack"
    if not u.lanes():
        found: Kind | None = u.kinds[0]
        for k in u.kinds[1:]:
            found = None if found is None else join(found, k)
        return u.mixed(f"joined with what is not {u.kinds[0]}") if found is None or found == COUNT else found
    if len(u.lanes()) < len(u.args) or len(set(u.lanes().values())) > 1:
        wrong = next(i for i in range(len(u.args)) if u.lanes().get(i) != next(iter(u.lanes().values())))
        return u.mixed("it is joined with entries that lie along another axis, or are the same for all", wrong)
    a = next(iter(u.lanes().values()))
    if new:
        return LaneKind(a + (axis <= a))
    return u.mixed("it is joined with others along this axis, so entries are shifted") if a == axis else LaneKind(a)


@rule("repeat")
def _repeat(u: Use) -> Kind:
    return structural(u, lambda a: "each entry is repeated" if a == u.options["axis"] else a)


@rule("windows")
def _windows(u: Use) -> Kind:
    return structural(u, lambda a: "each window reads its neighbours" if a == u.options["axis"] else a)
