"""States that need no carrying, conditions that are known, and parts of loops that nothing needs."""

import random
from collections.abc import Callable
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from merged import X, a, b, checked, loops, n, reads, scan, states, text, x, y
from shares import tries

import scanopt
import scanopt.tensor as T
from scanopt.array.variable import Constant, Variable
from scanopt.loops.node import MitMot, NitSot, Scan, Sequence


def reading(own: Callable[..., Any], start: Any, over: Any = x, end: bool = False) -> list[Any]:
    """What is made of each tap of a state, own(v, *taps) being what it becomes."""

    def step(v: Any, *taps: Any) -> Any:
        out = [own(v, *taps), *(T.exp(s) * v for s in taps)]
        return (out, scanopt.until(v > 1.5)) if end else out

    taps = len(start["taps"]) if isinstance(start, dict) else 1
    return scan(step, over, [start, *[None] * taps])


# ---- what other libraries leave ----


def test_a_state_that_never_changes() -> None:
    rows = scan(lambda row, s: [s, row * s.sum()], X, [x, None])[1]
    assert text([X, x], rows) == dedent(
        """\
        v2 = sum(x, axis=0)  float64[]
        v3 = X * v2          float64[?, ?]
        return v3"""
    )


def test_a_condition_that_never_holds() -> None:
    assert text([x, a], *scan(lambda v, s: (T.tanh(s + v), scanopt.until(False)), x, [a])) == dedent(
        """\
        v2 = x.shape[0]                            int64[]
        v3 = expand_dims(a, axis=0)                float64[1]
        loop loop0 for v2 steps:                   # phase 0
            read  v5 = x[t]                        float64[]  sequence
            state v4 = v7 one step ago, starts v3  float64[]  sit-sot a
            v6 = v4 + v5                           float64[]
            v7 = tanh(v6)                          float64[]
            keep  v8 = all rows of v7              float64[?]  of a state
        return v8"""
    )


def test_a_condition_that_always_holds() -> None:
    assert text([a], *scan(lambda s: (T.tanh(s), scanopt.until(True)), None, [a], n_steps=5)) == dedent(
        """\
        v1 = tanh(a)                  float64[]
        v2 = expand_dims(v1, axis=0)  float64[1]
        return v2"""
    )


# ---- states ----

TAPS = [(-1,), (-2, -1), (-2,), (-3, -1), (-3, -2), (-4, -2, -1)]


@pytest.mark.share(6)
@pytest.mark.parametrize("end", [False, True])
@pytest.mark.parametrize("taps", TAPS)
def test_a_state_that_becomes_one_of_its_taps(taps: tuple[int, ...], end: bool) -> None:
    """Each tap has rows of the init that are its own, whatever the state becomes."""
    start: Any = T.stack([a + m for m in range(-min(taps))])
    start = dict(initial=start, taps=list(taps)) if taps != (-1,) else a
    for m in range(len(taps)):
        f = checked(*reading(lambda v, *s, m=m: s[m], start, end=end))
        assert end or not loops(f)


@pytest.mark.share(3)
@pytest.mark.parametrize("taps", TAPS)
def test_a_state_that_forgets(taps: tuple[int, ...]) -> None:
    start: Any = T.stack([a + m for m in range(-min(taps))])
    start = dict(initial=start, taps=list(taps)) if taps != (-1,) else a
    for own in (lambda v, *s: v, lambda v, *s: T.sin(v) + b, lambda v, *s: b * 2, lambda v, *s: v * 0 + 1.5):
        assert not loops(checked(*reading(own, start)))
    checked(*reading(lambda v, *s: v, start, end=True))


def test_a_state_that_does_not_forget() -> None:
    assert states(checked(*reading(lambda v, s: T.tanh(v + s), a))) == 1
    assert states(checked(*reading(lambda v, r, s: T.tanh(v + r), dict(initial=T.stack([a, b]), taps=[-2, -1])))) == 1


@pytest.mark.usefixtures("priced_as_array_steps")  # a kernel with a state of complex numbers takes as long as without
@pytest.mark.parametrize("dtype", ["int64", "float32", "bool", "complex128"])
def test_states_of_other_types(dtype: str) -> None:
    start = T.cast(a, dtype)
    row = T.stack([start, T.cast(b, dtype)])
    for taps, own in (([-1], lambda s: s), ([-2, -1], lambda r, s: r), ([-1], lambda s: T.cast(b, dtype))):
        initial = dict(initial=row, taps=taps) if len(taps) > 1 else start
        out = scan(lambda *s, own=own: [own(*s), *s], None, [initial, *[None] * len(taps)], n_steps=n)
        assert not states(checked(*out))


