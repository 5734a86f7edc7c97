"""Random numbers from shared variables, as in Aesara and PyTensor: parameters first, the size last."""

from __future__ import annotations

from typing import Any

from scanopt.absent import no_such_attribute
from scanopt.array.random import functions as random_functions
from scanopt.array.random.streams import Streams
from scanopt.array.variable import Variable

__all__ = ["RandomStream"]


class RandomStream(Streams):
    """PyTensor's `RandomStream`: symbolic random numbers that differ from call to call of a compiled function.

    It draws the numbers of `RandomStreams`, but its arguments are in another order: parameters, then the size.

    >>> RandomStream(1234).normal(1.0, 2.0, size=(2, 3)).type
    TensorType(dtype='float64', shape=(2, 3))
    """

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = (), dtype: Any = None) -> Variable:
        """Uniform in [low, high)."""
        return self.gen(random_functions.uniform, _size(size), low, high, None, dtype)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = (), dtype: Any = None) -> Variable:
        """Normal with mean loc and standard deviation scale."""
        return self.gen(random_functions.normal, _size(size), loc, scale, None, dtype)

    def exponential(self, scale: Any = 1.0, size: Any = (), dtype: Any = None) -> Variable:
        """Exponential with mean `scale`."""
        return self.gen(random_functions.exponential, _size(size), scale, None, dtype)

    def gamma(self, shape: Any, rate: Any = None, scale: Any = None, size: Any = (), dtype: Any = None) -> Variable:
        """Gamma with mean shape / rate, or shape * scale.  Raises ValueError where both are given."""
        if rate is not None and scale is not None:
            raise ValueError("gamma takes a rate or a scale, which is 1 / rate: leave out one of them")
        width = 1.0 if rate is None and scale is None else scale if rate is None else 1.0 / rate
        return self.gen(random_functions.gamma, _size(size), shape, width, None, dtype)

    def beta(self, alpha: Any, beta: Any, size: Any = (), dtype: Any = None) -> Variable:
        """Beta with mean alpha / (alpha + beta)."""
        return self.gen(random_functions.beta, _size(size), alpha, beta, None, dtype)

    def bernoulli(self, p: Any = 0.5, size: Any = (), dtype: Any = "int64") -> Variable:
        """1 with probability p, else 0."""
        return self.gen(random_functions.binomial, _size(size), 1, p, None, dtype)

    def binomial(self, n: Any = 1, p: Any = 0.5, size: Any = (), dtype: Any = "int64") -> Variable:
        """How many of n trials succeed, each with probability p."""
        return self.gen(random_functions.binomial, _size(size), n, p, None, dtype)

    def poisson(self, lam: Any = 1.0, size: Any = (), dtype: Any = "int64") -> Variable:
        """Counts with mean lam."""
        return self.gen(random_functions.poisson, _size(size), lam, None, dtype)

    def multinomial(self, n: Any, p: Any, size: Any = (), dtype: Any = "int64") -> Variable:
        """How many of n trials fall into each place: size, then the last axis of p."""
        return self.gen(random_functions.multinomial, _size(size), n, p, None, dtype)

    def integers(self, low: Any, high: Any = None, size: Any = (), dtype: Any = "int64") -> Variable:
        """Integers in [low, high), or [0, low)."""
        return self.gen(random_functions.integers, low, high, _size(size), None, dtype)

    def choice(self, a: Any, size: Any = (), replace: bool = True, p: Any = None) -> Variable:
        """Entries of a (or integers below a), with or without replacement, with probabilities p."""
        return self.gen(random_functions.choice, _size(size), a, replace, p)

    def __getattr__(self, name: str) -> Any:
        instead = f"write {_MADE_OF_OTHERS[name]} for a stream s" if name in _MADE_OF_OTHERS else ""
        raise no_such_attribute(f"{type(self).__name__!r} object", name, dir(type(self)), instead)

    def permutation(self, x: Any) -> Variable:
        """The integers below x in random order."""
        return self.gen(random_functions.permutation, (), x)


_MADE_OF_OTHERS = {
    "betabinom": "s.binomial(n, s.beta(alpha, beta, size=size))",
    "categorical": "s.choice(p.shape[-1], size=size, p=p)",
    "cauchy": "loc + scale * s.normal(size=size) / s.normal(size=size)",
    "chisquare": "s.gamma(df / 2, scale=2, size=size)",
    "geometric": "1 + T.floor(s.exponential(size=size) / -T.log1p(-p))",
    "gumbel": "loc - scale * T.log(s.exponential(size=size))",
    "halfcauchy": "scale * abs(s.normal(size=size) / s.normal(size=size))",
    "halfnormal": "abs(s.normal(0, scale, size=size))",
    "invgamma": "1 / s.gamma(alpha, rate=beta, size=size)",
    "laplace": "loc + s.exponential(scale, size=size) - s.exponential(scale, size=size)",
    "logistic": "loc + scale * T.special.logit(s.uniform(size=size))",
    "lognormal": "T.exp(s.normal(loc, scale, size=size))",
    "multivariate_normal": "loc + T.linalg.cholesky(cov) @ s.normal(size=loc.shape)",
    "negative_binomial": "s.poisson(s.gamma(n, scale=(1 - p) / p, size=size))",
    "pareto": "scale * T.exp(s.exponential(size=size) / alpha)",
    "randint": "s.integers(low, high, size=size)",
    "random": "s.uniform(size=size)",
    "shuffle": "x[s.permutation(x.shape[0])]",
    "standard_normal": "s.normal(size=size)",
    "t": "loc + scale * s.normal(size=size) / T.sqrt(s.gamma(df / 2, scale=2, size=size) / df)",
    "weibull": "s.exponential(size=size) ** (1 / alpha)",
}
"""Distributions of PyTensor without a method here: what to write, for a stream s."""


def _size(size: Any) -> Any:
    return () if size is None else size
