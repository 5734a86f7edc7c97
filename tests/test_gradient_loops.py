"""Gradients through loops: every kind of slot, direction and length, to the fourth order; truncated ones."""

from typing import Any

import numpy as np
import pytest
from differences import check

import scanopt
import scanopt.tensor as T
from scanopt.gradient import DisconnectedInputError, grad, hessian, jacobian

pytestmark = pytest.mark.usefixtures("brief_search")

RNG = np.random.default_rng(3)
X, H, W = T.dmatrix("X"), T.dmatrix("H"), T.dmatrix("W")
h = T.dvector("h")


def rand(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).normal(size=shape) * 0.6


def scan(*args: Any, **kwargs: Any) -> Any:
    return scanopt.scan(*args, return_updates=False, **kwargs)


def test_state_of_one_step() -> None:
    trace = scan(lambda x, s: T.tanh(s * x + x), X, [h])
    check((trace**2).sum(), [X, h], [rand(4, 2), rand(2)], order=3)


def test_last_value_only() -> None:
    trace = scan(lambda x, s: T.tanh(s * x + x), X, [h])
    check((trace[-1] ** 2).sum(), [X, h], [rand(4, 2), rand(2)])


def test_non_sequences_given_and_found() -> None:
    V = T.dmatrix("V")
    trace = scan(lambda x, s, w: T.tanh(T.dot(s, w) + T.dot(x, V)), X, [h], [W])
    check((trace**2).sum(), [X, h, W, V], [rand(3, 2), rand(2), rand(2, 2), rand(2, 2)])


def test_taps_of_a_state() -> None:
    trace = scan(lambda x, s3, s1: T.tanh(s3 * x + s1), X, [dict(initial=H, taps=[-3, -1])])
    check((trace**2).sum(), [X, H], [rand(5, 2), rand(3, 2)])
    check((trace**2).sum(), [X, H], [rand(2, 2), rand(3, 2)])  # fewer steps than taps


@pytest.mark.parametrize("used", [(0,), (1,), (0, 2), ()])
def test_taps_that_the_step_does_not_read(used: tuple[int, ...]) -> None:
    trace = scan(
        lambda x, *past: sum((T.sin(past[i] * x) for i in used), x * x), X, [dict(initial=H, taps=[-1, -2, -3])]
    )
    values = [rand(4, 2), rand(3, 2)]
    check((trace[-1] ** 2).sum(), [X, H], values, order=1, optimized=bool(used))
    check((trace**2).sum(), [X, H], values, order=1, optimized=False)


def test_taps_of_sequences_both_ways_and_backwards() -> None:
    for backwards in (False, True):
        trace = scan(lambda a, b, s: T.sin(a * s + b), dict(input=X, taps=[1, -2]), [h], go_backwards=backwards)
        check((trace**2).sum(), [X, h], [rand(6, 2), rand(2)])


def test_several_states_and_maps() -> None:
    a, b, m = scan(lambda x, s, z: [T.tanh(s * x + z), s * z, s + x], X, [h, h * 2, None])
    check((a**2).sum() + (b[-1] * m[0]).sum() + T.sin(m).sum(), [X, h], [rand(4, 2), rand(2)])


def test_a_value_returned_twice() -> None:
    def step(x: Any, s: Any) -> Any:
        new = T.tanh(s + x)
        return [new, new, new * 2]

    a, b, c = scan(step, X, [h, None, None])
    check((a**2).sum() + (b**3).sum() + T.sin(c).sum(), [X, h], [rand(3, 2), rand(2)])


@pytest.mark.parametrize("taps", [[-1], [-2], [-2, -1]])
def test_an_initial_state_that_only_the_first_steps_read(taps: list[int]) -> None:
    y = T.dvector("y")
    a, _ = scan(
        lambda s, *past: [s + sum(T.cos(p) for p in past), T.tanh(y.sum())],
        None,
        [T.constant(0.5, dtype="float64"), dict(initial=h, taps=taps) if taps != [-1] else h[0]],
        n_steps=3,
    )
    check((a**2).sum(), [h, y], [rand(2), rand(3)], order=1, wrt=[h], optimized=taps == [-2])


