"""Functions computed part by part give what they give of the whole, and what is not independent is refused."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from time_programs import PROGRAMS, REFUSED, arguments

import scanopt
import scanopt.tensor as T
from scanopt.loops.effects import after, assert_true
from scanopt.scale.kinds import LaneKind, Partial
from scanopt.scale.plans import DependenceError

Array = np.ndarray[Any, Any]


def leaves(x: Any) -> list[Array]:
    return list(x.values()) if isinstance(x, dict) else list(x) if isinstance(x, list) else [x]


def same_bits(found: Any, expected: Any) -> None:
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def close(found: Any, expected: Any) -> None:
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, 1e-9, 1e-10)


# Along time


@pytest.mark.share(6)
@pytest.mark.parametrize("name", PROGRAMS)
def test_parts_of_time(name: str) -> None:
    """Three phases by parts of several sizes, one step among them; a chain gives the bits of the whole."""
    program = PROGRAMS[name]
    inputs, outputs = program.make()
    f = scanopt.function(inputs, outputs, fp="exact" if program.exact else "reassoc")
    over = {v.name: 0 for v in inputs if v.name in ("x", "a")}
    values = arguments(inputs, 23)
    expected = f(*values)
    d = scanopt.distribute(f, over, chunks=5, on="here")
    assert [r.how.name for r in d.plan.rounds] == program.kinds
    for chunks, n in ((5, 23), (1, 4), (23, 23), (2, 3)):
        d._chunks = chunks
        values = arguments(inputs, n)
        (same_bits if program.exact else close)(d(*values), f.unoptimized(*values))
    values = arguments(inputs, 23)
    if not program.exact and name != "in a row":
        with pytest.raises(DependenceError, match="added up in another order"):
            scanopt.distribute(scanopt.function(inputs, outputs, fp="exact"), over)
        g = scanopt.function(inputs, outputs, fp="exact")
        same_bits(scanopt.distribute(g, over, chunks=4, schedule="chain", on="here")(*values), g.unoptimized(*values))
    close(expected, f.unoptimized(*values))


@pytest.mark.parametrize("name", REFUSED)
def test_steps_that_do_not_compose(name: str) -> None:
    """They are refused, with the operator named, and run as a chain."""
    make, named = REFUSED[name]
    inputs, outputs = make()
    f = scanopt.function(inputs, outputs, fp="exact")
    with pytest.raises(DependenceError, match=f"Nor does its step compose: .*{named}"):
        scanopt.distribute(f, {"x": 0})
    values = arguments(inputs, 17)
    same_bits(scanopt.distribute(f, {"x": 0}, chunks=4, schedule="chain", on="here")(*values), f.unoptimized(*values))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_out_of_range() -> None:
    """Summaries that overflow where the steps do not are not used."""
    x, a = T.dvectors("x", "a")
    f = scanopt.function([x, a], scanopt.scan(lambda x, a, s: a * s + x, [x, a], np.float64(0.0))[0])
    values = [np.zeros(600), np.full(600, 10.0)]
    same_bits(scanopt.distribute(f, {"x": 0, "a": 0}, chunks=350, on="here")(*values), f.unoptimized(*values))
    greatest = scanopt.function([x], scanopt.scan(T.maximum, x, np.float64(-np.inf))[0], fp="exact")
    d = scanopt.distribute(greatest, {"x": 0}, chunks=2, on="here")
    for special in itertools.permutations([0.0, -0.0, np.nan, -1.0, -0.0]):
        same_bits(d(np.array(special)), greatest.unoptimized(np.array(special)))


def test_a_linear_state_may_be_too_large() -> None:
    x = T.dmatrix("x")
    f = scanopt.function([x], scanopt.scan(lambda x, s: s @ T.outer(x, x) + x, x, T.zeros_like(x[0]))[0][-1])
    with pytest.raises(ValueError, match=r'5000 x 5000 numbers .* schedule="chain"'):
        scanopt.distribute(f, {"x": 0}, chunks=1, on="here")(np.zeros((2, 5000)))


# Along lanes


def network() -> Any:
    X, W, U = T.dtensor3("X"), T.dmatrix("W"), T.dmatrix("U")
    h, _ = scanopt.scan(lambda x, h, W, U: T.tanh(x @ W + h @ U), X, T.zeros((X.shape[1], U.shape[0])), [W, U])
    cost = (h[-1] ** 2).sum()
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(5, 13, 3)), rng.normal(size=(3, 4)), rng.normal(size=(4, 4)) / 2]
    return [X, W, U], {"h": h, "cost": cost, "dW": T.grad(cost, W), "dU": T.grad(cost, U)}, values


def test_a_batch_and_its_gradient() -> None:
    inputs, outputs, values = network()
    f = scanopt.function(inputs, outputs)
    d = scanopt.distribute(f, {"X": 1}, chunks=4)
    assert d.plan.kinds == [LaneKind(1), Partial("add"), Partial("add"), Partial("add")]
    close(d(*values), f(*values))
    done: list[Any] = []
    d(*values, progress=lambda i, n: done.append((i, n)))
    assert done == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_exact_lanes() -> None:
    """One lane mapped over gives the same bits in any company; a product of all lanes is refused."""
    X, W, U = T.dtensor3("X"), T.dmatrix("W"), T.dmatrix("U")

    def one(x: Any) -> Any:
        return scanopt.scan(lambda x, h: T.tanh(W.T @ x + U.T @ h), x, T.zeros_like(U[0]))[0]

    mapped = scanopt.function([X, W, U], scanopt.map(one, X)[0], fp="exact")
    _, _, (x, w, u) = network()
    x = np.ascontiguousarray(x.transpose(1, 0, 2))
    same_bits(scanopt.distribute(mapped, {"X": 0}, chunks=5)(x, w, u), mapped(x, w, u))
    inputs, outputs, _ = network()
    with pytest.raises(DependenceError, match=r'fp="exact": dot at .*test_distribute'):
        scanopt.distribute(scanopt.function(inputs, outputs["h"], fp="exact"), {"X": 1})


def sampler(fp: str = "exact") -> Any:
    """A random walk for each number of a lane, which makes its key."""
    i, R = T.lvector("i"), T.random

    def walk(i: Any) -> Any:
        key = R.fold_in(R.key(7), i)
        return scanopt.scan(
            lambda s, k: [s * 0.5 + R.normal(k), R.advance(k)], outputs_info=[np.float64(0), key], n_steps=9
        )[0][0]

    return scanopt.function([i], scanopt.map(walk, i)[0], fp=fp)


def test_a_sampler_with_keys() -> None:
    """Each lane has its own key: parts draw what the whole draws."""
    f = sampler()
    same_bits(scanopt.distribute(f, {"i": 0}, chunks=3)(np.arange(10)), f(np.arange(10)))


def test_who_computes_makes_no_difference() -> None:
    """Threads, processes and this thread: the same plan, the same bits."""
    inputs, outputs, values = network()
    f, g = scanopt.function(inputs, outputs), scanopt.function(*PROGRAMS["in a row"].make())
    for h, over, args in ((f, {"X": 1}, values), (g, {"x": 0}, arguments(list(g.inputs), 50))):
        found = [
            scanopt.distribute(h, over, chunks=6, on=on, workers=2)(*args) for on in ("here", "threads", "processes")
        ]
        same_bits(found[1], found[0])
        same_bits(found[2], found[0])


def test_a_saved_function(tmp_path: Path) -> None:
    inputs, outputs, values = network()
    f = scanopt.function(inputs, outputs["h"])
    f.save(tmp_path / "f.json")
    close(scanopt.distribute(scanopt.load(tmp_path / "f.json"), {"X": 1}, chunks=4)(*values), f(*values))


def test_shared_variables_are_read_at_each_call() -> None:
    x, w = T.dvector("x"), scanopt.shared(2.0, "w")
    d = scanopt.distribute(scanopt.function([x], x * w), {"x": 0})
    np.testing.assert_array_equal(d(np.arange(9.0)), np.arange(9.0) * 2)
    w.set_value(3.0)
    np.testing.assert_array_equal(d(np.arange(9.0)), np.arange(9.0) * 3)


@pytest.mark.parametrize("on", ["threads", "processes"])
def test_files_larger_than_parts(tmp_path: Path, on: str) -> None:
    """Mapped files in, mapped files out: parts are read and written where they are computed."""
    f = scanopt.function(*PROGRAMS["filter"].make())
    data = np.random.default_rng(0).normal(size=10_000)
    np.save(tmp_path / "x.npy", data)
    x = np.load(tmp_path / "x.npy", mmap_mode="r")
    out = np.lib.format.open_memmap(tmp_path / "y.npy", "w+", float, (10_000,))
    found = scanopt.distribute(f, {"x": 0}, chunks=1024, on=on, workers=2)(x, out=out)
    assert isinstance(found, np.memmap)
    close(np.load(tmp_path / "y.npy"), f(data))


def test_places_that_do_not_fit() -> None:
    x = T.dmatrix("x")
    d = scanopt.distribute(scanopt.function([x], {"y": x * 2, "s": x.sum(axis=0)}), {"x": 0})
    data = np.ones((4, 3))
    with pytest.raises(ValueError, match=r"out for y is float64\[5, 3\]"):
        d(data, out={"y": np.empty((5, 3))})
    with pytest.raises(ValueError, match="out for s has no place"):
        d(data, out={"s": np.empty(3)})
    with pytest.raises(ValueError, match="not an output"):
        d(data, out={"z": np.empty(3)})


def test_arguments() -> None:
    x, y = T.dvectors("x", "y")
    d = scanopt.distribute(scanopt.function([x, y], x * y), {"x": 0, "y": 0})
    with pytest.raises(ValueError, match=r"different lengths: 'x' .* has 3 along axis 0, 'y' .* has 4"):
        d(np.ones(3), np.ones(4))
    assert d(np.ones(0), np.ones(0)).shape == (0,)
    with pytest.raises(ValueError, match="not an input"):
        scanopt.distribute(scanopt.function([x], x), {"z": 0})
    with pytest.raises(ValueError, match="1 axis"):
        scanopt.distribute(scanopt.function([x], x), {"x": 1})
    n, z = scanopt.shared(0.0, "n"), T.vector("z", shape=(4,))
    updating, fixed = scanopt.function([x], x, updates={n: n + 1}), scanopt.function([z], z + 1)
    with pytest.raises(ValueError, match="updates 'n'"):
        scanopt.distribute(updating, {"x": 0})
    with pytest.raises(ValueError, match="declare that length None"):
        scanopt.distribute(fixed, {"z": 0})


def checked(x: Any) -> Any:
    return after(T.constant(np.float64(2.0)), [assert_true((x > 1.0).any(), "none is large")])


# Refusals: a program, what is divided, and the dependence that is named

A, V, S = T.dmatrix("A"), T.dvector("v"), T.lvector("i")


def loop(step: Any, sequences: Any, initial: Any = None, **more: Any) -> Any:
    return scanopt.scan(step, sequences, initial, **more)[0]


DEPENDENT = {
    "mean": (A.mean(axis=0), "mean of 'A'"),
    "variance": (A.var(axis=0), "var of 'A'"),
    "normalised": (A / A.sum(axis=0), "divide of a result of sum"),
    "centred": (A - A.mean(axis=0), "mean of 'A'"),
    "softmax over the batch": (T.softmax(A, axis=0), "softmax of 'A'"),
    "running sum": (T.cumsum(A, axis=0), "cumsum of 'A'"),
    "sorted": (T.sort(A, axis=0), "sort of 'A'"),
    "place of the greatest": (T.argmax(A, axis=0), "argmax of 'A'"),
    "backwards": (A[::-1], "getitem of 'A'"),
    "first row": (A + A[0], "getitem of 'A'"),
    "neighbours": (A[1:] - A[:-1], "getitem of 'A'"),
    "shuffled": (A[T.constant([1, 0])], "getitem of 'A'"),
    "all pairs": (A @ A.T, "dot of 'A'"),
    "inverse": (T.linalg.inv(A), "inv of 'A'"),
    "weights of the batch": (V @ A, "dot of 'A'"),
    "a vector beside it": (A * V[:, None], "expand_dims"),
    "numbered": (A + T.arange(A.shape[0])[:, None], "arange"),
    "divided by its length": (A / A.shape[0], "divide of a result of shape_i"),
    "checked together": (A * checked(A), "assert_true of a result of any"),
    "one random stream": (A + T.random.normal(T.random.key(1), A.shape), "random_normal"),
    "flattened": (A.T.ravel(), "reshape of"),
    "padded": (T.concatenate([T.zeros((1, 3)), A]), "concatenate of"),
    "Fourier transform": (T.fft.fft(A, axis=0), "fft of 'A'"),
    "ends together": (
        loop(lambda s: (s * 2, scanopt.until(s.sum() > 100.0)), None, A, n_steps=9),
        "when it ends depends on the entries",
    ),
    "total in each step": (loop(lambda s: T.tanh(s) + s.sum(axis=0), None, A, n_steps=3), "add of a result of sum"),
}  # fmt: skip


@pytest.mark.parametrize("name", DEPENDENT)
def test_dependences_are_named(name: str) -> None:
    """Twenty programs and more that are not independent along the asked axis."""
    output, named = DEPENDENT[name]
    f = scanopt.function([A, V], output, on_unused_input="ignore")
    with pytest.raises(DependenceError) as caught:
        scanopt.distribute(f, {"A": 0})
    text = str(caught.value)
    assert "depends on several entries along axis 0 of 'A' at once" in text
    assert named in text, text
    if "each step" in name or "ends" in name:
        assert "test_distribute.py" in text
