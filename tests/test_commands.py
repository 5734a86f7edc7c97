"""The commands that show what was done and what works, from end to end."""

import json
from pathlib import Path

import pytest

from scanopt import cached_files
from scanopt.cli import main
from scanopt.cli_arguments import NAMES
from scanopt.lab import doctor
from scanopt.lab.doctor import Diagnosis

FILE = """
import scanopt, scanopt.tensor as T
print("said by the file")
x = T.dvector("x")
f = scanopt.function([x], T.exp(x * 1.0), name="once")
g = scanopt.function([x], T.exp(x), name="twice")
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "model.py"
    made.write_text(FILE, encoding="utf-8")
    return made


def test_show_writes_a_page_for_each_function(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--out", str(file.with_name("page.html")), str(file)]) == 0
    said = capsys.readouterr().out
    for name, page in (("once", "page-1.html"), ("twice", "page-2.html")):
        assert f"{name}: {file.with_name(page)}" in said
        assert "</html>" in file.with_name(page).read_text(encoding="utf-8")


def test_show_says_what_cannot_be_written_or_read(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "--out", str(file / "below" / "page.html"), str(file)]) == 2
    assert "the page cannot be written" in capsys.readouterr().err
    assert main(["show", str(file.with_name("none.py"))]) == 2
    assert "no such file" in capsys.readouterr().err
    file.write_text("x = 1", encoding="utf-8")
    assert main(["show", str(file)]) == 2
    assert "compiled no function" in capsys.readouterr().err


def test_explain_prints_histories_and_nothing_else(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--json", str(file)]) == 0
    said = capsys.readouterr()
    once, twice = json.loads(said.out)
    assert "said by the file" in said.err
    assert [once["name"], twice["name"]] == ["once", "twice"]
    assert [s["law"] for s in once["steps"]] == ["right_identity"]
    assert twice["steps"] == []


def test_doctor_says_what_works(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    found = {x["name"]: x for x in json.loads(capsys.readouterr().out)}
    assert found["backend numpy"]["state"] == "works"
    assert found["egglog"]["says"]
    assert all(x["advice"] for x in found.values() if x["state"] == "missing")


def test_doctor_fails_where_something_needed_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = [Diagnosis("backend numpy", "fails", "a loop gave a wrong result", "report it, with this text")]
    monkeypatch.setattr("scanopt.cli.examined", lambda: bad)
    assert main(["doctor"]) == 1
    assert "-> report it" in capsys.readouterr().out


def test_cache_tells_and_clears(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cached_files, "private_folder", lambda what: tmp_path)
    (tmp_path / "a.so").write_bytes(b"12345")
    (tmp_path / "b.program").write_bytes(b"123")
    assert main(["cache"]) == 0
    said = capsys.readouterr().out
    assert "1 compiled kernels, 5 bytes" in said
    assert doctor.size_of(tmp_path / "removed meanwhile.so") == 0
    assert "1 optimized programs, 3 bytes" in said
    assert main(["cache", "--clear"]) == 0
    assert not [*tmp_path.iterdir()]


# ---- every command, with what it cannot do ----

LOOP = """
import numpy as np, scanopt, scanopt.tensor as T
print("said by the file")
X, W, U = T.dmatrices("X", "W", "U")
h, _ = scanopt.scan(lambda x, h, W, U: T.tanh(x @ W + h @ U), X, T.zeros_like(U[0]), [W, U])
f = scanopt.function([X, W, U], h[-1], name="rnn")
f(np.ones((50, 4)), np.ones((4, 8)), np.eye(8))
"""

OWN = """
import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation
from scanopt.calculus.terms import Value, ops

exp = ops.exp


@scanopt.law(licence="exact", ruleset="mine", example=lambda x: T.exp(T.exp(x)), never=lambda x: T.exp(x))
def twice_is_once(x: Value) -> Equation:
    return Equation(exp(exp(x)), exp(x))
