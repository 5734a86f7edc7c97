"""Equal loops, inputs, outputs and states are one; what only looks equal stays apart."""

import random
from collections.abc import Callable
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from merged import X, a, b, checked, k, loops, n, reads, scan, states, text, x, y
from random_twins import SPOILS, twins

import scanopt
import scanopt.tensor as T
from scanopt.analysis.coinduction import Trial
from scanopt.egraph.session import EGraph


def follow(v: Any, s: Any) -> Any:
    return T.tanh(s + v)


def follow_too(v: Any, s: Any) -> Any:
    return T.tanh(v + s)


def chain(start: Any, step: Callable[[Any, Any], Any] = follow, over: Any = x) -> Any:
    return scan(step, over, [start])[0]


def chain_until(start: Any, limit: float = 0.9, step: Callable[[Any, Any], Any] = follow) -> Any:
    return scan(lambda v, s: (step(v, s), scanopt.until(s > limit)), x, [start])[0]


# ---- what other libraries leave ----


def test_two_states_with_equal_init_and_update() -> None:
    assert text([x, a], *scan(lambda v, s, r: [T.tanh(s + v), T.tanh(r + v)], x, [a, a])) == dedent(
        """\
        v2 = x.shape[0]                            int64[]
        v3 = expand_dims(a, axis=0)                float64[1]
        loop loop0 for v2 steps:                   # phase 0
            read  v5 = x[t]                        float64[]  sequence
            state v4 = v7 one step ago, starts v3  float64[]  sit-sot a
            v6 = v4 + v5                           float64[]
            v7 = tanh(v6)                          float64[]
            keep  v8 = all rows of v7              float64[?]  of a state
        return v8, v8"""
    )


def test_two_while_loops_that_end_alike() -> None:
    found = text([x, a], chain_until(a), chain_until(a)[-1], chain_until(a, step=follow_too))
    assert found.replace("loop1", "loop0") == dedent(
        """\
        v2 = expand_dims(a, axis=0)                 float64[1]
        v3 = x.shape[0]                             int64[]
        loop loop0 for at most v3 steps, until v8:  # phase 0
            read  v4 = x[t]                         float64[]  sequence
            state v5 = v7 one step ago, starts v2   float64[]  sit-sot a
            v6 = v4 + v5                            float64[]
            v7 = tanh(v6)                           float64[]
            v8 = v5 > 0.9                           bool[]
            keep  v9 = last row of v7               float64[?]  of a state
            keep  v10 = all rows of v7              float64[?]  of a state
        v11 = v9[-1]                                float64[]
        return v10, v11, v10"""
    )


# ---- merge: loops ----


def test_any_number_of_loops_is_one() -> None:
    f = checked(*(chain(a * m) for m in range(1, 6)), chain(b, lambda v, s: T.sin(s) - v))
    assert [len(loop.states) for loop in loops(f)] == [6]


AS_LONG = {
    "an operator": lambda: (x, T.exp(x) * a),
    "columns": lambda: (X[:, 0], X[:, 1]),
    "backwards": lambda: (x, x[::-1]),
    "taps": lambda: (x[1:], x[:-1]),
    "parts": lambda: (x[2:], x[1:][:-1]),
    "the trace of the other": lambda: (x, chain(a)),
    "both": lambda: (x, T.minimum(x, chain(a))),
}


@pytest.mark.parametrize("what", AS_LONG)
def test_loops_over_sequences_of_one_length_are_one(what: str) -> None:
    first, second = AS_LONG[what]()
    f = checked(chain(a, over=first), chain(b, over=second), lengths=(2, 7))
    assert len({loop.label for loop in loops(f)}) == 1


@pytest.mark.parametrize("lengths", [(x[1:], x[:-2]), (x[1:], x), (x, y), (x[:2], x[:3]), (x, T.concatenate([x, y]))])
def test_loops_over_sequences_of_other_lengths_are_not(lengths: Any) -> None:
    f = checked(*(chain(a, over=v) for v in lengths))
    assert len(loops(f)) == 2


