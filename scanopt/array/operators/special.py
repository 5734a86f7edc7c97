"""Special functions: operator table entries for ufuncs of scipy.special, computed by SciPy (CuPy on a device)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from scanopt.array.batching import elementwise as batch_elementwise
from scanopt.array.constants import as_tensor_variable, is_weak, weak_constant
from scanopt.array.derivatives import UNKNOWN, Partial, elementwise_gradient
from scanopt.array.numerics.scipy_special import special_dtypes, special_function
from scanopt.array.op import Op, Operand, OpSpec, register
from scanopt.array.operators.elementwise import elementwise, where
from scanopt.array.registry import NUMPY_FUNCTIONS, public
from scanopt.array.shapes import broadcast
from scanopt.array.types import TensorType
from scanopt.array.variable import Variable, apply, describe

__all__ = ["ARGUMENTS", "SPECIAL", "special"]

SPECIAL: dict[str, Callable[..., Variable]] = {}
"""Functions of symbolic arrays by SciPy's names."""

ARGUMENTS: dict[str, int] = {}
"""How many arguments each takes."""


def special(name: str, *args: Any) -> Variable:
    """The function `name` of scipy.special, element by element; Python numbers take the dtype of the others.

    >>> import numpy as np
    >>> special("erf", np.zeros(3, "float32")).type
    TensorType(dtype='float32', shape=(3,))
    """
    xs = [x if is_weak(x) else as_tensor_variable(x) for x in args]
    kinds = tuple(x.dtype if isinstance(x, Variable) else type(x) for x in xs)
    try:
        dtypes = special_dtypes(name, kinds)
    except TypeError as error:
        found = ", ".join(describe(x) if isinstance(x, Variable) else str(x) for x in xs)
        raise TypeError(f"{error} (arguments: {found})") from None
    given = (x if isinstance(x, Variable) else weak_constant(x, d, xs) for x, d in zip(xs, dtypes[:-1], strict=True))
    return apply(Op.make(name), *given)


def _infer(name: str) -> Callable[..., TensorType]:
    def infer(*operands: Operand) -> TensorType:
        dtype = special_dtypes(name, tuple(x.dtype for x in operands))[-1]
        return TensorType(dtype, broadcast(*(x.shape for x in operands)))

    return infer


_OF_THEANO = {
    "erf", "erfc", "erfcinv", "erfcx", "erfinv", "gamma", "gammainc", "gammaincc", "gammaln", "i1", "j0", "j1",
    "betainc", "psi",
}  # fmt: skip
"""Functions that are in `scanopt.tensor` too."""


def _entry(name: str, *partials: Partial) -> None:
    """Add a function of scipy.special; it takes as many arguments as there are partial derivatives."""
    register(
        OpSpec(
            name,
            numpy=lambda xp: special_function(xp.__name__, name),
            infer=_infer(name),
            batch=batch_elementwise,
            batch_exact=True,
            cost="transcendental",
            out=True,
            gradient=elementwise_gradient(*partials),
            doc=f"scipy.special.{name}",
        )
    )

    def function(*args: Any) -> Variable:
        if len(args) != len(partials):
            raise TypeError(f"{name} takes {len(partials)} arguments, found {len(args)}")
        return special(name, *args)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"scipy.special.{name} of symbolic arrays, element by element; shapes broadcast and dtypes are SciPy's.\n\n"
        "    Raises TypeError for dtypes it does not take, ValueError for shapes that do not fit.  Needs SciPy."
    )
    SPECIAL[name], ARGUMENTS[name] = function, len(partials)
    NUMPY_FUNCTIONS[f"special.{name}"] = function
    if name in _OF_THEANO:
        public(name)(function)


# Helpers for derivatives


def _exp(x: Any) -> Variable:
    return elementwise("exp", x)


def _log(x: Any) -> Variable:
    return elementwise("log", x)


def _sign(x: Variable) -> Variable:
    return elementwise("sign", x)


