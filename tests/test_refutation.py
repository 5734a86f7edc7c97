"""Claims that states are equal: what small arrays refute is not tried, and what is equal is still found to be."""

from typing import Any

import pytest

import scanopt
import scanopt.tensor as T
from scanopt.egraph.session import EGraph


@pytest.fixture
def trials(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []
    answer = EGraph._answer

    def noted(self: EGraph, given: Any, trial: Any) -> Any:
        found.append(trial)
        return answer(self, given, trial)

    monkeypatch.setattr(EGraph, "_answer", noted)
    return found


def two_states(start: float, first: Any, second: Any) -> Any:
    x = T.dmatrix("x")
    ends, _ = scanopt.scan(lambda v, a, b: [first(v, a), second(v, b)], x, [T.zeros_like(x[0]) + start] * 2)
    return scanopt.function([x], [ends[0], ends[1]])


def test_states_that_are_both_0_at_first_are_refuted_at_a_later_step(trials: list[Any]) -> None:
    f = two_states(0.0, lambda v, a: T.sin(a) * v, lambda v, b: T.tanh(b) * v)
    assert "sin" in str(f.program)
    assert "tanh" in str(f.program)
    assert not trials


def test_states_that_differ_by_the_laws_alone_are_one(trials: list[Any]) -> None:
    f = two_states(0.5, lambda v, a: T.sin(a) * v, lambda v, b: v * T.sin(b * 1.0))
    assert str(f.program).count("sin(") == 1
    assert len(trials) == 1


def test_a_gradient_of_many_layers_needs_no_trial(trials: list[Any]) -> None:
    x, weights = T.dmatrix("x"), [T.dmatrix(f"W{n}") for n in range(3)]

    def step(v: Any, *hs: Any) -> list[Any]:
        out = [v]
        for h, w in zip(hs, weights, strict=True):
            out.append(T.tanh(out[-1] + h @ w))
        return out[1:]

    found, _ = scanopt.scan(step, x, [T.zeros_like(x[0])] * 3)
    f = scanopt.function([x, *weights], scanopt.grad(found[-1][-1].sum(), weights))
    assert f.program is not None
    assert not trials