def test_only_some_outputs_count() -> None:
    a, b = scan(lambda x, s, z: [T.tanh(s * x), T.tanh(z + x)], X, [h, h])
    check((b**2).sum(), [X, h], [rand(3, 2), rand(2)])
    y = T.dvector("y")
    a, b = scan(lambda x, s, z: [s * x, z + x], X, [h, y])
    with pytest.raises(DisconnectedInputError, match="'y'"):
        grad((a**2).sum(), y)
    assert grad((b**2).sum(), y).ndim == 1


def test_until() -> None:
    trace = scan(lambda x, s: (T.tanh(s + x), scanopt.until((s + x).sum() > 1)), X, [h])
    values = [np.full((6, 2), 0.2), np.array([0.1, 0.05])]
    assert 0 < len(scanopt.interpret(trace, dict(zip([X, h], values, strict=True)))) < 6
    check((trace**2).sum(), [X, h], values)
    check((trace[-1] ** 2).sum(), [X, h], values)


@pytest.mark.share(3)
@pytest.mark.parametrize("steps", [0, 1, 2])
def test_few_steps(steps: int) -> None:
    n = T.iscalar("n")
    for count in (steps, n):
        trace = scan(lambda x, s: T.tanh(s * x), X, [h], n_steps=count)
        cost = (trace**2).sum() + (h**2).sum()
        values = [rand(3, 2), rand(2)]
        cost = scanopt.clone(cost, {n: T.constant(steps, dtype="int32")}) if count is n else cost
        check(cost, [X, h], values)


def test_unknown_number_of_steps() -> None:
    n = T.iscalar("n")
    trace = scan(lambda x, s: T.tanh(s * x), X, [h], n_steps=n)
    gx, gh = grad((trace**2).sum(), [X, h])
    f = scanopt.function([X, h, n], [gx, gh])
    for steps in (0, 2, 3):
        a, b = f(rand(3, 2), rand(2), steps)
        assert (a.shape, b.shape) == ((3, 2), (2,))
        assert not a[steps:].any()
        assert a[:steps].all()


def test_nested_loops() -> None:
    def step(x: Any, s: Any) -> Any:
        inner = scan(lambda a, b: T.tanh(a * b), None, [s], [x], n_steps=3)
        return inner[-1] + x

    check((scan(step, X, [h]) ** 2).sum(), [X, h], [rand(3, 2), rand(2)])


def test_inner_length_by_the_outer_step() -> None:
    trace = scan(
        lambda i, x, s: scan(lambda a, v: T.tanh(a * v), None, [s], [x], n_steps=i + 1)[-1], [T.arange(3), X], [h]
    )
    check((trace**2).sum(), [X, h], [rand(3, 2), rand(2)])


def test_inner_lengths_that_a_law_may_not_stack() -> None:
    """What the forward loop computed is read again backwards only where it has one shape at all steps."""
    trace = scan(lambda x, i: scan(lambda y: y, [x], n_steps=i % 3)[::-1][:1].sum(axis=0), [X, T.arange(5)])
    g = grad((trace**2).sum(), X)
    x = rand(7, 2)
    np.testing.assert_allclose(scanopt.function([X], g)(x), scanopt.interpret(g, {X: x}), rtol=1e-12)


def test_loop_over_the_trace_of_a_loop() -> None:
    first = scan(lambda x, s: T.tanh(s + x), X, [h])
    second = scan(lambda v, z: T.sin(v * z), first, [first[-1]], go_backwards=True)
    check((second**2).sum(), [X, h], [rand(3, 2), rand(2)])


def test_gradient_inside_a_loop() -> None:
    def step(s: Any, v: Any) -> Any:
        return s - 0.1 * grad((T.dot(s, v) ** 2).sum() + (s**4).sum(), s)

    check((scan(step, None, [h], [W], n_steps=4) ** 2).sum(), [h, W], [rand(2), rand(2, 2)])


@pytest.mark.thorough
def test_fourth_order() -> None:
    x = T.dscalar("x")
    y = scan(lambda s: s**2, None, [x], n_steps=2)[-1]  # x ** 4
    for k, factor in enumerate((4, 12, 24, 24), 1):
        y = grad(y, x)
        assert scanopt.interpret(y, {x: 1.1}) == pytest.approx(factor * 1.1 ** (4 - k))
        assert scanopt.function([x], y)(1.1) == pytest.approx(factor * 1.1 ** (4 - k))


