"""Programs, each written plainly and in ways that change nothing: all have to cost what the plain writing costs.

A `Writer` writes a program: where the program leaves a choice, it asks the writer, and each writer chooses one way.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import scanopt
import scanopt.tensor as T

__all__ = ["IN_PARTS", "PROGRAMS", "WAYS", "Mixed", "Writer", "cost"]

Program = Callable[["Writer"], tuple[list[Any], list[Any]]]


class Writer:
    """Writes plainly; what overrides one method writes in another way."""

    def value(self, x: Any) -> Any:
        """A value that is read."""
        return x

    def held(self, x: Any) -> Any:
        """A value that a step reads without change."""
        return x

    def elementwise(self, f: Callable[..., Any], *xs: Any) -> Any:
        """An operator on the rows of arrays."""
        return f(*xs)

    def rows(self, f: Callable[..., Any], *xs: Any, held: Sequence[Any] = ()) -> Any:
        """A step without states."""
        return scanopt.map(f, list(xs), [self.held(h) for h in held])[0]

    def plus(self, a: Any, b: Any) -> Any:
        """A sum of two."""
        return a + b

    def times(self, a: Any, b: Any) -> Any:
        """A product of two, element by element."""
        return a * b

    def product(self, v: Any, W: Any) -> Any:
        """A vector times a matrix."""
        return T.dot(v, W)

    def scan(
        self, step: Callable[..., Any], sequences: Sequence[Any], inits: Sequence[Any], held: Sequence[Any] = (),
        n: Any = None,
    ) -> list[Any]:  # fmt: skip
        """The traces of states that look back one step."""
        xs, hs = [self.value(x) for x in sequences], [self.held(h) for h in held]
        out = scanopt.scan(step, xs, list(inits), hs, n_steps=n)[0]
        return list(out) if isinstance(out, (list, tuple)) else [out]


def _list(x: Any) -> list[Any]:
    return list(x) if isinstance(x, (list, tuple)) else [x]


class _Ones(Writer):
    def value(self, x: Any) -> Any:
        return x * 1.0

    held = value


class _Negated(Writer):
    def value(self, x: Any) -> Any:
        return T.neg(T.neg(x))

    held = value


class _Transposed(Writer):
    def value(self, x: Any) -> Any:
        return x.T.T if x.ndim > 1 else x[::-1][::-1]

    def held(self, x: Any) -> Any:
        return x.T.T if x.ndim > 1 else x


class _Mapped(Writer):
    def value(self, x: Any) -> Any:
        return scanopt.map(lambda v: v, x)[0]

    def elementwise(self, f: Callable[..., Any], *xs: Any) -> Any:
        return scanopt.map(f, list(xs))[0]


class _MappedMinus(Writer):
    def value(self, x: Any) -> Any:
        return -scanopt.map(lambda v: -v, x)[0]


class _Sliced(Writer):
    def value(self, x: Any) -> Any:
        return x[:] if x.ndim == 1 else x[0 : x.shape[0]]

    def elementwise(self, f: Callable[..., Any], *xs: Any) -> Any:
        return f(*xs)[:]


class _Swapped(Writer):
    def plus(self, a: Any, b: Any) -> Any:
        return b + a

    def times(self, a: Any, b: Any) -> Any:
        return b * a


class _HeldTwice(Writer):
    def scan(self, step: Callable[..., Any], sequences: Sequence[Any], inits: Sequence[Any], held: Sequence[Any] = (),
             n: Any = None) -> list[Any]:  # fmt: skip
        k, m = len(inits), len(sequences)

        def twice(*args: Any) -> Any:
            hs = args[m + k :]
            return step(
                *args[: m + k], *(h if i % 2 else g for i, (h, g) in enumerate(zip(hs[::2], hs[1::2], strict=True)))
            )

        return super().scan(twice, sequences, inits, [h for x in held for h in (x, x * 1.0)], n)


class _StatesTwice(Writer):
    def scan(self, step: Callable[..., Any], sequences: Sequence[Any], inits: Sequence[Any], held: Sequence[Any] = (),
             n: Any = None) -> list[Any]:  # fmt: skip
        k, m = len(inits), len(sequences)

        def twice(*args: Any) -> Any:
            xs, a, b, hs = args[:m], args[m : m + k], args[m + k : m + 2 * k], args[m + 2 * k :]
            one, two = _list(step(*xs, *a, *hs)), _list(step(*xs, *b, *hs))
            return [*one, *two]

        out = super().scan(twice, sequences, [*inits, *inits], held, n)
        return [a if i % 2 else b for i, (a, b) in enumerate(zip(out[:k], out[k:], strict=True))]


class _Split(Writer):
    """A loop of its own for each state that is asked for."""

    def scan(self, step: Callable[..., Any], sequences: Sequence[Any], inits: Sequence[Any], held: Sequence[Any] = (),
             n: Any = None) -> list[Any]:  # fmt: skip
        return [super(_Split, self).scan(step, sequences, inits, held, n)[i] for i in range(len(inits))]


class _HalfOfSteps(Writer):
    """A loop over the first half of the steps, and one that goes on from there."""

    def scan(self, step: Callable[..., Any], sequences: Sequence[Any], inits: Sequence[Any], held: Sequence[Any] = (),
             n: Any = None) -> list[Any]:  # fmt: skip
        k = sequences[0].shape[0] // 2 if sequences else n // 2
        first = super().scan(step, [x[:k] for x in sequences], inits, held, None if sequences else k)
        rest = super().scan(
            step, [x[k:] for x in sequences], [o[-1] for o in first], held, None if sequences else n - k
        )
        return [T.concatenate([a, b]) for a, b in zip(first, rest, strict=True)]


class _LastStepOutside(Writer):
    """A loop without its last step, and that step."""

    def scan(self, step: Callable[..., Any], sequences: Sequence[Any], inits: Sequence[Any], held: Sequence[Any] = (),
             n: Any = None) -> list[Any]:  # fmt: skip
        before = super().scan(step, [x[:-1] for x in sequences], inits, held, None if sequences else n - 1)
        last = _list(step(*(x[-1] for x in sequences), *(o[-1] for o in before), *map(self.held, held)))
        return [T.concatenate([a, T.expand_dims(b, 0)]) for a, b in zip(before, last, strict=True)]


class _FirstStepOutside(Writer):
    """The first step, and a loop that goes on from there; of numbers, as the first state need not be of their shape."""

    def scan(self, step: Callable[..., Any], sequences: Sequence[Any], inits: Sequence[Any], held: Sequence[Any] = (),
             n: Any = None) -> list[Any]:  # fmt: skip
        if any(x.ndim for x in inits):
            return super().scan(step, sequences, inits, held, n)
        first = _list(step(*(x[0] for x in sequences), *inits, *map(self.held, held)))
        rest = super().scan(step, [x[1:] for x in sequences], first, held, None if sequences else n - 1)
        return [T.concatenate([T.expand_dims(a, 0), b]) for a, b in zip(first, rest, strict=True)]


class _Together(Writer):
    """Beside each state runs another one that nobody asks for."""

    def scan(self, step: Callable[..., Any], sequences: Sequence[Any], inits: Sequence[Any], held: Sequence[Any] = (),
             n: Any = None) -> list[Any]:  # fmt: skip
        k, m = len(inits), len(sequences)

        def more(*args: Any) -> Any:
            return [*_list(step(*args[: m + k], *args[m + k + 1 :])), T.tanh(args[m + k])]

        out = super().scan(more, sequences, [*inits, inits[0]], held, n)
        return out[:k]


class _Halves(Writer):
    """Arrays put together of two halves."""

    def value(self, x: Any) -> Any:
        return T.concatenate([x[: x.shape[0] // 2], x[x.shape[0] // 2 :]])


class _Rolled(Writer):
    """Rows rolled there and back."""

    def value(self, x: Any) -> Any:
        return T.roll(T.roll(x, 1, axis=0), -1, axis=0)


class _HalfOfTwice(Writer):
    def value(self, x: Any) -> Any:
        return (x + x) / 2 if x.dtype.startswith("float") else x

    held = value


class _ZerosAdded(Writer):
    def value(self, x: Any) -> Any:
        return x * 1.0 + 0.0 if x.dtype.startswith("float") else x

    held = value


class _Arrays(Writer):
    """Values on a way round that leads back to them."""

    def __init__(self, way: Callable[[Any], Any]) -> None:
        self._way = way

    def value(self, x: Any) -> Any:
        return self._way(x) if x.dtype.startswith("float") and x.ndim else x

    held = value


_AROUND: dict[str, Callable[[Any], Any]] = {
    "padded and cut": lambda x: T.concatenate([T.zeros_like(x[:1]), x])[1:],
    "padded behind and cut": lambda x: T.concatenate([x, T.zeros_like(x[:1])])[:-1],
    "set as a whole": lambda x: T.set_subtensor(T.zeros_like(x)[:], x),
    "zeros with all of it added": lambda x: T.inc_subtensor(T.zeros_like(x)[:], x),
    "first rows set to themselves": lambda x: T.set_subtensor(x[:1], x[:1]),
    "chosen from itself": lambda x: T.where(x > 0, x, x),
    "sum of one": lambda x: T.expand_dims(x, 0).sum(axis=0),
    "greatest of one": lambda x: T.expand_dims(x, -1).max(axis=-1),
    "repeated once": lambda x: T.repeat(x, 1, axis=0),
    "broadcast to its shape": lambda x: T.broadcast_to(x, x.shape),
    "first power": lambda x: x**1,
    "columns joined": lambda x: T.concatenate([x[:, :2], x[:, 2:]], axis=1) if x.ndim > 1 else x,
}


class _Opposites(Writer):
    """Products of opposites."""

    def times(self, a: Any, b: Any) -> Any:
        return -a * -b

    def product(self, v: Any, W: Any) -> Any:
        return -T.dot(-v, W)


class _Doubled(Writer):
    """Half of the sum of doubles."""

    def plus(self, a: Any, b: Any) -> Any:
        return (2.0 * a + 2.0 * b) / 2.0


class _InTwoParts(Writer):
    def product(self, v: Any, W: Any) -> Any:
        return T.dot(v[:4], W[:4]) + T.dot(v[4:], W[4:])


class _OfColumns(Writer):
    """Products with a matrix of one column, with zeros added."""

    def product(self, v: Any, W: Any) -> Any:
        product = T.dot(W.T, v[:, None])[:, 0]
        return product + T.zeros_like(product)


class _Summed(Writer):
    """Products as sums of arrays that broadcast."""

    def product(self, v: Any, W: Any) -> Any:
        return (v[:, None] * W).sum(axis=0)


class _SummedOfRows(Writer):
    def product(self, v: Any, W: Any) -> Any:
        return (v * W.T).sum(axis=1)


class _Indexed(Writer):
    """What is read row by row is looked up, by numbers of rows."""

    def scan(self, step: Callable[..., Any], sequences: Sequence[Any], inits: Sequence[Any], held: Sequence[Any] = (),
             n: Any = None) -> list[Any]:  # fmt: skip
        if len(sequences) != 1:
            return super().scan(step, sequences, inits, held, n)
        count = T.arange(sequences[0].shape[0])
        return super().scan(lambda i, *xs: step(xs[-1][i], *xs[:-1]), [count], inits, [*held, sequences[0]], n)


class _Counted(Writer):
    """The loop counts its steps itself."""

    def scan(self, step: Callable[..., Any], sequences: Sequence[Any], inits: Sequence[Any], held: Sequence[Any] = (),
             n: Any = None) -> list[Any]:  # fmt: skip
        if len(sequences) != 1:
            return super().scan(step, sequences, inits, held, n)

        def counting(i: Any, *xs: Any) -> Any:
            return [i + 1, *_list(step(xs[-1][i], *xs[:-1]))]

        inits = [T.constant(0, dtype="int64"), *inits]
        return super().scan(counting, [], inits, [*held, sequences[0]], sequences[0].shape[0])[1:]


WAYS: dict[str, Writer] = {
    "times one": _Ones(), "double negation": _Negated(), "double transposes": _Transposed(),
    "maps of operators": _Mapped(), "negated maps negated": _MappedMinus(), "slices of everything": _Sliced(),
    "operands swapped": _Swapped(), "values held twice": _HeldTwice(), "equal states twice": _StatesTwice(),
    "loops split": _Split(), "an idle state beside": _Together(),
    "halves joined": _Halves(), "rolled there and back": _Rolled(), "half of twice": _HalfOfTwice(),
    "zeros added": _ZerosAdded(), "sums of columns": _Summed(), "sums of rows": _SummedOfRows(),
    "looked up": _Indexed(), "counted by hand": _Counted(), "products of opposites": _Opposites(),
    "half of doubles": _Doubled(), "products in two parts": _InTwoParts(), "products with a column": _OfColumns(),
    **{name: _Arrays(way) for name, way in _AROUND.items()},
}  # fmt: skip
"""What changes nothing, each by itself."""

IN_PARTS: dict[str, Writer] = {
    "half of the steps": _HalfOfSteps(), "the first step outside": _FirstStepOutside(),
    "the last step outside": _LastStepOutside(),
}  # fmt: skip
"""Loops in parts: what changes nothing where no gradient runs backwards over the parts."""


class Mixed(Writer):
    """Writes each value and each loop in a way of its own, drawn by a seed."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def _any(self) -> Writer:
        return self._rng.choice([*WAYS.values()])

    def value(self, x: Any) -> Any:
        """A value that is read."""
        return self._any().value(x)

    def held(self, x: Any) -> Any:
        """A value that a step reads without change."""
        return self._any().held(x)

    def elementwise(self, f: Callable[..., Any], *xs: Any) -> Any:
        """An operator on the rows of arrays."""
        return self._any().elementwise(f, *xs)

    def rows(self, f: Callable[..., Any], *xs: Any, held: Sequence[Any] = ()) -> Any:
        """A step without states."""
        return self._any().rows(f, *xs, held=held)

    def plus(self, a: Any, b: Any) -> Any:
        """A sum of two."""
        return self._any().plus(a, b)

    def times(self, a: Any, b: Any) -> Any:
        """A product of two, element by element."""
        return self._any().times(a, b)

    def product(self, v: Any, W: Any) -> Any:
        """A vector times a matrix."""
        return self._any().product(v, W)

    def scan(self, step: Callable[..., Any], sequences: Sequence[Any], inits: Sequence[Any], held: Sequence[Any] = (),
             n: Any = None) -> list[Any]:  # fmt: skip
        """The traces of states that look back one step."""
        return self._any().scan(step, sequences, inits, held, n)


