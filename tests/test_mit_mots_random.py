"""Random loops with mit-mots against a plain simulation of their buffers in NumPy, bit for bit."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import scanopt
from scanopt import interpret
from scanopt import tensor as T
from scanopt.array.types import TensorType
from scanopt.array.variable import Constant, Variable
from scanopt.loops.graph import loops_of
from scanopt.loops.mit_mots import without_mit_mots
from scanopt.loops.node import MitMot, MitSot, NitSot, NonSequence, Scan, Sequence, SitSot

Array = np.ndarray[Any, Any]
Taps = tuple[int, ...]


def steps(n: int) -> Constant:
    return Constant(np.int64(n))


@dataclass(frozen=True)
class Program:
    """A random loop: per mit-mot in-taps, out-taps and whether its buffer is exact; other slots; its step by a seed."""

    seed: int
    row: tuple[int, ...]
    dtype: str
    mit_mots: tuple[tuple[Taps, Taps, bool], ...]
    sequences: int
    sit_sots: int
    mit_sot: Taps
    nit_sots: int
    static: int | None  # the number of steps, where the graph knows it
    typed: bool  # whether types know lengths

    @property
    def results(self) -> int:
        return sum(len(outs) for _, outs, _ in self.mit_mots) + bool(self.mit_sot) + self.sit_sots + self.nit_sots

    def step(self, reads: list[Any], nested: Callable[[Any, Any], Any]) -> list[Any]:
        """The results of a step, on arrays or on symbols: sums, differences, maxima and a nested loop."""
        pick, values = random.Random(self.seed), list(reads)
        for _ in range(pick.randrange(1, 6)):
            x, y = pick.choice(values), pick.choice(values)
            kind = pick.choice(["add", "sub", "max", "double", "nested"])
            if kind == "nested":
                values.append(nested(x, y))
            else:
                values.append({"add": x + y, "sub": x - y, "max": np.maximum(x, y), "double": x * 2}[kind])
        return [pick.choice(values) for _ in range(self.results)]


def generate(seed: int) -> Program:
    pick = random.Random(seed)

    def taps(least: int) -> Taps:
        return tuple(pick.sample(range(-3, 4), pick.randrange(least, 4)))

    mit_mots = []
    for _ in range(pick.choice((1, 1, 2, 3))):
        ins = taps(0)
        mit_mots.append((ins, taps(0 if ins else 1), pick.random() < 0.4))
    return Program(
        seed, pick.choice(((), (), (2,))), pick.choice(("float64", "int64")), tuple(mit_mots), pick.randrange(3),
        pick.randrange(3), pick.choice(((), (-1, -2), (-3,), (-1,))), pick.randrange(2),
        pick.randrange(7) if pick.random() < 0.2 else None, pick.random() < 0.3,
    )  # fmt: skip


def arrays(p: Program, n: int) -> dict[str, Array]:
    """Values of all outer inputs."""
    draw = np.random.default_rng([p.seed, n])

    def make(*shape: int) -> Array:
        return draw.integers(-9, 10, shape).astype(p.dtype)

    out = {"w": make(*p.row)}
    for i, (ins, outs, exact) in enumerate(p.mit_mots):
        spare = 0 if exact else int(draw.integers(0, 3))
        out[f"B{i}"] = make(n + max(ins + outs) - min(ins + outs) + spare, *p.row)
    out |= {f"x{i}": make(n, *p.row) for i in range(p.sequences)}
    out |= {"m": make(-min(p.mit_sot), *p.row)} if p.mit_sot else {}
    return out | {f"s{i}": make(*p.row) for i in range(p.sit_sots)}


def simulated(p: Program, n: int, given: dict[str, Array]) -> list[Array]:
    """The traces of mit-sot, sit-sots and nit-sots, then the buffers, by plain NumPy."""
    w = given["w"]

    def nested(x: Array, y: Array) -> Array:
        return y + (x + y + w) + w

    buffers = [given[f"B{i}"].copy() for i in range(len(p.mit_mots))]
    lows = [min(ins + outs) for ins, outs, _ in p.mit_mots]
    past = [list(given["m"])] if p.mit_sot else []
    past += [[given[f"s{i}"]] for i in range(p.sit_sots)]
    taps = ([p.mit_sot] if p.mit_sot else []) + [(-1,)] * p.sit_sots
    rows: list[list[Array]] = [[] for _ in range(len(past) + p.nit_sots)]
    for t in range(n):
        reads = [w, *(given[f"x{i}"][t] for i in range(p.sequences))]
        for b, low, (ins, _, _) in zip(buffers, lows, p.mit_mots, strict=True):
            reads += [b[t + tap - low].copy() for tap in ins]
        reads += [s[k] for s, ks in zip(past, taps, strict=True) for k in ks]
        results = p.step(reads, nested)
        for b, low, (_, outs, _) in zip(buffers, lows, p.mit_mots, strict=True):
            for tap in outs:
                b[t + tap - low] = results.pop(0)
        for i, trace in enumerate(rows):
            trace.append(np.array(results[i]))
            if i < len(past):
                past[i].append(np.array(results[i]))
    empty = np.empty((0, *p.row), p.dtype)
    return [np.stack(r) if r else empty for r in rows] + buffers


def symbolic(p: Program, n: Variable, given: dict[str, Array]) -> tuple[dict[str, Variable], Scan]:
    """The outer inputs by name, and the loop."""
    inner = TensorType(p.dtype, p.row if p.typed else (None,) * len(p.row))

    def outer(name: str) -> Variable:
        known = (p.typed and p.static is not None) or not given[name].shape
        return Variable(TensorType(p.dtype, given[name].shape if known else (None,) * given[name].ndim), name)

    def several(count: int) -> tuple[Variable, ...]:
        return tuple(Variable(inner) for _ in range(count))

    x = {name: outer(name) for name in given}
    held, sequences, sit_sots = Variable(inner, "w"), several(p.sequences), several(p.sit_sots)
    mit_sot, reads = several(len(p.mit_sot)), [several(len(ins)) for ins, _, _ in p.mit_mots]

    def nested(a: Variable, b: Variable) -> Variable:
        buffer = T.stack([a, b, b])
        old, new = Variable(buffer.type.row()), Variable(buffer.type.row())
        m = MitMot(buffer, (0, 1), (1,), (old, new), (old + new + held,))
        return Scan(steps(2), mit_mots=(m,), non_sequences=(NonSequence(held, held),)).outputs[0][-1]

    given_to_step = [held, *sequences, *(v for vs in reads for v in vs), *mit_sot, *sit_sots]
    results = p.step(given_to_step, nested)
    mit_mots = []
    for i, ((ins, outs, exact), vs) in enumerate(zip(p.mit_mots, reads, strict=True)):
        written = tuple(results.pop(0) for _ in outs)
        mit_mots.append(MitMot(x[f"B{i}"], ins, outs, vs, written, exact))
    mit_sots = (MitSot(x["m"], p.mit_sot, mit_sot, results.pop(0)),) if p.mit_sot else ()
    node = Scan(
        n,
        sequences=tuple(Sequence(x[f"x{i}"], v) for i, v in enumerate(sequences)),
        mit_mots=tuple(mit_mots),
        mit_sots=mit_sots,
        sit_sots=tuple(SitSot(x[f"s{i}"], v, results.pop(0)) for i, v in enumerate(sit_sots)),
        nit_sots=tuple(NitSot(v) for v in results),
        non_sequences=(NonSequence(x["w"], held),),
    )
    return x, node


def assert_same(found: list[Array], expected: list[Array], what: object) -> None:
    for a, b in zip(found, expected, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), what
        assert a.tobytes() == b.tobytes(), (what, a, b)


def cases(p: Program) -> list[tuple[int, dict[str, Array]]]:
    return [(n, arrays(p, n)) for n in (range(7) if p.static is None else [p.static])]


@pytest.mark.share(4)
@pytest.mark.parametrize("block", range(4))
def test_random_loops(block: int) -> None:
    """836 runs of 140 loops, 556 of them compiled: all ways to run them are as NumPy, bit for bit."""
    for seed in range(14 * block, 14 * block + 14):
        p = generate(seed)
        n = T.lscalar("n") if p.static is None else steps(p.static)
        x, node = symbolic(p, n, cases(p)[0][1])
        plain = without_mit_mots(node.outputs)
        assert not any(loop.mit_mots for loop in loops_of(plain))
        inputs = [*x.values(), *([n] if p.static is None else [])]
        few = seed % 3 == 0  # only a part of the buffers is asked for
        compiles = seed % 3 < 2
        wanted = parts(p, node.mit_mot_outputs) if few else list(node.outputs)
        f = scanopt.function(inputs, wanted, on_unused_input="ignore") if compiles else None
        for count, given in cases(p):
            values = [*given.values(), *([np.int64(count)] if p.static is None else [])]
            expected = simulated(p, count, given)
            assert_same(interpret(list(node.outputs), zip(inputs, values, strict=True)), expected, (p, count))
            assert_same(interpret(plain, zip(inputs, values, strict=True)), expected, (p, count))
            if f is not None:
                assert_same(f(*values), parts(p, expected[-len(p.mit_mots) :]) if few else expected, (p, count))


def parts(p: Program, buffers: Any) -> list[Any]:
    """The last row of each buffer that has one for sure, the sum of the others, and all first rows."""
    spans = [max(ins + outs) - min(ins + outs) for ins, outs, _ in p.mit_mots]
    return [b[-1] if span else b.sum(0) for b, span in zip(buffers, spans, strict=True)] + [b[:1] for b in buffers]
