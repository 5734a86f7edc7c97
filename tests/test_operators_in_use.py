"""Facts are given of the operators that are applied in a program: its own, and those that laws have brought."""

import scanopt
import scanopt.tensor as T
from scanopt.array.op import Op
from scanopt.calculus.law import select, standard_laws
from scanopt.egraph.encode import encode
from scanopt.egraph.introduced import _rows_made
from scanopt.egraph.operators_in_use import name_of
from scanopt.egraph.rulebook import Same, rules_text
from scanopt.egraph.session import EGraph


def test_operators_that_rules_mention_have_the_names_by_which_they_are_told() -> None:
    text = rules_text()
    mentioned = [(op, name) for op, _, name in _rows_made(Same(standard_laws()))]
    assert len(mentioned) > 50
    for op, name in mentioned:
        assert f'(prim "{name}")' in text or f'(named (op_{name}) "{name}")' in text, op


def test_facts_are_given_of_operators_that_laws_have_brought_and_of_no_others() -> None:
    a, k = T.dvector("a"), T.lscalar("k")
    powers, _ = scanopt.scan(lambda p, a: p * a, outputs_info=T.ones_like(a), non_sequences=a, n_steps=k)
    engine = EGraph(encode([a, k], [powers[-1]]), select("reassoc"))
    try:
        engine.saturate()
        found, told = engine._loaded.introduced.operators, engine._engine.operators_in_use()
    finally:
        engine.close()
    backwards = Op.make("getitem", index=(("slice", None, None, -1),))
    assert Op.make("power") in found
    assert backwards not in found
    assert "power" in told
    assert name_of(backwards) not in told


def test_an_operator_that_is_applied_to_each_row_is_in_use() -> None:
    x = T.dmatrix("x")
    found, _ = scanopt.scan(lambda row: scanopt.map(lambda v: T.tanh(v) + v, row)[0], x)
    engine = EGraph(encode([x], [found]), select("reassoc"))
    try:
        engine.saturate()
        assert {"tanh", "add"} <= engine._engine.operators_in_use()
    finally:
        engine.close()
