"""Random scan programs, one per seed, the same on every machine: a generator that later tests extend.

spec = generate(7)          # plain data
print(source(spec))         # the program, to be pasted and run
values, outputs = build(spec)
"""

from __future__ import annotations

import random

from corpus.loops import add_loop, settle
from corpus.ops import grow
from corpus.plain import UnknownError, initial, run
from corpus.pool import Names, Pool, Settings, Shape, Var, size
from corpus.spec import Change, Input, Loop, Spec, prune
from corpus.text import Built, build, built, source

__all__ = ["Built", "Spec", "build", "built", "generate", "source"]

_MIN, _MAX = -(2**63), 2**63 - 1


def generate(seed: int, pure: bool = False) -> Spec:
    """The program of a seed.  pure: without shared variables and streams of random numbers."""
    rng = random.Random(seed)
    lengths = rng.choices((0, 1, 2, 3, 4), (4, 14, 32, 32, 18), k=2)
    rough = rng.random() < 0.3
    draws = rng.choices(("", "streams", "keys"), (78, 12, 10))[0]
    settings = Settings(rough, (lengths[0], lengths[1]), draws, rng.choices((0, 1, 2), (25, 45, 30))[0])
    settings.draws = "keys" if draws and pure else draws
    pool = Pool(rng, Names(), settings)
    rows = rng.choices(range(8), (5, 10, 17, 22, 16, 12, 9, 9))[0]
    inputs = _inputs(pool, rows)
    shared = _shared(pool) if rng.random() < 0.25 and not pure else []
    settings.steps = lambda loop: _steps(Spec(seed, inputs, [*pool.statements, loop], [], shared=shared), loop)
    if rng.random() < 0.3:
        grow(pool, rng.choice((1, 2)))
    wanted: list[Var] = []
    for _ in range(rng.choices((1, 2, 3), (58, 32, 10))[0]):
        made, steps = add_loop(pool, rows if rng.random() < 0.8 else rng.randrange(8))
        wanted += _consumers(pool, made, steps)
    if rng.random() < 0.3:
        wanted += grow(pool, rng.choice((1, 2)))
    outputs = [v.name for v in wanted if rng.random() < 0.8] or [v.name for v in wanted[:1]]
    outputs += _odd_outputs(pool, outputs)
    changes = [_change(pool, a) for a in settings.shared if rng.random() < 0.5]
    passed = [u for u in pool.updates if rng.random() < 0.9]
    spec = Spec(seed, inputs, pool.statements, outputs, not rough, shared, changes, passed)
    spec.statements = prune(spec.statements, spec.wanted)
    if rng.random() < 0.07:
        _disturb(rng, spec)
    return spec


def _steps(spec: Spec, loop: Loop) -> int | None:
    """How many steps the last loop of a program takes, by plain Python; None where it cannot tell."""
    traced = [o.name for o in loop.outs if -1 in o.shape]
    if not traced:
        return None
    spec.outputs = traced[:1]
    try:
        return len(run(spec, initial(spec))[0][0])
    except (UnknownError, ArithmeticError, IndexError, TypeError, ValueError):
        return None


def _shared(p: Pool) -> list[Input]:
    """Shared variables, in the order in which they are made."""
    rng = p.rng
    a, b = p.fits
    out: list[Input] = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        dtype = rng.choices(("float64", "float32", "int64"), (40, 30, 30))[0]
        shape: Shape = rng.choice(((), (), (a,), (b,), (a, b)))
        values = [_value(rng, dtype, False) for _ in range(size(shape))]
        out.append(Input(p.names.new("a"), dtype, [], list(shape), values))
        p.settings.shared.append(Var(out[-1].name, dtype, shape))
    p.vars += p.settings.shared
    return out


def _change(p: Pool, a: Var) -> Change:
    """An update of the function."""
    if p.chance(0.3):
        return Change(a.name, f"{a.name} + 1" if a.dtype == "int64" else f"{a.name} * 0.5")
    x = p.pick(lambda v: v.is_float == a.is_float and v.dtype != "bool") or a
    return Change(a.name, p.coerce(x, a.dtype, a.shape).name)


def _inputs(p: Pool, rows: int) -> list[Input]:
    rng = p.rng
    main = rng.choices(("float64", "float32", "int64"), (45, 35, 20))[0]
    special = rng.random() < 0.08
    a, b = p.fits
    steps: list[Shape] = [(), (), (a,), (a,), (b,), (a, b), (a, a), (1,), (1, b)]
    plain: list[Shape] = [(), (a,), (b,), (a, b), (b, a), (a, a), (a, a), (b, b), (1,), (3, a), (a, 1)]
    shapes = [(rows + rng.choice((0, 0, 0, 0, 1, 2, 3)), *rng.choice(steps)) for _ in range(rng.choice((1, 2, 3)))]
    shapes += [rng.choice(plain) for _ in range(rng.choice((1, 2, 3, 4)))]
    out: list[Input] = []
    for shape in shapes:
        dtype = main if rng.random() < 0.75 else rng.choice(("float32", "float64", "int64", "bool"))
        static = [n if rng.random() < 0.35 else None for n in shape]
        values = [_value(rng, dtype, special) for _ in range(size(shape))]
        out.append(Input(p.names.new("v"), dtype, static, list(shape), values))
        p.vars.append(Var(out[-1].name, dtype, shape))
    out.append(Input(p.names.new("n"), "int64", [], [], [rows]))
    p.vars.append(Var(out[-1].name, "int64", ()))
    out.append(Input(p.names.new("k"), "int64", [], [], [rng.choice((0, 1, -1))]))
    p.settings.count, p.settings.sign = rows, abs(out[-1].values[0])
    p.vars.append(Var(out[-1].name, "int64", ()))
    return out


