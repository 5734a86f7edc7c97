"""Random Scan nodes with slots of every kind, one per seed, and values for what they read."""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

import scanopt
import scanopt.tensor as T
from scanopt.array.variable import Variable
from scanopt.loops.node import MitMot, MitSot, NitSot, NonSequence, Scan, SharedState, SitSot
from scanopt.loops.node import Sequence as SequenceSlot

Array = np.ndarray[Any, Any]


def random_loop(seed: int) -> tuple[Scan, dict[Variable, Array]]:
    """A loop over scalars whose results read few variables each, and values of the inputs (shared ones aside)."""
    rng = random.Random(seed)
    steps = rng.randrange(5)
    values: dict[Variable, Array] = {}
    inner: list[Any] = []

    def outer(name: str, rows: int | None) -> Any:
        v = T.dscalar(name) if rows is None else T.dvector(name)
        values[v] = np.asarray(rng.uniform(-1, 1) if rows is None else [rng.uniform(-1, 1) for _ in range(rows)])
        return v

    def inside(name: str) -> Any:
        inner.append(T.dscalar(name))
        return inner[-1]

    def few(kind: str, most: int = 2) -> list[str]:
        return [f"{kind}{i}" for i in range(rng.randint(0, most))]

    def taps(low: int, high: int, least: int = 1) -> tuple[int, ...]:
        return tuple(rng.sample(range(low, high + 1), rng.randint(least, high - low + 1)))

    sequences = [SequenceSlot(outer(n, steps), inside(n)) for n in few("u")]
    mit_mots = [(n, taps(-1, 1, 0), taps(0, 1)) for n in few("m")]
    reads = [tuple(inside(f"{n}{t}") for t in ins) for n, ins, _ in mit_mots]
    mit_sots = [(n, back, tuple(inside(f"{n}{t}") for t in back)) for n in few("y") for back in [taps(-3, -1)]]
    sit_sots = [(n, inside(n)) for n in few("x")]
    shared = [scanopt.shared(np.float64(rng.uniform(-1, 1)), n) for n in few("c")]
    held = [outer(n, None) for n in few("w")]
    inner += [*shared, *held]

    def result() -> Any:
        return _expression(rng, inner)

    node = Scan(
        T.constant(np.int64(steps)),
        sequences=tuple(sequences),
        mit_mots=tuple(
            MitMot(outer(n, steps + max(i + o) - min(i + o)), i, o, v, tuple(result() for _ in o))
            for (n, i, o), v in zip(mit_mots, reads, strict=True)
        ),
        mit_sots=tuple(MitSot(outer(n, -min(back)), back, v, result()) for n, back, v in mit_sots),
        sit_sots=tuple(SitSot(outer(n, None), v, result()) for n, v in sit_sots),
        shared=tuple(SharedState(c, result()) for c in shared),
        nit_sots=tuple(NitSot(result()) for _ in few("z")),
        non_sequences=tuple(NonSequence(w, w) for w in held),
        until=None if mit_mots or rng.random() < 0.6 else result() > 0.8,
    )
    return node, values


def _expression(rng: random.Random, pool: Sequence[Any]) -> Any:
    """Something made of at most three of the pool's variables; now and then one cancels out."""
    if not pool:
        return T.constant(np.float64(0.5))
    a, b, c = (rng.choice(pool) for _ in range(3))
    match rng.randrange(9):
        case 0:
            return a
        case 1:
            return T.tanh(a) * 2
        case 2:
            return a * 0 + b
        case 3:
            return T.where(a > 0, b, c)
        case 4:
            return a + (b - b)
        case 5:
            return a * b - c
        case 6:
            return T.ifelse(a > 0, b, T.sin(c))
        case 7:  # of two states of a nested loop one
            states, _ = scanopt.scan(lambda y, z: [y * 0.5 + a, z + T.cos(b)], outputs_info=[c, a], n_steps=2)
            return rng.choice(states)[-1]
        case _:  # a nested loop over a sequence, in which one state feeds another
            (_, zs), _ = scanopt.scan(lambda u, y, z: [y + u, z + y * 0.5], T.stack([a, b]), [np.float64(1), c])
            return zs[-1]
