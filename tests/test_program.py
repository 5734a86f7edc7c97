"""Loop programs as text, as JSON, and what they hold in memory."""

import json
from typing import Any

import numpy as np
import pytest
from programs import Builder, nested, power, reference, rnn, vectors

from scanopt.array.op import Op
from scanopt.array.op_text import op_text
from scanopt.array.types import TensorType
from scanopt.backends import executor
from scanopt.program.check import inferred
from scanopt.program.ir import Compute, Const, Program
from scanopt.program.serial import from_json, to_json
from scanopt.program.text import program_text

# Text


def test_text() -> None:
    assert (
        program_text(power(None))
        == """\
inputs  A: float64[?]
        k: int64[]
v3 = full_like(A, 1.0)                     float64[?]
v4 = expand_dims(v3, axis=0)               float64[1, ?]
loop power for k steps:                    # phase 0
    state v5 = v6 one step ago, starts v4  float64[?]  sit-sot x
    v6 = v5 * A                            float64[?]
    keep  v7 = last row of v6              float64[?, ?]  of a state
v8 = v7[0]                                 float64[?]
return v8"""
    )


def zoo() -> Program:
    """One of everything: deep taps, a stop test, sequences, constants, odd labels."""
    b = Builder()
    xs, x0 = b.input("x s", None, 2), b.input("x0", 3, 2)
    n, i = b.input("n", dtype="int64"), b.input("i", dtype="int64")
    w = b.const(np.arange(6.0).reshape(2, 3)[:, :2])
    inside = b("require", n, i, relation="ge", error="IndexError", message="{found} < {expected}")
    with b.loop(inside, "two words") as loop:
        x = loop.read(xs)
        near, far = loop.state(x0, (1, 3), "y")
        new = b("add", b("dot", w, near), b("multiply", far, x))
        cut = b.at(new, ("slice", "in", None, None), inputs=(i,))
        loop.update(0, b("setitem", new, b.at(x, -1), index=(0,), mode="inc"))
        size = b("shape_i", cut, axis=0)
        loop.until = b(
            "less", b("max", b("cast", new, dtype="float32"), axis=(0,), keepdims=False), b.const(np.float32(0))
        )
        kept = [loop.keep(new, 3), loop.keep(loop.states[0].update), loop.keep(size, 1)]
    return b.program(*kept, b("negative", b("transpose", kept[0], axes=(1, 0))))


def test_text_of_everything() -> None:
    assert (
        program_text(zoo())
        == """\
inputs  v0: float64[?, 2] 'x s'
        x0: float64[3, 2]
        n: int64[]
        i: int64[]
consts  v4: float64[2, 2] = 0.0, 1.0, 3.0, 4.0
v5 = require(n >= i, '{found} < {expected}')         int64[]
loop 'two words' for at most v5 steps, until v19:    # phase 0
    read  v6 = v0[t]                                 float64[2]  sequence
    state v7, v8 = v14 1 and 3 steps ago, starts x0  float64[2]  mit-sot of depth 3 y
    v9 = dot(v4, v7)                                 float64[2]
    v10 = v8 * v6                                    float64[2]
    v11 = v9 + v10                                   float64[2]
    v12 = v11[i:]                                    float64[?]
    v13 = v6[-1]                                     float64[]
    v14 = v11 with [0] += v13                        float64[2]
    v15 = v12.shape[0]                               int64[]
    v16 = float32(v11)                               float32[2]
    v17 = max(v16, axis=0)                           float32[]
    v19 = v17 < 0.0                                  bool[]
    keep  v20 = last 3 rows of v11                   float64[?, 2]  nit-sot
    keep  v21 = all rows of v14                      float64[?, 2]  of a state
    keep  v22 = last row of v15                      int64[?]  nit-sot
v23 = transpose(v20, axes=(1, 0))                    float64[2, ?]
v24 = -v23                                           float64[2, ?]
return v20, v21, v22, v24"""
    )


def test_text_is_safe_and_deterministic() -> None:
    b = Builder()
    x = b.input("a\nb", 2)
    text = program_text(b.program(b("add", x, x)))
    assert "'a\\nb'" in text
    assert len(text.splitlines()) == 3
    assert program_text(zoo()) == program_text(zoo())


@pytest.mark.parametrize(
    ("op", "args", "text"),
    [
        (Op.make("getitem", index=(-1,)), ["x"], "x[-1]"),
        (Op.make("getitem", index=(("slice", None, "in", 2), "in")), ["x", "a", "b"], "x[:a:2, b]"),
        (Op.make("getitem", index=("newaxis", 0)), ["x"], "x[None, 0]"),
        (Op.make("getitem", index=("array", "mask")), ["x", "a", "b"], "x[a, b]"),
        (Op.make("broadcast_to", shape=(None, 3)), ["x", "n"], "broadcast_to(x, n, shape=(?, 3))"),
        (Op.make("sort", axis=0, kind="stable"), ["x"], "sort(x, axis=0, kind='stable')"),
        (Op.make("power"), ["x", "2"], "x ** 2"),
    ],
)  # fmt: skip
def test_text_of_operators(op: Op, args: list[str], text: str) -> None:
    assert op_text(op, args) == text


# JSON


@pytest.mark.parametrize("program", [power(None), power(2, None), rnn(), nested(), zoo()])
def test_json_round_trip(program: Program) -> None:
    text = to_json(program)
    again = from_json(text)
    assert to_json(again) == text
    assert program_text(again) == program_text(program)
    assert (again.inputs, again.steps, again.outputs) == (program.inputs, program.steps, program.outputs)


