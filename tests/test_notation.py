"""How terms of laws are written, and printed."""

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.array.op import Op as Operator
from scanopt.calculus.law import Equation, law, standard_laws
from scanopt.calculus.terms import (
    Args,
    Clock,
    Int,
    Op,
    Term,
    Value,
    apply,
    const_at,
    const_int,
    delay,
    hold,
    ops,
    prim,
    seq,
    stack,
    steps,
    variable,
    vmap,
)
from scanopt.calculus.terms import args as args_of
from scanopt.facts.values import less

c, x, y, W = variable(Clock, "c"), variable(Value, "x"), variable(Value, "y"), variable(Value, "W")
op, k, args = variable(Op, "op"), variable(Int, "k"), variable(Args, "args")


@pytest.mark.parametrize(
    ("written", "meant", "text"),
    [
        (x + y, apply(ops.add, x, y), "x + y"),
        (x - y, apply(ops.subtract, x, y), "x - y"),
        (x * y + x, apply(ops.add, apply(ops.multiply, x, y), x), "(x * y) + x"),
        (x / y, apply(ops.divide, x, y), "x / y"),
        (x**y, apply(ops.power, x, y), "x ** y"),
        (x @ W, apply(ops.matmul, x, W), "x @ W"),
        (-(x + y), apply(ops.negative, apply(ops.add, x, y)), "-(x + y)"),
        (ops.exp(x), apply(ops.exp, x), "exp(x)"),
        (ops.maximum(x + y, x), apply(ops.maximum, x + y, x), "maximum(x + y, x)"),
        (ops.concatenate(x, y, axis=0), apply(ops("concatenate", axis=0), x, y), "concatenate(x, y, axis=0)"),
        (ops("fold", ufunc="add")(x, y), apply(ops("fold", ufunc="add"), x, y), "fold(x, y, ufunc='add')"),
        (op(x, y), apply(op, x, y), "op(x, y)"),
        (op(args), apply(op, args), "op(*args)"),
        (ops.stack(args, axis=0), apply(ops("stack", axis=0), args), "stack(*args, axis=0)"),
        (vmap(op, "10")(x, y), apply(vmap(op, "10"), x, y), "vmap(op, 10)(x, y)"),
        (x[0], apply(ops("getitem", index=(0,)), x), "x[0]"),
        ((x + y)[-1], apply(ops("getitem", index=(-1,)), x + y), "(x + y)[-1]"),
        (x[k + 1], apply(ops("getitem", index=(k + 1,)), x), "x[k+1]"),
        (stack(c, x)[-k:], apply(ops("getitem", index=(("slice", -k, None, None),)), stack(c, x)), "stack(c, x)[-k:]"),
        (x[:k], apply(ops("getitem", index=(("slice", None, k, None),)), x), "x[:k]"),
        (ops.sum(x, axis=(k,), keepdims=False), apply(ops("sum", axis=(k,), keepdims=False), x), "sum(x, axis=k)"),
        (x[:y], apply(ops("getitem", index=[["slice", None, "in", None]]), x, y), "x[:y]"),
        (x[::-1], apply(ops("getitem", index=[["slice", None, None, -1]]), x), "x[::-1]"),
        (x[1:y:2], apply(ops("getitem", index=[["slice", 1, "in", 2]]), x, y), "x[1:y:2]"),
        (x[y], apply(ops("getitem", index=["in"]), x, y), "x[y]"),
        (x.shape[1], apply(ops("shape_i", axis=1), x), "x.shape[1]"),
        (seq(c, x * y), seq(c, x * y), "seq(c, x * y)"),
        (hold(c, x) * steps(c), apply(ops.multiply, hold(c, x), steps(c)), "hold(c, x) * steps(c)"),
        (delay(c, x, variable(Term, "s"), k), delay(c, x, variable(Term, "s"), k), "delay(c, x, s, k)"),  # type: ignore[arg-type]
        ((-x) ** y, apply(ops.power, apply(ops.negative, x), y), "(-x) ** y"),
        (ops.add(x, args), apply(ops.add, args_of(x, args)), "add(x, *args)"),
        (x * const_int(k + 1), apply(ops.multiply, x, const_int(k + 1)), "x * (k+1)"),
        (
            ops("fold", ufunc="add")(x, y, ufunc="multiply"),
            apply(ops("fold", ufunc="multiply"), x, y),
            "fold(x, y, ufunc='multiply')",
        ),
        (const_int(2), const_int(2), "2"),
        (const_int(k), const_int(k), "k"),
        (const_at(c, "float64:0x1.8000000000000p+0"), const_at(c, "float64:0x1.8000000000000p+0"), "1.5"),
    ],
    ids=lambda t: t if isinstance(t, str) else "",
)
def test_terms_are_written_and_printed_like_programs(written: Value, meant: Value, text: str) -> None:
    assert written == meant
    assert str(written) == text


