"""profile: calls, steps and times of loops, in the function and in the interpreter."""

import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.loops.profile import ScanProfile, reset_profiles, scan_profile
from scanopt.program.serial import from_json, to_json

MODES = pytest.mark.parametrize("mode", [None, "unoptimized"])


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    """Each test starts and ends with no profile."""
    reset_profiles()
    yield
    reset_profiles()


def recurrence(profile: Any, mode: str | None = None, name: str | None = "rnn") -> Any:
    X, h0 = T.dmatrix("X"), T.dvector("h0")
    h, _ = scanopt.scan(lambda x, h: T.tanh(h + x), X, h0, name=name, profile=profile)
    return scanopt.function([X, h0], h, mode=mode)


def counts(title: str) -> tuple[int, int]:
    p = scan_profile(title)
    return p.calls, p.steps


@MODES
def test_calls_steps_and_times(mode: str | None) -> None:
    f = recurrence(True, mode)
    start = time.perf_counter()
    for n in (5, 7, 0):
        f(np.ones((n, 3)), np.ones(3))
    passed = time.perf_counter() - start
    p = scan_profile("rnn")
    assert (p.calls, p.steps) == (3, 12)
    assert 0 < p.in_step < p.total < passed
    assert p.overhead == pytest.approx(p.total - p.in_step)
    head, row = scanopt.profile_summary().splitlines()
    assert head.split()[:4] == ["scan", "calls", "steps", "total"]
    assert row.split()[:3] == ["rnn", "3", "12"]


@MODES
def test_titles(mode: str | None) -> None:
    x = np.ones((2, 3)), np.ones(3)
    recurrence("a title", mode)(*x)
    recurrence(True, mode, name=None)(*x)
    for nothing in (False, ""):
        recurrence(nothing, mode)(*x)
    titles = [line.split("  ")[0] for line in scanopt.profile_summary().splitlines()[1:]]
    assert sorted(titles)[0] == "a title"
    assert Path(__file__).name in sorted(titles)[1]
    assert len(titles) == 2


def test_what_is_not_profiled_reads_no_clock() -> None:
    f = recurrence(False)
    assert "clock" not in f.source
    assert "record" not in f.source
    f(np.ones((2, 3)), np.ones(3))
    assert scanopt.profile_summary() == ""


@MODES
def test_loops_that_end_early(mode: str | None) -> None:
    limit = T.dscalar("limit")
    step = lambda h: (h * 2, scanopt.until(h * 2 > limit))  # noqa: E731
    h, _ = scanopt.scan(step, outputs_info=1.0, n_steps=100, profile="doubling")
    scanopt.function([limit], h, mode=mode)(45.0)
    assert counts("doubling") == (1, 6)


@MODES
def test_nested_loops(mode: str | None) -> None:
    X = T.dmatrix("X")

    def row(x: Any, total: Any) -> Any:
        inner, _ = scanopt.scan(lambda v, s: T.tanh(s + v), x, total, profile="inner")
        return inner[-1]

    h, _ = scanopt.scan(row, X, 0.0, profile="outer")
    scanopt.function([X], h, mode=mode)(np.ones((4, 5)))
    assert counts("outer") == (1, 4)
    assert counts("inner") == (4, 20)
    assert scan_profile("inner").total <= scan_profile("outer").in_step


def test_merged_loops_count_for_both() -> None:
    X, h0 = T.dmatrix("X"), T.dvector("h0")
    a, _ = scanopt.scan(lambda x, h: T.tanh(h + x), X, h0, profile="a")
    b, _ = scanopt.scan(lambda x, h: T.cos(h * x), X, h0, profile="b")
    f = scanopt.function([X, h0], [a, b])
    assert [loop.profile for loop in f.program.loops()] == [("a", "b")]
    assert "profiled as a and b" in str(f.program)
    f(np.ones((3, 2)), np.ones(2))
    assert counts("a") == counts("b") == (1, 3)


def test_a_loop_that_is_computed_away() -> None:
    X = T.dmatrix("X")
    y, _ = scanopt.scan(lambda x: x * x, X, profile="squares")
    f = scanopt.function([X], y)
    assert not f.program.loops()
    for _ in range(3):
        f(np.ones((5, 2)))
    assert counts("squares") == (3, 0)
    assert scanopt.profile_summary().splitlines()[1].endswith("no loop left")


@pytest.mark.parametrize(("read", "steps"), [(0, 1), (slice(2), 2), (1, 2)])
def test_the_first_rows_count_the_steps_that_run(read: Any, steps: int) -> None:
    X, h0 = T.dmatrix("X"), T.dvector("h0")
    h, _ = scanopt.scan(lambda x, h: T.tanh(h + x), X, h0, profile="first")
    scanopt.function([X, h0], h[read])(np.ones((5, 3)), np.ones(3))
    assert counts("first") == (1, steps)


