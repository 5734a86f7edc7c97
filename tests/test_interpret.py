"""The reference interpreter: zero steps, shapes, aliasing, long double, checks."""

from typing import Any

import numpy as np
import pytest

from scanopt import interpret, loop, scan, shared
from scanopt import tensor as T
from scanopt.array.abstract import abstract_eval, concrete
from scanopt.array.op import Op, Operand
from scanopt.array.types import TensorType
from scanopt.array.variable import Apply, Variable
from scanopt.loops.require import require

RNG = np.random.default_rng(1)


def test_one_output_or_a_list() -> None:
    x = T.vector("x", "float64")
    assert interpret(x.sum(), {x: [1, 2]}) == 3.0
    assert interpret([x.sum(), 2 * x.sum()], [(x, [1, 2])]) == [3.0, 6.0]


def test_results_share_no_memory_with_inputs() -> None:
    x, w = T.matrix("x", "float64"), shared(np.zeros(3), "w")
    value = np.zeros((2, 3))
    for out in interpret([x, x[0], x.T, w, w, scan(lambda x: x, x)[0]], {x: value}):
        out += 1
    assert not value.any()
    assert not w.get_value().any()


def test_graphs_of_thousands_of_nodes() -> None:
    x = T.scalar("x", "float64")
    y: Any = x
    for _ in range(5000):
        y = y + 1.0
    assert interpret(y, {x: 0.0}) == 5000.0
    out, _ = scan(lambda h: h + y - x - 5000.0, outputs_info=x, n_steps=2)
    np.testing.assert_array_equal(interpret(out, {x: 1.0}), [1.0, 1.0])


def test_no_warnings() -> None:
    x = T.vector("x", "float64")
    np.testing.assert_array_equal(interpret(x / 0, {x: [1.0, -1.0]}), [np.inf, -np.inf])


def test_wrong_rule_is_an_internal_error() -> None:
    x = T.vector("x", "float64")
    lie = Apply(Op.make("sum", axis=(0,), keepdims=False), (x,), TensorType("float32", ())).outputs[0]
    with pytest.raises(AssertionError, match="infers"):
        interpret(lie, {x: [1.0]})


# Zero steps


def empty_of(fn: Any, inputs: dict[Variable, Any], **arguments: Any) -> Any:
    out, _ = scan(fn, n_steps=0, **arguments)
    return interpret(out, inputs)


def test_zero_steps_of_an_ifelse() -> None:
    """A side whose shapes do not fit is not counted, unless the condition picks it or no side fits."""
    x, w, c = T.vector("x", "float64"), T.matrix("w", "float64"), T.scalar("c", "bool")
    values = {x: np.ones(3), w: np.ones((4, 5)), c: False}
    unknown = lambda h: T.ifelse(h.sum() > 0, T.dot(w, x), h * 2)  # noqa: E731
    given = lambda h: T.ifelse(c, T.dot(w, x), h * 2)  # noqa: E731
    longer = lambda v: T.ifelse(v.sum() > 0, x, T.concatenate([x, x]))  # noqa: E731
    for fn in (unknown, given):
        assert empty_of(fn, values, outputs_info=x).shape == (0, 3)
        nested, _ = scan(lambda h, fn=fn: scan(fn, outputs_info=h, n_steps=2)[0][-1], outputs_info=x, n_steps=0)
        assert interpret(nested, values).shape == (0, 3)
    assert empty_of(longer, values, sequences=w).shape == (0, 0)
    assert empty_of(lambda: longer(x), values).shape == (0, 3)
    with pytest.raises(ValueError, match="lengths to sum over"):
        empty_of(given, values | {c: True}, outputs_info=x)
    with pytest.raises(ValueError, match="lengths to sum over"):
        empty_of(lambda h: T.ifelse(h.sum() > 0, T.dot(w, x), T.dot(x, w)), values, outputs_info=x)


