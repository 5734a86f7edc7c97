"""What programs written for Theano, Aesara and PyTensor do: arguments, updates, shared variables, inputs, names."""

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T

OPERATORS = [
    "add", "mul", "maximum", "minimum", "fmax", "fmin", "and_", "or_", "xor", "bitwise_and", "bitwise_or",
    "bitwise_xor", "logical_and", "logical_or", "logical_xor",
]  # fmt: skip
DOUBLE = lambda p: p * 2  # noqa: E731


def both(inputs: Any, outputs: Any) -> list[Callable[..., Any]]:
    """The optimized function and the interpreter."""
    f = scanopt.function(inputs, outputs)
    return [f, f.unoptimized]


# ---- operators of any number of arguments ----


@pytest.mark.parametrize("name", OPERATORS)
def test_of_any_number_of_arguments(name: str) -> None:
    kinds = "?bi" if name not in ("add", "mul", "maximum", "minimum") else "bif"
    if name in ("fmax", "fmin"):
        kinds = "fdf"
    arrays = [np.array([[1, 0, 5], [3, 2, 0]]).astype(kinds[0]), np.array([1, 2, 0]).astype(kinds[1]),
              np.array(1).astype(kinds[2])]  # fmt: skip
    variables = [T.tensor(str(a.dtype), (None,) * a.ndim, f"x{i}") for i, a in enumerate(arrays)]
    f = getattr(T, name)
    ufunc = getattr(np, {"add": "add", "mul": "multiply"}.get(name, f.__name__))
    for n in (1, 2, 3):
        expected = reduce(ufunc, arrays[:n])
        for call in both(variables[:n], f(*variables[:n])):
            found = call(*arrays[:n])
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == expected.dtype


def test_python_numbers_take_the_dtype_of_the_first_array() -> None:
    x = T.fvector("x")
    assert T.add(1, 2.5, x).dtype == T.add(x, 1, 2.5).dtype == "float32"
    assert T.maximum(1, 2, T.bvector("b")).dtype == "int8"
    np.testing.assert_array_equal(T.add(1, 2.5, x).eval({x: [1.0]}), [4.5])


# ---- functions that NumPy has, too ----


def test_the_norm_of_a_variable_is_that_of_its_elements() -> None:
    X, values = T.dmatrix("X"), np.array([[1.0, -2.0, 2.0], [0.0, 4.0, -3.0]])
    orders: list[Any] = [None, 1, 2, 3, 0.5, np.inf, -np.inf]
    norms = [v for L in orders for v in (X.norm(L), X.norm(L, axis=1), X.norm(L, axis=0, keepdims=True))]
    expected = [
        v
        for L in orders
        for v in (
            np.linalg.norm(values.ravel(), L),
            np.linalg.norm(values, L, axis=1),
            np.linalg.norm(values, L, axis=0, keepdims=True),
        )
    ]
    for call in both([X], norms):
        for found, want in zip(call(values), expected, strict=True):
            np.testing.assert_allclose(found, want, rtol=1e-14)
    assert X.norm(2, axis=(0, 1)).eval({X: values}) == np.sqrt((values**2).sum())
    np.testing.assert_allclose(scanopt.grad(X.norm(2), X).eval({X: values}), values / np.sqrt((values**2).sum()))


def test_modes_of_rounding_by_name() -> None:
    x, values = T.dvector("x"), [0.5, 1.5, -2.5, 1.25]
    ways = [T.round(x, "half_away_from_zero"), x.round(mode="half_to_even"), T.round(x, mode=None), np.round(x, 1)]
    for call in both([x], ways):
        found = [list(v) for v in call(values)]
        assert found == [[1, 2, -3, 1], [0, 2, -2, 1], [0, 2, -2, 1], [0.5, 1.5, -2.5, 1.2]]
    for wrong in (lambda: T.round(x, "half_up"), lambda: T.round(x, 1, "half_away_from_zero")):
        with pytest.raises(ValueError, match="mode must be 'half_to_even'"):
            wrong()


def test_ifelse_is_in_a_module_of_its_name() -> None:
    x = T.dvector("x")
    assert scanopt.ifelse.ifelse is scanopt.ifelse
    assert scanopt.ifelse.ifelse(x.sum() > 0, x, -x).eval({x: [-1.0]}) == [1.0]


# ---- arguments of scan ----


def test_outputs_info_may_say_inplace() -> None:
    x0 = T.dscalar("x0")
    xs, _ = scanopt.scan(DOUBLE, outputs_info=dict(initial=x0, inplace=0), n_steps=2)
    for call in both([x0], xs):
        np.testing.assert_array_equal(call(1.0), [2.0, 4.0])