PROGRAMS: dict[str, Program] = {}


def _program(f: Program) -> Program:
    PROGRAMS[f.__name__.strip("_").replace("_", " ")] = f
    return f


def cost(program: str, writer: Writer) -> float:
    """What a program costs that is written so, once it is optimized."""
    return scanopt.function(*PROGRAMS[program](writer)).cost


@_program
def _power(w: Writer) -> Any:
    A = T.dvector("A")
    return [A], [w.scan(lambda s, A: w.times(s, A), [], [T.ones_like(A)], [A], 10)[0][-1]]


@_program
def _polynomial(w: Writer) -> Any:
    c, x = T.dvector("c"), T.dscalar("x")
    terms = scanopt.map(lambda c, i, x: w.times(c, x**i), [w.value(c), T.arange(1000)], [w.held(x)])[0]
    return [c, x], [terms.sum()]


@_program
def _cumulative_sum(w: Writer) -> Any:
    X = T.dmatrix("X")
    return [X], [w.scan(lambda v, s: w.plus(s, v), [X], [T.zeros_like(X[0])])[0]]


@_program
def _smoothing(w: Writer) -> Any:
    X, a = T.dmatrix("X"), T.dscalar("a")
    return [X, a], [w.scan(lambda v, s, a: w.plus(w.times(a, s), w.times(1 - a, v)), [X], [X[0]], [a])[0]]