@pytest.mark.share(3)
@pytest.mark.parametrize("seed", range(6))
def test_lengths_that_are_told_to_be_equal_are(seed: int) -> None:
    rng = random.Random(seed)
    ends = [(0, None), (1, None), (2, None), (None, -1), (None, -3), (1, -1), (1, -2), (-2, None), (None, 2)]
    arrays: list[Any] = [x]
    for _ in range(10):
        v = rng.choice(arrays)
        arrays.append(rng.choice([v[slice(*rng.choice(ends))]] * 3 + [v[::-1], T.exp(v), chain(a, over=v)]))
    f = checked(*(chain(b, over=v) for v in arrays), lengths=range(6))
    assert len({loop.label for loop in loops(f)}) < len(arrays)


def test_loops_of_other_lengths_stay_apart() -> None:
    f = checked(chain(a), chain(a, over=y), scan(follow, x, [a], n_steps=k)[0])
    assert len(loops(f)) == 3


def test_loops_with_one_between_them() -> None:
    """The first and the last are one loop in two passes; the one between has other steps, and reads the first."""
    first = chain(a)
    between = scan(lambda s, t: T.tanh(s + t[-1]), None, [b], non_sequences=[first], n_steps=3)[0]
    checked(first, between, chain(between[-1]), lengths=(1, 2, 7))


def test_a_loop_that_needs_the_end_of_another_is_a_second_pass() -> None:
    first = chain(a)
    second = scan(lambda v, s, last: T.tanh(s * last + v), x, [b], non_sequences=[first[-1]])[0]
    f = checked(first, second, lengths=(1, 2, 7))
    assert [loop.phase for loop in loops(f)] == [0, 1]


def test_loops_inside_two_loops_are_one() -> None:
    def rows(start: Any) -> Any:
        return scanopt.map(lambda row: scan(follow, row, [start])[0], X)[0]

    f = checked(rows(a), rows(b))
    assert [len(loop.states) for loop in loops(f)] in ([0, 2], [2])


NOT_ALIKE = {
    "another init of the state that ends it": lambda: [chain_until(a), chain_until(b)],
    "another update of the state that ends it": lambda: [
        chain_until(a),
        chain_until(a, step=lambda v, s: T.tanh(s - v)),
    ],
    "another condition": lambda: [chain_until(a), chain_until(a, 0.5)],
    "another init of a state that the state reads": lambda: [
        scan(lambda v, s, r: ([T.tanh(s + r), T.tanh(r + v)], scanopt.until(s > 0.9)), x, [a, start])[0]
        for start in (a, b)
    ],
    "one of them runs all steps": lambda: [chain_until(a), chain(a)],
    "one of them has fewer steps": lambda: [
        chain_until(a),
        scan(lambda v, s: (follow(v, s), scanopt.until(s > 0.9)), x[1:], [a])[0],
    ],
    "they read other sequences": lambda: [
        chain_until(a),
        scan(lambda v, s: (follow(v, s), scanopt.until(s > 0.9)), x * 0.5, [a])[0],
    ],
}


@pytest.mark.parametrize("why", NOT_ALIKE)
def test_while_loops_that_do_not_end_alike_stay_apart(why: str) -> None:
    outputs = NOT_ALIKE[why]()
    f = checked(*outputs)
    assert len(loops(f)) == 2
    assert "loops_that_end_alike" not in f.laws


def test_while_loops_are_one_whatever_else_they_carry() -> None:
    one = scan(lambda v, s, r: ([follow(v, s), T.cos(r) + s], scanopt.until(s > 0.9)), x, [a, b])
    two = scan(lambda v, r, s: ([T.sin(r) + s, follow_too(v, s)], scanopt.until(s > 0.9)), x, [b, a])
    f = checked(*one, *two)
    assert [len(loop.states) for loop in loops(f)] == [3]