def test_flags_of_0_and_1() -> None:
    x = T.dvector("x")
    last, _ = scanopt.scan(lambda v, h: v + 2 * h, x, 0.0, go_backwards=1, strict=1, return_list=1)
    assert last[0].owner.go_backwards is True
    for call in both([x], last[0][-1]):
        assert call([1.0, 2.0, 3.0]) == 1 + 2 * (2 + 2 * 3)


def test_infinitely_many_steps_end_by_until() -> None:
    top = T.dscalar("top")
    powers, _ = scanopt.scan(lambda p, top: (p * 2, scanopt.until(p * 2 > top)), None, 1.0, top, n_steps=np.inf)
    for call in both([top], powers):
        np.testing.assert_array_equal(call(45.0), [2, 4, 8, 16, 32, 64])
    assert scanopt.function([top], powers[-1])(45.0) == 64


def test_infinitely_many_steps_end_with_the_sequences() -> None:
    x = T.dvector("x")
    assert scanopt.scan(DOUBLE, x, n_steps=np.inf)[0].type.shape == (None,)
    for call in both([x], scanopt.scan(lambda v: (v * 2, scanopt.until(v > 1)), x, n_steps=np.inf)[0]):
        np.testing.assert_array_equal(call([1.0, 0.5]), [2.0, 1.0])


def test_whole_numbers_of_steps_may_be_floats() -> None:
    assert scanopt.scan(DOUBLE, outputs_info=1.0, n_steps=3.0)[0].type.shape == (3,)


# ---- updates ----


def updates_of(x: Any, new: Any) -> Any:
    return scanopt.scan(lambda: {x: new}, n_steps=3)[1]


@pytest.mark.parametrize("join", ["a + b", "a | b", "a.update(b)", "a += b", "a |= b", "b + dict(a)", "dict(b) | a"])
def test_conflicts_of_updates_are_found(join: str) -> None:
    x, y = scanopt.shared(1.0, "x"), scanopt.shared(1.0, "y")
    names = {"a": updates_of(x, x + 1), "b": updates_of(x, x + 2)}
    with pytest.raises(KeyError, match="two different updates of 'x'"):
        exec(join, names)
    names = {"a": updates_of(x, x + 1), "b": updates_of(y, y + 2)}
    exec(f"c = {join}" if "=" not in join and "update" not in join else f"{join}\nc = a", names)
    assert set(names["c"]) == {x, y}
    assert all(names["c"][k] is names[d][k] for k, d in ((x, "a"), (y, "b")))


def test_updates_that_agree() -> None:
    x = scanopt.shared(1.0, "x")
    a = updates_of(x, x + 1)
    assert dict(a | a) == dict(a + dict(a)) == dict(a)
    a[x] = x + 7.0
    assert scanopt.function([], [], updates=a)() == []
    assert x.value == 8.0


# ---- checkpoints ----


def test_checkpoints_without_updates_and_as_a_list() -> None:
    x = T.dvector("x")
    step = lambda v, h: T.tanh(h + v)  # noqa: E731
    (last,) = scanopt.scan_checkpoints(step, x, [0.0], save_every_N=2, return_list=True, return_updates=False)
    for call in both([x], last[-1]):
        np.testing.assert_allclose(call([1.0, 2.0, 3.0]), np.tanh(np.tanh(np.tanh(1) + 2) + 3))


@pytest.mark.parametrize("error", [RuntimeError, ValueError])
def test_checkpoints_take_no_taps(error: type[Exception]) -> None:
    with pytest.raises(error, match=r"outputs_info\[0\] \('x'\) has taps \[-2, -1\]"):
        scanopt.scan_checkpoints(lambda a, b: a, None, dict(initial=T.dvector("x"), taps=[-2, -1]), n_steps=4)


# ---- shared variables ----


def test_value_of_a_shared_variable() -> None:
    a = scanopt.shared(1)
    values, updates = scanopt.scan(lambda: {a: a + 1}, n_steps=10)
    assert values is None
    f = scanopt.function([], [a + 1, updates[a] + 1], updates=updates)
    assert [*map(int, f())] == [2, 12]
    assert a.value == 11
    a.value[...] = 5  # a copy
    assert a.value == 11
    a.value = 3
    assert f()[0] == 4


def test_promised_shapes_are_known_and_kept() -> None:
    w = scanopt.shared(np.ones((2, 3)), "W", shape=(None, 3))
    row = scanopt.shared(np.ones((1, 3)), "row", broadcastable=(True, False))
    assert (w.type.shape, row.type.shape) == ((None, 3), (1, None))
    assert T.dot(T.dvector(), w).type.shape == (3,)
    w.set_value(np.zeros((5, 3)))
    for bad in (lambda: w.set_value(np.zeros((3, 2))), lambda: setattr(w, "value", np.zeros((3, 2)))):
        with pytest.raises(ValueError, match=r"'?W'? was promised to be float64\[\?, 3\], found float64\[3, 2\]"):
            bad()
    assert w.value.shape == (5, 3)
    grown = T.dmatrix("grown")
    other = scanopt.shared(0.0, "other")
    f = scanopt.function([grown], [], updates={other: other + 1, w: grown})
    with pytest.raises(ValueError, match="was promised to be"):
        f(np.zeros((3, 2)))
    assert other.value == 0.0
    f(np.zeros((1, 3)))
    assert (w.value.shape, other.value) == ((1, 3), 1.0)


