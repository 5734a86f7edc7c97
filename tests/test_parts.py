"""Of a loop of which only some rows are read these are kept, and only the steps run that they need; parts of parts."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T

x, w = T.dvectors("x", "w")
X, Y, U, W = T.dmatrices("X", "Y", "U", "W")
k, n = T.lscalars("k", "n")
RNG = np.random.default_rng(8)

Read = Callable[[Any], Any]

# What is read: how many rows are kept, and of how many steps.  LAST: that many last rows; a name is one of the program.
KNOWN: dict[str, tuple[Read, str, str]] = {
    "o[-1]": (lambda o: o[-1], "last row", "n"),
    "o[-3]": (lambda o: o[-3], "last 3 rows", "n"),
    "o[3]": (lambda o: o[3], "last row", "min(n, 4)"),
    "o[:3]": (lambda o: o[:3], "all rows", "min(n, 3)"),
    "o[1:3]": (lambda o: o[1:3], "all rows", "min(n, 3)"),
    "o[3::-1]": (lambda o: o[3::-1], "all rows", "min(n, 4)"),
    "o[-3:-1]": (lambda o: o[-3:-1], "last 3 rows", "n"),
    "o[-3::2]": (lambda o: o[-3::2], "last 3 rows", "n"),
    "o[:-4:-1]": (lambda o: o[:-4:-1], "last 3 rows", "n"),
    "o[::-1][0]": (lambda o: o[::-1][0], "last row", "n"),
    "o[::-1][:3]": (lambda o: o[::-1][:3], "last 3 rows", "n"),
    "o[1:][-1]": (lambda o: o[1:][-1], "last 2 rows", "n"),
    "o[len-1]": (lambda o: o[o.shape[0] - 1], "last row", "n"),
    "o[-1, 0]": (lambda o: o[-1, 0], "last row", "n"),
    "o[:, 0][-1]": (lambda o: o[:, 0][-1], "last row", "n"),
    "o[-2:, 1:]": (lambda o: o[-2:, 1:], "last 2 rows", "n"),
}
COMPUTED: dict[str, tuple[Read, str, str]] = {
    "o[k]": (lambda o: o[k], "last row", "[k]"),
    "o[-k]": (lambda o: o[-k], "last row", "[-k]"),
    "o[n // 2]": (lambda o: o[n // 2], "last row", "[n // 2]"),
    "o[len-1-k]": (lambda o: o[o.shape[0] - 1 - k], "last row", "- 1 - k]"),
    "o[len-3:]": (lambda o: o[o.shape[0] - 3 :], "last v rows", "- 3:]"),
    "o[:k]": (lambda o: o[:k], "last v rows", "[:k]"),
    "o[k:]": (lambda o: o[k:], "last v rows", "[k:]"),
    "o[-k:]": (lambda o: o[-k:], "last v rows", "[-k:]"),
    "o[:-k]": (lambda o: o[:-k], "last v rows", "[:-k]"),
    "o[k:k + 2]": (lambda o: o[k : k + 2], "last v rows", "[k:k + 2]"),
    "o[-3:k]": (lambda o: o[-3:k], "last v rows", "[-3:k]"),
    "o[:k][-1]": (lambda o: o[:k][-1], "last v rows", "[:k]"),
    "o[-k:, 0]": (lambda o: o[-k:, 0], "last v rows", "[-k:]"),
}
SEVERAL: dict[str, Read] = {
    "o[-1] + o[-3]": lambda o: o[-1] + o[-3],
    "o[-2:] and o[-1]": lambda o: [o[-2:], o[-1]],
    "o[-k:] and o[-1]": lambda o: [o[-k:], o[-1]],
    "o[:3] and o[5]": lambda o: [o[:3], o[5]],
    "o[:k] and o[-1]": lambda o: [o[:k], o[-1]],
}
ALL = {name: read for table in (KNOWN, COMPUTED) for name, (read, _, _) in table.items()} | SEVERAL
INPUTS = [x, U, X, k, n]


def loop(kind: str, end: bool, steps: str) -> Any:
    """A state that looks back one step, or two, or what is computed beside one."""

    def step(*args: Any) -> Any:
        entry, *states = args if steps == "sequence" else (0.1, *args)
        new = T.tanh(states[-1]) + T.cos(states[0]) + entry
        out = [new, T.exp(states[-1]) * new.sum()] if kind == "nit-sot" else new
        return (out, scanopt.until((new > 1.9).any())) if end else out

    start: list[Any] = [dict(initial=U, taps=[-2, -1]) if kind == "mit-sot" else x]
    start += [None] if kind == "nit-sot" else []
    count = {"constant": 9, "input": n, "sequence": None}[steps]
    found = scanopt.scan(step, X if steps == "sequence" else None, start, n_steps=count)[0]
    return found[1] if kind == "nit-sot" else found


def kept(f: Any) -> list[str]:
    """What loops keep, names of numbers aside."""
    return [re.sub(r"v\d+", "v", t) for t in re.findall(r"keep .*?= (.*?) of", str(f.program))]


def steps_of(f: Any) -> str:
    """The number of steps as it is computed."""
    text = str(f.program)
    made = dict(re.findall(r"^ *(v\d+) = (.*?)  +\S+$", text, re.MULTILINE))
    (found,) = re.findall(r"loop \w+ for (?:at most )?(\w+) steps", text)
    while names := [name for name in re.findall(r"v\d+", found) if name in made]:
        found = re.sub(rf"\b{names[0]}\b", made[names[0]], found)
    return found.replace("absolute(n)", "n").replace("minimum", "min")


def check(f: Any, seed: int, calls: int = 12) -> None:
    """Values, and errors, are those of the interpreter."""
    rng = np.random.default_rng(seed)
    for _ in range(calls):
        count = int(rng.integers(0, 9))
        rows = rng.normal(size=(count, 3)) + rng.choice([0.0, 0.5])
        values = [rng.normal(size=3), rng.normal(size=(2, 3)), rows, int(rng.integers(-9, 10)), count]
        try:
            expected = f.unoptimized(*values)
        except IndexError:
            with pytest.raises(IndexError):
                f(*values)
            continue
        found = f(*values)
        both = zip(found, expected, strict=True) if isinstance(expected, list) else [(found, expected)]
        for a, b in both:
            np.testing.assert_array_equal(a, b, strict=True)


@pytest.mark.share(5)
@pytest.mark.parametrize("kind", ["sit-sot", "mit-sot"])
@pytest.mark.parametrize("name", [*KNOWN, *COMPUTED])
def test_rows_that_are_kept_and_steps_that_are_run(name: str, kind: str) -> None:
    read, rows, steps = {**KNOWN, **COMPUTED}[name]
    f = scanopt.function(INPUTS, read(loop(kind, False, "input")), on_unused_input="ignore")
    assert kept(f) == [rows]
    found = steps_of(f)
    assert found == steps if name in KNOWN else found.startswith("rows_read(n, ") and steps in found


@pytest.mark.parametrize(
    "name", ["o[k]", "o[-k]", "o[-k:]", "o[:k]", "o[n // 2]", "o[-3:-1]", "o[:-4:-1]", "o[1:][-1]"]
)
def test_rows_that_are_kept_of_a_loop_that_may_end_early(name: str) -> None:
    read = {**KNOWN, **COMPUTED}[name][0]
    f = scanopt.function(INPUTS, read(loop("sit-sot", True, "input")), on_unused_input="ignore")
    assert [text.startswith("last") for text in kept(f)] == [True]


@pytest.mark.share(6)
@pytest.mark.parametrize("steps", ["constant", "input", "sequence"])
@pytest.mark.parametrize("end", [False, True])
@pytest.mark.parametrize("kind", ["sit-sot", "mit-sot", "nit-sot"])
def test_parts_of_traces_are_those_of_the_interpreter(kind: str, end: bool, steps: str) -> None:
    for number, (name, read) in enumerate(ALL.items()):
        if (number + len(kind) + len(steps) + end) % 3 == 0:
            f = scanopt.function(INPUTS, read(loop(kind, end, steps)), fp="exact", on_unused_input="ignore", name=name)
            check(f, number)


def test_no_more_rows_are_held_than_are_kept() -> None:
    """A loop that may end early holds no room for steps that it does not run, nor for rows that nobody reads."""
    o = scanopt.scan(lambda s: (2.0 * s, scanopt.until((s > 1e9).any())), None, [x], n_steps=n)[0]
    f = scanopt.function([x, k, n], [o[-k:], o[k:]])
    for a, b in zip(f(np.ones(3), 2, 10**12), f.unoptimized(np.ones(3), 2, 10**3), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_error_of_a_row_that_is_not_there() -> None:
    f = scanopt.function([x, k, n], scanopt.scan(lambda s: T.tanh(s), None, [x], n_steps=n)[0][k])
    for wrong in (5, -6):
        with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for axis 0 with size 5") as caught:
            f(np.ones(2), wrong, 5)
        assert any("'k'" in note or "k = " in note or " k" in note for note in caught.value.__notes__)


def test_a_saved_program_keeps_computed_rows(tmp_path: Any) -> None:
    o = scanopt.scan(lambda s: T.tanh(s) * 0.5, None, [x], n_steps=n)[0]
    f = scanopt.function([x, k, n], o[-k:])
    f.save(tmp_path / "f.json")
    again = scanopt.load(tmp_path / "f.json")
    assert str(again.program) == str(f.program)
    np.testing.assert_array_equal(again(np.ones(2), 3, 7), f(np.ones(2), 3, 7))
    assert again(np.ones(2), 0, 7).shape == (7, 2)


# Parts of arrays that are made of others: the program that is left, as text.  That rows have one length is known: where
# they might not, they are put together, which says so.
A = T.tensor("float64", (3, 4), "A")
u, v = (T.tensor("float64", (4,), name) for name in "uv")
P, Q = (T.tensor("float64", (None, 4), name) for name in "PQ")
ROWS: dict[str, tuple[Any, list[str]]] = {
    "the first of two": (T.concatenate([T.expand_dims(v, 0), P])[0], ["return v"]),
    "past the first": (T.concatenate([T.expand_dims(v, 0), P])[1:], ["return P"]),
    "a row past the first": (T.concatenate([A, P])[5], ["v = P[2]", "return v"]),
    "rows past the first": (T.concatenate([A, P])[4:], ["v = P[1:]", "return v"]),
    "in the first": (T.concatenate([A, P])[:2], ["v = A[:2]", "return v"]),
    "the last of two": (T.concatenate([P, T.expand_dims(v, 0)])[-1], ["return v"]),
    "before the last": (T.concatenate([P, T.expand_dims(v, 0)])[:-1], ["return P"]),
    "in the last": (T.concatenate([P, A])[-2], ["v = A[-2]", "return v"]),
    "zeros in front": (T.concatenate([T.zeros((2, P.shape[1])), P])[2:], ["return P"]),
    "zeros behind": (T.concatenate([P, T.zeros((2, P.shape[1]))])[: P.shape[0]], ["return P"]),
    "by length": (T.concatenate([P, Q])[P.shape[0] :], ["return Q"]),
    "one alone": (T.concatenate([X]), ["return X"]),
    "together at once": (
        T.concatenate([T.concatenate([P, Q]), A]), ["v = concatenate(P, Q, A, axis=0)", "return v"],
    ),
    "along a new axis": (T.stack([u, v])[-1], ["return v"]),
    "of a product": (T.dot(X, W)[-1], ["v = X[-1]", "v = dot(v, W)", "return v"]),
    "computed, of a map": (scanopt.map(lambda v: T.dot(v, W), X)[0][k], ["v = X[k]", "v = dot(v, W)", "return v"]),
    "all rows": (X[0:], ["return X"]),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_parts_of_arrays_that_are_made_of_others(name: str) -> None:
    output, text = ROWS[name]
    inputs = [u, v, X, P, Q, W, A, k]
    f = scanopt.function(inputs, output, on_unused_input="ignore")
    lines = [line for line in str(f.program).splitlines() if line.startswith(("v", "return"))]
    assert [re.sub(r"v\d+", "v", line.partition("  ")[0]) for line in lines] == text
    values = [RNG.normal(size=s) for s in (4, 4, (6, 4), (6, 4), (5, 4), (4, 4), (3, 4))]
    for place in (-6, 0, 2):
        np.testing.assert_allclose(f(*values, place), f.unoptimized(*values, place), rtol=1e-12)


MISFITS: dict[str, Any] = {
    "stacked": T.stack([x, w])[0] * 2.0,
    "the first of two": T.concatenate([T.expand_dims(w, 0), X])[0],
    "past the first": T.concatenate([T.expand_dims(w, 0), X])[1:],
    "by length": T.concatenate([X, Y])[: X.shape[0]],
    "states behind": T.concatenate([T.expand_dims(w, 0), scanopt.scan(lambda s: T.tanh(s), None, [x], n_steps=3)[0]])[
        1:
    ],
}


@pytest.mark.parametrize("name", MISFITS)
def test_rows_that_do_not_fit_are_told_of(name: str) -> None:
    """Also where rows of one of the arrays alone are read."""
    f = scanopt.function([x, w, X, Y], MISFITS[name], on_unused_input="ignore")
    with pytest.raises(ValueError, match=r"same shape|must match"):
        f(np.ones(3), np.ones(2), np.ones((2, 3)), np.ones((4, 2)))


@pytest.mark.parametrize(("first", "second", "third"), [("int16", "uint16", "float32"), ("int8", "uint8", "float16")])
def test_dtypes_that_meet_in_another_order_make_another_dtype(first: str, second: str, third: str) -> None:
    """NumPy's promotion is not associative, so arrays of several dtypes are put together as written."""
    a, b, c = (T.tensor(d, (None,), n) for d, n in zip((first, second, third), "abc", strict=True))
    for output in (T.concatenate([T.concatenate([a, b]), c]), T.concatenate([c, T.concatenate([a, b])])):
        f = scanopt.function([a, b, c], output.sum())
        values = [np.array([1], first), np.array([2], second), np.array([2**11, 1, 1], third)]
        expected = f.unoptimized(*values)
        assert (f(*values).dtype, f(*values)) == (expected.dtype, expected)


def test_parts_of_parts_of_many_steps_compile_soon() -> None:
    """Steps multiply; what is beyond all bounds is left alone."""
    f = scanopt.function([x], x[:-3:2][1:-2:3] * 1.0)
    np.testing.assert_array_equal(f(np.arange(40.0)), np.arange(40.0)[:-3:2][1:-2:3])
