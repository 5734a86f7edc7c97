"""Functions as files: what is kept, files that were tampered with, and names that try to be code."""

import ast
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_programs import build, generate

import scanopt
import scanopt.tensor as T
from scanopt.compilation.compiled_function import Function
from scanopt.compilation.saved import SavedFunction
from scanopt.compilation.saving import digest
from scanopt.view.networks import to_dot
from scanopt.view.svg import program_svg

X = np.linspace(-1, 1, 12).reshape(4, 3)


def network(**options: Any) -> Function:
    """A loop that may end early, a default value, shared variables, an update and a dict of outputs."""
    x, h0 = T.dmatrix("x"), T.dvector("h0")
    W, calls = scanopt.shared(np.eye(3) * 0.5, "W"), scanopt.shared(0, "calls")
    h, _ = scanopt.scan(lambda v, h: (T.tanh(T.dot(h, W) + v), scanopt.until(v[0] > 0.9)), x, h0)
    inputs = [x, scanopt.In(h0, value=np.zeros(3), name="start")]
    return scanopt.function(inputs, {"last": h[-1], "all": h}, updates={calls: calls + 1}, name="net", **options)


@pytest.fixture
def reload(tmp_path: Path) -> Callable[[Any], SavedFunction]:
    """Save a function and load it again."""

    def go(f: Any) -> SavedFunction:
        f.save(tmp_path / "f.json")
        return scanopt.load(tmp_path / "f.json")

    return go


Reload = Callable[[Any], SavedFunction]


# ---- what is kept ----


def test_a_saved_function_runs(reload: Reload) -> None:
    f = network()
    f(X)
    g = reload(f)
    for a, b in ((f(X), g(X)), (f(x=X, start=[1, 2, 3]), g(X, start=[1, 2, 3]))):
        assert list(a) == list(b)
        for key in a:
            np.testing.assert_array_equal(a[key], b[key])
    assert [v.get_value().tolist() for v in g.shared] == [v.get_value().tolist() for v in f.shared]
    assert [v.get_value().item() for v in (*f.updates, *g.updates)] == [3, 3]
    assert (g.name, g.source, str(g.program)) == (f.name, f.source, str(f.program))
    assert ([v.name for v in g.inputs], [v.name for v in g.shared]) == (["x", "h0"], [v.name for v in f.shared])
    again = reload(g)
    np.testing.assert_array_equal(again(X)["all"], g(X)["all"])


ONE = T.constant(1.0)


@pytest.mark.parametrize(
    "outputs", [None, [], [ONE, ONE * 2], ONE, {"b": ONE, "a": ONE + 1, "class": 3.0}, {}], ids=str
)
def test_forms_of_results(outputs: Any, reload: Reload) -> None:
    f = scanopt.function([], outputs)
    g = reload(f)
    assert g() == f()
    assert type(g()) is type(f())
    assert str(g()) == str(f())


def test_rules_of_inputs_are_kept(reload: Reload) -> None:
    x, y, n = T.fscalar("x"), T.fscalar("y"), T.dscalar("n")
    inputs = [scanopt.In(x, strict=True), scanopt.In(y, allow_downcast=True), scanopt.In(n, value=1, update=n * 2)]
    g = reload(scanopt.function(inputs, n + x + y))
    assert [float(g(np.float32(0), np.float64(0))) for _ in range(3)] == [1, 2, 4]
    with pytest.raises(TypeError, match=r"'x' float32.* is strict"):
        g(0.0, 0.0)
    assert float(reload(g)(np.float32(0), 0)) == 8


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int, reload: Reload) -> None:
    try:
        values, outputs = build(generate(seed, pure=True))
    except (IndexError, ValueError):
        return
    f = scanopt.function(list(values), outputs, on_unused_input="ignore", mode="unoptimized")
    g = reload(f)
    try:
        expected = f.as_written(*values.values())
    except (IndexError, ValueError) as error:
        with pytest.raises(type(error)):
            g(*values.values())
        return
    for a, b in zip(g(*values.values()), expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_numpy_alone_runs_it(tmp_path: Path) -> None:
    f = network()
    file = tmp_path / "net.json"
    f.save(file)
    code = f"""
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("scipy", "egglog", "networkx"):
            raise ImportError(name)
sys.meta_path.insert(0, Refuse())
import numpy as np
before = {{m.split(".")[0] for m in sys.modules}}
import scanopt
f = scanopt.load({str(file)!r})
print({{k: v.tolist() for k, v in f(np.linspace(-1, 1, 12).reshape(4, 3)).items()}})
print({{m.split(".")[0] for m in sys.modules}} - before - set(sys.stdlib_module_names))
"""
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    expected = {k: v.tolist() for k, v in f(X).items()}
    assert done.stdout == f"{expected}\n{{'scanopt'}}\n"


# ---- files that were tampered with ----


def tampered(tmp_path: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    """The file of `network`, with its data changed."""
    file = tmp_path / "net.json"
    network().save(file)
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))
    return file