def test_promised_shapes_in_loops_and_files(tmp_path: Any) -> None:
    w = scanopt.shared(np.full((2,), 3.0), "w", shape=(2,))
    ys, updates = scanopt.scan(lambda: (w.sum(), {w: w + 1}), n_steps=3)
    assert updates[w].type.shape == (2,)
    f = scanopt.function([], ys, updates=updates)
    np.testing.assert_array_equal(f(), [6, 8, 10])
    f.save(tmp_path / "f.json")
    (saved,) = scanopt.load(tmp_path / "f.json").shared
    with pytest.raises(ValueError, match="was promised to be"):
        saved.set_value(np.zeros(3))


# ---- inputs of functions ----


def test_computed_inputs_cut_the_graph() -> None:
    x = T.dvector("x")
    y = T.exp(x)
    y.name = "y"
    z = (y * 2).sum()
    for call in both([y], z):
        assert call([1.0, 2.0]) == 6.0
    assert scanopt.function([y], z)(y=[1.0]) == 2.0
    assert z.eval({y: [4.0]}) == 8.0
    assert scanopt.function([y, scanopt.In(x, value=[0.0])], [z, x.sum()], givens={x: x + y})([1.0])[1] == 1.0
    with pytest.raises(ValueError, match="do not use 'x'"):
        scanopt.function([x, y], z)
    with pytest.raises(ValueError, match="need 'x'"):
        scanopt.function([y], z + x)


def test_a_trace_as_input_and_what_a_step_reads() -> None:
    x = T.dvector("x")
    hs, _ = scanopt.scan(lambda v, h: v + h, x, 0.0)
    w = x.sum()
    out, _ = scanopt.scan(lambda h: h * w, hs)
    for call in both([hs, w], out):
        np.testing.assert_array_equal(call([1.0, 2.0], 10.0), [10.0, 20.0])
    gradient = T.grad(out.sum(), w)
    for call in both([hs, w], gradient):
        assert call([1.0, 2.0], 10.0) == 3.0


def test_whole_floats_for_integer_scalars() -> None:
    k, v = T.iscalar("k"), T.ivector("v")
    for call in both([k], k * 2):
        assert call(3.0) == 6
    for bad in (3.5, np.float64(3.0), float("inf"), 2.0**40):
        with pytest.raises(TypeError, match="'k'"):
            scanopt.function([k], k)(bad)
    with pytest.raises(TypeError, match="'v'"):
        scanopt.function([v], v)([1.0, 2.0])


# ---- shapes ----


def test_specified_shapes() -> None:
    x, n = T.dmatrix("x"), T.lscalar("n")
    y = T.specify_shape(x, (n, 3))
    assert y.type.shape == (None, 3)
    for call in both([x, n], y.sum(0)):
        np.testing.assert_array_equal(call(np.ones((2, 3)), 2), [2, 2, 2])
        with pytest.raises(ValueError, match="axis 0 has length 2, not 3"):
            call(np.ones((2, 3)), 3)
        with pytest.raises(ValueError, match="axis 1 has length 4, not 3"):
            call(np.ones((2, 4)), 2)
    T.verify_grad(lambda x: T.specify_shape(x, (2, None)) ** 2, [np.arange(6.0).reshape(2, 3)])


def test_specified_shapes_in_steps() -> None:
    x = T.dmatrix("x")
    ys, _ = scanopt.map(lambda r: T.specify_shape(r, (3,)) * 2, x)
    assert ys.type.shape == (None, 3)
    for call in both([x], ys):
        assert call(np.ones((2, 3))).shape == (2, 3)
        assert call(np.ones((0, 4))).shape == (0, 3)  # a step that does not run specifies nothing
        with pytest.raises(ValueError, match="has length 4, not 3"):
            call(np.ones((1, 4)))


def test_specify_shape_in_a_loop_of_no_steps() -> None:
    """Nothing is checked there, and an array has the lengths that it has."""
    x, n = T.dmatrix("x"), T.lscalar("n")
    ys, _ = scanopt.map(lambda r, n: T.specify_shape(r, (n,)), x, n)
    f = scanopt.function([x, n], ys)
    for run in (f, f.unoptimized):
        assert run(np.zeros((0, 3)), 5).shape == (0, 3)


