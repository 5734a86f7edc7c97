"""Pickled functions: what is kept, and that another process can run them."""

import copy
import io
import pickle
import pickletools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scanopt
import scanopt.tensor as T
from scanopt.calculus.law import Equation
from scanopt.calculus.terms import Value, ops
from scanopt.compilation.compiled_function import Function
from scanopt.extraction.cost import numpy_cost
from scanopt.loops.flat import flatten
from scanopt.loops.graph import leaves

X = np.linspace(-1, 1, 12).reshape(4, 3)


def network(**options: Any) -> Function:
    """A loop with a default value, shared variables, an update and a dict of outputs."""
    x, h0 = T.dmatrix("x"), T.dvector("h0")
    W, calls = scanopt.shared(np.eye(3) * 0.5, "W"), scanopt.shared(0, "calls")
    h, _ = scanopt.scan(lambda v, h: T.tanh(T.dot(h, W) + v), x, h0)
    outputs = {"last": h[-1], "norm": (h * h).sum()}
    inputs = [x, scanopt.In(h0, value=np.zeros(3), name="start")]
    return scanopt.function(inputs, outputs, updates={calls: calls + 1}, name="net", **options)


def again(x: Any) -> Any:
    return pickle.loads(pickle.dumps(x))


def same(a: dict[str, Any], b: dict[str, Any]) -> None:
    assert list(a) == list(b)
    for key in a:
        np.testing.assert_array_equal(a[key], b[key])


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickled_function_runs(protocol: int) -> None:
    f = network()
    f(X)
    g = pickle.loads(pickle.dumps(f, protocol))
    assert [v.get_value().tolist() for v in g.shared] == [v.get_value().tolist() for v in f.shared]
    same(g(X), f(X))
    same(g(X, start=[1, 2, 3]), f(X, start=[1, 2, 3]))
    same(g.unoptimized(X), f.unoptimized(X))
    same(g.as_written(X), f.as_written(X))
    assert g.shared[0] is not f.shared[0]
    assert [v.get_value().item() for v in (*f.updates, *g.updates)] == [3, 3]


def test_what_is_said_of_it_is_kept() -> None:
    f = network(fp="exact", exclude=["save_mem"], example=[X, X[0]])
    g = again(f)
    for what in ("name", "fp", "backend", "source", "report", "laws", "cost", "cost_before", "seconds", "rules"):
        assert getattr(g, what) == getattr(f, what), what
    assert [str(p) for p in (g.program, g.initial, g)] == [str(p) for p in (f.program, f.initial, f)]
    assert str(g.inputs) == str(f.inputs)
    assert scanopt.dprint(g, file="str") == scanopt.dprint(f, file="str")
    assert str(g.explain()) == str(f.explain())
    assert g.egraph.size == f.egraph.size


def test_a_call_of_another_size_does_not_encode_the_graph_again() -> None:
    g = again(network())
    g(X)
    assert "program" not in vars(g._plan)


def test_without_optimization() -> None:
    f = network(mode="unoptimized")
    g = again(f)
    same(g(X), f(X))
    assert "interpreter" in g.source


