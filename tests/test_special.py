"""Special functions by SciPy's names: values and dtypes against SciPy, gradients of compositions, loops, errors."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
from against_numpy import check, check_in_a_step, numbers
from test_ops import SPECIAL

import scanopt
import scanopt.tensor as T
from scanopt.array.operators.special import SPECIAL as ENTRIES

S: Any = scipy.special
X = np.array([-np.inf, -3.0, -1.0, -0.3, -0.0, 0.0, 1e-9, 0.2, 0.5, 1.0, 2.5, 30.0, 800.0, np.inf, np.nan])
ONE = [name for name, places in SPECIAL.items() if len(places) == 1]
TWO = [name for name, places in SPECIAL.items() if len(places) == 2]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def test_every_entry_is_tested() -> None:
    assert set(SPECIAL) == set(ENTRIES)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8", "bool"])
def test_values_of_ufuncs_given_symbols(dtype: str) -> None:
    x = X.astype(dtype) if dtype.startswith("float") else numbers(4, dtype=dtype)
    check(lambda v: [getattr(S, name)(v) for name in ONE] + [S.expit(v), S.log_expit(v), S.digamma(v)], x)
    check(lambda v, w: [getattr(S, name)(v, w) for name in TWO], x[:, None], x)
    check(lambda v, w: [getattr(S, name)(2, w) for name in TWO] + [S.betainc(2.5, v, w)], x[:, None], x)


def test_complex_numbers() -> None:
    z = numbers(5, dtype="complex128")
    check(lambda v: [S.erf(v), S.psi(v), S.xlogy(v, v), S.ndtr(v), S.exp1(v)], z)


def test_in_a_step() -> None:
    def results(s: Any, x: Any, y: Any) -> list[Any]:
        return [S.erf(x), S.gammaln(x), S.betaln(x, y), S.xlogy(x, y), s.logsumexp(x)]

    args = numbers(4) ** 2, numbers(4, seed=1) ** 2
    check_in_a_step(lambda x, y: results(T.special, x, y), *args, like=lambda x, y: results(S, x, y))


ROWS = np.array([[1.0, 2.0, -3.0], [1000.0, 999.0, -1e4], [-np.inf, 0.0, 1.0]])
COMPOSED: dict[str, tuple[Callable[[Any, Any], Any], tuple[Any, ...]]] = {
    "polygamma": (lambda s, x: [s.polygamma(n, x) for n in (0, 1, 2, 5)], (np.abs(numbers(4)),)),
    "polygamma of an array": (lambda s, x: s.polygamma(np.arange(4), x), (np.abs(numbers(4)),)),
    "logsumexp": (lambda s, x: [s.logsumexp(x, axis=a, keepdims=a == 0) for a in (None, 0, 1, (0, 1))], (ROWS,)),
    "logsumexp of weights": (
        lambda s, x: [
            *s.logsumexp(x, axis=1, b=np.array([1.0, -2.0, 0.0]), return_sign=True),
            s.logsumexp(x, b=np.array([1, 2, 0])),
        ],
        (ROWS,),
    ),
    "logsumexp of integers": (lambda s, x: s.logsumexp(x), (numbers(3, dtype="int8"),)),
    "softmax": (lambda s, x: [s.softmax(x, axis=a) for a in (None, 0, -1, (0, 1))], (ROWS,)),
    "log_softmax": (lambda s, x: [s.log_softmax(x, axis=a) for a in (None, 0, -1)], (ROWS[:2],)),
    "softplus": (lambda s, x: s.softplus(x), (X,)),
}


@pytest.mark.parametrize("name", COMPOSED)
def test_functions_that_are_no_ufuncs(name: str) -> None:
    build, args = COMPOSED[name]
    check(lambda x: build(T.special, x), *args, like=lambda x: build(S, x))


def test_what_numpy_has() -> None:
    for x in (X[1:-2], X.astype("float32")[1:-2], numbers(4, dtype="int8"), numbers(4, dtype="complex128")):
        check(np.sinc, x)
    check(np.i0, X[1:11])
    check(np.i0, numbers(4, dtype="int8"))
    for dtype in ("float16", "float32"):
        check(np.i0, X[4:11].astype(dtype))


GRADIENTS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "polygamma": (lambda x: T.special.polygamma(2, x), (np.abs(numbers(3)) + 0.3,)),
    "logsumexp": (lambda x, b: T.special.logsumexp(x, axis=1, b=b), (numbers(2, 3), np.abs(numbers(3)))),
    "softmax": (T.special.softmax, (numbers(2, 3),)),
    "log_softmax": (lambda x: T.special.log_softmax(x, (0, 1)), (numbers(2, 3),)),
    "sinc": (np.sinc, (np.array([-1.3, 0.0, 0.2]),)),
    "expit": (lambda x: S.expit(x) + S.log_expit(x), (numbers(3),)),
    "betainc": (lambda x: S.betainc(2.0, 3.5, x), (np.array([0.2, 0.7]),)),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name: str) -> None:
    build, args = GRADIENTS[name]
    T.verify_grad(build, list(args))


def test_the_second_derivative_of_sinc_at_zero() -> None:
    x = T.dscalar("x")
    second = T.grad(T.grad(T.sinc(x), x), x)
    assert float(scanopt.interpret(second, {x: 0.0})) == pytest.approx(-(np.pi**2) / 3)


def test_a_derivative_without_a_formula_is_an_error_where_it_is_needed() -> None:
    a, x = T.dscalars("a", "x")
    y = T.special.gammainc(a, x)
    assert float(scanopt.interpret(T.grad(y, x), {a: 2.0, x: 1.0})) == pytest.approx(np.exp(-1.0))
    text = "gammainc has no derivative by argument 0, and the gradient asked for goes through it to 'a' float64[]"
    with pytest.raises(scanopt.gradient.NullTypeGradError, match=re.escape(text)):
        T.grad(y, a)
    with pytest.raises(scanopt.gradient.NullTypeGradError, match=re.escape(text)):
        T.Rop(y, a, 1.0)


def test_errors() -> None:
    z = T.zvector("z")
    with pytest.raises(
        TypeError, match=re.escape("gammaln is not defined for complex128 (arguments: 'z' complex128[?])")
    ):
        S.gammaln(z)
    with pytest.raises(TypeError, match="beta takes 2 arguments, found 1"):
        T.special.beta(z)
    with pytest.raises(TypeError, match=re.escape("scipy.special.airy has no symbolic form ('z' complex128[?]")):
        S.airy(z)
    with pytest.raises(AttributeError, match=r"scanopt.tensor.special has no 'airy'; it has beta, betainc"):
        T.special.airy  # noqa: B018
    with pytest.raises(TypeError, match="logsumexp takes real numbers, found 'z'"):
        T.special.logsumexp(z)


def test_scipy_is_imported_when_it_is_needed() -> None:
    code = (
        "import sys, scanopt, scanopt.tensor as T; x = T.dvector('x'); f = scanopt.function([x], T.tanh(x)); f([1.0])\n"
        "assert T.special.erf and T.linalg.svd and 'scipy' not in sys.modules\n"
        "scanopt.function([x], T.special.erf(x)); assert 'scipy' in sys.modules"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
