"""Where values live: nothing that is still read is overwritten, and each condition is needed for that."""

import json
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import storage_programs as cases
from programs import Builder, assert_separate, gated, nested, power, reference, rnn, run, vectors
from storage_programs import Case, run_plainly
from test_executor_random import Random, arguments

import scanopt
import scanopt.tensor as T
from scanopt.backends import executor
from scanopt.compilation.compiled_function import Function
from scanopt.program.ir import Compute, Loop, Program
from scanopt.program.serial import from_json, to_json
from scanopt.program.storage.check import check_storage
from scanopt.program.storage.placement import Allocation, Storage, facts_of, fresh_storage, keep_storage, storage_of
from scanopt.program.storage.rules import GIVEN, STAGES, StorageRule, storage_rules
from scanopt.program.storage.text import storage_text

RULES = {x.name: x for x in storage_rules()}


def without(*conditions: str) -> tuple[StorageRule, ...]:
    """The rules without some, or without those of their lines that hold a text: "rule" or "rule: text"."""
    made = dict(RULES)
    for condition in conditions:
        name, _, text = condition.partition(": ")
        kept = [line for line in made[name].lines() if text and text not in line]
        assert len(kept) == (len(made[name].lines()) - 1 if text else 0), condition
        made[name] = replace(made[name], rules="\n".join(kept))
    return tuple(made.values())


def placed(program: Program, rules: tuple[StorageRule, ...]) -> Program:
    """The program, with what these rules decide."""
    again = replace(program)
    keep_storage(again, storage_of(again, rules))
    return again


def is_right(program: Program, values: list[Any]) -> bool:
    """Whether all results are right and nobody else's memory, and arguments are as they were."""
    given = [np.array(v) for v in values]
    try:
        found = run_plainly(program, given)
        assert_separate(given, found)
    except (ValueError, TypeError, NameError, AssertionError):
        return False
    expected = reference(program, values)
    same = all(
        f.dtype == e.dtype and f.shape == e.shape and np.allclose(f, e, rtol=1e-12, atol=0)
        for f, e in zip(found, expected, strict=True)
    )
    return same and all(np.array_equal(a, b) for a, b in zip(given, values, strict=True))


# ---- each condition, dropped ----

NEEDED: list[tuple[tuple[str, ...], Callable[[], Case]]] = [
    (("not_its_array",), cases.onto_what_is_read),
    (("other_type",), cases.onto_another_type),
    (("made_elsewhere",), cases.onto_what_an_inner_loop_reads_again),
    (("other_life",), cases.onto_an_array_of_another_life),
    (("read_later",), cases.onto_what_is_read_later),
    (("read_later",), cases.onto_what_a_view_shows_later),
    (("read_later",), cases.onto_what_is_kept),
    (("read_later",), cases.onto_a_row_that_is_kept),
    (("read_beside",), cases.onto_a_view_of_an_argument),
    (("read_twice",), cases.changed_by_itself),
    (("other_rows_needed",), cases.onto_a_row_of_a_deeper_state),
    (("of_the_caller",), cases.initial_rows_of_the_caller),
    (("lies_elsewhere",), cases.initial_rows_of_every_run),
    (("rows_that_overlap",), cases.initial_rows_that_overlap),
    (("filled_by_others",), cases.initial_rows_filled_by_an_outer_step),
    (("rows_read_later",), cases.initial_rows_read_later),
    (("rows_read_twice",), cases.initial_rows_of_two_states),
    (("rows_read_beside",), cases.initial_rows_seen_from_elsewhere),
    (("varying_shape",), cases.shapes_that_change),
    (("made_elsewhere",), cases.onto_what_the_next_run_of_a_side_reads),
    (("read_later",), cases.onto_what_a_side_shows_later),
    (("holds: (view x y)",), cases.onto_what_a_side_shows_later),
    (("holds: (view x y)",), cases.onto_what_a_view_shows_later),
    (("holds: (starts s i)",), cases.state_that_stays),
    (("holds: (= 1 (passed s))",), cases.state_in_a_sequence),
    (("copied: => (copied s)",), cases.state_in_a_view_of_a_buffer),
    (("copied: => (copied s)",), cases.states_that_hand_on),
    (("copied: (copied s) (state s c)",), cases.states_that_hand_on),
    (("filled_again: (>= d n)",), cases.state_in_a_view_of_a_buffer),
    (("filled_again: (= 1 (kind x))",), cases.states_that_hand_on),
    (("refilled: (view x y)", "stale: (view x y)"), cases.state_in_a_view_of_a_buffer),
    (("refilled: (starts s i)", "stale: (starts s i)"), cases.state_that_starts_in_a_buffer),
    (("refilled: (= 1 (direct s))",), cases.states_that_hand_on),
    (("stale: (!= c e)",), cases.outer_state_in_an_inner_buffer),
    (("rows_of_state: (tap s k x)",), cases.deep_taps),
]  # fmt: skip


