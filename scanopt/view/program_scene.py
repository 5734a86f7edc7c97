"""A loop program as a scene: what enters a loop, stays in it and leaves it becomes its ports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from scanopt.program.ir import Branch, CarriedState, Compute, Const, Input, Keep, Loop, Program, Read, Step
from scanopt.program.text import names_made
from scanopt.view.scene import BOTTOM, TOP, Item, Link, Place, Scene, Scope, array_text, op_item, tap_text

__all__ = ["free_names", "program_scene"]

Env = dict[str, Place]


def program_scene(program: Program) -> Scene:
    """The scene of a program: inputs, constants, steps, outputs."""
    scope, env = Scope(), Env()
    for x in program.inputs:
        _add_input(scope, env, x)
    for c in program.consts:
        _add_const(scope, env, c)
    _Builder().steps(scope, env, program.steps)
    for i, name in enumerate(program.outputs):
        _add_output(scope, env[name], f"out {i}", name)
    for name in program.checks:
        _add_output(scope, env[name], "check", name)
    return scope.scene()


def free_names(loop: Loop) -> tuple[str, ...]:
    """Names that the body of a loop takes from outside, in the order of their first use."""
    inside = {r.out for r in loop.reads} | {name for s in loop.states for _, name in s.taps}
    used = [s.update for s in loop.states] + [k.value for k in loop.keeps]
    used += [k.rows for k in loop.keeps if isinstance(k.rows, str)]
    used += [loop.until] if loop.until is not None else []
    return tuple(name for name in _free(loop.body, used) if name not in inside)


def _free(steps: Sequence[Step], values: Iterable[str]) -> tuple[str, ...]:
    """Names that steps, and `values` read after them, take from outside, in the order of their first use."""
    made = {name for step in steps for name in names_made(step)}
    used = [name for step in steps for name in _used(step)]
    return tuple(dict.fromkeys(name for name in (*used, *values) if name not in made))


def _used(step: Step) -> Iterator[str]:
    if isinstance(step, Compute):
        yield from step.args
    elif isinstance(step, Branch):
        yield step.condition
        yield from _into(step)
    else:
        yield step.steps
        yield from (r.source for r in step.reads)
        yield from (s.init for s in step.states)
        yield from free_names(step)


def _into(step: Branch) -> tuple[str, ...]:
    """Names that the sides of a branch take from outside."""
    return tuple(dict.fromkeys(name for steps, values in step.sides for name in _free(steps, values)))


def _add_input(scope: Scope, env: Env, x: Input) -> None:
    label = x.label or x.name
    tip = f"input {x.name}" + (f" ({x.label})" if x.label else "") + f"\ntype {x.type}"
    scope.items.append(Item(x.name, "input", label, "", str(x.type), tip=tip, pin=TOP))
    env[x.name] = Place(x.name, 0, label, str(x.type))


def _add_const(scope: Scope, env: Env, c: Const) -> None:
    label = array_text(c.value)
    tip = f"constant {c.name} = {array_text(c.value, 400)}\ntype {c.type}"
    inline = c.value.ndim == 0
    detail = f"{c.name}: {c.type}"
    scope.items.append(Item(c.name, "const", label, "", detail, tip=tip, inline=inline))
    env[c.name] = Place(c.name, 0, label if inline else c.name, str(c.type), inline)


def _add_output(scope: Scope, place: Place, label: str, name: str) -> None:
    key = f"{label} = {name}"
    same = sum(item.key.startswith(key) for item in scope.items)
    key += f" ({same})" if same else ""
    tip = f"{label}: the value of {name}\ntype {place.type}"
    item = Item(key, "output", label, "", f"{name}: {place.type}", tip=tip, pin=BOTTOM)
    scope.items.append(item)
    scope.link(place, key)


class _Builder:
    """Makes the scenes of loops; remembers their keys, because two phases of a loop share its label."""

    def __init__(self) -> None:
        self.loops: set[str] = set()

    def key(self, loop: Loop) -> str:
        key, count = f"loop {loop.label}", 1
        while key in self.loops:
            count += 1
            key = f"loop {loop.label} ({count})"
        self.loops.add(key)
        return key

    def steps(self, scope: Scope, env: Env, steps: Iterable[Step]) -> None:
        for step in steps:
            if isinstance(step, Loop):
                self.loop(scope, env, step)
            elif isinstance(step, Branch):
                self.branch(scope, env, step)
            else:
                _add_compute(scope, env, step)

    def branch(self, scope: Scope, env: Env, step: Branch) -> None:
        """A box with a box for each side; what both give comes together at one port per result."""
        names = names_made(step)
        key, test = f"if {names[0]}", env[step.condition]
        inner = Scope(key)
        ports = _Ports(scope, inner, env, _inline(env))
        title, box_tip = f"if {test.label}", f"{', '.join(names)}: only one of the two sides is run"
        inner.items.append(Item(f"{key}/title", "title", f"{title}:", tip=box_tip, pin=TOP, owner=key))
        if not test.inline:
            tip = f"where {step.condition} is true, the first side is run"
            ports.enter("condition", "test", test, "condition", tip)
        for name in _into(step):
            ports.value(name)
        given = [self.side(inner, ports.inside, name, *step.sides[i]) for i, name in enumerate(("then", "else"))]
        for r, *places in zip(step.results, *given, strict=True):
            tip = f"{r.out}: the value of the side that was run"
            out = ports.add(f"out {r.out}", "give", r.out, str(r.type), tip=tip)
            for i, place in enumerate(places):
                inner.link(place, out, i)
            env[r.out] = Place(out, 0, r.out, str(r.type))
        scope.items.append(Item(key, "branch", title, tip=box_tip, owner=scope.owner, inner=inner.scene()))

    def side(self, scope: Scope, env: Env, name: str, steps: Sequence[Step], values: Sequence[str]) -> list[Place]:
        """One side of a branch; returns where its values are."""
        key = f"{scope.owner}/{name}"
        inner = Scope(key)
        ports = _Ports(scope, inner, env, _inline(env))
        inner.items.append(Item(f"{key}/title", "title", f"{name}:", tip=f"the side {name}", pin=TOP, owner=key))
        for free in _free(steps, values):
            ports.value(free)
        self.steps(inner, ports.inside, steps)
        places: list[Place] = []
        for i, value in enumerate(values):
            place = ports.inside[value]
            give = ports.add(f"give {i}", "give", "give", place.type, tip=f"the value of this side: {value}")
            inner.link(place, give)
            places.append(Place(give, 0, value, place.type))
        scope.items.append(Item(key, "side", name, owner=scope.owner, inner=inner.scene()))
        return places

    def loop(self, scope: Scope, env: Env, loop: Loop) -> None:
        key = self.key(loop)
        inner = Scope(key)
        inside = _inline(env)
        inner.items.append(_title(key, loop, env[loop.steps]))
        ports = _Ports(scope, inner, env, inside)
        if not env[loop.steps].inline:
            ports.steps(loop)
        for read in loop.reads:
            ports.read(read)
        for name in free_names(loop):
            ports.hold(name)
        for i, state in enumerate(loop.states):
            ports.state(i, state)
        self.steps(inner, inside, loop.body)
        updates = {s.update: _role(s) for s in loop.states}
        for keep in loop.keeps:
            ports.keep(keep, updates.get(keep.value, "nit-sot"))
        for i, state in enumerate(loop.states):
            ports.update(i, state)
        if loop.until is not None:
            ports.until(loop.until)
        title = inner.items[0]
        scope.items.append(
            Item(key, "loop", f"loop {loop.label}", title.detail, tip=title.tip, owner=scope.owner, inner=inner.scene())
        )


def _inline(env: Env) -> Env:
    """The small constants, which are written where they are used and so are seen everywhere."""
    return {name: place for name, place in env.items() if place.inline}


def _add_compute(scope: Scope, env: Env, step: Compute) -> None:
    scope.items.append(op_item(step.out, step.op, step.type, step.out, scope.owner))
    for i, name in enumerate(step.args):
        scope.link(env[name], step.out, i)
    env[step.out] = Place(step.out, 0, step.out, str(step.type))


def _role(state: CarriedState) -> str:
    return "sit-sot" if {k for k, _ in state.taps} <= {1} and state.depth == 1 else "mit-sot"


def _title(key: str, loop: Loop, steps: Place) -> Item:
    count = f"{steps.label} step" + ("" if steps.label == "1" else "s")
    tip = f"loop {loop.label}: at most {count}" if loop.until else f"loop {loop.label}: {count}"
    phase = f"phase {loop.phase}" if loop.phase else ""
    notes = ", ".join(filter(None, (count, "or until" if loop.until else "", phase)))
    return Item(f"{key}/title", "title", f"loop {loop.label}:", notes, tip=tip, pin=TOP, owner=key)


class _Ports:
    """Adds the ports of one loop (or branch, or side) to its inner scene, and the links through them."""

    def __init__(self, outer: Scope, inner: Scope, env: Env, inside: Env) -> None:
        self.outer, self.inner, self.env, self.inside = outer, inner, env, inside

    def add(self, key: str, kind: str, label: str, type: str, **more: str) -> str:
        """Add a port whose texts are plain; returns its key."""
        key = f"{self.inner.owner}/{key}"
        pin = BOTTOM if kind in ("keep", "update", "until", "give") else TOP
        item = Item(key, kind, label, type=type, pin=pin, owner=self.inner.owner, **more)  # type: ignore[arg-type]
        self.inner.items.append(item)
        return key

    def enter(self, key: str, kind: str, place: Place, role: str, tip: str) -> str:
        """Add a port by which a value enters as it is; returns its key."""
        key = self.add(key, kind, place.label, place.type, role=role, tip=tip)
        self.outer.link(place, key)
        return key

    def steps(self, loop: Loop) -> None:
        place = self.env[loop.steps]
        self.enter("steps", "steps", place, "n_steps", f"number of steps: {place.label}")

    def read(self, read: Read) -> None:
        source = self.env[read.source]
        label = tap_text(source.label, 0)
        tip = f"{read.out} = row t of {read.source} at step t\ntype {read.type}"
        key = self.add(f"read {read.out}", "read", label, str(read.type), role="sequence", tip=tip)
        self.outer.link(source, key)
        self.inside[read.out] = Place(key, 0, label, str(read.type))

    def hold(self, name: str) -> None:
        self._pass("hold", name, "non-sequence", "the same at every step")

    def value(self, name: str) -> None:
        self._pass("value", name, "", "made outside")

    def _pass(self, kind: str, name: str, role: str, note: str) -> None:
        place = self.env[name]
        if not place.inline:
            tip = f"{name}, {note}\ntype {place.type}"
            key = self.enter(f"{kind} {name}", kind, place, role, tip)
            self.inside[name] = Place(key, 0, place.label, place.type)

    def state(self, i: int, state: CarriedState) -> None:
        name, role = _name(state), _role(state)
        taps = sorted(state.taps, reverse=True)
        cells = tuple(tap_text(name, -k) for k, _ in taps)
        tip = [f"state {name} ({role}): {state.depth} initial row(s) from {state.init}"]
        tip += [f"{tap} = {name} of {k} step(s) before" for k, tap in taps] + [f"type {state.type}"]
        key = f"{self.inner.owner}/state {i}"
        self.inner.items.append(
            Item(
                key,
                "state",
                ", ".join(cells) or name,
                "",
                str(state.type),
                role,
                "\n".join(tip),
                pin=TOP,
                cells=cells,
                owner=self.inner.owner,
            )
        )
        self.outer.link(self.env[state.init], key)
        for i, (_, tap) in enumerate(taps):
            self.inside[tap] = Place(key, i, cells[i], str(state.type))

    def update(self, i: int, state: CarriedState) -> None:
        name, role = _name(state), _role(state)
        tip = f"{state.update} is {name} of this step ({role})\ntype {state.type}"
        key = self.add(f"update {i}", "update", tap_text(name, 0), str(state.type), role=role, tip=tip)
        self.inner.link(self.inside[state.update], key)
        self.inner.links.append(Link(key, f"{self.inner.owner}/state {i}", kind="feedback"))

    def keep(self, keep: Keep, role: str) -> None:
        last = "last row" if keep.rows == 1 else f"last {keep.rows} rows"
        label = "all rows" if keep.rows is None else last
        tip = f"{keep.out} = {label} of {keep.value} ({role})\ntype {keep.type}"
        text = f"{keep.out}: {keep.type}"
        key = self.add(f"keep {keep.out}", "keep", label, text, role=role, tip=tip)
        self.inner.link(self.inside[keep.value], key)
        if isinstance(keep.rows, str):
            self.inner.link(self.inside[keep.rows], key)
        self.env[keep.out] = Place(key, 0, keep.out, str(keep.type))

    def until(self, name: str) -> None:
        key = self.add("until", "until", "until", "bool[]", role="stop test", tip=f"ends after {name}")
        self.inner.link(self.inside[name], key)


def _name(state: CarriedState) -> str:
    return state.label or state.update
