"""What programs import from Theano, Aesara and PyTensor, and what they call there: names, methods and arguments."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T

x, y, X = T.dvector("x"), T.dvector("y"), T.dmatrix("X")
VALUES = {x: [0.25, -2.0], y: [3.0, 0.5], X: [[2.0, 1.0], [1.0, 3.0]]}

IMPORTS = """
from scanopt.ifelse import ifelse
from scanopt.tensor.shared_randomstreams import RandomStreams
from scanopt.sandbox.rng_mrg import MRG_RandomStreams
from scanopt.tensor.nnet import conv, sigmoid
from scanopt.tensor.nnet.nnet import softmax
from scanopt.tensor.nlinalg import matrix_inverse, MatrixInverse
from scanopt.tensor.var import TensorVariable
from scanopt.tensor.variable import TensorConstant
from scanopt.tensor.sharedvar import TensorSharedVariable
from scanopt.tensor.type import TensorType, dvector
from scanopt.tensor.shape import shape_padleft
from scanopt.tensor.sort import argsort
from scanopt.tensor.exceptions import NotScalarConstantError
from scanopt.tensor.random.utils import RandomStream
from scanopt.compile.sharedvalue import SharedVariable
from scanopt.compile.mode import Mode, get_default_mode
from scanopt.compile import In, function
from scanopt.graph.basic import Constant, ancestors
from scanopt.graph.replace import clone_replace
from scanopt.gof.graph import inputs
from scanopt.raise_op import Assert
from scanopt.tensor.xlogx import xlogy0
from scanopt import Variable
from scanopt.updates import OrderedUpdates
from scanopt.configdefaults import config
from scanopt.gradient import consider_constant, grad_scale
import scanopt.tensor.slinalg
"""


# ---- import statements ----


def test_import_statements() -> None:
    names: dict[str, Any] = {}
    exec(IMPORTS, names)
    assert names["ifelse"] is scanopt.ifelse
    assert names["softmax"] is T.nnet.softmax is T.nnet.nnet.softmax
    assert names["matrix_inverse"] is T.linalg.inv
    assert names["TensorVariable"] is T.var.TensorVariable is T.TensorVariable
    assert names["SharedVariable"] is scanopt.compile.SharedVariable is type(scanopt.shared(1.0))
    assert names["config"] is scanopt.config
    assert all(map(callable, (T.var, T.shape, T.sort)))  # still the functions
    assert T.get_scalar_constant_value(T.constant(2)) == 2
    with pytest.raises(names["NotScalarConstantError"], match="no value that is known before the run"):
        T.get_scalar_constant_value(x)


def test_import_statements_come_first() -> None:
    """In a program that has imported nothing yet."""
    first = "import scanopt.tensor.nnet as nnet\nfrom scanopt.ifelse import ifelse\nassert nnet.softmax and ifelse"
    subprocess.run([sys.executable, "-P", "-c", first], check=True)


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("import scanopt.nonesuch", "No module named 'scanopt.nonesuch'$"),
        ("import scanopt.tensor.nonesuch", "No module named 'scanopt.tensor.nonesuch'$"),
        ("from scanopt.tensor.signal import pool", "use T.nnet.max_pool"),
        ("from scanopt.tensor.opt import Assert", "Assert is scanopt.Assert"),
        ("from scanopt.compat.python2x import OrderedDict", "from collections import OrderedDict"),
        ("import scanopt.tensor.tanh", "No module named"),
    ],
)
def test_modules_that_are_not_here(statement: str, text: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=text):
        exec(statement)


@pytest.mark.parametrize("flag", ["compute_test_value", "exception_verbosity", "device", "optimizer", "gcc__cxxflags"])
def test_flags_of_theano(flag: str) -> None:
    for ask in (lambda: getattr(scanopt.config, flag), lambda: setattr(scanopt.config, flag, "off")):
        with pytest.raises(AttributeError, match=r"line out|config\.mode"):
            ask()


# ---- variables ----


@pytest.mark.parametrize("name", ["exp", "tanh", "sqrt", "log", "floor", "arctan", "expm1"])
def test_functions_as_methods(name: str) -> None:
    found = getattr(abs(x), name)().eval({x: VALUES[x]})
    np.testing.assert_array_equal(found, getattr(np, name)(np.abs(VALUES[x])))


def test_what_variables_carry() -> None:
    x.tag.test_value = np.ones(2)
    assert x.tag.test_value.sum() == 2
    other = x.clone()
    assert other is not x
    assert (other.name, other.type) == ("x", x.type)
    w = scanopt.shared(np.ones(2), "w")
    v = w.clone("v")
    w.zero()
    assert w.get_value(return_internal_type=True).tolist() == [0, 0]
    v.set_value(new_value=np.array([1.0, 3.0]))
    assert (v.name, v.get_value().tolist()) == ("v", [1, 3])
    assert scanopt.shared(np.float32(1), strict=True, allow_downcast=False).dtype == "float32"


def test_types_as_theano_writes_them() -> None:
    kind = T.TensorType(dtype="float32", broadcastable=(False, True))
    assert kind == T.TensorType("float32", (None, 1))
    assert kind.broadcastable == kind("v").broadcastable == (False, True)


# ---- arguments ----

BOTH: list[tuple[Callable[[], Any], Callable[[], Any]]] = [
    (lambda: T.stack(x, y), lambda: T.stack([x, y])),
    (lambda: T.stack(x[0], y[0], x[1]), lambda: T.stack([x[0], y[0], x[1]])),
    (lambda: T.switch(cond=x > 0, ift=x, iff=y), lambda: T.where(x > 0, x, y)),
    (lambda: scanopt.ifelse(x[0] > 0, then_branch=x, else_branch=y, name="z"), lambda: x),
    (lambda: T.reshape(X, newshape=(4,)), lambda: X.ravel()),
    (lambda: T.tile(x, (2,), ndim=2), lambda: T.tile(x, (1, 2))),
    (lambda: T.max_and_argmax(X, axis=1, keepdims=True)[0], lambda: X.max(1, keepdims=True)),
    (lambda: T.nonzero(X - 1, return_matrix=True), lambda: T.stack(list(T.nonzero(X - 1)))),
    (lambda: (x - 0.25).nonzero_values(), lambda: x[1:] - 0.25),
    (lambda: T.iround(x * 2, mode="half_away_from_zero"), lambda: T.constant([1, -4])),
    (lambda: X.astype("float32").sum(1, acc_dtype="float64"), lambda: X.astype("float32").sum(1)),
    (lambda: X.prod(acc_dtype="float32"), lambda: X.prod()),
    (lambda: T.mean(X, acc_dtype="float32", dtype="float32"), lambda: X.mean().astype("float32")),
    (lambda: T.atleast_Nd(x, n=3), lambda: x[None, None]),
    (lambda: T.nnet.categorical_crossentropy(coding_dist=X / 4, true_dist=[0, 1]), lambda: -T.log([0.5, 0.75])),
    (lambda: T.nnet.crossentropy_softmax_1hot(X, [0, 1])[0], lambda: -T.log(T.softmax(X)).diagonal()),
    (lambda: T.nnet.batch_normalization(X, x, y, 1.0, 2.0), lambda: (X - 1) / 2 * x + y),
    (lambda: T.nlinalg.Det()(X), lambda: T.linalg.det(X)),
    (lambda: T.slinalg.Cholesky()(X), lambda: T.linalg.cholesky(X)),
    (lambda: T.slinalg.Solve("upper_triangular")(X, x), lambda: T.linalg.solve_triangular(X, x)),
    (lambda: T.slinalg.solve_symmetric(X, x), lambda: T.linalg.solve(X, x)),
    (lambda: T.nlinalg.ExtractDiag()(X), lambda: T.diag(X)),
    (lambda: T.linalg.solve(X, T.stack([x, y]), b_ndim=1), lambda: T.linalg.solve(X, T.stack([x, y]).T).T),
    (lambda: T.linalg.solve_triangular(X, x, b_ndim=1, check_finite=False), lambda: T.linalg.solve_triangular(X, x)),
    (lambda: T.slinalg.eigvalsh(X, 2 * T.eye(2), lower=False), lambda: T.linalg.eigvalsh(X) / 2),
    (lambda: T.linalg.matrix_dot(X, X, x), lambda: X @ X @ x),
    (lambda: T.xlogx.xlogx(abs(x)) + T.xlogx.xlogy0(x, y), lambda: abs(x) * T.log(abs(x)) + x * T.log(y)),
    (lambda: T.log1pexp(x), lambda: T.nnet.softplus(x)),
    (lambda: T.tri_gamma(abs(x)), lambda: T.polygamma(1, abs(x))),
    (lambda: T.gammau(y, y) + T.gammal(y, y), lambda: T.gamma(y)),
    (lambda: T.chi2sf(y, 2), lambda: T.exp(-y / 2)),
    (lambda: T.jacobian(x**2, x, vectorize=True), lambda: T.diag(2 * x)),
    (lambda: scanopt.gradient.grad((x**2).sum(), x, null_gradients="return"), lambda: 2 * x),
    (lambda: T.grad((scanopt.gradient.grad_scale(x, [-1, 3]) ** 2).sum(), x), lambda: T.constant([-2.0, 6.0]) * x),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(BOTH)))
def test_arguments_and_names(number: int) -> None:
    theirs, ours = (make() for make in BOTH[number])
    assert (theirs.dtype, theirs.ndim) == (ours.dtype, ours.ndim)
    found, expected = (scanopt.interpret(v, {k: VALUES[k] for k in VALUES}) for v in (theirs, ours))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_gradients_are_turned_around_in_loops() -> None:
    states, _ = scanopt.scan(lambda v, s: T.grad_scale(s * v, 0.5), x, 1.0)
    f = scanopt.function([x], T.grad(states[-1], x))
    np.testing.assert_allclose(f([3.0, 5.0]), [1.25, 1.5])
    np.testing.assert_allclose(f.unoptimized([3.0, 5.0]), [1.25, 1.5])


def test_equations_of_linear_control() -> None:
    a, q = X / 5, X @ X.T
    for z, zero in [
        (v := T.linalg.solve_sylvester(X, a, q), X @ v + v @ a - q),
        (v := T.linalg.solve_continuous_lyapunov(X, q), X @ v + v @ X.T - q),
        (v := T.linalg.solve_discrete_lyapunov(a, q), a @ v @ a.T - v + q),
    ]:
        assert z.ndim == 2
        np.testing.assert_allclose(zero.eval({X: VALUES[X]}), np.zeros((2, 2)), atol=1e-12)


def test_modes_as_theano_writes_them() -> None:
    assert scanopt.Mode(linker="cvm", optimizer="fast_compile") == scanopt.Mode("FAST_COMPILE")
    assert not scanopt.Mode(optimizer=None).optimizes
    assert scanopt.compile.get_default_mode() == scanopt.Mode()
    assert scanopt.compile.mode.get_mode("FAST_RUN") == scanopt.Mode("FAST_RUN")
    for name, text in [("DebugMode", r"f\.unoptimized"), ("NUMBA", "backend=")]:
        with pytest.raises(ValueError, match=text):
            scanopt.function([x], x, mode=name)


def test_a_mode_in_the_place_of_updates() -> None:
    with pytest.raises(TypeError, match="write mode='FAST_RUN'"):
        scanopt.function([x], x, "FAST_RUN")


def test_verify_grad_of_what_has_no_gradient() -> None:
    """The gradient of a linear loop is constant."""

    def total(v: Any) -> Any:
        doubled, _ = scanopt.scan(lambda s: s * 2, outputs_info=[v], n_steps=3)
        return scanopt.gradient.grad(doubled.sum(), v).sum()

    T.verify_grad(total, [np.ones(2)], rng=np.random.default_rng(0))
