"""Saved programs that strangers wrote: refused in time, or as right as if nothing had been said of their values."""

import base64
import gc
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import storage_programs as cases
from mutant_programs import functions, operators, programs
from mutants import Mutator, evaluated, outcome, outcome_of_function
from programs import Builder, reference, run, vectors
from storage_programs import run_plainly
from test_executor_random import Random, arguments

import scanopt
import scanopt.tensor as T
from scanopt.backends import executor
from scanopt.program.check import inferred
from scanopt.program.ir import Program
from scanopt.program.serial import from_json, to_json
from scanopt.program.storage.check import check_storage
from scanopt.program.storage.placement import storage_of

# ---- states that look far back ----


def deep(states: int, depth: int) -> Program:
    """So many states, each read so far back."""
    b = Builder()
    xs, s0, n = b.input("X", None, 2), b.input("s0", depth, 2), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        total = loop.read(xs)
        for i in range(states):
            far, near = loop.state(s0, (depth, 1 + i))
            total = b("add", total, b("multiply", far, near))
            loop.update(i, total)
        kept = [loop.keep(total), loop.keep(total, 1)]
    return b.program(*kept)


def test_a_small_file_of_deep_states_is_compiled_in_no_time() -> None:
    """Ten states of depth 100,000: names for all their rows took 51 s and 4.8 GB."""
    text = to_json(deep(10, 100_000))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    f = executor("numpy").compile(from_json(text))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000
    assert len(f.source) < 10_000
    xs = vectors(4, 2)
    rows = np.ones((100_000, 2))
    found = f([xs, rows, np.int64(4)])[0]
    np.testing.assert_allclose(found, evaluated(from_json(text), [xs, rows, np.int64(4)])[0], rtol=1e-12)


@pytest.mark.parametrize("depth", [31, 32, 33, 40])
@pytest.mark.parametrize("steps", [0, 1, 5, 40, 100])
def test_states_of_few_and_of_many_rows(depth: int, steps: int) -> None:
    values = [vectors(steps, 2), vectors(depth, 2) / depth, np.int64(steps)]
    (found, last), (expected, expected_last) = executor("numpy").compile(deep(3, depth))(values), evaluated(
        inferred(deep(3, depth)), values
    )  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_allclose(last, expected_last, rtol=1e-9)


