"""The engine's process: what it answers, when it is renewed, and what is told where it ends."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from egglog import bindings

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, law
from scanopt.calculus.terms import Clock, Value, hold
from scanopt.egraph import engine
from scanopt.egraph.clearing import with_clearing
from scanopt.egraph.engine import Engine, EngineError, take
from scanopt.egraph.engine_commands import Commands, commands
from scanopt.egraph.engine_reports import plain
from scanopt.egraph.engine_rules import RulesOnDemand
from scanopt.egraph.rulebook import rules_text
from scanopt.egraph.saturation import Limits, Round, run_schedule
from scanopt.egraph.schedule import EVERYTHING

RULES = """
(datatype Number (zero) (next Number))
(function value (Number) i64 :merge old)
(relation named (Number String))
(rule ((= a (zero))) ((set (value a) 0)))
(rule ((= a (next b)) (= n (value b))) ((set (value a) (+ n 1))))
"""


@pytest.fixture(autouse=True)
def fresh_processes() -> Iterator[None]:
    engine._end_all()
    engine._FREE.clear()
    yield
    engine._end_all()
    engine._FREE.clear()


@pytest.fixture
def numbers() -> Iterator[Engine]:
    found = take(RULES)
    yield found
    found.close()


def pids() -> list[int]:
    return [x._process.pid for x in engine._ALL]


def compiled(factor: float = 2.0) -> float:
    x = T.dvector("x")
    h, _ = scanopt.scan(lambda v, h: h * factor + v, x, np.float64(1))
    return float(scanopt.function([x], h[-1])([1.0, 2.0]))


# ---- answers ----


def test_tables_hold_integers_texts_and_numbers_of_classes(numbers: Engine) -> None:
    numbers.run('(next (next (zero)))\n(named (next (zero)) "one")\n(run 5)')
    found = numbers.tables(["value", "next", "zero", "named", "unknown"])
    assert list(found) == ["value", "next", "zero", "named"]
    ((_, zero),) = found["zero"].rows
    after = {a: b for (a,), b in found["next"].rows}
    assert {a: n for (a,), n in found["value"].rows} == {zero: 0, after[zero]: 1, after[after[zero]]: 2}
    assert [row for row, _ in found["named"].rows] == [(after[zero], "one")]
    assert found["value"].sort == "i64"


def test_reports_and_sizes(numbers: Engine) -> None:
    first, second = numbers.run("(next (zero))\n(run 5)\n(run 1)")
    assert (first.updated, second.updated) == (True, False)
    assert sum(first.matches.values()) == 2
    sizes, room = numbers.sizes()
    assert (sizes["next"], sizes["value"]) == (1, 2)
    assert room > 10


def test_nothing_is_left_of_a_program_and_commands_that_are_refused_end_none() -> None:
    for _ in range(2):
        numbers = take(RULES)
        with pytest.raises(EngineError, match="heck failed"):
            numbers.run("(check (zero))")
        numbers.run("(zero)\n(check (zero))")
        numbers.close()
    assert len(pids()) == 1


NAMED = """
(sort Op)
(constructor prim_with (String i64) Op)
(relation seen (i64))
(constructor op_0 () Op) (union (op_0) (prim_with "sum" 0))
(ruleset r)
(rule ((= x (prim_with "sum" n)) (= y (op_0))) ((seen n)) :ruleset r)
"""


def rows_of_a_program(found: Engine) -> dict[str, int]:
    return {name: n for name, n in found.sizes()[0].items() if n and name != "cleared"}


@pytest.mark.parametrize("rules", [RULES, NAMED, f'{NAMED}\n(prim_with "max" 1)', NAMED.replace("Op", "Param")])
def test_what_rules_name_is_there_for_each_program_and_no_row_of_another(rules: str) -> None:
    first: dict[str, int] | None = None
    for n in range(4):
        found = take(rules)
        if n:  # what names the operator is loaded by the first program
            first = first or rows_of_a_program(found)
            assert rows_of_a_program(found) == first
        if rules is RULES:
            found.run(f'(named (next (zero)) "{n}")\n(run 5)')
            assert rows_of_a_program(found) == {"zero": 1, "next": 1, "value": 2, "named": 1}
        else:
            found.run(f'(prim_with "sum" {n})\n(run r 1)')
            assert rows_of_a_program(found)["seen"] == len({0, n})
        found.close()
    assert len(pids()) == 1


def test_rules_that_were_added_stay_when_a_program_is_taken_out_and_go_with_it(numbers: Engine) -> None:
    numbers.run("(ruleset more)\n(relation even (Number))\n(rule ((= a (zero))) ((even a)) :ruleset more)")
    numbers.run("(unstable-combined-ruleset both more)")
    for _ in range(2):
        numbers.run("(zero)\n(run both 1)")
        assert rows_of_a_program(numbers) == {"zero": 1, "even": 1}
        numbers.clear()
        assert rows_of_a_program(numbers) == {}
    numbers.close()
    again = take(RULES)
    with pytest.raises(EngineError, match="no entry found"):
        again.run("(run both 1)")
    assert "even" not in again.sizes()[0]
    again.close()


LASTING = """
(constructor lasting_op_1 () Op) (union (lasting_op_1) (prim_with "max" 7))
(ruleset lasting_rules_1)
(rule ((= x (lasting_op_1))) ((seen 7)) :ruleset lasting_rules_1)
"""


@pytest.mark.parametrize("sort", ["Op", "Param"])
def test_what_is_named_by_what_it_says_may_be_added_again_and_leaves_no_row(sort: str) -> None:
    named, lasting = NAMED.replace("Op", sort), LASTING.replace("Op", sort)
    for n in range(3):
        found = take(named)
        before = rows_of_a_program(found)
        found.run(lasting)
        found.run("(run lasting_rules_1 1)")
        assert rows_of_a_program(found) == before | {"lasting_op_1": 1, "prim_with": 1, "seen": 1}
        if n == 1:
            found.clear()
            assert rows_of_a_program(found) == before | {"lasting_op_1": 1, "prim_with": 1}
        found.close()
        other = take(named)
        assert rows_of_a_program(other) == before
        assert "lasting_op_1" in other.sizes()[0]
        other.close()
    assert len(pids()) == 1


def test_lasting_rules_go_with_others_that_may_not_stay_and_are_added_again() -> None:
    for _ in range(2):
        found = take(NAMED)
        found.run(LASTING)
        found.run("(relation own (i64))\n(unstable-combined-ruleset both lasting_rules_1)")
        found.clear()
        (report,) = found.run("(run both 1)")
        assert report.updated
        found.close()
        other = take(NAMED)
        assert not {"own", "lasting_op_1"} & other.sizes()[0].keys()
        other.close()


def test_rules_in_a_ruleset_that_others_may_use_do_not_stay() -> None:
    for _ in range(2):
        found = take(NAMED)
        found.run('(prim_with "sum" 3)')
        found.run("(ruleset more)\n(rule ((prim_with a b)) ((seen 9)) :ruleset more)\n(run more 1)")
        assert rows_of_a_program(found)["seen"] == 1
        found.close()


def test_a_check_that_does_not_hold_leaves_the_engine_as_it_is(numbers: Engine) -> None:
    numbers.run("(zero)")
    assert not numbers.holds("(named (zero) x)")
    numbers.run("(run 1)")
    assert rows_of_a_program(numbers) == {"zero": 1, "value": 1}


def test_rows_that_no_rule_sees_are_taken_out_as_well(numbers: Engine) -> None:
    """Of what is subsumed rules find nothing."""
    numbers.run("(next (zero))\n(subsume (next (zero)))")
    numbers.clear()
    assert rows_of_a_program(numbers) == {}
    numbers.run("(zero)\n(run 1)")
    assert rows_of_a_program(numbers) == {"zero": 1, "value": 1}


def test_rows_that_rules_have_hidden_are_taken_out_by_rules() -> None:
    """Which takes far less time than a new level of the engine, where nothing is noted down of what was cleared."""
    rules = """
