"""Errors of a program that runs say which variables and which loops they are about, and stay what they are."""

import linecache
import pickle
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scanopt.tensor as T
from scanopt import function, grad, ifelse, interpret, load, scan
from scanopt.loops.failures import add_notes, loop_notes, operator_note

X, W, U = T.dmatrices("X", "W", "U")
h0 = T.dvector("h0")
k = T.lscalar("k")
MODES = [None, "unoptimized"]


def ones(*shape: int) -> Any:
    return np.ones(shape)


def rnn(name: str | None = "rnn") -> Any:
    return scan(lambda r, h, W, U: T.tanh(r @ W + h @ U), X, h0, [W, U], name=name)[0]


def line_of(part: str) -> str:
    """The place of the only line of this file that starts with these words."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    (found,) = (i for i, text in enumerate(lines, 1) if text.strip().startswith(part))
    return f"{__file__}:{found}"


RNN = f"scan 'rnn' ({line_of('return scan(lambda r, h, W, U: T.tanh(r @ W')})"


def failure(call: Callable[..., Any], *values: Any, kind: type[Exception] = ValueError) -> Exception:
    with pytest.raises(kind) as info:
        call(*values)
    assert type(info.value) is kind
    if given := getattr(info.value, "__notes__", None):  # which axes clash: see test_theano_habits.py
        info.value.__notes__ = [re.sub(r"; axis \d.*", "", note) for note in given]
    return info.value


def notes(call: Callable[..., Any], *values: Any, kind: type[Exception] = ValueError) -> list[str]:
    found = list(getattr(failure(call, *values, kind=kind), "__notes__", ()))
    assert len(set(found)) == len(found)
    return found


# Inside a loop


def test_operator_that_left_its_loop() -> None:
    f = function([X, W, U, h0], rnn())
    error = failure(f, ones(4, 3), ones(5, 2), ones(2, 2), ones(2))
    assert str(error) == str(failure(np.dot, ones(4, 3), ones(5, 2)))
    first, second = error.__notes__
    assert re.fullmatch(r"in `v\d+ = dot\(X, W\)`: X float64\[4, 3\], W float64\[5, 2\]", first)
    assert second == f"computed for {RNN}"


def test_index_of_a_slice_that_was_a_loop() -> None:
    f = function([h0], scan(lambda i: h0[i + 1], T.arange(h0.shape[0]))[0])
    assert "loop" not in str(f.program)
    first, second = notes(f, ones(3), kind=IndexError)
    assert first == "an index of h0"
    assert second.startswith("computed for a scan")


def test_operator_of_a_step() -> None:
    f = function([X, W, U, h0], rnn())
    first, second = notes(f, ones(4, 3), ones(3, 2), ones(5, 2), ones(2))
    assert re.fullmatch(r"in `v\d+ = dot\(h0\[t-1\], U\)`: h0\[t-1\] float64\[2\], U float64\[5, 2\]", first)
    assert second == f"of {RNN}"


def test_initial_state_that_does_not_fit() -> None:
    f = function([X, W, U, h0], rnn())
    first, second = notes(f, ones(4, 3), ones(3, 2), ones(2, 2), ones(3))
    assert first.endswith("h0[t-1] float64[3], U float64[2, 2]")
    assert second == f"of {RNN}"


def test_a_state_that_no_step_reads_keeps_its_shape() -> None:
    total = lambda r, s, sum: [r * 2, sum + s.shape[0]]  # noqa: E731
    f = function([X, h0], [scan(lambda r, s: r * 2, X, h0)[0], *scan(total, X, [h0, T.constant(0, dtype="int64")])[0]])
    assert [r.shape for r in f(ones(4, 3), ones(3))] == [(4, 3), (4, 3), (4,)]
    for run in (f, f.as_written, f.unoptimized):
        with pytest.raises(ValueError, match="changes its shape"):
            run(ones(4, 3), ones(1))


def test_states_that_become_the_same_each_keep_their_shape() -> None:
    x = T.dvector("x")
    f = function([X, x, h0], scan(lambda r, s, q: [r, r], X, [x, h0])[0])
    assert [r.shape for r in f(ones(4, 3), ones(3), ones(3))] == [(4, 3), (4, 3)]
    for lengths in ((1, 3), (3, 1)):
        for run in (f, f.as_written, f.unoptimized):
            with pytest.raises(ValueError, match="changes its shape"):
                run(ones(4, 3), *map(ones, lengths))


def test_the_loop_of_the_first_rows_is_still_the_loop_that_was_written() -> None:
    for first in (0, slice(2), 1):
        f = function([X, W, U, h0], rnn()[first])
        assert all(loop.label == "rnn" for loop in f.program.loops())
        assert f"of {RNN}" in notes(f, ones(4, 3), ones(3, 2), ones(5, 2), ones(2))
        assert any("h0" in note for note in notes(f, ones(4, 3), ones(3, 2), ones(5, 2), ones(2)))


@pytest.mark.parametrize("read", [lambda t: t, lambda t: t[0], lambda t: t[-1], lambda t: t[:2], lambda t: t.sum()])
@pytest.mark.parametrize("step", [lambda r, h: h + r, lambda r, h: T.tanh(h + r), lambda r, h: h * 0.5 + r])
def test_a_state_that_its_steps_broadcast_says_what_to_start_from(step: Any, read: Any) -> None:
    f = function([X, h0], read(scan(step, X, h0)[0]))
    for run in (f, f.as_written, f.unoptimized):
        error = failure(run, ones(4, 3), ones(1))
        told = " ".join([str(error), *getattr(error, "__notes__", ())])
        assert "start from an array that is broadcast to (3,) already" in told
        assert re.search(r"h0", told)
        assert re.search(rf"scan \({re.escape(line_of('f = function([X, h0], read(scan(step, X, h0)[0]))'))}\)", told)


def test_operands_are_told_back_to_the_inputs_of_the_program() -> None:
    f = function([X, W], scan(lambda r, q: r * q, [X, W])[0][-1])
    text = " ".join(notes(f, ones(4, 3), ones(4, 2)))
    assert "X[:" in text
    assert "W[:" in text


@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_an_index_of_64_bits_that_is_no_length(backend: str) -> None:
    x, p = T.dvector("x"), T.tensor("uint64", (None,), "p")
    rows = scan(lambda i, x: x[i] * 2, p, non_sequences=x)[0]
    written = scan(lambda i, x: T.set_subtensor(x[i], 5.0), p, non_sequences=x)[0]
    f = function([x, p], [rows, written, T.repeat(x[None], p[0], axis=0).shape[0]], backend=backend)
    assert f(ones(3), np.array([1, 2], "uint64"))[0].tolist() == [2.0, 2.0]
    for run in (f, f.as_written, f.unoptimized):
        with pytest.raises(OverflowError):
            run(ones(3), np.array([2**64 - 1, 0], "uint64"))


@pytest.mark.parametrize("mode", MODES)
def test_an_index_too_large_is_refused_before_one_out_of_range(mode: str | None) -> None:
    p, n = T.lvector("p"), T.scalar("n", "uint64")
    f = function([X, p, n], scan(lambda i, X, n: X[i, n], p, None, [X, n])[0], mode=mode)
    assert f(ones(2, 2), [0, 1, 0], np.uint64(1)).tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(OverflowError):
        f(ones(2, 2), [7, 1, 0], np.uint64(2**64 - 1))


def test_operands_without_names_are_told_by_how_they_are_made() -> None:
    f = function([X, W, U, h0], rnn())
    first, where, second = notes(f, ones(4, 3), ones(3, 2), ones(2, 3), ones(2))
    v = r"(v\d+)"
    found = re.fullmatch(rf"in `{v} = {v}\[t\] \+ {v}`: {v}\[t\] float64\[2\], {v} float64\[3\]", first)
    assert found is not None
    _, a, b, again, other = found.groups()
    assert (a, b) == (again, other)
    assert where == f"where {a} = dot(X, W), {b} = dot(h0[t-1], U)"
    assert second == f"of {RNN}"


def test_unoptimized() -> None:
    f = function([X, W, U, h0], rnn(), mode="unoptimized")
    error = failure(f, ones(4, 3), ones(5, 2), ones(2, 2), ones(2))
    assert str(error) == str(failure(np.dot, ones(3), ones(5, 2)))
    assert error.__notes__ == ["in `dot(X[t], W)`: X[t] float64[3], W float64[5, 2]", f"of {RNN}"]
    assert notes(f, ones(4, 3), ones(3, 2), ones(2, 3), ones(2)) == [
        "in `dot(X[t], W) + dot(h0[t-1], U)`: dot(X[t], W) float64[2], dot(h0[t-1], U) float64[3]",
        f"of {RNN}",
    ]


def test_interpret_and_as_written() -> None:
    values = [ones(4, 3), ones(3, 2), ones(5, 2), ones(2)]
    out = rnn()
    f = function([X, W, U, h0], out)
    for call in (f.as_written, f.unoptimized, lambda *v: interpret(out, zip([X, W, U, h0], v, strict=True))):
        assert notes(call, *values)[-1] == f"of {RNN}"


def test_a_loop_without_a_name_is_told_by_its_place() -> None:
    f = function([X, W, U, h0], rnn(name=None))
    assert notes(f, ones(4, 3), ones(3, 2), ones(5, 2), ones(2))[-1] == "of " + RNN.replace("scan 'rnn'", "a scan")


@pytest.mark.parametrize("mode", MODES)
def test_two_loops(mode: str | None) -> None:
    a, _ = scan(lambda r, h: T.tanh(h + r.sum()), X, h0, name="first")
    b, _ = scan(lambda r, h, W: T.tanh(r @ W + h), a[::-1], ones(2), [W], name="second")
    f = function([X, h0, W], b, mode=mode)
    told = "\n".join(notes(f, ones(4, 3), ones(3), ones(4, 2)))
    assert "scan 'second'" in told
    assert "W float64[4, 2]" in told
    a, _ = scan(lambda r, h, W: T.tanh(h @ W + r.sum()), X, h0, [W], name="first")
    b, _ = scan(lambda r, h: T.tanh(r + h), a[::-1], ones(2), name="second")
    f = function([X, h0, W], b, mode=mode)
    told = "\n".join(notes(f, ones(4, 3), ones(3), ones(4, 2)))
    assert "of scan 'first'" in told
    assert "second" not in told


@pytest.mark.parametrize("mode", MODES)
def test_nested_loops(mode: str | None) -> None:
    def row(r: Any, h: Any, W: Any) -> Any:
        return h + scan(lambda x, s, W, h: T.tanh(s + x * (s @ W)), r, h, [W, h], name="inner")[0][-1]

    out, _ = scan(row, X, h0, [W], name="outer")
    f = function([X, h0, W], out, mode=mode)
    first, *rest = notes(f, ones(4, 3), ones(2), ones(5, 2))
    assert first.endswith("float64[2], W float64[5, 2]")
    assert [re.sub(r" \(.*", "", text) for text in rest] == ["of scan 'inner'", "of scan 'outer'"]


@pytest.mark.parametrize("mode", MODES)
def test_gradient(mode: str | None) -> None:
    f = function([X, W, U, h0], grad(rnn().sum(), W), mode=mode)
    told = notes(f, ones(4, 3), ones(3, 2), ones(5, 2), ones(2))
    assert told[0].endswith("h0[t-1] float64[2], U float64[5, 2]")
    assert told[1:] == [f"of {RNN}"]


@pytest.mark.parametrize("mode", MODES)
def test_error_of_values(mode: str | None) -> None:
    Y = T.dtensor3("Y")
    out, _ = scan(lambda A, s, W: T.linalg.inv(A + s) @ W, Y, W, [W], name="inverses")
    f = function([Y, W], out, mode=mode)
    first, *_, last = notes(f, np.zeros((2, 2, 2)), np.zeros((2, 2)), kind=np.linalg.LinAlgError)
    assert "float64[2, 2]" in first
    assert last.startswith("of scan 'inverses' (")


@pytest.mark.parametrize("mode", MODES)
def test_values_that_are_in_no_loop_any_more(mode: str | None) -> None:
    a = np.linalg.LinAlgError
    cells = lambda step: scan(step, X, name="rows")[0]  # noqa: E731
    steps = (lambda x: x[5] * 2, lambda x: x[5] + W[0, 0], lambda x: T.exp(x[5]), lambda x: T.linalg.solve(W, x))
    for step, kind in zip(steps, (IndexError, IndexError, IndexError, a), strict=True):
        f = function([X, W], cells(step), mode=mode, on_unused_input="ignore")
        told = notes(f, ones(2, 3), np.zeros((3, 3)), kind=kind)
        assert "scan 'rows' (" in told[-1]
    powers = scan(lambda p, A: p * A, None, T.ones_like(h0), h0, n_steps=k, name="powers")[0]
    told = notes(function([h0, k], powers[-1], mode=mode), ones(3), 0, kind=IndexError)
    assert told[-1].startswith("on a result of scan 'powers' (")


# Outside of loops


def test_operator_outside_of_loops() -> None:
    f = function([X, W], X @ W)
    (told,) = notes(f, ones(4, 3), ones(5, 2))
    assert re.fullmatch(r"in `v\d+ = dot\(X, W\)`: X float64\[4, 3\], W float64\[5, 2\]", told)
    assert notes(f.unoptimized, ones(4, 3), ones(5, 2)) == ["in `dot(X, W)`: X float64[4, 3], W float64[5, 2]"]


@pytest.mark.parametrize("mode", MODES)
def test_the_value_of_an_index_is_told(mode: str | None) -> None:
    told = notes(function([X, k], (X + 1)[k], mode=mode), ones(4, 3), 7, kind=IndexError)
    assert "k int64[] = 7" in told[0]


@pytest.mark.parametrize("mode", MODES)
def test_last_row_of_no_steps(mode: str | None) -> None:
    out, _ = scan(lambda v: v * v, X, n_steps=k, name="squares")
    f = function([X, k], out[-1], mode=mode)
    error = failure(f, ones(4, 3), 0, kind=IndexError)
    assert str(error) == "index -1 is out of bounds for axis 0 with size 0"
    first, *_, last = error.__notes__
    assert "[-1]`: " in first
    assert "float64[0, 3]" in first
    assert last == f"on a result of scan 'squares' ({line_of('out, _ = scan(lambda v: v * v, X, n_steps=k, name')})"


@pytest.mark.parametrize("mode", MODES)
def test_last_row_of_a_recurrence_without_steps(mode: str | None) -> None:
    f = function([X, W, U, h0], rnn()[-1], mode=mode)
    told = notes(f, ones(0, 3), ones(3, 2), ones(2, 2), ones(2), kind=IndexError)
    assert RNN in told[-1]


@pytest.mark.parametrize("mode", MODES)
def test_branch(mode: str | None) -> None:
    f = function([X, W, k], ifelse(T.gt(k, 0), X @ W, X), mode=mode)
    assert f(ones(4, 3), ones(5, 2), 0).shape == (4, 3)
    (told,) = notes(f, ones(4, 3), ones(5, 2), 1)
    assert told.endswith("X float64[4, 3], W float64[5, 2]")


@pytest.mark.parametrize("mode", MODES)
def test_branch_in_a_step(mode: str | None) -> None:
    step = lambda r, h, W: h + ifelse(T.gt(h.sum(), 0), h @ W, h)  # noqa: E731
    f = function([X, W, h0], scan(step, X, h0, [W], name="lazy")[0], mode=mode)
    first, last = notes(f, ones(4, 3), ones(5, 2), ones(3))
    assert first.endswith("h0[t-1] float64[3], W float64[5, 2]")
    assert last.startswith("of scan 'lazy' (")


# What stays


@pytest.mark.parametrize("mode", MODES)
def test_requirements_say_it_themselves(mode: str | None) -> None:
    f = function([X, k], scan(lambda v: v * v, X, n_steps=k, name="squares")[0], mode=mode)
    error = failure(f, ones(4, 3), 5)
    assert __file__ in str(error)
    assert not hasattr(error, "__notes__")


@pytest.mark.parametrize("mode", MODES)
def test_errors_of_inputs_have_no_notes(mode: str | None) -> None:
    f = function([X, W], X @ W, mode=mode)
    assert not notes(f, ones(3), ones(3, 2), kind=TypeError)


@pytest.mark.parametrize("mode", MODES)
def test_a_call_that_does_not_raise_is_as_before(mode: str | None) -> None:
    f = function([X, W, U, h0], rnn(), mode=mode)
    values = [ones(4, 3), ones(3, 2), ones(2, 2), ones(2)]
    before = f(*values)
    failure(f, ones(4, 3), ones(5, 2), ones(2, 2), ones(2))
    np.testing.assert_array_equal(f(*values), before)
    assert "try" not in f.source


def test_each_call_has_an_error_of_its_own() -> None:
    f = function([X, W], X @ W)
    for rows in (5, 6):
        assert f"W float64[{rows}, 2]" in notes(f, ones(4, 3), ones(rows, 2))[0]


@pytest.mark.parametrize("again", ["load", "pickle"])
def test_program_from_a_file(again: str, tmp_path: Path) -> None:
    f = function([X, W, U, h0], rnn())
    f.save(tmp_path / "f.json")
    g = load(tmp_path / "f.json") if again == "load" else pickle.loads(pickle.dumps(f))
    first, second = notes(g, ones(4, 3), ones(3, 2), ones(5, 2), ones(2))
    assert first.endswith("h0[t-1] float64[2], U float64[5, 2]")
    assert second == "of loop 'rnn'"


def test_tracebacks_show_the_lines_of_their_own_program() -> None:
    for out, text in ((X @ W, "dot(x0, x1)"), ((X + 1) @ W, "dot(v")):
        shown = "".join(traceback.format_exception(failure(function([X, W], out), ones(4, 3), ones(5, 2))))
        assert text in shown
    linecache.clearcache()


# The parts


def test_no_note_twice() -> None:
    error = ValueError("wrong")
    add_notes(error, ["a", "b"])
    add_notes(error, ["b", "c"])
    assert error.__notes__ == ["a", "b", "c"]


def test_loops_are_told_once() -> None:
    places = {"of": ["scan 'a' (f.py:3)"], "from": ["scan 'a' (f.py:3)", "scan 'b' (f.py:9)"], "for": []}
    assert loop_notes(ValueError("wrong"), places) == ["of scan 'a' (f.py:3)", "on a result of scan 'b' (f.py:9)"]
    assert len(loop_notes(ValueError("wrong (scan at f.py:30)"), places)) == 2
    assert loop_notes(ValueError("wrong (scan at f.py:3)"), places) == ["on a result of scan 'b' (f.py:9)"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.ones((2, 0)), "x float64[2, 0]"),
        (np.float32(1), "x float32[]"),
        (np.int64(3), "x int64[] = 3"),
        (None, "x NoneType"),
    ],
)
def test_operands(value: Any, text: str) -> None:
    assert operator_note("v1 = -x", [("x", value)]) == f"in `v1 = -x`: {text}"


def test_many_operands_are_cut() -> None:
    text = operator_note("v1 = " + "x" * 500, [(f"x{i}", np.ones(1)) for i in range(9)])
    assert text.endswith("x5 float64[1], 3 more")
    assert len(text) < 300
