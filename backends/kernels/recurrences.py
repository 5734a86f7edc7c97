"""A pass on steps, before they are read as nodes: replaces operators for whole recurrences by the loops they stand for.

In a kernel such a loop is as fast as an operator.  Only operators are replaced whose array steps have the bits of the
loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

import scanopt.loops.require  # an operator of its own, beside those of the table  # noqa: F401
from scanopt.array.op import Op
from scanopt.array.types import TensorType
from scanopt.backends.kernels.forms import BITS
from scanopt.program.ir import Branch, CarriedState, Compute, Keep, Loop, Read, Step

__all__ = ["written_out"]

Types = dict[str, TensorType]
Writer = Callable[["_Recurrence"], str | None]
_FIRST = Op.make("getitem", index=(0,))
_EQUAL = Op.make("require", relation="eq", error="ValueError", message="the sequences differ in length")


def written_out(steps: Iterable[Step], types: Types) -> tuple[Step, ...]:
    """Rewrite steps: operators for recurrences that have a form here become loops.

    types: of all names; names made here are added.
    """
    return tuple(x for step in steps for x in _of_step(step, types))


def _of_step(step: Step, types: Types) -> Iterator[Step]:
    if isinstance(step, Loop):
        yield replace(step, body=written_out(step.body, types))
    elif isinstance(step, Branch):
        yield replace(step, then=written_out(step.then, types), otherwise=written_out(step.otherwise, types))
    elif np.dtype(step.type.dtype).kind == "c":  # array steps multiply these in another way
        yield step
    elif step.op.name in _FORMULAS:
        yield from _FORMULAS[step.op.name](step, types) or (step,)
    else:
        found = _STEPS.get(step.op.name)
        yield from (() if found is None else _Recurrence(step, types).written(*found)) or (step,)


class _Recurrence:
    """Writes the loop of one recurrence."""

    def __init__(self, step: Compute, types: Types) -> None:
        self.step, self.types = step, types
        self.row = TensorType(step.type.dtype, types[step.args[0]].shape[1:])
        self.reads: list[Read] = []
        self.body: list[Step] = []
        self.states: list[str] = []

    def written(self, kinds: str, depth: int, last: bool, update: Writer) -> Sequence[Step]:
        """Return the steps.  kinds: of the arguments, "s" for a sequence.  depth: how far it looks back; last: only the
        last row is the result."""
        out, (init, *rest) = self.step.out, self.step.args
        if self.types[init].shape[0] not in (None, depth) or self.types[init].dtype != self.row.dtype:
            return ()
        self.states = [self._named(f"#s{k}", self.row) for k in range(1, depth + 1)]
        value = update(self)
        if value is None:
            return ()
        sequences = [a for a, kind in zip(rest, kinds, strict=True) if kind == "s"]
        lengths = [self._length(a, i) for i, a in enumerate(sequences)]
        kept = self._named("#k", TensorType(self.row.dtype, (1, *self.row.shape))) if last else out
        loop = Loop(
            out,
            lengths[0].out,
            tuple(self.reads),
            (CarriedState(init, depth, tuple(enumerate(self.states, 1)), value, self.row),),
            tuple(self.body),
            (Keep(kept, value, 1 if last else None, self.types[kept]),),
        )
        return [
            *lengths,
            *self._equal(lengths),
            loop,
            *([Compute(out, _FIRST, (kept,), self.step.type)] if last else []),
        ]

    def of(self, name: str, *args: str, dtype: str = "", **options: object) -> str:
        """Add one operator on rows to the step; return the name of its result.  dtype: "" for that of the state."""
        shape = self.row.shape
        found = self._named(f"#v{len(self.body)}", TensorType(dtype or self.row.dtype, shape))
        self.body.append(Compute(found, Op.make(name, **options), args, self.types[found]))
        return found

    def entry(self, i: int, dtype: str = "") -> str:
        """The row of argument i, a sequence, at the present step, in the dtype of the state."""
        source = self.step.args[i]
        type = self.types[source]
        name = self._named(f"#x{i}", TensorType(type.dtype, type.shape[1:]))
        self.reads.append(Read(name, source, self.types[name]))
        return name if dtype == type.dtype else self.cast(name)

    def cast(self, name: str) -> str:
        """A value in the dtype of the state."""
        type = self.types[name]
        if type.dtype == self.row.dtype:
            return name
        found = self._named(f"#v{len(self.body)}", TensorType(self.row.dtype, type.shape))
        self.body.append(Compute(found, Op.make("cast", dtype=self.row.dtype), (name,), self.types[found]))
        return found

    def _named(self, end: str, type: TensorType) -> str:
        name = self.step.out + end
        self.types[name] = type
        return name

    def _length(self, x: str, i: int) -> Compute:
        return self._number(f"#n{i}", Op.make("shape_i", axis=0), x)

    def _equal(self, lengths: Sequence[Compute]) -> list[Compute]:
        first, *others = lengths
        return [self._number(f"#e{i}", _EQUAL, first.out, n.out) for i, n in enumerate(others)]

    def _number(self, end: str, op: Op, *args: str) -> Compute:
        found = self._named(end, TensorType("int64", ()))
        return Compute(found, op, args, self.types[found])


def _accumulated(r: _Recurrence) -> str:
    return r.of(str(r.step.op.options["ufunc"]), r.states[0], r.entry(1))


def _segmented(r: _Recurrence) -> str:
    made = r.of(str(r.step.op.options["ufunc"]), r.states[0], r.entry(3))
    return r.of("where", r.entry(1, "bool"), r.entry(2), made)


def _filled(r: _Recurrence) -> str:
    return r.of("where", r.entry(1, "bool"), r.entry(2), r.states[0])


def _filtered(r: _Recurrence) -> str:
    """((s * a) + (r * b)) + x."""
    factors = [r.cast(a) for a in r.step.args[2:]]
    total = r.of("multiply", r.states[0], factors[0])
    for s, a in zip(r.states[1:], factors[1:], strict=True):
        total = r.of("add", total, r.of("multiply", s, a))
    return r.of("add", total, r.entry(1))


def _flipped(r: _Recurrence) -> str:
    return r.of("bitwise_xor", r.of("bitwise_and", r.states[0], r.entry(1)), r.entry(2))


def _linear(r: _Recurrence) -> str | None:
    """The update for integers; for floats, array steps add in another order."""
    if np.dtype(r.row.dtype).kind not in "iu":
        return None
    return r.of("add", r.of("multiply", r.states[0], r.entry(1)), r.entry(2))


_STEPS: dict[str, tuple[str, int, bool, Writer]] = {
    "accumulate": ("s", 1, False, _accumulated),
    "fold_in_order": ("s", 1, True, _accumulated),
    "forward_fill": ("ss", 1, False, _filled),
    "segmented": ("sss", 1, False, _segmented),
    "masked_flips": ("ss", 1, False, _flipped),
    "linear_recurrence": ("ss", 1, False, _linear),
    "lfilter": ("sp", 1, False, _filtered),
    "lfilter2": ("spp", 2, False, _filtered),
}
"""For each operator: the kinds of its arguments after the state, rows looked back, last row only, and its update."""

_REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_or": "any",
    "logical_and": "all",
}


def _fold(step: Compute, types: Types) -> Sequence[Step]:
    """Write a fold as f(state, all rows reduced in NumPy's order), as array steps do; bitwise ones as a loop."""
    (init, x), dtype = step.args, step.type.dtype
    name = str(step.op.options["ufunc"])
    if name in BITS:
        return _Recurrence(step, types).written(*_STEPS["fold_in_order"])
    wide = np.dtype(dtype).kind == "f" or np.dtype(dtype).itemsize == 8 or name not in ("add", "multiply")
    if name not in _REDUCTIONS or {types[init].dtype, types[x].dtype} != {dtype} or not wide:
        return ()
    first, rest = f"{step.out}#i", f"{step.out}#r"
    types[first], types[rest] = (TensorType(dtype, types[v].shape[1:]) for v in (init, x))
    whole = Op.make(_REDUCTIONS[name], axis=(0,), keepdims=False)
    return [
        Compute(first, _FIRST, (init,), types[first]),
        Compute(rest, whole, (x,), types[rest]),
        Compute(step.out, Op.make(name), (first, rest), step.type),
    ]


class _Formula:
    """Builds steps, the last of which defines the result."""

    def __init__(self, step: Compute, types: Types) -> None:
        self.step, self.types, self.steps = step, types, list[Step]()

    def of(self, dtype: str, op: Op, *args: str, shape: tuple[int | None, ...] | None = None) -> str:
        """Add one operator; return the name of its result.  shape: None for that of the first argument."""
        found = f"{self.step.out}#f{len(self.steps)}"
        self.types[found] = TensorType(dtype, self.types[args[0]].shape if shape is None else shape)
        self.steps.append(Compute(found, op, args, self.types[found]))
        return found

    def cast(self, x: str, dtype: str) -> str:
        """A value in another dtype."""
        return x if self.types[x].dtype == dtype else self.of(dtype, Op.make("cast", dtype=dtype), x)

    def result(self, op: Op, *args: str) -> Sequence[Step]:
        """Return all steps, with this operator as the last one."""
        return [*self.steps, Compute(self.step.out, op, args, self.step.type)]


def _geometric(step: Compute, types: Types) -> Sequence[Step]:
    """init * factor ** n.  If the power is out of range, array steps run, which then run the loop."""
    (init, factor, n), dtype, f = step.args, step.type.dtype, _Formula(step, types)
    if types[init].dtype != dtype or np.dtype(dtype).kind not in "fiu":
        return ()
    first = f.of(dtype, _FIRST, init, shape=types[init].shape[1:])
    if np.dtype(dtype).kind != "f":
        start, base, times = (f.cast(x, "uint64") for x in (first, factor, n))
        power = f.of("uint64", Op.make("power"), base, times)
        wrapped = f.of("uint64", Op.make("multiply"), start, power, shape=step.type.shape)
        return f.result(Op.make("cast", dtype=dtype), wrapped)
    base, times = f.cast(factor, dtype), f.cast(n, dtype)
    power = f.of(dtype, Op.make("power"), base, times)
    size = f.of(dtype, Op.make("absolute"), power)
    where_zero = f.cast(f.of("bool", Op.make("logical_not"), base), dtype)
    looked = f.of(dtype, Op.make("maximum"), size, where_zero)
    about = np.finfo(dtype)
    within = Op.make("random_valid", what="power", low=float(about.tiny), high=float(about.max), nan=True)
    f.of(dtype, within, looked)
    return f.result(Op.make("multiply"), first, power)


_FORMULAS: dict[str, Callable[[Compute, Types], Sequence[Step]]] = {"fold": _fold, "geometric": _geometric}
"""For each operator, the function that writes its formula, or nothing where it has none."""
