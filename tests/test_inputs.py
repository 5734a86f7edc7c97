"""Inputs of functions: default values, names, conversions; dicts of outputs; updates."""

from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt import In

MODES = pytest.mark.parametrize("mode", [None, "unoptimized"])


# ---- default values and names ----


@MODES
def test_default_values(mode: str | None) -> None:
    x, y, z = T.dscalar("x"), T.dscalar("y"), T.dvector("z")
    f = scanopt.function([x, (y, 10), In(z, value=[1, 2])], x + y + z, mode=mode)
    assert f(1).tolist() == [12, 13]
    assert f(1, 0).tolist() == f(y=0, x=1).tolist() == [2, 3]
    assert f(1, z=[0]).tolist() == [11]
    for wrong in (lambda: f(), lambda: f(y=1)):
        with pytest.raises(TypeError, match="missing a value for its input 'x'"):
            wrong()


def test_default_values_are_copied_unless_borrowed() -> None:
    x, given = T.dvector("x"), np.ones(2)
    own, borrowed = (scanopt.function([In(x, value=given, borrow=b)], x * 1) for b in (False, True))
    given[:] = 3
    assert [own().tolist(), borrowed().tolist()] == [[1, 1], [3, 3]]


@MODES
def test_default_values_that_change(mode: str | None) -> None:
    """The accumulator of Theano's tutorial, without a shared variable."""
    x, total = T.dscalars("x", "total")
    f = scanopt.function([x, In(total, value=0, update=total + x)], total + x, mode=mode)
    assert [float(f(1)), float(f(2)), float(f(1, total=10)), float(f(1))] == [1, 3, 11, 12]
    assert float(f.unoptimized(5)) == float(f.as_written(5)) == 17
    assert float(f.copy(delete_updates=True)(5)) == 17


def test_names_for_keywords() -> None:
    x, y = T.dscalar("x"), T.dscalar()
    f = scanopt.function([In(x, name="left"), In(y, name="right")], x - y)
    assert f(right=1, left=3) == 2
    with pytest.raises(TypeError, match="no input named 'x'"):
        f(1, x=2)
    with pytest.raises(TypeError, match="missing a value for its input 'right'"):
        f(1)


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda x: [(x, "one")], TypeError, r"default value of inputs\[0\]: .*'one'"),
        (lambda x: [(x, [1, 2])], TypeError, r"default value of inputs\[0\]: 'x' float64\[\] needs 0 axes"),
        (lambda x: [(x, x + 1)], TypeError, r"default value of inputs\[0\] is symbolic"),
        (lambda x: [In(x, update=x + 1)], ValueError, "update, but no value to start from"),
        (lambda x: [In(x, value=1, update=T.arange(3))], TypeError, "update of inputs.*another type"),
        (lambda x: [In(x, value=1, update="x")], TypeError, "update of inputs.*'x'"),
        (lambda x: [In(x, name=3)], TypeError, r"name of inputs\[0\]"),
        (lambda x: [In(x, strict=2)], TypeError, r"strict of inputs\[0\]"),
        (lambda x: [In(3)], TypeError, r"inputs\[0\] must be a symbolic array"),
        (lambda x: [In(x), x], ValueError, "lists 'x' float64.* twice"),
        (lambda x: In(x), TypeError, "must be a list"),
    ],
)
def test_inputs_are_checked(make: Any, kind: type[Exception], text: str) -> None:
    x = T.dscalar("x")
    with pytest.raises(kind, match=text):
        scanopt.function(make(x), x + 1)


# ---- conversions ----

TENTH, THIRD = 0.1, [0.5, 1 / 3]


@MODES
@pytest.mark.parametrize(
    ("allow", "value", "accepted"),
    [
        (None, TENTH, True), (None, np.float64(TENTH), False), (None, np.array(TENTH), False),
        (False, TENTH, False), (False, 0.5, True), (False, float("nan"), True), (False, np.float64(0.5), False),
        (False, 2, True), (False, 2**24 + 1, False), (False, np.float16(0.1), True),
        (True, TENTH, True), (True, np.float64(TENTH), True), (True, 2**24 + 1, True), (True, 1j, False),
    ],
)  # fmt: skip
def test_three_values_of_allow_input_downcast(allow: bool | None, value: Any, accepted: bool, mode: str | None) -> None:
    x = T.fscalar("x")
    one = scanopt.function([x], x, allow_input_downcast=allow, mode=mode)
    two = scanopt.function([In(x, allow_downcast=allow)], x, allow_input_downcast=not allow, mode=mode)
    for f in (one, two) if allow is not None else (one,):
        if accepted:
            result = f(value)
            assert result.dtype == "float32"
            np.testing.assert_array_equal(result, np.float32(value))
        else:
            with pytest.raises(TypeError, match="'x' float32"):
                f(value)


