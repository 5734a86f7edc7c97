"""The first step of every loop on small arrays: terms that differ there are not equal.

Terms that can be proven equal are equal there, too.  The numbers prove nothing; they only avoid proofs that would
fail.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from scanopt.array.op import Op, Operand
from scanopt.array.types import TensorType
from scanopt.calculus.encoded import Encoded
from scanopt.calculus.forms import Form

__all__ = ["told_apart"]

Array = np.ndarray[Any, Any]

_LARGEST = 4096
"""Elements: larger arrays are left unknown."""

_LENGTH = 7
"""Every length that is unknown, and every integer that is an input: numbers of steps fit to arrays."""


def told_apart(g: Encoded, terms: Iterable[int]) -> dict[int, tuple[Any, ...]]:
    """Per term a class: terms of different ones have different values at step 0."""
    values = _first_steps(g, terms)
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
    """One number for an array."""
    with np.errstate(all="ignore"):
        total = complex(v.sum(dtype="int64" if v.dtype == bool else None))
        number = total.real + total.imag
    return number if np.isfinite(number) else 0.0


def _first_steps(g: Encoded, terms: Iterable[int]) -> Mapping[int, Array]:
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
            made_of = _made_of(g, f)
            if i in needed and _size(g.types[i].shape) <= _LARGEST and all(a in out for a in made_of):
                value = _value(g, f, [out[a] for a in made_of])
                if value is not None and value.size <= _LARGEST:
                    out[i] = value
    return out


def _made_of(g: Encoded, f: Form) -> tuple[int, ...]:
    return (*f.args, g.clocks[f.clock].steps) if f.kind in ("stack", "tail") else f.args


def _size(shape: tuple[int | None, ...]) -> int:
    return math.prod(_LENGTH if n is None else n for n in shape)


def _value(g: Encoded, f: Form, args: list[Array]) -> Array | None:
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
            return np.asarray(args[0][-f.k]) if len(args[0]) >= f.k else None
        case "stack" | "tail":
            n = max(min(int(args[1]), _LARGEST if f.kind == "stack" else f.k), 0)
            return np.broadcast_to(args[0], (n, *args[0].shape))
        case _:
            return _applied(f.operator, args) if isinstance(f.operator, Op) else None


def _applied(op: Op, args: list[Array]) -> Array | None:
    """The operator's value, None where it raises (lengths of 1 need not fit), is large, or would be seen."""
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
    shape = tuple(_LENGTH if n is None else n for n in type.shape)
    rng = np.random.default_rng(zlib.crc32(key.encode()))
    kind = np.dtype(type.dtype).kind
    if kind in "iu":
        return (rng.integers(0, _LENGTH, shape) if shape else np.array(_LENGTH)).astype(type.dtype)
    numbers = rng.uniform(0.2, 0.9, shape)
    return (numbers > 0.5) if kind == "b" else np.asarray(numbers, type.dtype)