def _value(rng: random.Random, dtype: str, special: bool) -> float | int | bool:
    if dtype == "bool":
        return rng.random() < 0.5
    if dtype == "int64":
        return rng.choice((_MIN, _MAX)) if special and rng.random() < 0.2 else rng.randint(-3, 4)
    if special and rng.random() < 0.3:
        return rng.choice((float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1e30))
    return rng.choice((-0.0, 1.0, -1.0, 0.5)) if rng.random() < 0.15 else round(rng.uniform(-2, 2), 3)


def _consumers(p: Pool, made: list[Var], steps: int | None) -> list[Var]:
    """What is read of the outputs of a loop."""
    rng = p.rng
    out: list[Var] = [*settle(p, [v for v in made if -1 in v.shape])]
    for v in made:
        if steps is None or not v.ndim or v.shape[0] != steps:
            out.append(v)
            continue
        for _ in range(rng.choice((1, 1, 2))):
            out.append(_consumer(p, v, steps))
    return out


def _consumer(p: Pool, v: Var, n: int) -> Var:
    rng, rest = p.rng, v.shape[1:]
    if rng.random() < 0.25:
        return v
    k = rng.choice((1, 1, 2, 3))
    ways: list[tuple[str, str, Shape]] = [
        (f"[-{k}:]", v.dtype, (min(k, n), *rest)), (f"[{k - 1}:{k + 1}]", v.dtype, (max(min(2, n + 1 - k), 0), *rest)),
        ("[1:]", v.dtype, (max(n - 1, 0), *rest)), ("[::-1]", v.dtype, v.shape), (".shape[0]", "int64", ()),
        (f"[:{k}]", v.dtype, (min(k, n), *rest)),
        ("last", v.dtype, rest),
    ]  # fmt: skip
    if v.dtype != "bool":
        ways += [(".sum(axis=0)", v.dtype, rest)] * 2 + [(" * 2", v.dtype, v.shape), (".sum()", v.dtype, ())]
        ways += [(".mean(axis=0)", v.dtype if v.is_float else "float64", rest)] if n else []
    if n or rng.random() < 0.1:
        i = rng.randrange(n) if n and rng.random() < 0.95 else n + 2
        ways += (
            [("[-1]", v.dtype, rest)] * 6
            + [(f"[{i}]", v.dtype, rest)] * 3
            + [(f"[-{min(k, max(n, 1))}]", v.dtype, rest)] * 2
        )
        x = p.pick(lambda x: x.name[0] == "k")
        ways += [(f"[{x.name}]", v.dtype, rest)] * 2 if x is not None and n > 1 else []
    text, dtype, shape = rng.choice(ways)
    if text == "last":  # as of a buffer with its initial row
        text = f"T.concatenate([T.zeros({(1, *rest)}, dtype={dtype!r}), {v.name}])[-1]"
    return p.add(text if text[0] == "T" else v.name + text, dtype, shape)


def _odd_outputs(p: Pool, outputs: list[str]) -> list[str]:
    """Now and then an output that is an input, one that is there already, or a constant."""
    rng, out = p.rng, []
    if rng.random() < 0.06:
        out.append(rng.choice([v.name for v in p.vars if not v.heavy]))
    if rng.random() < 0.06:
        out.append(rng.choice(outputs or [p.vars[0].name]))
    if rng.random() < 0.04:
        out.append(p.add("T.constant([1.0, 2.0])", "float64", (2,)).name)
    return out


def _disturb(rng: random.Random, spec: Spec) -> None:
    """Another length, number of steps or index: the program may raise."""
    spec.disturbed = True
    x = rng.choice(spec.inputs)
    if x.name[0] in "nk":
        x.values = [x.values[0] + rng.choice((-9, 1, 2, 9))]
        return
    axes = [i for i, n in enumerate(x.static) if n is None]
    if not axes:
        return
    axis = rng.choice(axes)
    x.shape = [max(n + (rng.choice((-1, 1, 2)) if i == axis else 0), 0) for i, n in enumerate(x.shape)]
    x.values = [(x.values * 9)[i % max(9 * len(x.values), 1)] if x.values else 1 for i in range(size(x.shape))]
