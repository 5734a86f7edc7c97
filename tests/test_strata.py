"""Rules that cannot fire are left out, and facts run in an order: nothing that follows from all of them is missed."""

from collections.abc import Collection

import pytest

from scanopt.calculus.law import Law, standard_laws
from scanopt.egraph.encode import encode
from scanopt.egraph.rulebook import ALL_FACTS, rulesets_of
from scanopt.egraph.session import EGraph
from scanopt.egraph.strata import Rules, Stratum, made_by, rules_of, strata
from scanopt.lab.attacked_program import build

CHAIN = """
(relation a (i64)) (relation b (i64)) (relation c (i64)) (relation d (i64))
(rule ((a x)) ((b x)) :ruleset one)
(rule ((c x)) ((b (+ x 1))) :ruleset two)
(rule ((b x) (< x 9)) ((c x)) :ruleset three)
(rule ((c x) (d y)) ((a x)) :ruleset four)
(rule ((c x)) ((union x x)) :ruleset five)
"""


def orders(rules: list[str]) -> tuple[Stratum, ...]:
    return in_order(CHAIN, rules)


def in_order(text: str, rulesets: Collection[str]) -> tuple[Stratum, ...]:
    rules = Rules(rules_of(text))
    return strata(rules, frozenset(n for n, x in enumerate(rules.all) if x.ruleset in rulesets))


def test_rules_run_after_what_they_read_and_together_where_they_feed_one_another() -> None:
    assert orders(["one", "two", "three"]) == (Stratum(("one",), False), Stratum(("two", "three"), True))
    assert orders(["one", "three"]) == (Stratum(("one",), False), Stratum(("three",), False))
    assert orders(["two", "three", "four"]) == (Stratum(("two", "three"), True), Stratum(("four",), False))


def test_a_rule_that_unites_changes_all_tables() -> None:
    assert orders(["one", "three", "five"]) == (Stratum(("one", "three", "five"), True),)


def test_a_rule_that_hides_rows_runs_before_others_read_them() -> None:
    hiding = "(rule ((a x)) ((subsume (c x))) :ruleset hiding)"
    order = in_order(CHAIN + hiding, ("four", "hiding"))
    assert order[0].rulesets == ("four", "hiding") or order[0].rulesets == ("hiding",)


def test_rules_fire_where_all_that_they_read_is_there() -> None:
    rules = Rules(rules_of(CHAIN))
    assert [x.ruleset for x in rules.fireable(["a"])] == ["one", "two", "three", "five"]
    assert [x.ruleset for x in rules.fireable(["d"])] == []
    assert len(rules.fireable(["a", "d"])) == 5


def test_operators_are_told_apart() -> None:
    text = '(relation f (i64)) (rule ((= x (prim "exp"))) ((f 0)) :ruleset r) (rule ((f 0)) ((prim "log")) :ruleset s)'
    rules = Rules(rules_of(text, ["prim"]))
    assert not rules.fireable(["prim", 'prim "log"'])
    assert len(rules.fireable(['prim "exp"'])) == 2
    assert made_by('(union (g) (prim "exp"))', ["prim", "g"]) == {"g", "prim", 'prim "exp"'}


@pytest.mark.share(6)
@pytest.mark.parametrize("law", standard_laws()[::6], ids=lambda x: x.name)
def test_nothing_that_follows_is_missed(law: Law) -> None:
    """After the facts of each round all facts, and after all rounds all laws, have nothing new to say."""
    laws = standard_laws()
    engine = EGraph(encode(*build(law.example[0])), laws)
    names, rulesets = frozenset(x.name for x in laws), rulesets_of(laws)[0].values()
    try:
        engine.state(f"(unstable-combined-ruleset everything {ALL_FACTS} {' '.join(rulesets)})")  # loads all rules
        changed = True
        while changed and engine.size() < 300:
            while engine.round(frozenset()).changed:  # facts have brought operators, of which more is told
                pass
            assert not engine.run(ALL_FACTS).changed
            changed = engine.round(names).changed
        assert changed or not any(engine.run(ruleset).changed for ruleset in rulesets)
    finally:
        engine.close()