def test_downcasts_of_arrays_and_lists() -> None:
    x, n = T.fvector("x"), T.TensorType("int8", (None,))("n")
    default, never, always = (
        scanopt.function([x, n], [x, n], allow_input_downcast=allow) for allow in (None, False, True)
    )
    assert default(THIRD, [1])[0].tolist() == np.float32(THIRD).tolist()
    with pytest.raises(TypeError, match="does not hold exactly"):
        never(THIRD, [1])
    assert never([0.5], [1])[0].tolist() == [0.5]
    assert [r.tolist() for r in always(np.array(THIRD), [1.9, -3.0])] == [np.float32(THIRD).tolist(), [1, -3]]
    for f in (default, never):
        with pytest.raises(TypeError, match="'n' int8"):
            f([0.5], [300])


@MODES
def test_strict_inputs_take_their_dtype_only(mode: str | None) -> None:
    x = T.dvector("x")
    f = scanopt.function([In(x, strict=True)], x, mode=mode)
    assert f(np.ones(1)).tolist() == [1]
    for value in ([1.0], np.ones(1, "float32"), 1.0, np.ones(1, int)):
        with pytest.raises(TypeError, match=r"'x' float64.* is strict"):
            f(value)
    with pytest.raises(TypeError, match="needs 1 axis"):
        f(np.float64(1))


@pytest.mark.parametrize("what", ["raise", "warn", "ignore"])
def test_inputs_that_nothing_uses(what: str) -> None:
    x, y = T.dscalars("x", "y")
    if what == "raise":
        with pytest.raises(ValueError, match="do not use 'y'"):
            scanopt.function([x, y], x, on_unused_input=what)
        return
    if what == "warn":
        with pytest.warns(UserWarning, match="do not use 'y'"):
            f = scanopt.function([x, (y, 1)], x, on_unused_input=what)
    else:
        f = scanopt.function([x, (y, 1)], x, on_unused_input=what)
    assert f(2) == f(2, 3) == 2


# ---- outputs and updates ----


@MODES
def test_dicts_of_outputs(mode: str | None) -> None:
    x = T.dvector("x")
    f = scanopt.function([x], {"z": x + 1, "a": x.sum(), "m": 2.0}, mode=mode)
    for call in (f, f.unoptimized, f.as_written):
        found = call([1.0, 2.0])
        assert list(found) == ["z", "a", "m"]
        assert [v.tolist() for v in found.values()] == [[2, 3], 3, 2]
    assert scanopt.function([], {}, mode=mode)() == {}
    with pytest.raises(TypeError, match="must be strings, found 1"):
        scanopt.function([x], {1: x})
    with pytest.raises(TypeError, match=r"outputs\['bad'\] must be a symbolic array"):
        scanopt.function([x], {"bad": object()})


@MODES
def test_updates_are_simultaneous(mode: str | None) -> None:
    a, b, c = (scanopt.shared(float(i), name) for i, name in ((1, "a"), (2, "b"), (3, "c")))
    f = scanopt.function([], [a, b, c], updates=[(a, b + c), (b, a * c), (c, a - b)], mode=mode)
    assert [float(v) for v in f()] == [1, 2, 3]
    assert [v.get_value().item() for v in (a, b, c)] == [5, 3, -1]
    f()
    assert [v.get_value().item() for v in (a, b, c)] == [2, -5, 2]


def test_updates_by_numbers_take_the_dtype() -> None:
    n = scanopt.shared(np.float32(5), "n")
    scanopt.function([], updates={n: 0})()
    assert (n.get_value(), n.get_value().dtype) == (0, "float32")
    with pytest.raises(TypeError, match="another type"):
        scanopt.function([], updates={n: np.zeros(())})


def test_updates_twice_are_refused() -> None:
    n = scanopt.shared(0, "n")
    with pytest.raises(ValueError, match=r"'n' int64.* twice"):
        scanopt.function([], updates=[(n, n + 1), (n, n + 2)])
