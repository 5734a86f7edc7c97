"""Random loops inside loops whose numbers of steps depend on values: for each step of the outer loop another number."""

from typing import Any

import numpy as np

import scanopt.tensor as T
from scanopt import lax

Carry = tuple[Any, Any, Any]


class RandomInnerLoops:
    """A function of a vector of floats, one of integers, and arrays that steps read; and arguments for it.

    wrong: whether indices may be out of range.
    """

    def __init__(self, seed: int, wrong: bool = False) -> None:
        rng = np.random.default_rng(seed)
        n, m = rng.choice((2, 5, 9)), rng.choice((1, 3, 6, 12, 12))
        self.wrong, self.outer = wrong, rng.choice(("scan", "map", "fori"))
        self.numbers, self.used = rng.integers(1 << 20, size=1000).tolist(), 0
        ints = rng.integers(-3, m + 3 if wrong else m, size=n)
        self.arguments = rng.normal(size=n), ints, rng.normal(size=m), rng.integers(-2, m, size=m)

    def __call__(self, x: Any, k: Any, v: Any, w: Any) -> Any:
        self.used, self.v, self.w = 0, v, w
        zero = (T.constant(np.float64(0.5)), T.constant(np.int64(1)), v)

        def step(carry: Carry, row: tuple[Any, Any]) -> tuple[Carry, Any]:
            a, i, u = carry
            for _ in range(self.one_of(1, 1, 2)):
                a, i, u = self.inner((a + row[0], i + row[1], u), 0)
            return (a, i, u), (a, i % 7, u[0])

        if self.outer == "map":
            return lax.map(lambda row: step(zero, row)[1], (x, k))
        if self.outer == "fori":
            return lax.fori_loop(0, x.shape[0], lambda j, c: step(c, (x[j], k[j]))[0], zero)
        return lax.scan(step, zero, (x, k))

    def one_of(self, *options: Any) -> Any:
        """One of some options, the same one each time the function is built."""
        self.used += 1
        return options[self.numbers[self.used] % len(options)]

    def inner(self, carry: Carry, depth: int) -> Carry:
        if depth > 1:
            return self.changed(carry, carry[1])
        kind = self.one_of("while", "while", "fori", "scan", "part", "gathered", "steps", "fold", "fold")
        a, i, u = carry
        count = self.one_of(i % 4, T.minimum(T.abs(i), 5), (i + 1) % 3)
        deeper = self.one_of(True, True, False, False, False)

        def body(j: Any, carry: Carry) -> Carry:
            return self.changed(self.inner(carry, depth + 1) if deeper else carry, j)

        if kind == "while":
            whole = self.one_of(True, False)

            def go(c: Any) -> Any:
                return (c[0] < count) & (c[1][0] < 1e6) if whole else c[0] * 2 < count + c[1][1] % 3

            def one(c: Any) -> Any:
                return c[0] + 1, body(c[0], c[1])

            return lax.while_loop(go, one, (T.constant(np.int64(0)), carry))[1]
        if kind == "fori":
            return lax.fori_loop(count - 2 if self.one_of(True, False) else 0, count, body, carry)
        if kind == "fold":
            fold = self.one_of(T.add, T.maximum, T.mul, lambda c, y: T.maximum(c, T.tanh(y)))
            place = self.one_of(lambda j: j, lambda j: (j * i) % u.shape[0], lambda j: j + 1)
            return lax.fori_loop(i % 3, count, lambda j, c: fold(c, u[place(j)]), a), i, u
        if kind == "steps":
            return lax.scan(lambda c, _: (body(c[1], c), ()), carry, None, length=count)[0]
        v = self.v
        some = {
            "scan": lambda: v[:count],
            "part": lambda: v[i % 3 : count + 1],
            "gathered": lambda: v[count - v.shape[0] :] * 2.0 + a,
        }[kind]()
        return lax.scan(lambda c, y: (body(c[1], (c[0] + y, *c[1:])), ()), carry, some)[0]

    def changed(self, carry: Carry, j: Any) -> Carry:
        """One step: of numbers, of an element of the array, or of all of it."""
        a, i, u = carry
        place = j if self.wrong and self.one_of(True, True, False, False, False) else T.abs(j) % u.shape[0]
        for _ in range(self.one_of(1, 2)):
            kind = self.one_of(*range(7))
            if kind == 0:
                a = a * 0.5 + u[place]
            elif kind == 1:
                i = T.where(i % 2 == 0, i // 2, 3 * i + 1) % 100
            elif kind == 2:
                u = T.set_subtensor(u[place], a)
            elif kind == 3:
                a, i = T.where(a > 1.0, a * 0.25, a), i + self.w[place]
            elif kind == 4:
                u = u * 0.5 + T.tanh(a)
            elif kind == 5:
                a, u = u[i % u.shape[0]], T.inc_subtensor(u[place], a * 0.125)
            else:
                a = lax.cond(i > 3, lambda a: a - 1.0, lambda a: a * 1.5, a)
        return a, i, u