def put(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """A change of one field; removal, for `...`."""

    def change(data: Any) -> None:
        *parents, last = [int(p) if p.isdigit() else p for p in path.split("/")]
        for p in parents:
            data = data[p]
        if value is ...:
            del data[last]
        else:
            data[last] = value

    return change


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("format", "scanopt program", "not a scanopt function"),
        ("version", 2, "version 2 is not known"),
        ("extra", 1, "unknown field 'extra'"),
        ("keys", ..., "no field 'keys'"),
        ("name", 3, "name must be a string"),
        ("name", "other", "checksum"),
        ("backend", "torch", "checksum"),
        ("sha256", "0", "checksum"),
        ("form", "tuple", "do not fit form 'tuple'"),
        ("keys/1", "last", "do not fit form 'dict'"),
        ("keys", ["last"], "3 results do not fit form 'dict' with 1 keys"),
        ("reads", [0, 9], "reads names shared variable 9, and there are 2"),
        ("updates", [], "3 results do not fit"),
        ("updates", [0], "update of shared variable"),
        ("inputs/0/strict", 1, "strict must be true or false, found 1"),
        ("inputs/1/value/type/dtype", "object", "unknown dtype 'object'"),
        ("inputs/1/value/type/dtype", "int64", "default value: its type is declared as"),
        ("inputs", [], "the program has 4 inputs, not 0"),
        ("shared/0/base64", "AAAA", "expected 72 bytes, found 3"),
        ("program/format", "pickle", "not a scanopt program"),
        ("program/steps/0/op", "os.system", "step 0"),
        ("program/outputs/0", "__import__('os')", "is not defined before it is read"),
        ("program/inputs/0/label", "y", "checksum"),
        ("program", [], "not a scanopt program"),
    ],
)
def test_changed_files_are_refused(path: str, value: Any, message: str, tmp_path: Path) -> None:
    file = tampered(tmp_path, put(path, value))
    with pytest.raises(ValueError, match=r"net\.json cannot be loaded: ") as caught:
        scanopt.load(file)
    assert message in str(caught.value)


def numbers(data: Any, path: str = "") -> list[str]:
    """The paths of all strings and numbers."""
    if isinstance(data, dict):
        return [p for k, v in data.items() for p in numbers(v, f"{path}/{k}")]
    if isinstance(data, list):
        return [p for i, v in enumerate(data) for p in numbers(v, f"{path}/{i}")]
    return [] if data is None else [path[1:]]


def test_any_single_change_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "net.json"
    network().save(file)
    text = file.read_text()
    paths = numbers(json.loads(text))
    assert len(paths) > 100
    for path in paths:
        data = json.loads(text)
        old: Any = data
        for p in path.split("/"):
            old = old[int(p) if p.isdigit() else p]
        put(path, f"{old}x" if isinstance(old, str) else not old if isinstance(old, bool) else old + 1)(data)
        file.write_text(json.dumps(data))
        with pytest.raises(ValueError, match="cannot be loaded"):
            scanopt.load(file)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000, b"null", b'{"format": NaN}'])
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "f.json"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"f\.json cannot be loaded"):
        scanopt.load(file)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        scanopt.load(tmp_path / "f.json")