@_program
def _network(w: Writer) -> Any:
    return _network_of(w, w.product)


def _network_of(w: Writer, product: Any) -> Any:
    X, W, U, b = T.dmatrix("X"), T.dmatrix("W"), T.dmatrix("U"), T.dvector("b")
    step = lambda v, h, W, U, b: T.tanh(w.plus(w.plus(product(v, W), product(h, U)), b))  # noqa: E731
    return [X, W, U, b], [w.scan(step, [X], [T.zeros_like(b)], [W, U, b])[0]]


@_program
def _slopes_of_a_network(w: Writer) -> Any:
    inputs, (h,) = _network_of(w, T.dot)
    return inputs, list(scanopt.grad((h**2).sum(), inputs[1:]))


@_program
def _lstm(w: Writer) -> Any:
    X, W, U, b = T.dmatrix("X"), T.dmatrix("W"), T.dmatrix("U"), T.dvector("b")

    def step(v: Any, h: Any, c: Any, W: Any, U: Any, b: Any) -> Any:
        z = w.plus(w.plus(w.product(v, W), w.product(h, U)), b)
        i, f, o, g = (z[k * 8 : (k + 1) * 8] for k in range(4))
        c = w.plus(w.times(T.sigmoid(f), c), w.times(T.sigmoid(i), T.tanh(g)))
        return [w.times(T.sigmoid(o), T.tanh(c)), c]

    return [X, W, U, b], [w.scan(step, [X], [T.zeros(8), T.zeros(8)], [W, U, b])[0]]


