"""What researchers do with laws: name them, attack them, drop their conditions, leave them out, count them."""

import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, Law, Program, check, registered, standard_laws
from scanopt.calculus.terms import Clock, Op, Value, ops, seq, stack
from scanopt.cli import main
from scanopt.egraph.reach import Reach
from scanopt.facts.loops import runs_all, some_steps
from scanopt.facts.raising import fits
from scanopt.facts.values import integer, same_type, scalar
from scanopt.lab.ablation import EVERYTHING, ablate, ablation_text, fired
from scanopt.lab.attacked_program import Subject, build
from scanopt.lab.checking import WAYS, attack_on, checked, general, mutated, mutations_page
from scanopt.lab.hits import hits_of, laws_table
from scanopt.lab.instances import instances
from scanopt.lab.loops import LOOPS
from scanopt.lab.pattern_proofs import Proofs
from scanopt.lab.targets import UnknownTargetError, find_laws
from scanopt.lab.variants import together
from scanopt.rewrites import merge, save_mem
from scanopt.view.tables import markdown_table, text_table, wrapped_table

LAW = """
import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation, check
from scanopt.calculus.terms import Value, ops

exp = ops.exp


@scanopt.law(licence="exact", example=lambda x: T.exp(T.exp(x)), never=lambda x: T.exp(x))
def twice_is_once(x: Value) -> Equation:
    return Equation(exp(exp(x)), exp(x))
"""


@scanopt.law(licence="exact", example=lambda x: T.exp(x), never=())
def wrong(x: Value) -> Equation:
    return Equation(ops.exp(x), ops.negative(x))


@scanopt.law(
    licence="exact",
    enabling=True,
    example=lambda x: T.exp(scanopt.map(lambda v: v, x)[0]),
    never=lambda x: T.exp(scanopt.map(lambda v: (v, scanopt.until(v > 1)), x)[0]),
)
def says_nothing_new(c: Clock, op: Op, X: Value) -> Equation:
    return Equation(op(stack(c, seq(c, X))), op(X), when=[runs_all(c)])


# Laws by name


def names(*targets: str) -> list[str]:
    return [x.name for x in find_laws(targets)]


def test_laws_of_modules_files_and_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.py"
    file.write_text(LAW, encoding="utf-8")
    in_merge = [x.name for x in registered(merge)]
    assert names("scanopt.rewrites.merge:length_of_sequence") == ["length_of_sequence"]
    assert names("scanopt.rewrites.merge") == names("merge") == in_merge
    assert names("length_of_sequence", "merge") == ["length_of_sequence", *(n for n in in_merge if n[:6] != "length")]
    assert names(f"{file}:twice_is_once") == names(str(file)) == ["twice_is_once"]
    monkeypatch.chdir(tmp_path)
    assert names("mine:twice_is_once") == ["twice_is_once"]


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("merje", "no law or ruleset is named 'merje'; near: merge"),
        ("scanopt.rewrites.merge:lenth_of_sequence", "no law named 'lenth_of_sequence'; near: length_of_sequence"),
        ("scanopt.rewrites.no_such_file:x", "there is no module 'scanopt.rewrites.no_such_file'"),
        ("nowhere.at_all", "there is no module 'nowhere.at_all'"),
        ("json:loads", "json defines no law"),
        ("missing.py:law", "missing.py: no such file"),
    ],
)
def test_targets_that_name_no_law(target: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UnknownTargetError, match=text):
        find_laws([target])
    assert main(["check-law", target]) == 2
    assert text in capsys.readouterr().err