def test_states_of_an_inner_loop_start_anew_at_each_outer_step() -> None:
    def step(row: Any, s: Any) -> list[Any]:
        kept = scan(lambda v, u, w: [u, T.exp(u) + v, v, T.exp(w) * v], row, [s, None, s * 2, None])
        return [T.tanh(s + row.sum()), kept[1], kept[3]]

    outputs = scan(step, X, [a, None, None])
    checked(*outputs)
    # Run once for all outer steps, the inner loop keeps its state: what is passed on is known of loops as written.
    assert states(scanopt.function([X, a], outputs, exclude=["push_out_loops"])) == 1


def test_states_that_pass_on() -> None:
    """Rings and lines of states, of any kind: what is passed on is shifted, and a ring repeats."""
    rng = random.Random(1)
    for _ in range(tries(50)):
        count = rng.choice((2, 3, 3, 4))
        depths = [rng.choice((1, 1, 2)) for _ in range(count)]
        source = [rng.randrange(count + 1) for _ in range(count)]
        f = checked(*_register(depths, source, [rng.randint(1, depths[s % count]) for s in source]))
        assert not loops(f)


def _register(depths: list[int], source: list[int], taps: list[int]) -> list[Any]:
    """States that become a tap of the state of that number, or, for the number after the last, the entry."""
    count = len(depths)
    starts: list[Any] = [
        a + m if d == 1 else dict(initial=T.stack([a + m, b - m]), taps=[-2, -1]) for m, d in enumerate(depths)
    ]

    def step(v: Any, *args: Any) -> list[Any]:
        rest, read = list(args), []
        for d in depths:
            read.append(rest[:d])
            rest = rest[d:]
        new = [v if s == count else read[s][-t] for s, t in zip(source, taps, strict=True)]
        return [*new, sum(T.exp(s) * v for own in read for s in own)]

    return scan(step, x, [*starts, None])


def test_what_a_recurrence_passes_on() -> None:
    f = checked(*scan(lambda v, s, r: [r, T.tanh(s + r) + v], x, [a, b]))
    assert f.laws["state_of_state"]


# ---- conditions ----


@pytest.mark.parametrize("condition", [True, False, T.constant(3) > T.constant(2), T.constant(1.0) > 2.0])
def test_known_conditions(condition: Any) -> None:
    out = scan(lambda v, s: (T.tanh(s + v), scanopt.until(condition)), x, [a])
    assert all(loop.until is None for loop in loops(checked(*out)))
    assert all(loop.until is None for loop in loops(checked(out[0][-1], lengths=(0, 1, 7))))
    assert all(loop.until is None for loop in loops(checked(out[0][-2:])))
    checked(out[0][-2:], out[0].shape[0])


def test_a_known_condition_of_an_inner_loop() -> None:
    def step(row: Any) -> Any:
        return scan(lambda v, s: (T.tanh(s + v), scanopt.until(True)), row, [a])[0].sum()

    assert all(loop.until is None for loop in loops(checked(scanopt.map(step, X)[0])))


def test_an_unknown_condition_stays() -> None:
    out = scan(lambda v, s: (T.tanh(s + v), scanopt.until(b > 0)), x, [a])
    assert [loop.until is None for loop in loops(checked(*out))] == [False]


# ---- constants ----


def test_equal_entries_of_other_signs_are_not_equal() -> None:
    zeros = T.constant([0.0, -0.0, 0.0, 0.0], dtype="float64")
    f = checked(*scan(lambda v, s: T.tanh(s) / v, zeros, [a]))
    assert reads(f) == 1
    same = T.constant([-0.0, -0.0, -0.0], dtype="float64")
    assert reads(checked(*scan(lambda v, s: T.tanh(s) / v, same, [a]))) == 0
    nan = T.constant([np.nan] * 3, dtype="float64")
    assert reads(checked(*scan(lambda v, s: T.maximum(T.tanh(s), v), nan, [a]))) == 0


def test_a_constant_sequence_that_is_too_short_is_an_error_still() -> None:
    twos = T.constant([2.0, 2.0, 2.0], dtype="float64")
    f = checked(*scan(lambda v, s: T.tanh(s * v), twos, [a], n_steps=n))
    with pytest.raises(ValueError, match="n_steps"):
        f(*[[0.0]] * 2, [[0.0]], 0.0, 0.0, 4, 0)


def test_a_constant_that_a_state_starts_from_is_no_constant_of_the_loop() -> None:
    f = checked(*scan(lambda v, s: T.tanh(s + v), x, [T.constant(0.5, dtype="float64")]))
    assert states(f) == 1


@pytest.mark.parametrize("without", [[], ["push_out_non_seq"]])
def test_constants_fold_inside_nested_loops(without: list[str]) -> None:
    def step(row: Any) -> Any:
        return scan(lambda v, s: T.tanh(s + v * T.exp(T.constant(2.0, dtype="float64"))), row, [a])[0]

    f = checked(scanopt.map(step, X)[0], exclude=without)
    assert "exp(" not in str(f.program)