(sort Number)
(constructor zero () Number)
(constructor next (Number) Number)
(ruleset hide)
(rule ((= n (next m))) ((subsume (next m))) :ruleset hide)
(relation seen (Number))
(rule ((= n (next m))) ((seen n)))
"""
    for _ in range(2):
        found = take(rules)
        found.run("(next (zero))\n(run hide 1)\n(run 1)")
        assert rows_of_a_program(found) == {"zero": 1, "next": 1, "hidden_next": 1}
        found.clear()
        assert {name: n for name, n in found.sizes()[0].items() if n} == {"cleared": 1}
        found.run("(next (zero))\n(run 1)")
        assert rows_of_a_program(found) == {"zero": 1, "next": 1, "seen": 1}
        found.close()


def test_which_program_is_chosen_does_not_depend_on_what_was_compiled_before() -> None:
    def gradient() -> tuple[str, list[Any]]:
        X, W, h0 = T.dmatrix("X"), T.dmatrix("W"), T.dvector("h0")
        h, _ = scanopt.scan(lambda x, h, W: T.tanh(x + h @ W), X, h0, W)
        f = scanopt.function([X, W, h0], scanopt.grad((h**2).sum(), [W, h0]))
        return str(f.program), [*f._plan.done.egraph.classes.items()]

    first = gradient()
    for factor in (2.0, 3.0, 5.0):
        compiled(factor)
        assert gradient() == first
    engine._end_all()
    engine._FREE.clear()
    assert gradient() == first


def test_commands_are_run_alike_at_once_and_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    text = '(relation a (i64 String))\n(a\n  1\n ")")\n(ruleset r)\n(rule ((a 1 x)) ((a 2 x)) :ruleset r)\n(run r 2)'
    found: list[tuple[int, Any]] = []
    for together in (True, False):
        if not together:
            monkeypatch.setattr(os.path, "exists", lambda path: False)
        told = Commands(bindings)
        result = plain(told.run(text)[0])
        found.append((told.run("(print-size a)")[0].size, (result[0], result[1], result[3])))
        with pytest.raises(bindings.EggSmolError, match="Unbound function nope"):
            told.run('(a 3 "")\n(nope)')
        assert told.run("(print-size a)")[0].size == 3
    assert found[0] == found[1]
    assert found[0][0] == 2


def test_commands_end_with_their_lines() -> None:
    assert [*commands('(a)\n(b\n  (c))\n(d ")")\n(e)')] == ["(a)\n", "(b\n  (c))\n", '(d ")")\n(e)\n']


RULES_APART = """(relation a (i64))
(relation c (i64))
(ruleset r)
(rule ((a 1)) ((a 2)) :ruleset r)

