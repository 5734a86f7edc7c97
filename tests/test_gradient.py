"""grad and its relatives on graphs without loops: arguments, connections, Jacobians, checks."""

from typing import Any

import numpy as np
import pytest
from differences import check

import scanopt
import scanopt.tensor as T
from scanopt.gradient import (
    DisconnectedInputError,
    DisconnectedInputWarning,
    Lop,
    NullTypeGradError,
    Rop,
    VerifyGradError,
    grad,
    hessian,
    jacobian,
    verify_grad,
)

X3 = np.array([0.3, -1.2, 2.0])


def value(result: Any, **known: Any) -> Any:
    names = {x.name: x for x in scanopt.loops.graph.leaves(result if isinstance(result, list) else [result])}
    return scanopt.interpret(result, {names[k]: a for k, a in known.items() if k in names})


def test_one_variable_or_a_list_or_a_tuple() -> None:
    x, y = T.dvectors("x", "y")
    cost = (x * y).sum()
    assert value(grad(cost, x), x=X3, y=2 * X3).tolist() == (2 * X3).tolist()
    assert [type(r) for r in (grad(cost, [x]), grad(cost, (x, y)))] == [list, tuple]


def test_dtypes_and_shapes_of_the_variables() -> None:
    a, b = T.fvector("a"), T.dmatrix("b")
    ga, gb = grad((a * b).sum(), [a, b])
    assert (str(ga.type), str(gb.type)) == ("float32[?]", "float64[?, ?]")
    found = value([ga, gb], a=np.array([2, 3], "float32"), b=np.ones((4, 1)))
    assert [f.tolist() for f in found] == [[4.0, 4.0], [[5.0]] * 4]


def test_intermediate_and_shared_variables() -> None:
    x, w = T.dscalar("x"), scanopt.shared(np.float64(3.0), "w")
    y = x * w
    cost = y**2 + y
    gy, gw, gx = grad(cost, [y, w, x])
    assert scanopt.interpret([gy, gw, gx], {x: 2.0}) == [13.0, 26.0, 39.0]


def test_names() -> None:
    x = T.dscalar("x")
    cost = x**3
    cost.name = "cost"
    assert grad(cost, x).name == "d(cost)/d(x)"
    assert grad(x**3, x).name is None


def test_known_gradients_start_the_chain() -> None:
    x = T.dvector("x")
    y = x**2
    assert value(grad(None, x, known_grads={y: T.ones_like(y) * 3}), x=X3).tolist() == (6 * X3).tolist()
    with pytest.raises(ValueError, match="known_grads"):
        grad(None, x)


def test_consider_constant() -> None:
    x = T.dscalar("x")
    y = x**2
    assert value(grad(x * y, x, consider_constant=[y]), x=3.0) == 9
    assert value(grad(x * T.disconnected_grad(y), x), x=3.0) == 9
    assert value(grad(x * T.zero_grad(y), x), x=3.0) == 9
    assert value(grad(T.grad_clip(5 * x, -1, 1) * 7, x), x=3.0) == 5


def test_disconnected() -> None:
    x, y, n = T.dscalar("x"), T.dscalar("y"), T.iscalar("n")
    with pytest.raises(DisconnectedInputError, match=r"'y' float64\[\].*not in the graph.*test_gradient.py"):
        grad(x**2, y)
    with pytest.raises(DisconnectedInputError, match=r"'n' int32.*cast it before"):
        grad(x * n, n)
    with pytest.warns(DisconnectedInputWarning):
        assert value(grad(x**2, y, disconnected_inputs="warn"), y=1.0) == 0
    assert grad(x**2, y, disconnected_inputs="ignore", return_disconnected="none") is None
    with pytest.raises(DisconnectedInputError):
        grad(T.cast(x > 0, "float64"), x)


def test_zeros_of_steps_are_connected() -> None:
    x = T.dscalar("x")
    assert value(grad(T.floor(x) + x, x), x=1.5) == 1


@pytest.mark.parametrize("wrong", [T.dvector("v"), T.iscalar("n"), T.zscalar("z")])
def test_the_cost_is_a_real_scalar(wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"scalar.*{wrong.name}|floating point.*{wrong.name}"):
        grad(wrong, wrong)


