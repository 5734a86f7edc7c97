"""Loops for smooth random programs: every kind of slot, length and direction, loops in loops to the third depth."""

from __future__ import annotations

from dataclasses import dataclass, field

from corpus.pool import Pool, Settings, Shape, Var
from corpus.smooth_ops import grow, smooth
from corpus.spec import Change, Loop, Out, Slot

__all__ = ["Limits", "add_loop", "read"]

_FOLDS = ("reduce", "foldl", "foldr")
_CARRIES = ("loop", "fori_loop", "while_loop")


@dataclass
class Limits(Settings):
    """steps: the number that the input n... stands for.  open: traces whose lengths only the run tells."""

    steps_of_n: int = 0
    open: list[Var] = field(default_factory=list[Var])


@dataclass
class _Read:
    """A sequence or a state: its argument and the parameters of the step.  steps: how many it allows."""

    text: str
    params: list[Var]
    steps: int | None = None

    @property
    def slot(self) -> Slot:
        return Slot(self.text, [x.name for x in self.params])


def add_loop(p: Pool, rows: int) -> list[Var]:
    """One more loop over about `rows` rows; what is read of it."""
    function = p.rng.choices(("scan", "map", *_FOLDS, *_CARRIES), (64, 10, 4, 3, 3, 8, 4, 4))[0]
    if function in _FOLDS and not rows:
        function = "map"
    made = _Maker(p, function, rows).loop()
    out = [read(p, v) for v in made[0]]
    return out + [p.add(f"{u}[{a}]", "float64", shape, heavy=True) for u, a, shape in made[1]]