@pytest.mark.share(2)
@pytest.mark.parametrize(("conditions", "case"), NEEDED, ids=lambda x: x[0] if isinstance(x, tuple) else x.__name__)
def test_each_condition_is_needed(conditions: tuple[str, ...], case: Callable[[], Case]) -> None:
    """As the rules are, all is right; without this one the check says no, and results would be wrong."""
    program, values = case()
    run(program, *values)
    check_storage(program, storage_of(program))
    assert is_right(program, values)
    wrong = placed(program, without(*conditions))
    with pytest.raises(ValueError, match="storage: "):
        check_storage(wrong, storage_of(wrong))
    assert not is_right(wrong, values)


def test_all_conditions_are_tried() -> None:
    tried = {c.partition(":")[0] for conditions, _ in NEEDED for c in conditions}
    assert {x.name for x in RULES.values() if x.forbids} <= tried


def test_arguments_whose_lengths_only_broadcast() -> None:
    """x is written onto a where both turn out to have one shape, and has an array of its own where a is stretched."""
    b = Builder()
    xs, w, n = b.input("X", None, None), b.input("w", None), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        x = loop.read(xs)
        a = b("add", x, x)
        kept = loop.keep(b("multiply", a, w), 1)
    program = b.program(kept)
    assert [p.kind for p in storage_of(program).places.values()] == ["buffer", "onto"]
    for length in (1, 3):
        run(program, vectors(4, length), vectors(3), 4)
        assert is_right(program, [vectors(4, length), vectors(3), 4])


def test_an_argument_used_twice_is_overwritten() -> None:
    """Entry by entry, x * x may be written onto x."""
    b = Builder()
    xs, n = b.input("X", None, 3), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        a = b("negative", loop.read(xs))
        kept = loop.keep(b("multiply", a, a), 1)
    program = b.program(kept)
    assert Allocation("onto", a) in storage_of(program).places.values()
    assert is_right(program, [vectors(4, 3), 4])


def test_what_leaves_the_loop_is_not_kept_for_the_next_call() -> None:
    """x is written onto a, and a result: a's array must not be used again at the next call."""
    b = Builder()
    xs, n = b.input("X", None, 3), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        a = b("add", (x := loop.read(xs)), x)
        kept = loop.keep(b("tanh", a), 1)
    made = b.program(kept)
    program = replace(made, steps=tuple(replace(s, keep_buffers=True) for s in made.steps if isinstance(s, Loop)))
    for rules, right in ((storage_rules(), True), (without("lies: (written x a)"), False)):
        f = executor("numpy").compile(placed(program, rules))
        (first,) = f([vectors(4, 3), np.int64(4)])
        before = first.copy()
        f([vectors(4, 3) + 1, np.int64(4)])
        assert np.array_equal(first, before) is right


# ---- random programs ----


@pytest.mark.share(6)
@pytest.mark.parametrize("seed", range(300))
def test_random_programs(seed: int) -> None:
    """All decisions pass the check, and a machine that finds garbage wherever it may write gets all results right."""
    program = Random(seed).program()
    check_storage(program, storage_of(program))
    values = arguments(program, seed)
    found, expected = run_plainly(program, values), reference(program, values)
    for a, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, e, rtol=1e-12, atol=0)


def changed(program: Program, storage: Storage) -> list[Storage]:
    """The storage with one thing changed: more overwritten, less copied, less known."""
    loops = program.loops()
    states = [(n, i) for n, loop in enumerate(loops) for i in range(len(loop.states))]
    made: list[Storage] = [replace(storage, copied=storage.copied - {s}) for s in sorted(storage.copied)]
    made += [replace(storage, spent=storage.spent | {s}) for s in states]
    made += [replace(storage, rows={**storage.rows, s: 1}) for s in states]
    for step in program.walk():
        if isinstance(step, Compute) and step.out in storage.places:
            name, place = step.out, storage.places[step.out]
            kinds = [replace(place, kind="onto" if place.kind == "buffer" else place.kind, other=a) for a in step.args]
            made += [replace(storage, places={**storage.places, name: p}) for p in kinds]
            if name in storage.forgotten:
                made += [replace(storage, forgotten={**storage.forgotten, name: n}) for n in range(len(loops))]
    for name, roots in storage.holds.items():
        made += [replace(storage, holds={**storage.holds, name: roots - {r}}) for r in sorted(roots, key=str)]
    return [x for x in made if x != storage]


