"""Names of Theano, Aesara and PyTensor: functions against NumPy, modules, graphs as lists and text, unknown names."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt import graph, printing
from scanopt.absent import ABSENT
from scanopt.gradient import verify_grad
from scanopt.namespaces import NAMESPACES

X = np.array([[0.5, -2.5, 0.0], [1.4, 2.5, -0.49999999999999994]])
V = np.array([3.0, -1.0, 2.0])
P = np.array([[2, 0, 1], [0, 2, 1]])


def both(f: Any, *args: Any) -> list[Any]:
    """The values of f of these arrays: optimized and by the interpreter, at once and as a step."""
    inputs = [T.tensor(np.asarray(a).dtype.name, (None,) * np.ndim(a)) for a in args]
    g = scanopt.function(inputs, f(*inputs), on_unused_input="ignore")
    rows = [T.tensor(v.dtype, (None, *v.type.shape)) for v in inputs]
    mapped = scanopt.function(rows, scanopt.map(f, rows)[0], on_unused_input="ignore")
    stacked = [np.stack([a, a]) for a in args]
    return [g(*args), g.unoptimized(*args), mapped(*stacked)[1], mapped.unoptimized(*stacked)[0]]


FUNCTIONS: dict[str, tuple[Callable[..., Any], list[Any], Any]] = {
    "iround": (T.iround, [X], np.round(X).astype("int64")),
    "round_half_to_even": (T.round_half_to_even, [X], np.round(X)),
    "round_half_away_from_zero": (T.round_half_away_from_zero, [X], np.array([[1.0, -3, 0], [1, 3, -0.0]])),
    "ceil_intdiv": (T.ceil_intdiv, [np.array([7, -7, 6]), np.array([2, 2, 3])], np.array([4, -3, 2])),
    "largest": (T.largest, [X, V], np.maximum(X, V)),
    "smallest": (T.smallest, [X, V], np.minimum(X, V)),
    "horizontal_stack": (lambda a, b: T.horizontal_stack(a, b), [X, X], np.hstack([X, X])),
    "vertical_stack": (lambda a, b: T.vertical_stack(a, b), [X, X], np.vstack([X, X])),
    "stacklists": (lambda a, b: T.stacklists([[a, b], [b, a]]), [V, V + 1], np.stack([[V, V + 1], [V + 1, V]])),
    "inverse_permutation": (T.inverse_permutation, [P], np.argsort(P, -1)),
    "shape_i": (lambda x: T.shape_i(x, 1), [X], np.int64(3)),
    "complex": (T.complex, [V, X], V + 1j * X),
    "complex_from_polar": (T.complex_from_polar, [np.abs(V), V], np.abs(V) * np.exp(1j * V)),
    "to_one_hot": (lambda y: T.to_one_hot(y, 3, "int8"), [P[0]], np.eye(3, dtype="int8")[P[0]]),
    "fill_diagonal": (lambda x: T.fill_diagonal(x, 7), [X], np.array([[7.0, X[0, 1], 0], [X[1, 0], 7, X[1, 2]]])),
    "fill_diagonal_offset": (
        lambda x: T.extra_ops.fill_diagonal_offset(x, 7, 1), [X], np.array([[X[0, 0], 7.0, 0], [*X[1, :2], 7]]),
    ),
    "matrix_dot": (T.nlinalg.matrix_dot, [X, X.T, X], X @ X.T @ X),
    "hard_sigmoid": (T.nnet.hard_sigmoid, [3 * X], np.clip(0.6 * X + 0.5, 0, 1)),
    "ultra_fast_sigmoid": (T.nnet.ultra_fast_sigmoid, [X], 1 / (1 + np.exp(-X))),
    "log1mexp": (
        T.log1mexp, [np.array([0.0, -1e-20, -0.5, -1.0, -30.0, -800.0])],
        np.array([-np.inf, np.log(1e-20), np.log(-np.expm1(-0.5)), np.log1p(-np.exp(-1)), -np.exp(-30.0), 0.0]),
    ),
    "flatten": (lambda x: T.flatten(x, outdim=1), [X], X.ravel()),
    "softsign": (T.nnet.softsign, [X], X / (1 + np.abs(X))),
    "sigmoid_binary_crossentropy": (
        T.nnet.sigmoid_binary_crossentropy, [1000 * V, np.array([1.0, 0.0, 0.0])], np.array([0.0, 0.0, 2000.0]),
    ),
    "mgrid": (lambda n, m: T.mgrid[1:n, 0:m:2], [np.int64(4), np.int64(5)], np.mgrid[1:4, 0:5:2]),
    "mgrid of one": (lambda n: T.mgrid[:n], [np.int64(4)], np.mgrid[:4]),
    "ogrid": (lambda n: T.ogrid[0:n, 0:2][1] + n, [np.int64(4)], np.ogrid[0:4, 0:2][1] + 4),
    "unbroadcast": (lambda x: T.unbroadcast(x, 0) + 1, [X], X + 1),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    f, args, expected = FUNCTIONS[name]
    for found in both(f, *args):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)
        assert found.dtype == np.asarray(expected).dtype


def test_nonzero_values() -> None:
    x = T.dmatrix("x")
    np.testing.assert_array_equal(T.nonzero_values(x).eval({x: X}), X[X != 0])


@pytest.mark.parametrize(
    "f", [T.nnet.hard_sigmoid, T.nnet.softsign, lambda x: T.log1mexp(-abs(x)), lambda x: T.fill_diagonal(x, 2.0) ** 2]
)
def test_gradients(f: Any) -> None:
    verify_grad(f, [X + 0.1])


def test_the_gradient_of_log1mexp_is_finite_beside_zero() -> None:
    x = T.dvector("x")
    found = scanopt.function([x], T.grad(T.log1mexp(x).sum(), x))([-1e-300, -1e-20, -800.0])
    np.testing.assert_allclose(found, [-1e300, -1e20, 0.0])


def test_parts_of_arrays_are_set_whether_in_place_or_not() -> None:
    x = T.dvector("x")
    for f in (T.set_subtensor, T.inc_subtensor):
        there = f(x[1:], 1.0, inplace=True, tolerate_inplace_aliasing=True).eval({x: V})
        np.testing.assert_array_equal(there, f(x[1:], 1.0).eval({x: V}))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: T.split(x, [2, 3, 4], 3),
        lambda x: T.split(x, [2, 3, 4], 3, 0),
        lambda x: T.split(x, [2, 3, 4], n_splits=3, axis=0),
    ],
)
def test_lengths_of_parts_are_no_places(call: Any) -> None:
    with pytest.raises(TypeError, match=r"lengths \[2, 3, 4\] of the parts, write T.split\(x, \[2, 5\], axis\)"):
        call(T.dvector("x"))


# ---- vectorize ----

R = np.random.default_rng(3)
VECTORIZED: dict[str, tuple[Callable[..., Any], str | None, list[Any]]] = {
    "a number": (lambda a: a * a + 1, None, [X]),
    "numbers that broadcast": (lambda a, b: a * b - a, None, [R.normal(size=(4, 1)), R.normal(size=(1, 5))]),
    "fewer axes": (lambda a, b: a * b - a, None, [R.normal(size=(2, 4, 1)), R.normal(size=5)]),
    "all of length 1": (lambda a, b: a - b, None, [R.normal(size=(1, 1)), R.normal(size=1)]),
    "rows": (lambda a: (a * a).sum(), "(n)->()", [X]),
    "matrices": (lambda a, b: a @ b, "(m,n),(n)->(m)", [R.normal(size=(5, 2, 3)), R.normal(size=3)]),
    "a matrix": (lambda a, b: a @ b, "(m, n), (n) -> (m)", [R.normal(size=(2, 3)), R.normal(size=(5, 3))]),
    "nothing in front": (lambda a, b: a @ b, "(m,n),(n)->(m)", [R.normal(size=(2, 3)), R.normal(size=3)]),
    "stacks": (lambda a, b: a @ b, "(m,n),(n)->(m)", [R.normal(size=(4, 1, 2, 3)), R.normal(size=(5, 3))]),
}


@pytest.mark.parametrize("name", VECTORIZED)
def test_vectorize(name: str) -> None:
    f, signature, args = VECTORIZED[name]
    shapes = [tuple(n if n == 1 else None for n in np.shape(a)) for a in args]
    inputs = [T.tensor("float64", shape) for shape in shapes]
    g = scanopt.function(inputs, T.vectorize(f, signature)(*inputs))
    expected = np.vectorize(f, signature=signature)(*args)
    np.testing.assert_allclose(g(*args), expected)
    np.testing.assert_allclose(g.unoptimized(*args), expected)
    assert "loop" not in str(g.program)


def test_vectorize_of_several_results() -> None:
    x = T.dmatrix("x")
    least, most = T.vectorize(lambda row: [row.min(), row.max()], "(n)->(),()")(x)
    np.testing.assert_array_equal(least.eval({x: X}), X.min(1))
    np.testing.assert_array_equal(most.eval({x: X}), X.max(1))


@pytest.mark.parametrize(
    ("signature", "args", "message"),
    [
        ("(m", [], r"a signature is written as '\(m,n\),\(n\)->\(m\)'"),
        ("(m,n),(n)->(m)", [X], "takes 2 arguments, found 1"),
        ("(m,n),(n)->(m)", [V, V], "needs 2 axes, found"),
        ("(m,n),(n)->(m)", [X, np.ones(2)], "n of .* is 3, but"),
        ("(m,n),(n)->()", [X, V], "func gave .* for"),
        ("(n),(n)->()", [X, np.ones((3, 3))], "has 3 rows but argument 0 has 2"),
    ],
)  # fmt: skip
def test_what_does_not_fit_a_signature(signature: str, args: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        T.vectorize(lambda *xs: xs[0] @ xs[1], signature)(*args)


def test_values_known_before_the_run() -> None:
    assert T.get_scalar_constant_value(T.constant(3)) == 3
    with pytest.raises(ValueError, match=r"'n' int64\[\] has no value"):
        T.get_scalar_constant_value(T.lscalar("n"))
    with pytest.raises(IndexError, match="slices with a stop"):
        T.mgrid[0:, 3]
    with pytest.raises(IndexError, match=r"T\.linspace"):
        T.ogrid[0:1:5j]


def test_dtypes() -> None:
    assert {*T.all_dtypes} == {"bool", *T.discrete_dtypes, *T.continuous_dtypes}
    assert T.integer_dtypes == T.discrete_dtypes


# ---- modules ----


@pytest.mark.parametrize("module", NAMESPACES)
def test_modules_have_the_names_that_they_list(module: str) -> None:
    there = getattr(T, module)
    names = dir(there)
    assert names
    for name in names:
        assert getattr(there, name) is not None or name == "newaxis"
    with pytest.raises(AttributeError, match=rf"module 'scanopt.tensor.{module}' has no attribute 'no_such'"):
        _ = there.no_such


def test_one_function_under_its_names() -> None:
    assert T.nlinalg.matrix_inverse is T.nlinalg.inv is T.linalg.inv
    assert T.slinalg.cholesky is T.linalg.cholesky
    assert T.basic.switch is T.math.switch is T.switch
    assert T.extra_ops.cumsum is T.cumsum
    assert T.subtensor.set_subtensor is T.set_subtensor
    assert T.raw_random.normal is T.random.normal
    assert scanopt.pushforward is T.Rop
    assert scanopt.pullback is T.Lop
    assert scanopt.clone_replace is scanopt.gof.clone_replace is scanopt.clone


# ---- unknown names ----


@pytest.mark.parametrize(
    ("module", "name", "text"),
    [
        (T, "arrange", "near: arange"),
        (T, "Tanh", "near: tanh"),
        (T, "no_such_thing_at_all", "has no attribute 'no_such_thing_at_all'$"),
        (T, "Elemwise", "operators are entries of a table"),
        (scanopt, "scna", "near: scan"),
        (scanopt, "compat", "OrderedDict"),
        (scanopt, "OpFromGraph", r"docs/extending\.md"),
    ],
)
def test_unknown_names(module: Any, name: str, text: str) -> None:
    with pytest.raises(AttributeError, match=text):
        getattr(module, name)


def test_absent_names_are_absent() -> None:
    for name in ABSENT:
        assert name not in dir(T)
        assert name not in dir(scanopt)


# ---- graphs ----


def test_graphs_as_lists() -> None:
    x, y = T.dscalars("x", "y")
    w = scanopt.shared(2.0, "w")
    z = T.exp(x) * w
    out = z + y + 1.0
    assert [v.name for v in scanopt.graph_inputs([out])] == ["x", "w", "y", None]
    assert [v.name for v in graph.explicit_graph_inputs([out])] == ["x", "y"]
    assert scanopt.ancestors([out])[-1] is out
    assert all(v is not x for v in graph.vars_between([z], [out]))
    assert graph.io_toposort([z], [out])[-1] is out.owner
    assert len(graph.applys_between([x, y], [out])) == 4
    assert scanopt.clone_replace(out, {x: y}).eval({y: 0.0}) == 3.0


def test_graphs_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    x, h = T.dvector("x"), T.dscalar("h")
    hs, _ = scanopt.scan(lambda v, h: v + h, x, h, name="sums")
    assert printing.pprint(T.exp(-hs[-1]) * (h + 1.5) ** 2) == "exp(-sums.0[-1]) * square(h + 1.5)"
    assert printing.pp(x) == "x"
    printing.debugprint(x + 1)
    assert "add [id A]" in capsys.readouterr().out


# ---- functions ----


def test_in_out_and_param() -> None:
    x, n = T.dscalars("x", "n")
    f = scanopt.function(
        [x, scanopt.Param(n, default=3.0, name="times")], [scanopt.Out(x * n, borrow=True), scanopt.gof.clone(x)]
    )
    assert f(2.0)[0] == 6.0
    assert f(2.0, times=4)[0] == 8.0


# ---- random numbers ----

ORDERS = {
    "uniform": ((-1.0, 2.0), dict(low=-1.0, high=2.0)),
    "normal": ((1.0, 2.0), dict(avg=1.0, std=2.0)),
    "exponential": ((3.0,), dict(scale=3.0)),
    "gamma": ((2.0, 4.0), dict(shape=2.0, scale=0.25)),
    "beta": ((2.0, 3.0), dict(a=2.0, b=3.0)),
    "binomial": ((5, 0.3), dict(n=5, p=0.3)),
    "poisson": ((4.0,), dict(lam=4.0)),
    "multinomial": ((5, [0.2, 0.8]), dict(n=5, pvals=[0.2, 0.8])),
    "integers": ((2, 9), dict(low=2, high=9)),
    "choice": ((4,), dict(a=4)),
}


@pytest.mark.parametrize("name", ORDERS)
def test_streams_of_pytensor_draw_the_same(name: str) -> None:
    theirs, ours = ORDERS[name]
    a = getattr(T.random.RandomStream(7), name)(*theirs, size=(2, 3))
    b = getattr(T.random.RandomStreams(7), name)(**ours, size=(2, 3))
    f, g = scanopt.function([], a), scanopt.function([], b)
    for _ in range(2):
        np.testing.assert_array_equal(f(), g())


@pytest.mark.parametrize(
    "args", [((3,), 5, [0.2, 0.8]), (5, np.array([0.2, 0.8]), (3,)), (5, T.constant([0.2, 0.8]), (3,))]
)
def test_multinomial_in_either_order(args: Any) -> None:
    found = T.random.MRG_RandomStreams(7).multinomial(*args)
    expected = T.shared_randomstreams.RandomStreams(7).multinomial(size=(3,), n=5, pvals=[0.2, 0.8])
    np.testing.assert_array_equal(scanopt.function([], found)(), scanopt.function([], expected)())


def test_bernoulli_and_permutation() -> None:
    stream = T.random.RandomStream(7)
    draws = scanopt.function([], [stream.bernoulli(0.5, size=(100,)), stream.permutation(5)])()
    assert {*draws[0].tolist()} == {0, 1}
    assert sorted(draws[1].tolist()) == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="a rate or a scale"):
        stream.gamma(1.0, 2.0, 3.0)


# ---- new inputs ----


@pytest.mark.parametrize(
    "made",
    [
        lambda: T.tensor("int8", (3, None), "x"),
        lambda: T.tensor("x", "int8", (3, None)),
        lambda: T.tensor("x", dtype="int8", shape=(3, None)),
        lambda: T.tensor("x", (3, None), dtype="int8"),
        lambda: T.tensor("d", dtype="int8", shape=(3, None)),
        lambda: T.tensor(dtype="int8", shape=(3, None), name="x"),
        lambda: T.tensor(np.int8, (3, None), name="x"),
    ],
)
def test_new_inputs_in_either_order(made: Callable[[], Any]) -> None:
    x = made()
    assert (x.dtype, x.type.shape, x.name[0] in "xd") == ("int8", (3, None), True)


def test_new_inputs_that_broadcast_and_wrong_ones() -> None:
    assert T.tensor("float64", broadcastable=(True, False)).broadcastable == (True, False)
    assert T.tensor().type == T.scalar().type
    for wrong in (lambda: T.tensor("int8", (), "x", 4), lambda: T.tensor("x", name="y")):
        with pytest.raises(TypeError, match=r"T\.tensor"):
            wrong()
    with pytest.raises(TypeError, match=r"T\.random\.RandomStream"):
        scanopt.shared(np.random.default_rng(1))
