"""Laws are proved for small sizes, and wrong ones refuted: `scanopt prove-law`."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import scanopt
from scanopt.calculus.condition import FACTS, fact
from scanopt.calculus.law import Equation, Law, standard_laws
from scanopt.calculus.terms import Clock, Int, Op, State, Text, Value, delay, hold, ops, seq, stack, steps, tail, vmap
from scanopt.cli import main
from scanopt.facts.recurrences import entries
from scanopt.facts.states import becomes
from scanopt.facts.values import at_least, floating, of_dtype
from scanopt.lab.proving import entries as z3_entries
from scanopt.lab.proving import mutants, proofs_record, prove
from scanopt.view.catalogue import proofs

LAWS = {x.name: x for x in standard_laws()}


def anything(x: Any) -> Any:
    return x


needs_z3 = pytest.mark.skipif(find_spec("z3") is None, reason="proofs need z3-solver: scanopt[prove]")


# What is recorded


def test_every_law_has_been_tried_as_it_is_now() -> None:
    stale = [name for name, x in LAWS.items() if proofs().get(name, {}).get("says") != str(x)]
    command = "scanopt prove-law --all --json > scanopt/view/proofs.json, then scanopt laws --markdown > docs/laws.md"
    assert not stale, f"prove these again: {command}"
    assert proofs().keys() == LAWS.keys()


def test_no_law_is_refuted_and_few_are_out_of_reach() -> None:
    outcomes = [x["outcome"] for x in proofs().values()]
    assert set(outcomes) == {"proved", "out of reach"}
    assert outcomes.count("proved") >= 0.95 * len(outcomes)


QUICK = [
    "right_identity", "inverse", "self_inverse", "trace_of_two_steps", "last_of_one", "sequence_of_trace",
    "row_from_the_start", "rows_from_the_end", "last_value", "trace_until", "part_of_last_rows", "arranged_back",
    "length_of_state", "guarded_invariant", "trace_of_loops", "accumulation", "last_of_counter", "value_seen_backwards",
    "state_that_repeats", "first_rows_in_order", "system_by_factors", "equal_states", "system_of_identity",
]  # fmt: skip


@pytest.mark.share(6)
@needs_z3
@pytest.mark.parametrize("name", QUICK)
def test_outcomes_are_those_recorded(name: str) -> None:
    found = prove(LAWS[name], 2)
    assert (found.outcome, found.detail) == (proofs()[name]["outcome"], proofs()[name]["detail"]), str(found)


@needs_z3
def test_a_record_says_what_the_law_said() -> None:
    record = json.loads(proofs_record([LAWS["sequence_of_trace"]], 3))
    assert record["steps"] == 3
    assert record["laws"]["sequence_of_trace"]["says"] == str(LAWS["sequence_of_trace"])


# Wrong laws are refuted


@scanopt.law(licence="exact", example=anything)
def swapped_difference(x: Value, y: Value) -> Equation:
    """x - y is not y - x."""
    return Equation(x - y, y - x)


@scanopt.law(licence="exact", example=anything)
def one_row_more(c: Clock, v: Value, k: Int) -> Equation:
    """The last k rows are not the last k + 1."""
    return Equation(stack(c, v)[-k:], tail(c, v, k + 1))


@scanopt.law(licence="exact", example=anything)
def one_step_later(c: Clock, init: Value, s: State, v: Value) -> Equation:
    """The state before is not what it becomes now."""
    return Equation(delay(c, init, s, 1), v, when=[becomes(s, v)])


@scanopt.law(licence="exact", example=anything)
def another_row(c: Clock, v: Value, k: Int) -> Equation:
    """A row is not the one before."""
    return Equation(stack(c, v)[k], stack(c, v)[k - 1], when=[at_least(k, 1)])


@scanopt.law(licence="exact", example=anything)
def all_steps(c: Clock, x: Value) -> Equation:
    """A loop that ends early does not run all its steps."""
    return Equation(stack(c, hold(c, x)), ops.repeat_rows(x, steps(c)))


@scanopt.law(licence="exact", example=anything)
def rows_at_once(c: Clock, op: Op, X: Value) -> Equation:
    """What may raise in a step that is not run must not run."""
    return Equation(op(seq(c, X)), seq(c, vmap(op, "1")(X)))


@scanopt.law(licence="exact", example=anything)
def regrouped_sum(x: Value, y: Value, z: Value) -> Equation:
    """Sums of floats cannot be regrouped bit for bit."""
    return Equation((x + y) + z, x + (y + z))


@scanopt.law(licence="reassoc", example=anything)
def regrouped_nearly(x: Value, y: Value, z: Value, d: Text) -> Equation:
    """But up to rounding, where all are of one dtype."""
    return Equation((x + y) + z, x + (y + z), when=[of_dtype(x, d), of_dtype(y, d), of_dtype(z, d)])


@scanopt.law(licence="exact", example=anything)
def narrow_negative(x: Value, y: Value) -> Equation:
    """-y of a narrow dtype overflows before it is added."""
    return Equation(x - y, x + -y)


@scanopt.law(licence="reassoc", example=anything)
def swapped_product(x: Value, y: Value) -> Equation:
    """Products of matrices do not commute."""
    return Equation(ops.dot(x, y), ops.dot(y, x))


@scanopt.law(licence="reassoc", example=anything)
def wrong_limit(c: Clock, init: Value, s: State, x: Value, X: Value, low: Value, L: Value) -> Equation:
    """A limit from below is none from above."""
    left = ops.maximum(delay(c, init, s, 1) + x, low)
    when = [becomes(s, left), entries(c, x, X), entries(c, low, L), floating(left)]
    return Equation(left, seq(c, ops.capped_sum(init[-1:], X, L)), when=when)


WRONG = (
    swapped_difference, one_row_more, one_step_later, another_row, all_steps, rows_at_once, regrouped_sum,
    narrow_negative, swapped_product, wrong_limit,
)  # fmt: skip


@needs_z3
@pytest.mark.parametrize("law", WRONG, ids=lambda x: x.name)
def test_wrong_laws_are_refuted(law: Law) -> None:
    found = prove(law, 3)
    assert found.outcome == "refuted", str(found)
    assert found.counterexample


@needs_z3
def test_a_counterexample_is_told_in_words() -> None:
    found = prove(all_steps, 2)
    assert found.counterexample.splitlines() == [
        "steps of c: 2",
        "steps that c runs: 1",
        "x = A0  (A, shape ())",
        "stack(c, hold(c, x)) = [A0]",
        "repeat_rows(x, steps(c)) = [A0, A0]",
    ]
    assert "an array of shape (1,)" in found.detail


@needs_z3
def test_the_licence_counts() -> None:
    assert prove(regrouped_nearly, 2).detail == "for integers, bools, real numbers"
    assert prove(LAWS["power_of_integers"], 2).outcome == "proved"
    without = dict(mutants([LAWS["power_of_integers"]]))
    (of_integers,) = (x for condition, x in without.items() if condition.startswith("integer("))
    assert prove(of_integers, 2).outcome != "proved"  # powers of floats, in one call, are rounded in another way


@needs_z3
def test_narrow_integers_overflow() -> None:
    found = prove(regrouped_sum, 1)
    assert "int8" in found.counterexample


NEEDED = [
    ("stack_of_sequence", "runs_all(c)"), ("trace_of_loops", "liftable(c, d)"), ("equal_sequences", "runs_all(c)"),
    ("trace_of_invariant", "runs_all(c)"), ("equal_invariants", "some_steps(c)"),
    ("choice_of_true", "is_true(c)"), ("right_identity", "of_dtype(x, d)"), ("row_from_the_end", "less(k, 0)"),
    ("operator_of_sequences", "raises_alike(c, op, args)"), ("invariant_of_loop", "hoistable(c, op, args)"),
    ("state_of_sequence", "becomes(s, seq(c, X))"), ("trace_of_one_step", "one_step(c)"),
    ("state_that_repeats", "becomes(s, delay(c, init, s, j))"),
]  # fmt: skip


@needs_z3
@pytest.mark.parametrize(("name", "condition"), NEEDED)
def test_without_a_condition_that_matters_a_law_is_refuted(name: str, condition: str) -> None:
    without = dict(mutants([LAWS[name]]))
    assert prove(without[condition], 3).outcome == "refuted"


# What cannot be done


@needs_z3
def test_what_the_model_does_not_know_is_out_of_reach() -> None:
    @fact
    def of_no_meaning_here(v: Value) -> None:
        """Nothing, for a test."""

    @scanopt.law(licence="exact", example=anything)
    def strange(x: Value) -> Equation:
        """x is -x where something holds that the model knows nothing of."""
        return Equation(-x, x, when=[of_no_meaning_here(x)])

    try:
        found = prove(strange, 2)
    finally:
        del FACTS["of_no_meaning_here"]
    assert (found.outcome, found.detail) == ("out of reach", "the condition of_no_meaning_here(..)")


@needs_z3
def test_operators_without_a_meaning_refute_nothing() -> None:
    @scanopt.law(licence="fast", example=anything)
    def log_of_exp(x: Value) -> Equation:
        """True, but what exp is the model does not know."""
        return Equation(ops.log(ops.exp(x)), x)

    found = prove(log_of_exp, 2)
    assert found.outcome == "out of reach"
    assert "exp" in found.detail


@needs_z3
@pytest.mark.parametrize("count", [-1, 99])
def test_numbers_of_steps_are_checked(count: int) -> None:
    with pytest.raises(ValueError, match=f"steps must be from 0 to 8, found {count}"):
        prove(LAWS["sequence_of_trace"], count)


def test_without_z3_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    z3_entries.z3.cache_clear()
    assert main(["prove-law", "sequence_of_trace"]) == 2
    text = "scanopt: a proof of a law needs z3: install it with pip install 'scanopt[prove]' ("
    assert capsys.readouterr().err.startswith(text)
    z3_entries.z3.cache_clear()


# The command


@needs_z3
def test_the_command_proves_and_refutes(capsys: Any, tmp_path: Path) -> None:
    assert main(["prove-law", "merge", "--steps", "2"]) == 0
    out = capsys.readouterr().out
    assert "sequence_of_trace: proved: for entries of every dtype" in out
    assert out.splitlines()[-1] == "4 laws, up to 2 steps: 4 proved, 0 refuted, 0 out of reach"
    file = tmp_path / "mine.py"
    file.write_text(
        "import scanopt\nfrom scanopt.calculus.law import Equation\nfrom scanopt.calculus.terms import Value\n"
        "@scanopt.law(licence='exact', example=lambda x, y: x - y)\n"
        "def swapped(x: Value, y: Value) -> Equation:\n    return Equation(x - y, y - x)\n"
    )
    assert main(["prove-law", str(file)]) == 1
    assert "swapped: refuted: both sides differ" in capsys.readouterr().out


@needs_z3
def test_the_command_drops_conditions(capsys: Any) -> None:
    assert main(["prove-law", "--mutate", "stack_of_sequence"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("stack_of_sequence without runs_all(c): refuted: ")
    assert out[-1] == "1 condition dropped, one at a time: 0 proved, 1 refuted, 0 out of reach"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["prove-law"], "name the laws to prove, as module:law, file.py:law or by a name; or --all"),
        (["prove-law", "merge", "--steps", "-1"], "--steps must be from 0 to 8, found -1"),
        (["prove-law", "merge", "--json", "--mutate"], "--json is for laws as they are, not for --mutate"),
    ],
)
def test_the_command_says_what_is_wrong(words: list[str], message: str, capsys: Any) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err == f"scanopt: {message}\n"


@needs_z3
def test_outcomes_are_the_same_in_every_process() -> None:
    code = (
        "from scanopt.calculus.law import standard_laws; from scanopt.lab.proving import prove\n"
        "laws = {x.name: x for x in standard_laws()}\n"
        "print(prove(laws['stack_of_sequence'].without(0), 2), prove(laws['subtracted'], 1))"
    )
    runs = [
        subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, env=None).stdout
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