class _Maker:
    """One loop while it is made."""

    def __init__(self, p: Pool, function: str, rows: int) -> None:
        self.p, self.function, self.rows = p, function, rows
        self.folds, self.carries = function in _FOLDS, function in _CARRIES
        self.plain = self.folds or self.carries
        self.sequences = self._sequences()
        steps = [s.steps for s in self.sequences]
        self.steps = None if None in steps else min((s for s in steps if s is not None), default=rows)
        self.n_steps = self._n_steps()
        self.ends = p.chance(0.14) and function in ("scan", "map", "loop")
        self.states = self._states()
        self.given = self._given()
        shared = p.settings.shared
        self.changing = p.rng.sample(shared, 1) if shared and not self.plain and p.chance(0.5) else []

    def loop(self) -> tuple[list[Var], list[tuple[str, str, Shape]]]:
        """Its outputs, and the shared variables after it."""
        p, body = self.p, self.p.inside()
        read = [*self.sequences, *self.states, *self.given]
        body.vars = [*(x for s in read for x in s.params), *self.changing]
        if self.function == "while_loop":
            self.steps = None
        grow(body, p.rng.choice((1, 2, 3, 4, 5)))
        _inside(body)
        outs = self._outs(body)
        changes = [Change(a.name, _becomes(body, a).name) for a in self.changing]
        passed = [u for u in body.updates if p.chance(0.85)]
        until = self._until(body)
        lead = [] if self.folds else [-1 if self.steps is None or until else self.steps]
        for o in outs:
            o.shape = o.shape if self.carries and o.params else [*lead, *o.shape]
        loop = Loop(
            self.function,
            [s.slot for s in self.sequences],
            outs,
            [] if self.carries else [s.slot for s in self.given],
            body.statements,
            self.n_steps,
            self.function in ("scan", "map", "reduce", "loop") and bool(self.sequences) and p.chance(0.2),
            until,
            tree=p.rng.choice(("leaf", "tuple", "dict", "nested")) if self.carries else "",
            changes=changes,
            passed=passed,
            gives=p.rng.choice(("dict", "pairs", "first")),
            updates="" if self.carries else p.names.new("u"),
        )
        made = [v for v in p.add_loop(loop) if v.dtype == "float64"]
        p.vars = [v for v in p.vars if not (v.heavy and v.dtype != "float64")]
        if not p.depth and isinstance(p.settings, Limits):
            p.settings.open += [v for v in made if v.shape and v.shape[0] == -1]
        return made, [(loop.updates, a.name, a.shape) for a in self.changing]

    # What it reads

    def _sequences(self) -> list[_Read]:
        p, out = self.p, list[_Read]()
        if self.function == "while_loop":
            return []
        if self.function == "fori_loop":
            return [_Read(f"1, {self.rows + 1}", [Var(p.names.new("x"), "int64", ())], self.rows)]
        least = 0 if self.function in ("scan", "loop") else 1
        for _ in range(max(least, p.rng.choices((0, 1, 2), (15, 55, 30))[0])):
            out.append(self._sequence())
        if p.chance(0.4 if p.depth else 0.6):
            out.append(_Read(f"T.arange({self.rows})", [Var(p.names.new("x"), "int64", ())], self.rows))
        if self.function == "loop" and len({s.steps for s in out}) > 1:
            out = out[:1]
        return out

    def _sequence(self) -> _Read:
        p, limits = self.p, self.p.settings
        if not p.depth and not self.plain and isinstance(limits, Limits) and limits.open and p.chance(0.5):
            x = p.rng.choice(limits.open)
            return _Read(x.name, [Var(p.names.new("x"), "float64", x.shape[1:])])
        taps = [0] if self.plain or p.chance(0.6) else p.rng.sample((-2, -1, 0, 1, 2), p.rng.choice((1, 2, 2, 3)))
        spread = max(0, *taps) - min(0, *taps)
        rows = self.rows + spread
        wanted = (lambda n: n == rows) if self.function == "loop" else (lambda n: n >= spread + self.folds)
        x = p.pick(lambda v: smooth(v) and v.ndim > 0 and v.shape[0] == rows) if p.chance(0.8) else None
        x = x or p.pick(lambda v: smooth(v) and v.ndim > 0 and wanted(v.shape[0]) and v.shape[0] <= 8)
        if x is None:
            y = p.pick(lambda v: smooth(v) and v.ndim < 2) or p.add("T.constant(0.5, dtype='float64')", "float64", ())
            scale = f"T.cast(T.arange({rows}), 'float64').reshape({(rows, *(1 for _ in y.shape))})"
            x = p.add(f"{scale} * 0.2 + {y.name}", "float64", (rows, *y.shape))
        text = p.rng.choice((x.name,) * 5 + (f"{x.name}[::-1]", f"T.sin({x.name})"))
        text = text if taps == [0] else f"dict(input={text}, taps={taps})"
        return _Read(text, [Var(p.names.new("x"), "float64", x.shape[1:]) for _ in taps], max(x.shape[0] - spread, 0))

    def _n_steps(self) -> str | None:
        """The argument n_steps; `steps` becomes what it says, or None where only the run tells."""
        p, most, limits = self.p, self.steps, self.p.settings
        if self.function == "while_loop":
            return str(p.rng.choice((self.rows, 5)))
        if self.function == "loop":
            return str(most) if not self.sequences else None
        if self.function != "scan" or most is None:
            return None
        if (n := self._by_outer_step(most)) is not None:
            self.steps = None
            return n
        if self.sequences and p.chance(0.5):
            return None
        n_var = p.pick(lambda v: v.name[0] == "n") if not p.depth else None
        if n_var is not None and p.chance(0.5) and isinstance(limits, Limits):
            self.steps = min(most, limits.steps_of_n)
            return n_var.name if limits.steps_of_n <= most else f"T.minimum({n_var.name}, {most})"
        count = p.rng.choice((most, most, max(most - 1, 0), min(most, 1), min(most, 2), min(most, 5)))
        self.steps = count
        return f"-{count}" if p.chance(0.15) else str(count)

    def _by_outer_step(self, most: int) -> str | None:
        p = self.p
        i = p.pick(lambda v: v.dtype == "int64" and not v.ndim and v.name[0] in "xs") if p.depth else None
        if i is None or not p.chance(0.6):
            return None
        if not self.sequences:
            return p.rng.choice((f"{i.name} % 3", f"T.minimum({i.name}, 2)", f"{i.name} % 2 + 1"))
        return p.rng.choice((f"{i.name} % 3", f"T.minimum({i.name}, 2)")) if most >= 2 else None

    def _states(self) -> list[_Read]:
        p = self.p
        number = 0 if self.function == "map" else p.rng.choices((0, 1, 2, 3), (12, 50, 28, 10))[0]
        if self.function in ("fori_loop", "while_loop") or self.folds:
            number = max(number, 1)
        out = [self._state() for _ in range(number)]
        if self.function == "while_loop" or (self.ends and self.function == "scan" and p.chance(0.3)):
            out.append(_Read("T.constant(0, dtype='int64')", [Var(p.names.new("s"), "int64", ())]))
        return out

    def _state(self) -> _Read:
        p = self.p
        if not self.plain and p.chance(0.35):
            return self._steps_back()
        x = p.pick(lambda v: smooth(v) and v.ndim <= 2)
        if x is None or p.chance(0.08):
            shape: Shape = p.rng.choice(((), (p.fits[0],)))
            return _Read(f"T.zeros({shape}, dtype='float64')", [Var(p.names.new("s"), "float64", shape)])
        text = p.rng.choice((x.name,) * 4 + (f"T.zeros_like({x.name})", f"T.sin({x.name})"))
        return _Read(text, [Var(p.names.new("s"), "float64", x.shape)])

    def _steps_back(self) -> _Read:
        """A state read at several steps back."""
        p = self.p
        taps = p.rng.sample((-3, -2, -1), p.rng.choice((1, 2, 2, 3)))
        depth = -min(taps)
        x = p.pick(lambda v: smooth(v) and 1 <= v.ndim <= (2 if taps == [-1] else 3) and v.shape[0] >= depth)
        if x is not None and p.chance(0.7):
            text, row = x.name, x.shape if taps == [-1] else x.shape[1:]  # the step before alone: no axis of rows
        else:
            y = p.pick(lambda v: smooth(v) and v.ndim < 2) or p.add("T.constant(0.5, dtype='float64')", "float64", ())
            text = f"T.stack([{', '.join(f'T.cos({y.name} * {k + 1})' for k in range(depth))}])"
            row = (1, *y.shape) if taps == [-1] else y.shape
        return _Read(f"dict(initial={text}, taps={taps})", [Var(p.names.new("s"), "float64", row) for _ in taps])

    def _given(self) -> list[_Read]:
        p, out = self.p, list[_Read]()
        for _ in range(0 if self.carries else p.rng.choices((0, 1, 2), (35, 45, 20))[0]):
            x = p.pick(smooth)
            if x is not None:
                text = p.rng.choice((x.name, x.name, f"{x.name} * 0.7"))
                out.append(_Read(text, [Var(p.names.new("w"), "float64", x.shape)]))
        return out

    # What it gives

    def _outs(self, body: Pool) -> list[Out]:
        p, out = self.p, list[Out]()
        for s in self.states:
            first = s.params[0]
            if first.dtype == "int64":
                new = body.add(f"{first.name} + 1", "int64", ())
            elif out and out[-1].dtype == "float64" and tuple(out[-1].shape) == first.shape and p.chance(0.1):
                new = Var(out[-1].result, "float64", first.shape)
            else:
                new = _becomes(body, first)
            out.append(Out(p.names.new("o"), new.dtype, [*new.shape], new.name, s.text, [x.name for x in s.params]))
        maps = 0 if self.function in ("fori_loop", "while_loop") or self.folds else p.rng.choice((0, 0, 1, 1, 2))
        for _ in range(maps if out else max(maps, 1)):
            x = body.pick(lambda v: smooth(v) and v.ndim <= 2)
            if x is None or x not in body.vars:
                x = body.add(
                    f"T.sin({x.name})" if x else "T.ones((2,), dtype='float64')", "float64", x.shape if x else (2,)
                )
            out.append(Out(p.names.new("o"), "float64", [*x.shape], x.name))
        return out

    def _until(self, body: Pool) -> str | None:
        """The condition on which it ends; of a while_loop the text on which it goes on."""
        p = self.p
        if self.function == "while_loop":
            return f"T.lt({self.states[-1].params[0].name}, {p.rng.randrange(4)})"
        if not self.ends:
            return None
        x = body.pick(lambda v: smooth(v) and v in body.vars)
        i = body.pick(lambda v: v.dtype == "int64" and not v.ndim)
        ways = ["T.constant(False)"]
        ways += [f"T.gt(T.sqr({x.name}).sum(), {p.rng.choice((0.137, 0.37, 0.93, 1.7))})"] * 4 if x is not None else []
        ways += [f"T.ge({i.name}, {p.rng.randrange(4)})"] * 4 if i is not None else []
        return body.add(p.rng.choice(ways), "bool", ()).name