def test_saved_program_runs() -> None:
    program = from_json(to_json(rnn()))
    values = [vectors(7, 3), vectors(3, 3), vectors(1, 3), np.int64(7)]
    np.testing.assert_array_equal(executor().compile(program)(values)[0], reference(rnn(), values)[0])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "complex128"])
def test_constants_keep_their_bits(dtype: str) -> None:
    rng = np.random.default_rng(0)
    for shape in ((), (3,), (0, 2), (2, 3)):
        for big in (False, True):
            value = np.asarray(rng.integers(-9, 9, shape)).astype(dtype)
            value = value.astype(value.dtype.newbyteorder(">")) if big else value
            program = Program((), (Const("c", value),), (), ("c",))
            found = from_json(to_json(program)).consts[0].value
            assert found.dtype == np.dtype(dtype)
            assert found.shape == shape
            np.testing.assert_array_equal(found, value)


def test_special_floats() -> None:
    value = np.array([np.nan, -0.0, np.inf, -np.inf])
    found = from_json(to_json(Program((), (Const("c", value),), (), ("c",)))).consts[0].value
    assert found.tobytes() == value.tobytes()


def broken(change: str, value: Any) -> str:
    """The text of `rnn` with the field at a path set (or removed, where value is ...)."""
    data = json.loads(to_json(rnn()))
    *path, last = [int(p) if p.isdigit() else p for p in change.split("/")]
    place = data
    for p in path:
        place = place[p]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return json.dumps(data)


F3 = {"dtype": "float64", "shape": [3]}


@pytest.mark.parametrize(
    ("change", "value", "message"),
    [
        ("format", "pickle", "not a scanopt program"),
        ("version", 1, "version 1 is not known: expected 3"),
        ("version", True, "version True is not known"),
        ("more", 1, "program: unknown field 'more'"),
        ("checks", ..., "program: no field 'checks'"),
        ("outputs", ["v1", 3], "outputs must be a list of names"),
        ("outputs", ["nothing"], "'nothing' is not defined before it is read"),
        ("outputs", ["v8"], "'v8' is not defined before it is read, or not visible here"),
        ("notes", {"a": 1}, "notes must be an object of strings"),
        ("inputs/0/type/dtype", "object", "input 0: unknown dtype 'object'"),
        ("inputs/0/type/shape/0", -1, "input 0: a length is negative"),
        ("inputs/0/type/shape/0", 1.5, "a length must be an integer, found 1.5"),
        ("inputs/1/name", "v0", "'v0' is defined twice"),
        ("inputs/0/label", None, "label must be a string, found None"),
        ("steps/0/kind", "exec", "unknown kind of step 'exec'"),
        ("steps/0/steps", "v0", r"loop 'rnn', number of steps: its type is declared as int64\[\]"),
        ("steps/0/phase", "0", "phase must be an integer, found '0'"),
        ("steps/0/until", "v8", "until: its type is declared as bool"),
        ("steps/0/body/0/op", "os.system", "no operator named 'os.system' in the table"),
        ("steps/0/body/0/op", "dot{}", "is not how the operator 'dot' is written"),
        ("steps/0/body/0/op", 'dot{"a":1}', "dot has no parameter 'a': it has none"),
        ("steps/0/body/0/op", "dot{", "step 0"),
        ("steps/0/body/0/args", ["v1"], "v6 = dot: TypeError"),
        ("steps/0/body/0/args/1", "v8", "'v8' is not defined before it is read"),
        ("steps/0/body/0/out", "v5", "'v5' is defined twice"),
        ("steps/0/body/0/type/dtype", "float32", r"declared as float32\[\?\], but is float64\[\?\]"),
        ("steps/0/reads/0/source", "v3", "'v3' has no axis of rows"),
        ("steps/0/reads/0/type", {"dtype": "float64", "shape": []}, r"declared as float64\[\]"),
        ("steps/0/states/0/depth", 2, "depth 2 with initial rows"),
        ("steps/0/states/0/taps", [[2, "v5"]], "a tap 2 steps back with depth 1"),
        ("steps/0/states/0/taps", ["v5"], "a tap must be a list of a number and a name"),
        ("steps/0/states/0/update", "v1", "update v1: its type is declared as"),
        ("steps/0/keeps/0/rows", 0, "keep v9: 0 rows"),
        ("steps/0/keeps/0/type", F3, "keep v9: its type is declared as"),
    ],
)
def test_broken_programs(change: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_json(broken(change, value))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expecting value"),
        ("[]", "not a scanopt program"),
        ('{"format": NaN}', "NaN is not a JSON number"),
        ('{"format": 1, "format": 2}', "field 'format' appears twice"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_broken_texts(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_json(text)


@pytest.mark.parametrize(
    ("base64", "message"), [("AAAA", "expected 8 bytes, found 3"), ("A", "bad base64"), ("é", "bad base64")]
)
def test_broken_constants(base64: str, message: str) -> None:
    data = json.loads(to_json(Program((), (Const("c", np.array(1.0)),), (), ("c",))))
    data["consts"][0]["base64"] = base64
    with pytest.raises(ValueError, match=message):
        from_json(json.dumps(data))


def test_a_program_is_checked() -> None:
    scalar = TensorType("float64", ())
    step = Compute("y", Op.make("tanh"), ("x",), scalar)
    with pytest.raises(ValueError, match="'x' is not defined before it is read"):
        inferred(Program((), (), (step,), ("y",)))
    with pytest.raises(ValueError, match="reads 'x' before it is made"):
        executor().compile(Program((), (), (step,), ("y",)))
