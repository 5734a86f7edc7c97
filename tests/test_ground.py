"""What egglog is asked is answered right: see `scanopt.calculus.ground` for what it answers wrongly."""

import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest

from scanopt.calculus.ground import digest, with_named_operators, with_named_terms
from scanopt.calculus.syntax import node_text, parsed
from scanopt.egraph.engine import take
from scanopt.egraph.session import rules_text

SIGNATURES = {"a": "", "b": "", "n": "", "u": "T", "w": "T", "p": "TT", "q": "TT", "k": "I", "r": "IT"}
SORTS = {"T": "T", "I": "i64"}
DECLARED = "(sort T)" + "".join(
    f"(constructor {f} ({' '.join(SORTS[x] for x in xs)}) T)" for f, xs in SIGNATURES.items()
)

Tree = Any
"""A term as nested tuples; in patterns a text is a variable."""


@pytest.mark.parametrize("noted", [False, True])
def test_no_query_holds_a_compound_term_without_variables(noted: bool) -> None:
    for rule in parsed(rules_text(noted)):
        if rule[0] == "rule":
            named, _ = with_named_terms(" ".join(map(node_text, rule[1])), "$t")
            assert not named, rule[-1]


def test_equality_of_terms_without_variables() -> None:
    """egglog 13.2 finds these two equal, if it is asked for both terms at once."""
    op, inner = '(g "g" (two (number 0) (end)))', '(g "h" (end))'
    one, other = (f"(apply {op} (cons (apply {inner} (cons (a) (cons ({x}) (nil)))) (nil)))" for x in "ab")
    text = (
        "(sort V) (sort L) (sort P) (sort O) (constructor a () V) (constructor b () V) (constructor nil () L)"
        "(constructor cons (V L) L) (constructor g (String P) O) (constructor number (i64) P)"
        "(constructor two (P P) P) (constructor end () P) (constructor apply (O L) V)"
    )
    engine = take(text)
    engine.run(f"(a) (b) {one} {other}")
    assert not engine.holds(f"(= {one} {other})")
    engine.run("(union (a) (b))")
    assert engine.holds(f"(= {one} {other})")
    engine.close()


def test_names_stand_for_terms() -> None:
    rules = '(= v (apply (prim_with "f(k)" (int_param 1)) xs)) (= w (apply (prim_with "f(k)" (int_param k)) xs))'
    named = with_named_operators(rules, "own")
    name = "(own_" + digest('(prim_with "f(k)" (int_param 1))') + ")"
    assert f'(union {name} (prim_with "f(k)" (int_param 1)))' in named
    assert f'(= v (apply {name} xs)) (= w (apply (prim_with "f(k)" (int_param k)) xs))' in named
    name = "(own_" + digest('(vmap (prim "exp") "1")') + ")"
    assert with_named_operators('(= v (apply (vmap (prim "exp") "1") xs))', "own").endswith(f"(= v (apply {name} xs))")
    flags = "(pair_param (bool_param 0) (end_params))"
    named = with_named_operators(f'(= v (apply (prim_with "f(k, flag)" (pair_param (int_param k) {flags})) xs))', "own")
    assert f"(constructor own_{digest(flags)} () Param) (union (own_{digest(flags)}) {flags})" in named
    assert f"(pair_param (int_param k) (own_{digest(flags)}))" in named
    assert with_named_terms("(until (loop (f 1)) v)", "$t") == ("(let $t_0 (loop (f 1)))", "(until $t_0 v)")


# Random queries against a join that is as plain as can be


def _ground(rng: random.Random, depth: int) -> Tree:
    f = rng.choice([x for x, sorts in SIGNATURES.items() if depth or "T" not in sorts])
    return (f, *(_ground(rng, depth - 1) if sort == "T" else rng.choice((0, 1)) for sort in SIGNATURES[f]))


def _near(rng: random.Random, x: Tree) -> Tree:
    """The same with another part."""
    inner = [n for n, a in enumerate(x) if isinstance(a, tuple)]
    if not inner or rng.random() < 0.2:
        return _ground(rng, 1)
    n = rng.choice(inner)
    return (*x[:n], _near(rng, x[n]), *x[n + 1 :])


def _pattern(rng: random.Random, x: Tree, share: float) -> Tree:
    """A term with variables in place of some of its parts, and in each that holds others."""
    if rng.random() < share:
        return rng.choice("xyz")
    made = (
        x[0],
        *(_pattern(rng, a, share) if isinstance(a, tuple) else a if rng.random() < 0.8 else "i" for a in x[1:]),
    )
    ground = not _variables(made) and any(isinstance(a, tuple) for a in made)
    return rng.choice("xyz") if ground else made


def _variables(x: Tree) -> set[str]:
    return {x} if isinstance(x, str) else set().union(*map(_variables, x[1:])) if isinstance(x, tuple) else set()


def _parts(x: Tree) -> Iterator[Tree]:
    yield x
    for a in x[1:]:
        if isinstance(a, tuple):
            yield from _parts(a)


def _match(p: Tree, x: Tree, known: dict[str, Tree]) -> dict[str, Tree] | None:
    if isinstance(p, str):
        return known if known.setdefault(p, x) == x else None
    if not isinstance(p, tuple) or not isinstance(x, tuple):
        return known if p == x else None
    if p[0] != x[0]:
        return None
    for a, b in zip(p[1:], x[1:], strict=True):
        if _match(a, b, known) is None:
            return None
    return known


def _text(x: Tree) -> str:
    return f"({' '.join([x[0], *map(_text, x[1:])])})" if isinstance(x, tuple) else str(x)


def test_random_queries_find_what_a_plain_join_finds() -> None:
    for seed in range(150):
        rng = random.Random(seed)
        share = rng.choice((0.03, 0.1, 0.25))
        terms = [_ground(rng, 5)]
        terms += [_near(rng, terms[0]) for _ in range(rng.randint(1, 3))]
        every = sorted({part for t in terms for part in _parts(t)}, key=str)
        patterns = [(rng.choice("st"), _pattern(rng, rng.choice(terms), share)) for _ in range(rng.randint(1, 3))]
        patterns = [(v, p) for v, p in patterns if not isinstance(p, str)]
        if not patterns:
            continue
        names = sorted({n for v, p in patterns for n in (v, *_variables(p))})
        found = set()
        for some in itertools.product(every, repeat=len(patterns)):
            known: dict[str, Tree] | None = {}
            for (v, p), t in zip(patterns, some, strict=True):
                known = known if known is None else _match(p, t, known)
                known = known if known is None else _match(v, t, known)
            if known is not None:
                found.add(tuple(_text(known[n]) for n in names))
        assert _asked(terms, patterns, names) == len(found), (seed, patterns)


def _asked(terms: list[Tree], patterns: list[tuple[str, Tree]], names: list[str]) -> int:
    engine = take(DECLARED)
    engine.run(" ".join(map(_text, terms)))
    body = " ".join(f"(= {v} {_text(p)})" for v, p in patterns)
    sorts = " ".join("i64" if n == "i" else "T" for n in names)
    engine.run(f"(relation hit ({sorts})) (ruleset asked) (rule ({body}) ((hit {' '.join(names)})) :ruleset asked)")
    engine.run("(run asked 1)")
    count = engine.sizes()[0].get("hit", 0)
    engine.close()
    return count