def test_shared_variables_that_the_loop_changes() -> None:
    total = scanopt.shared(np.float64(0.5), "total")
    trace, updates = scanopt.scan(lambda x: (T.sin(total) * x, {total: total * T.tanh(x.sum())}), X)
    cost = (trace**2).sum() + updates[total]
    gx, gt = grad(cost, [X, total])
    x0 = rand(3, 2)

    def f(x: Any, t: float) -> float:
        out = 0.0
        for row in x:
            out += float(((np.sin(t) * row) ** 2).sum())
            t = t * np.tanh(row.sum())
        return out + t

    found_x, found_t = scanopt.function([X], [gx, gt])(x0)
    e = 1e-6
    assert found_t == pytest.approx((f(x0, 0.5 + e) - f(x0, 0.5 - e)) / (2 * e), rel=1e-6)
    moved = x0.copy()
    moved[1, 0] += e
    assert found_x[1, 0] == pytest.approx((f(moved, 0.5) - f(x0, 0.5)) / e, rel=1e-4)


def test_through_draws_made_in_the_loop() -> None:
    stream = T.shared_randomstreams.RandomStreams(7)
    mu, sigma = T.dscalar("mu"), T.dscalar("sigma")
    trace, updates = scanopt.scan(
        lambda s: s * 0.5 + mu + sigma * stream.normal(()), None, [T.constant(0.0, dtype="float64")], n_steps=4
    )
    cost = (trace**2).sum()
    with pytest.warns(UserWarning, match="same random numbers"):  # as differences need them
        f = scanopt.function([mu, sigma], [cost, *grad(cost, [mu, sigma])])
    value, gm, gs = f(0.3, 0.7)
    e = 1e-6
    assert gm == pytest.approx((f(0.3 + e, 0.7)[0] - f(0.3 - e, 0.7)[0]) / (2 * e), rel=1e-5)
    assert gs == pytest.approx((f(0.3, 0.7 + e)[0] - f(0.3, 0.7 - e)[0]) / (2 * e), rel=1e-5)
    assert updates
    assert value > 0


def test_with_respect_to_what_a_step_computes_again() -> None:
    x = T.dvector("x")
    y = x * 2
    trace = scan(lambda s: T.tanh(s * y), None, [T.ones_like(x)], n_steps=3)
    cost = (trace**2).sum()
    gx, gy = grad(cost, [x, y])
    found = scanopt.interpret([gx, gy], {x: [0.2, 0.4]})
    np.testing.assert_allclose(found[0], 2 * found[1])
    assert (
        scanopt.interpret(grad(cost, x, consider_constant=[y], disconnected_inputs="ignore"), {x: [0.2, 0.4]}).any()
        == 0
    )
    check(cost, [x], [np.array([0.2, 0.4])])


def test_with_respect_to_what_a_step_computes_from_a_shared_variable_that_it_changes() -> None:
    """b = a + 1 is another value at each step: only outside the loop is it that of the gradient."""
    a, x = scanopt.shared(np.float64(0.5), "a"), T.dscalar("x")
    b = a * x
    trace, updates = scanopt.scan(lambda: (b, {a: a * 2.0}), n_steps=3)
    cost = (trace * np.array([1.0, 10.0, 100.0])).sum() + 7.0 * b
    ga, gb, gx = scanopt.interpret(grad(cost, [a, b, x]), {x: 3.0})
    assert scanopt.interpret(cost, {x: 3.0}) == (0.5 + 10 + 200) * 3 + 7 * 1.5
    assert (ga, gb, gx) == ((1 + 20 + 400 + 7) * 3.0, 7.0, 0.5 + 10 + 200 + 3.5)
    assert scanopt.interpret(grad(cost, x, consider_constant=[b]), {x: 3.0}) == 0.5 + 10 + 200
    assert updates


def test_indices_are_disconnected() -> None:
    i = T.ivector("i")
    trace = scan(lambda k, v: v[k] ** 2, i, None, [h])
    with pytest.raises(DisconnectedInputError, match="'i' int32"):
        grad(trace.sum(), i)
    assert scanopt.interpret(grad(trace.sum(), h), {i: [0, 2, 0], h: [1.0, 2.0, 3.0]}).tolist() == [4, 0, 6]