def test_zero_steps_of_many_ifelses() -> None:
    """Each side is looked at once, however many paths lead to it."""
    x = T.vector("x", "float64")

    def step(h: Any) -> Any:
        for _ in range(40):
            h = T.ifelse(h.sum() > 0, h + 1, h * 2)
        return h

    assert empty_of(step, {x: np.ones(3)}, outputs_info=x).shape == (0, 3)


def test_shapes_of_zero_steps() -> None:
    x, h, n = T.matrix("x", "float32"), T.vector("h", "float64"), T.lscalar("n")
    values = {x: np.ones((2, 3), np.float32), h: np.ones(4), n: 5}
    cases: list[tuple[Any, dict[str, Any], tuple[int, ...], str]] = [
        (lambda x: x, dict(sequences=x), (0, 3), "float32"),
        (lambda x: x.sum(), dict(sequences=x), (0,), "float32"),
        (lambda h: h * 2, dict(outputs_info=h), (0, 4), "float64"),
        (lambda x: T.zeros((n, x.shape[0])), dict(sequences=x), (0, 5, 3), "float64"),
        (lambda x: T.outer(x, h), dict(sequences=x), (0, 3, 4), "float64"),
        (lambda: T.zeros((n + 1, 2), dtype="int32"), {}, (0, 6, 2), "int32"),
        (lambda a, b: a + b, dict(outputs_info=dict(initial=x, taps=[-2, -1])), (0, 3), "float32"),
        (lambda x: np.arange(2), dict(sequences=x), (0, 2), "int64"),
    ]
    for fn, arguments, shape, dtype in cases:
        found = empty_of(fn, values, **arguments)
        assert (found.shape, found.dtype) == (shape, dtype)


def test_zero_steps_of_nested_loops() -> None:
    x, n = T.matrix("x", "float32"), T.lscalar("n")

    def row(x: Any) -> Any:
        return scan(lambda a, s: T.stack([s[1], a]), x, outputs_info=T.zeros(2, dtype="float32"))[0]

    values = {x: np.ones((4, 3), np.float32), n: 2}
    assert empty_of(row, values, sequences=x).shape == (0, 3, 2)
    fixed = empty_of(lambda x: scan(lambda: x, n_steps=n)[0], values, sequences=x)
    assert (fixed.shape, fixed.dtype) == ((0, 2, 3), "float32")


def test_lengths_that_only_values_tell_become_zero() -> None:
    k = T.lvector("k")
    assert empty_of(lambda k: T.zeros((k, 2)), {k: np.arange(3)}, sequences=k).shape == (0, 0, 2)


def test_shapes_must_fit_even_in_zero_steps() -> None:
    x, h = T.vector("x", "float64"), T.vector("h", "float64")
    out, _ = scan(lambda h: h + x, outputs_info=h, n_steps=0)
    assert interpret(out, {x: np.ones(3), h: np.ones(3)}).shape == (0, 3)
    with pytest.raises(ValueError, match="changes its shape"):
        interpret(out, {x: np.ones(3), h: np.ones(1)})
    with pytest.raises(ValueError, match="broadcast"):
        interpret(out, {x: np.ones(3), h: np.ones(2)})


def test_nothing_is_computed_in_zero_steps() -> None:
    i, x = T.lvector("i"), T.vector("x", "float64")
    out, _ = scan(lambda i: x[i], i)
    assert interpret(out, {i: np.zeros(0, int), x: np.ones(0)}).shape == (0,)
    with pytest.raises(IndexError):
        interpret(out, {i: np.zeros(1, int), x: np.ones(0)})


# Checks at run time


def test_requirements_of_loops_that_nothing_shortens() -> None:
    x, n = T.vector("x", "float64"), T.lscalar("n")
    out, _ = scan(lambda x, h: h + x, x, outputs_info=0.0, n_steps=n)
    assert interpret(out, {x: np.ones(3), n: 3})[-1] == 3
    for bad in (4, -4):
        with pytest.raises(ValueError, match=r"n_steps is 4.*test_interpret\.py"):
            interpret(out, {x: np.ones(3), n: bad})


