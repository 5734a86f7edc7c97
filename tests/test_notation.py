"""How terms of laws are written, and printed."""

import pytest

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
    item,
    length,
    ops,
    prim,
    seq,
    stack,
    steps,
    variable,
    vmap,
)
from scanopt.calculus.terms import args as args_of

c, x, y, W = variable(Clock, "c"), variable(Value, "x"), variable(Value, "y"), variable(Value, "W")
op, k, args = variable(Op, "op"), variable(Int, "k"), variable(Args, "args")


@pytest.mark.parametrize(
    ("written", "meant", "text"),
    [
        (x + y, apply(prim("add"), x, y), "x + y"),
        (x - y, apply(prim("subtract"), x, y), "x - y"),
        (x * y + x, apply(prim("add"), apply(prim("multiply"), x, y), x), "(x * y) + x"),
        (x / y, apply(prim("divide"), x, y), "x / y"),
        (x**y, apply(prim("power"), x, y), "x ** y"),
        (x @ W, apply(prim("matmul"), x, W), "x @ W"),
        (-(x + y), apply(prim("negative"), apply(prim("add"), x, y)), "-(x + y)"),
        (ops.exp(x), apply(prim("exp"), x), "exp(x)"),
        (ops.maximum(x + y, x), apply(prim("maximum"), x + y, x), "maximum(x + y, x)"),
        (ops.concatenate(x, y, axis=0), apply(prim('concatenate{"axis":0}'), x, y), "concatenate(x, y, axis=0)"),
        (ops("fold", ufunc="add")(x, y), apply(prim('fold{"ufunc":"add"}'), x, y), "fold(x, y, ufunc='add')"),
        (op(x, y), apply(op, x, y), "op(x, y)"),
        (op(args), apply(op, args), "op(*args)"),
        (ops.stack(args, axis=0), apply(prim('stack{"axis":0}'), args), "stack(*args, axis=0)"),
        (vmap(op, "10")(x, y), apply(vmap(op, "10"), x, y), "vmap(op, 10)(x, y)"),
        (x[0], apply(item(0), x), "x[0]"),
        ((x + y)[-1], apply(item(-1), x + y), "(x + y)[-1]"),
        (x[k + 1], apply(item(k + 1), x), "x[k+1]"),
        (stack(c, x)[-k:], Value("apply", (Op("last_rows", (k,)), args_of(stack(c, x)))), "stack(c, x)[-k:]"),
        (x[:y], apply(prim('getitem{"index":[["slice",null,"in",null]]}'), x, y), "x[:y]"),
        (x[::-1], apply(prim('getitem{"index":[["slice",null,null,-1]]}'), x), "x[::-1]"),
        (x[1:y:2], apply(prim('getitem{"index":[["slice",1,"in",2]]}'), x, y), "x[1:y:2]"),
        (x[y], apply(prim('getitem{"index":["in"]}'), x, y), "x[y]"),
        (x.shape[1], apply(length(1), x), "x.shape[1]"),
        (seq(c, x * y), seq(c, x * y), "seq(c, x * y)"),
        (hold(c, x) * steps(c), apply(prim("multiply"), hold(c, x), steps(c)), "hold(c, x) * steps(c)"),
        (delay(c, x, variable(Term, "s"), k), delay(c, x, variable(Term, "s"), k), "delay(c, x, s, k)"),  # type: ignore[arg-type]
        ((-x) ** y, apply(prim("power"), apply(prim("negative"), x), y), "(-x) ** y"),
        (ops.add(x, args), apply(prim("add"), args_of(x, args)), "add(x, *args)"),
        (x * const_int(k + 1), apply(prim("multiply"), x, const_int(k + 1)), "x * (k+1)"),
        (
            ops("fold", ufunc="add")(x, y, ufunc="multiply"),
            apply(prim('fold{"ufunc":"multiply"}'), x, y),
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
    assert ops.tanh == prim("tanh")
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
    for wrong in (True, slice(None, k), slice(k, None)):
        with pytest.raises(TypeError, match=r"no bool|takes Values and ints"):
            _ = x[wrong]
    for listed in (x, x.shape):
        with pytest.raises(TypeError, match="not iterable"):
            _ = [*listed]  # type: ignore[misc]
    with pytest.raises(TypeError, match="indexes by a Value, an Int, an int or a slice of these, found 'a'"):
        x["a"]  # type: ignore[index]


@pytest.mark.parametrize(("key", "told"), [("nosuch", "no operator named 'nosuch'"), ("getitem", "index")])
def test_a_law_names_operators_that_there_are(key: str, told: str) -> None:
    def wrong(x: Value) -> Equation:
        return Equation(prim(key)(x), x)

    with pytest.raises(ValueError, match=f"law wrong: .*{told}"):
        law(licence="exact", example=())(wrong)


def test_no_formula_shows_how_operators_are_stored() -> None:
    for one in standard_laws():
        text = " ".join([one.formula, *one.conditions])
        assert "apply(" not in text
        assert '{"' not in text
