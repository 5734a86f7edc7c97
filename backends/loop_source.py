"""Writes the Python source text of one loop: states rotate by name, results go into buffers, traces into their rows.

The text of a loop, from the outside in: buffers and initial rows; `for`; the body; the work of the first
step only (check shapes, allocate); the rows kept of the step; the stop test; the states move on.
If a state has few rows, each has a name; of many, only the taps have (see `scanopt.backends.rings`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from scanopt.backends.assignments import Assignment, in_order
from scanopt.backends.parts import safe
from scanopt.backends.rings import FEW, Ring
from scanopt.backends.timing import described
from scanopt.program.ir import Branch, CarriedState, Compute, Keep, Loop, Step
from scanopt.program.storage.placement import elementwise, may_overwrite
from scanopt.program.text import made_in

if TYPE_CHECKING:
    from scanopt.backends.source import Writer

__all__ = ["LoopWriter"]


class LoopWriter:
    """Writes one loop, and through its parent those inside it."""

    def __init__(self, parent: Writer, loop: Loop) -> None:
        self.parent, self.loop = parent, loop
        self.layout = parent.layout
        self.me = self.layout.number[id(loop)]
        self.t, self.n = f"t{self.me}", f"n{self.me}"
        self.rings = dict(self._rings())
        self.rows = [self._rows(i, s) for i, s in enumerate(loop.states)]
        self.row_names = {name for rows in self.rows for name in rows}
        first: dict[tuple[str, int | str | None], Keep] = {}
        for k in loop.keeps:
            if isinstance(k.rows, int) and k.rows < 1:
                raise ValueError(f"loop {loop.label!r} keeps {k.rows} rows of {k.value!r}")
            first.setdefault((k.value, k.rows), k)
        self.keeps: list[Keep] = list(first.values())
        self.again = [(k, one) for k in loop.keeps if (one := first[k.value, k.rows]) is not k]
        self.label = parent.label(f"loop {loop.label}" if loop.label else "a loop")

    def _rows(self, i: int, state: CarriedState) -> list[str]:
        """Names of the rows that a state needs, oldest first; a tap's row has the tap's name.  Empty for a ring."""
        if i in self.rings:
            return []
        count = self.layout.rows[self.me, i]
        names = [f"r{self.me}_{i}_{j}" for j in range(count)]
        for k, name in reversed(state.taps):
            if k <= count:
                names[count - k] = self.parent.name(name)
        return names

    def _rings(self) -> Iterator[tuple[int, Ring]]:
        """Yield the numbers and rings of the states that have many rows."""
        for i, state in enumerate(self.loop.states):
            if (count := self.layout.rows[self.me, i]) > FEW:
                yield i, Ring(f"q{self.me}_{i}", count, self.parent.name(state.init), self.t, self.n)

    def _varies(self, name: str) -> bool:
        return self.me in self.layout.varies[name]

    def _free(self, i: int) -> str:
        """The name of the row that the next update of state i may overwrite."""
        return f"b{self.me}_{i}"

    # Outside in

    def write(self) -> None:
        """Write the whole loop."""
        p, loop = self.parent, self.loop
        p.line("")
        p.loop = p.stands_for.enter(loop, around := p.loop, self.t)
        p.line(f"# loop {safe(loop.label)}, phase {loop.phase}")
        p.line(f"{self.n} = steps({p.length(loop.steps)}, {self.label})")
        if loop.profile:
            p.line(f"k{self.me}, g{self.me} = clock(), timer()")
        self._reset_buffers()
        kept = [p.name(k.out) for k in loop.keeps]
        p.block(f"{self._kernel(kept)}if {self.n}:", self._run)
        if kept:
            p.block("else:", lambda: p.line(f"[{', '.join(kept)}] = {p.empty(loop)}"))
        self._end()
        p.loop = around
        p.line("")

    def _kernel(self, kept: list[str]) -> str:
        """Write the call of the kernel, if there is one; return the prefix that turns the next `if` into `elif`."""
        p, z = self.parent, f"z{self.me}"
        call = p.choice.call(self.loop, self.layout.types, self.n, p.names, p.length) if p.choice else ""
        if not call:
            return ""
        p.line(f"{z} = {call}")
        p.block(f"if {z}:", lambda: self._lines([f"[{', '.join(kept)}] = {z}", f"{z} = None"]))
        return "el"

    def _end(self) -> None:
        """Write what follows a loop: keep its buffers for the next call, record its times."""
        p, me = self.parent, self.me
        for name in self.layout.reset_by.get(me, ()):
            if name in p.kept:
                p.line(f"keep({p.kept[name]}, {p.name(name)})")
        if self.loop.profile:
            number = p.title(self.loop.profile)
            steps, in_step = f"{self.t} + 1 if {self.n} else 0", f"d{me} if {self.n} else 0.0"
            p.line(f"record({number}, {steps}, {in_step}, k{me}, g{me})")

    def _reset_buffers(self) -> None:
        """Reset the buffers that this loop must not find from an earlier run, including those of inner loops."""
        names: list[str] = []
        for name in self.layout.reset_by.get(self.me, ()):
            place = self.layout.places[name]
            if place.kind == "buffer":
                names.append(self.parent.name(name))
            elif not self._same_for_sure(name, place.other):
                names.append(f"b_{self.parent.name(name)}")
        self._clear(names)

    def _clear(self, names: list[str]) -> None:
        for i in range(0, len(names), 8):
            self.parent.line(" = ".join([*names[i : i + 8], "None"]))

    def _run(self) -> None:
        p, loop = self.parent, self.loop
        for r in loop.reads:
            label = p.label(f"{loop.label or 'a loop'}, sequence {p.described(r.source)}")
            x = p.name(r.source)
            p.line(f"if len({x}) < {self.n}: raise too_short({label}, len({x}), {self.n})")
        for i, state in enumerate(loop.states):
            self._initial_rows(i, state)
        for k in self.keeps:
            if k.rows is None or k.rows == 1:
                continue
            out, count = p.name(k.out), f"r_{p.name(k.out)}" if isinstance(k.rows, str) else str(k.rows)
            if isinstance(k.rows, str):
                p.line(f"{count} = fewer({self.n}, {p.length(k.rows)})")
            if loop.until is None:
                p.line(f"f_{out} = {self.n} - {count} if {self.n} > {count} else 0")
        reads = [(p.name(r.out), p.name(r.source)) for r in loop.reads]
        if loop.profile:
            p.line(f"d{self.me} = 0.0")
        head = f"for {self.t} in range({self.n}):"
        if reads:
            targets, sources = ", ".join(a for a, _ in reads), ", ".join(b for _, b in reads)
            head = f"for {self.t}, {targets} in zip(range({self.n}), {sources}):"
        p.block(head, self._body)
        self._after()

    def _initial_rows(self, i: int, state: CarriedState) -> None:
        p, init = self.parent, self.parent.name(state.init)
        known = self.layout.types[state.init].shape[0]
        if known != state.depth:
            label = p.label(self._state_label(i))
            p.line(f"if len({init}) != {state.depth}: raise wrong_depth({label}, len({init}), {state.depth})")
        if i in self.rings:
            p.line(self.rings[i].start(), str(state.type))
        for j, row in enumerate(self.rows[i], state.depth - len(self.rows[i])):
            p.line(f"{row} = {init}[{j}]", str(state.type))
        if self._owns_free_row(i, state):
            p.line(f"{self._free(i)} = None")

    def _owns_free_row(self, i: int, state: CarriedState) -> bool:
        place = self.layout.places.get(state.update)
        direct = place is not None and place.kind == "row" and place.state == i and not place.other
        return (self.me, i) in self.layout.copied or (direct and self._is_mine(state.update))

    def _is_mine(self, name: str) -> bool:
        return self.layout.scope[name][-1:] == (self.me,)

    def _state_label(self, i: int) -> str:
        label = self.loop.states[i].label
        where = f" of loop {self.loop.label}" if self.loop.label else ""
        return f"state {label or i}{where}"

    # The body

    def _body(self) -> None:
        for i, state in enumerate(self.loop.states):
            for k, name in state.taps:
                row = self._row(i, k)
                if row is not None and self.parent.name(name) != row:
                    self.parent.line(f"{self.parent.name(name)} = {row}")
        if self.loop.profile:
            self.parent.line(f"s{self.me} = g{self.me}.begin()")
        self._steps(self.loop.body)
        if self.loop.profile:
            self.parent.line(f"d{self.me} += clock() - s{self.me}")
        first = self._first_step()
        if first:
            self.parent.block(f"if not {self.t}:", lambda: self._lines(first))
        self._keep_step()
        if self.loop.until is not None:
            self.parent.line(f"if {self.parent.name(self.loop.until)}: break")
            self._grow()
        self._move_on()

    def _row(self, i: int, k: int) -> str | None:
        """Text for the row of state i from k steps ago; None for a row that is not read."""
        if k > self.layout.rows[self.me, i]:
            return None
        return self.rings[i].row(k) if i in self.rings else self.rows[i][-k]

    def _steps(self, steps: tuple[Step, ...], on_side: bool = False) -> None:
        for step in steps:
            if isinstance(step, Loop):
                self.parent.step(step, LoopWriter(self.parent, step).write)
            elif isinstance(step, Branch):
                side = partial(self._steps, on_side=True)
                self.parent.step(step, partial(self.parent.branch, step, side, lambda _: None))
            else:
                self._take(step)
                self.parent.compute(step, self._out(step))
                if on_side:  # a side of a branch may run for the first time at any step
                    self._lines(self._settle(step, f"if b_{self.parent.name(step.out)} is None: "))
            if self.loop.profile:
                self.parent.line(f"g{self.me}.took({self.parent.label(described(step))})")

    def _lines(self, texts: list[str]) -> None:
        for text in texts:
            self.parent.line(text)

    def _take(self, step: Compute) -> None:
        """Before the first use of a buffer: reuse the buffer of the last call, if it was kept and fits."""
        p = self.parent
        if step.out in p.kept:
            name, number = p.name(step.out), str(p.kept[step.out])
            p.line(f"if {name} is None: {name} = taken({', '.join([number, *map(p.name, step.args)])})")

    def _out(self, step: Compute) -> str | None:
        """Text for the last argument of an operator, the array into which it writes its result; None: a new array."""
        place, name = self.layout.places[step.out], self.parent.name(step.out)
        match place.kind:
            case "buffer":
                return name
            case "onto":
                other = self.parent.name(place.other)
                return other if self._same_for_sure(step.out, place.other) else f"b_{name}"
            case "row" if place.other:
                row = self.parent.name(place.other)
                return f"{row} if {self.t} else {self._first_row(place.state, row, step)}"
            case "row":
                return self._free(place.state)
            case "trace":
                return f"{self.parent.name(place.other)}[{self.t}] if {self.t} else None"
            case _:
                return None

    def _first_row(self, i: int, row: str, step: Compute) -> str:
        """Text for the initial row, if the first result may be written over it; else "None"."""
        if (self.me, i) not in self.layout.spent:
            return "None"
        others = [n for a in step.args if (n := self.parent.name(a)) != row]
        given = others if may_overwrite(step) == step.args else []
        return f"spare({', '.join([row, *given])})"

    def _same_for_sure(self, a: str, b: str) -> bool:
        x, y = self.layout.types[a].shape, self.layout.types[b].shape
        return x == y and None not in x

    # After the body of a step

    def _first_step(self) -> list[str]:
        lines: list[str] = []
        for i, state in enumerate(self.loop.states):
            if not self._varies(state.update):
                lines += self._check_state(i, state)
        for step in self.loop.body:
            if isinstance(step, Compute):
                lines += self._settle(step)
        for k in self.keeps:
            lines += self._allocate(k)
        return lines

    def _settle(self, step: Compute, unless: str = "") -> list[str]:
        """Lines that choose, after the first step, the buffer for later steps.  unless: a condition before the line."""
        place, name = self.layout.places[step.out], self.parent.name(step.out)
        if place.kind in ("buffer", "row") and not elementwise(step.op):
            return [f"{name} = contiguous({name})"]
        if place.kind == "onto" and not self._same_for_sure(step.out, place.other):
            other = self.parent.name(place.other)
            return [f"{unless}b_{name} = {other} if {other}.shape == {name}.shape else {name}"]
        return []

    def _check_state(self, i: int, state: CarriedState) -> list[str]:
        """Lines that raise unless the new row has the shape of the initial rows."""
        update, init = self.layout.types[state.update], self.layout.types[state.init]
        if update.dtype != init.dtype or update.ndim != init.ndim - 1:
            raise ValueError(f"{self._state_label(i)}: expected {init.row()}, found {update} as its update")
        if update.ndim == 0 or (update.shape == init.shape[1:] and None not in update.shape):
            return []
        new, old = self.parent.name(state.update), f"{self.parent.name(state.init)}.shape[1:]"
        label = self.parent.label(f"{self._state_label(i)} must keep the shape that it starts with")
        return [f"if {new}.shape != {old}: raise wrong_start({label}, {new}.shape, {old})"]

    def _allocate(self, k: Keep) -> list[str]:
        """Lines that allocate the rows to keep, each of the shape of the first one."""
        if k.rows == 1:
            return []
        type, out = self.layout.types[k.value], self.parent.name(k.out)
        value, until = self.parent.name(k.value), self.loop.until is not None
        if k.rows is None:
            count = f"room({self.n})" if until else self.n
        else:
            count = f"{self.n} if {self.n} < {k.rows} else {k.rows}" if until else f"{self.n} - f_{out}"
            if until and isinstance(k.rows, str):
                count = f"room(r_{out})"
        shape = f"({count}, *{value}.shape)" if type.ndim else f"({count},)"
        lines = [f"{out} = empty({shape}, {type.dtype!r})"]
        if k.out == self._trace_of(k.value):
            lines.append(f"{out}[0] = {value}")
        return lines

    def _trace_of(self, name: str) -> str:
        place = self.layout.places.get(name)
        mine = place is not None and place.kind == "trace" and self._is_mine(name)
        return place.other if place is not None and mine else ""

    def _keep_step(self) -> None:
        p = self.parent
        for i, state in enumerate(self.loop.states):
            if self._varies(state.update):
                self._lines(self._check_state(i, state))
        for k in self.keeps:
            out, value = p.name(k.out), p.name(k.value)
            if k.rows != 1 and self._varies(k.value):
                label = p.label(f"the rows of a result of {self.loop.label or 'a loop'} must all have one shape")
                p.line(
                    f"if {value}.shape != {out}.shape[1:]: raise wrong_shape({label}, {value}.shape, {out}.shape[1:])"
                )
            if k.rows is None and k.out != self._trace_of(k.value):
                p.line(f"{out}[{self.t}] = {value}")
            elif k.rows == 1 and value in self.row_names:
                p.line(f"{out} = {value}")
            elif k.rows is not None and k.rows != 1:
                self._keep_recent(k, out, value)

    def _keep_recent(self, k: Keep, out: str, value: str) -> None:
        if self.loop.until is not None:
            some, count = (f"if r_{out}: ", f"r_{out}") if isinstance(k.rows, str) else ("", k.rows)
            self.parent.line(f"{some}{out}[{self.t} % {count}] = {value}")
        else:
            self.parent.line(f"if {self.t} >= f_{out}: {out}[{self.t} - f_{out}] = {value}")

    def _grow(self) -> None:
        for k in self.keeps:
            if k.rows is None or isinstance(k.rows, str):
                out = self.parent.name(k.out)
                most = self.n if k.rows is None else f"r_{out}"
                self.parent.line(f"if {self.t} + 1 == len({out}) < {most}: {out} = grow({out}, {most})")

    def _move_on(self) -> None:
        """Write the end of a step: all at once, the states of this step become those of one step ago."""
        moves: list[Assignment] = []
        for i, state in enumerate(self.loop.states):
            rows, new = self.rows[i], self.parent.name(state.update)
            if (self.me, i) in self.layout.copied:
                self.parent.line(f"w{self.me}_{i} = renew({new}, {self._free(i)})")
                new = f"w{self.me}_{i}"
            if i in self.rings:
                free = self._free(i) if self._owns_free_row(i, state) else ""
                self._lines(list(self.rings[i].write(new, free, (self.me, i) in self.layout.spent)))
                continue
            if self._owns_free_row(i, state):
                old_enough = self.t if len(rows) == 1 else f"{self.t} >= {len(rows)}"
                fresh = f"spare({rows[0]})" if (self.me, i) in self.layout.spent else "None"
                text = f"{rows[0]} if {old_enough} else {fresh}"
                moves.append(Assignment(self._free(i), text, (rows[0],)))
            for older, newer in zip(rows, [*rows[1:], new], strict=True):
                if older != newer:
                    moves.append(Assignment(older, newer, (newer,)))
        self._lines(in_order(moves))

    # After the loop

    def _after(self) -> None:
        p = self.parent
        taken = f"{self.t} + 1"
        for k in self.keeps:
            out = p.name(k.out)
            if k.rows == 1:
                value = p.name(k.value)
                p.line(f"{out} = {out if value in self.row_names else value}[None]", str(k.type))
            elif self.loop.until is not None:
                p.line(f"{out} = {'cut' if k.rows is None else 'recent'}({out}, {taken})")
        for k, first in self.again:
            p.line(f"{p.name(k.out)} = {p.name(first.out)}")

    def forget(self) -> None:
        """Drop the arrays of the last step, after a loop that is inside no other loop."""
        names = [n for n in made_in(self.loop, self.parent.apart) if self.layout.types[n].ndim]
        states = [(i, s) for i, s in enumerate(self.loop.states) if s.type.ndim]
        rows = [r for i, _ in states for r in self.rows[i]]
        free = [self._free(i) for i, s in states if self._owns_free_row(i, s)]
        rings = [ring.name for ring in self.rings.values()]
        self._clear(list(dict.fromkeys([*map(self.parent.name, names), *rows, *free, *rings])))