def test_while_loops_inside_loops() -> None:
    def ends(start: Any) -> Any:
        def step(row: Any) -> Any:
            return scan(lambda v, s: (follow(v, s), scanopt.until(s > 0.9)), row, [start])[0].sum()

        return scanopt.map(step, X)[0]

    f = checked(ends(a), ends(a) * 2)
    assert [loop.until is not None for loop in loops(f)] == [False, True]
    assert len(loops(checked(ends(a), ends(b)))) == 3


# ---- merge_inouts: inputs and outputs ----


def test_equal_inputs_are_one() -> None:
    def step(u: Any, v: Any, w: Any, s: Any, p: Any, q: Any) -> Any:
        return T.tanh(s * u + T.tanh(T.tanh(s) * w - p) + T.sin(s - q) * v)

    f = checked(*scan(step, [x, x, x * 1.0], [a], non_sequences=[b, b]))
    assert reads(f) == 1


def test_inputs_equal_by_a_law_are_one() -> None:
    f = checked(*scan(lambda u, v, s: T.tanh(s * u + v), [x * a, a * x], [b]))
    assert reads(f) == 1


def test_taps_and_directions_are_not_one() -> None:
    f = checked(*scan(lambda u, v, s: T.tanh(s * u + v), dict(input=x, taps=[-1, 0]), [b]))
    assert reads(f) == 2
    f = checked(*scan(lambda u, v, s: T.tanh(s * u + v), [x, x[::-1]], [b]))
    assert reads(f) == 2


def test_a_sequence_and_a_non_sequence_are_not_one() -> None:
    f = checked(*scan(lambda v, s, w: T.tanh(s * v + w.sum()), x, [b], non_sequences=[x]))
    assert reads(f) == 1


@pytest.mark.parametrize(
    "outputs",
    [
        lambda: scan(lambda v, s: [T.tanh(s + v), T.tanh(s + v), T.tanh(v + s)], x, [a, None, None]),
        lambda: scan(lambda v, s: [T.tanh(s + v), T.exp(s), T.exp(s)], x, [a, None, None]),
        lambda: scan(
            lambda r, s: [T.tanh(s + r), T.tanh(r + s)], None, [dict(initial=x, taps=[-2, -1]), None], n_steps=n
        ),
    ],
)
def test_equal_outputs_are_one(outputs: Callable[[], Any]) -> None:
    made = outputs()
    f = checked(*made)
    names = f.program.outputs
    assert len(set(names)) == (1 if len(made) == 2 or made[0] is None else len(set(names)))
    assert len(set(names)) < len(names)
    assert states(f) == 1


# ---- merge_inouts: states ----


def nested(which: int) -> Any:
    def step(row: Any) -> Any:
        return T.exp(scan(lambda v, s, r: [follow(v, r), follow_too(v, s)], row, [a, a])[which])

    return scanopt.map(step, X)[0]


