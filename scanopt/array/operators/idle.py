"""Guards for operators that may raise and were moved out of a loop that may take no step, or fewer than expected.

A loop that takes no step runs no operator of its step.  So an operator that replaces it on all steps at once must not
run either: without rows its result is an array without entries.  The same holds for an operator on loop-invariant
values that runs before the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scanopt.array.abstract import abstract_eval, batched_eval, concrete, concrete_shape
from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.parameters import Parameter, integer
from scanopt.array.types import MOST_AXES, TensorType

__all__ = ["guarded", "has_rows", "kept_row", "no_rows", "when_runs"]


def has_rows(flags: Sequence[str]) -> Op:
    """The op that says whether arguments batched by `flags`, innermost first, have rows along each of their new axes.

    >>> import numpy as np
    >>> bool(has_rows(["10"]).bind()(np.ones((0, 3)), np.ones(3)))
    False
    """
    return Op.make("has_rows", axes=tuple(sum(f[i] == "1" for f in flags) for i in range(len(flags[0]))))


def no_rows(op: Op, flags: Sequence[str]) -> Op:
    """The op that gives the result of `op`, batched by `flags`, of arguments without rows, without running `op`.

    >>> import numpy as np
    >>> no_rows(Op.make("sum", axis=(0,), keepdims=False), ["1"]).bind()(np.ones((0, 3, 2))).shape
    (0, 2)
    """
    return Op.make("no_rows", op=op.key, flags=tuple(flags))


def when_runs(op: Op) -> Op:
    """The op of a number of steps and the arguments of `op` that runs `op` only if there is at least one step.

    Without a step its result has the shape that `op` would give, and its entries where they are known without a step;
    other entries are arbitrary, as only lengths may depend on them.

    >>> import numpy as np
    >>> first = when_runs(Op.make("getitem", index=(0,))).bind()
    >>> first(2, np.ones((3, 4))).shape, first(0, np.ones((0, 4))).shape
    ((4,), (4,))
    """
    return Op.make("when_runs", op=op.key)


def kept_row(k: int) -> Op:
    """The op that takes the last row of a loop of at most k + 1 steps and its number of steps, and gives row k.

    >>> import numpy as np
    >>> kept_row(2).bind()(np.ones((1, 4)), 3).shape
    (4,)
    """
    return Op.make("kept_row", k=k)


def _infer_kept_row(row: Operand, steps: Operand, k: int) -> TensorType:
    if not row.ndim or steps.dtype != "int64" or steps.ndim:
        raise ValueError(f"kept_row takes rows and a number of steps, found {row.type} and {steps.type}")
    return row.type.row()


def _bind_kept_row(xp: Any, k: int) -> Callable[..., Any]:
    def last(rows: Any, steps: Any) -> Any:
        if steps <= k or not len(rows):
            raise IndexError(f"index {k} is out of bounds for axis 0 with size {int(steps)}")
        return rows[-1]

    return last


def _infer_when_runs(steps: Operand, *xs: Operand, op: str) -> TensorType:
    return Op.parse(op).idle(*xs)


def _known_when_runs(steps: Operand, *xs: Operand, op: str) -> Operand:
    return abstract_eval(Op.parse(op), xs)  # the entries of steps and those of no steps, where both are known


def _bind_when_runs(xp: Any, op: str) -> Callable[..., Any]:
    run, nothing, view = Op.parse(op).bind(xp), _bind_no_rows(xp, op, ()), Op.parse(op).view

    def when_runs(steps: Any, *xs: Any) -> Any:
        if steps <= 0:
            return nothing(*xs)
        found = run(*xs)
        return xp.array(found) if view else found  # the result may share memory with xs[0]: copy it

    return when_runs


def guarded(op: Op) -> Op | None:
    """The op that a `when_runs` guards, None for any other op.

    >>> guarded(when_runs(Op.make("tanh"))), guarded(Op.make("tanh"))
    (Op(name='tanh', params=()), None)
    """
    return _guarded(op) if op.name == "when_runs" else None


def _guarded(op: Op) -> Op:
    return Op.parse(op.options["op"])


def _infer_has_rows(*xs: Operand, axes: tuple[int, ...]) -> TensorType:
    return TensorType("bool", ())


def _bind_has_rows(xp: Any, axes: tuple[int, ...]) -> Callable[..., bool]:
    if sum(map(bool, axes)) == 1:
        (i,) = (i for i, n in enumerate(axes) if n)
        return lambda *xs: 0 not in xs[i].shape[: axes[i]]
    return lambda *xs: all(0 not in x.shape[:n] for x, n in zip(xs, axes, strict=True))


def _evaluated(op: str, flags: Sequence[str], xs: Sequence[Operand]) -> Operand:
    return batched_eval(lambda rows: abstract_eval(Op.parse(op), rows), flags, xs)


def _infer_no_rows(*xs: Operand, op: str, flags: tuple[str, ...]) -> TensorType:
    return _evaluated(op, flags, xs).type


def _bind_no_rows(xp: Any, op: str, flags: tuple[str, ...]) -> Callable[..., Any]:
    def empty(*xs: Any) -> Any:
        found = _evaluated(op, flags, [concrete(x) for x in xs])
        if found.value is None:
            return xp.empty(concrete_shape(found.shape), found.dtype)
        return xp.array(found.value)  # lengths may depend on it; a copy, since the result may be overwritten

    return empty


def _are_counts(x: Any) -> bool:
    return isinstance(x, tuple) and all(type(n) is int and 0 <= n <= MOST_AXES for n in x)


def _is_key(x: Any) -> bool:
    try:
        return isinstance(x, str) and bool(Op.read(x))
    except ValueError:
        return False


def _are_flags(x: Any) -> bool:
    return isinstance(x, tuple) and all(isinstance(f, str) and {*f} <= {"0", "1"} and "1" in f for f in x)


register(
    OpSpec(
        "has_rows",
        _bind_has_rows,
        _infer_has_rows,
        cost="free",
        doc="whether no argument has a length of 0 among its first axes, of each so many",
        params={"axes": Parameter("a number of axes for each argument", _are_counts)},
    )
)
register(
    OpSpec(
        "no_rows",
        _bind_no_rows,
        _infer_no_rows,
        known=lambda *xs, op, flags: _evaluated(op, flags, xs),
        data_shape=True,
        cost="memory",
        doc="what a batched operator gives for arguments without rows, found from shapes alone",
        params={
            "op": Parameter("an operator as text", _is_key),
            "flags": Parameter("for each new axis a text with a 1 for each argument that has it, else a 0", _are_flags),
        },
    )
)
register(
    OpSpec(
        "kept_row",
        _bind_kept_row,
        _infer_kept_row,
        cost="free",
        view=True,
        can_raise=True,
        doc="the last of the rows that a loop of some steps kept, which is row k; an error where it took fewer steps",
        params={"k": integer(0)},
    )
)
register(
    OpSpec(
        "when_runs",
        _bind_when_runs,
        _infer_when_runs,
        known=_known_when_runs,
        can_raise=True,
        data_shape=lambda op: _guarded(op).data_shape,
        cost=lambda op: _guarded(op).cost,
        doc="an operator of the arguments after the first, a number of steps; without steps it does not run",
        params={"op": Parameter("an operator as text", _is_key)},
    )
)