def test_marks_of_axes_that_broadcast() -> None:
    x = T.dmatrix("x")
    assert T.addbroadcast(x, 0, -1).broadcastable == T.patternbroadcast(x, (True, True)).broadcastable == (True, True)
    assert T.unbroadcast(x, 0) is x
    for call in both([x], T.addbroadcast(x, 1)):
        assert call(np.ones((2, 1))).shape == (2, 1)
        with pytest.raises(ValueError, match="axis 1 has length 2, not 1"):
            call(np.ones((2, 2)))


def test_alloc_and_full_of_arrays() -> None:
    v, n = T.dvector("v"), T.lscalar("n")
    value = np.array([1.0, 2.0, 3.0])
    for made in (T.alloc(v, n, 3), T.alloc(v, (n, 3)), T.full((n, 3), v)):
        for call in both([v, n], made):
            np.testing.assert_array_equal(call(value, 2), np.full((2, 3), value))
            with pytest.raises(ValueError, match="broadcast"):
                call(value[:2], 2)
    assert T.full((2, 3), v, dtype="float32").dtype == "float32"
    assert T.alloc(0.0, 2, 3).type.shape == T.alloc(0.0, (2, 3)).type.shape == (2, 3)


# ---- errors that name axes ----

CLASHES: list[tuple[Callable[..., Any], list[tuple[int, ...]], str]] = [
    (lambda A, B: T.dot(A, B), [(2, 4), (3, 3)], "axis 1 of {A} has length 4, axis 0 of {B} has length 3"),
    (lambda A, B: A @ B, [(2, 4), (3,)], "axis 1 of {A} has length 4, axis 0 of {B} has length 3"),
    (lambda A, B: A + B, [(2, 4), (3,)], "axis 1 of {A} has length 4, axis 0 of {B} has length 3"),
    (lambda A, B: A * B, [(2, 4), (3, 4)], "axis 0 of {A} has length 2, axis 0 of {B} has length 3"),
    (lambda A, B: T.clip(A, B, 9.0), [(5,), (3,)], "axis 0 of {A} has length 5, axis 0 of {B} has length 3"),
    (lambda A, B: T.concatenate([A, B], 0), [(2, 4), (3, 3)], "axis 1 of {A} has length 4, axis 1 of {B} has length 3"),
    (lambda A, B: T.stack([A, B]), [(2, 4), (2, 3)], "axis 1 of {A} has length 4, axis 1 of {B} has length 3"),
]


@pytest.mark.parametrize(("f", "shapes", "text"), CLASHES)
def test_errors_name_axes(f: Callable[..., Any], shapes: list[tuple[int, ...]], text: str) -> None:
    with pytest.raises(ValueError, match=text.format(A="'A'", B="'B'")):
        f(T.tensor("float64", shapes[0], "A"), T.tensor("float64", shapes[1], "B"))
    inputs = [T.tensor("float64", (None,) * len(s), name) for s, name in zip(shapes, "AB", strict=True)]
    for call in both(inputs, f(*inputs)):
        with pytest.raises(ValueError) as info:  # noqa: PT011  NumPy's own
            call(*(np.ones(s) for s in shapes))
        assert text.format(A="A", B="B") in "\n".join(info.value.__notes__)


def test_errors_name_axes_in_steps() -> None:
    X, h = T.dmatrix("X"), T.dvector("h")
    hs, _ = scanopt.scan(lambda x, h: T.tanh(x * h), X, h)
    for call in both([X, h], hs):
        with pytest.raises(ValueError) as info:  # noqa: PT011
            call(np.ones((2, 4)), np.ones(3))
        assert "has length 4" in "\n".join([str(info.value), *info.value.__notes__])


@pytest.mark.parametrize("missing", ["None", "none", "Disconnected"])
def test_choices_of_gradients_in_capitals(missing: str) -> None:
    x, y = T.dvectors("x", "y")
    found = T.grad(x.sum(), [x, y], disconnected_inputs="Ignore", return_disconnected=missing)
    assert (found[0].type, found[1]) == (x.type, None)
    assert T.Rop(y, x, x, disconnected_outputs="IGNORE", return_disconnected=missing) is None
    with pytest.warns(Warning, match="no gradient"):
        T.grad(x.sum(), y, disconnected_inputs="Warn")
    with pytest.raises(ValueError, match="'zero', 'none' or 'disconnected', found 'nought'"):
        T.grad(x.sum(), x, return_disconnected="nought")


def test_arguments_of_functions_without_effect() -> None:
    x = T.dvector("x")
    f = scanopt.function([x], x * 2, rebuild_strict=True, accept_inplace=True, trust_input=True)
    f.trust_input = True  # type: ignore[attr-defined]
    np.testing.assert_array_equal(f([1.0]), [2.0])