@pytest.mark.parametrize(
    "filled",
    [lambda: T.full((x.shape[0],), b), lambda: T.ones_like(x), lambda: T.zeros((x.shape[0],)), lambda: x * 0 + 1],
)
def test_sequences_of_one_value(filled: Callable[[], Any]) -> None:
    f = checked(*scan(lambda v, w, s: T.tanh(s * w + v), [x, filled()], [a]))
    assert reads(f) == (2 if filled().owner.op.name == "add" else 1)


def test_filled_matrices_as_sequences() -> None:
    f = checked(*scan(lambda v, w, s: T.tanh(s * v + w.sum()), [x, T.full((x.shape[0], y.shape[0]), b)], [a]))
    assert reads(f) == 1


def test_an_operator_of_constants_that_raises_does_so_when_it_runs() -> None:
    picked = T.constant([1.0, 2.0])[T.arange(T.constant(3))]
    f = scanopt.function([a], scanopt.ifelse(a > 0, picked.sum(), T.constant(0.0, dtype="float32")))
    assert f(-1.0) == 0
    with pytest.raises(IndexError):
        f(1.0)


# ---- what nothing needs ----


def rows_of(*names: str) -> list[Any]:
    """The outputs of one loop with a slot of every kind."""
    made = dict(
        zip(
            ("state", "taps", "map", "dead", "other"),
            scan(
                lambda u, v, s, t2, t1, d, o, p, q: [
                    T.tanh(s + u), T.tanh(t2 + t1 * p), T.sin(v) * q, T.tanh(o + d), T.tanh(d - o)
                ],
                [x, x * b], [a, dict(initial=T.stack([a, b]), taps=[-2, -1]), None, a, b], non_sequences=[a * 7, b * 9],
            ),
            strict=True,
        )
    )  # fmt: skip
    return [made[name] for name in names]


def test_unused_parts_of_every_kind_are_gone() -> None:
    f = checked(*rows_of("state"))
    assert (states(f), reads(f)) == (1, 1)
    assert all(number not in str(f.program) for number in ("7.0", "9.0", "sin"))
    f = checked(*rows_of("taps"))
    assert (states(f), reads(f)) == (1, 0)
    assert not loops(checked(*rows_of("map")))


def test_states_that_need_each_other_go_or_stay_together() -> None:
    assert states(checked(*rows_of("state", "taps"))) == 2
    assert states(checked(*rows_of("dead"))) == 2
    assert states(checked(*rows_of("state", "taps", "map", "dead", "other"))) == 4


def test_what_ends_a_loop_is_needed() -> None:
    def step(v: Any, s: Any, r: Any, q: Any) -> Any:
        return [T.tanh(s + v), T.tanh(r * v + 0.5), T.tanh(q)], scanopt.until(r > 0.6)

    f = checked(scan(step, x, [a, b, b])[0])
    assert states(f) == 2


def test_a_tap_that_nothing_reads_is_gone() -> None:
    out = scan(lambda v, t3, t1: T.tanh(t1 + v + t3 * 0.0), x, [dict(initial=T.stack([a, b, a]), taps=[-3, -1])])
    assert [state.depth for loop in loops(checked(*out)) for state in loop.states] == [3]
    out = scan(lambda v, t3, t1: T.tanh(t1 + v), x, [dict(initial=T.stack([a, b, a]), taps=[-3, -1])])
    assert [state.depth for loop in loops(checked(*out)) for state in loop.states] == [1]


def test_an_update_that_is_not_asked_for_is_gone() -> None:
    total = scanopt.shared(np.zeros(()), "total")
    out, updates = scanopt.scan(lambda v, s: (T.tanh(s + v), {total: T.tanh(total + v)}), x, [a])
    assert states(scanopt.function([x, a], out)) == 1
    assert states(scanopt.function([x, a], out, updates=updates)) == 2


def test_a_mit_mot_that_is_not_asked_for_is_gone() -> None:
    v, old, new = (Variable(x.type.row()) for _ in range(3))
    node = Scan(
        Constant(np.int64(3)),
        sequences=(Sequence(x, v),),
        mit_mots=(MitMot(y, (0, 1), (1,), (old, new), (T.tanh(old + new),)),),
        nit_sots=(NitSot(T.exp(v)),),
    )
    f = scanopt.function([x, y], node.outputs[:1])
    assert "tanh" not in str(f.program)
    np.testing.assert_array_equal(f([1.0, 2.0, 3.0], [0.0] * 4)[0], np.exp([1.0, 2.0, 3.0]))