EQUAL = {
    "mutual": lambda: scan(lambda v, s, r: [T.tanh(r + v), T.tanh(s + v)], x, [a, a]),
    "three": lambda: scan(lambda v, s, r, q: [follow(v, s), follow_too(v, r), follow(v, q)], x, [a, a, a]),
    "three in a ring": lambda: scan(lambda v, s, r, q: [follow(v, r), follow_too(v, q), follow(v, s)], x, [a, a, a]),
    "inits equal by a law": lambda: scan(
        lambda v, s, r: [follow(v, s), follow(v, r)], x, [a + b, b + a]
    ),
    "folded constants": lambda: scan(
        lambda v, s, r: [T.tanh(s * T.constant(6.0)), T.tanh(r * (T.constant(2.0) * T.constant(3.0)))], x, [a, a]
    ),
    "two taps": lambda: scan(
        lambda v, s2, s1, r2, r1: [T.tanh(s2 + r1 * v), T.tanh(r2 + s1 * v)],
        x,
        [dict(initial=T.stack([a, b]), taps=[-2, -1]), dict(initial=T.stack([a, b]), taps=[-2, -1])],
    ),
    "different loops": lambda: [
        chain(a),
        chain(a, follow_too),
        *scan(lambda v, s, r: [follow(v, r), follow(v, s)], x, [a, a]),
    ],
    "a loop over the trace of another": lambda: [
        chain(a),
        *scan(lambda u, s: [follow(u, s), s], chain(a, follow_too), [b, None]),
        *scan(lambda u, s: [follow_too(u, s), s], chain(a), [b, None]),
    ],
    "nested": lambda: [nested(0), nested(1)],
    "inner and outer": lambda: scan(
        lambda row, s, r: [
            scan(lambda v, u: T.tanh(u + v + s), row, [r])[0].sum(),
            scan(lambda v, u: T.tanh(u + v + r), row, [s])[0].sum(),
        ],
        X,
        [a, a],
    ),
    "until": lambda: scan(lambda v, s, r: ([follow(v, r), follow_too(v, s)], scanopt.until(s > 0.9)), x, [a, a]),
}  # fmt: skip
CARRIED = {"two taps": 1, "a loop over the trace of another": 2, "inner and outer": 2, "nested": 1}


@pytest.mark.share(2)
@pytest.mark.parametrize("what", EQUAL)
def test_equal_states_are_one(what: str) -> None:
    outputs = EQUAL[what]()
    f = checked(*outputs)
    assert states(f) == CARRIED.get(what, 1)
    assert f.laws["equal_states"]
    assert states(checked(*outputs, exclude=["merge_inouts"])) > states(f)


def test_states_that_forget_are_equal_whatever_they_start_from() -> None:
    """Each is read with its own init, and what both become is made once."""
    one, two = scan(lambda v, s, r: [T.tanh(v), T.tanh(v), s, r], x, [a, b, None, None])[2:]
    f = checked(one, two)
    assert str(f.program).count("tanh") == 1


NOT_EQUAL = {
    "inits": lambda: scan(lambda v, s, r: [follow(v, s), follow(v, r)], x, [a, b]),
    "inits of equal value but another sign": lambda: scan(
        lambda v, s, r: [T.minimum(s, v * v), T.minimum(r, v * v)],
        x,
        [T.constant(z, dtype="float64") for z in (0.0, -0.0)],
    ),
    "inits, of states that only read each other": lambda: scan(lambda v, s, r: [follow(v, r), follow(v, s)], x, [a, b]),
    "updates": lambda: scan(lambda v, s, r: [T.tanh(s + v), T.tanh(s - r)], x, [a, a]),
    "updates that differ after the first step": lambda: scan(
        lambda v, s, r, q: [T.tanh(s + q), T.tanh(r + a), q * 2], x, [b, b, a]
    ),
    "taps": lambda: scan(
        lambda v, s2, s1, r2, r1: [T.tanh(s2 + v), T.tanh(r1 + v), s1, r2],
        x,
        [*[dict(initial=T.stack([a, a]), taps=[-2, -1])] * 2, None, None],
    ),
    "rows of the init": lambda: scan(
        lambda v, s2, s1, r2, r1: [T.tanh(s2 + s1 * v), T.tanh(r2 + r1 * v)],
        x,
        [dict(initial=T.stack(rows), taps=[-2, -1]) for rows in ([a, b], [b, a])],
    ),
    "sequences": lambda: scan(lambda u, v, s, r: [follow(u, s), follow(v, r)], [x, x[::-1]], [a, a]),
    "dtypes": lambda: scan(
        lambda s, r: [T.cast(T.tanh(s), "float32"), T.tanh(r)], None, [T.cast(a, "float32"), a], n_steps=n
    ),
    "until": lambda: [chain_until(a), chain(a)],
    "numbers of steps": lambda: [chain(a), scan(follow, x, [a], n_steps=k)[0]],
    "a member that depends on the claim alone": lambda: scan(
        lambda v, s, r, p, q: [T.tanh(s + p - q), T.tanh(r), follow(v, p), T.tanh(q * v)], x, [a, a, b, b]
    ),
}


