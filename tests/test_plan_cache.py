"""Plans of kernels by shapes: what does not fit is left to array steps, and a mistake in planning is told."""

import warnings
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels import planner
from scanopt.backends.kernels.plan_cache import PLANS, NoFitError, PlanCache


def test_what_does_not_fit_is_asked_for_once() -> None:
    asked: list[Any] = []

    def make(*key: Any) -> str:
        asked.append(key)
        if len(asked) == 1:
            raise NoFitError
        return "a plan"

    plans = PlanCache(make)
    found = [plans(key) for key in [(((2,),), ()), (((2,),), ()), (((3,),), ())]]
    assert (found, plans.found(), len(asked)) == ([None, None, "a plan"], ["a plan"], 2)


def test_a_mistake_is_told_once() -> None:
    def make(*key: Any) -> str:
        raise KeyError("v8")

    plans = PlanCache(make)
    key = (((2,),), ())
    with pytest.warns(RuntimeWarning, match="array steps run in its place: KeyError: 'v8'"):
        assert plans(key) is None
    assert plans(key) is None


def test_few_are_kept() -> None:
    plans = PlanCache(lambda shapes, counts: shapes)
    for n in range(PLANS + 1):
        plans((((n,),), ()))
    assert len(plans) == 1


@pytest.mark.parametrize(("error", "told"), [(KeyError("v8"), True), (RecursionError("deep"), False)])
def test_a_mistake_in_lowering_is_told(error: Exception, told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def lowered(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(planner, "lowered", lowered)
    x = T.dvector("x")
    ran = scanopt.scan(lambda v, s: T.tanh(s + v), x, [T.constant(0.0, dtype="float64")])[0]
    f = scanopt.function([x], ran, backend="c", fp="exact")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        values = f([0.5, 0.25])
    assert values.tolist() == [np.tanh(0.5), np.tanh(np.tanh(0.5) + 0.25)]
    assert any("array steps run in its place: KeyError: 'v8'" in str(x.message) for x in found) == told
