"""The options of scanopt.function that steer optimization: exclude, rules, cost, example, fp."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, Law, select, standard_laws
from scanopt.calculus.terms import Value, ops
from scanopt.compilation.compiled_function import Function
from scanopt.extraction.cost import Work
from scanopt.lab.attacked_program import build


def decay(n_steps: Any = None) -> tuple[list[Any], Any]:
    """Inputs and all states of h[t] = tanh(h[t-1]) * exp(w) + x[t]."""
    x, w = T.dvectors("x", "w")
    step = lambda v, h, w: T.tanh(h) * T.exp(w) + v  # noqa: E731
    h, _ = scanopt.scan(step, x, T.zeros_like(w), w, n_steps=n_steps)
    return [x, w], h


VALUES = [np.arange(4.0), np.array([0.5, -0.5, 0.0])]


def examples(ruleset: str) -> Iterable[tuple[Law, Any]]:
    return ((x, p) for x in standard_laws() if x.ruleset == ruleset for p in x.example)


@pytest.mark.share(6)
@pytest.mark.parametrize("ruleset", sorted({x.ruleset for x in standard_laws()}))
def test_rulesets_can_be_left_out(ruleset: str, request: pytest.FixtureRequest) -> None:
    if ruleset != "eight_steps":  # which is for kernels; these do as well without some others
        request.getfixturevalue("priced_as_array_steps")
    names = {x.name for x in standard_laws() if x.ruleset == ruleset}
    fired, differs = set[str](), False
    for n, (law, program) in enumerate(examples(ruleset)):
        if n >= 2 and fired & names and differs:
            break
        inputs, outputs = build(program)
        fp = "fast" if law.licence == "fast" else "reassoc"
        with_it, without = (
            scanopt.function(inputs, outputs, exclude=x, fp=fp, on_unused_input="ignore") for x in ([], [ruleset])
        )
        fired |= with_it.laws.keys()
        assert not without.laws.keys() & names
        assert with_it.cost <= without.cost * (1 + 1e-9)
        differs |= str(with_it.program) != str(without.program)
    assert fired & names
    assert differs


@pytest.mark.share(3)
@pytest.mark.parametrize("law", standard_laws(), ids=lambda x: x.name)
def test_each_law_can_be_left_out(law: Law) -> None:
    left = select("fast", exclude=[law.name])
    assert [x for x in standard_laws() if x not in left] == [law]


@pytest.mark.parametrize("name", ["row_from_the_end", "invariant_of_loop"])
def test_a_law_can_be_left_out(name: str) -> None:
    inputs, h = decay()
    f, g = scanopt.function(inputs, h[-1]), scanopt.function(inputs, h[-1], exclude=[name])
    assert name in f.laws
    assert name not in g.laws
    assert name not in {x.name for x in g.rules}
    assert f.cost < g.cost
    np.testing.assert_allclose(f(*VALUES), g(*VALUES))


@pytest.mark.share(6)
@pytest.mark.parametrize("law", standard_laws()[::3], ids=lambda x: x.name)
def test_laws_can_be_left_out_of_their_own_examples(law: Law) -> None:
    """Also where a law keeps others from growing for ever: the limits do so then."""
    inputs, outputs = build(law.example[0])
    f = scanopt.function(inputs, outputs, exclude=[law.name], on_unused_input="ignore")
    assert law.name not in f.laws
    assert f.report.saturated or f.report.stopped_by == "nodes"
    assert f.report.enodes < 20_000


def test_leaving_everything_out_leaves_the_program_as_written() -> None:
    inputs, h = decay()
    f = scanopt.function(inputs, h[-1], exclude={x.ruleset for x in standard_laws()})
    assert str(f.program) == str(f.initial)
    np.testing.assert_allclose(f(*VALUES), f.unoptimized(*VALUES))


@scanopt.law(licence="fast", example=lambda x, y: T.exp(x) * T.exp(y), never=lambda x, y: T.exp(x) * y)
def product_of_exponentials(x: Value, y: Value) -> Equation:
    """One exponential in place of two."""
    exp, add, multiply = ops.exp, ops.add, ops.multiply
    return Equation(multiply(exp(x), exp(y)), exp(add(x, y)))


def test_rules_from_outside() -> None:
    x, y = T.dvectors("x", "y")
    z = T.exp(x) * T.exp(y)

    def compiled(**options: Any) -> Function:
        return scanopt.function([x, y], z, **options)

    f = compiled(fp="fast", rules=[product_of_exponentials])
    assert str(f.program).count("exp(") == 1
    assert f.laws == {"product_of_exponentials": 1}
    assert "One exponential in place of two." in str(f.explain())
    assert f.explain().steps[0].licence == "fast"
    np.testing.assert_allclose(f([1.0], [2.0]), np.exp(3))
    for options in (
        {"rules": [product_of_exponentials]},  # the default licence does not take it
        {"fp": "fast"},
        {"fp": "fast", "rules": [product_of_exponentials], "exclude": ["product_of_exponentials"]},
        {"fp": "fast", "rules": [product_of_exponentials], "exclude": [product_of_exponentials.ruleset]},
    ):
        assert str(compiled(**options).program).count("exp(") == 2, options


def test_a_cost_model_decides() -> None:
    inputs, h = decay()
    seen: list[Work] = []

    def no_exponential_outside(work: Work) -> float:
        seen.append(work)
        outside = work.op is not None and work.op.name == "exp"
        return 1e6 if outside else 1.0

    plain = scanopt.function(inputs, h[-1])
    other = scanopt.function(inputs, h[-1], cost=lambda work: 1e6 if work.kind == "tail" else 1.0)
    asked = scanopt.function(inputs, h[-1], cost=no_exponential_outside)
    assert "last row" in str(plain.program)
    assert "last row" not in str(other.program)
    assert asked.report.unit == ""
    assert plain.report.unit == "ns"
    assert {w.kind for w in seen} >= {"apply", "seq", "delay", "hold", "loop", "step", "tail", "stack"}
    assert {w.op.name for w in seen if w.op is not None} >= {"exp", "tanh", "add", "multiply"}
    for f in (plain, other, asked):
        np.testing.assert_allclose(f(*VALUES), f.unoptimized(*VALUES))


def test_an_example_gives_the_sizes() -> None:
    inputs, h = decay()
    few, many = (scanopt.function(inputs, h[-1], example=[np.ones(n), np.ones(3)]) for n in (2, 2000))
    none = scanopt.function(inputs, h[-1])
    assert many.cost > 100 * few.cost
    assert few.report.sizes == {"x": "float64[2] (of the example)", "w": "float64[3] (of the example)"}
    assert none.report.sizes == {"x": "float64[64] (assumed)", "w": "float64[64] (assumed)"}
    assert few.example is not None
    assert none.example is None


def test_sizes_say_where_they_come_from() -> None:
    x, k = T.TensorType("float64", (3,))("x"), T.lscalar("k")
    s = scanopt.shared(np.ones((2, 3)), "s")
    f = scanopt.function([x, k], x * k + s)
    assert f.report.sizes == {
        "x": "float64[3] (static)", "k": "int64[] = 64 (assumed)", "s": "float64[2, 3] (its value)",
    }  # fmt: skip


def test_exact_means_bit_for_bit() -> None:
    X, W = T.dmatrices("X", "W")
    rows, _ = scanopt.map(lambda x, w: T.tanh(T.dot(x, w)), X, [W])
    exact, default = (scanopt.function([X, W], rows, fp=fp) for fp in ("exact", "reassoc"))
    assert "loop" in str(exact.program)
    assert "loop" not in str(default.program)
    rng = np.random.default_rng(0)
    values = rng.standard_normal((7, 33)), rng.standard_normal((33, 5))
    np.testing.assert_array_equal(exact(*values), exact.unoptimized(*values))
    np.testing.assert_allclose(default(*values), default.unoptimized(*values), rtol=1e-12)