@_program
def _gates(w: Writer) -> Any:
    X, h0 = T.dmatrix("X"), T.dvector("h0")
    Ws = [T.dmatrix(f"W{i}") for i in range(3)]

    def step(v: Any, h: Any, *Ws: Any) -> Any:
        a, b, c = (T.dot(w.held(h), W) for W in Ws)
        return T.tanh(w.plus(w.plus(w.times(T.sigmoid(a), h), w.times(b, c)), v))

    return [X, h0, *Ws], [w.scan(step, [X], [h0], Ws)[0]]


@_program
def _spring(w: Writer) -> Any:
    x, v, k = T.dvector("x"), T.dvector("v"), T.dvector("k")

    def step(x: Any, v: Any, k: Any) -> Any:
        return [w.plus(x, 0.1 * v), v - 0.1 * w.times(k, x)]

    return [x, v, k], [o[-1] for o in w.scan(step, [], [x, v], [k], 100)]


@_program
def _kalman(w: Writer) -> Any:
    y, q, r = T.dvector("y"), T.dscalar("q"), T.dscalar("r")

    def step(y: Any, m: Any, P: Any, q: Any, r: Any) -> Any:
        P = w.plus(P, q)
        K = P / w.plus(P, r)
        return [w.plus(m, w.times(K, y - m)), w.times(1 - K, P)]

    return [y, q, r], w.scan(step, [y], [y[0], T.ones_like(q)], [q, r])