def test_requirements_of_nested_loops() -> None:
    x, ns = T.vector("x", "float64"), T.lvector("ns")
    out, _ = scan(lambda n: scan(lambda x: x, x, n_steps=n)[0].sum(), ns)
    np.testing.assert_array_equal(interpret(out, {x: np.ones(3), ns: [3, 0, 1]}), [3, 0, 1])
    with pytest.raises(ValueError, match="has 3 rows but n_steps is 4"):
        interpret(out, {x: np.ones(3), ns: [3, 4]})


def test_require() -> None:
    a, b = T.lvector("a"), T.lscalar("b")
    checked = require(a, b, "{found} is less than {expected}", error="IndexError")
    np.testing.assert_array_equal(interpret(checked, {a: [3, 4], b: 3}), [3, 4])
    with pytest.raises(IndexError, match="2 is less than 3"):
        interpret(checked, {a: [4, 2, 1], b: 3})
    assert checked.owner is not None
    with pytest.raises(ValueError, match="unknown relation"):
        require(a, b, "", relation="almost")


def test_braces_in_names_are_only_braces() -> None:
    x, n = T.vector("x{0}", "float64"), T.lscalar("n{found}")
    out, _ = scan(lambda x: x, x, n_steps=n)
    with pytest.raises(ValueError, match=r"\('x\{0\}'\) has 1 rows but n_steps is 2"):
        interpret(out, {x: [1.0], n: 2})
    last, _ = loop(lambda c, _: (2 * c, None), 1.0, length=n)
    with pytest.raises(ValueError, match=r"length \('n\{found\}'\) is -1"):
        interpret(last, {n: -1})


# Long double


def test_extended_precision() -> None:
    x, h = T.vector("x", "float32"), T.scalar("h", "float64")
    third, _ = scan(lambda x, h: h + x / 3, x, outputs_info=h)
    value = interpret(third, {x: [1.0, 1.0], h: 0.0}, extended=True)
    assert value.dtype == np.longdouble
    assert value[0] == np.longdouble(1) / 3
    cast = interpret(x.astype("float64").astype("float32"), {x: [0.5]}, extended=True)
    assert cast.dtype == np.longdouble
    empty = interpret(third, {x: [], h: 0.0}, extended=True)
    assert (empty.shape, empty.dtype) == ((0,), np.longdouble)


def test_extended_precision_of_no_steps() -> None:
    """The shapes of no rows are found without running the step, whatever its operators say of dtypes."""
    x, h = T.matrix("x", "float64"), T.vector("h", "float64")
    rows, _ = scan(lambda x, h: T.set_subtensor(T.ones((3,), dtype="float64")[:2], h * x), x, non_sequences=h)
    empty = interpret(rows, {x: np.ones((0, 2)), h: np.ones(2)}, extended=True)
    assert (empty.shape, empty.dtype) == ((0, 3), np.longdouble)


def test_extended_leaves_integers_alone() -> None:
    i = T.lvector("i")
    assert interpret(i // 2, {i: [5]}, extended=True).dtype == np.int64
    assert interpret(i / 2, {i: [5]}, extended=True).dtype == np.longdouble


# Shapes without values


def test_abstract_values() -> None:
    x = Operand("float64", (None, 4))
    assert abstract_eval(Op.make("shape_i", axis=0), [x]).value is None
    n = abstract_eval(Op.make("shape_i", axis=1), [x])
    assert n.value == 4
    assert abstract_eval(Op.make("multiply"), [n, concrete(np.int64(2))]).value == 8
    with pytest.raises(ValueError, match="broadcast"):
        abstract_eval(Op.make("add"), [x, Operand("float64", (3,))])


def test_large_values_are_not_computed() -> None:
    big = concrete(np.ones(1000))
    assert abstract_eval(Op.make("exp"), [big]) == Operand("float64", (1000,))
