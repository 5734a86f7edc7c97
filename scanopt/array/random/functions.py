"""Random numbers of a key: `scanopt.tensor.random`.

Each function is pure: the same key gives the same numbers.  `split` and `fold_in` make new keys from
old ones, and nothing has to be updated:

>>> from scanopt import function
>>> f = function([], uniform(fold_in(key(1), 7), (2,)))
>>> (f() == f()).tolist()
[True, True]

A key is a uint64 vector of three words: two are the key proper, the third is the number of the draw,
which is 0 unless `advance` increased it.  `RandomStreams` keeps such a vector in a shared variable.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from scanopt import features
from scanopt.array.batching import broadcast_to, dims_of, int_constant, split_dims
from scanopt.array.constants import as_tensor_variable, as_variable, is_weak
from scanopt.array.op import Op
from scanopt.array.operators.creation import arange
from scanopt.array.operators.elementwise import cast, elementwise, where
from scanopt.array.operators.selecting import take
from scanopt.array.operators.shaping import as_dims, reshape_to
from scanopt.array.operators.specify_shape import specify_shape
from scanopt.array.registry import FUNCTIONS
from scanopt.array.types import dtype_name
from scanopt.array.variable import Apply, Constant, Variable, apply, describe
from scanopt.config import config

__all__ = [
    "advance", "beta", "binomial", "choice", "exponential", "fold_in", "gamma", "integers", "key",
    "multinomial", "normal", "permutation", "poisson", "shuffled", "split", "uniform",
]  # fmt: skip


# Keys


def key(seed: Any) -> Variable:
    """The key of a seed (an int, a list of ints, or a symbolic integer).

    An int gives the key of `numpy.random.Philox(seed)`.  Raises ValueError for a negative one.

    >>> key(1234).data
    array([ 6882349382922872486, 11590492409849068143,                    0],
          dtype=uint64)
    """
    if isinstance(seed, Variable) and not isinstance(seed, Constant):
        return fold_in(key(0), seed)
    entropy = seed.data.tolist() if isinstance(seed, Constant) else seed
    words = np.random.SeedSequence(entropy).generate_state(2, np.uint64)
    return Constant(np.append(words, np.uint64(0)))


def fold_in(key: Any, i: Any) -> Variable:
    """The key number i made from a key; for an array of numbers, an array of keys."""
    return apply(Op.make("random_fold_in"), _state(key), as_variable(i))


def split(key: Any, n: Any = 2) -> Variable:
    """n keys made from a key, as the rows of a matrix.

    >>> split(key(1), 3).type
    TensorType(dtype='uint64', shape=(3, 3))
    """
    return fold_in(key, arange(n))


def advance(key: Any, draws: Any = 1) -> Variable:
    """The state after `draws` further draws: its last word increased by that number."""
    step: Variable = Constant(np.array([0, 0, 1], np.uint64))
    if not is_weak(draws) or draws != 1:
        step = elementwise("multiply", step, cast(as_variable(draws), "uint64"))
    return elementwise("add", _state(key), step)


def _state(key: Any) -> Variable:
    """A key as a variable; an unknown length is specified as 3, since no other one is possible."""
    v = as_tensor_variable(key)
    if v.dtype != "uint64" or v.ndim != 1:
        raise TypeError(
            f"expected a key, a uint64 vector as T.random.key(seed) makes it, found {describe(v)}; for numbers that "
            "differ from call to call, as in PyTensor, make a stream: T.random.RandomStream(seed).normal(0, 1)"
        )
    return specify_shape(v, (3,)) if v.type.shape == (None,) else v


# Sizes and parameters


def _broadcast_dims(params: Sequence[Variable]) -> tuple[Any, ...]:
    """The lengths of the axes that the parameters broadcast to."""
    dims: list[Any] = []
    for x in params:
        own = list(dims_of(x))
        ndim = max(len(own), len(dims))
        pairs = zip([1] * (ndim - len(dims)) + dims, [1] * (ndim - len(own)) + own, strict=True)
        dims = [_longer(a, b) for a, b in pairs]
    return tuple(dims)


def _longer(a: Any, b: Any) -> Any:
    if a is b or (isinstance(b, int) and b == 1):
        return a
    if isinstance(a, int):
        return b if a == 1 else a
    return b if isinstance(b, int) else where(elementwise("equal", a, 1), b, a)


def _dims(size: Any, ndim: int | None, *params: Variable) -> tuple[Any, ...]:
    """A size argument as a tuple of lengths; None and () mean the shape to which the parameters broadcast."""
    empty = size is None or (isinstance(size, tuple | list) and not size)
    dims = _broadcast_dims(params) if empty else as_dims(size, ndim)
    if ndim is not None and len(dims) != ndim:
        raise ValueError(f"ndim is {ndim}, but the size has {len(dims)} lengths")
    return dims


def _draw(name: str, key: Any, dims: Sequence[Any], dtype: str, *params: Variable, **more: Any) -> Variable:
    shape, inputs = split_dims(dims)
    op = Op.make(f"random_{name}", shape=shape, dtype=dtype_name(dtype), **more)
    return apply(op, _state(key), *params, *inputs)


def _valid(x: Any, what: str, **rule: Any) -> Variable:
    """A parameter, checked now if its value is known, else when the function runs.  Raises ValueError."""
    v, op = as_variable(x), Op.make("random_valid", what=what, **rule)
    if not isinstance(v, Constant):
        return apply(op, v)
    op.infer(v.operand)
    op.bind()(v.data)
    return v


def _real(dtype: Any, *params: Any) -> str:
    """The dtype of real numbers: `config.floatX`, or a wider one if a parameter has one."""
    if dtype is not None:
        wanted = np.dtype(dtype_name(dtype))
        if wanted.kind != "f":
            raise TypeError(f"expected a floating point dtype, found {wanted}")
        return str(wanted.name)
    given = [np.dtype(as_variable(x).dtype) for x in params if not is_weak(x)]
    return str(np.result_type(config.floatX, *(d for d in given if d.kind == "f")).name)


def _like(x: Any, dtype: str, dims: Sequence[Any]) -> Variable:
    """A location or scale cast to the dtype of the draw and made to fit its size."""
    return _fitting(cast(as_variable(x), dtype), as_variable(x), dims)


def _fitting(x: Variable, named: Variable, dims: Sequence[Any]) -> Variable:
    """x, broadcast to these lengths unless it is known to fit; `named` has the shape of x, and its lengths are read."""
    own = dims_of(named)
    lengths = zip(own[::-1], dims[::-1], strict=False)
    fits = len(own) <= len(dims) and all(_same(a, b) or (isinstance(a, int) and a == 1) for a, b in lengths)
    return x if fits else broadcast_to(x, dims)


def _same(a: Any, b: Any) -> bool:
    """Whether two lengths are known to be equal."""
    if not isinstance(a, Variable) or not isinstance(b, Variable):
        return not isinstance(a, Variable) and not isinstance(b, Variable) and bool(a == b)
    x, y = a.owner, b.owner
    alike = isinstance(x, Apply) and isinstance(y, Apply) and x.op == y.op and x.op.name == "shape_i"
    return a is b or (alike and x is not None and y is not None and x.inputs[0] is y.inputs[0])


def _is(x: Any, value: float) -> bool:
    return is_weak(x) and bool(x == value)


# Real numbers


def uniform(key: Any, size: Any = (), low: Any = 0.0, high: Any = 1.0, ndim: int | None = None,
            dtype: Any = None) -> Variable:  # fmt: skip
    """Uniform in [low, high).

    >>> uniform(key(1), (2, 3)).type
    TensorType(dtype='float64', shape=(2, 3))
    """
    name = _real(dtype, low, high)
    dims = _dims(size, ndim, as_variable(low), as_variable(high))
    u = _draw("uniform", key, dims, name)
    if _is(low, 0) and _is(high, 1):
        return u
    first, last = _like(low, name, dims), _like(high, name, dims)
    return elementwise("add", first, elementwise("multiply", elementwise("subtract", last, first), u))


def normal(key: Any, size: Any = (), avg: Any = 0.0, std: Any = 1.0, ndim: int | None = None,
           dtype: Any = None) -> Variable:  # fmt: skip
    """Normal with mean avg and standard deviation std.  Raises ValueError where std is negative."""
    name = _real(dtype, avg, std)
    scale = _valid(std, "normal: std", low=0, nan=True)
    dims = _dims(size, ndim, as_variable(avg), scale)
    z = _draw("normal", key, dims, name)
    z = z if _is(std, 1) else elementwise("multiply", _like(scale, name, dims), z)
    return z if _is(avg, 0) else elementwise("add", _like(avg, name, dims), z)


def _scaled(x: Variable, scale: Variable, given: Any, dims: Sequence[Any]) -> Variable:
    return x if _is(given, 1) else elementwise("multiply", _like(scale, x.dtype, dims), x)


def exponential(key: Any, size: Any = (), scale: Any = 1.0, ndim: int | None = None, dtype: Any = None) -> Variable:
    """Exponential with mean `scale`.  Raises ValueError where it is negative."""
    name, width = _real(dtype, scale), _valid(scale, "exponential: scale", low=0, nan=True)
    dims = _dims(size, ndim, width)
    return _scaled(_draw("exponential", key, dims, name), width, scale, dims)


def gamma(key: Any, size: Any = (), shape: Any = 1.0, scale: Any = 1.0, ndim: int | None = None,
          dtype: Any = None) -> Variable:  # fmt: skip
    """Gamma with mean shape * scale.  Raises ValueError where either is negative."""
    name = _real(dtype, shape, scale)
    a = _valid(shape, "gamma: shape", low=0, nan=True)
    width = _valid(scale, "gamma: scale", low=0, nan=True)
    dims = _dims(size, ndim, a, width)
    return _scaled(_draw("gamma", key, dims, name, a), width, scale, dims)


def beta(key: Any, size: Any = (), a: Any = 1.0, b: Any = 1.0, ndim: int | None = None,
         dtype: Any = None) -> Variable:  # fmt: skip
    """Beta with mean a / (a + b).  Raises ValueError where either is not positive."""
    first, second = (_valid(x, f"beta: {n}", low=0, strict=True, nan=True) for n, x in (("a", a), ("b", b)))
    return _draw("beta", key, _dims(size, ndim, first, second), _real(dtype, a, b), first, second)


# Counts


def _integer(x: Any, what: str) -> Variable:
    v = as_variable(x)
    if np.dtype(v.dtype).kind not in "biu":
        raise TypeError(f"{what} must be integers, found {describe(v)}")
    return cast(v, "int64")


def integers(key: Any, low: Any, high: Any = None, size: Any = (), ndim: int | None = None,
             dtype: Any = "int64", endpoint: bool = False) -> Variable:  # fmt: skip
    """Integers in [low, high), in [0, low) if high is None; with `endpoint`, high too.

    Raises ValueError where there is none (or more than 2**63 - 1 of them).
    """
    first, last = (0, low) if high is None else (low, high)
    bounds = [_integer(x, f"integers: {n}") for n, x in (("low", first), ("high", last))]
    dims = _dims(size, ndim, *bounds)
    if all(isinstance(b, Constant) for b in bounds):
        start, stop = (b.data.astype(object) for b in bounds if isinstance(b, Constant))
        count = np.asarray(stop - start + endpoint)
        if (count > np.iinfo(np.int64).max).any():
            raise ValueError("integers: more than 2**63 - 1 of them")
        span: Variable = Constant(count.astype(np.int64))
    else:
        span = elementwise("subtract", bounds[1], bounds[0])
        span = elementwise("add", span, int_constant(1)) if endpoint else span
    span = _valid(span, "integers: high - low", low=1)
    drawn = _draw("integers", key, dims, "int64", span)
    drawn = drawn if _is(first, 0) else elementwise("add", drawn, _like(first, "int64", dims))
    return cast(drawn, dtype_name(dtype))


def binomial(key: Any, size: Any = (), n: Any = 1, p: Any = 0.5, ndim: int | None = None,
             dtype: Any = "int64") -> Variable:  # fmt: skip
    """How many of n trials succeed, each with probability p.  Raises ValueError for p outside [0, 1].

    One trial is `uniform(key, size) < p`, and is written so: the uniform numbers can leave a loop
    whose p depends on the step before.
    """
    trials = _valid(_integer(n, "binomial: n"), "binomial: n", low=0)
    chance = _valid(p, "binomial: p", low=0, high=1)
    dims = _dims(size, ndim, trials, as_variable(p))
    if isinstance(trials, Constant) and trials.ndim == 0 and trials.data == 1:
        hit = elementwise("less", _draw("uniform", key, dims, "float64"), _fitting(chance, as_variable(p), dims))
        return cast(hit, dtype)
    return _draw("binomial", key, dims, dtype, trials, chance)


def poisson(key: Any, size: Any = (), lam: Any = 1.0, ndim: int | None = None, dtype: Any = "int64") -> Variable:
    """Counts with mean lam.  Raises ValueError where it is negative."""
    mean = _valid(lam, "poisson: lam", low=0, high=9.2e18)
    return _draw("poisson", key, _dims(size, ndim, mean), dtype, mean)


def multinomial(key: Any, size: Any = (), n: Any = 1, pvals: Any = (0.5, 0.5), ndim: int | None = None,
                dtype: Any = "int64") -> Variable:  # fmt: skip
    """How many of n trials fall into each place: size, then the last axis of pvals.

    Raises ValueError where pvals are negative, or all but the last sum to more than 1.
    """
    trials = _valid(_integer(n, "multinomial: n"), "multinomial: n", low=0)
    p = as_variable(np.asarray(pvals) if isinstance(pvals, tuple) else pvals)
    if p.ndim == 0:
        raise ValueError(f"multinomial: pvals need an axis, found {describe(p)}")
    p = _valid(p, "multinomial: pvals", low=0, high=1, sums="most")
    outer = dims_of(p)[:-1]
    empty = size is None or (isinstance(size, tuple | list) and not size)
    dims = _outer_dims(trials, outer) if empty else as_dims(size, ndim)
    return _draw("multinomial", key, dims, dtype, trials, p)


def _outer_dims(trials: Variable, outer: Sequence[Any]) -> tuple[Any, ...]:
    own = list(dims_of(trials))
    ndim = max(len(own), len(outer))
    pairs = zip([1] * (ndim - len(own)) + own, [1] * (ndim - len(outer)) + list(outer), strict=True)
    return tuple(_longer(a, b) for a, b in pairs)


# Arrangements


def permutation(key: Any, size: Any = (), n: Any = 1, ndim: int | None = None, dtype: Any = "int64") -> Variable:
    """The integers below n in random order, along a new last axis, once per element of size.

    >>> permutation(key(1), n=4).type
    TensorType(dtype='int64', shape=(4,))
    """
    dims = (*_dims(size, ndim), *as_dims(n))
    return _draw("permutation", key, dims, dtype)


def shuffled(key: Any, x: Any) -> Variable:
    """x with the entries of its last axis in random order, a different one for each row."""
    v = as_variable(x)
    if v.ndim == 0:
        raise ValueError(f"{describe(v)} has no axis to shuffle")
    order = _draw("permutation", key, dims_of(v), "int64")
    found: Variable = FUNCTIONS["take_along_axis"](v, order, -1)
    return found


def choice(key: Any, size: Any = (), a: Any = 2, replace: bool = True, p: Any = None, ndim: int | None = None,
           dtype: Any = None) -> Variable:  # fmt: skip
    """Entries of a along its first axis (of the integers below a, if it is one), with probabilities p.

    Raises ValueError when p does not sum to 1 or has not a place for each entry, or too few are left without
    replacement.
    """
    source = as_variable(a)
    many = dims_of(source)[0] if source.ndim else as_dims(a)[0]
    dims = _dims(size, ndim)
    if p is not None:
        chance = _valid(_chances(as_tensor_variable(p, ndim=1), many), "choice: p", low=0, high=1, sums="one")
        places = _draw("choice", key, dims, "int64", chance, replace=bool(replace))
    elif replace:
        places = integers(key, many, size=dims)
    else:
        places = _some(key, dims, many)
    chosen = take(source, places, 0) if source.ndim else places
    return chosen if dtype is None else cast(chosen, dtype_name(dtype))


def _chances(p: Variable, many: Any) -> Variable:
    """The probabilities p, one for each of `many` entries: checked now if both lengths are known, else in the run."""
    (n,) = dims_of(p)
    if not (isinstance(n, int) and isinstance(many, int)):
        return specify_shape(p, (many,))
    if n != many:
        raise ValueError(f"choice: p has {n} probabilities for {many} entries")
    return p


def _some(key: Any, dims: Sequence[Any], many: Any) -> Variable:
    """Distinct places out of `many`, in the shape `dims`: the first entries of a permutation."""
    wanted: Any = reduce(mul, dims, 1)
    left = _valid(many - wanted, "choice without replacement: entries - places wanted", low=0)
    order = _draw("permutation", key, (many if isinstance(left, Constant) else left + wanted,), "int64")
    return reshape_to(order[:wanted], dims)


__path__: list[str] = []  # as a package has it: see scanopt.importing


def __getattr__(name: str) -> Any:
    """Give access to the streams, which are built on these functions, under `T.random` too, and to `T.random.utils`."""
    if name == "utils":
        return sys.modules[__name__]
    if name in ("RandomStream", "RandomStreams", "MRG_RandomStreams"):
        return getattr(features, name)
    raise AttributeError(f"module 'scanopt.tensor.random' has no attribute {name!r}")