def test_programs_keep_titles(tmp_path: Path) -> None:
    X = T.dmatrix("X")
    y, _ = scanopt.scan(lambda x: x * x, X, profile="gone")
    h, _ = scanopt.scan(lambda x, h: T.tanh(h + x), X.sum(axis=1)[:-1], 0.0, profile="left")
    f = scanopt.function([X], [y, h])
    assert (f.program.profile, [x.profile for x in f.program.loops()]) == (("gone",), [("left",)])
    again = from_json(to_json(f.program))
    assert (again.profile, again.steps) == (f.program.profile, f.program.steps)
    f.save(tmp_path / "f.json")
    for g in (f, f.copy(), pickle.loads(pickle.dumps(f)), scanopt.load(tmp_path / "f.json")):
        g(np.ones((4, 2)))
    assert counts("left") == (4, 12)
    assert counts("gone") == (4, 0)


@MODES
def test_threads(mode: str | None) -> None:
    f = recurrence(True, mode)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: f(np.ones((n % 5, 3)), np.ones(3)), range(100)))
    assert counts("rnn") == (100, 200)


def test_a_title_is_only_text() -> None:
    title = "a'\"\n#\\ __import__('os')"
    f = recurrence(title)
    f(np.ones((2, 3)), np.ones(3))
    assert counts(title) == (1, 2)
    assert title not in f.source
    assert len(str(f.program).splitlines()) == len(str(recurrence("a").program).splitlines())


def test_a_profile_of_one_title() -> None:
    p = ScanProfile("rnn")
    p.record(steps=2, in_step=2.0, total=1.0)  # clocks may be coarse
    assert (p.calls, p.steps, p.overhead) == (1, 2, 0.0)


def test_the_table_is_printed_at_exit() -> None:
    code = (
        "import numpy as np, scanopt, scanopt.tensor as T\n"
        "X = T.dvector('X')\n"
        "h, _ = scanopt.scan(lambda x, h: T.tanh(h + x), X, 0.0, profile='at exit')\n"
        "scanopt.function([X], h)(np.ones(3))\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[1].split()[:4] == ["at", "exit", "1", "3"]


def test_operators_of_a_step() -> None:
    f = recurrence(True)
    f(np.ones((5, 3)), np.ones(3))
    p = scan_profile("rnn")
    assert sorted(count for count, _ in p.operators.values()) == [5] * len(p.operators)
    assert {name.split("(")[0] for name in p.operators} >= {"tanh"}
    assert 0 < sum(spent for _, spent in p.operators.values()) <= p.in_step * 1.01
    lines = str(p).splitlines()
    assert lines[1].split()[0] == "rnn"
    assert lines[2].split() == ["operator", "calls", "total", "share", "per", "call"]
    assert len(lines) == 3 + len(p.operators)


def test_operators_count_inner_loops_as_one() -> None:
    X = T.dmatrix("X")

    def row(x: Any, total: Any) -> Any:
        inner, _ = scanopt.scan(lambda v, s: T.tanh(s + v), x, total, name="inner")
        return inner[-1]

    h, _ = scanopt.scan(row, X, 0.0, profile="outer")
    scanopt.function([X], h, exclude=["push_out_loops"])(np.ones((4, 5)))
    assert scan_profile("outer").operators["loop inner"][0] == 4


@MODES
def test_profile_of_a_function(mode: str | None) -> None:
    X, h0 = T.dmatrix("X"), T.dvector("h0")
    h, _ = scanopt.scan(lambda x, h: T.tanh(h + x), X, h0, name="rnn")
    k, _ = scanopt.scan(lambda x, k: x * k - k, X, h0)
    f = scanopt.function([X, h0], [h, k[-1]], mode=mode, profile=True, name="net")
    assert f.profile is not None
    for _ in range(2):
        f(np.ones((3, 2)), np.ones(2))
    assert (f.profile.title, f.profile.calls) == ("net", 2)
    assert f.profile.total > 0
    assert f.profile.loops["rnn"].calls == 2
    assert sum(p.steps for p in f.profile.loops.values()) == 12
    assert str(f.profile).startswith("net: 2 calls, ")
    assert scanopt.function([X, h0], h).profile is None


def test_profile_by_config_and_by_title() -> None:
    x = T.dvector("x")
    with scanopt.config.change_flags(profile=True):
        f = scanopt.function([x], x + 1)
    f([1.0])
    assert f.profile is not None
    assert (f.profile.title, f.profile.calls, f.profile.loops) == ("a function", 1, {})
    g = scanopt.function([x], x + 1, profile="mine")
    assert g.profile is not None
    assert g.profile.title == "mine"
    with pytest.raises(TypeError, match="profile must be True, False or a title, found 2"):
        scanopt.function([x], x, profile=2)  # type: ignore[arg-type]


def test_the_op_has_the_profile() -> None:
    f = recurrence(True)
    node = f.outputs[0].owner
    f(np.ones((5, 3)), np.ones(3))
    assert node.op.profile is scan_profile("rnn")
    assert recurrence(False).outputs[0].owner.op.profile is None