def _over(y: Variable, x: Variable) -> Variable:
    """y / x, and its limit 1/2 at 0, for an odd function y of x that begins as x / 2."""
    zero = elementwise("equal", x, 0)
    return where(zero, 0.5, y / where(zero, 1, x))


def _under(x: Variable, y: Variable) -> Variable:
    """A divisor for x: y, but 1 where both are 0, so that the quotient is 0 there, as x * log(y) is at x = 0."""
    both = elementwise("logical_and", elementwise("equal", x, 0), elementwise("equal", y, 0))
    return where(both, 1, y)


def _psi(x: Variable) -> Variable:
    return special("psi", x)


_ROOT = math.sqrt(math.pi)
_NORMAL = 1 / math.sqrt(2 * math.pi)

# error functions and the normal distribution
_entry("erf", lambda x, out: 2 / _ROOT * _exp(-x * x))
_entry("erfc", lambda x, out: -2 / _ROOT * _exp(-x * x))
_entry("erfcx", lambda x, out: 2 * x * out - 2 / _ROOT)
_entry("erfinv", lambda x, out: _ROOT / 2 * _exp(out * out))
_entry("erfcinv", lambda x, out: -_ROOT / 2 * _exp(out * out))
_entry("ndtr", lambda x, out: _NORMAL * _exp(-x * x / 2))
_entry("log_ndtr", lambda x, out: _NORMAL * _exp(-x * x / 2 - out))
_entry("ndtri", lambda x, out: _exp(out * out / 2) / _NORMAL)
# gamma and beta functions
_entry("gamma", lambda x, out: out * _psi(x))
_entry("gammaln", lambda x, out: _psi(x))
_entry("psi", lambda x, out: special("zeta", 2.0, x))
_entry("zeta", UNKNOWN, lambda s, x, out: -s * special("zeta", s + 1, x))
_entry("beta", lambda a, b, out: out * (_psi(a) - _psi(a + b)), lambda a, b, out: out * (_psi(b) - _psi(a + b)))
_entry("betaln", lambda a, b, out: _psi(a) - _psi(a + b), lambda a, b, out: _psi(b) - _psi(a + b))


def _gamma_density(a: Variable, x: Variable) -> Variable:
    return _exp(special("xlogy", a - 1, x) - x - special("gammaln", a))


def _beta_density(a: Variable, b: Variable, x: Variable, out: Variable) -> Variable:
    return _exp(special("xlogy", a - 1, x) + special("xlog1py", b - 1, -x) - special("betaln", a, b))


_entry("gammainc", UNKNOWN, lambda a, x, out: _gamma_density(a, x))
_entry("gammaincc", UNKNOWN, lambda a, x, out: -_gamma_density(a, x))
_entry("betainc", UNKNOWN, UNKNOWN, _beta_density)
# logarithms and entropies
_entry("logit", lambda x, out: (1, x * (1 - x)))
_entry("xlogy", lambda x, y, out: _log(y), lambda x, y, out: (x, _under(x, y)))
_entry("xlog1py", lambda x, y, out: elementwise("log1p", y), lambda x, y, out: (x, _under(x, 1 + y)))
_entry("entr", lambda x, out: -_log(x) - 1)
_entry("rel_entr", lambda x, y, out: _log(x / y) + 1, lambda x, y, out: (-x, _under(x, y)))
_entry("kl_div", lambda x, y, out: _log(x / y), lambda x, y, out: 1 - x / _under(x, y))
# Bessel functions and exponential integrals
_entry("i0", lambda x, out: special("i1", x))
_entry("i1", lambda x, out: special("i0", x) - _over(out, x))
_entry("i0e", lambda x, out: special("i1e", x) - _sign(x) * out)
_entry("i1e", lambda x, out: special("i0e", x) - _sign(x) * out - _over(out, x))
_entry("j0", lambda x, out: -special("j1", x))
_entry("j1", lambda x, out: special("j0", x) - _over(out, x))
_entry("exp1", lambda x, out: (-_exp(-x), x))
_entry("expi", lambda x, out: (_exp(x), x))