"""


@pytest.fixture
def loop(tmp_path: Path) -> Path:
    made = tmp_path / "loop.py"
    made.write_text(LOOP, encoding="utf-8")
    return made


READERS = ("run", "explain", "show", "ablate", "diff", "bench")


@pytest.mark.parametrize("command", READERS)
def test_what_a_file_does_wrong_is_said(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    more = ["--without", "merge"] if command == "diff" else []
    for text, status, words in (
        (None, 2, "no such file"),
        ("x = 1", 2, "compiled no function"),
        ("1 / 0", 1, "ZeroDivisionError"),
        ("raise SystemExit(7)", 7, ""),
    ):
        file = tmp_path / "bad.py"
        if text is not None:
            file.write_text(text, encoding="utf-8")
        assert main([command, *more, str(file)]) == status
        said = capsys.readouterr()
        assert words in said.err
        assert "scanopt/cli" not in said.err


@pytest.mark.parametrize("arguments", [["no-such"], ["bench"], ["show", "--port", "x", "f.py"], []])
def test_arguments_that_are_none_end_with_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert "usage: scanopt" in capsys.readouterr().err


def test_help_of_every_command_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    said = capsys.readouterr().out
    assert "Exit status" in said
    for command in NAMES.split(","):
        assert f"    {command} " in said
        with pytest.raises(SystemExit):
            main([command, "--help"])
        assert "usage: scanopt" in (text := capsys.readouterr().out)
        assert "examples:" in text or command not in (*READERS, "laws")


def test_bench_measures_beside_what_was_predicted(loop: Path, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--seconds", "0.001", str(loop)]) == 0
    assert {"rnn", "predicted", "memory"} <= {*capsys.readouterr().out.split()}
    assert main(["bench", "--seconds", "0.001", "--json", str(loop)]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["written"] > 0 < found["optimized"]
    assert found["cost"] < found["cost_before"]
    assert main(["bench", str(file)]) == 2
    assert "nothing was timed" in capsys.readouterr().err
    assert main(["bench", "--seconds", "0", str(loop)]) == 2
    assert "above zero" in capsys.readouterr().err


def test_diff_of_two_rulesets_tells_only_what_differs(loop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "--without", "push_out_seq", str(loop)]) == 1
    said = capsys.readouterr().out
    assert [x[0] for x in said.splitlines() if x[:2] in ("- ", "+ ")] == [*"--++"]
    assert "laws in use only before: operator_of_sequences" in said
    assert "\x1b" not in said
    assert main(["diff", "--without", "merge", str(loop)]) == 0
    assert "rnn: the same program" in capsys.readouterr().out
    assert main(["diff", "--json", "--without", "push_out_seq", str(loop)]) == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert not found["same"]
    assert found["cost"][1] > found["cost"][0]


def test_diff_of_two_versions(loop: Path, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--json", str(loop)]) == 0
    old = loop.with_name("old.json")
    old.write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["diff", str(old), str(loop)]) == 0
    other = loop.with_name("other.py")
    other.write_text(LOOP.replace("T.tanh(x @ W", "T.exp(x @ W"), encoding="utf-8")
    capsys.readouterr()
    assert main(["diff", str(old), str(other)]) == 1
    changed = [x for x in capsys.readouterr().out.splitlines() if x[:2] in ("- ", "+ ")]
    assert any("tanh(" in x for x in changed)
    assert any("exp(" in x for x in changed)
    for bad, words in (("[1]", "holds no histories"), ("{", "cannot be read"), ('[{"format": "x"}]', "explain --json")):
        old.write_text(bad, encoding="utf-8")
        assert main(["diff", str(old), str(loop)]) == 2
        assert words in capsys.readouterr().err
    assert main(["diff", str(loop), str(file)]) == 2
    assert "1 functions on one side and 2 on the other" in capsys.readouterr().err
    assert main(["diff", str(loop)]) == 2
    assert "--without NAME" in capsys.readouterr().err
    assert main(["diff", "--without", "marge", str(loop)]) == 2
    assert "near: merge" in capsys.readouterr().err


def test_ablation_says_where_nothing_changed(loop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ablate", "--without", "merge", "--without", "push_out_seq", str(loop)]) == 0
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    assert "same program" in rows["merge"]
    assert "same program" not in rows["push_out_seq"]
    assert "beside its arguments" in rows["memory:"]
    assert main(["ablate", "--json", "--without", "merge", str(loop)]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert [x["same"] for x in found["without"]] == [False, True]


def test_laws_are_sorted_by_hits_and_own_ones_have_names(
    loop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["laws", "--json", "--on", str(loop)]) == 0
    hits = [x["hits"] for x in json.loads(capsys.readouterr().out)]
    assert hits == sorted(hits, reverse=True)
    assert hits[0] > 0 == hits[-1]
    own = tmp_path / "own.py"
    text = 'x = T.dvector("x")\nscanopt.function([x], T.exp(T.exp(x)), rules=[twice_is_once])\n'
    own.write_text(OWN + text, encoding="utf-8")
    assert main(["laws", "--json", "twice_is_once", "--on", str(own)]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["ruleset"] == "mine"
    assert found["hits"] > 0
    assert main(["laws", "twice_is_once"]) == 2
    assert "no law or ruleset" in capsys.readouterr().err
    assert main(["laws", "runs_all", "push_out_seq"]) == 0
    said = capsys.readouterr().out
    assert "from scanopt.facts.loops import runs_all\n    c runs all its steps" in said
    assert "push_out_seq: stack_of_sequence  [exact]" in said
    assert main(["laws", "--on", str(tmp_path / "none.py")]) == 2


def test_figures_of_run_and_cache_as_data(loop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--json", str(loop)]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["name"] == "rnn"
    assert "loop" in found["after"]
    assert main(["cache", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["deleted"] is False
    assert {*found["kernels"], *found["programs"]} == {"files", "bytes"}


def test_measured_page_has_times(loop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = loop.with_name("page.html")
    assert main(["show", "--measure", "--out", str(page), str(loop)]) == 0
    assert '"seconds":' in page.read_text(encoding="utf-8").split('"programs":')[1].split('"steps":')[0]


def test_laws_that_cannot_be_checked_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "laws.py"
    assert main(["check", str(file)]) == 2
    file.write_text("x = 1", encoding="utf-8")
    assert main(["check", str(file)]) == 2
    assert "defines no law" in capsys.readouterr().err
    assert main(["check-facts", "no_such_fact"]) == 2
    assert main(["check-law", "no_such_law"]) == 2
    assert main(["prove-law", "--steps", "99", "merge"]) == 2
    assert capsys.readouterr().err.count("scanopt: ") == 3


# ---- commands about laws, facts and the machine: as data, and with what they cannot do ----


def test_verdicts_on_laws_as_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scanopt.lab.checking._INSTANCES", 12)
    monkeypatch.setattr("scanopt.lab.checking.LOOPS", {})
    file = tmp_path / "laws.py"
    file.write_text(OWN + 'print("said by the file")\n', encoding="utf-8")
    assert main(["check", "--json", str(file)]) == 1
    said = capsys.readouterr()
    (found,) = json.loads(said.out)
    assert "said by the file" in said.err
    assert (found["law"], found["stands"], found["follows"]) == ("twice_is_once", False, None)
    assert {"attack", "detail", "counterexample"} < found["findings"][0].keys()
    assert main(["check-law", "--json", "right_identity"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["law"], found["stands"], found["findings"]) == ("right_identity", True, [])
    assert main(["check-law", "--json", "--mutate", "right_identity"]) == 0
    dropped = json.loads(capsys.readouterr().out)
    assert {x["law"] for x in dropped} == {"right_identity"}
    assert all(x["outcome"] != "survives" for x in dropped)


def test_mutants_of_facts_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check-facts", "--json", "neutral"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found
    assert {x["fact"] for x in found} == {"neutral"}
    assert all(x.keys() == {"fact", "rule", "without", "outcome", "detail", "witness"} for x in found)


def test_measured_costs_as_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "costs.json"
    assert main(["calibrate", "--json", "--operators", "add", "--seconds", "0.001", "--out", str(path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads(path.read_text(encoding="utf-8"))
    assert found["limits"]["operations"]["float64"] > 1e6


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "no-such.py"], "no such file"),
        (["check-law"], "name the laws to check"),
        (["check-law", "no_such_law"], "no_such_law"),
        (["check-law", "no/such.py:law"], "no/such.py"),
        (["check-law", "--markdown", "merge"], "--markdown is for --mutate"),
        (["check-law", "--mutate", "--markdown", "--json", "merge"], "do not go together"),
        (["prove-law"], "name the laws to prove"),
        (["prove-law", "--steps", "-1", "merge"], "--steps must be from 0"),
        (["prove-law", "--json", "--mutate", "merge"], "--json is for laws as they are"),
        (["check-facts", "neutrl"], "near: neutral"),
        (["check-facts", "--markdown", "--json"], "--markdown is of all facts"),
        (["calibrate", "--seconds", "-1"], "above zero"),
        (["calibrate", "--seconds", "nan"], "above zero"),
        (["calibrate", "--seconds", "inf"], "at most 60"),
        (["calibrate", "--operators", "ad"], "no sample of an operator 'ad'"),
        (["calibrate", "--operators", ""], "no sample of an operator ''"),
        (["bench", "--seconds", "nan", "{file}"], "above zero"),
        (["bench", "--seconds", "inf", "{file}"], "at most 60"),
        (["show", "--serve", "--port", "-1", "{file}"], "--port must be"),
        (["show", "--serve", "--port", "70000", "{file}"], "--port must be"),
        (["run", "--html", "{file}/below.html", "{file}"], "cannot be written"),
        (["ablate", "--without", "no_such", "{file}"], "no_such"),
        (["laws", "no_such"], "no law or ruleset"),
        (["laws", "--on", "no-such.py"], "no such file"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_what_cannot_be_done_is_one_line_and_exit_status_2(
    arguments: list[str], words: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([x.format(file=file) for x in arguments]) == 2
    said = [line for line in capsys.readouterr().err.splitlines() if line != "said by the file"]
    assert len(said) == 1
    assert said[0].startswith("scanopt: ")
    assert words in said[0]


@pytest.mark.parametrize(
    "arguments",
    [["doctor", "extra"], ["doctor", "--jsn"], ["cache", "--clear", "all"], ["cache", "--out", "x"],
     ["calibrate", "now"], ["calibrate", "--seconds", "long"], ["check"], ["check-facts", "--serch"],
     ["prove-law", "--steps", "many"]],
    ids=" ".join,
)  # fmt: skip
def test_arguments_that_a_command_does_not_have(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert f"usage: scanopt {arguments[0]}" in (said := capsys.readouterr().err)
    assert "error: " in said
    assert "--serch" not in arguments or "near: --search" in said


def test_costs_that_cannot_be_written(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = ["calibrate", "--operators", "add", "--seconds", "0.001"]
    assert main([*few, "--out", str(file / "costs.json")]) == 2
    assert "the costs cannot be written" in capsys.readouterr().err


def test_kernels_that_cannot_be_looked_up_or_deleted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No kernels are kept where there is no folder for them; one that may not be deleted is named."""
    monkeypatch.setattr(cached_files, "private_folder", lambda what: tmp_path / "none")
    assert main(["cache", "--clear"]) == 0
    assert "0 compiled kernels" in capsys.readouterr().out
    monkeypatch.setattr(cached_files, "private_folder", lambda what: tmp_path)
    (tmp_path / "a.so").write_bytes(b"12345")

    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "unlink", refuse)
    assert main(["cache", "--clear"]) == 2
    assert "cannot be deleted" in (said := capsys.readouterr().err)
    assert "a.so" in said


def test_doctor_says_which_costs_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SCANOPT_CACHE", str(tmp_path))
    for text, state, words in (
        (None, "missing", "none"),
        ("{", "fails", "not JSON"),
        ('{"scanopt costs": 1}', "works", ""),
    ):
        if text is not None:
            (tmp_path / "costs.json").write_text(text, encoding="utf-8")
        (found,) = [x for x in doctor._caches() if x.name == "measured costs"]
        assert found.state == state
        assert words in found.says
        assert bool(found.advice) == (state != "works")
    (tmp_path / "costs.json").write_text("{", encoding="utf-8")
    monkeypatch.setattr(doctor, "_executors", lambda: iter(()))
    assert main(["doctor"]) == 1
    assert "scanopt calibrate writes them anew" in capsys.readouterr().out
    monkeypatch.delenv("SCANOPT_CACHE")
    monkeypatch.setattr(doctor, "calibration_file", lambda: (_ for _ in ()).throw(RuntimeError("no folder")))
    assert [x.state for x in doctor._caches() if x.name == "measured costs"] == ["missing"]
