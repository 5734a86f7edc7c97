"""Calls that a function in C takes from `__call__`."""

import inspect
import pickle

import numpy as np
import pytest
from test_kernels import quick

import scanopt
import scanopt.tensor as T
from scanopt.backends.kernels.entry import can_enter


@pytest.mark.skipif(not can_enter(), reason="calls go through Python here")
def test_calls_that_do_not_go_through_python() -> None:
    """Once a kernel is there, a function in C is the method `__call__`, whatever the arguments."""
    x, a = T.dvector("x"), T.dscalar("a")
    f = scanopt.function([x, scanopt.In(a, value=2.0)], x * a + 1, backend="c")
    given = np.arange(3.0)
    quick(f, given, 2.0)
    loaded = pickle.loads(pickle.dumps(f))
    for g in (f, loaded):
        assert type(g) is type(f)
        for found in (g(given, 3.0), g(given, a=3.0), g(x=given, a=3.0), g.__call__(given, 3.0), g(*[given], a=3.0)):
            np.testing.assert_array_equal(found, given * 3 + 1)
        np.testing.assert_array_equal(g(given), given * 2 + 1)
        np.testing.assert_array_equal(g([1, 2], np.float32(3)), [4.0, 7.0])
    with pytest.raises(TypeError, match="x"):
        f(given[:, None], 1.0)
    with pytest.raises(TypeError, match="argument"):
        f(given, 1.0, 2.0)
    with pytest.raises(TypeError):
        f(given, b=1.0)
    assert "args" in str(inspect.signature(f))
    assert "outputs" in (f.__call__.__doc__ or "")
    counter = scanopt.shared(0.0)
    step = scanopt.function([a], counter, updates=[(counter, counter + a)], backend="c")
    assert [float(step(2.0)) for _ in range(40)][-1] == 78.0