(ruleset s) (rule ((a 2)) ((a 3)) :ruleset s)
(unstable-combined-ruleset both r s)
(rule ((c 5)) ((c 6)))
(relation f ()) (relation g ())"""


def test_tables_and_rules_are_loaded_when_a_command_names_them() -> None:
    told: list[str] = []
    rules = RulesOnDemand(commands(RULES_APART), lambda text: told.extend(filter(None, text.splitlines())) or [])
    a, c, *r, _, s, both, other, f = RULES_APART.splitlines()
    assert told == [c, other]
    told.clear()
    rules.opened()
    rules.run("(run s 1)")
    rules.run("(run s 2)")
    assert told == [a, s, "(run s 1)", "(run s 2)"]
    rules.run("(run both 1)")
    assert told[4:] == [*r, both, "(run both 1)"]
    told.clear()
    rules.load(["g", "a"])
    assert told == [f]
    assert rules.tables == {"a", "c", "f", "g"}
    told.clear()
    rules.again()
    assert told == [a, s, *r, both, f]
    told.clear()
    rules.opened()
    rules.again()  # they are below the level of the engine now
    assert not told


@pytest.mark.parametrize("noted", [False, True])
def test_no_table_and_no_rule_is_loaded_at_first(noted: bool) -> None:
    text, told = with_clearing(rules_text(noted)), list[str]()
    RulesOnDemand(commands(text), lambda text: told.extend(filter(None, text.splitlines())) or [])
    assert [command.split()[0] for command in told] == ["(sort"]
    # so each is declared with its own rules, whichever is run first
    assert not [command for command in commands(text) if command.count("(ruleset ") > 1]


def test_what_a_program_had_loaded_is_there_for_the_next_one() -> None:
    engine = take(RULES_APART)
    try:
        engine.run("(a 1)")
        (report,) = engine.run("(run both 5)")
        assert report.matches
        assert engine.sizes()[0]["a"] == 3
        engine.run("(relation own (i64))")  # so that a new level has to be opened
        engine.clear()
        engine.run("(a 1) (run both 5)")
        assert engine.sizes()[0]["a"] == 3
    finally:
        engine.close()
    again = take(RULES_APART)
    again.run("(a 2) (run both 5)")
    assert (again.sizes()[0]["a"], "own" in again.sizes()[0]) == (2, False)
    again.close()


# ---- processes ----


def test_programs_one_after_the_other_share_a_process_and_those_at_the_same_time_do_not() -> None:
    a = take(RULES)
    b = take(RULES)
    assert len(pids()) == 2
    a.close()
    b.close()
    c = take(RULES)
    c.run("(zero)")
    c.close()
    assert len(pids()) == 2


def test_a_process_that_was_killed_while_nobody_used_it_is_replaced() -> None:
    compiled()
    (pid,) = pids()
    os.kill(pid, signal.SIGKILL)
    assert compiled(3.0) == 14.0
    assert pids() != [pid]


@pytest.mark.parametrize(
    ("signal_name", "error", "told"),
    [("SIGKILL", MemoryError, "ulimit -v.*FAST_COMPILE.*unoptimized"), ("SIGSEGV", RuntimeError, "please report it")],
)
def test_a_process_that_ends_at_work_is_an_error_here(signal_name: str, error: type[Exception], told: str) -> None:
    """The system kills where memory has run out."""
    numbers = take(RULES)
    numbers.run("(zero)")
    (pid,) = pids()
    os.kill(pid, getattr(signal, signal_name))
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # one of its threads may answer while the signal is on its way
    with pytest.raises(error, match=told):
        numbers.run("(run 5)")
    numbers.close()
    assert not pids()
    assert compiled() == 8.0


def test_an_interrupt_leaves_no_answer_to_the_next_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(file: int) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(engine, "receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            compiled()
    assert not pids()
    assert compiled() == 8.0


@pytest.mark.parametrize("end", ["", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_a_process_ends_with_the_one_that_started_it(end: str) -> None:
    """Also where that was killed, and in the middle of its work."""
    code = f"""