def named(data: bytes) -> set[str]:
    """The modules of all that is imported when a pickle is read, and of what lies packed inside it."""
    found: set[str] = set()

    class Noting(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            found.add(module)
            return super().find_class(module, name)

    Noting(io.BytesIO(data)).load()
    packed = [arg for _, arg, _ in pickletools.genops(data) if isinstance(arg, bytes) and arg.startswith(pickle.PROTO)]
    return found.union(*map(named, packed))


def test_a_pickle_holds_plain_data() -> None:
    """No code, no engine, nothing compiled: modules named are the library's own and NumPy's."""
    data = pickle.dumps(network())
    assert {m.split(".")[0] for m in named(data)} <= {"scanopt", "numpy", "collections", "builtins"}
    assert not any(s in data for s in (b"egglog", b"lambda", b"def program"))


def test_another_process_runs_it_on_numpy_alone(tmp_path: Path) -> None:
    f = network()
    file = tmp_path / "net.pickle"
    file.write_bytes(pickle.dumps(f))
    code = f"""
import pickle, sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("scipy", "egglog", "networkx"):
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
import numpy as np
f = pickle.load(open({str(file)!r}, "rb"))
found = f(np.linspace(-1, 1, 12).reshape(4, 3))
print({{k: v.tolist() for k, v in found.items()}})
(calls,) = f.updates
print(calls.get_value(), str(f.report).startswith("cost"), "tanh" in f.source, "loop" in str(f.program))
"""
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    expected = {k: v.tolist() for k, v in f(X).items()}
    assert done.stdout == f"{expected}\n1 True True True\n"


def test_functions_pickled_together_share_their_variables() -> None:
    n = scanopt.shared(0, "n")
    up, read = scanopt.function([], updates={n: n + 1}), scanopt.function([], n)
    up2, read2, n2 = again((up, read, n))
    up2()
    up2()
    assert [int(read()), int(read2()), int(n2.get_value())] == [0, 2, 2]


def test_copies() -> None:
    f = network()
    shallow, deep = copy.copy(f), copy.deepcopy(f)
    assert shallow.shared == f.shared
    assert set(deep.shared) != set(f.shared)
    deep(X)
    assert [int(next(iter(g.updates)).get_value()) for g in (f, shallow, deep)] == [0, 0, 1]


def test_default_updates_go_with_the_function() -> None:
    s = scanopt.shared(1, "s")
    s.default_update = s * 3
    (found,) = again(scanopt.function([], s + 0)).shared
    f = scanopt.function([], found + 0)
    assert [int(f()), int(f()), int(s.get_value())] == [1, 3, 1]
    assert again(s).default_update is None
    assert again(s).get_value() == 1


def test_default_values_at_the_moment_are_kept() -> None:
    x, n = T.dscalars("x", "n")
    f = scanopt.function([x, scanopt.In(n, value=0, update=n + x)], n)
    f(2)
    g = again(f)
    assert [float(g(1)), float(g(1)), float(f(1))] == [2, 3, 2]


def test_graphs_of_any_depth() -> None:
    x = T.dscalar("x")
    z: Any = x
    for _ in range(2_000):
        z = z + 1
    f = scanopt.function([x], z, mode="unoptimized")
    assert again(f)(1) == 2_001


@scanopt.law(licence="fast", example=lambda x, y: T.exp(x) * T.exp(y), never=lambda x, y: T.exp(x) * y)
def product_of_exponentials(x: Value, y: Value) -> Equation:
    """One exponential in place of two."""
    exp, add, multiply = ops.exp, ops.add, ops.multiply
    return Equation(multiply(exp(x), exp(y)), exp(add(x, y)))


@pytest.mark.parametrize("own", [{"rules": [product_of_exponentials]}, {"cost": lambda work: numpy_cost(work)}])
def test_laws_and_costs_of_ones_own_are_not_kept(own: dict[str, Any]) -> None:
    x, y = T.dvectors("x", "y")
    f = scanopt.function([x, y], T.exp(x) * T.exp(y), fp="fast", **own)
    g = again(f)
    np.testing.assert_array_equal(g([1.0], [2.0]), f([1.0], [2.0]))
    assert (str(g.program), g.report) == (str(f.program), f.report)
    for ask in (g.explain, lambda: g.egraph, lambda: g.rules):
        with pytest.raises(RuntimeError, match=r"pickled.*compile it again"):
            ask()
    assert str(again(g).program) == str(g.copy().program) == str(f.program)


def test_flat_graphs_keep_names_and_sharing() -> None:
    x, s = T.dvector("x"), scanopt.shared(1.0, "s")
    norm = T.exp(x).sum()
    norm.name = "norm"
    inner = lambda v, h: (h + v / norm + s, scanopt.until(h > 3))  # noqa: E731
    trace, _ = scanopt.scan(inner, x, np.float64(0), name="loop")
    trace.name = "trace"
    outputs = [trace, norm, x, trace.sum()]
    found = flatten(outputs).restore()
    assert [v.name for v in found] == ["trace", "norm", "x", None]
    assert found[3].owner is not None
    assert found[3].owner.inputs[0] is found[0]
    assert leaves(found) == [found[2], s] or leaves(found) == [s, found[2]]
    assert scanopt.dprint(found, file="str") == scanopt.dprint(outputs, file="str")
