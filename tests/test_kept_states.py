"""Loops whose states are kept in another form and read back cost what the plain loop costs, and compute the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T

Step = Callable[..., Any]


@dataclass(frozen=True)
class Form:
    """How a state is kept, read in a step, and how its trace is read."""

    keep: Step = lambda h: h
    read: Step = lambda h: h
    rows: Step = lambda H: H

    def scan(self, step: Step, xs: Sequence[Any], starts: Sequence[Any], held: Sequence[Any] = ()) -> list[Any]:
        """The traces of states that look back one step."""

        def kept(*args: Any) -> list[Any]:
            given, now, rest = args[: len(xs)], args[len(xs) :][: len(starts)], args[len(xs) + len(starts) :]
            new = step(*given, *map(self.read, now), *rest)
            return [*map(self.keep, new if isinstance(new, list) else [new])]

        out = scanopt.scan(kept, list(xs), [*map(self.keep, starts)], list(held))[0]
        return [*map(self.rows, out if isinstance(out, list) else [out])]


FORMS = {
    "negated": Form(T.neg, T.neg, T.neg),
    "times -1": Form(*[lambda h: h * -1.0] * 3),
    "doubled": Form(lambda h: 2.0 * h, lambda h: 0.5 * h, lambda H: H * 0.5),
    "rows": Form(lambda h: T.expand_dims(h, 0), lambda h: h[0], lambda H: H[:, 0]),
    "squeezed": Form(lambda h: T.expand_dims(h, 0), lambda h: T.squeeze(h, 0), lambda H: T.squeeze(H, 1)),
    "columns": Form(lambda h: T.expand_dims(h, 1), lambda h: h[:, 0], lambda H: H[:, :, 0]),
    "backwards": Form(lambda h: h[::-1], lambda h: h[::-1], lambda H: H[:, ::-1]),
}

X, W, h, a = T.dmatrix("X"), T.dmatrix("W"), T.dvector("h"), T.dscalar("a")


def _network(form: Form) -> tuple[list[Any], Any]:
    return [X, h, W], form.scan(lambda v, s, W: T.tanh(v + T.dot(s, W)), [X], [h], [W])[0]


def _smoothing(form: Form) -> tuple[list[Any], Any]:
    return [X, h, a], form.scan(lambda v, s, a: s + a * (v - s), [X], [h], [a])[0]


def _momentum(form: Form) -> tuple[list[Any], Any]:
    return [X, h, a], form.scan(lambda v, x, p, a: [x + p, a * p - v * x], [X], [h, h], [a])[0][-1]


PROGRAMS = {"network": _network, "smoothing": _smoothing, "momentum": _momentum}
GIVEN = {"X": np.linspace(-1, 1, 15).reshape(5, 3), "h": np.array([0.5, -1.0, 2.0]), "W": np.eye(3)[::-1] / 2, "a": 0.3}


@pytest.mark.share(6)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("form", FORMS)
def test_a_form_costs_nothing(program: str, form: str) -> None:
    plain = scanopt.function(*PROGRAMS[program](Form()))
    inputs, out = PROGRAMS[program](FORMS[form])
    f = scanopt.function(inputs, out)
    assert f.cost <= 1.001 * plain.cost
    given = [GIVEN[x.name] for x in inputs]
    np.testing.assert_allclose(f(*given), f.unoptimized(*given), rtol=1e-12)


def test_a_state_beside_its_opposite_is_one_state() -> None:
    (s, r), _ = scanopt.scan(lambda v, s, r: [T.tanh(v - r), -T.tanh(v - r)], X, [h, -h])
    f = scanopt.function([X, h], s - r)
    plain, _ = scanopt.scan(lambda v, s: T.tanh(v + s), X, h)
    assert f.cost <= 1.001 * scanopt.function([X, h], plain + plain).cost
    np.testing.assert_array_equal(f(GIVEN["X"], GIVEN["h"]), f.unoptimized(GIVEN["X"], GIVEN["h"]))


def test_a_form_that_is_read_in_another_way_stays() -> None:
    """Both what is kept and what is read are needed here."""
    out, _ = scanopt.scan(lambda v, s: -T.tanh(v * -s + T.exp(s)), X, h)
    f = scanopt.function([X, h], out, fp="exact")
    np.testing.assert_array_equal(f(GIVEN["X"], GIVEN["h"]), f.unoptimized(GIVEN["X"], GIVEN["h"]))


def _oscillator(x: Any, v: Any, a: Any) -> list[Any]:
    return [x + 0.1 * v, v - a * x]


def test_states_in_one_stack_are_states_of_their_own() -> None:
    x, v, n = T.dscalar("x"), T.dscalar("v"), T.lscalar("n")
    (xs, vs), _ = scanopt.scan(_oscillator, None, [x, v], [a], n_steps=n)
    S, _ = scanopt.scan(lambda s, a: T.stack(_oscillator(s[0], s[1], a)), None, T.stack([x, v]), [a], n_steps=n)
    plain = scanopt.function([x, v, a, n], [xs, vs])
    f = scanopt.function([x, v, a, n], [S[:, 0], S[:, -1]])
    assert f.cost <= 1.001 * plain.cost
    for steps in (0, 1, 9):
        np.testing.assert_array_equal(f(1.0, 0.0, 0.3, steps), f.unoptimized(1.0, 0.0, 0.3, steps))


def test_entries_of_stacks_that_may_not_fit_are_read_from_the_stack() -> None:
    y = T.dvector("y")
    S, _ = scanopt.scan(lambda v, s: T.stack([s[0] + v, s[1]]), X, T.stack([h, y]))
    f = scanopt.function([X, h, y], S[:, 0])
    with pytest.raises(ValueError, match="shape"):
        f(GIVEN["X"], GIVEN["h"], np.ones(2))