def test_wrong_arguments() -> None:
    x = T.dscalar("x")
    with pytest.raises(TypeError, match="wrt must be symbolic"):
        grad(x, 3)
    with pytest.raises(ValueError, match="disconnected_inputs"):
        grad(x, x, disconnected_inputs="perhaps")
    with pytest.raises(TypeError, match="numbers of axes"):
        Lop(x, x, T.dvector("g"))
    with pytest.raises(ValueError, match="one evaluation point"):
        Rop(x, [x], [])


def test_an_operator_without_gradient_is_named() -> None:
    x = T.dvector("x")
    key = T.random.key(3)
    with pytest.raises(NullTypeGradError, match="random_gamma has no gradient"):
        grad(T.random.gamma(key, (3,), x).sum(), x)


def test_complex_gradients() -> None:
    z = T.zscalar("z")
    cost = T.abs(z * z) ** 2
    found = value(grad(cost, z), z=1 + 2j)
    step = 1e-6

    def slope(direction: complex) -> float:
        ends = [abs((1 + 2j + sign * step * direction) ** 2) ** 2 for sign in (1, -1)]
        return (ends[0] - ends[1]) / (2 * step)

    np.testing.assert_allclose(found, slope(1) + 1j * slope(1j), rtol=1e-6)


def test_ifelse_computes_one_side_backwards() -> None:
    x = T.dvector("x")
    safe = scanopt.ifelse(x.sum() > 100, (x[5] * x).sum(), (x * x).sum())
    compiled = scanopt.function([x], grad(safe, x))
    assert compiled(X3).tolist() == value(grad(safe, x), x=X3).tolist() == (2 * X3).tolist()
    root = scanopt.ifelse(x.sum() > 100, T.sqrt(x - 1e9).sum(), x.sum())
    assert value(grad(root, x), x=X3).tolist() == [1, 1, 1]
    check(scanopt.ifelse(x[0] > 0, (T.sin(x) * x).sum(), (x**3).sum()), [x], [X3], order=3)


def test_jacobian_and_hessian() -> None:
    x, A = T.dvector("x"), T.dmatrix("A")
    y = T.tanh(T.dot(A, x))
    a = np.arange(6.0).reshape(2, 3) / 10
    expected = (1 - np.tanh(a @ X3) ** 2)[:, None] * a
    np.testing.assert_allclose(value(jacobian(y, x), A=a, x=X3), expected)
    jA, jx = jacobian(T.outer(y, y), [A, x])
    assert [v.shape for v in value([jA, jx], A=a, x=X3)] == [(2, 2, 2, 3), (2, 2, 3)]
    np.testing.assert_allclose(value(hessian((x**3).sum(), x), x=X3), np.diag(6 * X3))
    assert value(hessian(x.sum(), x), x=X3).tolist() == np.zeros((3, 3)).tolist()


def test_lop_and_rop_are_transposed() -> None:
    x = T.dvector("x")
    y = T.sin(x) * x.sum()
    v = T.dvector("v")
    jac = value(jacobian(y, x), x=X3)
    np.testing.assert_allclose(value(Lop(y, x, v), x=X3, v=[1.0, 2.0, 3.0]), [1.0, 2.0, 3.0] @ jac)
    np.testing.assert_allclose(value(Rop(y, x, v), x=X3, v=[1.0, 2.0, 3.0]), jac @ [1.0, 2.0, 3.0])
    still = Rop([y, T.ones_like(v)], x, v, disconnected_outputs="ignore")
    assert value(still, x=X3, v=[1.0, 2.0, 3.0])[1].tolist() == [0, 0, 0]


def test_verify_grad() -> None:
    verify_grad(lambda x, y: T.dot(x, y), [np.ones((2, 3)), np.arange(3.0)])
    with pytest.raises(VerifyGradError, match=r"pt\[0\] differs.*at \(1,\)"):
        verify_grad(lambda x: x * T.disconnected_grad(x), [np.array([0.0, 1.0])])
    with pytest.raises(TypeError, match="int64"):
        verify_grad(lambda x: x, [np.arange(3)])


def test_fourth_order() -> None:
    x = T.dscalar("x")
    y = T.sin(x) * x**3
    for _ in range(4):
        y = grad(y, x)
    check(T.exp(T.sin(x)) * x, [x], [np.array(0.7)], order=4)
    assert value(y, x=0.7) == pytest.approx(float((0.7**3 - 36 * 0.7) * np.sin(0.7) + (24 - 12 * 0.49) * np.cos(0.7)))