@pytest.mark.share(3)
@pytest.mark.parametrize("seed", range(40))
def test_what_the_check_lets_pass_is_right(seed: int) -> None:
    program = Random(seed).program()
    values, refused = arguments(program, seed), 0
    others = changed(program, storage_of(program))
    for storage in others[:: 1 + len(others) // 60]:
        try:
            check_storage(program, storage)
        except ValueError:
            refused += 1
            continue
        again = replace(program)
        keep_storage(again, storage)
        for a, e in zip(run_plainly(again, values), reference(program, values), strict=True):
            np.testing.assert_allclose(a, e, rtol=1e-12, atol=0)
    assert refused


# ---- files ----


def saved(case: Case, change: Callable[[dict[str, Any]], Any]) -> str:
    """The program of a case as text, its storage changed."""
    data = json.loads(to_json(case[0]))
    change(data["storage"])
    return json.dumps(data)


def onto(data: dict[str, Any], name: str, other: str) -> None:
    (place,) = (p for p in data["places"] if p["name"] == name)
    place |= {"kind": "onto", "other": other}


TAMPERED: list[tuple[Callable[[], Case], Callable[[dict[str, Any]], Any], str]] = [
    (cases.onto_what_is_read, lambda d: onto(d, "v3", "v2"), "'v3' is written onto 'v2', which is no buffer"),
    (cases.onto_what_is_read_later, lambda d: onto(d, "v4", "v3"), "but 'v3' is still read"),
    (cases.initial_rows_of_the_caller, lambda d: d["spent"].append([0, 0]), "may lie in 'v0', which others may read"),
    (cases.initial_rows_read_later, lambda d: d["spent"].append([0, 0]), "but 'v2' is read too"),
    (cases.state_in_a_view_of_a_buffer, lambda d: d["copied"].clear(), "it must be copied"),
    (cases.state_in_a_view_of_a_buffer, lambda d: d["copied"].append([0, 7]), "there is no state 7 of loop 0"),
    (cases.deep_taps, lambda d: d["rows"].append([0, 0, 1]), "has 1 rows, and is read 3 steps back"),
    (cases.deep_taps, lambda d: d["rows"].append([0, 0, 4]), "has 4 rows, of 3 initial ones"),
    (cases.state_that_stays, lambda d: d["holds"].clear(), "'v2' may lie in 'v0', which it does not know"),
    (cases.shapes_that_change, lambda d: d["places"].append(
        {"name": "v5", "kind": "buffer", "other": "", "state": -1, "forgotten": 0}), "may change its shape"),
    (cases.onto_what_is_read, lambda d: d["places"][0].update(kind="input"), "has place 'input'"),
    (cases.onto_what_is_read, lambda d: d["places"][0].update(name="v0"), "'v0' is no result of an operator"),
    (cases.onto_what_is_read, lambda d: d["places"][0].update(forgotten=-1), "a buffer has a loop before which"),
    (cases.onto_what_is_read, lambda d: d["holds"].append({"name": "v3", "roots": [[9, 9]]}), "which there is not"),
    (cases.onto_what_is_read, lambda d: d["copied"].append([0]), "expected a list of 2 integers"),
    (cases.onto_what_is_read, lambda d: d.pop("rows"), "no field 'rows'"),
]  # fmt: skip


@pytest.mark.parametrize(("case", "change", "message"), TAMPERED, ids=[m for _, _, m in TAMPERED])
def test_a_storage_that_does_not_hold_is_refused(
    case: Callable[[], Case], change: Callable[[dict[str, Any]], Any], message: str
) -> None:
    from_json(saved(case(), lambda _: None))
    with pytest.raises(ValueError, match="storage") as caught:
        from_json(saved(case(), change))
    assert message in str(caught.value)


def test_a_storage_is_saved_with_its_program() -> None:
    for program in (rnn(), nested(), gated(), power(None), *(Random(seed).program() for seed in range(10))):
        again = from_json(to_json(program))
        assert storage_of(again) == storage_of(program)
        assert to_json(again) == to_json(program)


def test_without_rules_every_result_is_a_new_array() -> None:
    """As in a place without egglog, for a program that was saved without a storage."""
    for seed in range(100):
        program = Random(seed).program()
        keep_storage(program, fresh_storage(program))
        run(program, *arguments(program, seed))


# ---- the rules ----


def test_rules_say_what_they_mean() -> None:
    assert len(RULES) == len(storage_rules())
    for x in RULES.values():
        assert x.meaning
        assert x.lines()
    facts, _, _ = facts_of(Random(3).program())
    for name, row in facts:
        assert len(row) == len(GIVEN[name][0].split())
    with pytest.raises(ValueError, match="stage must be one of"):
        StorageRule("late", "afterwards", "", "(a x) => (b x)")
    with pytest.raises(ValueError, match="expected `body => head`"):
        StorageRule("wrong", "shapes", "", "(a x) (b x)")


def test_nothing_is_read_before_it_is_complete() -> None:
    """A function stands for what is not so: no rule looks it up in a stage in which another one may still set it."""
    functions = {f for x in RULES.values() for f in re.findall(r"\(function (\w+)", x.declares)} | {"refused"}
    written: dict[str, int] = {}
    for x in RULES.values():
        for line in x.lines():
            head = line.partition("=>")[2].replace("(forbid x a)", "(set (refused x a) 1)")
            for f in re.findall(r"\(set \((\w+)", head):
                written[f] = max(STAGES.index(x.stage), written.get(f, 0))
    assert written.keys() == functions
    for x in RULES.values():
        for line in x.lines():
            for f in functions & set(re.findall(r"\((\w+)", line.partition("=>")[0])):
                assert STAGES.index(x.stage) > written[f], f"{x.name} looks at {f} in stage {x.stage}"


# ---- what people see ----


def test_decisions_are_shown() -> None:
    assert (
        storage_text(rnn(whole=False))
        == """\
loop rnn: state h: float64[?]: 2 rows, computed there as v8; not onto v2: of_the_caller
loop rnn: v6: float64[?]: an array of its own, the same at each step
loop rnn: v7: float64[?]: onto v6, which is not read any more; not onto v4: not_its_array
loop rnn: v8: float64[?]: the next row of state h
  not_its_array: a was not computed in an array for that: it is an input, a constant, a row read, a state, a trace
  of_the_caller: the initial rows may lie in an input or a constant"""
    )
    assert (
        storage_text(power(None))
        == """\
loop power: state x: float64[?]: 1 row, computed there as v6, the first onto v4
loop power: v6: float64[?]: onto v5, the row before of state x"""
    )
    copied, _ = cases.state_in_a_view_of_a_buffer()
    assert "2 rows, copied at each step, because the next one overwrites v6" in storage_text(copied)
    assert storage_text(Builder().program()) == ""


def network(**options: Any) -> Function:
    x, W = T.dmatrix("x"), T.dmatrix("W")
    h, _ = scanopt.scan(lambda v, h, W: T.tanh(T.dot(h, W) + v), x, T.zeros((3,)), [W])
    return scanopt.function([x, W], h[-1], **options)


def in_place(f: Function) -> bool:
    return any(p.kind == "onto" or (p.kind == "row" and p.other) for p in storage_of(f.program).places.values())


def test_it_can_be_left_out() -> None:
    f = network()
    others = [
        f.without("inplace"), f.without("inplace").without("algebra"), network(exclude=["inplace"]),
        network(exclude=(x for x in ["inplace", "merge"])), network(mode=scanopt.Mode(excluding=["inplace"])),
        pickle.loads(pickle.dumps(f.without("inplace"))),
    ]  # fmt: skip
    values = vectors(4, 3), vectors(3, 3)
    assert in_place(f)
    assert in_place(f.without("algebra"))
    for g in others:
        assert not in_place(g)
        np.testing.assert_array_equal(g(*values), f(*values))
    with pytest.raises(ValueError, match="no law or ruleset is named 'inplac'"):
        f.without("inplac")


WITHOUT_EGGLOG = """
import json, sys
sys.modules.update(dict.fromkeys(["egglog", "scipy", "networkx"]))
import numpy as np
import scanopt.backends, scanopt.program.serial

text = json.loads(sys.stdin.read())
for storage in (text["storage"], None):
    program = scanopt.program.serial.from_json(json.dumps(text | {"storage": storage}))
    f = scanopt.backends.executor("numpy").compile(program)
    (h,) = f([np.arange(12.0).reshape(4, 3) / 9, np.eye(3) / 2, np.ones((1, 3)), np.int64(4)])
    same = scanopt.program.serial.to_json(program) == sys.argv[1]
    print(json.dumps([h.tolist(), "tanh(v7, b0_0)" in f.source, same]))
"""


def test_where_there_is_no_egglog() -> None:
    """A program runs as it was saved; without its storage in new arrays, and with the same results."""
    text = to_json(rnn(whole=False))
    command = [sys.executable, "-P", "-c", WITHOUT_EGGLOG, text]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    (h, in_row, same), (new_h, in_new_row, new_same) = map(json.loads, done.stdout.splitlines())
    (expected,) = run(rnn(whole=False), np.arange(12.0).reshape(4, 3) / 9, np.eye(3) / 2, np.ones((1, 3)), 4)
    assert h == new_h == expected.tolist()
    assert (in_row, same, in_new_row, new_same) == (True, True, False, False)
