"""The step is called once, also with initial states that are Python numbers; its types are those of plain Python."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T

F, D, B = (T.tensor(d, (None,), d) for d in ("float32", "float64", "int8"))

# The step, its initial states, its sequences, the dtypes of its outputs; all are asked for once.
ONCE: dict[str, tuple[Callable[..., Any], Any, Any, list[str]]] = {
    "float beside float32": (lambda x, h: x + 2 * h, 0.0, F, ["float32"]),
    "int beside float32": (lambda x, h: x * h + 1, 1, F, ["float32"]),
    "int beside int8": (lambda x, h: (h + 1) * x - h, 3, B, ["int8"]),
    "alone": (lambda h: h * 2, 1.0, None, ["float64"]),
    "alone, of another kind": (lambda h: h / 2, 1, None, ["float64"]),
    "whole numbers": (lambda h: -h % 7 // 2 + 3**2, 1, None, ["int64"]),
    "powers": (lambda h: h**2 - h**3, 2, None, ["int64"]),
    "of a function": (lambda x, h: T.tanh(h) + x, 0.0, D, ["float64"]),
    "where": (lambda x, h: T.where(x > 0, h, x), 0.0, F, ["float32"]),
    "compared": (lambda h: h + T.where(h > 3, 1.0, 2.0), 0.0, None, ["float64"]),
    "two": (lambda x, a, b: (b + x, a * x), [1.0, 2], F, ["float32", "float32"]),
    "the earlier ones": (lambda x, a, b, c: (b + x, a, b), [0.0, 1.0, 2.0], F, ["float32"] * 3),
    "with an array": (lambda x, a, v: (a + v[0] * x, v * 2), [0.0, T.as_tensor(np.ones(2))], D, ["float64"] * 2),
    "a state and a map": (lambda x, h: [h + x, h * 2], [0.0, None], F, ["float32", "float32"]),
    "not read": (lambda x, h: x * 2, 0.0, F, ["float32"]),
    "NumPy's functions": (lambda x, h: np.add(h, np.float32(1)) * x, 0.0, F, ["float32"]),
    "in another loop": (
        lambda x, h: scanopt.scan(lambda k: k + h, outputs_info=x, n_steps=2)[0][-1],
        0.0,
        F,
        ["float32"],
    ),
    "until": (lambda h: (h * 2, scanopt.until(h > 9)), 1.0, None, ["float64"]),
}
# These take several dtypes, or ask for the type: the step is built anew with the right one.
AGAIN: dict[str, tuple[Callable[..., Any], Any, Any, list[str]]] = {
    "two dtypes": (lambda x, y, h: h * x + (h * y).astype("float32"), 0.0, [F, D], ["float32"]),
    "its dtype": (lambda x, h: x + h.astype("float64"), 0, D, ["float64"]),
    "as a state": (lambda x, h: scanopt.scan(lambda k: k * 2, outputs_info=h, n_steps=2)[0][-1] + x, 0, D, ["float64"]),
    "its shape": (lambda x, h: x + T.zeros_like(h), 0.0, D, ["float64"]),
}  # fmt: skip


def built(case: tuple[Callable[..., Any], Any, Any, list[str]]) -> tuple[list[Any], int]:
    """The outputs, and how often the step was called."""
    step, initial, sequences, _ = case
    calls: list[None] = []

    def counted(*args: Any) -> Any:
        calls.append(None)
        return step(*args)

    steps = 4 if sequences is None else None
    outputs, _ = scanopt.scan(counted, sequences, initial, n_steps=steps, return_list=True)
    return outputs, len(calls)


def in_python(case: tuple[Callable[..., Any], Any, Any, list[str]], given: list[Any]) -> list[list[Any]]:
    """The rows of the loop as plain Python makes them, its states being arrays of the right dtype."""
    step, initial, _, dtypes = case
    many = initial if isinstance(initial, list) else [initial]
    states = [np.asarray(getattr(x, "data", x), d) for x, d in zip(many, dtypes, strict=True) if x is not None]
    rows: list[list[Any]] = []
    for t in range(len(given[0]) if given else 4):
        found = step(*(T.constant(x[t]) for x in given), *map(T.constant, states))
        found = list(found) if isinstance(found, list | tuple) else [found]
        end = found.pop().condition.eval() if isinstance(found[-1], scanopt.until) else False
        states = [np.asarray(v.eval(), v.dtype) for v in found]
        rows.append(states)
        states = states[: sum(x is not None for x in many)]
        if end:
            break
    return rows


@pytest.mark.share(6)
@pytest.mark.parametrize("name", [*ONCE, *AGAIN])
def test_types_and_values_are_those_of_plain_python(name: str) -> None:
    case = (ONCE | AGAIN)[name]
    outputs, calls = built(case)
    assert [v.dtype for v in outputs] == case[3]
    assert (calls == 1) == (name in ONCE)
    sequences = [] if case[2] is None else case[2] if isinstance(case[2], list) else [case[2]]
    given = [np.array([1, 2, 3]).astype(v.dtype) for v in sequences]
    rows = in_python(case, given)
    f = scanopt.function(sequences, outputs, on_unused_input="ignore")
    for call in (f, f.unoptimized):
        for i, found in enumerate(call(*given)):
            np.testing.assert_allclose(found, np.stack([row[i] for row in rows]))


def test_what_a_step_makes_is_made_once() -> None:
    streams = T.shared_randomstreams.RandomStreams(7)
    x = T.dvector("x")
    sums, updates = scanopt.scan(lambda v, h: h + v * streams.normal(), x, 0.0)
    assert len(streams.state_updates) == len(updates) == 1
    typed = T.shared_randomstreams.RandomStreams(7)
    same, more = scanopt.scan(lambda v, h: h + v * typed.normal(), x, np.float64(0.0))
    f, g = scanopt.function([x], sums, updates=updates), scanopt.function([x], same, updates=more)
    np.testing.assert_array_equal(f([1.0, 2.0]), g([1.0, 2.0]))


def test_a_long_step() -> None:
    def step(h: Any) -> Any:
        for _ in range(2000):
            h = h * 2 - h
        return h

    assert scanopt.interpret(scanopt.scan(step, outputs_info=1.0, n_steps=2)[0]).tolist() == [1.0, 1.0]


def test_errors_are_those_of_the_step() -> None:
    with pytest.raises(TypeError, match="neither true nor false"):
        scanopt.scan(lambda h: h if h > 0 else -h, outputs_info=1.0, n_steps=2)
    with pytest.raises(ZeroDivisionError):
        scanopt.scan(lambda h: h + 1 / 0, outputs_info=1.0, n_steps=2)
    with pytest.raises(TypeError, match="cannot become a Python number"):
        scanopt.scan(lambda h: float(h) + 1, outputs_info=1.0, n_steps=2)
    with pytest.raises(ValueError, match="describes 2 outputs but the step returned 1"):
        scanopt.scan(lambda a, b: a + b, outputs_info=[0.0, 1.0], n_steps=2)
    with pytest.raises(ValueError, match="which does not fit into int64"):
        scanopt.scan(lambda x, h: T.cast(x + h, "int64"), T.dvector("x"), 0.5)
