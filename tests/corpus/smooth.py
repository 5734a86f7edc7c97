"""Random scan programs for gradients, one per seed: float64, smooth, with a scalar cost as first output.

spec = generate(7)          # plain data, as of `random_programs.generate`
print(source(spec))         # the program, to be pasted and run

An input z5 is added to the computed v5, and is 0: the gradient with respect to it is that with respect to v5.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator

from corpus.kinds import KINDS, kinds
from corpus.pool import Names, Pool, Shape, Var, size
from corpus.smooth_loops import Limits, add_loop
from corpus.smooth_ops import grow
from corpus.spec import Input, Line, Loop, Spec, Statement, prune, used

__all__ = ["SMOOTH_KINDS", "generate", "smooth_kinds"]

_PIECES = ("T.sqr({}).sum()", "T.sin({}).sum()", "{}.sum()", "T.log1p(T.sqr({})).sum()", "(T.tanh({}) * 1.3).sum()")


def generate(seed: int) -> Spec:
    """The program of a seed: of a few, the first whose cost rests on some entry of an input."""
    rng = random.Random(seed)
    for _ in range(4):
        spec = _generate(seed, rng)
        sources = {x.name for x in (*spec.inputs, *spec.shared) if x.dtype == "float64" and x.values}
        if sources & _reaches(spec.statements, {spec.outputs[0]}):
            break
    return spec


def _generate(seed: int, rng: random.Random) -> Spec:
    lengths = rng.choices((1, 2, 3), (25, 50, 25), k=2)
    draws = rng.choices(("", "streams", "keys"), (76, 12, 12))[0]
    nests = rng.choices((0, 1, 2), (35, 40, 25))[0]
    settings = Limits(False, (lengths[0], lengths[1]), draws, nests)
    pool = Pool(rng, Names(), settings)
    rows = rng.choices(range(7), (7, 14, 18, 24, 19, 12, 6))[0]
    inputs = _inputs(pool, rows)
    shared = _shared(pool) if rng.random() < 0.25 else []
    if rng.random() < 0.4:
        grow(pool, rng.choice((1, 2)))
    wanted: list[Var] = []
    for _ in range(rng.choices((1, 2, 3), (60, 32, 8))[0]):
        wanted += add_loop(pool, rows if rng.random() < 0.8 else rng.randrange(6))
    chosen = [v for v in dict.fromkeys(wanted) if rng.random() < 0.8] or wanted[:1] or pool.vars[:1]
    chosen = [v for v in chosen if v.dtype == "float64"]
    pieces = [
        f"{w} * {rng.choice(_PIECES).format(v.name)}" for w, v in zip((1.0, 0.7, -0.6, 0.4), chosen, strict=False)
    ]
    cost = pool.add(" + ".join(pieces), "float64", ())
    arrays = [v for v in chosen if v.ndim and 0 < size(v.shape) <= 12][:2]
    spec = Spec(seed, inputs, pool.statements, [cost.name, *(v.name for v in arrays)], True, shared)
    spec.statements = prune(spec.statements, spec.wanted)
    if rng.random() < 0.4:
        _moved(rng, spec)
    needed = _names(spec.statements)
    spec.inputs = [x for x in inputs if x.name in needed]
    spec.shared = [x for x in shared if x.name in needed]
    return spec


def _reaches(statements: list[Statement], wanted: set[str]) -> set[str]:
    """The names that some names are made of, `wanted` too: of loops only what their results read."""
    found = set(wanted)
    for s in reversed(statements):
        if isinstance(s, Line):
            found |= _smoothly(s.text) if s.name in found else set()
            continue
        results = {o.result for o in s.outs if o.name in found}
        results |= {n for c in s.changes if s.updates in found for n in used(c.text)}
        inside: set[str] = set()
        while results - inside:
            inside = _reaches(s.body, inside | results)
            results = {o.result for o in s.outs if inside.intersection(o.params)}
        found |= inside | {n for x in s.slots if inside.intersection(x.params) for n in _smoothly(x.text)}
    return found


def _smoothly(text: str) -> set[str]:
    """The names in an expression of which it reads more than the shape."""
    return used(re.sub(r"T\.zeros_like\(\w+\)|\w+\.shape", "", text))


def _inputs(p: Pool, rows: int) -> list[Input]:
    rng = p.rng
    a, b = p.fits
    steps: list[Shape] = [(), (), (a,), (a,), (b,), (1,)] + ([(a, b)] if rows < 5 else [])
    plain: list[Shape] = [(), (a,), (b,), (a, b), (b, a), (a, a), (1,), (3, a), (a, 1)]
    shapes = [(rows + rng.choice((0, 0, 0, 1, 2)), *rng.choice(steps)) for _ in range(rng.choice((1, 1, 2)))]
    shapes += [rng.choice(plain) for _ in range(rng.choice((1, 2, 3)))]
    out = [_floats(p, p.names.new("v"), shape) for shape in shapes]
    n = Input(p.names.new("n"), "int64", [], [], [rows])
    assert isinstance(p.settings, Limits)
    p.settings.steps_of_n = rows
    p.vars.append(Var(n.name, "int64", ()))
    return [*out, n]


def _floats(p: Pool, name: str, shape: Shape) -> Input:
    static = [n if p.chance(0.35) else None for n in shape]
    p.vars.append(Var(name, "float64", shape))
    return Input(name, "float64", static, list(shape), [round(p.rng.uniform(-1.3, 1.3), 3) for _ in range(size(shape))])


def _shared(p: Pool) -> list[Input]:
    """Shared variables, in the order in which they are made."""
    a, b = p.fits
    shapes: list[Shape] = [p.rng.choice(((), (), (a,), (b,), (a, b))) for _ in range(p.rng.choice((1, 1, 2)))]
    out = [_floats(p, p.names.new("a"), shape) for shape in shapes]
    assert isinstance(p.settings, Limits)
    p.settings.shared += p.vars[-len(out) :]
    return out


def _moved(rng: random.Random, spec: Spec) -> None:
    """Add 0 to something computed that later lines read, and make both of them known outside."""
    lines = [s for s in spec.statements[:-1] if isinstance(s, Line) and s.dtype == "float64" and size(s.shape) <= 8]
    loops = [*spec.statements, *_inside(spec.statements, 0)]
    own = {c.shared for s in loops if isinstance(s, Loop) for c in s.changes}  # what a step computes of them is its own
    lines = [s for s in lines if not own & _reaches(spec.statements, {s.name})]
    inside = {n for s in spec.statements if isinstance(s, Loop) for n in _names(s.body)}
    lines = [s for s in lines if s.name in inside] or lines
    if not lines:
        return
    line = rng.choice(lines)
    zero = f"z{line.name[1:]}"
    line.text = f"({line.text}) + {zero}"
    spec.inputs.append(Input(zero, "float64", [None] * len(line.shape), line.shape, [0.0] * size(line.shape)))
    spec.outputs.append(line.name)


def _names(statements: Iterable[Statement]) -> set[str]:
    """All names in some statements."""
    out: set[str] = set()
    for s in statements:
        if isinstance(s, Line):
            out |= {s.name, *used(s.text)}
        else:
            texts = [x.text for x in s.slots] + [s.n_steps or "", s.until or "", *s.passed]
            texts += [x for c in s.changes for x in (c.shared, c.text)] + [o.result for o in s.outs]
            out |= {n for text in texts for n in used(text)} | _names(s.body)
    return out


_ELSEWHERE = ("updates of the function", "repeated, constant or input outputs", "lengths that may not fit")
_MORE = ("a loop over the trace of a loop", "with respect to computed values", "shared variables", "gradients in steps")

SMOOTH_KINDS = (*(k for k in KINDS if k not in _ELSEWHERE), *_MORE)
"""What the record of a run counts."""


def smooth_kinds(spec: Spec) -> set[str]:
    """The kinds of a program."""
    traces, found = set[str](), set[str]()
    for s in spec.statements:
        if isinstance(s, Loop):
            found |= (
                {"a loop over the trace of a loop"}
                if traces & {n for x in s.sequences for n in used(x.text)}
                else set()
            )
            traces |= {o.name for o in s.outs}
        elif traces & used(s.text) and s.shape:
            traces.add(s.name)
    found |= {"with respect to computed values"} if any(x.name[0] == "z" for x in spec.inputs) else set()
    found |= {"shared variables"} if spec.shared else set()
    inside = list(_inside(spec.statements, 0))
    found |= {"gradients in steps"} if any("T.grad(" in x.text for x in inside if isinstance(x, Line)) else set()
    lengths = any(used(x.n_steps or "") for x in inside if isinstance(x, Loop))
    found |= {"length by the outer step"} if lengths else set()
    return (kinds(spec) | found) & {*SMOOTH_KINDS}


def _inside(statements: Iterable[Statement], depth: int) -> Iterator[Statement]:
    """What stands in steps."""
    for s in statements:
        if depth:
            yield s
        if isinstance(s, Loop):
            yield from _inside(s.body, depth + 1)
