"""Arrays that steps change only where a condition holds are changed in place, and not copied."""

import re
from typing import Any

import numpy as np
import pytest
from exact_kernels import exact_kernel

import scanopt
import scanopt.tensor as T

RNG = np.random.default_rng(3)


def _swapped(x: Any, i: Any, k: Any) -> Any:
    return T.set_subtensor(T.set_subtensor(x[i], x[k])[k], x[i])


def _chosen(c: Any, i: Any, v: Any, x: Any) -> Any:
    return T.switch(c, T.set_subtensor(x[i], v), x)


STEPS = {
    "set": lambda c, i, v, x: T.switch(c, T.set_subtensor(x[i], v), x),
    "left": lambda c, i, v, x: T.switch(c, x, T.set_subtensor(x[i], v * 2.0)),
    "added": lambda c, i, v, x: T.switch(c, T.inc_subtensor(x[i], v), x),
    "another dtype": lambda c, i, v, x: T.switch(c, T.set_subtensor(x[i], i), x),
    "exchanged": lambda c, i, v, x: T.switch(c, _swapped(x, i, x.shape[0] - 1 - i), x),
    "a slice": lambda c, i, v, x: T.switch(c, T.set_subtensor(x[i : i + 2], v), x),
    "twice": lambda c, i, v, x: T.switch(c, T.set_subtensor(x[i], v), T.switch(v > 0.5, T.set_subtensor(x[0], v), x)),
    "read beside": lambda c, i, v, x: T.switch(c, T.set_subtensor(x[i], x.sum() * 0.1), x),
    "one of two": lambda c, i, v, x: T.switch(c, T.set_subtensor(x[i], v), T.set_subtensor(x[0], v)),
    "one of three": lambda c, i, v, x: T.switch(
        c, T.set_subtensor(x[i], x[i + 1]), T.switch(v > 0.0, T.set_subtensor(x[0], v), T.inc_subtensor(x[i + 1], x[i]))
    ),
    "several of each": lambda c, i, v, x: T.switch(c, _swapped(x, i, 1), T.set_subtensor(x[i : i + 2], x[1:3])),
    "chosen between choices": lambda c, i, v, x: T.switch(
        v > 0.0, _chosen(c, i, v, x), _chosen(c & (v < -1.0), i + 1, x[i], x)
    ),
    "set before": lambda c, i, v, x: T.switch(v > 0.0, _chosen(c, i, v, T.set_subtensor(x[i + 1], 3.0)), x),
    "many conditions": lambda c, i, v, x: T.switch(x > v, T.set_subtensor(x[i], v), x),
}


@pytest.mark.share(2)
@pytest.mark.parametrize("name", STEPS)
def test_parts_are_chosen_in_place_of_arrays(name: str) -> None:
    c, i, v, x = T.TensorType("bool", (None,))("c"), T.lvector("i"), T.dvector("v"), T.dvector("x")
    xs, _ = scanopt.scan(STEPS[name], [c, i, v], x)
    for result in (xs[-1], xs):
        f = scanopt.function([c, i, v, x], result, fp="exact", backend="c")
        for steps, length in ((9, 12), (17, 30), (40, 12)):
            given = [RNG.random(steps) < 0.5, RNG.integers(0, length - 2, steps), RNG.normal(size=steps)]
            start = RNG.choice([0.0, -0.0, np.nan, 1.5, -2.0], length)
            text = exact_kernel(f, [*given, start])
    assert "?" in text  # which is the value of one element, or of a few


def test_no_array_is_copied_at_a_step() -> None:
    c, i, x = T.TensorType("bool", (None,))("c"), T.lvector("i"), T.lvector("x")
    xs, _ = scanopt.scan(lambda c, i, x: T.switch(c, T.set_subtensor(x[i], i), x), [c, i], x)
    f = scanopt.function([c, i, x], xs[-1], fp="exact", backend="c")
    text = exact_kernel(f, [RNG.random(30) < 0.5, RNG.integers(0, 20, 30), np.arange(20)])
    step = text[text.index("while (t", text.index("while (t") + 1) :]
    assert "ANY_ORDER" not in step[: step.index("++;")]
    assert re.search(r"if \(v\d+\) {\s+p\d+\[0\] = ", step)  # where it stays it is neither read nor written


def test_no_array_is_copied_where_both_sides_set_parts() -> None:
    """As a stack does that a step pushes to, or takes two numbers from and pushes their sum."""
    op, stack = T.lvector("op"), T.dvector("stack")

    def step(op: Any, stack: Any, depth: Any) -> Any:
        one, two = T.maximum(depth - 1, 0), T.maximum(depth - 2, 0)
        added = T.set_subtensor(stack[two], stack[one] + stack[two])
        negated = T.set_subtensor(stack[one], -stack[one])
        pushed = T.set_subtensor(stack[depth], T.cast(op, "float64"))
        new = T.switch(op > 0, pushed, T.switch(T.eq(op, 0), negated, added))
        return [new, T.switch(op > 0, depth + 1, T.switch(T.eq(op, 0), depth, one))]

    (stacks, _), _ = scanopt.scan(step, op, [stack, T.constant(0, dtype="int64")])
    f = scanopt.function([op, stack], stacks[-1], fp="exact", backend="c")
    text = exact_kernel(f, [RNG.integers(-1, 3, 40), np.zeros(41)])
    step_text = text[text.index("while (t", text.index("while (t") + 1) :]
    assert "ANY_ORDER" not in step_text[: step_text.index("++;")]


def test_places_are_checked_whatever_is_chosen() -> None:
    c, i, x = T.TensorType("bool", (None,))("c"), T.lvector("i"), T.dvector("x")
    xs, _ = scanopt.scan(lambda c, i, x: T.switch(c, T.set_subtensor(x[i], 1.0), x), [c, i], x)
    f = scanopt.function([c, i, x], xs[-1], fp="exact", backend="c")
    f(np.zeros(3, bool), np.array([0, 1, -12]), np.zeros(12))
    with pytest.raises(IndexError):
        f(np.zeros(3, bool), np.array([0, 1, 12]), np.zeros(12))