@pytest.mark.share(2)
@pytest.mark.parametrize("what", NOT_EQUAL)
def test_states_that_differ_stay_apart(what: str) -> None:
    outputs = NOT_EQUAL[what]()
    f = checked(*outputs)
    assert "equal_states" not in f.laws or what == "a member that depends on the claim alone"
    assert states(f) == states(checked(*outputs, exclude=["merge_inouts"]))


def test_a_trace_takes_no_part_in_proving_what_makes_it() -> None:
    """p and q differ; that the sums of their traces are equal follows from their being equal, and no more."""
    p, q = scan(lambda v, s, r: [T.tanh(s + v), T.tanh(r - v)], x, [a, a])
    s, r = scan(lambda v, s, r, t, u: [T.tanh(s + t), T.tanh(r + u)], x, [b, b], non_sequences=[p.sum(), q.sum()])
    f = checked(p, q, s, r)
    assert states(f) == 4


def test_the_laws_are_counted_and_can_be_left_out() -> None:
    outputs = EQUAL["mutual"]()
    assert states(checked(*outputs, exclude=["equal_states"])) == 2
    assert states(checked(*outputs, exclude=["algebra"])) == 1
    ends = [chain_until(a), chain_until(a)]
    assert len(loops(checked(*ends, exclude=["merge"]))) == 2
    f = checked(*ends, exclude=["merge_inouts"])
    assert f.laws["loops_that_end_alike"]
    assert len(loops(f)) == 1


# ---- random systems ----


def same(found: list[Any], expected: list[Any]) -> bool:
    pairs = zip(found, expected, strict=True)
    return all(p.dtype == q.dtype and np.array_equal(p, q, equal_nan=p.dtype.kind == "f") for p, q in pairs)


@pytest.mark.share(5)
@pytest.mark.parametrize("chunk", range(5))
def test_random_twins(chunk: int) -> None:
    fired = 0
    for seed in range(12 * chunk, 12 * chunk + 12):
        spoilt = ("", "", "", "", *SPOILS)[seed % 8]
        nested = seed % 3 == 2
        p = twins(seed, spoilt, nested)
        f = scanopt.function(p.inputs, p.outputs, fp="exact", on_unused_input="ignore")
        assert same(f(*p.values), f.unoptimized(*p.values)), f"seed {seed}"
        if not spoilt and not nested:
            assert states(f) <= p.groups, f"seed {seed}: more states than differ"
        fired += "equal_states" in f.laws
    assert fired > 5


def test_claims_that_are_not_proven_give_wrong_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """The spoilt systems tell whether anything is proven at all."""
    monkeypatch.setattr(EGraph, "_answer", lambda self, given, trial: dict.fromkeys(trial.terms, 0))

    def wrong(seed: int) -> bool:
        p = twins(seed, "change")
        f = scanopt.function(p.inputs, p.outputs, fp="exact", on_unused_input="ignore")
        return not same(f(*p.values), f.unoptimized(*p.values))

    assert any(map(wrong, random.Random(0).sample(range(1000), 30)))


def test_most_states_need_no_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """States that differ at the first step are not tried."""
    tried: list[Trial] = []
    answer = EGraph._answer
    monkeypatch.setattr(EGraph, "_answer", lambda self, given, trial: tried.append(trial) or answer(self, given, trial))
    checked(*scan(lambda v, s, r: [follow(v, s), follow(v, r)], x, [a, b]))
    assert not tried
    checked(*EQUAL["mutual"]())
    assert tried
