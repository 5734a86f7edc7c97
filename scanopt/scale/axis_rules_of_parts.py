"""The rules of axes for products, indexing, factors of matrices, recurrences and random numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from scanopt.array.operators.indexing import axis_labels, index_pairs
from scanopt.scale.axis_rules import Use, aligned, rule
from scanopt.scale.kinds import COUNT, LAST, WHOLE, ZERO, Kind, LaneKind, Partial

__all__: list[str] = []

_PLAIN = (WHOLE, ZERO)
_OTHERS = "each entry meets all of the other argument's"


# Products


@rule("dot", "tensordot", "matmul", "outer")
def _product(u: Use) -> Kind:
    """The rule of products, from letters for the axes of both arguments as in einsum; common ones are summed over."""
    a, b = _letters(u)
    lanes = u.lanes()
    if not lanes:
        add = [i for i, k in enumerate(u.kinds) if k == Partial("add")]
        if u.all(LAST, *_PLAIN):
            return LAST
        return Partial("add") if len(add) == 1 and u.kinds[1 - add[0]] in _PLAIN else u.mixed("not linear in its parts")
    if any(k not in _PLAIN and not isinstance(k, LaneKind) for k in u.kinds):
        return u.mixed("it needs what all entries make together")
    names = {i: (a, b)[i][axis] for i, axis in lanes.items()}
    summed = {x for x in a if x in b and not x.startswith("batch")}
    name = next(iter(names.values()))
    if len(names) == 2:
        if len(set(names.values())) > 1:
            return u.mixed("the entries of one meet all those of the other")
        if name in summed:
            u.rounds("over this axis")
            return Partial("add")
    elif name in summed:
        return u.mixed("it sums over this axis, against what is the same for all")
    elif name.startswith("batch"):
        other = 1 - next(iter(names))
        x = u.args[other]
        found = [i for i, y in enumerate((a, b)[other]) if y == name]
        if found and x.type.shape[found[0]] != 1:
            return u.mixed("each entry meets another one of it: give it in `over` too", other)
    if not name.startswith("batch") and u.op.name != "outer":
        u.rounds()
    kept = [*dict.fromkeys(x for x in (*_batch_letters(a, b), *a, *b) if x not in summed)]
    return LaneKind(kept.index(name))


def _batch_letters(a: Sequence[str], b: Sequence[str]) -> list[str]:
    longer = max((a, b), key=lambda s: sum(x.startswith("batch") for x in s))
    return [x for x in longer if x.startswith("batch")]


def _letters(u: Use) -> tuple[list[str], list[str]]:
    x, y = u.args
    a, b = [f"a{i}" for i in range(x.ndim)], [f"b{i}" for i in range(y.ndim)]
    if u.op.name == "tensordot":
        for i, j in zip(*u.options["axes"], strict=True):
            b[j] = a[i]
    elif u.op.name != "outer":
        b[max(y.ndim - 2, 0)] = a[-1]
    if u.op.name == "matmul":
        for s, core in ((a, min(x.ndim, 2)), (b, min(y.ndim, 2))):
            n = len(s) - core
            s[:n] = [f"batch{n - i}" for i in range(n)]
    return a, b


# Indexing


@rule("getitem")
def _getitem(u: Use) -> Kind:
    x, *given = u.kinds
    axes = _IndexAxes(u, u.args[0].ndim)
    if isinstance(x, LaneKind):
        entry, kinds = axes.taken.get(x.axis, (("slice", None, None, None), []))
        rest = [k for n, (_, ks) in axes.taken.items() for k in ks if n != x.axis]
        if any(k not in _PLAIN for k in rest):
            return u.mixed("other axes are indexed by what the entries tell", 0)
        if _is_full(entry, kinds):
            return LaneKind(axes.labels.index(("axis", x.axis)))
        if entry == -1 and not kinds:
            return LAST
        return replace(u.mixed(f"it picks among the entries along axis {x.axis}", 0), shaped=entry == 0 and not kinds)
    if all(k in _PLAIN for k in given):
        return u.mixed("a length", 0) if x == COUNT else x
    if x not in _PLAIN or COUNT in given:
        return u.mixed("it is indexed by what the entries tell")
    return _gathered(u, axes)


def _is_full(entry: Any, kinds: Sequence[Kind]) -> bool:
    if not isinstance(entry, tuple):
        return False
    _, start, stop, step = entry
    ends = stop is None or (stop == "in" and list(kinds) == [COUNT])
    return start in (None, 0) and start is not False and ends and step in (None, 1)


class _IndexAxes:
    """How an index uses the axes of an array.  taken: by axis the entry of the index, with the kinds of its arguments.

    labels: the label of each axis of the result, as in `operators.indexing`.
    """

    def __init__(self, u: Use, ndim: int, skip: int = 1) -> None:
        self.taken: dict[int, tuple[Any, list[Kind]]] = {}
        index, args = u.options["index"], list(u.args[skip:])
        kinds = dict(zip(map(id, args), u.kinds[skip:], strict=True))
        axis = 0
        for entry, given in index_pairs(index, args):
            span = 0 if entry == "newaxis" else given[0].ndim if entry == "mask" else 1
            for i in range(axis, axis + span):
                self.taken[i] = entry, [kinds[id(x)] for x in given]
            axis += span
        self.labels = axis_labels(index, args, ndim)


def _gathered(u: Use, axes: _IndexAxes) -> Kind:
    """The rule for entries of a table that is the same for all lanes, at places that differ by lane."""
    index = u.options["index"]
    if any(isinstance(k, LaneKind) for e, ks in axes.taken.values() for k in ks if e != "array") or "mask" in index:
        return u.mixed("how many entries are picked depends on all of them")
    arrays = [(x, k) for x, k in zip(u.args[1:], u.kinds[1:], strict=True) if x.ndim]
    width = max(x.ndim for x, _ in arrays)
    places = {k.axis - x.ndim for x, k in arrays if isinstance(k, LaneKind)}
    (place, *more) = places
    for x, k in arrays:
        if more or (not isinstance(k, LaneKind) and x.ndim >= -place and x.type.shape[place] != 1):
            return u.mixed("indices that are the same for all, or lie along another axis, meet those of each entry")
    return LaneKind(axes.labels.index(("block", width + place)))


@rule("setitem", "scatter")
def _setitem(u: Use) -> Kind:
    x, y, *given = u.kinds
    axes = _IndexAxes(u, u.args[0].ndim, 2)
    add = Partial("add")
    if any(k not in _PLAIN for k in given):
        return u.mixed("it is written at places that the entries tell")
    if not u.lanes():
        if x in (add, ZERO) and y in (add, ZERO) and u.op.name == "setitem":
            return add
        return u.mixed("written into what is of another kind") if (x, y) != (LAST, LAST) else LAST
    if not isinstance(x, LaneKind):
        return u.mixed("entries are written into what is the same for all", 1)
    entry, kinds = axes.taken.get(x.axis, (("slice", None, None, None), []))
    if not _is_full(entry, kinds):
        return u.mixed(f"it writes at some of the entries along axis {x.axis}", 0)
    place = len(axes.labels) - axes.labels.index(("axis", x.axis))
    v = u.args[1]
    same = isinstance(y, LaneKind) and v.ndim - y.axis == place
    spread = y in _PLAIN and (v.ndim < place or v.type.shape[v.ndim - place] == 1)
    if not same and not spread:
        return u.mixed("what is written does not belong to these entries", 1)
    if u.options.get("mode") == "inc" and "array" in u.options["index"]:
        u.rounds()
    return x


# Factors and functions of matrices, in the last two axes


def _matrices(drops: int) -> Any:
    def of(u: Use) -> Kind:
        core = u.args[0].ndim - 2
        if not u.lanes():
            return u.mixed("not linear in its parts") if not u.all(LAST, *_PLAIN) else LAST
        (i, a), *more = u.lanes().items()
        if more or i or a >= core or not all(k in _PLAIN for k in u.kinds[1:]):
            return u.mixed("all entries of a matrix count")
        if not u.op.batch_exact(u.out.dtype):
            u.rounds()
        return LaneKind(a)

    return of


rule("lu_factor", "cholesky", "inv", "linalg_or_flag", "svd", "qr", "eigh", "eig", "pinv", "expm", "spectrum",
     "unless_flagged", "det", "logabsdet", "det_sign")(_matrices(0))  # fmt: skip


@rule("solve", "solve_triangular", "cho_solve", "lu_solve", "lstsq")
def _system(u: Use) -> Kind:
    (a, b), lanes = u.args, u.lanes()
    if not lanes:
        return LAST if u.all(LAST, *_PLAIN) else _solved_parts(u)
    u.rounds()
    if set(lanes) == {1} and a.ndim == 2 and u.kinds[0] in _PLAIN and b.ndim == 2:
        return LaneKind(1) if lanes[1] == 1 else u.mixed("all entries of a right side count", 1)
    if set(lanes) == {0, 1} and a.ndim >= 3 and b.ndim == a.ndim and lanes[0] == lanes[1] < a.ndim - 2:
        return LaneKind(lanes[0])
    return u.mixed("all entries of a system count")


def _solved_parts(u: Use) -> Kind:
    linear = u.kinds[0] in _PLAIN and u.kinds[1] == Partial("add")
    return Partial("add") if linear else u.mixed("not linear in its parts")


# Recurrences, by which laws replace loops: states and sequences have a first axis for time


def _recurrence(timed: str, last: bool = False) -> Any:
    def of(u: Use) -> Kind:
        if any(k not in _PLAIN and not isinstance(k, LaneKind) for k in u.kinds):
            return u.mixed("its steps need what all entries make together")
        if any(timed[i] == "t" and a == 0 for i, a in u.lanes().items()):
            return u.mixed("each step needs the one before", next(iter(u.lanes())))
        if not u.op.batch_exact(u.out.dtype):
            u.rounds()
        return aligned(u)

    return of


for _name, _timed in {
    "accumulate": "tt", "fold": "tt", "fold_in_order": "tt", "forward_fill": "ttt", "segmented": "tttt",
    "lfilter": "ttp", "linear_recurrence": "ttt", "regrouped_sum": "tt", "regrouped_filter": "ttp",
    "regrouped_smoothing": "ttp",
}.items():  # fmt: skip
    rule(_name)(_recurrence(_timed))


# Random numbers: a key, then parameters


@rule(
    "random_uniform", "random_normal", "random_exponential", "random_gamma", "random_beta", "random_integers",
    "random_binomial", "random_poisson",
)  # fmt: skip
def _random(u: Use) -> Kind:
    lead, lanes = u.options.get("lead", 0), u.lanes()
    if any(k not in _PLAIN and not isinstance(k, LaneKind) for k in u.kinds) or not lanes:
        return u.mixed("the entries decide how many numbers are drawn")
    if 0 not in lanes or lanes[0] >= lead:
        return u.mixed(
            "the numbers of all entries are drawn from one key, one after the other: give each a key of its own", 0
        )
    a = lanes[0]
    place = u.out.ndim - a
    for i, (x, k) in enumerate(zip(u.args[1:], u.kinds[1:], strict=True), 1):
        same = isinstance(k, LaneKind) and x.ndim - k.axis == place
        if not same and not (k in _PLAIN and (x.ndim < place or x.type.shape[x.ndim - place] == 1)):
            return u.mixed(_OTHERS, i)
    return LaneKind(a)


@rule("random_fold_in")
def _fold_in(u: Use) -> Kind:
    lanes, (state, number) = u.lanes(), u.args
    places = {i: (state.ndim - 1 if i == 0 else number.ndim) - a for i, a in lanes.items()}
    if not lanes or (0 in places and places[0] <= 0) or len(set(places.values())) > 1:
        return u.mixed("keys are made from what the entries tell together")
    place = next(iter(places.values()))
    for i, n in ((0, state.ndim - 1), (1, number.ndim)):
        if i not in lanes and (u.kinds[i] not in _PLAIN or (n >= place and u.args[i].type.shape[n - place] != 1)):
            return u.mixed(_OTHERS, i)
    return LaneKind(u.out.ndim - 1 - place)


@rule("threefry")
def _threefry(u: Use) -> Kind:
    if any(k not in _PLAIN and not isinstance(k, LaneKind) for k in u.kinds):
        return u.mixed("random bits of what all entries make together")
    return aligned(u, u.out.ndim - 1)
