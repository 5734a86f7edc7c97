"""Gradients of operators that move, join, index and multiply arrays, and of random draws."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from differences import check, differences

import scanopt
import scanopt.tensor as T
from scanopt.array.operators.rows import repeat_rows
from scanopt.array.types import TensorType
from scanopt.array.variable import Variable
from scanopt.gradient import DisconnectedInputError, Lop, NullTypeGradError, grad

F = Callable[..., Any]
Shape = tuple[int, ...]

I3 = np.array([0, 2, 2, -1, 0])
GRID = np.array([[0, 2], [2, -1]])
MASK = np.array([True, False, True])
MASK2 = np.array([[True, False], [False, False], [True, True]])
NONE = np.zeros(0, "int64")

SHAPING: list[tuple[F, list[Shape]]] = [
    (lambda x: x.reshape((3, 4)), [(2, 6)]),
    (lambda x: x.reshape((-1, 2)), [(2, 0, 3)]),
    (lambda x: x.flatten(), [(2, 3)]),
    (lambda x: x.transpose(1, 2, 0), [(2, 3, 4)]),
    (lambda x: T.expand_dims(x, (0, 2)), [(2, 3)]),
    (lambda x: T.squeeze(x, (1, 3)), [(2, 1, 3, 1)]),
    (lambda x: x.dimshuffle(1, "x", 0), [(2, 3)]),
    (lambda x: T.broadcast_to(x, (4, 2, 3)), [(2, 1)]),
    (lambda x: T.broadcast_to(x, (4, 2, 3)), [(2, 3)]),
    (lambda x: T.broadcast_to(x, (2, 0)), [(2, 1)]),
    (lambda x: T.broadcast_to(x, (2, 3)), [()]),
    (lambda x, y: T.broadcast_to(x, y.shape), [(1, 3), (2, 3)]),
    (lambda x, y: T.broadcast_to(x, (y.shape[0], 3)), [(1, 3), (1,)]),
    (lambda x: repeat_rows(x, T.constant(np.int64(3))), [(2, 2)]),
    (lambda x: repeat_rows(x, T.constant(np.int64(0))), [()]),
    (lambda x: T.tile(x, (2, 1, 3)), [(2, 2)]),
    (lambda x: T.roll(x, 2, 1), [(2, 3)]),
    (lambda x: T.diff(x, 2), [(2, 4)]),
    (lambda x: T.diag(x, 1), [(3,)]),
    (lambda x: T.trace(x), [(3, 4)]),
    (lambda x: T.tril(x), [(3, 3)]),
]

JOINING: list[tuple[F, list[Shape]]] = [
    (lambda x, y, z: T.concatenate([x, y, z], 1), [(2, 3), (2, 0), (2, 1)]),
    (lambda x, y: T.concatenate([x, y, x], -1), [(2, 1), (2, 2)]),
    (lambda x: T.concatenate([x, np.ones((1, 2)), x[:1]]), [(2, 2)]),
    (lambda x, y: T.stack([x, y], 1), [(2, 3), (2, 3)]),
    (lambda x, y: T.stack([x, y, x]), [(), ()]),
    (lambda x: T.repeat(x, 3, axis=1), [(2, 2)]),
    (lambda x, y: T.repeat(x, y.shape[0], axis=1), [(2, 2, 2), (3,)]),
    (lambda x: T.repeat(x, np.array([2, 0, 1]), axis=1), [(2, 3, 2)]),
    (lambda x: T.repeat(x, np.array([2]), axis=0), [(3, 2)]),
    (lambda x: T.repeat(x, T.constant(np.int8(0))), [(2, 2)]),
    (lambda x: T.full((2, 3), x), [()]),
    (lambda x, y: T.full((y.shape[0], 2), x), [(), (0,)]),
    (lambda x, y: T.fill(x, y), [(2, 3), (3,)]),
    (lambda x, y: T.fill(x, y), [(2, 3), (2, 1)]),
    (lambda x, y: T.fill(x, y), [(2, 3), ()]),
    (lambda x, y: T.fill(x, y), [(0, 3), (3,)]),
]

READING: list[tuple[F, list[Shape]]] = [
    (lambda x: x[1], [(3, 2)]),
    (lambda x: x[-1, 0], [(3, 2)]),
    (lambda x: x[::-2], [(5,)]),
    (lambda x: x[-1:0:-2, 1:], [(5, 2)]),
    (lambda x: x[3:1], [(4,)]),
    (lambda x, y: x[y.shape[0] :], [(4,), (2,)]),
    (lambda x, y: x[: y.shape[0] : -1], [(4,), (2,)]),
    (lambda x, y: x[y.shape[0]], [(4, 2), (2,)]),
    (lambda x: x[:, None, 0], [(3, 2)]),
    (lambda x: x[I3], [(3, 2)]),
    (lambda x: x[NONE], [(3, 2)]),
    (lambda x: x[:, GRID], [(2, 3)]),
    (lambda x: x[I3, :, GRID[:1, :1]], [(3, 2, 3)]),
    (lambda x: x[MASK], [(3, 2)]),
    (lambda x: x[MASK2], [(3, 2)]),
    (lambda x: x[I3[:2], MASK], [(3, 3)]),
    (lambda x: x[x > 0], [(6,)]),
    (lambda x: T.take(x, np.array([1, 1, 0])), [(2, 2)]),
    (lambda x: T.take_along_axis(x, np.array([[1, 1], [0, 1]]), 1), [(2, 3)]),
]

WRITING: list[tuple[F, list[Shape]]] = [
    (lambda x: x[1], [(3, 2), (2,)]),
    (lambda x: x[1:], [(3, 2), ()]),
    (lambda x: x[1:], [(3, 2), (2,)]),
    (lambda x: x[1:], [(3, 2), (2, 1)]),
    (lambda x: x[::-2], [(5, 2), (3, 1)]),
    (lambda x: x[0:0], [(3,), (1,)]),
    (lambda x: x[I3], [(3, 2), (5, 2)]),
    (lambda x: x[I3], [(3, 2), (2,)]),
    (lambda x: x[I3], [(3, 2), (5, 1)]),
    (lambda x: x[NONE], [(3, 2), (0, 2)]),
    (lambda x: x[:, GRID], [(2, 3), (2, 2, 2)]),
    (lambda x: x[I3, :, GRID[:1, :1]], [(3, 2, 3), (1, 5, 2)]),
    (lambda x: x[MASK], [(3, 2), (2, 2)]),
    (lambda x: x[MASK], [(3,), ()]),
    (lambda x: x[MASK2], [(3, 2), (3,)]),
    (lambda x: x[np.array([2, 0])], [(3, 2), (2, 2)]),
    (lambda x: x[np.array([2, -1])], [(3, 2), (2, 2)]),
    (lambda x: x[np.array([0, 1]), np.array([1, 0])], [(2, 2), (2,)]),
    (lambda x: x[np.array([0, 0]), np.array([1, 1])], [(2, 2), (2,)]),
]
WRITTEN = [
    (lambda x, y, part=part, write=write: write(part(x), y), shapes)
    for part, shapes in WRITING
    for write in (T.set_subtensor, T.inc_subtensor)
]

LEFT: list[Shape] = [(), (3,), (2, 3), (4, 2, 3), (2, 1, 2, 3)]
RIGHT: list[Shape] = [(), (3,), (3, 2), (4, 3, 2), (0, 3, 2)]
DOTS: list[tuple[F, list[Shape]]] = [(T.dot, [s, t]) for s in LEFT for t in RIGHT]
MATMULS: list[tuple[F, list[Shape]]] = [
    (T.matmul, [s, t])
    for s in LEFT[1:]
    for t in RIGHT[1:]
    if len(s) < 3 or len(t) < 3 or s[-3] in (1, t[0])
]  # fmt: skip
PRODUCTS: list[tuple[F, list[Shape]]] = [
    (T.dot, [(2, 0), (0, 3)]),
    (T.matmul, [(2, 2, 0), (1, 0, 2)]),
    (T.matmul, [(1, 2, 3), (4, 3, 2)]),
    (T.outer, [(2,), (3,)]),
    (T.outer, [(2,), (0,)]),
    (lambda x, y: T.tensordot(x, y, ((2, 0), (0, 1))), [(2, 3, 4), (4, 2, 2)]),
    (lambda x, y: T.tensordot(x, y, ((2, 0, 1), (0, 3, 2))), [(2, 3, 4), (4, 2, 3, 2)]),
    (lambda x, y: T.tensordot(x, y, ((0,), (1,))), [(2, 3, 2), (4, 2)]),
    (lambda x, y: T.tensordot(x, y, 0), [(2, 3), (2,)]),
    (lambda x, y: T.tensordot(x, y, 2), [(2, 3), (2, 3)]),
    (lambda x, y: T.batched_dot(x, y), [(2, 3, 2), (2, 2, 4)]),
    (lambda x, y: T.inner(x, y), [(2, 3), (4, 3)]),
    (lambda x, y: T.vdot(x, y), [(3,), (3,)]),
]  # fmt: skip

CASES = [*SHAPING, *JOINING, *READING, *WRITTEN, *DOTS, *MATMULS, *PRODUCTS]


def typed(shape: Shape, name: str, known: bool) -> Variable:
    return Variable(TensorType("float64", shape if known else (None,) * len(shape)), name)


def cost_of(out: Variable, inputs: list[Variable], values: list[Any], rng: np.random.Generator) -> Variable:
    """A scalar that is not linear in the result, so that its gradients have gradients."""
    shape = scanopt.interpret(out, dict(zip(inputs, values, strict=True))).shape
    cost: Variable = ((out * out + out) * rng.normal(size=shape)).sum()
    return cost


@pytest.mark.share(6)
@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
@pytest.mark.parametrize("i", range(len(CASES)))
def test_real(i: int, known: bool) -> None:
    f, shapes = CASES[i]
    rng = np.random.default_rng(i)
    inputs = [typed(s, f"x{k}", known) for k, s in enumerate(shapes)]
    values = [rng.normal(size=s) for s in shapes]
    check(cost_of(f(*inputs), inputs, values, rng), inputs, values, optimized=not known and i % 5 == 0)


# Complex numbers: z = x + i y, seen through real functions of x and y


def seen(out: Variable, shape: Shape, rng: np.random.Generator) -> Variable:
    a, b = T.real(out), T.imag(out)
    cost: Variable = (a * rng.normal(size=shape) + b * rng.normal(size=shape) + a * b).sum()
    return cost


COMPLEX = [
    *SHAPING[::3],
    *JOINING[::3],
    *READING[1::3],
    *WRITTEN[::5],
    *((f, s) for f, s in DOTS if s[0] and s[1]),
    *MATMULS[::3],
    *PRODUCTS,
]  # fmt: skip


@pytest.mark.share(3)
@pytest.mark.parametrize("i", range(len(COMPLEX)))
def test_complex(i: int) -> None:
    """Of the first array alone, the last alone, or all: the others are real."""
    f, shapes = COMPLEX[i]
    rng = np.random.default_rng(i)
    chosen = [{0}, {len(shapes) - 1}, set(range(len(shapes)))][i % 3]
    if f in [g for g, _ in WRITTEN]:
        chosen = set(range(len(shapes)))  # both of one dtype
    inputs: list[Variable] = []
    args: list[Any] = []
    for k, s in enumerate(shapes):
        inputs.append(typed(s, f"x{k}", False))
        args.append(inputs[-1])
        if k in chosen:
            inputs.append(typed(s, f"y{k}", False))
            args[-1] = args[-1] + 1j * inputs[-1]
    values = [rng.normal(size=x.ndim and shapes[int(str(x.name)[1:])]) for x in inputs]
    out = f(*args)
    shape = scanopt.interpret(out, dict(zip(inputs, values, strict=True))).shape
    by_differences(seen(out, shape, rng), inputs, values, rng)


def by_differences(cost: Variable, inputs: list[Variable], values: list[Any], rng: np.random.Generator) -> None:
    """The gradient and that of its product with random numbers."""
    for _ in range(2):
        gradients = grad(cost, inputs, disconnected_inputs="ignore")
        found = scanopt.interpret(gradients, dict(zip(inputs, values, strict=True)))
        for k, g in enumerate(found):
            expected = differences(partial(value_of, cost, inputs), values, k)
            np.testing.assert_allclose(g, expected, rtol=1e-5, atol=1e-6, err_msg=f"by {inputs[k]}")
        cost = sum(
            ((g * rng.normal(size=v.shape)).sum() for g, v in zip(gradients, values, strict=True)), T.constant(0.0)
        )


def value_of(cost: Variable, inputs: list[Variable], values: Any) -> float:
    return float(scanopt.interpret(cost, dict(zip(inputs, values, strict=True))))


def test_the_gradient_by_a_complex_number_is_that_by_its_real_part_and_i_that_by_its_imaginary_part() -> None:
    a, b = T.zvector("a"), T.zvector("b")
    u, v = np.array([1 + 2j, 3 - 1j]), np.array([2 - 1j, 1j])
    ga, gb = grad(T.real(T.dot(a, b)), [a, b])
    found = scanopt.interpret([ga, gb], {a: u, b: v})
    assert found[0].tolist() == v.conj().tolist()
    assert found[1].tolist() == u.conj().tolist()


def test_a_real_argument_beside_complex_ones_has_a_real_gradient() -> None:
    x, z = T.dmatrix("x"), T.zmatrix("z")
    for out in (T.dot(x, z), T.concatenate([x, z]), T.stack([z, x]), T.matmul(x, z[None, None]), T.tensordot(x, z, 1)):
        g = Lop(out, x, T.ones_like(out))
        assert g.dtype == "float64"
        value = scanopt.interpret(g, {x: np.ones((2, 2)), z: np.full((2, 2), 1 + 1j)})
        assert (value.dtype, value.shape) == (np.float64, (2, 2))


# Types


def test_float32_stays() -> None:
    x, y = T.fmatrix("x"), T.fmatrix("y")
    part = T.set_subtensor(x[I3], T.dot(y, x))
    cost = (T.concatenate([part, T.repeat(x, 2, 0)]) @ y.T).sum()
    for g in grad(cost, [x, y]):
        assert g.dtype == "float32"
        value = scanopt.interpret(g, {x: np.ones((3, 3), "float32"), y: np.ones((5, 3), "float32")})
        assert value.dtype == np.float32


def test_what_is_known_of_a_shape_stays_known() -> None:
    x, y = T.tensor("float64", (None, 2), "x"), T.tensor("float64", (3, 2), "y")
    outs = [T.concatenate([x, y, x]), T.concatenate([y, y]) * x[0], T.stack([y[:, 0], x[:, 0]]), y[I3], T.dot(y, y.T)]
    for out in outs:
        assert Lop(out, y, T.ones_like(out)).type.shape == (3, 2)


def test_of_entries_written_to_one_place_the_last_has_the_gradient() -> None:
    x, y = T.dvector("x"), T.dvector("y")
    for index in (np.array([1, 1, 0]), T.lvector("i")):
        known: dict[Any, Any] = {x: np.zeros(3), y: np.array([5.0, 6.0, 7.0])}
        if isinstance(index, Variable):
            known[index] = np.array([1, 1, 0])
        out = T.set_subtensor(x[index], y)
        assert scanopt.interpret(out, known).tolist() == [7.0, 6.0, 0.0]
        gx, gy = grad((out * np.array([10.0, 20.0, 30.0])).sum(), [x, y])
        assert scanopt.interpret([gx, gy], known)[0].tolist() == [0.0, 0.0, 30.0]
        assert scanopt.interpret(gy, known).tolist() == [0.0, 20.0, 10.0]


def test_by_lengths_indices_and_shapes_there_is_no_gradient() -> None:
    x, n = T.dvector("x"), T.lscalar("n")
    for cost in (x.shape[0] * 1.0, T.eye(x.shape[0]).sum(), T.full((n,), 1.0).sum(), T.zeros_like(x).sum()):
        with pytest.raises(DisconnectedInputError):
            grad(cost, x)
    with pytest.raises(DisconnectedInputError):
        grad(x[n], n)


def test_arange_of_floats() -> None:
    rng = np.random.default_rng(0)
    inputs = [T.dscalar(name) for name in ("a", "b", "c")]
    values = [np.array(v) for v in (0.1, 2.05, 0.3)]
    check(cost_of(T.arange(*inputs), inputs, values, rng), inputs, values)
    a, b, _ = inputs
    assert scanopt.interpret(grad(T.arange(a, b).sum(), a), dict(zip(inputs, values, strict=True))).item() == 2.0
    with pytest.raises(DisconnectedInputError):
        grad(T.arange(a, b).sum(), b)


def test_ifelse_forwards_and_backwards_between_sides_of_other_shapes() -> None:
    x, y = T.dvector("x"), T.dvector("y")
    for sign in (1.0, -1.0):
        cost = (T.ifelse(sign * x.sum() > 0, x * x, T.exp(y)) ** 2).sum()
        check(cost, [x, y], [np.array([0.5, 1.5]), np.array([0.2, -0.3, 0.1])], order=1)
        check(cost, [x, y], [np.array([0.5, 1.5]), np.array([0.2, -0.3])])


def test_ifelse_has_a_gradient_of_its_own() -> None:
    c, x, y, g = T.constant(False), T.dvector("x"), T.dvector("y"), T.dvector("g")
    out = T.ifelse(c, x, y)
    node = out.owner
    none, by_x, by_y = node.op.spec.gradient(node.op, node.inputs, out, g)
    assert none is None
    found = scanopt.interpret([by_x, by_y], {x: np.ones(3), y: np.ones(2), g: np.array([5.0, 6.0])})
    assert [f.tolist() for f in found] == [[0.0, 0.0, 0.0], [5.0, 6.0]]


# In loops: the batched forms of what gradients are made of

ROWS: list[F] = [
    lambda r, W: T.dot(r, W)[::-1],
    lambda r, W: T.outer(r, W[0]).reshape((-1,)),
    lambda r, W: W[np.array([0, 1, 0])] * r[1],
    lambda r, W: T.set_subtensor(W[np.array([1, 1])], T.stack([r, r * 2]))[1] * r,
    lambda r, W: T.inc_subtensor(W[1:, 1], r[:2])[:, 0] * r[0],
    lambda r, W: T.concatenate([r, W[1], r[:1]]) ** 2,
    lambda r, W: T.repeat(T.broadcast_to(r, (2, 3)), 2, 0) * W[0],
    lambda r, W: T.tensordot(W, T.outer(r, r), ((1,), (0,))),
    lambda r, W: T.fill(W, r) * W,
]


@pytest.mark.share(6)
@pytest.mark.parametrize("i", range(len(ROWS)))
def test_in_a_map(i: int) -> None:
    X, W = T.dmatrix("X"), T.tensor("float64", (3, 3), "W")
    rows = scanopt.map(lambda r: ROWS[i](r, W), X)[0]
    rng = np.random.default_rng(i)
    values = [rng.normal(size=(4, 3)), rng.normal(size=(3, 3))]
    check(cost_of(rows, [X, W], values, rng), [X, W], values, order=1 + (i % 3 == 0))


# What gradients see of a value


def test_disconnected_grad_and_consider_constant() -> None:
    x = T.dscalar("x")
    for constant in (T.disconnected_grad, T.consider_constant):
        assert scanopt.interpret(grad(x * constant(x), x), {x: 3.0}) == 3.0
        assert scanopt.function([x], constant(x) * 2)(3.0) == 6.0
    with pytest.raises(DisconnectedInputError):
        grad(T.disconnected_grad(x) ** 2, x)
    assert scanopt.interpret(grad(T.consider_constant(x) ** 2, x), {x: 3.0}) == 0.0


def test_zero_grad_is_connected() -> None:
    x = T.dvector("x")
    g = grad((T.zero_grad(x) ** 2).sum(), x)
    assert scanopt.interpret(g, {x: [1.0, 2.0]}).tolist() == [0.0, 0.0]


def test_grad_clip() -> None:
    x, bound = T.dvector("x"), T.dvector("bound")
    g = grad((T.grad_clip(x, -0.5, bound) ** 2).sum(), x)
    known = {x: np.array([-2.0, 0.1, 3.0]), bound: np.array([1.0, 1.0, 4.0])}
    assert scanopt.interpret(g, known).tolist() == [-0.5, 0.2, 4.0]
    single = T.fscalar("single")
    clipped = grad(T.grad_clip(single, -1, np.float64(1)) * np.float32(3), single)
    assert (clipped.dtype, scanopt.interpret(clipped, {single: 2.0}).item()) == ("float32", 1.0)
    with pytest.raises(ValueError, match=r"lower bound 1\.0 is above the upper one -1\.0"):
        T.grad_clip(x, 1, -1)
    with pytest.raises(TypeError, match="real"):
        T.grad_clip(T.zvector("z"), -1, 1)
    with pytest.raises(ValueError, match="more axes"):
        T.grad_clip(single, -1, bound)


def test_grad_clip_at_each_step_of_a_loop() -> None:
    x, s0 = T.dvector("x"), T.dscalar("s0")
    states = scanopt.scan(lambda v, s: T.grad_clip(s * v, -1.0, 1.0) * 2.0, x, s0)[0]
    g = grad(states[-1], [s0, x])
    known = {x: np.array([3.0, 5.0]), s0: np.array(1.0)}
    for found in (scanopt.interpret(g, known), scanopt.function([x, s0], g)(known[x], known[s0])):
        assert found[0] == 3.0  # 2 is cut to 1, times 5 and 2 is cut to 1, times 3
        assert found[1].tolist() == [1.0, 6.0]


@pytest.mark.parametrize("wrapped", [T.disconnected_grad, T.zero_grad, lambda x: T.grad_clip(x, -1, 1)])
def test_they_are_gone_from_programs(wrapped: F) -> None:
    x = T.dvector("x")
    f = scanopt.function([x], scanopt.map(lambda v: wrapped(wrapped(v) * 2.0), x)[0])
    assert "grad" not in str(f.program)
    assert f([1.0, 2.0]).tolist() == [2.0, 4.0]


# Draws


def test_parameters_of_place_and_scale_have_gradients() -> None:
    a, b = T.dvector("a"), T.dscalar("b")
    k = T.random.key(3)
    cost = sum(
        (draw * np.array([1.0, -2.0, 3.0])).sum()
        for draw in (
            T.random.normal(k, (3,), avg=a, std=T.exp(b)),
            T.random.uniform(k, (3,), low=a, high=a + T.exp(b)),
            T.random.exponential(k, (3,), scale=a**2),
            T.random.gamma(k, (3,), shape=2.0, scale=a**2),
        )
    )
    check(cost, [a, b], [np.array([0.5, 1.0, -2.0]), np.array(0.3)])


def test_draws_by_rejection_have_none() -> None:
    a = T.dvector("a")
    k = T.random.key(3)
    for draw, name in ((T.random.gamma(k, (3,), shape=a), "gamma"), (T.random.beta(k, (3,), a=a), "beta")):
        with pytest.raises(NullTypeGradError, match=f"random_{name} has no gradient"):
            grad(draw.sum(), a)
        assert scanopt.interpret(grad((draw * a).sum(), a, consider_constant=[draw]), {a: np.ones(3)}).shape == (3,)


def test_counts_depend_smoothly_on_nothing() -> None:
    p = T.dscalar("p")
    k = T.random.key(3)
    for draw in (T.random.binomial(k, (3,), n=1, p=p), T.random.poisson(k, (3,), lam=p, dtype="float64")):
        with pytest.raises(DisconnectedInputError):
            grad((draw * 1.0).sum(), p)
        assert scanopt.interpret(grad((draw * p).sum(), p), {p: 0.5}) == scanopt.interpret(draw.sum(), {p: 0.5})
