"""Random numbers of JAX: keys, and the threefry hash on which JAX's own definitions are built.

JAX's functions of keys are traced down to hashes, so that the bits are those of the JAX release in use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import scanopt.tensor as T
from scanopt.array.operators.bits import threefry
from scanopt.array.variable import Constant, Variable
from scanopt.bridges.jaxprs.calls import read_closed
from scanopt.bridges.jaxprs.reading import JaxprEquation, is_key, rule
from scanopt.bridges.jaxprs.shapes import entry_of
from scanopt.libraries import library

_HALF = np.uint64(32)


def words_of(keys: Variable) -> Variable:
    """Typed keys as pairs of words along a last axis, as from JAX's key_data."""
    first, second = T.right_shift(keys, Constant(_HALF)), keys & Constant(np.uint64(0xFFFFFFFF))
    return T.stack([T.cast(first, "uint32"), T.cast(second, "uint32")], axis=-1)


def keys_of(words: Variable) -> Variable:
    """Typed keys from pairs of words."""
    first, second = (T.cast(entry_of(words, -1, i), "uint64") for i in range(2))
    return T.left_shift(first, Constant(_HALF)) | second


@rule("threefry2x32")
def _threefry(eq: JaxprEquation) -> list[Variable]:
    found = threefry(*eq.inputs)
    return [found[..., 0], found[..., 1]]


@rule("iota_2x32_shape")
def _counters(eq: JaxprEquation) -> list[Variable]:
    """The place of each element in C order, as two words."""
    shape = tuple(int(n) for n in eq.params["shape"])
    count = T.reshape(T.cast(T.arange(int(np.prod(shape, dtype=np.int64))), "uint64"), shape)
    high = T.right_shift(count, Constant(_HALF))
    return [T.cast(high, "uint32"), T.cast(count & Constant(np.uint64(0xFFFFFFFF)), "uint32")]


@rule("random_wrap")
def _wrap(eq: JaxprEquation) -> Variable:
    _generator(eq, eq.params["impl"])
    return keys_of(eq.inputs[0])


@rule("random_unwrap")
def _unwrap(eq: JaxprEquation) -> Variable:
    return words_of(eq.inputs[0])


@rule("random_seed")
def _seed(eq: JaxprEquation) -> Variable:
    return keys_of(_traced(eq, _generator(eq, eq.params["impl"]).seed, eq.inputs))


@rule("random_split")
def _split(eq: JaxprEquation) -> Variable:
    shape = tuple(int(n) for n in eq.params["shape"])
    return keys_of(_of_keys(eq, lambda impl, k: impl.split(k, shape)))


@rule("random_bits")
def _bits(eq: JaxprEquation) -> Variable:
    width, shape = int(eq.params["bit_width"]), tuple(int(n) for n in eq.params["shape"])
    return _of_keys(eq, lambda impl, k: impl.random_bits(k, width, shape))


@rule("random_fold_in")
def _fold_in(eq: JaxprEquation) -> Variable:
    jax = library("jax", "jax", "from_jax")
    impl = _generator(eq, _implementation(eq))
    keys, data = eq.inputs
    shapes = [x.type.shape for x in (keys, data)]
    shape = np.broadcast_shapes(*shapes)  # type: ignore[arg-type]
    fold = impl.fold_in
    for _ in shape:
        fold = jax.vmap(fold)
    words = words_of(T.broadcast_to(keys, shape))
    return keys_of(_traced(eq, fold, [words, T.broadcast_to(data, shape)]))


@rule("random_gamma")
def _gamma(eq: JaxprEquation) -> Variable:
    """Gamma variates, by tracing JAX's own loop of tries."""
    jax = library("jax", "jax", "from_jax")
    primitive, params = eq.eqn.primitive, dict(eq.params)
    given = [v.aval for v in eq.eqn.invars]
    closed = jax.make_jaxpr(lambda k, a: primitive.impl(k, a, **params))(*map(jax.typeof, map(_example, given)))
    return read_closed(closed, eq.inputs)[0]


def _example(aval: Any) -> Any:
    jax = library("jax", "jax", "from_jax")
    if is_key(aval):
        return jax.random.wrap_key_data(jax.numpy.zeros((*aval.shape, 2), "uint32"))
    return jax.numpy.zeros(aval.shape, aval.dtype)


def _implementation(eq: JaxprEquation) -> Any:
    """The implementation of random numbers that the keys of an equation belong to."""
    return next(v.aval.dtype._impl for v in (*eq.eqn.invars, *eq.eqn.outvars) if is_key(v.aval))


def _generator(eq: JaxprEquation, impl: Any) -> Any:
    """JAX's threefry implementation, whose keys are arrays.  Raises Refused for other implementations."""
    known = library("jax.extend.random", "jax", "from_jax").threefry_prng_impl
    if str(impl) not in ("fry", "threefry2x32", str(known)):
        raise eq.refused(f"keys of the generator {impl}: make them with impl='threefry2x32'")
    return known


def _of_keys(eq: JaxprEquation, f: Callable[[Any, Any], Any]) -> Variable:
    """Apply f(implementation, key) to each key that an equation reads."""
    jax, impl, keys = library("jax", "jax", "from_jax"), _generator(eq, _implementation(eq)), eq.inputs[0]

    def one(k: Any) -> Any:
        return f(impl, k)

    for _ in range(keys.ndim):
        one = jax.vmap(one)
    return _traced(eq, one, [words_of(keys)])


def _traced(eq: JaxprEquation, f: Callable[..., Any], inputs: list[Variable]) -> Variable:
    jax = library("jax", "jax", "from_jax")
    given = [jax.ShapeDtypeStruct(x.type.shape, x.dtype) for x in inputs]
    return read_closed(jax.make_jaxpr(f)(*given), inputs)[0]