@pytest.mark.parametrize("few", [0, 1])
def test_rings_instead_of_names(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever values live, and whatever overwrites what: with their rows in a ring, states are the same."""
    monkeypatch.setattr("scanopt.backends.loop_source.FEW", few)
    made = [(Random(seed).program(), seed) for seed in range(15)]
    for program, values in [
        *((p, arguments(p, seed)) for p, seed in made),
        cases.states_that_hand_on(), cases.deep_taps(), cases.state_in_a_view_of_a_buffer(),
        cases.initial_rows_filled_by_an_outer_step(), cases.onto_a_row_of_a_deeper_state(),
    ]:  # fmt: skip
        run(program, *values)
        for a, e in zip(run_plainly(program, values), reference(program, values), strict=True):
            np.testing.assert_allclose(a, e, rtol=1e-12, atol=0)


def test_far_taps_of_a_scan() -> None:
    x, y0 = T.dvector("x"), T.dvector("y0")
    depth = 100_000
    y, _ = scanopt.scan(
        lambda v, far, near: T.tanh(v + 0.5 * far - 0.1 * near), x, {"initial": y0, "taps": [-depth, -1]}
    )
    f = scanopt.function([x, y0], y, mode="FAST_COMPILE")
    rows = list(np.linspace(-1, 1, depth))
    values = vectors(depth + 50)
    found = f(values, rows)
    for v in values:
        rows.append(np.tanh(v + 0.5 * rows[-depth] - 0.1 * rows[-1]))
    np.testing.assert_allclose(found, rows[depth:], rtol=1e-12)
    assert len(f.source) < 5_000


# ---- what a file says of its values ----


def growing() -> tuple[dict[str, Any], list[Any]]:
    """A loop whose step has one row, then two, then three: as data."""
    b = Builder()
    xs, n = b.input("X", None), b.input("n", dtype="int64")
    with b.loop(n) as loop:
        (t,) = loop.state(b.const(np.ones(1, np.int64)))
        loop.update(0, b("add", t, b.const(np.int64(1))))
        part = b.at(xs, ("slice", None, "in", None), inputs=(t,))
        twice = b("add", part, part)
        kept = loop.keep(b("sum", twice, axis=(0,), keepdims=False))
    return json.loads(to_json(b.program(kept))), [np.arange(4.0), np.int64(3)]


def test_a_declared_shape_is_not_believed() -> None:
    """The file says that each step has three rows, and that one array holds them: [0, 2, 6] came out as [0, 4, 6]."""
    data, values = growing()
    body = data["steps"][0]["body"]
    (twice,) = (s for s in body if s["args"][:1] == s["args"][1:])
    expected = np.array([0.0, 2.0, 6.0])
    for change in (lambda s: s["type"].update(shape=[3]), lambda s: s["type"].update(shape=[1])):
        for step in body:
            if step["type"]["shape"] == [None]:
                change(step)
        np.testing.assert_array_equal(executor("numpy").compile(from_json(json.dumps(data)))(values)[0], expected)
        place = {"name": twice["out"], "kind": "buffer", "other": "", "state": -1, "forgotten": 0}
        with_place = data | {"storage": data["storage"] | {"places": [*data["storage"]["places"], place]}}
        with pytest.raises(ValueError, match="may change its shape while its memory is kept"):
            from_json(json.dumps(with_place))


def test_types_are_inferred_as_they_were_lowered() -> None:
    """So that a program that was saved is the one that ran: its types, its text, its source."""
    X, h0 = T.dmatrix("X"), T.TensorType("float64", (3,))("h0")
    h, _ = scanopt.scan(lambda v, h: T.tanh(h + v[:3]), X[:5], h0, n_steps=4)
    f = scanopt.function([X, h0], [h[-1], h.sum(axis=0)], mode="FAST_COMPILE")
    again = from_json(to_json(f.program))
    assert again.steps == f.program.steps
    assert executor().compile(again).source == f.source


def test_a_program_is_saved_as_it_is_inferred() -> None:
    """Where a program says more than follows, what is written is what the reader will find."""
    data, values = growing()
    lying = from_json(json.dumps(data))
    (loop,) = lying.steps
    again = from_json(to_json(lying))
    assert again.steps == (loop,)
    check_storage(again, storage_of(again))
    np.testing.assert_array_equal(executor("numpy").compile(again)(values)[0], [0.0, 2.0, 6.0])


def constant(dtype: str, shape: list[int], raw: bytes) -> str:
    data = json.loads(to_json(Program((), (), (), ())))
    text = base64.b64encode(raw).decode()
    const = {"name": "c", "type": {"dtype": dtype, "shape": shape}, "base64": text}
    return json.dumps(data | {"consts": [const], "outputs": ["c"]})


@pytest.mark.parametrize(
    ("dtype", "shape", "raw", "message"),
    [
        ("bool", [3], b"\x00\x02\x01", "a byte of a bool must be 0 or 1"),
        ("int8", [0, 2**62, 2**62], b"", "const 0: "),
        ("int8", [0, 2**64], b"", "no array has so many axes, or one of such a length"),
        ("int8", [1] * 65, b"\0", "no array has so many axes"),
        ("int8", [2**40], b"\0", "expected 1099511627776 bytes, found 1"),
    ],
)
def test_constants_that_are_none(dtype: str, shape: list[int], raw: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_json(constant(dtype, shape, raw))


def test_names_in_files_can_be_printed() -> None:
    text = to_json(deep(1, 2))
    for old, new in (('"v0"', '"v0\\u001b[2J"'), ('"s"', '"s\\nfake"'), ('"L0"', '"L\\u202e"'), ('"X"', '"\\ud800"')):
        with pytest.raises(ValueError, match=r"on one line|a tap is") as caught:
            from_json(text.replace(old, new))
        assert str(caught.value).isprintable()
    with pytest.raises(ValueError, match="unknown field") as caught:
        from_json(text.replace('"outputs"', f'"{"x" * 10**6}": 0, "outputs"'))
    assert len(str(caught.value)) < 600


# ---- time ----


def chain(n: int) -> Program:
    b = Builder()
    xs, m = b.input("X", None, 3), b.input("n", dtype="int64")
    with b.loop(m) as loop:
        x = new = loop.read(xs)
        for i in range(n):
            new = b("add", new, x) if i % 2 else b("tanh", new)
        kept = loop.keep(new)
    return b.program(kept)


def loops(n: int) -> Program:
    b = Builder()
    xs, m = b.input("X", None, 3), b.input("n", dtype="int64")
    outs: list[str] = []
    for i in range(n // 4):
        with b.loop(m) as loop:
            x = loop.read(xs)
            outs.append(loop.keep(b("reshape", b("tanh", b("add", x, x)), shape=(1,) * (i % 8) + (3,))))
    return b.program(*outs)


def branches(n: int) -> Program:
    b = Builder()
    x, c = b.input("X", 3), b.input("c", dtype="bool")
    for _ in range(n // 3):
        x = b.branch(c, lambda x=x: b("tanh", x), lambda x=x: b("negative", x))
    return b.program(x)


def states(n: int) -> Program:
    b = Builder()
    s0, m = b.input("s0", 1, 3), b.input("n", dtype="int64")
    init = b("negative", s0)
    with b.loop(m) as loop:
        for i in range(n // 3):
            (s,) = loop.state(init)
            loop.update(i, b("tanh", s))
        kept = [loop.keep(s.update, 2) for s in loop.states]
    return b.program(*kept)


def seconds(work: Callable[[], object]) -> float:
    """What some work takes of the processor: of this thread, and without looking for garbage in all that is there."""
    gc.disable()
    try:
        start = time.thread_time()
        work()
        return time.thread_time() - start
    finally:
        gc.enable()


def reading(text: str) -> float:
    """Seconds to read a program and to compile it; the least of three."""
    return min(seconds(lambda: executor("numpy").compile(from_json(text))) for _ in range(3))


@pytest.mark.share(4)
@pytest.mark.parametrize("make", [chain, loops, branches, states])
def test_time_is_linear_in_the_size_of_a_file(make: Callable[[int], Program]) -> None:
    """Four times as much takes about four times as long (it took sixty times as long)."""
    few, many = to_json(make(100)), to_json(make(400))
    assert len(many) < 8 * len(few)
    assert reading(many) < 9 * reading(few) + 0.05


def crowd(program: Program, change: Callable[[dict[str, Any]], Any]) -> str:
    data = json.loads(to_json(program))
    change(data)
    return json.dumps(data)


MANY = 30_000
SHAPE = {"dtype": "float64", "shape": [None, 3]}
NOWHERE = [{"name": "v0", "roots": [f"r{i}" for i in range(MANY)]}]
TWICE = '{"a": 0, ' + ", ".join(f'"k{i}": 0' for i in range(MANY)) + ', "a": 1}'
CRAFTED: dict[str, Callable[[], str]] = {
    "a field twice": lambda: TWICE,
    "many inputs": lambda: crowd(deep(1, 2), lambda d: d["inputs"].extend(
        {"name": f"i{i}", "type": SHAPE, "label": "same"} for i in range(MANY // 2))),
    "many names of one": lambda: crowd(deep(1, 2), lambda d: d["outputs"].extend(["v1"] * MANY)),
    "arguments": lambda: crowd(chain(2), lambda d: d["steps"][0]["body"][0].update(args=["v1"] * MANY)),
    "no memory": lambda: crowd(deep(1, 2), lambda d: d["storage"].update(holds=NOWHERE)),
    "keeps": lambda: crowd(chain(2), lambda d: d["steps"][0]["keeps"].extend(
        {"name": "", **d["steps"][0]["keeps"][0], "out": f"k{i}"} for i in range(MANY // 4))),
    "an operator": lambda: crowd(chain(2), lambda d: d["steps"][0]["body"][0].update(op="x" * 10**6)),
    "a shape": lambda: crowd(chain(2), lambda d: d["inputs"][0]["type"].update(shape=[1] * MANY)),
    "a number": lambda: crowd(chain(2), lambda d: d["steps"][0].update(phase=123456)).replace("123456", "7" * 10**6),
    "taps": lambda: crowd(deep(1, 2), lambda d: d["steps"][0]["states"][0].update(
        taps=[[1, f"t{i}"] for i in range(MANY)])),
    "results": lambda: crowd(branches(3), lambda d: d["steps"][0]["results"].extend(
        {**d["steps"][0]["results"][0], "out": f"b{i}"} for i in range(MANY // 4))),
    "notes": lambda: crowd(chain(2), lambda d: d["notes"].update({f"n{i}": "x" for i in range(MANY)})),
}  # fmt: skip


@pytest.mark.share(4)
@pytest.mark.parametrize("name", CRAFTED)
def test_what_is_crafted_to_take_long(name: str) -> None:
    """Files of 0.3 to 3 MB: each is refused, or compiled, within a second or two."""
    text, messages = CRAFTED[name](), [""]

    def read() -> None:
        try:
            executor("numpy").compile(from_json(text))
        except ValueError as error:
            messages.append(str(error))

    assert seconds(read) < 3
    assert len(messages[-1]) < 600


# ---- changed at random ----


def test_programs_changed_at_random() -> None:
    """More of them, and of more programs: benchmarks/fuzz_saved.py."""
    texts = list(programs(26))
    keys, kinds = operators(texts), set[str]()
    for seed in range(250):
        pick = random.Random(f"mutant {seed}")
        text = json.dumps(Mutator(json.loads(pick.choice(texts)), pick, keys).run())
        found = outcome(text, pick, 0.3)
        assert found.kind not in ("wrong", "not compiled"), (seed, found.text, text)
        kinds.add(found.kind)
    assert {"refused", "right", "raises"} <= kinds


def test_functions_changed_at_random() -> None:
    """Signed anew, as one who wants to deceive would: the checksum keeps nobody out."""
    texts = list(functions())
    keys = operators(texts)
    for seed in range(60):
        pick = random.Random(f"function {seed}")
        found = outcome_of_function(json.dumps(Mutator(json.loads(pick.choice(texts)), pick, keys).run()), pick, 0.3)
        assert found.kind != "wrong", (seed, found.text)


WATCHED = """
import json, random, sys
sys.path.insert(0, sys.argv[1])
from mutant_programs import operators, programs
from mutants import Mutator
from scanopt.array.op import Op
from scanopt.program.serial import from_json

texts = list(programs(8))
for text in texts:
    from_json(text)
try:
    Op.read("none")  # installed extensions are looked for once
except ValueError:
    pass
watching, found = False, []
sys.addaudithook(lambda event, args: found.append((event, args)) if watching else None)
keys = operators(texts) + ['__import__("os")', 'linalg_or_flag{"function":"test"}', 'accumulate{"ufunc":"save"}']
for seed in range(150):
    pick = random.Random(seed)
    text = json.dumps(Mutator(json.loads(pick.choice(texts)), pick, keys).run())
    watching = True
    try:
        from_json(text)
    except ValueError:
        pass
    watching = False
print([x for x in found if x[0] not in ("builtins.id", "object.__getattr__", "sys._getframe")][:5])
"""


def test_reading_opens_and_executes_nothing() -> None:
    """No event that Python's audit knows of: no file, no import, no text compiled or executed, no process."""
    here = str(Path(__file__).parent)
    done = subprocess.run([sys.executable, "-P", "-c", WATCHED, here], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"