def test_errors_of_a_file_of_laws_are_its_own(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("import no_such_module_at_all", encoding="utf-8")
    with pytest.raises(ModuleNotFoundError, match="no_such_module_at_all"):
        find_laws([str(file)])


# Attacks


def few(law: Law) -> Iterable[tuple[str, Program]]:
    """Some of the programs that any law is attacked on: all of them take half a minute."""
    return islice(general(law), 2)


def said(f: Any, laws: Any, loops: Any = few) -> tuple[bool, str]:
    lines: list[str] = []
    good = f(laws, lines.append, loops)
    return good, "\n".join(lines)


def test_a_counterexample_is_a_program() -> None:
    good, text = said(checked, [wrong])
    assert not good
    assert "wrong: soundness: program 0: 1 steps: expected" in text
    before, after = text.split("# what the laws made of it")
    assert "v1 = exp(x)  float64[?]" in before
    assert "v1 = -x  float64[?]" in after
    assert "x = np.array([0.], 'float64')" in after  # as simple as it can be
    assert "# expected [1.]" in after
    assert "# found    [-0.]" in after


def test_a_law_that_others_prove_is_told_so() -> None:
    good, text = said(checked, [says_nothing_new])
    assert good
    assert text == "says_nothing_new: stands; it says nothing new: it follows from stack_of_sequence"


def test_laws_of_a_file_are_attacked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.py"
    file.write_text(LAW, encoding="utf-8")
    assert main(["check-law", f"{file}:twice_is_once"]) == 1
    assert "twice_is_once: soundness: program 0" in capsys.readouterr().out


def test_check_law_wants_a_law(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-law"]) == 2
    assert "or --all" in capsys.readouterr().err
    assert main(["check-law", "merge", "--markdown"]) == 2


# Conditions dropped


def test_each_condition_dropped_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    laws = registered(save_mem)
    good, text = said(mutated, laws)
    assert good
    lines = text.splitlines()
    assert len(lines) == sum(len(x.conditions) for x in laws) + 1
    assert "row_from_the_start: without runs_all(c): needed: it would fire on never" in text
    assert lines[-1].endswith("dropped, one at a time; nothing showed for 0")
    assert main(["check-law", "--mutate", "row_from_the_end"]) == 0
    assert "row_from_the_end: without less(k, 0)" in capsys.readouterr().out


def test_a_survivor_is_shown() -> None:
    @scanopt.law(licence="exact", example=lambda x: scanopt.scan(lambda v: v, x, n_steps=2)[0], never=())
    def careful(c: Clock, X: Value) -> Equation:
        return Equation(stack(c, seq(c, X)), X, when=[runs_all(c), some_steps(c)])

    good, text = said(mutated, [careful])
    assert not good
    assert "careful: without some_steps(c): SURVIVES" in text
    assert "| `careful` | `some_steps(c)` | SURVIVES |  |" in mutations_page([careful], few)


def test_laws_that_are_false_are_refuted_whatever_their_authors_tried() -> None:
    @scanopt.law(licence="exact", example=lambda x: scanopt.map(lambda v: v, x)[0], never=())
    def trace_of_sequence(c: Clock, X: Value) -> Equation:
        return Equation(stack(c, seq(c, X)), X)

    @scanopt.law(licence="exact", enabling=True, example=lambda x: T.exp(x) + x, never=())
    def turned_round(op: Op, x: Value, y: Value) -> Equation:
        return Equation(op(x, y), op(y, x))

    found = {law.name: said(checked, [law]) for law in (trace_of_sequence, turned_round)}
    for name, (good, text) in found.items():
        assert not good
        assert f"{name}: soundness: random programs" in text
    assert "# what the laws made of it" in found["trace_of_sequence"][1]


def test_a_law_between_values_of_different_types_is_refuted() -> None:
    @scanopt.law(licence="exact", example=lambda X: T.sum(X, axis=0))
    def sum_of_one_row(x: Value) -> Equation:
        return Equation(ops.sum(x, axis=(0,), keepdims=False), x)

    @scanopt.law(licence="exact", example=lambda p: T.sqrt(T.square(p)))
    def root_of_square(x: Value) -> Equation:
        return Equation(ops.sqrt(ops.square(x)), ops.absolute(x))

    first, second = ({str(x) for x in attack_on(law, few).findings()} for law in (sum_of_one_row, root_of_square))
    assert any("values of different types equal: they have different numbers of axes" in x for x in first)
    assert "root_of_square: soundness: program 0: 1 steps: expected [0.] float64[1], found [0] int64[1]" in second


def test_a_counterexample_is_the_one_result_that_is_wrong() -> None:
    attack = attack_on(wrong, lambda law: [(f"try {n}", lambda x, X, y: [T.cos(X), y + T.exp(x)]) for n in range(4)])
    found = next(iter(attack.elsewhere()))
    assert found.detail.startswith("try ")
    assert "exp(x)" in found.counterexample
    assert "cos" not in found.counterexample
    assert "X" not in found.counterexample


def test_a_law_is_proven_after_it_was_attacked() -> None:
    """An engine knows the rules that stay in it by their text, so both must write the law in the same way."""

    @scanopt.law(licence="exact", example=lambda X: X.T.T)
    def turned_twice(x: Value) -> Equation:
        return Equation(ops.transpose(ops.transpose(x, axes=(1, 0)), axes=(1, 0)), x)

    assert attack_on(turned_twice, few).fires(turned_twice.example[0])
    assert Proofs((*standard_laws(), turned_twice)).derivable(says_nothing_new) == ("stack_of_sequence",)


def test_every_law_is_well_formed() -> None:
    for x in standard_laws():
        check(x)


def test_a_law_that_drops_a_check_is_refuted() -> None:
    @scanopt.law(licence="exact", example=lambda a: T.zeros_like(a) + 1.0, never=())
    def number_like_a_number(a: Value, e: Value) -> Equation:
        return Equation(ops.full_like(a, e), e, when=[scalar(a)])

    @scanopt.law(licence="exact", example=lambda n, k: n - (n - k), never=())
    def taken_from_itself(x: Value, z: Value) -> Equation:
        return Equation(x - (x - z), z, when=[scalar(x), integer(x), same_type(x, z)])

    @scanopt.law(licence="exact", example=lambda X, Y: T.stack([X, Y])[0], never=())
    def first_of_stack(x: Value, y: Value) -> Equation:
        return Equation(ops.stack(x, y, axis=0)[0], x, when=[same_type(x, y), fits(ops.stack(x, y, axis=0))])

    for law in (number_like_a_number, taken_from_itself):
        found = [*attack_on(law).checks()]
        assert "expected CheckError, found" in found[0].detail
        assert "# expected CheckError" in found[0].counterexample
    assert [*attack_on(first_of_stack).checks()] == []


# What every law is attacked on


@pytest.mark.parametrize("name", list(LOOPS)[::13])
def test_loops_of_all_kinds_agree_under_all_laws(name: str) -> None:
    subject, laws = Subject(LOOPS[name], WAYS), [x for x in standard_laws() if x.licence != "fast"]
    found = subject.saturated(laws)
    assert sum(found.matches.values()) > 0
    assert [d.text for d in subject.differences(laws, found, 1, quick=True)] == []


def test_random_programs_contain_the_left_side_of_laws() -> None:
    """They are the same each time, and where a law says little of what it stands for, it fires on some."""
    chosen = {x.name: x for x in standard_laws()}
    for name in ("stack_of_sequence", "operator_of_sequences", "accumulation", "state_that_never_changes"):
        law = chosen[name]
        programs = list(instances(law, 6))
        assert len(programs) == 6
        first, again = ([str(build(p)[1]) for p in some] for some in (programs, instances(law, 6)))
        assert first == again
        found = Subject(together(programs), WAYS).saturated([law])
        assert found.matches.get(name)
    assert not list(instances(chosen["trace_until"], 0))
    assert not list(instances(chosen["lookups_at_once"], 6))  # of what no program says


def test_page_of_mutations_names_every_condition() -> None:
    """What each comes to takes minutes to find; tests/test_laws.py finds it law by law."""
    page = (Path(__file__).parents[1] / "docs" / "mutations.md").read_text(encoding="utf-8")
    package = [x for x in standard_laws() if x.ruleset in _files()]
    expected = [f"| `{x.name}` | `{c.replace('|', chr(92) + '|')}` |" for x in package for c in x.conditions]
    missing = [row for row in expected if row not in page]
    assert not missing, "write it again: scanopt check-law --all --mutate --markdown > docs/mutations.md"
    assert "SURVIVES |" not in page


def _files() -> set[str]:
    return {p.stem for p in (Path(__file__).parents[1] / "rewrites").glob("*.py")}


# Ablation


def network() -> Any:
    X, W = T.dmatrices("X", "W")
    h, _ = scanopt.scan(lambda v, h, W: T.tanh(v @ W + h @ W), X, T.zeros_like(W[0]), W)
    return scanopt.function([X, W], h[-1], example=[np.ones((20, 3)), np.eye(3)], name="net")


def test_ablation_leaves_out_each_law_and_ruleset_that_fired(monkeypatch: pytest.MonkeyPatch) -> None:
    f, waited = network(), list[Any]()  # no program is timed before its kernels are compiled
    monkeypatch.setattr("scanopt.lab.ablation.settle", waited.append)
    found = {x.without: x for x in ablate(f, budget=0.001)}
    assert len(waited) == sum(not x.same for x in found.values())
    assert list(found) == [EVERYTHING, *fired(f)]
    assert {"push_out_seq", "operator_of_sequences", "save_mem"} <= found.keys()
    assert found[EVERYTHING].cost == pytest.approx(f.cost)
    assert found["push_out_seq"].cost > 1.2 * f.cost
    assert all(x.call is not None and x.call > 0 for x in found.values())
    assert all(x.memory is not None and x.memory > 0 for x in found.values())
    text = ablation_text(list(found.values()), f.report.unit)
    assert text.splitlines()[0].split() == [
        "without",
        "cost",
        "ratio",
        "per",
        "call",
        "ratio",
        "memory",
        "loops",
        "to",
        "optimize",
    ]
    assert "(all laws)" in text


def test_a_function_without_laws() -> None:
    f = network()
    g = f.without("push_out_seq", "row_from_the_end")
    left_out = {x.name for x in f.rules} - {x.name for x in g.rules}
    assert left_out == {x.name for x in f.rules if x.ruleset == "push_out_seq"} | {"row_from_the_end"}
    assert g.name == "net"
    np.testing.assert_allclose(f(np.ones((4, 3)), np.eye(3)), g(np.ones((4, 3)), np.eye(3)))
    with pytest.raises(ValueError, match="no law or ruleset is named 'push_out'; near: push_out"):
        f.without("push_out")


def test_ablation_leaves_shared_variables_alone() -> None:
    x, s = T.dvector("x"), scanopt.shared(1.0, "s")
    f = scanopt.function([x], x * s * 1.0, updates={s: s * 2}, example=[[1.0]])
    list(ablate(f, ["algebra"], budget=0.001))
    assert s.get_value() == 1.0


def test_ablate_prints_a_table_per_function(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "program.py"
    text = """
import scanopt
import scanopt.tensor as T

x = T.dvector("x")
scanopt.function([x], scanopt.map(T.exp, x)[0], name="mapped")
"""
    file.write_text(text, encoding="utf-8")
    assert main(["ablate", str(file)]) == 0
    out = capsys.readouterr().out
    assert "function 1 of 1: mapped" in out
    assert "push_out_seq" in out
    assert "calls not measured" in out
    assert main(["ablate", "--without", "merge", str(file)]) == 0
    assert "push_out_seq" not in capsys.readouterr().out
    assert main(["ablate", "--without", "marge", str(file)]) == 2
    assert "no law or ruleset is named 'marge'; near: merge" in capsys.readouterr().err
    assert main(["ablate", str(tmp_path / "none.py")]) == 2


def test_explain_shows_how_the_e_graph_grew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "program.py"
    file.write_text(LAW + 'x = T.dvector("x")\nscanopt.function([x], scanopt.map(T.exp, x)[0])\n', encoding="utf-8")
    assert main(["explain", str(file)]) == 0
    out = capsys.readouterr().out
    for text in ("what each law did to the e-graph", "unions", "forms after the round", "facts and re-timing"):
        assert text in out
    assert "steps (assumed)" not in out  # no loop is left
    assert "x float64[64] (assumed)" in out


# Hits


def test_laws_with_their_hits_in_a_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "program.py"
    file.write_text(
        LAW + 'x = T.dvector("x")\nscanopt.function([x], T.exp(T.exp(x)) * 1.0, rules=[twice_is_once])\n',
        encoding="utf-8",
    )
    assert main(["laws", "--on", str(file)]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line[:1] != " "]
    assert rows[0].split() == ["law", "formula", "when", "licence", "source", "hits"]
    assert int(next(r for r in rows if "right_identity " in r).split()[-1]) > 0
    assert int(next(r for r in rows if "twice_is_once" in r).split()[-1]) > 0
    assert main(["laws", "--on", str(file), "merge"]) == 0
    assert "right_identity" not in capsys.readouterr().out


def test_hits_add_up() -> None:
    f = network()
    assert hits_of([f, f])["operator_of_sequences"] == 2 * f.laws["operator_of_sequences"]


def test_table_of_laws_says_all_of_each() -> None:
    text = " ".join(laws_table(standard_laws(), 400).split())
    for x in standard_laws():
        for part in (f"{x.ruleset}: {x.name}", x.licence, *x.source.split()):
            assert part in text


def test_laws_that_follow_from_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["laws", "--derivable", "push_out_seq"]) == 0
    assert re.fullmatch(r"\d+ laws, 0 of which follow from others on their own patterns\n", capsys.readouterr().out)


# Tables


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_wrapped_tables_lose_nothing(width: int) -> None:
    rows = [["merge", "c = d when " + "same_steps(c, d) " * 4], ["", ""], ["x" * 30, "y"]]
    text = wrapped_table(["law", "formula"], rows, width)
    words = sorted(w for row in rows for cell in row for w in cell.split() if len(w) < 10)
    assert sorted(w for w in text.split() if w in words) == words
    assert text.replace("\n", "").replace(" ", "").count("x") >= 30
    if width >= 80:
        assert max(map(len, text.splitlines())) <= width


def test_other_tables() -> None:
    assert text_table(["a", "b"], [["x", "1"], ["yy", "22"]]) == "a    b\nx    1\nyy  22"
    assert markdown_table(["a", "b"], [["x|y", "1"]]).splitlines()[2] == "| x\\|y | 1 |"


def test_laws_that_a_program_cannot_come_to_do_not_fire_on_it() -> None:
    """`Attack.elsewhere` does not try them."""
    laws = standard_laws()
    reach, left_out = Reach(laws), 0
    for n in (3, 40, 77, 114):
        subject = Subject(laws[n].example[0], WAYS)
        fired = subject.saturated(laws).matches
        for x, can in zip(laws, reach.can_fire(subject.encoded), strict=True):
            assert can or not fired.get(x.name), x.name
            left_out += not can
    assert left_out > 50
