"""One step of every loop on small arrays: terms that differ there are not equal.

It is the first step, or any later one before which states that are claimed to be equal were equal.  Terms that can be
proven equal are equal there, too.  The numbers prove nothing; they only avoid proofs that would fail.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from scanopt.array.op import Op, Operand
from scanopt.array.types import TensorType
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import Form

__all__ = ["told_apart"]

Array = np.ndarray[Any, Any]

_Delayed = Callable[[Form, Array], Array]
"""Gives the value that a delay reads, from its form and the state's initial value."""

_LARGEST = 4096
"""The most elements of an array: larger ones are left unknown."""

_LENGTH = 7
"""The value of unknown lengths and of integer inputs: the same for all, so that numbers of steps fit to arrays."""


def told_apart(
    g: Encoded, terms: Iterable[int], states: Mapping[int, Hashable] | None = None
) -> dict[int, tuple[Any, ...]]:
    """Per term a class: terms of different ones have different values at step 0.

    states: the classes of states, if the step is to be a later one, before which states of one class were equal.
    """
    values = _one_step(g, terms, _initial if states is None else partial(_later, states))
    sorts: dict[tuple[Any, ...], list[tuple[float, int]]] = {}
    for i in dict.fromkeys(terms):
        v = values.get(i)
        kind = () if v is None else (v.dtype.name, v.shape)
        sorts.setdefault(kind, []).append((0.0 if v is None else _number(v), i))
    out: dict[int, tuple[Any, ...]] = {}
    for kind, members in sorts.items():
        count, last = 0, None
        close = 1e-9 if kind and kind[0] in ("float64", "complex128") else 1e-4
        for number, i in sorted(members):
            if last is not None and number - last > close * (1.0 + abs(number)):
                count += 1
            last, out[i] = number, (kind, count)
    return out


def _number(v: Array) -> float:
    """One number that stands for an array: its sum, or 0 where that is not finite."""
    with np.errstate(all="ignore"):
        total = complex(v.sum(dtype="int64" if v.dtype == bool else None))
        number = total.real + total.imag
    return number if np.isfinite(number) else 0.0


def _one_step(g: Encoded, terms: Iterable[int], delayed: _Delayed) -> Mapping[int, Array]:
    """Values of all terms that these are made of, as far as they are known."""
    needed: set[int] = set()
    todo = list(terms)
    while todo:
        i = todo.pop()
        if i not in needed:
            needed.add(i)
            todo.extend(a for f in g.classes[i] for a in _made_of(g, f))
    out: dict[int, Array] = {}
    with np.errstate(all="ignore"):
        for i, f in g.forms():
            if i not in needed or _size(g.types[i].shape) > _LARGEST:
                continue
            made_of = _made_of(g, f)
            if all(map(out.__contains__, made_of)):
                value = _value(g, f, [out[a] for a in made_of], delayed)
                if value is not None and value.size <= _LARGEST:
                    out[i] = value
    return out


def _made_of(g: Encoded, f: Form) -> tuple[int, ...]:
    return (*f.args, g.clocks[f.clock].steps) if f.kind in ("stack", "tail") else f.args


def _size(shape: tuple[int | None, ...]) -> int:
    return math.prod([_LENGTH if n is None else n for n in shape])


def _value(g: Encoded, f: Form, args: list[Array], delayed: _Delayed) -> Array | None:
    match f.kind:
        case "input":
            return _input(f.key, g.inputs[f.key])
        case "const":
            return g.consts[f.key]
        case "hold":
            return args[0]
        case "seq":
            return np.asarray(args[0][0]) if len(args[0]) else None
        case "delay":
            return delayed(f, np.asarray(args[0][-f.k])) if len(args[0]) >= f.k else None
        case "stack" | "tail":
            n = max(min(int(args[1]), _LARGEST if f.kind == "stack" else f.k), 0)
            return np.broadcast_to(args[0], (n, *args[0].shape))
        case _:
            return _applied(f.operator, args) if isinstance(f.operator, Op) else None


def _initial(f: Form, initial: Array) -> Array:
    """What the first step reads of a state."""
    return initial


def _later(states: Mapping[int, Hashable], f: Form, initial: Array) -> Array:
    """What a later step reads of a state: the same for equal states with equal initial values."""
    return _numbers(f"{states[f.state]} {f.k} {_number(initial):.6g}", initial.dtype, initial.shape)


def _applied(op: Op, args: list[Array]) -> Array | None:
    """The operator's value; None where it raises (assumed lengths need not fit), is large, or has an effect."""
    if op.spec.effect:
        return None
    try:
        if op.data_shape and _size(op.infer(*(Operand(a.dtype.name, a.shape, a) for a in args)).shape) > _LARGEST:
            return None
        return np.asarray(op.bind(np)(*args))
    except Exception:
        return None


def _input(key: str, type: TensorType) -> Array:
    """Numbers that are the same in every run."""
    dtype, shape = np.dtype(type.dtype), tuple(_LENGTH if n is None else n for n in type.shape)
    return np.array(_LENGTH).astype(dtype) if dtype.kind in "iu" and not shape else _numbers(key, dtype, shape)


def _numbers(key: str, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
    """Numbers that are the same for the same key."""
    rng = np.random.default_rng(zlib.crc32(key.encode()))
    if dtype.kind in "iu":
        return np.asarray(rng.integers(0, _LENGTH, shape)).astype(dtype)
    numbers = rng.uniform(0.2, 0.9, shape)
    return (numbers > 0.5) if dtype.kind == "b" else np.asarray(numbers, dtype)