def signed(data: dict[str, Any]) -> None:
    """A new checksum, as one who wants to deceive would make it."""
    data["sha256"] = digest({k: v for k, v in data.items() if k != "sha256"})


HOSTILE_OPS = [
    'require{"error":"SystemExit","message":"","relation":"ge"}',
    'require{"error":"ValueError","message":"{found.__class__}","relation":"ge"}',
    'require{"error":"ValueError","message":"{found:>9999999999}","relation":"ge"}',
    'cast{"dtype":"object"}', "__import__('os')", 'tanh{"x":1}', 'getitem{"index":"__import__"}',
]  # fmt: skip


@pytest.mark.parametrize("op", HOSTILE_OPS)
def test_operators_are_checked_whatever_the_checksum(op: str, tmp_path: Path) -> None:
    def change(data: dict[str, Any]) -> None:
        for step in data["program"]["steps"]:
            for inner in (step, *step.get("body", [])):
                inner |= {"op": op} if inner["kind"] == "compute" else {}
        signed(data)

    with pytest.raises(ValueError, match="cannot be loaded: "):
        scanopt.load(tampered(tmp_path, change))


# ---- names that try to be code ----

HOSTILE = [
    "x\n    import os  # ", "'); raise SystemExit(1)  # ", '"""', "\\", "class", "lambda", "__builtins__", "a\r\u2028b",
    "{x!r}", "%s", "</script><script>alert(1)</script>", '"];a->b[label="', "v1", "x0", "steps", "v３", "\ud800", "",
]  # fmt: skip


def hostile(name: str) -> Function:
    """Every name that a user may choose is this one."""
    x, n = T.dvector(name), T.lscalar(name)
    w, c = scanopt.shared(2.0, name), scanopt.shared(0, name)
    h0 = T.constant(0.0, name, dtype="float64")
    h, updates = scanopt.scan(lambda v, h: ([h * w + v], {c: c + 1}), x, h0, n_steps=n, name=name)
    inputs = [x, scanopt.In(n, value=3, name=f"{name}!")]
    outputs = {name: h.sum(), "rest": h[-2:]}
    return scanopt.function(inputs, outputs, updates=updates, name=name, givens={w: w + 0})


@pytest.mark.share(6)
@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_names_never_become_code(name: str, reload: Reload) -> None:
    f = hostile(name)
    g = reload(f)
    assert g.source == f.source
    tree = ast.parse(f.source)
    bare = hostile("q").source
    assert ast.dump(tree) == ast.dump(ast.parse(bare))
    assert f.source.isascii()
    assert f.source.count("\n") == bare.count("\n")
    assert str(f.program).count("\n") == str(hostile("q").program).count("\n")
    for h in (f, g):
        found = h([1.0, 2.0, 3.0])
        assert list(found) == [name, "rest"]
        assert (found[name], found["rest"].tolist()) == (16, [4, 11])
        assert h([1.0, 2.0, 3.0], **{f"{name}!": 1})[name] == 1
    assert (g.name, [v.name for v in g.inputs]) == (name, [name, name])


@pytest.mark.share(6)
@pytest.mark.parametrize("name", [x for x in HOSTILE if x], ids=ascii)
def test_names_are_escaped_in_pictures(name: str) -> None:
    program = hostile(name).program
    svg, dot = program_svg(program), to_dot(program)
    ElementTree.fromstring(svg)
    assert "<script>" not in svg
    assert "</script>" not in svg
    plain = re.sub(r'"(\\.|[^"\\])*"', '""', dot)
    assert "->b[" not in plain
    assert plain.count("\n") == re.sub(r'"(\\.|[^"\\])*"', '""', to_dot(hostile("q").program)).count("\n")
    assert "import os" not in plain