import os, signal, threading, time
from scanopt.egraph import engine
e = engine.take("(datatype Number (zero) (next Number))\\n(rule ((= a (next b))) ((next a)))\\n(next (zero))")
e.run("")
print(e._process._process.pid, flush=True)
threading.Thread(target=e.run, args=["(run 1000000000)"], daemon=True).start()
time.sleep(0.2)
{end}
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], stdout=subprocess.PIPE, text=True, check=False, timeout=60
    )
    pid, deadline = int(done.stdout), time.monotonic() + 30
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8"):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_where_there_is_no_interpreter_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "")
    monkeypatch.setattr("multiprocessing.spawn.get_executable", lambda: None)
    with pytest.raises(RuntimeError, match="set_executable"):
        take(RULES)


def test_a_law_that_says_nothing_leaves_no_process() -> None:
    """Its engine goes back to the others."""

    def wrong(c: Clock, x: Value) -> Equation:
        return Equation(hold(c, x), Value(c.head))

    unsound = law(licence="exact", example=())(wrong)
    x = T.dvector("x")
    for _ in range(3):
        with pytest.raises(EngineError):
            scanopt.function([x], T.exp(x), rules=[unsound])
    assert len(pids()) == 1


# ---- memory ----


def test_a_process_that_has_grown_is_renewed_when_it_has_done_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "SPARE", -(1 << 40))
    seen: list[int] = []
    while len({*seen}) < 2:
        assert len(seen) < 1000
        numbers = take(RULES)
        numbers.run("(next (next (zero)))\n" + "(run 1)\n" * 1000)
        numbers.close()
        seen += pids()
    assert len(seen) > 3
    assert len(pids()) == 1


