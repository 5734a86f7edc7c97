"""Programs for the tests of views: many of everything that there is to see."""

import numpy as np

from scanopt.array.op import Op
from scanopt.array.types import TensorType
from scanopt.program.ir import Branch, CarriedState, Compute, Const, Either, Input, Keep, Loop, Program, Read

HOSTILE = '"><script>alert(1)</script>&\n\x00\\'


def floats(*shape: int | None) -> TensorType:
    return TensorType("float64", shape)


def rnn(label: str = "h") -> Program:
    """Two layers' worth of everything: sequences, a mit-sot, a nit-sot, non-sequences, constants."""
    row, count = floats(16), TensorType("int64", ())
    body = (
        Compute("v11", Op.make("dot"), ("v9", "v3"), row),
        Compute("v12", Op.make("add"), ("v8", "v11"), row),
        Compute("v13", Op.make("multiply"), ("v10", "c0"), row),
        Compute("v14", Op.make("add"), ("v12", "v13"), row),
        Compute("v15", Op.make("sum", axis=(0,), keepdims=False), ("v14",), floats()),
    )
    keeps = (
        Keep("v16", "v14", None, floats(None, 16)),
        Keep("v17", "v15", None, floats(None)),
        Keep("v18", "v14", 1, floats(1, 16)),
    )
    states = (CarriedState("v1", 2, ((1, "v9"), (2, "v10")), "v14", row, label),)
    loop = Loop("L0", "v5", (Read("v8", "v6", row),), states, body, keeps)
    return Program(
        inputs=(
            Input("v0", floats(None, 8), label and "x"),
            Input("v1", floats(2, 16), label and f"{label}0"),
            Input("v2", floats(8, 16), label and "W_in"),
            Input("v3", floats(16, 16), label),
            Input("v5", count, label and "k"),
        ),
        consts=(Const("c0", np.array(0.5)), Const("c1", np.arange(16.0))),
        steps=(
            Compute("v6", Op.make("dot"), ("v0", "v2"), floats(None, 16)),
            loop,
            Compute("v19", Op.make("multiply"), ("v16", "c1"), floats(None, 16)),
        ),
        outputs=("v19", "v17", "v18"),
        checks=("v17",),
    )


def nested() -> Program:
    """A while loop in a loop, with two states, one of which is another's past."""
    row = floats(4)
    inner = Loop(
        "L1",
        "c0",
        (Read("r1", "v1", row),),
        (CarriedState("s0", 1, ((1, "a1"),), "a2", row, "acc"), CarriedState("s1", 1, ((1, "b1"),), "a1", row, "prev")),
        (
            Compute("a2", Op.make("add"), ("a1", "m"), row),
            Compute("a3", Op.make("multiply"), ("r1", "b1"), row),
            Compute("stop", Op.make("any", axis=None, keepdims=False), ("a3",), TensorType("bool", ())),
        ),
        (Keep("k1", "a2", 1, floats(1, 4)), Keep("k2", "a3", None, floats(None, 4))),
        until="stop",
        phase=1,
    )
    body = (
        Compute("m", Op.make("tanh"), ("r0",), row),
        inner,
        Compute("q1", Op.make("getitem", index=(0,)), ("k1",), row),
        Compute("q2", Op.make("sum", axis=(0,), keepdims=False), ("k2",), row),
        Compute("q3", Op.make("add"), ("q1", "q2"), row),
    )
    outer = Loop("L0", "c1", (Read("r0", "v0", row),), (), body, (Keep("o", "q3", None, floats(5, 4)),))
    inputs = [("v0", floats(5, 4)), ("v1", floats(7, 4)), ("s0", floats(1, 4)), ("s1", floats(1, 4))]
    return Program(
        tuple(Input(name, type) for name, type in inputs),
        (Const("c0", np.array(7)), Const("c1", np.array(5))),
        (outer,),
        ("o",),
    )


def chain(length: int) -> Program:
    steps = tuple(Compute(f"v{i + 1}", Op.make("tanh"), (f"v{i}",), floats(3)) for i in range(length))
    return Program((Input("v0", floats(3)),), (), steps, (f"v{length}",))


def empty() -> Program:
    return Program((), (), (), ())


def branching() -> Program:
    """A branch in a loop, with a branch on one side, a loop on the other, and constants as values."""
    row, flag = floats(4), TensorType("bool", ())
    inner = Loop("L1", "c1", (), (CarriedState("i0", 1, ((1, "p1"),), "p2", row, "p"),), (
        Compute("p2", Op.make("multiply"), ("p1", "h1"), row),
    ), (Keep("k1", "p2", 1, floats(1, 4)),))  # fmt: skip
    nested = Branch("c2", (), (Compute("q1", Op.make("tanh"), ("h1",), row),), (Either("z1", "r1", "q1", row),))
    then = (inner, Compute("q2", Op.make("getitem", index=(0,)), ("k1",), row))
    body = (
        Compute("t1", Op.make("isnan"), ("r2",), flag),
        Branch("t1", then, (nested,), (Either("z2", "q2", "z1", row), Either("z4", "q2", "r1", row))),
        Branch("t1", (), (), (Either("z3", "c0", "r2", floats()),)),
    )
    states = (CarriedState("h0", 1, ((1, "h1"),), "z2", row, "h"),)
    reads = (Read("r1", "v0", row), Read("r2", "v1", floats()))
    loop = Loop(
        "L0", "c1", reads, states, body, (Keep("o1", "z3", None, floats(None)), Keep("o2", "z2", 1, floats(1, 4)))
    )
    types = {"v0": floats(5, 4), "v1": floats(5), "h0": floats(1, 4), "i0": floats(1, 4)}
    inputs = tuple(Input(name, type, {"v1": "x"}.get(name, "")) for name, type in types.items())
    consts = (Const("c0", np.array(0.5)), Const("c1", np.array(5)), Const("c2", np.array(True)))
    return Program(inputs, consts, (loop,), ("o1", "o2"))


PROGRAMS = {
    "rnn": rnn(), "nested": nested(), "chain": chain(12), "branching": branching(), "hostile": rnn(HOSTILE),
    "empty": empty(),
}  # fmt: skip
