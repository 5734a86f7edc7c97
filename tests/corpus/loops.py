"""Loops for random programs: scan, map, reduce, foldl, foldr, with a step of random operators."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

from corpus.carries import add_carry
from corpus.inputs_of_loops import Sequence, State, counter, given, new_state, result, sequence, state
from corpus.ops import grow
from corpus.pool import Pool, Var
from corpus.spec import Change, Line, Loop, Out, Slot, Statement

__all__ = ["add_loop", "settle"]

_FOLDS = ("reduce", "foldl", "foldr")


def add_loop(p: Pool, rows: int, small: bool = False) -> tuple[list[Var], int | None]:
    """One more loop over about `rows` rows; its outputs, and the number of its steps (None: the run will tell)."""
    if p.chance(0.13):
        return add_carry(p, rows, _inside)
    plan = _plan(p, rows, small)
    body = p.inside()
    body.vars = [
        *(x for s in plan.sequences for x in s.params),
        *(x for s in plan.states for x in s.params),
        *(w for _, w in plan.given),
        *plan.changing,
    ]
    results = _step(body, plan)
    changes = [_change(body, a) for a in plan.changing]
    passed = [u for u in body.updates if p.chance(0.85)]
    until = _until(body) if plan.ends else None
    known = not (plan.ends or plan.dynamic)
    lead = [] if plan.function in _FOLDS else [plan.steps if known else -1]
    outs: list[Out] = []
    for k, r in enumerate(results):
        s = plan.states[k] if k < len(plan.states) else None
        text, params = (s.text, [x.name for x in s.params]) if s else ("None", [])
        outs.append(Out(p.names.new("o"), r.dtype, [*lead, *r.shape], r.name, text, params))
    updates = p.names.new("u") if changes or passed or not outs or _draws(body.statements) else ""
    loop = Loop(
        plan.function,
        [s.slot for s in plan.sequences],
        outs,
        [slot for slot, _ in plan.given],
        body.statements,
        plan.n_steps,
        plan.function in ("scan", "map", "reduce") and bool(plan.sequences) and p.chance(0.15),
        until,
        changes=changes,
        passed=passed,
        gives=p.rng.choice(("dict", "pairs", "first")),
        updates=updates,
    )
    return _finish(p, loop, plan.steps if known else None)


def _finish(p: Pool, loop: Loop, steps: int | None) -> tuple[list[Var], int | None]:
    """Put the loop into the program; what reads the shared variables after it."""
    if steps is None and not p.depth and (steps := p.settings.steps(loop)) is not None:
        loop.outs = [dataclasses.replace(o, shape=[n if n >= 0 else steps for n in o.shape]) for o in loop.outs]
    made = p.add_loop(loop)
    for a in p.settings.shared if loop.updates else ():
        if a.name in p.updates[loop.updates] and p.chance(0.4):
            text = f"{loop.updates}[{a.name}]"
            made.append(p.add(p.rng.choice((text, f"{text} * 2")), a.dtype, a.shape, heavy=True))
    return made, steps


def _draws(statements: Iterable[Statement]) -> bool:
    """Whether streams of random numbers are used, in steps of inner loops too."""
    return any("trng." in s.text if isinstance(s, Line) else _draws(s.body) for s in statements)


# What goes in


@dataclass
class _Plan:
    """changing: the shared variables that the step will change.  maps: how many outputs are not fed back.

    ends: it ends on a condition.  dynamic: its number of steps depends on the step around it.
    """

    function: str
    sequences: list[Sequence]
    states: list[State]
    given: list[tuple[Slot, Var]]
    changing: list[Var]
    maps: int
    n_steps: str | None
    steps: int
    ends: bool
    dynamic: bool


def _plan(p: Pool, rows: int, small: bool) -> _Plan:
    rng = p.rng
    function = rng.choices(("scan", "map", "reduce", "foldl", "foldr"), (78, 11, 4, 3, 4))[0]
    function = "map" if function in _FOLDS and not rows else function
    folds = function in _FOLDS
    least = 0 if function == "scan" else 1
    count = max(least, 1 if small else rng.choices((0, 1, 2, 3), (18, 50, 22, 10))[0])
    sequences = [sequence(p, rows, plain=folds) for _ in range(count)]
    ends = not folds and p.chance(0.16)
    if ends and p.chance(0.4):
        sequences.append(counter(p, rows))
    dynamic, n_steps = _by_outer_step(p, function, sequences)
    n_steps, steps = (n_steps, 2) if dynamic else _steps(p, sequences, rows, function)
    if folds and not steps:
        function, folds = "map", False
    changing = rng.sample(p.settings.shared, rng.choice((0, 1, min(2, len(p.settings.shared))))) if (
        p.settings.shared and p.chance(0.5 if not p.depth else 0.3)
    ) else []  # fmt: skip
    number = rng.choices((0, 1, 2, 3), (20, 48, 22, 10))[0] if function != "map" else 0
    states = [s for s in (state(p, plain=folds) for _ in range(number)) if s is not None]
    if ends and function == "scan" and p.chance(0.4):
        states.append(state(p, plain=False, counts=True) or states[0])
    if folds:
        maps = 0 if states else rng.choice((1, 1, 2))
    else:
        maps = rng.choices((0, 1, 2), (45, 40, 15))[0] if states or (changing and p.chance(0.2)) else rng.choice((1, 2))
    made = (given(p, computed=bool(changing)) for _ in range(rng.choices((0, 1, 2, 3), (35, 40, 18, 7))[0]))
    args = [g for g in made if g is not None]
    for a in changing:
        if p.chance(0.4):
            w = Var(p.names.new("w"), a.dtype, a.shape)
            args.append((Slot(a.name, [w.name]), w))
    return _Plan(function, sequences, states, args, changing, maps, n_steps, steps, ends, dynamic)


def _by_outer_step(p: Pool, function: str, sequences: list[Sequence]) -> tuple[bool, str | None]:
    """Now and then make the number of steps depend on the step around: whether that was done, and n_steps."""
    if not p.depth or function in _FOLDS or not p.chance(0.6):
        return False, None
    i = p.pick(lambda v: v.dtype == "int64" and not v.ndim and v.name[0] in "xsv")
    if i is None:
        return False, None
    if function == "scan" and all(s.steps >= 2 for s in sequences):
        return True, p.rng.choice((f"{i.name} % 3", f"T.minimum(abs({i.name}), 2)", f"T.clip({i.name}, -2, 2)"))
    plain = [s.slot for s in sequences if not s.slot.text.startswith("dict")]
    if plain:
        plain[0].text = f"({plain[0].text})[:{i.name} % 3]"
    return bool(plain), None


def _steps(p: Pool, sequences: list[Sequence], rows: int, function: str) -> tuple[str | None, int]:
    """The argument n_steps and the number of steps that will be."""
    most = min((s.steps for s in sequences), default=rows)
    if function != "scan" or (sequences and p.chance(0.55)):
        return None, most
    n = p.pick(lambda v: v.name[0] in "nk" and not v.heavy) if p.depth == 0 and p.chance(0.5) else None
    if n is not None and n.name[0] == "n":
        count = p.settings.count
        if count <= most or not sequences:
            return (n.name if p.chance(0.7) else f"-{n.name}"), count
        return f"T.minimum({n.name}, {most})", min(most, count)
    if n is not None and most:
        return n.name, p.settings.sign
    n_steps = p.rng.choice((most, most, max(most - 1, 0), min(most, 1), min(most, 2)))
    return (f"-{n_steps}" if p.chance(0.15) else str(n_steps)), n_steps


# The step


def _inside(body: Pool) -> None:
    """Now and then a loop inside the step."""
    if body.depth > body.settings.nests or not any(v.ndim for v in body.vars):
        return
    if body.chance(0.25 if body.depth == 1 else 0.55):
        made, steps = add_loop(body, body.rng.choice((0, 1, 2, 3)), small=True)
        settle(body, [v for v in made if -1 in v.shape or (steps and v.ndim and body.chance(0.7))])
        grow(body, body.rng.choice((0, 1, 2)))


def settle(p: Pool, made: list[Var]) -> list[Var]:
    """What is read of outputs, perhaps of unknown lengths: of one shape, and defined for no rows too."""
    out: list[Var] = []
    for v in made:
        rest = v.shape[1:]
        zeros = f"T.zeros({(1, *rest)}, dtype={v.dtype!r})"
        ways = [(f"{v.name}.shape[0]", "int64", ()), (f"T.concatenate([{zeros}, {v.name}])[-1]", v.dtype, rest)] * 2
        if v.dtype == "bool":
            ways += [(f"{v.name}.any(axis=0)", "bool", rest)] * 2
        else:
            ways += [(f"{v.name}.sum(axis=0)", v.dtype, rest), (f"{v.name}[-2:].sum(axis=0)", v.dtype, rest)]
            ways += [(f"{v.name}[::-1][:1].sum(axis=0)", v.dtype, rest)]
        out.append(p.add(*p.rng.choice(ways), heavy=True))
    return out


def _step(body: Pool, plan: _Plan) -> list[Var]:
    """The results of the step: of each state, then of what is not fed back."""
    rng = body.rng
    grow(body, rng.choice((1, 2, 3, 4, 5, 6, 8)))
    _inside(body)
    results: list[Var] = []
    for s in plan.states:
        twin = results and (results[-1].dtype, results[-1].shape) == (s.dtype, s.shape) and body.chance(0.2)
        results.append(results[-1] if twin and not (s.counts or s.bare) else new_state(body, s))
    for _ in range(plan.maps):
        small = body.pick(lambda v: v.ndim <= 2) or body.add("T.constant(1.0)", "float32", ())
        if small not in body.vars:  # an array from around the loop
            small = body.add(f"{small.name} + {small.name}", small.dtype, small.shape)
        results.append(small)
    return results


def _change(body: Pool, a: Var) -> Change:
    """The update of a shared variable."""
    if body.chance(0.3):
        return Change(a.name, f"{a.name} + 1" if a.dtype == "int64" else f"{a.name} * 0.5")
    new = result(body, a.dtype, a.shape)
    return Change(a.name, new.name)


def _until(body: Pool) -> str:
    """What ends the loop: values of sequences, states and what is made of them, counts, or nothing."""
    rng = body.rng
    x = body.pick(lambda v: v.is_float)
    i = body.pick(lambda v: v.dtype == "int64" and not v.ndim)
    ways = ["T.constant(False)", "T.constant(True)"] if body.chance(0.15) else []
    if x is not None:
        level = rng.choice((0.137, 0.37, 0.93, 1.7, 2.9))
        ways += [f"T.gt(abs({x.name}).sum(), {level})"] * 2 + [f"T.gt({x.name}.sum(), {level - 0.9:.3f})"]
    if i is not None:
        ways += [f"T.ge({i.name}, {rng.randrange(4)})"] * 2 + [f"T.eq({i.name} % 3, 2)"]
    if x is not None and i is not None:
        ways.append(f"T.ge({i.name}, {rng.randrange(4)}) | T.lt(abs({x.name}).sum(), 0.21)")
    return body.add(rng.choice(ways or ["T.constant(False)"]), "bool", ()).name