@_program
def _norms(w: Writer) -> Any:
    X, W = T.dmatrix("X"), T.dmatrix("W")
    return [X, W], [w.rows(lambda v, W: (w.product(v, W) ** 2).sum(), w.value(X), held=[W]).sum()]


@_program
def _products(w: Writer) -> Any:
    X, W, u = T.dmatrix("X"), T.dmatrix("W"), T.dvector("u")
    return [X, W, u], [T.dot(w.rows(T.dot, w.value(X), held=[W]), u)]


@_program
def _exponentials(w: Writer) -> Any:
    x = T.dvector("x")
    return [x], [w.elementwise(T.exp, w.value(x)) * T.exp(x) + w.elementwise(lambda v: T.exp(-v), w.value(x))]


@_program
def _softened(w: Writer) -> Any:
    X = T.dmatrix("X")
    e = w.elementwise(T.exp, w.value(X))
    return [X], [e / e.sum(axis=1, keepdims=True)]


@_program
def _distances(w: Writer) -> Any:
    X, Y = T.dmatrix("X"), T.dmatrix("Y")
    step = lambda a, Y: w.rows(lambda b, a: ((a - b) ** 2).sum(), Y, held=[a])  # noqa: E731
    return [X, Y], [w.rows(step, w.value(X), held=[Y])]


@_program
def _logistic(w: Writer) -> Any:
    x, r = T.dvector("x"), T.dscalar("r")
    return [x, r], [w.scan(lambda x, r: w.times(w.times(r, x), 1 - x), [], [x], [r], 50)[0][-1]]


@_program
def _slope_of_a_power(w: Writer) -> Any:
    (A,), (p,) = _power(w)
    return [A], [scanopt.grad(p.sum(), A)]
