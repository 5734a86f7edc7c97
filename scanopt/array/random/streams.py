"""Random numbers from shared variables, as in Theano: `scanopt.tensor.shared_randomstreams`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scanopt.array.random import functions as random_functions
from scanopt.array.types import TensorType
from scanopt.array.variable import SharedVariable, Variable, describe

__all__ = ["MRG_RandomStreams", "RandomStreams", "Streams"]

Update = tuple[SharedVariable, Variable]


class Streams:
    """Symbolic random numbers that differ from call to call of a compiled function.

    Every method below makes one stream: a shared variable with its own key (the seed's child
    number 0, 1, ... as `numpy.random.SeedSequence(seed).spawn` makes them) and the number of the
    draw, which its `default_update` increases.  The result has the shared variable as its attribute
    `rng`, and the pair of it and its new value as `update`.

    seed: an int, a list of ints, or None for a random seed from the system.

    >>> streams = Streams(1234)
    >>> x = streams.gen(random_functions.uniform, (2,))
    >>> x.rng.get_value()
    array([4985326416798289662, 9554006706359679250,                   0],
          dtype=uint64)
    """

    def __init__(self, seed: Any = None) -> None:
        self.state_updates: list[Update] = []
        self.default_instance_seed = seed
        self._root = np.random.SeedSequence(seed)

    def seed(self, seed: Any = None) -> None:
        """Reset all streams made so far, and seed later ones, as if made with this seed (default: the original one)."""
        self._root = np.random.SeedSequence(self.default_instance_seed if seed is None else seed)
        for state, _ in self.state_updates:
            state.set_value(self._next_state())

    def updates(self) -> list[Update]:
        """All streams made so far, each with its value after one more draw."""
        return list(self.state_updates)

    def __getitem__(self, of: Variable) -> SharedVariable:
        """The state of the stream that a result came from.  Raises KeyError for anything else."""
        state = getattr(of, "rng", of)
        for known, _ in self.state_updates:
            if known is state:
                return known
        raise KeyError(f"{describe(of)} is not a result of these streams")

    def gen(self, sampler: Callable[..., Variable], *args: Any, **kwargs: Any) -> Variable:
        """The result of `sampler(state, *args, **kwargs)` for a new stream, named after both: "normal_0".

        sampler: a function of `scanopt.tensor.random`, or one written with them.
        """
        kind = getattr(sampler, "__name__", "stream")
        state = SharedVariable(self._next_state(), f"{kind}_{len(self.state_updates)}")
        state.type, state.is_stream = TensorType("uint64", (3,)), True
        result = sampler(state, *args, **kwargs)
        after = random_functions.advance(state)
        state.default_update = after
        self.state_updates.append((state, after))
        vars(result).update(rng=state, update=(state, after))
        return result

    def _next_state(self) -> np.ndarray[Any, Any]:
        words = self._root.spawn(1)[0].generate_state(2, np.uint64)
        return np.append(words, np.uint64(0))


class RandomStreams(Streams):
    """Theano's streams, whose methods take the size first.

    >>> RandomStreams(1234).normal((2, 3), avg=1.0).type
    TensorType(dtype='float64', shape=(2, 3))
    """

    # Real numbers

    def uniform(self, size: Any = (), low: Any = 0.0, high: Any = 1.0, ndim: int | None = None,
                dtype: Any = None) -> Variable:  # fmt: skip
        """Uniform in [low, high); dtype: `config.floatX`."""
        return self.gen(random_functions.uniform, size, low, high, ndim, dtype)

    def normal(self, size: Any = (), avg: Any = 0.0, std: Any = 1.0, ndim: int | None = None, dtype: Any = None,
               loc: Any = None, scale: Any = None) -> Variable:  # fmt: skip
        """Normal with mean avg (or loc) and standard deviation std (or scale)."""
        mean, width = (avg if loc is None else loc), (std if scale is None else scale)
        return self.gen(random_functions.normal, size, mean, width, ndim, dtype)

    def exponential(self, size: Any = (), scale: Any = 1.0, ndim: int | None = None, dtype: Any = None) -> Variable:
        """Exponential with mean `scale`."""
        return self.gen(random_functions.exponential, size, scale, ndim, dtype)

    def gamma(self, size: Any = (), shape: Any = 1.0, scale: Any = 1.0, ndim: int | None = None,
              dtype: Any = None) -> Variable:  # fmt: skip
        """Gamma with mean shape * scale."""
        return self.gen(random_functions.gamma, size, shape, scale, ndim, dtype)

    def beta(self, size: Any = (), a: Any = 1.0, b: Any = 1.0, ndim: int | None = None, dtype: Any = None) -> Variable:
        """Beta with mean a / (a + b)."""
        return self.gen(random_functions.beta, size, a, b, ndim, dtype)

    # Counts

    def binomial(self, size: Any = (), n: Any = 1, p: Any = 0.5, ndim: int | None = None,
                 dtype: Any = "int64") -> Variable:  # fmt: skip
        """How many of n trials succeed, each with probability p."""
        return self.gen(random_functions.binomial, size, n, p, ndim, dtype)

    def poisson(self, size: Any = (), lam: Any = 1.0, ndim: int | None = None, dtype: Any = "int64") -> Variable:
        """Counts with mean lam."""
        return self.gen(random_functions.poisson, size, lam, ndim, dtype)

    def multinomial(self, size: Any = (), n: Any = 1, pvals: Any = (0.5, 0.5), ndim: int | None = None,
                    dtype: Any = "int64") -> Variable:  # fmt: skip
        """How many of n trials fall into each place: size, then the last axis of pvals.

        Called as `multinomial(n, pvals)`, with probabilities in the place of n, too: the order of NumPy and PyTensor.
        """
        size, n, pvals = in_our_order(size, n, pvals)
        return self.gen(random_functions.multinomial, size, n, pvals, ndim, dtype)

    def integers(self, low: Any, high: Any = None, size: Any = (), ndim: int | None = None, dtype: Any = "int64",
                 endpoint: bool = False) -> Variable:  # fmt: skip
        """Integers in [low, high), or [0, low); with `endpoint`, high too.  As NumPy's, size comes last."""
        return self.gen(random_functions.integers, low, high, size, ndim, dtype, endpoint)

    def random_integers(self, size: Any = (), low: Any = 0, high: Any = 1, ndim: int | None = None,
                        dtype: Any = "int64") -> Variable:  # fmt: skip
        """Integers from low to high, both included."""
        return self.gen(random_functions.integers, low, high, size, ndim, dtype, True)

    # Arrangements

    def choice(self, size: Any = (), a: Any = 2, replace: bool = True, p: Any = None, ndim: int | None = None,
               dtype: Any = None) -> Variable:  # fmt: skip
        """Entries of a (or integers below a), with or without replacement, with probabilities p."""
        return self.gen(random_functions.choice, size, a, replace, p, ndim, dtype)

    def permutation(self, size: Any = (), n: Any = 1, ndim: int | None = None, dtype: Any = "int64") -> Variable:
        """The integers below n in random order, along a new last axis, once per element of size."""
        return self.gen(random_functions.permutation, size, n, ndim, dtype)

    def shuffle_row_elements(self, input: Any) -> Variable:
        """The entries of the last axis in random order, a different one for each row."""
        return self.gen(random_functions.shuffled, input)


MRG_RandomStreams = RandomStreams
"""Theano's name for streams that are fast on a GPU, as these are."""


def in_our_order(size: Any, n: Any, pvals: Any) -> tuple[Any, Any, Any]:
    """Size, number of trials and probabilities of multinomial, given in this order or as (n, pvals, size).

    >>> in_our_order(10, [0.5, 0.5], (3,)), in_our_order((3,), 10, [0.5, 0.5])
    (((3,), 10, [0.5, 0.5]), ((3,), 10, [0.5, 0.5]))
    """
    second = n if isinstance(n, Variable) else np.asarray(n)
    if not second.ndim or np.dtype(second.dtype).kind != "f":
        return size, n, pvals
    given = isinstance(pvals, Variable) or not (isinstance(pvals, tuple) and pvals == (0.5, 0.5))
    return (pvals if given else ()), size, n