@pytest.mark.parametrize(("room", "stopped"), [(1e9, "rounds"), (2.5, "memory")])
def test_saturation_stops_where_memory_might_not_do(room: float, stopped: str) -> None:
    sizes = iter(range(100, 10_000, 100))

    def one(names: frozenset[str]) -> Round:
        return Round({}, {}, True, next(sizes), room)

    found = run_schedule(EVERYTHING, [], one, Limits(rounds=5), 100)
    assert found.stopped_by == stopped
    assert found.growth == ((100, 200) if stopped == "memory" else (100, 200, 300, 400, 500))


def long_step(n: int) -> Any:
    """A function of a loop with some operators in its step, too many to try all their forms."""
    x, h0 = T.dvector("x"), T.dscalar("h0")

    def step(v: Any, h: Any) -> Any:
        for i in range(n):
            h = T.tanh(h * (0.5 + i) + v) - T.sin(v) * (i + 1.0)
        return h

    h, _ = scanopt.scan(step, x, h0)
    return scanopt.function([x, h0], h[-1])


@pytest.mark.skipif(sys.platform != "linux", reason="addresses are limited on Linux alone")
def test_memory_that_does_not_do_for_the_engine_is_an_error_and_no_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whatever the limit: a result, perhaps of fewer rounds, or MemoryError."""
    python, found = tmp_path / "python", []
    monkeypatch.setattr(engine, "_python", lambda: str(python))
    for limit in (20, 100, 115, 130, 400):
        python.write_text(f'#!/bin/sh\nulimit -v {1000 * limit}\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
        python.chmod(0o755)
        try:
            found.append(long_step(20).report.stopped_by or "saturated")
        except MemoryError as error:
            found.append(str(error))
        engine._end_all()
        engine._FREE.clear()
    assert "let the process have more" in found[0]
    assert found[-1] == "saturated"
    assert all(x in ("memory", "saturated") or "let the process have more" in x for x in found)


@pytest.mark.skipif(sys.platform != "linux", reason="addresses are limited on Linux alone")
@pytest.mark.parametrize("limit", [160, 250])
def test_a_process_under_a_limit_has_a_result_or_says_what_to_do(limit: int) -> None:
    """Where SciPy's libraries are loaded with too few addresses left, they wait for ever."""
    code = f"""
        import sys
        sys.path[:0] = {[str(Path(__file__).parent)]!r}
        try:
            from test_engine import long_step
            print(long_step(20)([1.0], 0.5))
        except (MemoryError, SystemError):  # the latter is CPython's, where memory runs out inside an import
            print("MemoryError")
        """
    code = textwrap.dedent(code)
    shell = f'ulimit -v {1000 * limit}; exec "$0" "$@"'
    command = ["/bin/sh", "-c", shell, sys.executable, "-P", "-c", code]
    env = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # each thread takes addresses, and cores differ in number
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("MemoryError", str(long_step(20)([1.0], 0.5)))
