"""Random numbers as entries of the operator table: pure functions of a state, parameters and lengths.

A state is a uint64 vector (key 0, key 1, draw number); the state of the next draw is state + (0, 0, 1),
an ordinary sum that laws know.  Arguments of a sampler: a state, its parameters, a scalar per unknown
length of `shape`.  In batched form (`lead` > 0) the states have `lead` further axes in front.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any

import numpy as np

from scanopt.array.batching import align, front, takes_lengths
from scanopt.array.derivatives import no_gradient
from scanopt.array.op import Gradient, Op, Operand, OpSpec, register
from scanopt.array.parameters import DTYPE, FLAG, NUMBER, SHAPE, TEXT, Parameter, integer, one_of, optional
from scanopt.array.random import counts as random_counts
from scanopt.array.random import samplers as random_samplers
from scanopt.array.random.draws import Draws
from scanopt.array.random.philox import FOLD, blocks_at
from scanopt.array.shapes import broadcast, fill, filled, lengths, not_negative, shape_text
from scanopt.array.types import MOST_AXES, Dim, TensorType
from scanopt.array.variable import Variable, apply
from scanopt.records import dataclass

__all__ = ["SAMPLERS", "Sampler"]

Flags = Sequence[bool]
Args = Sequence[Variable]
Shape = tuple[Dim, ...]


@dataclass(frozen=True)
class Sampler:
    """The parts of an entry in which samplers differ.

    kernel: draws and values of the parameters -> values of shape `draws.shape` + `tail`.
    core: for each parameter the number of last axes that do not broadcast against the size.
    tail: whether the result also has the core axis of its last parameter.
    gradient: as of an entry.  Draws without parameters, and counts, depend smoothly on nothing.
    params: as of an entry, without those that all samplers have: a shape, a dtype, `lead`.
    """

    kernel: Callable[..., Any]
    core: tuple[int, ...] = ()
    tail: bool = False
    gradient: Gradient | None = no_gradient
    doc: str = ""
    params: Mapping[str, Parameter] = field(default_factory=dict[str, Parameter])


def _state_lead(state: Operand, lead: int) -> Shape:
    if state.dtype != "uint64" or state.ndim != lead + 1 or state.shape[-1] not in (3, None):
        raise TypeError(f"a state of random numbers is a uint64 vector of 3 words, found {state.type}")
    return state.shape[:-1]


@lru_cache(4096)
def _whole(state_lead: Shape, params: tuple[Shape, ...], size: Shape, lead: int) -> Shape:
    """The shape of a draw without its tail.  Raises ValueError when parameters have more axes than the size."""
    m = len(size)
    whole = broadcast(state_lead + (1,) * m, *params)
    if len(own := whole[lead:]) != m:
        raise _misfit(params, size)
    return whole[:lead] + tuple(b if a in (1, None) else a for a, b in zip(own, size, strict=True))


@lru_cache(4096)
def _check_size(whole: Shape, params: Sequence[Shape], size: Shape, lead: int) -> None:
    """Raise ValueError for a negative length, and where parameters do not broadcast to the size of their draw."""
    not_negative(size)
    if any(a is not None and b is not None and a != b for a, b in zip(whole[lead:], size, strict=True)):
        raise _misfit(params, size)


def _misfit(params: Sequence[Shape], size: Shape) -> ValueError:
    found = " and ".join(shape_text(p) for p in params)
    return ValueError(f"parameters of shape {found} do not broadcast to the size {shape_text(size)}")


def _strip(shapes: Sequence[Shape], core: Sequence[int]) -> tuple[Shape, ...]:
    return tuple([s[: len(s) - c] for s, c in zip(shapes, core, strict=True)])


def _infer(sampler: Sampler) -> Callable[..., TensorType]:
    count = len(sampler.core)

    def infer(state: Operand, *rest: Operand, shape: Shape, dtype: str, lead: int = 0, **more: Any) -> TensorType:
        state_lead = _state_lead(state, lead)
        params, size = rest[:count], lengths(filled(shape, rest[count:]))
        for x, core in zip(params, sampler.core, strict=True):
            if np.dtype(x.dtype).kind not in "biuf" or x.ndim < core:
                raise TypeError(f"a parameter must be real{', with an axis' if core else ''}, found {x.type}")
        whole = _whole(state_lead, _strip([x.shape for x in params], sampler.core), size, lead)
        return TensorType(dtype, whole + (params[-1].shape[-1:] if sampler.tail else ()))

    return infer


def _refuse(sampler: Sampler) -> Callable[..., None]:
    count = len(sampler.core)

    def refuse(state: Operand, *rest: Operand, shape: Shape, dtype: str, lead: int = 0, **more: Any) -> None:
        params, size = _strip([x.shape for x in rest[:count]], sampler.core), filled(shape, rest[count:])
        _check_size(_whole(_state_lead(state, lead), params, size, lead), params, size, lead)

    return refuse


def _bind(sampler: Sampler) -> Callable[..., Callable[..., Any]]:
    count = len(sampler.core)

    def bind(xp: Any, *, shape: Shape, dtype: str, lead: int = 0, **more: Any) -> Callable[..., Any]:
        def f(state: Any, *rest: Any) -> Any:
            params, size = rest[:count], fill(shape, rest[count:])
            shapes = _strip([x.shape for x in params], sampler.core)
            whole = _whole(state.shape[:-1], shapes, size, lead)
            _check_size(whole, shapes, size, lead)
            draws = Draws(xp, state, tuple(n or 0 for n in whole[:lead]), size)
            with np.errstate(all="ignore"):
                value = xp.asarray(sampler.kernel(draws, *params, dtype=dtype, **more))
            full = draws.shape + (params[-1].shape[-1:] if sampler.tail else ())
            if value.shape == full and value.dtype == dtype and value.flags.c_contiguous:
                return value
            return xp.array(xp.broadcast_to(value, full), dtype=dtype, order="C")

        return f

    return bind


def _batch(sampler: Sampler) -> Callable[[Op, Flags, Args], Variable | None]:
    """The batched form of a sampler: one more leading axis, of the state, of parameters, or of both."""
    count = len(sampler.core)

    def batch(op: Op, batched: Flags, args: Args) -> Variable | None:
        if any(batched[1 + count :]):
            return None
        options = op.options
        lead, m = options.get("lead", 0), len(options["shape"])
        new = [args[0] if batched[0] else _unbatched(args[0])]
        for x, flag, core in zip(args[1 : 1 + count], batched[1 : 1 + count], sampler.core, strict=True):
            new.append(front(x, lead + m + core) if flag else x)
        return apply(Op.make(op.name, **{**options, "lead": lead + 1}), *new, *args[1 + count :])

    return batch


def _unbatched(x: Variable) -> Variable:
    return apply(Op.make("expand_dims", axis=(0,)), x)


def _raises(op: Op) -> bool:
    return takes_lengths(op) or op.name == "random_choice"


SAMPLERS: dict[str, Sampler] = {
    "uniform": Sampler(random_samplers.uniform, doc="uniform in [0, 1)"),
    "normal": Sampler(random_samplers.normal, doc="standard normal"),
    "exponential": Sampler(random_samplers.exponential, doc="standard exponential"),
    # These accept and reject proposals: with its draws held fixed, the value jumps as a parameter moves,
    # and its derivative between the jumps is not that of the mean.
    "gamma": Sampler(random_samplers.gamma, (0,), gradient=None, doc="gamma of a shape, scale 1; without a gradient"),
    "beta": Sampler(random_samplers.beta, (0, 0), gradient=None, doc="beta of a and b; without a gradient"),
    "integers": Sampler(random_counts.integers, (0,), doc="integers from 0 up to a number, without it"),
    "binomial": Sampler(random_counts.binomial, (0, 0), doc="successes of n trials of probability p"),
    "poisson": Sampler(random_counts.poisson, (0,), doc="counts of a mean"),
    "multinomial": Sampler(random_counts.multinomial, (0, 1), True, doc="where n trials of probabilities p fall"),
    "permutation": Sampler(random_samplers.permutation, doc="0, 1, ... of the last axis in random order"),
    "choice": Sampler(
        random_samplers.choice, (1,), doc="places of a vector of probabilities", params={"replace": FLAG}
    ),
}
"""The samplers by name; their entries are called random_*."""


for _name, _sampler in SAMPLERS.items():
    register(
        OpSpec(
            f"random_{_name}",
            _bind(_sampler),
            _infer(_sampler),
            _batch(_sampler),
            batch_exact=True,
            cost="transcendental",
            can_raise=_raises,
            data_shape=takes_lengths,
            gradient=_sampler.gradient,
            refuse=_refuse(_sampler),
            doc=_sampler.doc,
            params={"shape": SHAPE, "dtype": DTYPE, "lead": optional(integer(0, MOST_AXES)), **_sampler.params},
        )
    )


# New keys


def _infer_fold(state: Operand, i: Operand) -> TensorType:
    lead = _state_lead(state, state.ndim - 1)
    if np.dtype(i.dtype).kind not in "biu":
        raise TypeError(f"fold_in takes integers, found {i.type}")
    return TensorType("uint64", (*broadcast(lead, i.shape), 3))


def _bind_fold(xp: Any) -> Callable[..., Any]:
    def f(state: Any, i: Any) -> Any:
        numbers = xp.asarray(i).astype("uint64")
        shape = np.broadcast_shapes(state.shape[:-1], numbers.shape)
        states = xp.broadcast_to(state, (*shape, 3)).reshape(-1, 3)
        first = xp.broadcast_to(numbers, shape).reshape(-1) + np.uint64(1)
        out = xp.zeros((first.shape[0], 3), dtype="uint64")
        out[:, :2] = blocks_at(xp, states, first, FOLD)[:, :2]
        return out.reshape(*shape, 3)

    return f


def _batch_fold(op: Op, batched: Flags, args: Args) -> Variable:
    state, i = args
    ndim = max(state.ndim - 1 - batched[0], i.ndim - batched[1])
    state = front(state, ndim + 1) if batched[0] else state
    return apply(op, state, front(i, ndim) if batched[1] else i)


register(
    OpSpec(
        "random_fold_in",
        _bind_fold,
        _infer_fold,
        _batch_fold,
        batch_exact=True,
        cost="transcendental",
        gradient=no_gradient,
        doc="the state, at draw 0, of the key number i made from a state",
    )
)


# Checks of parameters


def _infer_valid(x: Operand, what: str, **more: Any) -> TensorType:
    if np.dtype(x.dtype).kind not in "biuf":
        raise TypeError(f"{what} must be real, found {x.type}")
    return x.type


def _bind_valid(
    xp: Any, what: str, low: float | None = None, high: float | None = None, strict: bool = False,
    nan: bool = False, sums: str = "",
) -> Callable[..., Any]:  # fmt: skip
    """Bind the check.  sums: "one" (the last axis must sum to 1) or "most" (all but its last entry to at most 1)."""

    def require(good: Any, text: str) -> None:
        if not bool(good.all()):
            raise ValueError(f"{what} must {text}")

    def f(x: Any) -> Any:
        passed = (x != x) if nan else xp.zeros(x.shape, dtype=bool)
        if low is not None:
            require((x > low if strict else x >= low) | passed, f"be {'above' if strict else 'at least'} {low}")
        if high is not None:
            require((x <= high) | passed, f"be at most {high}")
        eps = float(np.finfo(x.dtype).eps) if x.dtype.kind == "f" else 0.0
        if sums == "one":
            require(abs(x.sum(-1) - 1) <= eps**0.5, "sum to 1")
        if sums == "most":
            require(x[..., :-1].sum(-1) <= 1 + max(64 * eps, 1e-12), "sum to 1 at most")
        return x

    return f


def _batch_valid(op: Op, batched: Flags, args: Args) -> Variable:
    return apply(op, *align(batched, args))


def _gradient_valid(op: Op, args: Args, out: Variable, g: Variable) -> list[Variable | None]:
    return [g]


register(
    OpSpec(
        "random_valid",
        _bind_valid,
        _infer_valid,
        _batch_valid,
        batch_exact=True,
        view=True,
        can_raise=True,
        gradient=_gradient_valid,
        doc="a parameter of a distribution, if it is one",
        params={
            "what": TEXT,
            "low": optional(NUMBER),
            "high": optional(NUMBER),
            "strict": optional(FLAG),
            "nan": optional(FLAG),
            "sums": optional(one_of("one", "most")),
        },
    )
)