def test_operators_are_those_of_the_table() -> None:
    assert ops.tanh == ops("tanh")
    with pytest.raises(AttributeError, match="no operator named 'tanhh' in the table; near: tanh"):
        _ = ops.tanhh
    with pytest.raises(ValueError, match="no operator named 'sim' in the table"):
        ops("sim", axis=(0,))
    with pytest.raises(ValueError, match="axes"):
        ops.concatenate(x, y, axes=0)
    with pytest.raises(TypeError, match="op takes no parameters: only an operator of the table does, found axis"):
        op(x, axis=0)


def test_what_is_no_value_is_refused() -> None:
    with pytest.raises(TypeError, match=r"expected a Value beside x, found 1.0: .* neutral\(op, e, d\)"):
        x + 1.0  # type: ignore[operator]
    with pytest.raises(TypeError, match=r"expected a Value beside x, found 2"):
        2 * x  # type: ignore[operator]
    for wrong in (True, slice(None, "k"), slice(1.5, None)):
        with pytest.raises(TypeError, match=r"no bool|takes Values, Ints and ints"):
            _ = x[wrong]
    for listed in (x, x.shape):
        with pytest.raises(TypeError, match="not iterable"):
            _ = [*listed]  # type: ignore[misc]
    with pytest.raises(TypeError, match="indexes by a Value, an Int, an int or a slice of these, found 'a'"):
        x["a"]  # type: ignore[index]


@pytest.mark.parametrize(("name", "told"), [("nosuch", "no operator named 'nosuch'"), ("getitem", "index")])
def test_a_law_names_operators_that_there_are(name: str, told: str) -> None:
    def wrong(x: Value) -> Equation:
        return Equation(prim(Operator(name))(x), x)

    with pytest.raises(ValueError, match=f"law wrong: .*{told}"):
        law(licence="exact", example=())(wrong)


def test_no_formula_shows_how_operators_are_stored() -> None:
    for one in standard_laws():
        text = " ".join([one.formula, *one.conditions])
        assert "apply(" not in text
        assert '{"' not in text


def test_parameters_of_operators_are_matched_and_built() -> None:
    """Patterns speak of an axis, or of where a slice begins: operators are terms of the e-graph."""

    def sum_of_sum(x: Value, j: Int, k: Int) -> Equation:
        sums = ops.sum(ops.sum(x, axis=(k,), keepdims=False), axis=(j,), keepdims=False)
        return Equation(sums, ops.sum(x, axis=(j, k), keepdims=False), when=[less(j, k)])

    def rows_of_rows(x: Value, j: Int, k: Int) -> Equation:
        return Equation(x[j:][k:], x[j + k :])

    first = law(licence="reassoc", example=(), never=())(sum_of_sum)
    second = law(licence="exact", example=(), never=())(rows_of_rows)
    assert first.formula == "sum(sum(x, axis=k), axis=j) = sum(x, axis=(j, k))"
    assert second.formula == "x[j:][k:] = x[j+k:]"
    v = T.tensor3("v")
    f = scanopt.function([v], v.sum(axis=2).sum(axis=0), rules=[first])
    g = scanopt.function([v], v.sum(axis=0).sum(axis=1), rules=[first])  # axis 1 of what is left is axis 2
    assert f.laws["sum_of_sum"] == 1
    assert "sum_of_sum" not in g.laws
    value = np.arange(24.0, dtype=v.dtype).reshape(2, 3, 4)
    np.testing.assert_allclose(f(value), value.sum((0, 2)))
    without = [x.name for x in standard_laws() if x.ruleset == "parts"]
    h = scanopt.function([v], v[1:][2:] * 2, rules=[second], exclude=without)
    assert h.laws["rows_of_rows"] == 1
    assert "v[3:]" in str(h.program)