def reference(x: Any, w: float, start: float, k: int) -> tuple[list[float], float, float]:
    """Gradients of s[T-1] of s[t] = w s[t-1] + x[t], by hand, over the last k steps."""
    n = len(x)
    states = [start]
    for v in x:
        states.append(w * states[-1] + v)
    gx, gw, g = [0.0] * n, 0.0, 1.0
    for t in range(n - 1, max(n - 1 - k, -1), -1):
        gx[t] = g
        gw += g * states[t]
        g *= w
    return gx, gw, g if k >= n else 0.0


@pytest.mark.share(2)
@pytest.mark.parametrize("k", [1, 2, 4, 9])
def test_truncated(k: int) -> None:
    x, w, s = T.dvector("x"), T.dscalar("w"), T.dscalar("s")
    trace = scan(lambda v, p, a: a * p + v, x, [s], [w], truncate_gradient=k)
    gradients = grad(trace[-1], [x, w, s])
    data = np.array([1.0, 2.0, 3.0, 4.0])
    expected = reference(data, 0.5, 0.25, k)
    for found in (
        scanopt.interpret(gradients, {x: data, w: 0.5, s: 0.25}),
        scanopt.function([x, w, s], gradients)(data, 0.5, 0.25),
    ):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b)


def test_truncated_with_taps_and_until() -> None:
    trace = scan(
        lambda x, a, b: (T.tanh(a * x + b), scanopt.until((x > 9).any())),
        X, [dict(initial=H, taps=[-2, -1])], truncate_gradient=3,
    )  # fmt: skip
    full = scan(lambda x, a, b: T.tanh(a * x + b), X, [dict(initial=H, taps=[-2, -1])])
    values = {X: rand(3, 2), H: rand(2, 2)}
    for a, b in zip(
        scanopt.interpret(grad((trace**2).sum(), [X, H]), values),
        scanopt.interpret(grad((full**2).sum(), [X, H]), values),
        strict=True,
    ):
        np.testing.assert_allclose(a, b)
    longer = {X: rand(6, 2), H: rand(2, 2)}
    gx, gh = scanopt.interpret(grad((trace**2).sum(), [X, H]), longer)
    assert not gx[:3].any()
    assert gx[3:].all()
    assert not gh.any()


def test_jacobian_and_hessian_through_a_loop() -> None:
    trace = scan(lambda x, s: T.tanh(T.dot(s, W) + x), X, [h])
    jac = scanopt.interpret(jacobian(trace[-1], h), {X: rand(3, 2), h: rand(2), W: rand(2, 2)})
    e = 1e-6

    def last(v: Any) -> Any:
        return scanopt.interpret(trace[-1], {X: rand(3, 2), h: v, W: rand(2, 2)})

    for j in range(2):
        step = np.eye(2)[j] * e
        np.testing.assert_allclose(jac[:, j], (last(rand(2) + step) - last(rand(2) - step)) / (2 * e), rtol=1e-5)
    second = hessian((trace**2).sum(), h)
    compiled = scanopt.function([X, h, W], second)(rand(3, 2), rand(2), rand(2, 2))
    plain = scanopt.interpret(second, {X: rand(3, 2), h: rand(2), W: rand(2, 2)})
    np.testing.assert_allclose(plain, plain.T, rtol=1e-10)
    np.testing.assert_allclose(compiled, plain, rtol=1e-9)


def test_the_backward_loop_has_mit_mots() -> None:
    trace = scan(lambda x, s: T.tanh(s * x), X, [h], name="rnn")
    loops = scanopt.loops.graph.loops_of([grad((trace**2).sum(), h)])
    backward = next(n for n in loops if n.name == "grad_of_rnn")
    (m,) = backward.mit_mots
    assert (m.in_taps, m.out_taps) == ((0, 1), (1,))
    assert [backward.sit_sots, backward.nit_sots] == [(), ()]


def test_what_the_forward_loop_gave_is_read_and_not_computed_again() -> None:
    trace, double = scan(lambda x, s: [T.tanh(s * x), T.exp(x)], X, [h, None], name="rnn")
    loops = scanopt.loops.graph.loops_of(grad((trace**2).sum() + double.sum(), [X, h]))
    backward = next(n for n in loops if n.name == "grad_of_rnn")
    step = scanopt.loops.graph.schedule(backward.inner_outputs, backward.inner_inputs)
    assert {"tanh", "exp"}.isdisjoint(n.op.name for n in step)
    assert len(backward.sequences) == 5  # x, s, both results, the gradient of the second