_BECOMES = (
    "T.tanh({x} + 0.5 * {s})", "T.tanh({s} * {x})", "0.5 * {s} + T.sin({x})", "{s} * 0.7 + 0.3 * T.tanh({x})",
    "{s} + 0.3 * T.sin({x})", "T.tanh({x})", "{s} * T.tanh({x})", "T.sin({s}) + T.cos({x})", "0.9 * {s}",
)  # fmt: skip


def _becomes(p: Pool, s: Var) -> Var:
    """A state's next value, kept from growing."""
    x = p.pick(lambda v: smooth(v) and v.shape == s.shape and v.name[0] == "v") or p.pick(smooth) or s
    x = p.coerce(x, "float64", s.shape)
    return p.add(p.rng.choice(_BECOMES).format(x=x.name, s=s.name), "float64", s.shape)


def _inside(body: Pool) -> None:
    """Now and then a loop inside the step."""
    if body.depth > body.settings.nests or not any(smooth(v) for v in body.vars):
        return
    if body.chance(0.5 if body.depth == 1 else 0.7):
        add_loop(body, body.rng.choice((0, 1, 2, 2, 3)))
        grow(body, body.rng.choice((0, 1, 2)))


def read(p: Pool, v: Var) -> Var:
    """What is read of an output: the last row, some rows, all; of unknown rows what is there for none too."""
    rng, rest = p.rng, v.shape[1:]
    if -1 not in v.shape and not (v.shape and p.chance(0.75)):
        return v
    if -1 in v.shape:
        zeros = f"T.zeros({(1, *rest)}, dtype='float64')"
        ways = [f"T.concatenate([{zeros}, {v.name}])[-1]", f"{v.name}.sum(axis=0)", f"{v.name}[-2:].sum(axis=0)"]
        ways += [f"{v.name}[::-1][:1].sum(axis=0)", f"{v.name}[:2].sum(axis=0)", f"T.sqr({v.name}).sum(axis=0)"]
        return p.add(rng.choice(ways), "float64", rest, heavy=True)
    n, k = v.shape[0], rng.choice((1, 1, 2, 3))
    found: list[tuple[str, Shape]] = [
        (f"{v.name}[-{k}:]", (min(k, n), *rest)), (f"{v.name}[1:]", (max(n - 1, 0), *rest)),
        (f"{v.name}[::-1]", v.shape), (f"{v.name}[:{k}]", (min(k, n), *rest)), (f"{v.name}.sum(axis=0)", rest),
        (f"{v.name}[::2]", ((n + 1) // 2, *rest)), (f"T.cumsum({v.name}, axis=0)", v.shape),
    ]  # fmt: skip
    if n:
        found += [(f"{v.name}[-1]", rest)] * 5 + [
            (f"{v.name}[{rng.randrange(n)}]", rest),
            (f"{v.name}[-{min(k, n)}]", rest),
        ]
        found.append((f"{v.name}.mean(axis=0)", rest))
    text, shape = rng.choice(found)
    return p.add(text, "float64", shape, heavy=True)
